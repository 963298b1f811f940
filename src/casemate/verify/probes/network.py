"""Sends a probe's own word to an address, by every kind of socket."""

KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


def dial(kind, host, port):
    """Connect and send; True once the word is on its way."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, KINDS[kind]) as one:
        one.settimeout(1.0)
        one.connect((host, port))
        one.send(CONFIG["nonces"][NAME].encode())
    return f"sent to {host} port {port}"
