"""Nothing outlives its execution, and a call returns within a second of its deadline, whatever job or caller do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from harness import attack, attacks, confined, wait_until

from casemate import Limit, Reason

DEADLINE = 2.0
# Each of these runs for ever, or leaves something that would.
ENDLESS = {
    "python loop": "while True:\n    pass\n",
    "loop in C that holds the GIL": "10 ** 10 ** 9\n",
    "catastrophic regex": "import re\nre.match(r'(a+)+$', 'a' * 64 + '!')\n",
    "every signal ignored": (
        "import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\nwhile True:\n    pass\n"
    ),
    "stopped": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True:\n    pass\n",
    "sleeping with closed pipes": "import os, time\nos.closerange(0, 10)\ntime.sleep(1000)\n",
    "children that fork again": (
        "import os\nwhile True:\n    try:\n        if os.fork() == 0:\n            continue\n"
        "        os._exit(0) if os.getppid() else None\n    except OSError:\n        pass\n"
    ),
    "threads": (
        "import threading\ndef spin():\n    while True:\n        pass\n"
        "for _ in range(8):\n    threading.Thread(target=spin).start()\nspin()\n"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of each, on one Host."""
    return attacks(ENDLESS, tmp_path_factory.mktemp("endless"), seconds=DEADLINE)


@pytest.mark.parametrize("name", ENDLESS)
def test_wall_clock_ends_it_within_a_second(name: str, told: dict[str, dict[str, Any]]) -> None:
    ends_in_time(told[name])


def test_wall_clock_ends_what_was_built_on_demand_within_a_second(tmp_path: Path) -> None:
    ends_in_time(attack(ENDLESS["every signal ignored"], tmp_path, seconds=DEADLINE, ahead=False))


def ends_in_time(seen: dict[str, Any]) -> None:
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.WALL_TIME)
    assert seen["took"] < DEADLINE + 1.0


def test_twin_without_the_deadline_it_runs_on(tmp_path: Path) -> None:
    # Without the keeper's clock the loop ends where it wants to, after the deadline.
    source = "import time\nend = time.monotonic() + 5\nwhile time.monotonic() < end:\n    pass\nprint('passed')\n"
    edit = ("launcher/execution.py", "            if now >= self._wall_deadline():", "            if False:")
    seen = attack(source + "raise SystemExit(0)\n", tmp_path, seconds=DEADLINE, without=(edit,))
    assert seen["stdout"][0] == "passed\n"
    assert seen["took"] > DEADLINE + 1.0


DAEMON = (
    "import os, sys, time\nif os.fork() == 0:\n    if os.fork() == 0:\n        os.closerange(0, 10)\n"
    "        time.sleep(1000)\n    os._exit(0)\nprint('left')\nraise SystemExit(0)\n"
)


def test_a_daemon_dies_with_its_execution() -> None:
    with confined("daemon", DAEMON) as running:
        seen = running.finish(100)
        # The program counts what is left behind the sandbox's wall after the result.
        assert seen["ahead"]
        assert seen["stdout"] == "left\n"
        assert seen["left"] == []


def test_twin_a_daemon_lives_on_without_the_kill(tmp_path: Path) -> None:
    from harness import weakened

    execution = "launcher/execution.py"
    edits = (
        (execution, "                signal.pidfd_send_signal(fd, signal.SIGKILL)\n", "                pass\n"),
        (execution, "            self.group.kill()\n        # A sandbox", "            pass\n        # A sandbox"),
        (execution, "                self.group.kill()\n                return\n", "                pass\n"),
        (execution, "            if len(self._dead()) < len(self._made.pidfds) or", "            if"),
        ("launcher/preparation.py", "        if self._init.fileno() >= 0:\n", "        if False:\n"),
    )
    with confined("daemon", DAEMON, str(weakened(tmp_path, edits))) as running:
        assert running.finish(100)["left"]


def test_a_caller_stuck_in_native_code_misses_no_deadline() -> None:
    # The caller holds its GIL for longer than the job may live; the keeper's clock does not care.
    with confined("stuck_caller") as running:
        seen = running.finish(100)
    assert (seen["reason"], seen["limit"]) == (Reason.LIMIT, Limit.WALL_TIME)
    assert seen["wall"] < 2.0 + 1.0
    assert seen["stuck"] > 4.0


def test_nothing_is_left_of_a_closed_host() -> None:
    with confined("one_job") as running:
        assert running.finish(60) == {"ok": True}
        assert wait_until(lambda: running.group.members() == (), 2.0)
        assert [p for top in running.group.directories() for p in Path(top).glob("casemate-[0-9]*")] == []
    assert os.getpid() > 1
