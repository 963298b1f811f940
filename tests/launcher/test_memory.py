"""What a template does so that its forks are cheap: which pages a job writes, and copies of them ahead of it."""

from __future__ import annotations

import ctypes
import gc
import json
import mmap
import os
import resource
from collections.abc import Callable

import pytest

from casemate.launcher import memory, syscalls

PAGES = 64
WRITTEN = (3, 4, 40)


@pytest.fixture
def block() -> tuple[mmap.mmap, int]:
    """Private anonymous pages with something in them, and their address."""
    made = mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    made.madvise(mmap.MADV_NOHUGEPAGE)
    for number in range(PAGES):
        made[number * mmap.PAGESIZE] = 1
    return made, ctypes.addressof(ctypes.c_char.from_buffer(made))


def writing(block: mmap.mmap) -> Callable[[], None]:
    def job() -> None:
        for number in WRITTEN:
            block[number * mmap.PAGESIZE] = 2

    return job


def inside(ranges: memory.Ranges, address: int) -> set[int]:
    """Numbers of the block's pages that the ranges hold."""
    return {n for n in range(PAGES) for a, size in ranges if a <= address + n * mmap.PAGESIZE < a + size}


def faults(before: Callable[[], None], work: Callable[[], None]) -> int:
    """Minor faults of `work` in a fork, after `before`."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()  # the interpreter's own pages
            before()
            first = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            work()
            last = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            os.write(write, json.dumps(last - first).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        told = int(json.load(file))
    os.waitpid(pid, 0)
    return told


def test_the_pages_that_a_job_writes_are_found_and_no_others(block: tuple[mmap.mmap, int]) -> None:
    pages, address = block
    ranges = memory.written(writing(pages))
    assert inside(ranges, address) == set(WRITTEN)
    assert (address + 3 * mmap.PAGESIZE, 2 * mmap.PAGESIZE) in ranges  # neighbours are one range


def test_a_job_that_writes_nothing_there_marks_nothing_there(block: tuple[mmap.mmap, int]) -> None:
    assert inside(memory.written(lambda: None), block[1]) == set()


def test_a_failing_job_marks_nothing() -> None:
    def fail() -> None:
        raise ValueError

    assert memory.written(fail) == ()


def shared(pages: mmap.mmap) -> None:
    """Write to half of the block: what `faults` does twice, once warm."""
    for number in range(0, PAGES, 2):
        pages[number * mmap.PAGESIZE] = 3


def test_what_was_prefaulted_costs_no_fault(block: tuple[mmap.mmap, int]) -> None:
    pages, address = block
    other = mmap.mmap(-1, mmap.PAGESIZE * PAGES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    other.madvise(mmap.MADV_NOHUGEPAGE)
    target = [other]

    def work() -> None:
        shared(target[0])

    def ready() -> None:
        target[0] = pages
        memory.prefault([(address, PAGES * mmap.PAGESIZE)], lambda: False)

    def twin() -> None:
        target[0] = pages

    assert faults(ready, work) < PAGES // 4  # the interpreter's own
    assert faults(twin, work) >= PAGES // 2


def test_prefaulting_leaves_off_when_it_is_told_to(block: tuple[mmap.mmap, int]) -> None:
    pages, address = block
    other = mmap.mmap(-1, mmap.PAGESIZE * PAGES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    target = [other]

    def ready() -> None:
        target[0] = pages
        memory.prefault([(address, PAGES * mmap.PAGESIZE)], lambda: True)

    assert faults(ready, lambda: shared(target[0])) >= PAGES // 2


def test_a_kernel_that_cannot_prefault_is_slower_and_no_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(address: int, length: int, advice: int) -> None:
        asked.append(advice)
        raise OSError(22, "invalid argument")

    monkeypatch.setattr(syscalls, "madvise", refuse)
    memory.prefault([(4096, 4096), (8192, 4096)], lambda: False)
    assert asked == [syscalls.MADV_POPULATE_WRITE]


HUGE = 2 << 20


def in_huge_pages(address: int) -> int:
    """Bytes of the mapping at `address` that are in huge pages (AnonHugePages, proc_pid_smaps(5))."""
    with open("/proc/self/smaps", encoding="utf-8") as file:
        inside = False
        for line in file:
            if "-" in line.split(" ", 1)[0]:
                first, last = (int(number, 16) for number in line.split(" ", 1)[0].split("-"))
                inside = first <= address < last
            elif inside and line.startswith("AnonHugePages:"):
                return int(line.split()[1]) << 10
    raise AssertionError("no such mapping")


def test_settled_memory_is_in_huge_pages() -> None:
    made = mmap.mmap(-1, 4 * HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = ctypes.addressof(ctypes.c_char.from_buffer(made))
    start = -(-address // HUGE) * HUGE
    # Written a page at a time while huge pages were not wanted, as a heap grows.
    made.madvise(mmap.MADV_NOHUGEPAGE)
    for offset in range(0, 4 * HUGE, mmap.PAGESIZE):
        made[offset] = 1
    made.madvise(mmap.MADV_HUGEPAGE)
    try:
        memory.settle()
    finally:
        gc.unfreeze()
    assert in_huge_pages(start) >= 3 * HUGE
    assert made[0] == made[mmap.PAGESIZE] == 1
