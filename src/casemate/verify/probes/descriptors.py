"""Looks at what is open. Descriptors that a probe opened itself are closed again before the next one."""


def beyond():
    found = []
    for fd in range(4, 1024):
        with contextlib.suppress(OSError):
            os.fstat(fd)
            found.append(fd)
    return found


def listed():
    """What the kernel lists; the listing's own descriptor does not count."""
    return [name for name in os.listdir("/proc/self/fd") if int(name) > 3 and os.path.lexists(f"/proc/self/fd/{name}")]


def targets():
    for fd in range(1024):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/self/fd/{fd}")


def of_kind(prefix):
    return [target for target in targets() if target.startswith(prefix)]


def directories():
    found = []
    for fd in range(1024):
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                found.append(os.readlink(f"/proc/self/fd/{fd}"))
    return found


def read_all():
    found = set()
    for fd in range(4, 1024):
        with contextlib.suppress(OSError):
            found.update(canaries(os.pread(fd, 4096, 0)))
    return sorted(found)


def speak():
    """Find a socket that would take a packet; to send one would end the room, and with it the other probes."""
    for fd in range(4, 256):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(fd).st_mode) and select.select([], [fd], [], 0)[1]:
                return f"descriptor {fd} takes packets"
    raise OSError(errno.EBADF, "no socket is open")


def terminals():
    return [fd for fd in range(4) if os.isatty(fd)]
