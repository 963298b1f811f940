"""Goes on past its time: the wall clock's, or that of the processor."""


def python():
    spin(3)


def asleep():
    time.sleep(3)


def without_signals():
    deaf()
    spin(3)


def native():
    """In C, without ever letting the interpreter go."""
    pow(3, 16_000_000)


def regex():
    re.match(r"(a+)+$", "a" * 26 + "!")


def in_a_child():
    child(lambda: spin(3), 0)
    os.wait()


def stopped():
    child(lambda: (time.sleep(3), os.kill(os.getppid(), signal.SIGCONT)), 0)
    os.kill(os.getpid(), signal.SIGSTOP)


def own_timers():
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(3)


def blocked():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=3)


def cpu_one():
    burn(2.5)


def cpu_four():
    """Four processes, none of them above a limit of its own."""
    for _ in range(3):
        child(lambda: burn(0.7), 0)
    burn(0.7)
    for _ in range(3):
        os.wait()


def cpu_threads():
    threads = [threading.Thread(target=burn, args=(0.7,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cpu_handler():
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    burn(2.5)


def cpu_successors():
    for _ in range(8):
        child(lambda: burn(0.4), 0)
        os.wait()
