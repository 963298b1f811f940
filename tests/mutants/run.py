"""`make mutants`: takes out each guard singly, and looks whether a test fails.

    python -m mutants.run [--only TEXT …] [--again] [--seconds N] [--list] [--report FILE]

Each mutant is a copy of the project with an edit; pytest runs on that copy in the harness (programs/ground.py). What
came of it is kept in .mutants/results.json, so that a run that was broken off goes on, until mutant or tests change.
The copy without any edit is run first: a mutant is judged by tests that pass without it. Status 1 if one survived.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import TESTS, confined
from mutants import filters, gates, walls
from mutants.edits import ORDERS, Edit
from mutants.mutant import Mutant, unique
from mutants.plugin import REASON

ROOT = TESTS.parent
STATE = ROOT / ".mutants"
LEFT_OUT = shutil.ignore_patterns(".*", "out", "dist", "RESULTS.md")
"""What is not copied: version control, environments, states, results."""
SECONDS = 200.0
KILLED, SURVIVED, TIME = "killed", "survived", "out of time"


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a mutant; `by` is the test that failed."""

    outcome: str
    by: str
    seconds: float


class Ground:
    """A copy of the project to be edited and tested; use it in a `with` block."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="casemate-mutants-")
        self.root = Path(self._place.name) / "project"
        shutil.copytree(ROOT, self.root, symlinks=True, ignore=LEFT_OUT)

        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Ground:
        self._stack.enter_context(self._place)
        os.mkfifo(self.root / ORDERS)
        # For both, so that it can be opened before the other side does (fifo(7)).
        self._orders = self._stack.enter_context(open(os.open(self.root / ORDERS, os.O_RDWR), "w", encoding="utf-8"))
        self._process = self._stack.enter_context(confined("ground", str(self.root))).process
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def tests(
        self, arguments: tuple[str, ...], edits: tuple[Edit, ...] = (), seconds: float = SECONDS
    ) -> dict[str, Any]:
        """Run pytest on the copy with these edits (mutants/server.py)."""
        print(json.dumps({"edits": edits, "tests": arguments, "seconds": seconds}), file=self._orders, flush=True)
        out = self._process.stdout
        assert out is not None
        answer = out.readline()
        if not answer:
            raise RuntimeError(f"the ground has ended: {self._process.communicate()[1][-3000:]}")
        told: dict[str, Any] = json.loads(answer)
        return told

    def sound(self, arguments: tuple[str, ...]) -> bool:
        """Whether all of these pass, and none is skipped for another reason than the plugin's; says why not."""
        told = self.tests(("-rs", *arguments))
        skipped = [line for line in told["tail"] if line.startswith("SKIPPED") and REASON not in line]
        if told["status"] == 0 and not skipped:
            return True
        print("\n".join(["without any mutant:", *arguments, *told["tail"][-12:]]), flush=True)
        return False

    def judge(self, mutant: Mutant, arguments: tuple[str, ...]) -> Found:
        """Run these tests on one mutant."""
        told = self.tests(arguments, mutant.edits)
        took = float(told["seconds"])
        if told["status"] is None:
            return Found(TIME, "", took)
        return Found(KILLED, _failed(told["tail"]), took) if told["status"] else Found(SURVIVED, "", took)


def _failed(tail: list[str]) -> str:
    for line in reversed(tail):
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0].removeprefix("tests/")
    return tail[-1] if tail else "?"


def every() -> tuple[Mutant, ...]:
    """All mutants, those that need no sandbox first."""

    def made() -> Iterator[Mutant]:
        yield from filters.mutants()
        yield from gates.mutants()
        yield from walls.mutants()

    return unique(made())


def _files(*names: str) -> str:
    """Changes with the files that pytest's arguments name, and with those of directories."""
    digest = hashlib.sha256()
    for name in names:
        place = ROOT / name.partition("::")[0]
        for file in [place] if place.is_file() else sorted(place.rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class Results:
    """What is known of mutants, and of tests that pass without any; kept in a file."""

    def __init__(self) -> None:
        self._file = STATE / "results.json"
        kept = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        self.mutants: dict[str, dict[str, Any]] = kept.get("mutants", {})
        self.sound: dict[str, str] = kept.get("sound", {})

    def keep(self) -> None:
        """Write it down."""
        STATE.mkdir(exist_ok=True)
        self._file.write_text(json.dumps({"mutants": self.mutants, "sound": self.sound}, indent=1), "utf-8")


def run(mutants: list[Mutant], seconds: float, *, again: bool) -> Results:
    """Judge those that are not judged yet, for so many seconds; what is known of each."""
    results, began = Results(), time.monotonic()
    code = _files("src", "tests/harness.py", "tests/programs")
    with Ground() as ground:

        def sound(arguments: tuple[str, ...]) -> bool:
            name, stamp = " ".join(arguments), f"{code} {_files(*arguments)}"
            if results.sound.get(name) != stamp and ground.sound(arguments):
                results.sound[name] = stamp
                results.keep()
            return results.sound.get(name) == stamp

        for mutant in mutants:
            # One that was seen is judged again when it is another; a survivor when its tests are, too.
            stamp, old = f"{mutant.key()} {_files(*mutant.tests)}", results.mutants.get(mutant.name, {"stamp": ""})
            same = old["stamp"] == stamp or (old["stamp"].startswith(mutant.key()) and old["outcome"] != SURVIVED)
            if same and not again:
                continue
            if time.monotonic() - began > seconds:
                break
            found = None
            for arguments in filter(None, (mutant.tests, mutant.wider)):
                if not sound(arguments):
                    found = None
                    break
                found = ground.judge(mutant, arguments)
                if found.outcome != SURVIVED:
                    break
            if found is None:
                continue  # nothing can be said
            results.mutants[mutant.name] = {
                "stamp": stamp, "outcome": found.outcome, "by": found.by, "seconds": round(found.seconds, 1),
            }  # fmt: skip
            results.keep()
            print(f"{found.outcome:9} {found.seconds:5.1f} s  {mutant.name}  {found.by}", flush=True)
    return results


def report(mutants: tuple[Mutant, ...], known: dict[str, dict[str, Any]]) -> str:
    """The score by family, and who survived, as Markdown."""
    rows = ["| family | mutants | run | seen | score |", "|---|--:|--:|--:|--:|"]
    whole = [0, 0, 0]
    for family in dict.fromkeys(mutant.family for mutant in mutants):
        names = [mutant.name for mutant in mutants if mutant.family == family]
        done = [known[name] for name in names if name in known]
        seen = [one for one in done if one["outcome"] != SURVIVED]
        whole = [whole[0] + len(names), whole[1] + len(done), whole[2] + len(seen)]
        rows.append(_row(family, len(names), len(done), len(seen)))
    rows.append(_row("**all**", *whole))
    left = [mutant.name for mutant in mutants if known.get(mutant.name, {}).get("outcome") == SURVIVED]
    return "\n".join([*rows, "", "Survivors:", "", *(f"- `{name}`" for name in left or ["none"])]) + "\n"


def _row(name: str, count: int, done: int, seen: int) -> str:
    score = f"{100 * seen / done:.1f} %" if done else "–"
    return f"| {name} | {count} | {done} | {seen} | {score} |"


def main() -> int:
    """Run; the exit status."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="those with one of these in their name")
    parser.add_argument("--again", action="store_true", help="also those that are judged already")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin none after that time")
    parser.add_argument("--list", action="store_true", help="name them, and run none")
    wanted = parser.parse_args()
    mutants = every()
    chosen = [m for m in mutants if not wanted.only or any(text in m.name for text in wanted.only)]
    if wanted.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    known = run(chosen, wanted.seconds, again=wanted.again).mutants
    print(report(mutants, known))
    return int(any(known.get(mutant.name, {}).get("outcome") == SURVIVED for mutant in chosen))


if __name__ == "__main__":
    sys.exit(main())
