"""A network of our own without a way out: in it every address, whichever it is, is this very namespace's.

The process must be in a network namespace that was just made. Its loopback is set up and gets one local route for all
of IPv4 and one for all of IPv6 (rtnetlink(7), RTN_LOCAL), so that whatever a probe dials, be it a name server's or a
cloud's metadata address, is answered by a listener of ours, and no packet ever leaves.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass, field

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_RTM_NEWROUTE, _NLM_F = 24, 0x0001 | 0x0004 | 0x0400  # REQUEST | ACK | CREATE
_RT_TABLE_LOCAL, _RTPROT_BOOT, _RT_SCOPE_HOST, _RTN_LOCAL, _RTA_OIF = 255, 3, 254, 2, 4
PORTS = (22, 25, 53, 80, 443, 2375, 3306, 5432, 6379, 8080, 8125, 11211)
ABSTRACT = b"\0casemate-verify"
"""The name of an abstract socket; the stage's random word follows."""


def isolate() -> None:
    """Bring the loopback up and make every address local; raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(control, _SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", flags | _IFF_UP))
    _local(socket.AF_INET)
    with contextlib.suppress(OSError):  # a kernel without IPv6
        _local(socket.AF_INET6)


def _local(family: int) -> None:
    """Route all addresses of a family to ourselves."""
    loopback = socket.if_nametoindex("lo")
    route = struct.pack("BBBBBBBBI", family, 0, 0, 0, _RT_TABLE_LOCAL, _RTPROT_BOOT, _RT_SCOPE_HOST, _RTN_LOCAL, 0)
    body = route + struct.pack("HHi", 8, _RTA_OIF, loopback)
    message = struct.pack("IHHII", 16 + len(body), _RTM_NEWROUTE, _NLM_F, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link:
        link.bind((0, 0))
        link.send(message)
        answer = link.recv(4096)
    code = struct.unpack_from("i", answer, 16)[0]
    if code:
        raise OSError(-code, f"a local route for family {family}: {os.strerror(-code)}")


@dataclass
class Impostors:
    """Listeners on every address of the namespace and on an abstract socket; `log` is all that reached them."""

    word: str
    log: bytearray = field(default_factory=bytearray)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Impostors:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        for port in PORTS:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                self._listen(socket.AF_INET, kind, ("0.0.0.0", port))
                with contextlib.suppress(OSError):
                    self._listen(socket.AF_INET6, kind, ("::", port))
        with contextlib.suppress(OSError):  # needs CAP_NET_RAW
            self._listen(socket.AF_INET, socket.SOCK_RAW, None, socket.IPPROTO_ICMP)
        self._listen(socket.AF_UNIX, socket.SOCK_STREAM, self.abstract)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(5)
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()

    @property
    def abstract(self) -> bytes:
        """The abstract socket's address."""
        return ABSTRACT + self.word.encode()

    def _listen(self, family: int, kind: int, address: object, protocol: int = 0) -> None:
        listener = socket.socket(family, kind | socket.SOCK_NONBLOCK, protocol)
        try:
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            if address is not None:
                listener.bind(address)  # type: ignore[arg-type]
            if kind == socket.SOCK_STREAM:
                listener.listen(64)
        except OSError:
            listener.close()
            raise
        self._selector.register(listener, selectors.EVENT_READ, kind == socket.SOCK_STREAM)

    def _serve(self) -> None:
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.05):
                assert isinstance(key.fileobj, socket.socket)
                with contextlib.suppress(OSError):
                    if key.data:
                        peer, _ = key.fileobj.accept()
                        self._selector.register(peer, selectors.EVENT_READ, False)
                        continue
                    data = key.fileobj.recv(4096)
                    with self._lock:
                        self.log.extend(data + b"\n")
                    if not data and key.fileobj.type == socket.SOCK_STREAM:
                        self._selector.unregister(key.fileobj)
                        key.fileobj.close()

    def saw(self, word: str) -> bool:
        """Whether this word reached a listener."""
        with self._lock:
            return word.encode() in self.log

    def control(self) -> str:
        """Reach every kind of listener ourselves; what did not come into the log, or ""."""
        missing = []
        for name, family, kind, address in (
            ("TCP", socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)),
            ("UDP", socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.53", 53)),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, self.abstract),
        ):
            word = f"control-{name}-{time.monotonic_ns()}"
            with contextlib.suppress(OSError), socket.socket(family, kind) as one:
                one.settimeout(2)
                one.connect(address)
                one.sendall(word.encode())
            end = time.monotonic() + 2
            while not self.saw(word) and time.monotonic() < end:
                time.sleep(0.005)
            if not self.saw(word):
                missing.append(name)
        return f"listeners did not see our own {', '.join(missing)}" if missing else ""
