"""The thinnest complete path, and three ways to break it: a loop, an allocation, and the death of the caller."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from harness import confined, two_jobs, until_script_runs, wait_until
from stocked import waiting

from casemate import Host, Limit, Reason, Stage, Verdict

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_example_becomes_a_measured_step(host: Host, profile: str) -> None:
    result = host.run((EXAMPLES / "motor_bracket.py").read_bytes(), profile)
    outcome = result.outcome
    assert (outcome.reason, outcome.verdict, outcome.stage) == (Reason.EXITED, Verdict.PART, Stage.DONE)
    assert result.ok
    facts = result.parts[0].facts
    assert facts is not None
    # 50 wide, 40 deep, 50 high: the bracket's outer dimensions as drawn.
    assert facts.bounding_box == pytest.approx((-25, 0, 0, 25, 40, 50), abs=1e-6)
    assert facts.valid
    assert facts.solids == 1
    data = result.artifacts["part.step"].data
    assert data.startswith(b"ISO-10303-21;")
    assert data.rstrip().endswith(b"END-ISO-10303-21;")


HOSTILE = {
    "loop": ("while True:\n    pass\n", 3.0),
    "allocation": ("n = 1024\nx = [0.0] * (8 * n * n * n)\n", 0.0),
    "small pieces": ("kept = []\nwhile True:\n    kept.append('x' * 60000 + str(len(kept)))\n", 0.0),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What came of each hostile job, and of the honest one after it, in sandboxes that were made ahead."""
    return two_jobs(HOSTILE, tmp_path_factory.mktemp("hostile"))


def test_infinite_loop_ends_at_the_wall_clock(told: dict[str, dict[str, Any]]) -> None:
    ends_at_the_wall_clock(told["loop"])


def test_so_it_does_in_a_sandbox_built_for_it(tmp_path: Path) -> None:
    [seen] = two_jobs({"loop": HOSTILE["loop"]}, tmp_path, ahead=False).values()
    ends_at_the_wall_clock(seen)


def ends_at_the_wall_clock(seen: dict[str, Any]) -> None:
    assert (seen["reason"], seen["limit"], seen["stage"]) == (Reason.LIMIT, Limit.WALL_TIME, Stage.SCRIPT)
    assert seen["took"] < 4.0  # the deadline and one second
    assert seen["next"] == Verdict.PART
    assert seen["volume"] == pytest.approx(6000)


def test_allocation_of_64_gigabytes_is_refused(told: dict[str, dict[str, Any]]) -> None:
    seen = told["allocation"]
    assert not seen["ok"]
    assert (seen["reason"], seen["error"], seen["stage"]) == (Reason.EXITED, "MemoryError", Stage.SCRIPT)
    assert seen["next"] == Verdict.PART


def test_memory_in_small_pieces_is_the_cgroups(told: dict[str, dict[str, Any]], profile: str) -> None:
    seen = told["small pieces"]
    expected = {"cad": (Reason.LIMIT, Limit.MEMORY, None), "cad-rlimit": (Reason.EXITED, None, "MemoryError")}
    assert (seen["reason"], seen["limit"], seen["error"]) == expected[profile]
    assert seen["next"] == Verdict.PART


def _groups(directories: tuple[str, ...]) -> list[Path]:
    return [path for top in directories for path in Path(top).glob("casemate-[0-9]*") if path.is_dir()]


def test_kill_of_the_caller_leaves_nothing() -> None:
    with confined("hang") as attack:
        keeper = until_script_runs(attack)
        assert wait_until(lambda: waiting(keeper), 10)  # in stock
        made = _groups(attack.group.directories())
        assert made
        assert len(attack.group.members()) > 6  # caller, keeper, monitor, zygote, template, init, exec, guest
        os.kill(attack.process.pid, signal.SIGKILL)
        assert wait_until(lambda: not attack.group.members(), 2.0), attack.group.members()
        assert wait_until(lambda: not any(path.exists() for path in made), 2.0)


def test_kill_of_the_keeper_leaves_nothing_after_the_next_start() -> None:
    with confined("hang") as attack:
        keeper = until_script_runs(attack)
        assert wait_until(lambda: waiting(keeper), 10)  # in stock
        made = _groups(attack.group.directories())
        assert made
        os.kill(keeper, signal.SIGKILL)
        # The caller is told (SandboxFault) and ends; the kernel has taken everything else with the keeper.
        assert wait_until(lambda: set(attack.group.members()) <= {attack.process.pid}, 2.0), attack.group.members()
        assert attack.process.wait(20) != 0
        with confined("one_job") as after:
            assert after.finish(60) == {"ok": True}
        assert not any(path.exists() for path in made)
