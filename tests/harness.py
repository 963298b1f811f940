"""Runs an attack on a sandbox where it can hurt nobody: a process of its own under a cgroup that is made around it.

The fence is `casemate.verify.harness`: a group below the one this process is in, never at a hierarchy's root, in which
everything is killed at the end: 512 tasks, 4 GiB, one CPU and a half. Without the controllers the attack does not run,
and on CI that is a failure.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from processes import PATIENCE, wait_until

from casemate.launcher import cgroups
from casemate.verify.harness import BLIND, Bounds, NoHarness, fence, weakened

__all__ = [
    "BLIND",
    "Confined",
    "Launch",
    "DATA",
    "PROGRAMS",
    "TESTS",
    "attack",
    "confined",
    "launches",
    "successive",
    "two_jobs",
    "until_script_runs",
    "wait_until",
    "weakened",
]
BOUNDS = Bounds(memory=4 << 30, tasks=512, cpus=1.5)
DATA = Path(__file__).parent / "data"
TESTS = Path(__file__).parent
PROGRAMS = TESTS / "programs"


@dataclass(frozen=True)
class Confined:
    """A Python program in the harness."""

    process: subprocess.Popen[str]
    group: cgroups.Group

    def finish(self, timeout: float) -> Any:
        """Its last line of output, which is JSON."""
        out, err = self.process.communicate(timeout=timeout * PATIENCE)
        assert self.process.returncode == 0, f"status {self.process.returncode}: {err[-3000:]}"
        return json.loads(out.strip().splitlines()[-1])


@contextlib.contextmanager
def confined(program: str, *arguments: str) -> Iterator[Confined]:
    """Start `programs/PROGRAM.py` with `arguments` behind the fence; all of it is killed at the end."""
    argv = [sys.executable, str(PROGRAMS / f"{program}.py"), *arguments]
    env = {**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")}
    with contextlib.ExitStack() as stack:
        try:
            process, group = stack.enter_context(fence(argv, env, BOUNDS))
        except NoHarness as why:
            pytest.skip(str(why))
        yield Confined(process, group)


def two_jobs(
    sources: Mapping[str, tuple[str, float]], directory: Path, *, timeout: float = 100, ahead: bool = True
) -> dict[str, dict[str, Any]]:
    """Hostile jobs by name, each with its seconds (0: the profile's) and an honest job after it, on one Host.

    Both sandboxes were made before the hostile job began; with `ahead` False each is built for its job. What came of
    each is what `programs/two_jobs.py` prints.
    """
    arguments = []
    for name, (source, seconds) in sources.items():
        path = directory / f"{name}.py"
        path.write_text(source, "utf-8")
        arguments += [str(path), str(seconds)]
    with confined("two_jobs", str(2 * ahead), *arguments) as running:
        told = dict(zip(sources, running.finish(timeout), strict=True))
    assert [seen["ahead"] for seen in told.values()] == [[ahead, ahead]] * len(sources)
    return told


def attack(
    source: str, directory: Path, *, template: str = "light", profile: str = "strongest", seconds: float = 20,
    without: Sequence[tuple[str, str, str]] = (), timeout: float = 100, ahead: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """A hostile source with the gate off, in the harness; `without` are guards taken out, as edits (file, old, new).

    It is given to a sandbox that was made ahead and waited for it, or with `ahead` False to one that is built for it.
    """
    [seen] = attacks(
        {"source": source}, directory, template=template, profile=profile, seconds=seconds, without=without,
        timeout=timeout, ahead=ahead,
    ).values()  # fmt: skip
    return seen


def attacks(
    sources: Mapping[str, str], directory: Path, *, template: str = "light", profile: str = "strongest",
    seconds: float = 20, without: Sequence[tuple[str, str, str]] = (), timeout: float = 100, ahead: bool = True,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """As `attack`, several by name: one after the other on one Host, each in a sandbox of its own."""
    paths = [directory / f"source-{number}.py" for number in range(len(sources))]
    for path, source in zip(paths, sources.values(), strict=True):
        path.write_text(source, "utf-8")
    # The keeper looks at every guest from outside as well, and would not give a weakened one a job.
    package = str(weakened(directory, (*without, BLIND))) if without else "-"
    settings = (template, profile, str(seconds), package, str(int(ahead)))
    with confined("attack", *settings, *map(str, paths)) as running:
        told = dict(zip(sources, running.finish(timeout), strict=True))
    assert {seen["ahead"] for seen in told.values()} == {ahead}
    return told


def successive(
    directory: Path, template: str, sources: Mapping[str, str], *, profile: str = "strongest",
    size: int | None = None, edits: Sequence[tuple[str, str, str]] = (),
) -> list[dict[str, Any]]:  # fmt: skip
    """Jobs one after the other in the harness, each in a sandbox that waited before the first began; what each gave.

    The gate is off for those whose name begins with `open`. `size` is how many sandboxes are made ahead (as many as
    there are jobs, unless said; 0: each is built for its job). `edits` change the launcher, as in `attack`.
    """
    for name, text in sources.items():
        (directory / name).write_text(text, "utf-8")
    package = str(weakened(directory, edits)) if edits else "-"
    wanted, files = len(sources) if size is None else size, [str(directory / name) for name in sources]
    with confined("successive", package, template, profile, str(wanted), *files) as running:
        told: list[dict[str, Any]] = running.finish(100)
    assert [job["ahead"] for job in told] == [wanted > 0] * len(sources)
    return told


@dataclass(frozen=True)
class Launch:
    """A plain program, its profile's text, edits of the launcher, and whether its sandbox is made ahead of it."""

    source: str
    profile: str
    edits: tuple[tuple[str, str, str], ...] = ()
    ahead: bool = True


def launches(directory: Path, wanted: Sequence[Launch]) -> dict[Launch, dict[str, Any]]:
    """What became of each: one after the other in one process of the harness, each in a Host of its own."""
    jobs = []
    for number, each in enumerate(wanted):
        place = directory / str(number)
        place.mkdir()
        (place / "source.py").write_text(each.source, "utf-8")
        (place / "profile.toml").write_text(each.profile, "utf-8")
        package = str(weakened(place, (*each.edits, BLIND))) if each.edits else "-"
        jobs.append([package, str(place / "profile.toml"), str(place / "source.py"), int(each.ahead)])
    (directory / "jobs.json").write_text(json.dumps(jobs), "utf-8")
    with confined("launches", str(directory / "jobs.json")) as running:
        told: list[dict[str, Any]] = running.finish(100)
    seen = dict(zip(wanted, told, strict=True))
    assert all(found.get("ahead", each.ahead) is each.ahead for each, found in seen.items())
    return seen


def until_script_runs(attack: Confined) -> int:
    """Wait until `programs/hang.py` has its endless job running; the keeper's pid."""
    assert attack.process.stdout is not None
    for line in attack.process.stdout:
        step, keeper = json.loads(line)
        if step == "script":
            return int(keeper)
    raise AssertionError("the job never started")
