"""Disk by small files, by one large file, and by what is not a file."""

from __future__ import annotations

from casemate.verify.model import Probe
from casemate.verify.tables.rows import DISK

MINIMUM = 14
_BYTES = 32 << 20
_LIMITS = (
    ("disk_bytes", _BYTES),
    ("file_size", 16 << 20),
    ("inodes", 256),
    ("artifact_bytes", 1 << 20),
    ("artifact_total_bytes", 1 << 20),
)
_PEAK = 52 << 20
"""What the bytes on the tmpfs may have cost at most, with what the guest itself has."""
_FILLS = {
    "small-files": ("small files", "take(lambda n: open(f'/tmp/f{n}', 'wb').write(bytes(MIB)), 60)", "ENOSPC"),
    "two-directories": ("files in two places", "take(lambda n: open(f'{(\"/tmp\", \".\")[n % 2]}/g{n}', 'wb').write(bytes(MIB)), 60)", "ENOSPC"),
    "deleted": ("files that are deleted while open",
                "def gone(n):\n    keep(open(f'/tmp/f{n}', 'wb', buffering=0))\n    os.unlink(f'/tmp/f{n}')\n"
                "    KEPT[-1].write(bytes(MIB))\ntake(gone, 60)", "ENOSPC"),
    "appended": ("one file, appended", "fd = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY | os.O_APPEND)\n"
                 "take(lambda n: os.write(fd, bytes(MIB)), 60)", "EFBIG"),
    "one-large": ("one large file", "fd = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY)\n"
                  "take(lambda n: os.pwrite(fd, bytes(MIB), n * MIB), 60)", "EFBIG"),
    "sparse": ("a sparse file of a terabyte", "fd = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY)\n"
               "take(lambda n: os.ftruncate(fd, 1 << 40), 1)", "EFBIG"),
    "exabyte": ("a sparse file of an exabyte", "fd = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY)\n"
                "take(lambda n: os.ftruncate(fd, 1 << 60), 1)", "EFBIG"),
    "allocated": ("allocated space", "def more(n):\n    fd = os.open(f'/tmp/f{n}', os.O_CREAT | os.O_WRONLY)\n"
                  "    keep(fd)\n    os.posix_fallocate(fd, 0, 8 * MIB)\ntake(more, 8)", "ENOSPC"),
    "copied": ("copies made by the kernel", "open('/tmp/source', 'wb').write(bytes(MIB))\ndef more(n):\n"
               "    with open('/tmp/source', 'rb') as s, open(f'/tmp/c{n}', 'wb') as t:\n"
               "        if os.sendfile(t.fileno(), s.fileno(), 0, MIB) < MIB:\n            raise OSError(28, 'short')\n"
               "take(more, 60)", "ENOSPC"),
    "far-end": ("a byte at a far end", "fd = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY)\n"
                "take(lambda n: os.pwrite(fd, b'x', 1 << 40), 1)", "EFBIG"),
}  # fmt: skip
_MANY = {
    "files": ("empty files", "take(lambda n: open(f'/tmp/e{n}', 'w').close(), 1000)"),
    "directories": ("directories", "take(lambda n: os.mkdir(f'/tmp/d{n}'), 1000)"),
    "deep": ("directories in each other", "def deeper(n):\n    os.mkdir('d')\n    os.chdir('d')\ntake(deeper, 1000)"),
    "long-names": ("files with long names", "take(lambda n: open('/tmp/' + f'{n:04}' * 60, 'w').close(), 1000)"),
    "fifos": ("named pipes", "take(lambda n: open(f'/tmp/p{n}', 'x').close() or os.mkdir(f'/tmp/q{n}'), 1000)"),
}

PROBES: tuple[Probe, ...] = (
    *(
        Probe(
            f"disk.{name}", f"fills the disk with {what}", DISK, "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + code,
            "disk", "outcome", "disk", expect=f"exited; refused {errno}; memory {_PEAK}" + ("; counter disk_bytes" if errno == "ENOSPC" and name != "deleted" else ""),
            limits=_LIMITS,
        )
        for name, (what, code, errno) in _FILLS.items()
    ),
    *(
        Probe(
            f"disk.many-{name}", f"makes {what} without end", DISK, code, "disk", "outcome", "disk",
            expect="exited; refused ENOSPC; counter inodes", limits=_LIMITS,
        )
        for name, (what, code) in _MANY.items()
    ),
)  # fmt: skip
