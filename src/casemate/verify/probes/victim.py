"""Stands beside an attacker: plants a secret wherever it can, waits, and says what it noticed."""


def stand():
    secret = CONFIG["secret"].encode()
    noticed = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR2, signal.SIGCONT, signal.SIGWINCH):
        signal.signal(number, lambda number, _: noticed.append(f"signal {number}"))
    for path in ("/tmp/victim", "victim", "/dev/shm/victim"):
        with contextlib.suppress(OSError):
            with open(path, "wb") as file:
                file.write(secret)
            os.chmod(path, 0o666)
    with contextlib.suppress(OSError):
        os.chmod("/tmp", 0o1777)
    kept = bytearray(secret * 64)
    listeners = []
    with contextlib.suppress(OSError):
        one = socket.socket(socket.AF_UNIX)
        one.bind("\0victim-" + CONFIG["secret"][-8:])
        one.listen(8)
        one.setblocking(False)
        listeners.append(one)
    with contextlib.suppress(OSError, AttributeError):
        libc.shmat.restype = ctypes.c_void_p
        number = libc.shmget(0x766963, 4096, 0o1666)
        if number >= 0:
            ctypes.memmove(libc.shmat(number, None, 0), secret, len(secret))
        libc.semget(0x766963, 1, 0o1666)
        libc.msgget(0x766963, 0o1666)
    wait_to_be_seen()
    with contextlib.suppress(OSError), open("/tmp/victim", "rb") as file:
        if file.read() != secret:
            noticed.append("its file was changed")
    for listener in listeners:
        with contextlib.suppress(BlockingIOError):
            listener.accept()
            noticed.append("somebody connected")
    if bytes(kept) != secret * 64:
        noticed.append("its memory was changed")
    work(noticed)
    tell("neighbours.victim", refused="well" if not noticed else "", detail=cut(", ".join(noticed)))


def work(noticed):
    """Honest work needs processes, pipes, files and memory; an attacker with the same uid could have taken them."""
    for deed in (children, pipes, file, lambda: bytearray(1 << 24)):
        try:
            deed()
        except PermissionError:  # what the profile has not; who is short of something hears another errno
            pass
        except (OSError, MemoryError) as error:
            noticed.append(f"its work was refused: {error}")


def children():
    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def pipes():
    """Who has too many gets no more than two pages for each (pipe-user-pages-soft, pipe(7))."""
    for _ in range(8):
        if (held := os.write(os.pipe2(os.O_NONBLOCK)[1], bytes(65536))) < 65536:
            raise OSError(errno.ENOMEM, f"a pipe holds {held} bytes")


def file():
    # Not one that is there, which would be emptied first.
    with open(f"/tmp/work-{time.monotonic_ns()}", "wb") as target:
        target.write(bytes(1 << 20))
