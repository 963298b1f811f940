"""A sandbox that was made ahead serves one job of exactly its kind, if it is still what it was; nobody else notices."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from escape.test_guards import without
from harness import attack, confined, wait_until, weakened
from processes import descendants, fields
from stocked import open_request, prepared, run, standing, waiting

from casemate import Host, RunResult, SandboxFault, Stock
from casemate.control import execution, runs
from casemate.launcher import cgroups
from casemate.runtime.rooms import Rooms, Standing

PROFILES = Path(__file__).parents[2] / "profiles"
WHERE = b"import os\nprint(os.getcwd())\nraise SystemExit(0)\n"
WHERE_SLOWLY = b"import os, time\nprint(os.getcwd())\ntime.sleep(0.3)\nraise SystemExit(0)\n"
FILE_SIZE = b"import resource\nprint(resource.getrlimit(resource.RLIMIT_FSIZE)[0])\nraise SystemExit(0)\n"


def at_once(host: Host, request: runs.Request, count: int) -> list[RunResult]:
    """So many jobs, all begun together."""
    results: list[RunResult] = []
    threads = [threading.Thread(target=lambda: results.append(run(host, request))) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@contextlib.contextmanager
def asleep(host: Host) -> Iterator[None]:
    """Stop the keeper: it learns of what happens in the body only afterwards, of all of it at once."""
    assert host.keeper_pid is not None
    os.kill(host.keeper_pid, signal.SIGSTOP)
    try:
        assert wait_until(lambda: fields(host.keeper_pid or 0)["State"].startswith("T"), 5)
        yield
    finally:
        os.kill(host.keeper_pid, signal.SIGCONT)


def run_behind(host: Host, request: runs.Request, happens: object) -> RunResult:
    """The job is asked for after `happens` was called, and the keeper hears of both together."""
    results: list[RunResult] = []
    thread = threading.Thread(target=lambda: results.append(run(host, request)))
    with asleep(host):
        assert callable(happens)
        happens()
        thread.start()
        # It waits for the keeper's answer, so it has asked.
        assert wait_until(lambda: blocked(thread), 10)
    thread.join(60)
    return results[0]


def blocked(thread: threading.Thread) -> bool:
    """Whether a thread of ours sleeps on a lock (proc_pid_syscall(5): futex)."""
    with contextlib.suppress(OSError):
        call = Path(f"/proc/self/task/{thread.native_id}/syscall").read_text("ascii").split()
        return len(call) > 1 and call[0] == "202"
    return False


def other_profile(directory: Path, name: str, old: str = "file_size = 134_217_728", new: str = "") -> str:
    """A copy of a shipped profile with one row changed."""
    text = (PROFILES / f"{name}.toml").read_text("utf-8")
    assert text.count(old) == 1
    path = directory / f"other-{len(list(directory.iterdir()))}.toml"
    path.write_text(text.replace(old, new or "file_size = 1_000_000"), "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def single() -> Iterator[Host]:
    """One that keeps one sandbox of a kind ready."""
    with Host(stock=Stock(size=1)) as made:
        yield made


def outlines(results: list[RunResult]) -> set[str]:
    return {result.stdout.text for result in results}


# --- one job each -------------------------------------------------------------------------------------------------


def test_every_job_has_a_sandbox_of_its_own() -> None:
    with Host(stock=Stock(size=2)) as host:
        request = open_request(host, WHERE)
        with prepared(host, request, 2) as ready:
            results = [run(host, request) for _ in range(4)] + at_once(host, request, 4)
        assert [ready.served(result) for result in results[:2]] == [True, True]
        assert len(outlines(results)) == 8  # the directory's name is a random number of the sandbox


def test_an_empty_stock_is_no_error() -> None:
    for size in (0, 1):
        with Host(stock=Stock(size=size)) as host:
            request = open_request(host, WHERE_SLOWLY)
            with prepared(host, request, size) as ready:
                results = at_once(host, request, 8)
            assert [result.outcome.exit_code for result in results] == [0] * 8
            assert len(outlines(results)) == 8
            assert sum(map(ready.served, results)) == size


def test_two_jobs_at_once_are_two_sandboxes() -> None:
    with confined("handout", "-") as running:
        assert running.finish(60) == {"first": "of the first\n", "second": "of the second\n"}


def test_twin_what_is_handed_out_twice_gives_the_first_ones_output_to_the_second(tmp_path: Path) -> None:
    edits = (
        ("launcher/executions.py", "if made.run is None and made.kind == kind and made.usable]", "if made.usable]"),
        ("launcher/executions.py", "if made.sound() and not self._stock.expired(made)), None)", "), None)"),
        (
            "launcher/execution.py",
            "        return self.phase in (Phase.PREPARING, Phase.READY)\n",
            "        return self.phase in (Phase.PREPARING, Phase.READY, Phase.RUNNING)\n",
        ),
        ("launcher/execution.py", "        assert self.run is None\n", ""),
        # No other is free, so that there is one to hand out.
        (
            "launcher/stock.py",
            "            if shelf.count(kind) + coming < self._terms.size and",
            "            if not awake and",
        ),
    )
    with confined("handout", str(weakened(tmp_path, edits))) as running:
        assert running.finish(60) == {"first": "SandboxFault", "second": "of the first\n"}


def private(pid: int) -> int:
    """KiB that a process wrote and shares with nobody (proc_pid_smaps(5))."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))


@pytest.mark.parametrize(("template", "copies"), [("cad", True), ("light", False)])
def test_what_waits_for_a_cad_job_has_taken_its_copies_ahead(template: str, copies: bool) -> None:
    # A light job writes to few pages, so nothing is rehearsed there: that is what a guest has without copies.
    with Host(stock=Stock(size=1)) as host, prepared(host, open_request(host, WHERE, template), 1) as ready:
        (pid,) = ready.pids.values()
        assert wait_until(lambda: private(pid) > 4096, 10 if copies else 1) is copies


# --- of exactly its kind ------------------------------------------------------------------------------------------


def test_another_policy_is_another_kind(tmp_path: Path, profile: str) -> None:
    with Host(stock=Stock(size=1)) as host:
        request = open_request(host, FILE_SIZE)
        other = open_request(host, FILE_SIZE, profile=other_profile(tmp_path, profile))
        with prepared(host, request, 1) as ready:
            changed, unchanged = run(host, other), run(host, request)
            assert (ready.served(changed), ready.served(unchanged)) == (False, True)
        assert (changed.stdout.text, unchanged.stdout.text) == ("1000000\n", "134217728\n")


def test_twin_without_looking_at_the_kind_the_old_policy_holds(tmp_path: Path, profile: str) -> None:
    edits = (
        ("launcher/executions.py", "heapq.merge(self._shelf.of(kind), ready", "heapq.merge(self._shelf, ready"),
        ("launcher/executions.py", "made.run is None and made.kind == kind and", "made.run is None and"),
    )
    (tmp_path / "profiles").mkdir()
    other = other_profile(tmp_path / "profiles", profile)
    job = tmp_path / "job.py"
    job.write_bytes(FILE_SIZE)
    with confined("policies", str(weakened(tmp_path, edits)), other, str(job)) as running:
        assert running.finish(60) == {"ahead": True, "stdout": "134217728\n"}


@pytest.mark.parametrize("year", ["9999", "0001"], ids=["newer", "older"])
def test_another_image_is_another_room(year: str) -> None:
    with Host(stock=Stock(size=1)) as host:
        request = open_request(host, WHERE)
        with prepared(host, request, 1) as ready:
            rebuilt = dataclasses.replace(request.image, digest="f" * 64, created=f"{year}-01-01T00:00:00+00:00")
            assert not ready.served(run(host, dataclasses.replace(request, image=rebuilt)))
            # Nor is what waited ever handed out again, and its room is gone.
            assert wait_until(lambda: not waiting(host.keeper_pid).keys() & ready.pids.keys(), 10)
            assert wait_until(lambda: children(host.keeper_pid) == 1, 10)
            assert not ready.served(run(host, request))


def test_twin_without_retiring_the_old_rooms_sandboxes_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rooms, "_retire_others", lambda *_: None)
    with Host(stock=Stock(size=1)) as host:
        request = open_request(host, WHERE)
        with prepared(host, request, 1) as ready:
            rebuilt = dataclasses.replace(request.image, digest="f" * 64, created="9999-01-01T00:00:00+00:00")
            run(host, dataclasses.replace(request, image=rebuilt))
            assert children(host.keeper_pid) == 2
            assert ready.served(run(host, request))


def test_an_image_that_was_built_anew_is_the_next_jobs(tmp_path: Path) -> None:
    with Host() as host:
        real = host.request("", "strongest", None, None, "local", "local").image
    for digest in ("a" * 64, "b" * 64):
        directory = tmp_path / f"cad-{digest[:12]}"
        (directory / "root").mkdir(parents=True)
        told = json.loads((real.root.parent / "image.json").read_text("utf-8"))
        (directory / "image.json").write_text(json.dumps({**told, "digest": digest}), "utf-8")
    current = tmp_path / "cad"
    found = []
    with Host(stores=[tmp_path]) as host:
        for digest in ("a" * 64, "b" * 64):
            current.unlink(missing_ok=True)
            current.symlink_to(f"cad-{digest[:12]}")
            found.append(host.request("", "strongest", None, None, "local", "local").image.digest)
    assert found == ["a" * 64, "b" * 64]


def test_a_job_whose_room_fell_before_it_began_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    with Host(stock=Stock(size=0)) as host:
        request = open_request(host, WHERE)
        assert run(host, request).outcome.exit_code == 0
        asked: list[str] = []
        start = Standing.start

        def late(self: Standing, **rest: Any) -> Any:
            if not asked:  # between the asking and the job, the room is retired and gone
                self.connection.retire(self.room)
                assert wait_until(lambda: children(host.keeper_pid) == 0, 10)
            asked.append(rest["name"])
            return start(self, **rest)

        monkeypatch.setattr(Standing, "start", late)
        assert run(host, request).outcome.exit_code == 0
        assert len(asked) == 2


def test_twin_without_the_second_try_it_would_be_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "NotBegun", Unheard)
    test = test_a_job_whose_room_fell_before_it_began_is_tried_once_more
    with pytest.raises(SandboxFault, match="no warm template"):
        test(monkeypatch)


class Unheard(Exception):
    """Nobody raises it."""


def children(pid: int | None) -> int:
    """How many processes a keeper has started: one for each room."""
    return sum(fields(child).get("PPid") == str(pid) for child in descendants(pid or 0))


def test_no_more_than_four_kinds_wait(tmp_path: Path, profile: str) -> None:
    with Host(stock=Stock(size=1)) as host:
        first = open_request(host, WHERE)
        with prepared(host, first, 1) as ready:
            for number in range(1, 5):
                name = other_profile(tmp_path, profile, new=f"file_size = {number}_000_000")
                request = open_request(host, WHERE, profile=name)
                runs.demand(request, standing(host, request))
            assert wait_until(lambda: len(waiting(host.keeper_pid).keys() - ready.pids.keys()) == 4, 20)
            assert wait_until(lambda: not waiting(host.keeper_pid).keys() & ready.pids.keys(), 10)
            assert not ready.served(run(host, first))


# --- within its bounds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "served"), [(1.0, False), (60.0, True)])
def test_one_that_became_too_old_while_the_keeper_slept_is_not_used(age: float, served: bool) -> None:
    with Host(stock=Stock(size=1, age=age)) as host:
        request = open_request(host, WHERE)
        with prepared(host, request, 1) as ready:
            end = time.monotonic() + 1.1
            result = run_behind(host, request, lambda: wait_until(lambda: time.monotonic() > end, 5))
            assert ready.served(result) is served


def test_one_that_became_too_old_is_ended_and_another_made() -> None:
    with Host(stock=Stock(size=1, age=0.5)) as host, prepared(host, open_request(host, WHERE), 1) as ready:
        [pid] = ready.pids.values()
        assert wait_until(lambda: not fields(pid), 10)
        assert wait_until(lambda: waiting(host.keeper_pid).keys() - ready.pids.keys(), 10)


def test_nothing_waits_that_is_more_than_the_memory_allows() -> None:
    with Host(stock=Stock(size=2, memory=1)) as host:
        request = open_request(host, WHERE)
        results = [run(host, request) for _ in range(4)]
        assert [result.outcome.exit_code for result in results] == [0] * 4
        assert wait_until(lambda: not waiting(host.keeper_pid), 10)


# --- as long as it is sound ---------------------------------------------------------------------------------------


def processes_of(guest: int) -> dict[str, int]:
    """A guest, its execution's first process, and its sandbox's init."""
    wall = os.readlink(f"/proc/{guest}/ns/user")
    found = {"guest": guest}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and int(entry) != guest and os.readlink(f"/proc/{entry}/ns/user") == wall:
                depth = len(fields(int(entry))["NSpid"].split())
                found["init" if depth == 3 else "exec"] = int(entry)
    assert set(found) == {"guest", "init", "exec"}
    return found


@pytest.mark.parametrize("who", ["guest", "exec", "init"])
@pytest.mark.parametrize("told", [True, False], ids=["the keeper knows", "the keeper slept"])
def test_one_that_died_is_not_handed_out_and_no_jobs_error(who: str, told: bool, single: Host) -> None:
    request = open_request(single, WHERE)
    with prepared(single, request, 1) as ready:
        [guest] = ready.pids.values()
        victim = processes_of(guest)[who]

        def kill() -> None:
            os.kill(victim, signal.SIGKILL)
            assert wait_until(lambda: not fields(victim), 5)

        if told:
            kill()
            assert wait_until(lambda: not waiting(single.keeper_pid).keys() & ready.pids.keys(), 5)
            result = run(single, request)
        else:
            result = run_behind(single, request, kill)
        assert not ready.served(result)
        assert result.outcome.exit_code == 0


def template(keeper: int) -> int:
    """The one process of a room that is neither its first nor in a sandbox."""
    [pid] = [
        pid for pid in descendants(keeper)
        if len(ids := fields(pid).get("NSpid", "").split()) == 2 and ids[1] != "1"
    ]  # fmt: skip
    return pid


def test_none_is_handed_out_after_its_template_died(single: Host) -> None:
    request = open_request(single, WHERE)
    with prepared(single, request, 1) as ready:
        assert single.keeper_pid is not None
        room = standing(single, request).room
        os.kill(template(single.keeper_pid), signal.SIGKILL)
        assert wait_until(lambda: standing(single, request).room != room, 10)
        assert not any(map(fields, ready.pids.values()))
        result = run(single, request)
        assert not ready.served(result)
        assert result.outcome.exit_code == 0


# --- what differs is refused --------------------------------------------------------------------------------------

SHARED = (
    ("launcher/init.py", " | syscalls.CLONE_NEWIPC", ""),
    ("launcher/site.py", " | syscalls.CLONE_NEWIPC", ""),
)
ELSEWHERE = (
    "launcher/executions.py",
    "                guests = group.child(for_guest).open_procs()\n",
    '                group.child(for_guest)\n                guests = group.child("other").open_procs()\n',
)
DIFFERENT = {
    "a capability is left": ((without("capabilities"),), "Cap"),
    "no filter": ((without("seccomp"),), "no_new_privs or seccomp is off"),
    "a namespace is shared": (SHARED, "shares ipc:"),
}
if not cgroups.survey().missing:
    DIFFERENT["another cgroup"] = ((ELSEWHERE,), "is not in its cgroup")
SERVED = "print('served')\nraise SystemExit(0)\n"


@pytest.mark.parametrize("name", DIFFERENT)
def test_one_that_is_not_what_it_should_be_gets_no_job(name: str, tmp_path: Path) -> None:
    edits, why = DIFFERENT[name]
    with confined("refused", str(weakened(tmp_path, edits))) as running:
        faults = running.finish(60)
    assert len(faults) == 2
    for fault in faults:
        assert fault.startswith("the guest, seen from outside: "), fault
        assert why in fault


# Those of the other two are the twins of `capabilities` and `seccomp` in test_guards.py.
@pytest.mark.parametrize("name", sorted(DIFFERENT.keys() - {"a capability is left", "no filter"}))
def test_twin_it_serves_where_nobody_looks_from_outside(name: str, tmp_path: Path) -> None:
    edits, _ = DIFFERENT[name]
    assert attack(SERVED, tmp_path, without=edits)["stdout"][0] == "served\n"


# --- nothing is left ----------------------------------------------------------------------------------------------


def test_nothing_is_left_of_what_waited_when_its_host_is_closed() -> None:
    mounts = Path("/proc/self/mountinfo").read_text("utf-8")
    with Host(stock=Stock(size=3)) as host, prepared(host, open_request(host, b""), 3) as ready:
        assert host.keeper_pid is not None
        below = descendants(host.keeper_pid)
        assert set(ready.pids.values()) < below
    assert not [pid for pid in below if fields(pid)]
    assert Path("/proc/self/mountinfo").read_text("utf-8") == mounts


# --- a room dies --------------------------------------------------------------------------------------------------


def first_process(keeper: int, *, zygote: bool) -> int:
    """The room's zygote, which is the first in its pid namespace, or its template."""
    for pid in descendants(keeper):
        inside = fields(pid).get("NSpid", "").split()
        if len(inside) == 2 and (inside[1] == "1") is zygote:
            return pid
    raise AssertionError("no such process")


@pytest.mark.parametrize("zygote", [True, False], ids=["zygote", "template"])
def test_jobs_that_had_not_begun_when_their_room_died_are_run_in_another(zygote: bool) -> None:
    ends: list[object] = []
    with Host(stock=Stock(size=0)) as host:
        request = open_request(host, WHERE)
        assert run(host, request).outcome.exit_code == 0
        keeper = host.keeper_pid or 0

        def one() -> None:
            try:
                ends.append(run(host, request).outcome.exit_code)
            except SandboxFault as fault:
                ends.append(str(fault))

        before = len(os.listdir(f"/proc/{keeper}/fd"))
        for _ in range(4):
            threads = [threading.Thread(target=one) for _ in range(4)]
            below, victim = len(descendants(keeper)), first_process(keeper, zygote=zygote)
            for thread in threads:
                thread.start()
            assert wait_until(lambda below=below: len(descendants(keeper)) > below, 10)  # type: ignore[misc]
            os.kill(victim, signal.SIGKILL)
            for thread in threads:
                thread.join(60)
            assert run(host, request).outcome.exit_code == 0
        assert len(ends) == 16
        # One that had begun is not run twice.
        assert set(ends) <= {0, "the template ended"}
        assert wait_until(lambda: len(os.listdir(f"/proc/{keeper}/fd")) <= before, 10)
