"""Attempts on the file tree. `anywhere` tries a deed at each directory that was planted outside."""


def anywhere(deed):
    """What a deed gave at the first place where it worked; the last refusal if it worked nowhere."""
    refusal = OSError(errno.ENOENT, "no place was planted")
    for place in CONFIG["places"]:
        try:
            found = deed(place)
        except OSError as error:
            refusal = error
            continue
        if found:
            return found
    raise refusal


def beneath(place):
    """Open relative to directories, from the root's descriptor down."""
    fd = os.open("/", os.O_PATH)
    for part in place.strip("/").split("/"):
        fd = os.open(part, os.O_PATH | os.O_DIRECTORY, dir_fd=fd)
    return os.read(os.open("secret", os.O_RDONLY, dir_fd=fd), 200)


def changed(place, mode):
    with open(place + "/open", mode) as file:
        file.write("changed")
    return "written"


def knock(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
    return f"connected to {path}"


def copied(path):
    with open(path, "rb") as source, open("/tmp/copy", "wb") as target:
        os.sendfile(target.fileno(), source.fileno(), 0, 200)
    return read("/tmp/copy")


def walk(wanted):
    """The first that is wanted below the root, what is near first; /proc, /sys and our own directory are left out."""
    level = ["/"]
    while level:
        below = []
        for directory in level:
            for entry in entries(directory):
                with contextlib.suppress(OSError):
                    if wanted(entry.path, entry.stat(follow_symlinks=False)):
                        return [entry.path]
                    if entry.is_dir(follow_symlinks=False) and entry.path not in ("/proc", "/sys", "/tmp"):
                        below.append(entry.path)
        level = below
    return []


def entries(directory):
    with contextlib.suppress(OSError), os.scandir(directory) as found:
        return list(found)
    return []


def named_like_ours(path, _):
    return "casemate-verify-" in path


def is_set_id(_, status):
    return stat.S_ISREG(status.st_mode) and status.st_mode & (stat.S_ISUID | stat.S_ISGID)


def is_socket(_, status):
    return stat.S_ISSOCK(status.st_mode)


def is_odd_device(path, status):
    device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    return device and path not in {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}


def created(place):
    open(f"{place}/casemate-verify", "w").close()
    return f"created in {place}"


def writable_mounts():
    """Mounts other than the one for writing that are not read-only; a device node's mount holds no files."""
    with open("/proc/self/mountinfo") as file:
        options = {row[4]: row[5].split(",") for row in map(str.split, file)}  # the last on a point is in force
    writable = [point for point in options if "ro" not in options[point] and not point.startswith(("/tmp", "/dev/"))]
    return [point for point in writable if not is_null(point)]  # which masks what is not shown


def is_null(path):
    try:
        return os.stat(path).st_rdev == os.makedev(1, 3)
    except OSError:
        return False


def mapped_code():
    import mmap

    with open("/tmp/code", "w+b") as file:
        file.write(bytes(4096))
        file.flush()
        mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    return "mapped"


def executed(*argv):
    """Whether a program runs: a child that becomes it, and its status."""
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(into, 1)
            os.execve(argv[0], [*argv, "-I", "-S", "-c", "import os; os.write(1, b'executed')"], {})
        except OSError as error:
            os.write(into, str(error.errno).encode())
        os._exit(1)
    os.close(into)
    told = os.read(out, 100)
    os.waitpid(pid, 0)
    if told.isdigit():
        raise OSError(int(told), f"execve {argv[0]}")
    return told.decode()


def executed_copy():
    fd = os.open("/tmp/program", os.O_CREAT | os.O_WRONLY, 0o700)
    with open(os.path.realpath("/usr/bin/python3"), "rb") as source:
        os.write(fd, source.read())
    os.close(fd)
    return executed("/tmp/program")


def executed_descriptor(path):
    """By execveat with an empty path (AT_EMPTY_PATH)."""
    return became(os.open(path, os.O_RDONLY), path)


def executed_memory():
    with open(os.path.realpath("/usr/bin/python3"), "rb") as source:
        fd = os.memfd_create("program")
        os.sendfile(fd, source.fileno(), 0, 1 << 30)
    return became(fd, "python3")


def became(fd, path):
    argv = (ctypes.c_char_p * 2)(path.encode(), None)
    pid = os.fork()
    if pid == 0:
        try:
            call("execveat", fd, ctypes.c_char_p(b""), argv, None, 0x1000)
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code in (errno.EPERM, errno.EACCES, errno.ENOSYS):
        raise OSError(code, "execveat")
    return f"the program ran, and ended with {code}"


def loader():
    for name in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
        if os.path.exists(name):
            return name
    raise OSError(errno.ENOENT, "no loader")
