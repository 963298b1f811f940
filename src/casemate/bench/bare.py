"""The unprotected ways of running a script, to divide by: see `worker.py`.

All of them use the image's packages (with its stand-in for VTK, without which a fresh import takes half as long again)
and an interpreter of this host's, so that what differs is the sandbox.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from casemate.bench.commands import PATH
from casemate.errors import SandboxFault
from casemate.runtime.connection import PACKAGE
from casemate.runtime.images import Image

_ENVIRONMENT = {"PATH": PATH, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _command(mode: str, image: Image) -> list[str]:
    worker = Path(__file__).with_name("worker.py")
    packages = f"{image.root}{image.site_packages}"
    return [sys.executable, "-I", "-S", "-B", str(worker), mode, packages, str(PACKAGE)]


class Worker:
    """A warm process without walls; not for several threads at once."""

    def __init__(self, mode: str, image: Image) -> None:
        self._process = subprocess.Popen(
            _command(mode, image), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT, cwd="/", text=True,
        )  # fmt: skip
        if self._read() != "ready":
            raise SandboxFault(f"the unprotected {mode} worker did not start")

    def run(self, source: str, patience: float | None = None) -> float:
        """Seconds as seen from here; raises SandboxFault if the script failed, TimeoutError if it hangs."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        began = time.perf_counter()
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        # One answer for one request: nothing of it is in the buffer yet.
        if patience is not None and not select.select([self._process.stdout], [], [], patience)[0]:
            raise TimeoutError
        told = self._read()
        took = time.perf_counter() - began
        try:
            float(told)
        except ValueError:
            raise SandboxFault(f"unprotected worker: {told or 'it ended'}") from None
        return took

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        """End it though it hangs."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30.0)
        self._process.stdout.close()


class Workers:
    """`size` of them behind one queue, as a pool of warm processes is used."""

    def __init__(self, mode: str, image: Image, size: int) -> None:
        self._mode, self._image = mode, image
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        with ThreadPoolExecutor(size) as threads:
            self._all = list(threads.map(lambda _: Worker(mode, image), range(size)))
        for worker in self._all:
            self._free.put(worker)

    def run(self, sources: Sequence[str], at_once: int) -> None:
        """All of them, `at_once` at a time."""
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(self._one, sources))

    def tried(self, sources: Sequence[str], at_once: int, patience: float) -> None:
        """As `run`, with scripts that may fail; who hangs is ended, and replaced by one that imports anew."""
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(lambda source: self._try(source, patience), sources))

    def _try(self, source: str, patience: float) -> None:
        worker = self._free.get()
        try:
            worker.run(source, patience)
        except TimeoutError:
            worker.kill()
            self._all.remove(worker)
            worker = Worker(self._mode, self._image)
            self._all.append(worker)
        except SandboxFault:
            pass
        finally:
            self._free.put(worker)

    def _one(self, source: str) -> None:
        worker = self._free.get()
        try:
            worker.run(source)
        finally:
            self._free.put(worker)

    def close(self) -> None:
        """End all."""
        for worker in self._all:
            worker.close()


@contextlib.contextmanager
def worker(mode: str, image: Image) -> Iterator[Worker]:
    """One, closed at the end."""
    made = Worker(mode, image)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def workers(mode: str, image: Image, size: int) -> Iterator[Workers]:
    """Several, closed at the end."""
    made = Workers(mode, image, size)
    try:
        yield made
    finally:
        made.close()


def fresh(image: Image, sources: Sequence[str], at_once: int) -> None:
    """A fresh process for each source, `at_once` at a time: `python script.py`, as it is done without us."""
    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(lambda source: _spawn(_command("once", image), source), sources))


def fresh_tried(image: Image, sources: Sequence[str], at_once: int, patience: float) -> None:
    """As `fresh`, with scripts that may fail, or are killed after `patience` seconds."""

    def run(source: str) -> None:
        with contextlib.suppress(SandboxFault, subprocess.TimeoutExpired):
            _spawn(_command("once", image), source, patience)

    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(run, sources))


def importing(image: Image) -> None:
    """A fresh process that imports CadQuery and nothing else."""
    packages = f"{image.root}{image.site_packages}"
    code = f"import sys, os; sys.path.append({packages!r}); import cadquery; os._exit(0)"
    _spawn([sys.executable, "-I", "-S", "-B", "-c", code], "")


def nothing(command: Sequence[str]) -> float:
    """Seconds from posix_spawn to the end of `python3 -c pass`."""
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), {"PATH": PATH})
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    if status:
        raise SandboxFault(f"{command[0]} ended with {status}")
    return took


def _spawn(command: Sequence[str], source: str, patience: float | None = None) -> None:
    ended = subprocess.run(
        command, input=source, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_ENVIRONMENT, cwd="/", text=True,
        check=False, timeout=patience,
    )  # fmt: skip
    if ended.returncode:
        raise SandboxFault(f"an unprotected process failed: {ended.stderr[-500:]}")
