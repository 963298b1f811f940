"""Every way to somebody else's address, against listeners of ours that answer for all of them."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import CONTROL, CREDENTIALS, EGRESS, KERNEL, METADATA

MINIMUM = 55
_B = "network"

_ADDRESSES = (
    ("public", "8.8.8.8", 443, EGRESS), ("public-2", "1.1.1.1", 80, EGRESS), ("documentation", "203.0.113.9", 22,
    EGRESS),
    ("private-10", "10.0.0.1", 80, EGRESS), ("private-172", "172.17.0.1", 2375, CONTROL),
    ("private-192", "192.168.1.1", 80, EGRESS), ("shared-100", "100.64.0.1", 80, EGRESS),
    ("loopback", "127.0.0.1", 8080, CONTROL), ("loopback-other", "127.8.8.8", 6379, CONTROL), ("any", "0.0.0.0", 5432,
    CONTROL),
    ("link-local", "169.254.1.1", 80, METADATA), ("metadata", "169.254.169.254", 80, METADATA),
    ("metadata-task", "169.254.170.2", 80, METADATA), ("metadata-other", "100.100.100.200", 80, METADATA),
    ("metadata-decimal", "2852039166", 80, METADATA), ("v6-loopback", "::1", 8080, CONTROL),
    ("v6-public", "2001:4860:4860::8888", 443, EGRESS), ("v6-unique-local", "fd00::1", 80, EGRESS),
    ("v6-metadata", "fd00:ec2::254", 80, METADATA), ("v6-mapped", "::ffff:169.254.169.254", 80, METADATA),
)  # fmt: skip
_FAMILIES = {
    "unix": 1, "inet": 2, "inet6": 10, "netlink": 16, "packet": 17, "vsock": 40, "alg": 38, "rds": 21, "can": 29,
    "tipc": 30, "bluetooth": 31, "key": 15, "appletalk": 5, "x25": 9, "ieee802154": 36, "rxrpc": 33, "nfc": 39,
    "kcm": 41, "qipcrtr": 42, "smc": 43, "xdp": 44, "mctp": 45, "ax25": 3, "ipx": 4, "llc": 26, "phonet": 35,
    "caif": 37,
    "isdn": 34, "pppox": 24, "ash": 18,
}  # fmt: skip


def _dial(name: str, what: str, row: str, code: str) -> Probe:
    return Probe(f"network.{name}", what, row, code, "network", "log", _B)


PROBES: tuple[Probe, ...] = (
    *(_dial(f"tcp-{n}", f"TCP to {a} port {p}", row, f"dial('tcp', '{a}', {p})") for n, a, p, row in _ADDRESSES),
    *(
        _dial(f"udp-{n}", f"UDP to {a} port 53", row, f"dial('udp', '{a}', 53)")
        for n, a, _, row in _ADDRESSES
        if n != "metadata-decimal"
    ),
    _dial("dns-resolver", "asks a name server for a name that carries data", EGRESS, "ask('8.8.8.8')"),
    _dial("dns-local", "asks the local stub resolver", EGRESS, "ask('127.0.0.53')"),
    _dial("dns-tcp", "asks a name server over TCP", EGRESS, "dial('tcp', '9.9.9.9', 53)"),
    _dial("udp-unconnected", "sends a datagram without connecting", EGRESS, "send_to('198.51.100.7', 8125)"),
    _dial("tcp-fast-open", "sends data with the first packet", EGRESS, "fast_open('198.51.100.7', 443)"),
    _dial("tcp-from-child", "connects from a child of a child", EGRESS, "from_child('198.51.100.8', 80)"),
    _dial("tcp-nonblocking", "connects without waiting", EGRESS, "without_waiting('198.51.100.9', 80)"),
    _dial("abstract", "connects to an abstract socket of the host's", CONTROL, "abstract()"),
    _dial("ping", "sends an echo request", EGRESS, "ping(socket.SOCK_DGRAM)"),
    Probe("network.ping-raw", "sends an echo request by a raw socket", EGRESS, "ping(socket.SOCK_RAW)", "seccomp",
          "filter", _B, "socket 2 3 1"),
    Probe("network.listen", "listens on every address", EGRESS, "listening()", "network", "filter", _B, "socket 2 1 0",
          unless="set"),
    Probe("network.interfaces", "lists interfaces", METADATA, "interfaces()", "network", "look", _B, "ns net"),
    Probe("network.routes", "dumps routes by netlink", METADATA, "routes()", "network", "look", _B, "ns net"),
    Probe("network.names", "resolves a name", EGRESS, "resolved()", "seccomp", "filter", _B, "socket 2 2"),
    *(
        Probe(
            f"network.family-{name}", f"a socket of family {number} ({name})", KERNEL, f"family({number})", "seccomp",
            "filter", _B, f"socket {number} 2 0", unless="set",
        )
        for name, number in _FAMILIES.items()
    ),
    Probe(
        "network.family-sweep", "a socket of every family and kind", KERNEL, "families()", "seccomp", "filter", _B,
        "socket 17 3 0",
    ),
    Probe(
        "network.credentials-of-peers", "asks who is behind a socket of the host's", CREDENTIALS, "peer()", "network",
        "look", _B, "ns net",
    ),
)  # fmt: skip
