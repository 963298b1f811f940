import array
import os
import socket
import socketserver
import threading

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    one, two = socket.socketpair(socket.AF_UNIX, kind)
    one.sendall(b"x")
    assert two.recv(10) == b"x"
    two.sendmsg([b"a", b"b"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    data, extra, _, _ = one.recvmsg(10, 100)
    assert data == b"ab" and extra
    one.settimeout(0.01)
    one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    print(one.getsockname(), one.getpeername(), one.type)
    one.close()
    two.close()
a, b = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
a.bind("a.sock")
b.bind("b.sock")
b.sendto(b"to a", "a.sock")
assert a.recvfrom(10) == (b"to a", "b.sock")


class Upper(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline().upper())


with socketserver.ThreadingUnixStreamServer("upper.sock", Upper) as server:
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect("upper.sock")
        client.sendall(b"shout\n")
        assert client.makefile("rb").readline() == b"SHOUT\n"
        client.shutdown(socket.SHUT_WR)
    server.shutdown()
for family in (socket.AF_INET, socket.AF_INET6):
    try:
        socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        print(os.strerror(error.errno))
