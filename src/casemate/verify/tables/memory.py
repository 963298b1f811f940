"""Memory by every road: what a process maps, and what only the cgroup sees."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import MEMORY

MINIMUM = 16
_LIMIT = 64 << 20
_ROADS = {
    "heap": "keeps bytes", "anonymous": "maps anonymous memory", "shared": "maps shared memory",
    "children": "has children that keep bytes", "copies": "forks copies of its memory and writes to them",
    "threads": "keeps bytes in threads", "files": "writes files", "deleted": "writes files that are deleted",
    "mapped-file": "maps a file of its own and writes to it", "strings": "keeps long strings", "lists": "keeps a long list",
    "image-copies": "maps a file of the image privately and writes to it", "grown": "grows one mapping",
    "fallocate": "allocates a file", "fixed": "maps at addresses of its choice",
}  # fmt: skip
_CODE = {
    "heap": "take(lambda n: keep(touch(bytearray(MIB))), 160)",
    "anonymous": "import mmap\ntake(lambda n: keep(touch(mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))), 160)",
    "shared": "import mmap\ntake(lambda n: keep(touch(mmap.mmap(-1, MIB))), 160)",
    "children": "for _ in range(10): child(lambda: keep(touch(bytearray(16 * MIB))))\ntime.sleep(3)\npassed()",
    "copies": "keep(touch(bytearray(30 * MIB)))\nfor _ in range(5): child(lambda: touch(KEPT[0]))\ntime.sleep(3)\npassed()",
    "threads": "def more():\n    keep(touch(bytearray(16 * MIB)))\n"
               "for _ in range(10): threading.Thread(target=more).start()\ntime.sleep(3)\npassed()",
    "files": "take(lambda n: open(f'/tmp/f{n}', 'wb').write(bytes(MIB)), 160)",
    "deleted": "def gone(n):\n    keep(open(f'/tmp/f{n}', 'wb'))\n    os.unlink(f'/tmp/f{n}')\n"
               "    KEPT[-1].write(bytes(MIB))\ntake(gone, 160)",
    "mapped-file": "import mmap\nfd = os.open('/tmp/f', os.O_CREAT | os.O_RDWR)\nos.ftruncate(fd, 120 * MIB)\n"
                   "m = mmap.mmap(fd, 120 * MIB)\ntake(lambda n: m.__setitem__(slice(n * MIB, (n + 1) * MIB), bytes(MIB)), 120)",
    "strings": "take(lambda n: keep(str(n) * MIB), 100)",
    "lists": "take(lambda n: KEPT.extend(range(n * 100000, (n + 1) * 100000)), 60)",
    "image-copies": "import mmap\nfd = os.open(largest(), os.O_RDONLY)\nsize = os.fstat(fd).st_size\n"
                    "take(lambda n: keep(touch(mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE,"
                    " prot=mmap.PROT_READ | mmap.PROT_WRITE))), (160 * MIB) // size + 1)",
    "grown": "import mmap\nm = mmap.mmap(-1, MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\ndef grow(n):\n"
             "    m.resize((n + 2) * MIB)\n    m[(n + 1) * MIB : (n + 2) * MIB] = b'1' * MIB\ntake(grow, 160)",
    "fallocate": "fd = os.open('/tmp/f', os.O_CREAT | os.O_RDWR)\ntake(lambda n: os.posix_fallocate(fd, n * MIB, MIB), 120)",
    "fixed": "libc.mmap.restype = ctypes.c_void_p\ndef at(n):\n"
             "    address = libc.mmap(ctypes.c_void_p(0x100000000000 + n * MIB), ctypes.c_size_t(MIB), 3, 0x32, -1, ctypes.c_long(0))\n"
             "    ctypes.memset(address, 1, MIB)\ntake(at, 160)",
}  # fmt: skip
# What the kernel keeps for a process: each has a bound of its own that is below the limit, so several do it together.
_WAIT = "\ntime.sleep(4)\npassed()"
_SMALL = {
    "pipes": ("fills pipes", "import fcntl\ndef fill(n):\n    r, w = os.pipe()\n    keep((r, w))\n    fcntl.fcntl(w, 1031, MIB)\n"
              "    os.set_blocking(w, False)\n    with contextlib.suppress(BlockingIOError):\n        while True:\n"
              "            os.write(w, bytes(65536))\ntake(fill, 62)\nkeep(touch(bytearray(8 * MIB)))\npassed()"),
    "pairs": ("fills socket pairs", "def fill(n):\n    for one in socket.socketpair():\n        keep(one)\n"
              "        one.setblocking(False)\n        with contextlib.suppress(BlockingIOError):\n            while True:\n"
              "                one.send(bytes(4096))\nfor _ in range(6): child(lambda: [fill(n) for n in range(100)])" + _WAIT),
    "page-tables": ("touches one page in each two MiB",
                    "import mmap\ndef sparse():\n    m = mmap.mmap(-1, 3600 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n"
                    "    m.madvise(15)\n    for n in range(1790):\n        m[n * 2 * MIB] = 1\n    keep(m)\n"
                    "for _ in range(10): child(sparse)" + _WAIT),
}  # fmt: skip
_CLOSED = {
    "memory-file": ("writes to a memory file", "take(lambda n: os.write(os.memfd_create('x'), bytes(MIB)), 40)"),
    "system-v": ("takes System V shared memory",
                 "def more(n):\n    number = libc.shmget(0, MIB, 0o1600)\n    if number < 0:\n"
                 "        raise OSError(ctypes.get_errno(), 'shmget')\ntake(more, 40)"),
    "shared-directory": ("writes to /dev/shm", "take(lambda n: open(f'/dev/shm/f{n}', 'wb').write(bytes(MIB)), 40)"),
    "locked": ("locks memory", "def more(n):\n    if libc.mlockall(2):\n        raise OSError(ctypes.get_errno(), 'mlockall')\n"
               "take(more, 1)"),
    "raised": ("raises its own limits", "import resource\ntake(lambda n: resource.setrlimit(resource.RLIMIT_AS, (1 << 50, 1 << 50)), 1)"),
}  # fmt: skip
_CLOSED_TWINS = {"shared-directory": "writable-tree", "locked": "memlock", "raised": "rlimits"}

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"memory.{name}", f"{what} past the limit", MEMORY, _CODE[name], "memory", "outcome", "memory",
            expect=f"limit memory; memory {_LIMIT}", limits=(("memory", _LIMIT), ("processes", 24)),
            declared=("limits.memory",),
        )
        for name, what in _ROADS.items()
    ),
    *(
        Probe(
            f"memory.{name}", f"{what} past the limit", MEMORY, code, "memory", "outcome", "memory",
            expect=f"limit memory; memory {_LIMIT}", limits=(("memory", _LIMIT), ("processes", 24)),
            declared=("limits.memory",),
        )
        for name, (what, code) in _SMALL.items()
    ),
    *(
        Probe(
            f"memory.{name}", what, MEMORY, code, _CLOSED_TWINS.get(name, "seccomp"), "outcome", "memory",
            expect="exited; refused EPERM,ENOENT,EACCES,ValueError,OSError", limits=(("memory", _LIMIT),),
        )
        for name, (what, code) in _CLOSED.items()
    ),
)  # fmt: skip
