"""Nothing that one job sets is seen by the next, although both come from one template and wait side by side.

The twins give both jobs to one guest, as a pool of workers does: there the second finds all that the first left.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from escape.leftovers import PLACES, TEMPLATES, UNTOUCHED, WRITABLE, Row, source
from escape.test_guards import without
from harness import BLIND, successive
from processes import descendants, guests, wait_until
from stocked import open_request, prepared, run

from casemate import Host, Stock
from casemate.control import runs

Edits = tuple[tuple[str, str, str], ...]

# The guest takes its one job twice.
REUSED: Edits = (
    ("launcher/template.py", "        code = entry(job.entry)(", "        code = _twice(job.entry)("),
    (
        "launcher/template.py",
        "def _wait(",
        "def _twice(name: str) -> Callable[..., int]:\n"
        "    def run(job: spec.GuestJob) -> int:\n"
        "        kept = os.dup(0)\n"
        "        entry(name)(job)\n"
        "        os.dup2(kept, 0)\n"
        "        os.close(kept)\n"
        "        os.lseek(0, 0, os.SEEK_SET)\n"
        "        return entry(name)(job)\n\n"
        "    return run\n\n\n"
        "def _wait(",
    ),
)
# What the walls let nobody set is set where they are open.
OPEN: Edits = (
    without("seccomp", "landlock"),
    ("launcher/lockdown.py", "(resource.RLIMIT_MSGQUEUE, 0)", "(resource.RLIMIT_MSGQUEUE, 819200)"),
    BLIND,
)
NUMBERS = """
import json, os, random, tempfile, uuid
import numpy
print(json.dumps([
    random.random(), numpy.random.random(), numpy.random.default_rng().random(), str(uuid.uuid4()), os.urandom(8).hex(),
    next(tempfile._get_candidate_names()), hash("a word"),
]))
random.seed(1)
numpy.random.seed(1)
raise SystemExit(0)
"""
# The first numbers that random.seed(1) and numpy.random.seed(1) give, in any Python and numpy.
SEEDED = [0.13436424411240122, 0.417022004702574]
UNSEEDED = (
    "guest/process.py",
    "    random.seed(os.urandom(32))\n    numpy = sys.modules.get(\"numpy.random\")\n",
    "    numpy = None\n",
)  # fmt: skip
ROWS = [(template, row) for template, (_, rows) in TEMPLATES.items() for row in rows]
HELD = [row for row in TEMPLATES["light"][1] if row.held]


def lines(job: dict[str, Any]) -> list[Any]:
    """What a job told, line by line."""
    assert job["reason"] == "exited", job
    return [json.loads(line) for line in job["stdout"].splitlines()]


@dataclass(frozen=True)
class Told:
    """Of one template: what the jobs found before and after they set everything, and the numbers that others drew."""

    found: list[dict[str, Any]]
    drawn: list[list[Any]]


def two(directory: Path, template: str, edits: Edits = (), reused: bool = False) -> Told:
    """Two jobs in two guests, or with `reused` in one; for the CAD template two more that draw numbers."""
    sources = {"open-1": source(template)} | ({} if reused else {"open-2": source(template)})
    drawing = {"open-3": NUMBERS, "open-4": NUMBERS} if template == "cad" else {}
    jobs = [lines(job) for job in successive(directory, template, sources | drawing, edits=edits)]
    return Told([line for job in jobs[: len(sources)] for line in job], [job[0] for job in jobs[len(sources) :]])


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """By template."""
    return {name: two(tmp_path_factory.mktemp(name), name) for name in TEMPLATES}


@pytest.fixture(scope="module")
def reused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """As `told`, with both jobs in one guest and no new seed; "open" with open walls.

    What the second job of a guest sets nobody looks at.
    """
    wanted = (("light", "light", REUSED), ("cad", "cad", (*REUSED, UNSEEDED)), ("open", "light", (*REUSED, *OPEN)))
    return {name: two(tmp_path_factory.mktemp(name), template, edits, reused=True) for name, template, edits in wanted}


@pytest.mark.parametrize(("template", "row"), ROWS, ids=lambda value: getattr(value, "name", value))
def test_the_next_job_finds_it_untouched(template: str, row: Row, told: dict[str, Told]) -> None:
    first, after, second, _ = (line[row.name] for line in told[template].found)
    if row.pristine is not UNTOUCHED:
        assert first == row.pristine
    assert second == first
    assert (after == first) is row.held


@pytest.mark.parametrize(
    ("template", "row"), [(t, r) for t, r in ROWS if not r.held], ids=lambda value: getattr(value, "name", value)
)
def test_twin_a_guest_that_takes_two_jobs_shows_it(template: str, row: Row, reused: dict[str, Told]) -> None:
    first, _, second = (line[row.name] for line in reused[template].found[:3])
    assert second != first


@pytest.mark.parametrize("row", HELD, ids=lambda row: row.name)
def test_twin_what_nobody_can_set_is_seen_in_open_walls(row: Row, reused: dict[str, Told]) -> None:
    first, after, second = (line[row.name] for line in reused["open"].found[:3])
    assert first not in ("there", row.pristine)
    assert (after, second) == ("there", "there")


def test_only_the_tmpfs_can_be_written(told: dict[str, Told]) -> None:
    assert set(WRITABLE) < set(PLACES)
    for template in TEMPLATES:
        assert told[template].found[1]["files in every place"] == WRITABLE


# --- random numbers -----------------------------------------------------------------------------------------------


def test_no_two_jobs_draw_the_same_numbers(told: dict[str, Told]) -> None:
    one, other = told["cad"].drawn
    # README, "not covered": forks of one template have one hash seed.
    assert one.pop() == other.pop()
    assert len({*one, *other, *SEEDED}) == len(one) + len(other) + len(SEEDED)


def test_twin_forks_that_are_not_seeded_draw_the_same(reused: dict[str, Told]) -> None:
    one, other = reused["cad"].drawn
    # Python's own generator, and what is made in the job, are seeded after a fork by themselves.
    assert [a == b for a, b in zip(one, other, strict=True)] == [False, True, False, False, False, False, True]


# --- jobs as they are, gate and second stage included -------------------------------------------------------------

GATED = """
import random
import cadquery as cq
import numpy as np
try:
    print(mark)
except NameError:
    print("no mark")
print(random.random())
print(np.random.random())
mark = 1
random.seed(1)
np.random.seed(1)
cq.exporters.export(cq.Workplane().box(3, 3, 3), "mark.step")
result = cq.Workplane().box(10, 20, 30)
"""
INCH = """
from OCP.Interface import Interface_Static
import cadquery as cq
cq.Workplane().box(1, 1, 1).val().exportStep("mark.step")
for name in ("write.step.unit", "xstep.cascade.unit"):
    Interface_Static.SetCVal_s(name, "INCH")
print(Interface_Static.CVal_s("write.step.unit"))
result = cq.Workplane().box(10, 20, 30)
"""


@pytest.mark.parametrize(("profile", "sandboxes"), [("strongest", 6), ("cad-fast", 3)])
def test_jobs_behind_the_gate_and_their_files(profile: str, sandboxes: int, tmp_path: Path) -> None:
    # In `cad` two sandboxes for each: the script's, and the one that writes and measures.
    sources = {"gated-1": GATED, "open-2": INCH, "gated-3": GATED}
    first, inch, last = successive(tmp_path, "cad", sources, profile=profile, size=sandboxes)
    assert "INCH" in inch["stdout"]
    told = [job["stdout"].splitlines() for job in (first, last)]
    assert [lines[0] for lines in told] == ["no mark", "no mark"]
    assert len({float(number) for lines in told for number in lines[1:]} | set(SEEDED)) == 6
    for job in (first, last):
        assert (job["verdict"], job["volumes"]) == ("part", [pytest.approx(6000)]), job
    assert first["steps"] == last["steps"]


def found_in(pids: Iterable[int], token: bytes) -> set[int]:
    """The processes in whose writable memory the token is (proc_pid_mem(5))."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").splitlines():
                addresses, mode = line.split()[:2]
                if not mode.startswith("rw"):
                    continue
                first, last = (int(address, 16) for address in addresses.split("-"))
                with contextlib.suppress(OSError):
                    if token in os.pread(memory.fileno(), last - first, first):
                        found.add(pid)
    return found


@pytest.mark.parametrize("template", ["light", "cad"])
def test_no_memory_of_a_job_is_left_in_what_the_next_is_made_of(template: str) -> None:
    token = secrets.token_hex(16)
    source = f"kept = [str(number) + '{token}' for number in range(1000)]\n"
    with Host(stock=Stock(size=1)) as host:
        running = open_request(host, f"{source}while True:\n    pass\n".encode(), template)
        ended = open_request(host, f"{source}raise SystemExit(0)\n".encode(), template)
        cancellation = runs.Cancellation()
        thread = threading.Thread(target=host.execute, args=(running, cancellation, lambda _: None))
        thread.start()
        # While a job runs its guest has the token, and it alone: so one that is there is found.
        assert wait_until(lambda: len(found_in(guests(host.keeper_pid or 0), token.encode())) == 1, 30)
        cancellation.request()
        thread.join(30)
        for _ in range(2):
            with prepared(host, ended, 1):
                assert run(host, ended).outcome.exit_code == 0
        with prepared(host, ended, 1) as ready:
            left = {host.keeper_pid or 0} | descendants(host.keeper_pid or 0)
            assert set(ready.pids.values()) <= left
            assert found_in(left, token.encode()) == set()
