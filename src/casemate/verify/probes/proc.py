"""Reads what /proc shows."""


def opened(path):
    """Whether a file, a directory or a link can be opened or read at all."""
    try:
        return f"it leads to {os.readlink(path)}"
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    return f"{path} was opened"


def look_at(path):
    """The beginning of a file, or the names in a directory."""
    if os.path.isdir(path):
        names = sorted(os.listdir(path))
        return f"{path} holds {names[:20]}" if names or not CONFIG["masked"] else ""
    return read(path, 400) or ("" if CONFIG["masked"] else f"{path} was read, and is empty")


def other_processes():
    """Processes that are neither this one nor its parent in the sandbox."""
    own = own_pids()
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in own]


def cgroup_path():
    """The lines of its cgroup file that are not relative to the root of a namespace (cgroup_namespaces(7))."""
    lines = read("/proc/self/cgroup").splitlines()
    return [line for line in lines if not line.endswith(":/") and ":/.." not in line]


def signalled_above():
    """Signal 0 to the first process, which asks and does nothing."""
    os.kill(1, 0)
    return "signalled"
