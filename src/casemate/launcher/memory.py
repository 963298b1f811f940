"""Makes a template cheap to fork, and its forks cheap to run in.

A fork copies the page tables of every private mapping, so 2 MiB pages make that copy up to 512 times smaller for the
heap (measured with CadQuery and build123d loaded: a fork takes less than half). gc.freeze keeps the collector of a
child from writing into objects that it shares with the template (gc documentation, "copy-on-write").

A child that writes to a page which it still shares with the template pays for a fault and a copy; a CadQuery job writes
to 2,700 such pages, and nearly the same ones whatever the script. Which they are is found out once, by a fork that does
a small job and ends, and a guest that waits while a core is idle takes its copies before the job comes.
"""

from __future__ import annotations

import array
import contextlib
import gc
import os
import struct
from collections.abc import Callable, Iterator, Sequence

from . import syscalls

HUGE = 2 << 20
PAGE = os.sysconf("SC_PAGE_SIZE")
Ranges = Sequence[tuple[int, int]]
"""(address, bytes), in order."""

_PRESENT, _SHARED, _EXCLUSIVE = 1 << 63, 1 << 61, 1 << 56
"""Bits of an entry of /proc/pid/pagemap: in memory, of a file or shared, mapped by this process alone (pagemap.rst)."""
_BATCH = 64
_RANGE = struct.Struct("=QQ")


def settle() -> int:
    """Collect garbage, freeze what is left, collapse the anonymous memory; bytes that were asked into huge pages.

    A kernel without MADV_COLLAPSE (before 6.1) refuses, and nothing changes: it is a matter of speed alone.
    """
    gc.collect()
    gc.freeze()
    asked = 0
    for first, last, inode in _writable():
        start, end = -(-first // HUGE) * HUGE, last // HUGE * HUGE
        if inode == "0" and start < end:
            with contextlib.suppress(OSError):
                syscalls.madvise(start, end - start, syscalls.MADV_COLLAPSE)
                asked += end - start
    return asked


def written(job: Callable[[], object]) -> Ranges:
    """The private pages that a fork of this process writes to while it does `job`; none where the kernel does not tell.

    The fork must have one thread, like this process; it ends with the job, and its failure means no pages.
    """
    read, write = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(read)
            job()
            with os.fdopen(write, "wb") as file:
                file.writelines(_RANGE.pack(*found) for found in _own_pages())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        told = file.read()
    os.waitpid(pid, 0)
    whole = told[: len(told) // _RANGE.size * _RANGE.size]
    return tuple((address, length) for address, length in _RANGE.iter_unpack(whole))


def prefault(ranges: Ranges, until: Callable[[], bool]) -> None:
    """Take this process's own copies of the pages, or leave off when `until()` says so (asked now and then).

    A kernel without MADV_POPULATE_WRITE (before 5.14) refuses: again a matter of speed alone.
    """
    for number, (address, length) in enumerate(ranges):
        if number % _BATCH == 0 and until():
            return
        try:
            syscalls.madvise(address, length, syscalls.MADV_POPULATE_WRITE)
        except OSError:
            return


def _writable() -> Iterator[tuple[int, int, str]]:
    """First address, end and inode of each private writable mapping (proc_pid_maps(5))."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        mappings = [line.split() for line in file]
    for words in mappings:
        if words[1] in ("rw-p", "rwxp"):
            first, last = (int(address, 16) for address in words[0].split("-"))
            yield first, last, words[4]


def _own_pages() -> Iterator[tuple[int, int]]:
    """Runs of private pages that no other process maps."""
    with open("/proc/self/pagemap", "rb", buffering=0) as pagemap:
        for first, last, _ in _writable():
            entries = array.array("Q", os.pread(pagemap.fileno(), (last - first) // PAGE * 8, first // PAGE * 8))
            start = -1
            for number, entry in enumerate((*entries, 0)):
                mine = bool(entry & _PRESENT and entry & _EXCLUSIVE and not entry & _SHARED)
                if mine and start < 0:
                    start = number
                elif not mine and start >= 0:
                    yield first + start * PAGE, (number - start) * PAGE
                    start = -1
