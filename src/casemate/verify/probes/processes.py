"""Starts processes without end, and leaves some behind."""

ASKED = 40


def forks():
    take(lambda n: child(lambda: None), ASKED)


def threads():
    take(lambda n: threading.Thread(target=time.sleep, args=(20,), daemon=True).start(), ASKED)
    os._exit(0)


def zombies():
    take(lambda n: os.fork() or os._exit(0), ASKED)


def from_threads():
    def more(_):
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        child(lambda: None)

    take(more, ASKED // 2)
    os._exit(0)


def grandchildren():
    take(lambda n: child(lambda: child(lambda: None)), ASKED // 2)
    time.sleep(0.2)


def deaf_children():
    take(lambda n: child(deaf), ASKED)


def left_daemon():
    left()


def left_deaf():
    left(deaf)


def left_stopped():
    left(lambda: os.kill(os.getpid(), signal.SIGSTOP))


def left_terminal_stop():
    left(lambda: os.kill(os.getpid(), signal.SIGTSTP))


def left_spinning():
    left(spin)


def left_forking():
    """Each child forks the next and ends, so that no number stays the same."""
    left(successors)


def successors(seconds=60.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):  # refused while those before it are not taken away yet
            if os.fork():
                os._exit(0)


def left_child():
    child(lambda: None, 60)
    tell(NAME, refused="left", detail="a child holds the output")


def left_threads():
    left(lambda: [threading.Thread(target=spin).start() for _ in range(3)])


def left_blocked():
    lock = threading.Lock()
    lock.acquire()
    left(lock.acquire)


def left_many():
    for _ in range(10):
        left()


def left_at_once():
    left()
    os._exit(0)


def left_after_signal():
    left()
    os.kill(os.getpid(), signal.SIGKILL)


def left_after_deadline():
    left()
    time.sleep(4)
    passed()


def left_after_crash():
    left()
    ctypes.string_at(0)


def left_after_cancel():
    left()
    time.sleep(4)
    passed()
