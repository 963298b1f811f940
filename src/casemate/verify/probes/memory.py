"""Takes memory by every road. Each asks for two and a half times the limit at most: an open wall costs little."""

import fcntl
import mmap

ASKED = 160
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def waits():
    """For children and threads: what they keep is theirs; the job waits, and should not get to its end."""
    time.sleep(4)
    passed()


def heap():
    take(lambda n: keep(touch(bytearray(MIB))), ASKED)


def anonymous():
    take(lambda n: keep(touch(mmap.mmap(-1, MIB, flags=PRIVATE))), ASKED)


def shared():
    take(lambda n: keep(touch(mmap.mmap(-1, MIB))), ASKED)


def children():
    for _ in range(10):
        child(lambda: keep(touch(bytearray(16 * MIB))))
    waits()


def copies():
    keep(touch(bytearray(30 * MIB)))
    for _ in range(5):
        child(lambda: touch(KEPT[0]))
    waits()


def threads():
    for _ in range(10):
        threading.Thread(target=lambda: keep(touch(bytearray(16 * MIB)))).start()
    waits()


def files():
    def more(n):
        with open(f"/tmp/f{n}", "wb") as file:
            file.write(bytes(MIB))

    take(more, ASKED)


def deleted():
    def more(n):
        keep(open(f"/tmp/f{n}", "wb", buffering=0))  # noqa: SIM115
        os.unlink(f"/tmp/f{n}")
        KEPT[-1].write(bytes(MIB))

    take(more, ASKED)


def mapped_file():
    fd = os.open("/tmp/f", os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, 120 * MIB)
    touch(mmap.mmap(fd, 120 * MIB))
    passed()


def strings():
    take(lambda n: keep(str(n) * MIB), ASKED)


def lists():
    take(lambda n: KEPT.extend(range(n * 100_000, (n + 1) * 100_000)), 60)


def image_copies():
    """Private pages of a file of the image, each written to."""
    tops = ["/usr/lib", *(f"/usr/lib/{name}" for name in os.listdir("/usr/lib") if "-linux-" in name)]
    libraries = [entry for top in tops for entry in os.scandir(top) if entry.is_file()]
    fd = os.open(max(libraries, key=lambda entry: entry.stat().st_size).path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    rights = mmap.PROT_READ | mmap.PROT_WRITE
    take(lambda n: keep(touch(mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=rights))), ASKED * MIB // size + 1)


def grown():
    mapping = mmap.mmap(-1, MIB, flags=PRIVATE)

    def more(n):
        mapping.resize((n + 2) * MIB)
        mapping[(n + 1) * MIB : (n + 2) * MIB] = b"1" * MIB

    take(more, ASKED)


def fallocate():
    fd = os.open("/tmp/f", os.O_CREAT | os.O_RDWR)
    take(lambda n: os.posix_fallocate(fd, n * MIB, MIB), 120)


def fixed():
    """At addresses of its own choice (MAP_FIXED)."""
    libc.mmap.restype = ctypes.c_void_p

    def more(n):
        place = ctypes.c_void_p(0x100000000000 + n * MIB)
        ctypes.memset(libc.mmap(place, ctypes.c_size_t(MIB), 3, 0x32, -1, ctypes.c_long(0)), 1, MIB)

    take(more, ASKED)


# --- what the kernel keeps for a process ------------------------------------------------------------------------------


def pipes():
    """A megabyte in each where one may ask for it (F_SETPIPE_SZ, fcntl(2)), up to what a user's pipes may hold.

    The rest on the heap: what would still be within the limit if pipes did not count.
    """
    held = []

    for _ in range(62):
        ends = os.pipe()
        keep(ends)
        with contextlib.suppress(PermissionError):
            fcntl.fcntl(ends[1], 1031, MIB)
        os.set_blocking(ends[1], False)
        with contextlib.suppress(BlockingIOError):
            while True:
                held.append(os.write(ends[1], bytes(65536)))
    keep(touch(bytearray((68 << 20) - sum(held))))
    passed()


def pairs():
    def fill():
        for _ in range(100):
            for one in socket.socketpair():
                keep(one)
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        one.send(bytes(4096))

    keep(socket.socketpair())  # where there are none, it is said here
    for _ in range(6):
        child(fill)
    waits()


def page_tables():
    """One page in each two MiB, without huge pages: as much again in page tables."""

    def sparse():
        mapping = mmap.mmap(-1, 3600 * MIB, flags=PRIVATE | 0x4000)  # MAP_NORESERVE
        mapping.madvise(15)  # MADV_NOHUGEPAGE
        for n in range(1790):
            mapping[n * 2 * MIB] = 1
        keep(mapping)

    for _ in range(10):
        child(sparse)
    waits()


# --- roads that are closed ------------------------------------------------------------------------------------------


def memory_file():
    take(lambda n: os.write(os.memfd_create("x"), bytes(MIB)), 40)


def system_v():
    def more(_):
        if libc.shmget(0, MIB, 0o1600) < 0:
            raise OSError(ctypes.get_errno(), "shmget")

    take(more, 40)


def shared_directory():
    def more(n):
        with open(f"/dev/shm/f{n}", "wb") as file:
            file.write(bytes(MIB))

    take(more, ASKED)


def locked():
    def more(_):
        if libc.mlockall(2):  # MCL_FUTURE
            raise OSError(ctypes.get_errno(), "mlockall")

    take(more, 1)


def raised():
    import resource

    take(lambda n: resource.setrlimit(resource.RLIMIT_AS, (1 << 50, 1 << 50)), 1)
