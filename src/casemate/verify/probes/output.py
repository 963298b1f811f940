"""Floods and outlives its output."""

BLOCK = bytes(65536)
TIMES = 128


def blocks():
    for _ in range(TIMES):
        os.write(1, BLOCK)


def lines():
    for _ in range(1024):
        os.write(1, b"\n" * 8192)


def one_line():
    for _ in range(TIMES):
        os.write(1, b"x" * 65536)


def prints():
    for _ in range(1024):
        print("x" * 8192)


def not_text():
    for _ in range(TIMES):
        os.write(1, b"\xff\xfe\x80" * 21846)


def escapes():
    for _ in range(TIMES):
        os.write(1, b"\x1b]0;x\x07\x1b[2J" * 6000)


def from_children():
    for _ in range(8):
        child(lambda: [os.write(1, BLOCK) for _ in range(16)], 0)
    for _ in range(8):
        os.wait()


def from_threads():
    threads = [threading.Thread(target=lambda: [os.write(1, BLOCK) for _ in range(16)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def reopened():
    fd = os.dup(1)
    os.close(1)
    os.dup2(fd, 1)
    for _ in range(TIMES):
        os.write(fd, BLOCK)


def errors():
    for _ in range(TIMES):
        os.write(2, BLOCK)


def report():
    for _ in range(64):
        os.write(3, BLOCK)
    passed()


def after_cancel():
    end = time.monotonic() + 4
    while time.monotonic() < end:
        os.write(1, BLOCK[:4096])
    passed()


def daemon():
    child(late, 60)


def late():
    time.sleep(1)
    with contextlib.suppress(OSError):  # nobody reads it any more
        os.write(1, b"printed-" + b"late")


def closed():
    time.sleep(0)  # where that is refused it still has an output to say so
    os.closerange(0, 256)
    time.sleep(4)
