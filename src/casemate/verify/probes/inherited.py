"""Looks for canaries and for names in what the process was started with."""


def scan_memory(only="", step=16 << 20):
    """Canaries in this process's own memory: every readable mapping that is not of a file, or those of one name."""
    found, seen = set(), 0
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        for span, rights, _, _, inode, *name in lines:
            if "r" not in rights or inode != "0" or only not in "".join(name) or "[v" in "".join(name):
                continue
            low, high = (int(part, 16) for part in span.split("-"))
            for place in range(low, high, step):
                with contextlib.suppress(OSError, ValueError):
                    memory.seek(place)
                    found.update(canaries(memory.read(min(step + 64, high - place))))
                    seen += 1
    if not seen:
        raise RuntimeError("no memory could be read")
    return sorted(found)


def c_environ():
    """The strings that the C library's `environ` points to."""
    environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    found = []
    while environ and environ[len(found)]:
        found.append(environ[len(found)].decode("latin-1"))
    return found


def not_given(strings):
    """What is in an environment that the profile does not put there."""
    return [text for text in strings if text not in CONFIG["variables"]]


def in_python():
    return not_given(f"{name}={value}" for name, value in os.environ.items())


def in_c():
    return not_given(c_environ())


def at_the_start():
    return not_given(filter(None, read("/proc/self/environ").split("\0")))


def secret_names():
    """Variables whose names say that they are secret or of this host."""
    words = ("KEY", "TOKEN", "SECRET", "PASS", "CANARY", "HOME", "USER", "PATH", "SSH", "XDG", "PWD")
    names = [text.partition("=")[0] for text in in_python()]
    return [name for name in names if any(word in name for word in words)]


def host_name():
    """The host's name, if it is not one that tells nothing."""
    name = os.uname().nodename
    return name if name not in ("sandbox", "room") else ""


def image_path():
    """Where the image is on the host, from the mount table."""
    with open("/proc/self/mountinfo") as file:
        return [line for line in file if any(word in line for word in ("casemate/images", "/var/", "/home/"))]


def loose_umask():
    """The mode of a new file, if others may do anything with it."""
    os.close(os.open("/tmp/umask", os.O_CREAT | os.O_WRONLY, 0o666))
    mode = os.stat("/tmp/umask").st_mode & 0o077
    os.unlink("/tmp/umask")
    return mode and f"others may {mode:o}"
