"""The public API in one process: sources, inputs, deadlines, threads, tasks, several Hosts."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from harness import wait_until
from processes import guests

import casemate
from casemate import Deadline, Denied, Host, Limit, PolicyError, Reason, RunResult, Stage, Stock, Verdict
from casemate.control import runs

ENDLESS = "while True:\n    pass\n"


def box(x: float = 10, y: float = 20, z: float = 30) -> str:
    return f"import cadquery as cq\nresult = cq.Workplane().box({x}, {y}, {z})\n"


def open_gate(host: Host, source: str, profile: str, inputs: dict[str, bytes] | None = None) -> RunResult:
    """Run without the gate, which no public call can say."""
    request = host.request(source, profile, inputs, None, "local", "local", gate=False)
    return host.execute(request, runs.Cancellation(), lambda _: None)


def volumes(result: RunResult) -> list[float]:
    assert result.ok, result.outcome
    return [part.facts.volume for part in result.parts if part.facts]


def test_every_public_name_is_there() -> None:
    assert all(hasattr(casemate, name) for name in casemate.__all__)
    assert {"run", "arun", "Host", "Deadline", "Denied", "Busy", "SandboxFault"} <= set(casemate.__all__)


def test_a_result_holds_what_the_readme_promises(host: Host, profile: str) -> None:
    result = host.run(box() + "print('hello')\n", profile)
    outcome = result.outcome
    assert (outcome.reason, outcome.limit, outcome.stage) == (Reason.EXITED, None, Stage.DONE)
    assert (outcome.verdict, outcome.exit_code, outcome.signal) == (Verdict.PART, 0, None)
    assert result.stdout.text == "hello\n"
    assert (result.stdout.total, result.stdout.truncated) == (6, False)
    assert result.artifacts["part.step"].data.startswith(b"ISO-10303-21;")
    assert result.parts[0].artifact == "part.step"
    assert result.usage.wall > 0
    assert result.enforcement.profile == profile
    assert {name for name, _ in result.usage.stages} == {"gate", "script", "handover", "step", "facts"}


def test_a_source_may_be_bytes_or_text(host: Host, profile: str) -> None:
    assert volumes(host.run(box().encode(), profile)) == [pytest.approx(6000)]
    assert volumes(host.run(box() + "# é\n", profile)) == [pytest.approx(6000)]


@pytest.mark.parametrize("source", [b"\xff\xfe", "x = '\ud800'\n", b"\0"])
def test_a_source_that_is_no_text_is_denied_by_the_gate(host: Host, profile: str, source: str | bytes) -> None:
    result = host.run(source, profile)
    assert (result.outcome.reason, result.outcome.stage) == (Reason.POLICY, Stage.GATE)
    assert result.outcome.denials


def test_a_source_that_is_too_long_is_a_limit(host: Host, profile: str) -> None:
    result = host.run(b"#" * 262_145, profile)
    assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.SOURCE_BYTES)
    assert host.check(b"#" * 262_144, profile).ok


def test_check_admits_or_denies_and_runs_nothing(host: Host, profile: str) -> None:
    assert host.check(ENDLESS, profile).ok
    denied = host.check("import os\n", profile)
    assert denied.outcome.reason is Reason.POLICY
    assert [denial.line for denial in denied.outcome.denials] == [1]


# --- inputs -----------------------------------------------------------------------------------------------------------


def test_inputs_arrive_in_the_job_directory(host: Host, profile: str) -> None:
    data = bytes(range(256)) * 300
    source = (
        "import os, hashlib\n"
        "names = sorted(name for name in os.listdir('.') if name != 'out')\n"
        "print(names, os.getcwd().startswith('/tmp/job-'))\n"
        "print(hashlib.sha256(open('data.bin', 'rb').read()).hexdigest(), open('a b.txt').read())\n"
        "try:\n    open('data.bin', 'ab')\nexcept PermissionError:\n    print('read-only')\n"
    )
    result = open_gate(host, source, profile, {"data.bin": data, "a b.txt": b"text"})
    assert result.stdout.text.splitlines() == [
        "['a b.txt', 'data.bin'] True", f"{hashlib.sha256(data).hexdigest()} text", "read-only"
    ], result.stderr.text  # fmt: skip


def test_two_jobs_do_not_see_each_others_files(host: Host, profile: str) -> None:
    source = "import os\nprint(sorted(os.listdir('/tmp')) == [os.path.basename(os.getcwd())], os.path.exists('a'))\n"
    assert open_gate(host, source, profile, {"a": b"x"}).stdout.text == "True True\n"
    assert open_gate(host, source, profile).stdout.text == "True False\n"


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/b", "", ".", "..", "out", "a\0", "-x", "é", "a\n"])
def test_an_input_with_a_bad_name_is_denied(host: Host, profile: str, name: str) -> None:
    with pytest.raises(Denied, match="input"):
        host.run(box(), profile, inputs={name: b""})


def test_more_input_than_the_profile_allows_is_denied(host: Host, profile: str) -> None:
    with pytest.raises(Denied, match="upload_bytes"):
        host.run(box(), profile, inputs={"a": bytes(67_108_865)})
    with pytest.raises(Denied, match="101"):
        host.run(box(), profile, inputs={f"f{number}": b"" for number in range(101)})


@pytest.mark.parametrize("name", ["nothing", "", "../cad", "/etc/passwd", "cad\0"])
def test_an_unknown_profile_is_denied(host: Host, name: str) -> None:
    with pytest.raises(PolicyError):
        host.run(box(), name)


# --- deadlines --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0.0, -1.0, -1e9])
def test_a_deadline_in_the_past_starts_nothing(profile: str, seconds: float) -> None:
    with Host() as fresh:
        result = fresh.run(box(), profile, deadline=Deadline.after(seconds))
        assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.WALL_TIME)
        assert not result.ok
        assert fresh.keeper_pid is None


def test_a_deadline_that_is_no_number_is_denied(host: Host, profile: str) -> None:
    with pytest.raises(Denied, match="deadline"):
        host.run(box(), profile, deadline=float("nan"))


def test_the_call_returns_within_a_second_of_its_deadline(host: Host, profile: str) -> None:
    host.run(box(), profile)
    deadline = Deadline.after(1.5)
    result = host.run(ENDLESS, profile, deadline=deadline)
    assert deadline.left() > -1.0
    assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.WALL_TIME)


def test_so_it_does_while_the_template_is_cold(profile: str) -> None:
    with Host() as fresh:
        deadline = Deadline.after(0.05)
        result = fresh.run(box(), profile, deadline=deadline)
        assert deadline.left() > -1.0
        assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.WALL_TIME)
        # The template went on warming up, and the next attempt finds it.
        assert fresh.run(box(), profile).ok


def test_attempts_share_one_deadline(host: Host, profile: str) -> None:
    deadline = Deadline.after(2.5)
    first = host.run(ENDLESS, profile, deadline=1.0)
    second = host.run(ENDLESS, profile, deadline=deadline)
    third = host.run(box(), profile, deadline=deadline)
    for result in (first, second, third):
        assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.WALL_TIME)
    assert deadline.left() > -1.0


# --- threads, tasks, Hosts --------------------------------------------------------------------------------------------


def test_eight_threads_at_once_on_one_host(host: Host, profile: str) -> None:
    together = threading.Barrier(8)

    def job(width: int) -> list[float]:
        together.wait(60)
        return volumes(host.run(box(width, 1, 1), profile))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(job, range(1, 9))) == [[pytest.approx(width)] for width in range(1, 9)]


def test_eight_threads_make_one_keeper(profile: str) -> None:
    with Host() as fresh, ThreadPoolExecutor(8) as pool:
        together = threading.Barrier(8)

        def job(_: int) -> int | None:
            together.wait(60)
            assert fresh.check("x = 1\n", profile).ok
            return fresh.keeper_pid

        assert len(set(pool.map(job, range(8)))) == 1


def test_a_second_host_in_one_process(host: Host, profile: str) -> None:
    assert host.check("x = 1\n", profile).ok
    with Host() as other:
        assert other.check("x = 1\n", profile).ok
        assert other.keeper_pid != host.keeper_pid
    assert host.check("x = 1\n", profile).ok


def test_arun_gives_what_run_gives(host: Host, profile: str) -> None:
    async def both() -> list[RunResult]:
        return await asyncio.gather(host.arun(box(1, 1, 1), profile), host.arun(box(2, 1, 1), profile))

    assert [volumes(result) for result in asyncio.run(both())] == [[pytest.approx(1)], [pytest.approx(2)]]


def test_cancelling_the_task_kills_the_job(host: Host, profile: str) -> None:
    with Host(stock=Stock(size=0)) as own:  # no guest but the job's
        own.run(box(), profile)
        keeper = own.keeper_pid
        assert keeper is not None

        async def cancelled() -> None:
            task = asyncio.create_task(own.arun(ENDLESS, profile))
            assert await asyncio.to_thread(wait_until, lambda: guests(keeper), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        assert not guests(keeper)
        assert own.keeper_pid == keeper
        assert own.run(box(), profile).ok


def test_a_callers_progress_that_fails_harms_nobody(host: Host, profile: str) -> None:
    def progress(step: str) -> None:
        if step in ("script", "step"):  # called from the thread that serves every job
            raise RuntimeError(step)

    assert host.run(box(), profile, progress=progress).ok
    assert host.run(box(), profile).ok


def test_a_closed_host_has_no_keeper_and_may_be_closed_twice(profile: str) -> None:
    fresh = Host()
    assert fresh.check("x = 1\n", profile).ok
    keeper = fresh.keeper_pid
    assert keeper is not None
    fresh.close()
    assert not guests(keeper)
    assert fresh.keeper_pid is None
    fresh.close()
