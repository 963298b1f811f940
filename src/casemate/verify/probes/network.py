"""Sends a probe's own word to an address, by every kind of socket."""

KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
PATIENCE = 1.0


def word():
    return CONFIG["nonces"][NAME].encode()


def inet(host, kind):
    return socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind)


def dial(kind, host, port):
    """Connect and send; True once the word is on its way."""
    with inet(host, KINDS[kind]) as one:
        one.settimeout(PATIENCE)
        scope = (0, 1) if host.startswith("fe80:") else ()  # by the first interface
        one.connect((host, port, *scope))
        one.send(word())
    return f"sent to {host} port {port}"


def ask(server):
    """A DNS query whose name begins with the word (RFC 1035)."""
    label = word()
    question = bytes([len(label)]) + label + b"\7example\3com\0" + struct.pack(">HH", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + question, (server, 53))
    return f"asked {server}"


def send_to(host, port):
    with inet(host, socket.SOCK_DGRAM) as one:
        one.sendto(word(), (host, port))
    return "sent"


def fast_open(host, port):
    with inet(host, socket.SOCK_STREAM) as one:
        one.sendto(word(), 0x20000000, (host, port))  # MSG_FASTOPEN
    return "sent"


def from_child(host, port):
    out, into = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            try:
                os.write(into, dial("tcp", host, port).encode())
            except OSError as error:
                os.write(into, b"!%d" % error.errno)
        os._exit(0)
    os.close(into)
    told = os.read(out, 100)
    if told.startswith(b"!"):
        raise OSError(int(told[1:]), "from a child")
    return told


def without_waiting(host, port):
    with inet(host, socket.SOCK_STREAM) as one:
        one.setblocking(False)
        one.connect_ex((host, port))
        select.select([], [one], [], PATIENCE)
        one.send(word())
    return "sent"


def abstract():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(CONFIG["abstract"].encode("latin-1"))
        one.send(word())
    return "sent"


def ping(kind):
    """An ICMP echo request (RFC 792) that carries the word."""
    body = struct.pack(">BBHHH", 8, 0, 0, 1, 1) + word()
    total = sum(struct.unpack(f">{len(body) // 2}H", body))
    total = (total & 0xFFFF) + (total >> 16)
    body = struct.pack(">BBHHH", 8, 0, ~total & 0xFFFF, 1, 1) + word()
    with socket.socket(socket.AF_INET, kind, 1) as one:
        one.settimeout(PATIENCE)
        one.sendto(body, ("198.51.100.10", 0))
        return f"{len(one.recv(2000))} bytes came back"


def listening():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.bind(("0.0.0.0", 0))
        one.listen(1)
        return f"listening on {one.getsockname()}"


def interfaces():
    return socket.if_nameindex()


def routes():
    """RTM_GETROUTE, a dump (rtnetlink(7))."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        link.settimeout(PATIENCE)
        link.send(struct.pack("=IHHIIB", 17, 26, 0x301, 1, 0, 0).ljust(32, b"\0"))
        return len(link.recv(65536)) > 100 and "routes came"


def resolved():
    socket.getaddrinfo("127.0.0.1", 80)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        return "a resolver has what it needs"


def family(number):
    """Reached, if the answer is anything but the filter's own."""
    return reached("socket", number, 2, 0)


def families():
    found = []
    for number in set(range(64)) - set(CONFIG["families"]):
        for kind in (1, 2, 3, 5):
            with contextlib.suppress(OSError):
                socket.socket(number, kind).close()
                found.append(f"{number}/{kind}")
    return found


def peer():
    """SO_PEERCRED of the host's abstract socket (unix(7))."""
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(CONFIG["abstract"].encode("latin-1"))
        return struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
