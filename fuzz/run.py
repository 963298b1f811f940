"""`make fuzz MINUTES=n`: every target in turn, the time shared out; what is found goes into fuzz/corpus/.

    python -m fuzz.run MINUTES [TARGET …]

Targets of one function are fuzzed by Hypothesis and, where atheris is installed, by coverage; each for half of their
time. The others run batches of cases in the harness of the tests, which needs a cgroup. Ends with status 1 if anything
was found, or could not be run.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuzz import admitted, hunt, peers
from fuzz.judge import ROOT, Judge, environment
from fuzz.targets import TARGETS

STATE = ROOT / ".fuzz"
"""What coverage-guided fuzzing found interesting, for the next run; not a finding, and not in the tree."""
BATCH = {"peers": 40, "admitted": 20}
GROUP = 25
"""Cases that share a fork."""


def main(arguments: list[str]) -> int:
    """Run; the exit status."""
    minutes = float(arguments[0])
    names = arguments[1:] or [*TARGETS, *BATCH]
    number = int(time.time())
    print(f"cases are those of number {number} and following")
    found = 0
    for name in names:
        seconds = minutes * 60 / len(names)
        found += _batches(name, seconds, number) if name in BATCH else _function(name, seconds, number)
    print(f"{found} found" if found else "nothing found")
    return 1 if found else 0


def _said(name: str, how: str, began: float, said: Counter[str]) -> None:
    words = ", ".join(f"{word} {count}" for word, count in said.most_common(12))
    print(f"{name} ({how}): {said.total()} cases in {time.monotonic() - began:.0f} s: {words}", flush=True)


def _found(name: str, case: bytes, why: str) -> None:
    print(f"{name}: WRONG, kept as {hunt.keep(name, case).relative_to(ROOT)}\n{why}", flush=True)


# --- one function -----------------------------------------------------------------------------------------------------


def _function(name: str, seconds: float, number: int) -> int:
    guided = bool(TARGETS[name].covers) and importlib.util.find_spec("atheris") is not None
    found = _generated(name, seconds / 2 if guided else seconds, number)
    return found + (_guided(name, seconds / 2) if guided else 0)


def _generated(name: str, seconds: float, number: int) -> int:
    began, said = time.monotonic(), Counter[str]()
    with Judge(name) as judge:
        for batch in hunt.batches(TARGETS[name].cases, 200, number):
            for start in range(0, len(batch), GROUP):
                if time.monotonic() - began > seconds:
                    _said(name, "generated", began, said)
                    return 0
                group = batch[start : start + GROUP]
                for case, judgement in zip(group, judge.each(group), strict=True):
                    said[" ".join(judgement.said)] += 1
                    if judgement.wrong:
                        _said(name, "generated", began, said)
                        small = hunt.smaller(case, lambda case: judge(case).wrong)
                        _found(name, small, judge(small).wrong)
                        return 1
    return 0


def _guided(name: str, seconds: float) -> int:
    began, said = time.monotonic(), Counter[str]()
    interesting, wrong = STATE / name, STATE / f"{name}-wrong"
    for folder in (interesting, wrong):
        folder.mkdir(parents=True, exist_ok=True)
    with hunt.scratch() as seeds:
        for index, case in enumerate([*TARGETS[name].seeds(), *(path.read_bytes() for path in hunt.kept(name))]):
            (Path(seeds) / f"{index}").write_bytes(case)
        arguments = [name, str(int(seconds)), str(interesting), f"{wrong}/", seeds]
        command = [sys.executable, "-m", "fuzz.explore", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, errors="replace")
    tail = done.stderr.strip().splitlines()[-40:]
    executed = next((line.split()[1] for line in reversed(tail) if line.startswith("Done ")), "?")
    found = 0
    with Judge(name) as judge:
        for path in [*sorted(wrong.iterdir()), *sorted(interesting.iterdir())]:
            judgement = judge(path.read_bytes())
            said[" ".join(judgement.said)] += 1
            if judgement.wrong:
                found += 1
                small = hunt.smaller(path.read_bytes(), lambda case: judge(case).wrong)
                _found(name, small, judge(small).wrong)
                path.unlink()
    _said(name, f"by coverage, {executed} executions, those of interest judged", began, said)
    if done.returncode != 0 and not found:
        print("\n".join(tail))
        return 1
    return found


# --- batches in the harness -------------------------------------------------------------------------------------------


def _batches(name: str, seconds: float, number: int) -> int:
    began, said = time.monotonic(), Counter[str]()
    with hunt.scratch() as folder:
        for index in range(1 << 30):
            if time.monotonic() - began > seconds:
                break
            directory = Path(folder) / str(index)
            directory.mkdir()
            cases, run = _batch(name, number + index, directory)
            try:
                told = run(cases)
            except pytest.skip.Exception as why:
                print(f"{name}: not run: {why}")
                return 1
            said.update(told["said"])
            if told["wrong"]:
                _said(name, "in sandboxes", began, said)
                case, why = told["wrong"]
                _found(name, case.encode("latin-1"), why)
                return 1
    _said(name, "in sandboxes", began, said)
    return 0


def _batch(name: str, number: int, directory: Path) -> tuple[list[bytes], Callable[[list[bytes]], dict[str, Any]]]:
    if name == "peers":
        package = peers.package(directory)
        return hunt.examples(peers.PEERS, BATCH[name], number), lambda cases: peers.run(package, cases, directory)
    cases = admitted.only(hunt.examples(admitted.SCRIPTS, 4 * BATCH[name], number))[: BATCH[name]]
    return cases, lambda cases: admitted.run(cases, directory)


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(main(sys.argv[1:]))
