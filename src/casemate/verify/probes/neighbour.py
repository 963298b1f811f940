"""Reaches for the sandbox beside."""


def others():
    """Processes that may be somebody else's: all numbers but its own and its parent's."""
    own = {0, 1, *own_pids()}
    return [pid for pid in range(1, 400) if pid not in own]


def first(deed):
    """What a deed gave for the first process for which it worked."""
    refusal = OSError(errno.ESRCH, "no such process")
    for pid in others():
        try:
            found = deed(pid)
        except OSError as error:
            refusal = error
            continue
        if found:
            return f"process {pid}: {found}"
    raise refusal


def signalled(pid, number):
    os.kill(pid, number)
    return f"signal {number} sent"


def secret_files():
    found = []
    for directory, _, names in os.walk("/tmp"):
        if directory.startswith(os.getcwd()):
            continue
        for name in names:
            with contextlib.suppress(OSError), open(os.path.join(directory, name), "rb") as file:
                found += canaries(file.read(4096))
    return found


def spoilt():
    """Change the other's file."""
    with open("/tmp/victim", "r+b") as file:
        file.write(b"spoilt")
    return "changed"


def memory_of(pid):
    with open(f"/proc/{pid}/mem", "rb"):
        return "opened"


def connected():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0victim-" + CONFIG["victim_word"])
    return "connected"


def ipc(name, *arguments):
    number = getattr(libc, name)(0x766963, *arguments)
    if number < 0:
        raise OSError(ctypes.get_errno(), name)
    return f"{name} gave {number}"


def shared_secret():
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0x766963, 0, 0)
    if number < 0:
        raise OSError(ctypes.get_errno(), "shmget")
    return canaries(ctypes.string_at(libc.shmat(number, None, 0), 4096))


def listed():
    own = {1, *own_pids()}
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in own]


def directories():
    return [name for name in os.listdir("/tmp") if name.startswith("job-") and name != os.path.basename(os.getcwd())]


def seen_from_both():
    """Only the host can say."""
    return ""


def greedy(step, enough=4000):
    """Take as much as there is of something, and keep it while the other works; the victim says if it is short."""
    kept = []
    with contextlib.suppress(OSError, MemoryError, RuntimeError):
        for n in range(enough):
            kept.append(step(n))
    KEPT.append(kept)
    return ""


KEPT = []


def sleeper():
    pid = os.fork()
    if pid == 0:
        time.sleep(8)
        os._exit(0)
    return pid


def full_pipe():
    r, w = os.pipe()
    with contextlib.suppress(OSError, ImportError):
        import fcntl

        fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 1 << 20)
    os.set_blocking(w, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(w, bytes(65536))
    return r, w
