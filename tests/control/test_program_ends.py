"""Why a plain program ended and what it used, as the keeper tells it: signals, limits, and what comes to it at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest
from control.test_programs import NEEDS_CGROUP, PYTHON
from escape.test_stock import asleep, processes_of
from policy.written import text_of
from processes import fields, guests, wait_until

from casemate import Host, Limit, Reason, RunResult

ENDS = {
    "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)": signal.SIGTERM,
    "import os\nos.abort()": signal.SIGABRT,
    "import ctypes\nctypes.string_at(0)": signal.SIGSEGV,
    "import signal\nsignal.raise_signal(signal.SIGINT)": signal.SIGINT,
    "import os, sys\nsys.stdout.write('partial'); sys.stdout.flush(); os.kill(os.getpid(), 9)": signal.SIGKILL,
}


@pytest.mark.parametrize(("source", "number"), ENDS.items(), ids=lambda value: str(value)[-12:])
def test_a_signal_is_told_from_outside(source: str, number: signal.Signals, host: Host) -> None:
    result = host.run("print('first', flush=False)\n" + source, PYTHON)
    assert (result.outcome.reason, result.outcome.signal) == (Reason.SIGNALED, number)
    assert number.name in result.outcome.message
    assert result.stdout.text.startswith("first\n")


def limited(host: Host, source: str, **limits: float) -> RunResult:
    return host.run(source, PYTHON, limits=limits)


def test_a_hang_is_ended(host: Host) -> None:
    result = limited(host, "print('x', flush=True)\nimport time\ntime.sleep(100)", wall_time=1)
    assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.WALL_TIME)
    assert result.stdout.text == "x\n"


def test_big_output_is_cut_and_counted(host: Host) -> None:
    result = limited(host, "for _ in range(300_000): print('0123456789')", stdout_bytes=1000)
    assert (result.ok, result.stdout.total, result.stdout.truncated) == (True, 3_300_000, True)
    assert result.stdout.data == (b"0123456789\n" * 91)[:1000]


def test_too_much_memory_is_an_exception_or_the_cgroups_verdict(host: Host) -> None:
    result = host.run("try:\n    bytearray(1 << 40)\nexcept MemoryError:\n    print('refused')", PYTHON)
    assert result.stdout.text == "refused\n"


@NEEDS_CGROUP
def test_memory_of_all_its_processes_together(host: Host) -> None:
    source = "import os, time\nfor _ in range(4):\n    if not os.fork():\n        kept = b'x' * (100 << 20)\n"
    result = limited(host, source + "        time.sleep(30)\ntime.sleep(30)", memory=300 << 20, disk_bytes=128 << 20)
    assert (result.outcome.reason, result.outcome.limit) == (Reason.LIMIT, Limit.MEMORY)


@pytest.mark.parametrize(
    ("source", "limits", "limit"),
    [
        ("for n in range(4): open(f'out/{n}', 'w')", {"artifact_count": 3}, Limit.ARTIFACT_COUNT),
        ("open('out/x', 'w').truncate(2000)", {"artifact_bytes": 1999}, Limit.ARTIFACT_BYTES),  # sparse: no block of it
        ("for n in range(3): open(f'out/{n}', 'w').truncate(900)", {"artifact_total_bytes": 2000},
         Limit.ARTIFACT_TOTAL_BYTES),
    ],
)  # fmt: skip
def test_too_many_files_are_a_limit(source: str, limits: dict[str, float], limit: Limit, host: Host) -> None:
    result = limited(host, source, **limits)
    assert (result.outcome.reason, result.outcome.limit, result.artifacts) == (Reason.LIMIT, limit, {})
    assert not result.ok
    assert host.run(source, PYTHON).ok  # with the profile's own


ANSWERS = """
import os, signal
def answer(*_):
    {body}
    os._exit(0)
signal.signal(signal.SIGUSR1, answer)
while True:
    signal.pause()
"""


def answering(host: Host) -> list[int]:
    """Guests that wait for SIGUSR1."""
    caught = 1 << (signal.SIGUSR1 - 1)
    return [pid for pid in guests(host.keeper_pid or 0) if int(fields(pid).get("SigCgt", "0"), 16) & caught]


@pytest.mark.parametrize("who", ["exec", "init"])
@pytest.mark.parametrize("at_once", [True, False], ids=["all at once", "as it happens"])
def test_a_program_that_went_with_its_sandbox_was_lost(who: str, at_once: bool, host: Host) -> None:
    results: list[RunResult] = []
    thread = threading.Thread(target=lambda: results.append(host.run(ANSWERS.format(body="pass"), PYTHON)))
    thread.start()
    assert wait_until(lambda: answering(host), 20)
    [guest] = answering(host)
    with asleep(host) if at_once else contextlib.nullcontext():
        os.kill(processes_of(guest)[who], signal.SIGKILL)
        assert wait_until(lambda: not Path(f"/proc/{guest}").exists(), 20)
    thread.join(60)
    [result] = results
    assert (result.outcome.reason, result.ok) == (Reason.LOST, False)


def told_at_once(host: Host, body: str, profile: str, **limits: float) -> RunResult:
    """A program does something and leaves with 0 while the keeper sleeps, which learns of both at the same time."""
    results: list[RunResult] = []
    source = ANSWERS.format(body=body)
    thread = threading.Thread(target=lambda: results.append(host.run(source, profile, limits=limits)))
    thread.start()
    assert wait_until(lambda: answering(host), 20)
    [pid] = answering(host)
    with asleep(host):
        os.kill(pid, signal.SIGUSR1)
        assert wait_until(lambda: not Path(f"/proc/{pid}").exists(), 20)
    thread.join(60)
    return results[0]


def test_what_was_printed_too_much_counts_though_it_left_well(host: Host, tmp_path: Path) -> None:
    text = text_of(PYTHON)
    assert text.count('output_overflow = "cut"') == 1
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace('output_overflow = "cut"', 'output_overflow = "kill"'), "utf-8")
    result = told_at_once(host, "os.write(1, bytes(30_000))", str(mine), stdout_bytes=1000)
    assert (result.outcome.reason, result.outcome.limit, result.ok) == (Reason.LIMIT, Limit.STDOUT_BYTES, False)
    assert (len(result.stdout.data), result.stdout.total) == (1000, 30_000)


@NEEDS_CGROUP
def test_a_child_that_was_killed_for_memory_counts_though_its_parent_left_well(host: Host) -> None:
    body = "os.fork() or bytearray(b'x') * (400 << 20); os.wait()"
    result = told_at_once(host, body, PYTHON, memory=200 << 20, disk_bytes=100 << 20)
    assert (result.outcome.reason, result.outcome.limit, result.ok) == (Reason.LIMIT, Limit.MEMORY, False)


USES = """
import os, subprocess, time
kept = bytearray(b"x") * (64 << 20)
with open("file", "wb") as file:
    file.write(kept[:32 << 20])
children = [subprocess.Popen(["sleep", "0.2"]) for _ in range(3)]
print([child.wait() for child in children])
while time.process_time() < 0.3:
    pass
"""


@NEEDS_CGROUP
def test_usage_is_the_programs_own(host: Host) -> None:
    result = host.run(USES, PYTHON)
    used = result.usage
    assert result.stdout.text == "[0, 0, 0]\n"
    assert used.cpu is not None
    assert used.memory_peak is not None
    assert used.processes_peak == 4
    assert used.cpu >= 0.3
    assert used.wall >= 0.2
    assert 96 << 20 <= used.memory_peak < 192 << 20
    assert used.refused == ()
    # While a sandbox is built its builder may still be there: the peak is of the group since it was made.
    assert host.run("", PYTHON).usage.processes_peak in (1, 2)


def test_bytes_are_those_that_stand_at_the_end(host: Host) -> None:
    write = "open('kept', 'wb').write(bytes(5 << 20))\nopen('gone', 'wb').write(bytes(9 << 20))\n"
    used = host.run(f"{write}import os\nos.remove('gone')\n", PYTHON).usage.disk_bytes
    empty = host.run("", PYTHON).usage.disk_bytes
    assert used is not None
    assert empty is not None
    assert 5 << 20 <= used - empty < 6 << 20
    assert empty < 1 << 20


WRITES = """
import os
written, places = 0, ["file", "out/file", "/tmp/file", "/dev/shm/file2"]
for place in places:
    with open(place, "wb", 0) as file:
        try:
            for _ in range(20 if place != places[-1] else 1000):
                written += file.write(bytes(1 << 20))
        except OSError as error:
            print(place, error.errno)
print(written >> 20)
"""


def test_all_writable_places_have_one_bound_together(host: Host) -> None:
    result = limited(host, WRITES, disk_bytes=64 << 20)
    places, written = result.stdout.text.rsplit("\n", 2)[:2]
    assert places.endswith("/dev/shm/file2 28"), result  # ENOSPC
    assert 60 <= int(written) <= 64
    assert "disk_bytes" in result.usage.refused
