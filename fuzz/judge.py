"""Judges cases in forks, under limits of processor time and address space.

    fuzz ──cases──► judge (a process that has only imported the target) ──fork──► the check, under its limits

A case is wrong if its check raises, is killed (SIGXCPU: out of processor time), or took more memory than its target
may. Processor time and not the clock's, so that a busy machine makes nobody wrong.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

Check = Callable[[bytes], str]
ROOT = Path(__file__).parent.parent
HANG = 120
"""Seconds by the clock after which a check that does not even use the processor is ended."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """`said` is each check's word; `wrong` says what was found, or is empty."""

    said: tuple[str, ...]
    wrong: str


def environment() -> dict[str, str]:
    """For programs of ours: the package, the tests' helpers and this folder."""
    paths = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT)]
    return {**os.environ, "PYTHONPATH": ":".join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])}


class Judge:
    """The judge of one target; use it in a `with` block."""

    def __init__(self, target: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.judge", target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pipes = self._pipes()
        pipes[0].close()
        self._process.wait()
        pipes[1].close()

    def __call__(self, case: bytes) -> Judgement:
        """Judge one case."""
        return self.each([case])[0]

    def each(self, cases: list[bytes]) -> list[Judgement]:
        """Judge cases."""
        into, out = self._pipes()
        into.write(json.dumps([case.decode("latin-1") for case in cases]).encode() + b"\n")
        into.flush()
        return [Judgement(tuple(said), wrong) for said, wrong in json.loads(out.readline())]

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


def serve(name: str) -> None:
    """In the judge's process: until there are no more cases."""
    from fuzz.targets import TARGETS

    target = TARGETS[name]
    for line in sys.stdin.buffer:
        cases = [case.encode("latin-1") for case in json.loads(line)]
        answers = [judged(check, cases, target.cpu, target.memory) for check in target.checks]
        each = [
            ([said for said, _ in case], next((wrong for _, wrong in case if wrong), ""))
            for case in zip(*answers, strict=True)
        ]
        print(json.dumps(each), flush=True)


def judged(check: Check, cases: list[bytes], cpu: int, memory: int) -> list[tuple[str, str]]:
    """What the check said of each case, and what was wrong with it. Limits are seconds and bytes.

    All of them share a fork, which costs more than most cases do. Where one is suspicious, each is judged alone.
    """
    told, wrong = _fork(check, cases, cpu, memory)
    if len(cases) == 1:
        return [(told[0] if told else "", wrong)]
    if wrong:
        return [judged(check, [case], cpu, memory)[0] for case in cases]
    return [(said, "") for said in told]


def _fork(check: Check, cases: list[bytes], cpu: int, memory: int) -> tuple[list[str], str]:
    out, into = os.pipe()
    pid = os.fork()
    if pid == 0:
        _forked(check, cases, cpu, memory, into)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        return [], f"it was ended by {signal.Signals(-code).name}"
    if not text:
        return [], f"it ended with status {code}"
    told, wrong = json.loads(text)
    return told, wrong


def _forked(check: Check, cases: list[bytes], cpu: int, memory: int, into: int) -> None:
    told: list[str] = []
    wrong = ""
    try:
        before = _kilobytes("VmSize")
        # The limit is beyond what is allowed, so that what is too much is seen, and not an answer to a MemoryError.
        address_space = (before << 10) + 2 * memory
        resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
        for case in cases:
            signal.alarm(HANG)
            began = time.process_time()
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(began) + cpu, resource.RLIM_INFINITY))
            told.append(check(case))
            if (took := time.process_time() - began) > cpu:
                wrong = f"it took {took:.1f} s"
        taken = _kilobytes("VmPeak") - before
        if taken << 10 > memory:
            wrong = f"it took {taken >> 10} MiB"
    except BaseException:
        wrong = traceback.format_exc()[-4000:]
    try:
        data = json.dumps([told, wrong]).encode()
        while data:
            data = data[os.write(into, data) :]
    finally:
        os._exit(0)


def _kilobytes(field: str) -> int:
    """VmSize or VmPeak of this process (proc_pid_status(5)); a fork's peak begins at its size."""
    text = Path("/proc/self/status").read_text("ascii", "replace")
    return int(text.partition(f"{field}:")[2].split()[0])


if __name__ == "__main__":
    serve(sys.argv[1])
