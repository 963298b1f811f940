"""Fills what can be written. Each asks for about twice the limit at most."""

ASKED = 60
MANY = 1000
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def made(path, size=0):
    with open(path, "wb") as file:
        file.write(bytes(size))


def one():
    return os.open("/tmp/f", os.O_CREAT | os.O_WRONLY)


def write_at(fd, data, place):
    os.lseek(fd, place, os.SEEK_SET)
    os.write(fd, data)


def small_files():
    take(lambda n: made(f"/tmp/f{n}", MIB), ASKED)


def two_directories():
    take(lambda n: made(f"{('/tmp', '.')[n % 2]}/g{n}", MIB), ASKED)


def deleted():
    def more(n):
        keep(open(f"/tmp/f{n}", "wb", buffering=0))  # noqa: SIM115
        os.unlink(f"/tmp/f{n}")
        KEPT[-1].write(bytes(MIB))

    take(more, ASKED)


def appended():
    fd = os.open("/tmp/f", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    take(lambda n: os.write(fd, bytes(MIB)), ASKED)


def one_large():
    fd = one()
    take(lambda n: write_at(fd, bytes(MIB), n * MIB), ASKED)


def sparse():
    fd = one()
    take(lambda n: os.ftruncate(fd, 1 << 40), 1)


def exabyte():
    fd = one()
    take(lambda n: os.ftruncate(fd, 1 << 60), 1)


def allocated():
    def more(n):
        fd = os.open(f"/tmp/f{n}", os.O_CREAT | os.O_WRONLY)
        keep(fd)
        os.posix_fallocate(fd, 0, 8 * MIB)

    take(more, 8)


def copied():
    made("/tmp/source", MIB)

    def more(n):
        with open("/tmp/source", "rb") as source, open(f"/tmp/c{n}", "wb") as target:
            if os.sendfile(target.fileno(), source.fileno(), 0, MIB) < MIB:
                raise OSError(errno.ENOSPC, "a short copy")

    take(more, ASKED)


def far_end():
    fd = one()
    take(lambda n: write_at(fd, b"x", 1 << 40), 1)


def many_files():
    take(lambda n: made(f"/tmp/e{n}"), MANY)


def many_directories():
    take(lambda n: os.mkdir(f"/tmp/d{n}"), MANY)


def many_deep():
    take(lambda n: os.mkdir("d" + "/d" * n), MANY)


def many_long_names():
    take(lambda n: made("/tmp/" + f"{n:04}" * 60), MANY)


def many_of_both():
    take(lambda n: (made(f"/tmp/p{n}"), os.mkdir(f"/tmp/q{n}")), MANY)


def open_files():
    take(lambda n: keep(os.open("/dev/null", os.O_RDONLY)), 200)
