"""Calls the kernel past the C library."""

_HELD = []


def cloned(flags):
    """A child by raw clone with these flags and SIGCHLD; it ends at once."""
    try:
        pid = call("clone", flags | 17, 0, 0, 0, 0)
    except OSError as error:
        if error.errno == errno.EPERM:
            raise
        return f"reached: {error.errno}"
    if pid == 0:
        os._exit(0)
    return f"child {pid}"


def kept(name, *arguments):
    """A call whose result stays, to be seen from outside."""
    _HELD.append(arguments)
    return f"{name} gave {call(name, *arguments)}"


def own_filter():
    """A filter of one instruction: allow (seccomp(2), SECCOMP_SET_MODE_FILTER)."""
    code = ctypes.create_string_buffer(struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000), 8)
    program = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", 1, ctypes.addressof(code)), 16)
    return kept("seccomp", 1, 0, program) or "loaded"


def shared_memory():
    number = call("shmget", 0, 4096, 0o1600)
    call("shmat", number, 0, 0)
    call("shmctl", number, 0, 0)  # IPC_RMID: gone with the last who has it mapped
    return "mapped"


def ran():
    """For what is looked at from outside only."""
    return ""


# Without arguments they do something: they end, stop or split the process, or act on the whole host.
_HARMFUL = ("fork", "vfork", "pause", "exit", "exit_group", "rt_sigreturn", "vhangup", "sync", "setsid", "munlockall")

# uretprobe and uprobe of x86-64: the kernel lets them past every filter, and ends who calls them by hand with SIGILL.
_PAST_EVERY_FILTER = (335, 336) if CONFIG["machine"] == "x86_64" else ()


def sweep():
    """Every number outside the set, with arguments that can have no effect; stops at the eighth surprise."""
    skipped = {CONFIG["numbers"].get(name) for name in _HARMFUL} | set(CONFIG["allowed"]) | set(_PAST_EVERY_FILTER)
    odd = []
    tried_numbers = 0
    for number in range(CONFIG["numbers_end"]):
        if number in skipped:
            continue
        tried_numbers += 1
        try:
            call(number, -1, -1, -1, -1, -1, -1)
        except OSError as error:
            if error.errno in (errno.EPERM, CONFIG["odd_refusals"].get(str(number))):
                continue
            odd.append(f"{number}: {errno.errorcode.get(error.errno, error.errno)}")
        else:
            odd.append(f"{number}: it worked")
        if len(odd) >= 8:
            break
    if not odd and tried_numbers < 200:
        raise RuntimeError(f"only {tried_numbers} numbers were tried")
    return odd


def foreign(entry):
    """Enter by another door in a child for each number: each must be killed by SIGSYS. True if one is not."""
    for number in (0, 1, 20, 39, 59, 101, 200, 512, 520, 547):
        pid = os.fork()
        if pid == 0:
            signal.setitimer(signal.ITIMER_REAL, 2)
            try:
                entry(number)
            except OSError:
                pass
            finally:
                os._exit(0)
        status = os.waitpid(pid, 0)[1]
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGSYS:
            return f"number {number}: status {status}"
    return ""


def x32(number):
    call(0x40000000 | number, -1, -1, -1)


def i386():
    """`int 0x80` on a page of our own: mov eax, number; or ebx, -1; int 0x80; ret."""
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)

    def enter(number):
        page.seek(0)
        page.write(b"\x53\xb8" + struct.pack("=I", number) + b"\x83\xcb\xff\xcd\x80\x5b\xc3")
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()

    return enter
