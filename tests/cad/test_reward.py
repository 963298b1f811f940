"""`casemate.cad.Reward` as trainers call it, against real sandboxes. In TRL's own trainer: `make test-train`."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from casemate import Denied, Host, Reason, RunResult, SandboxFault
from casemate.cad import Checks, Reward, Scale
from casemate.control import shared

IMPORT = "import cadquery as cq\n"
GOOD = f"{IMPORT}result = cq.Workplane().box(10, 20, 30)\n"
CASES = {
    "": (0.0, "no_code"),
    "Sorry, I cannot do that.": (0.0, "no_code"),
    f"import os\n{GOOD}": (0.1, "denied."),
    f"{IMPORT}result = cq.Workplane().box(1, 2, 3).edges().fillet(9)\n": (0.2, "raised."),
    f"{IMPORT}while True:\n    pass\n": (0.2, "limit."),
    f"{IMPORT}print('reward: 1.0')\n": (0.4, "verdict."),
    f"{IMPORT}result = cq.Workplane().box(10, 20, 31)\n": (0.8, "bounding_box"),
    GOOD: (1.0, "part"),
}
"""Worth by hand from docs/rewards.md: two checks are asked for, so a part that fails one is worth 0.6 + 0.4 / 2."""
CHECKS = Checks(bounding_box=(10, 20, 30), tolerance=0.001)


def fenced(source: str) -> str:
    return f"Here:\n```python\n{source}```\n" if "import" in source else source


@pytest.fixture(scope="module")
def reward(host: Host, profile: str) -> Reward:
    return Reward(CHECKS, profile=profile, host=host, limits={"wall_time": 3.0})


def test_each_stage_has_its_worth_and_its_reason(reward: Reward) -> None:
    judged = reward.judge([fenced(source) for source in CASES])
    assert [one.reward for one in judged] == pytest.approx([worth for worth, _ in CASES.values()])
    for one, (_, code) in zip(judged, CASES.values(), strict=True):
        assert one.code.startswith(code)
        assert one.reason
    assert "10 × 20 × 31 mm, not 10 × 20 × 30" in judged[-2].reason


def test_as_trl_calls_it(reward: Reward) -> None:
    """trl 1.16, GRPOTrainer._calculate_rewards: keywords, one list for each column of the data set, and loggers."""
    told: dict[str, Any] = {}
    found = reward(
        prompts=["a box"] * 3, completions=[fenced(GOOD), fenced("import os\n"), fenced(GOOD)],
        completion_ids=[[1], [2], [1]], difficulty=["easy"] * 3,
        checks=[None, None, {"bounding_box": [1.0, 2.0, 3.0], "holes": None, "solids": None}],
        trainer_state=object(), log_extra=told.__setitem__, log_metric=told.__setitem__,
    )  # fmt: skip
    # The third asks for one thing, of the shape's box, and one solid, which `None` leaves as it is.
    assert found == pytest.approx([1.0, 0.1, 0.8])
    assert [type(value) for value in found] == [float] * 3
    assert told["casemate_parts"] == pytest.approx(1 / 3)
    assert [bool(reason) for reason in told["casemate_reason"]] == [True] * 3
    assert not inspect.iscoroutinefunction(reward.__call__)
    assert getattr(reward, "__name__", type(reward).__name__) == "casemate"


def test_conversations_are_read(reward: Reward) -> None:
    parts = [{"type": "text", "text": fenced(GOOD)}]
    found = reward(
        completions=[
            [{"role": "assistant", "content": fenced(GOOD)}],
            [{"role": "assistant", "content": parts}],
            [{"role": "assistant", "content": "no"}, {"role": "user", "content": fenced(GOOD)}],
            [{"role": "assistant", "content": None}],
            [],
        ]
    )
    assert found == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_as_verl_calls_it(reward: Reward) -> None:
    """verl, BatchRewardManager: four lists by keyword; a mapping with `score` each."""
    wanted = {"bounding_box": [10.0, 20.0, 31.0], "tolerance": 0.001}
    found = reward.compute_score(
        data_sources=["cad"] * 2, solution_strs=[fenced(GOOD)] * 2, ground_truths=[None] * 2,
        extra_infos=[{"checks": wanted}, {}], some_key=1,
    )  # fmt: skip
    assert [one["score"] for one in found] == pytest.approx([0.8, 1.0])
    assert [one.keys() for one in found] == [{"score", "code", "reason"}] * 2
    json.dumps(found)


def test_equal_scripts_are_run_once(reward: Reward, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    whole = Host.map

    def counted(self: Host, sources: Any, *args: Any, **more: Any) -> Any:
        ran.extend(sources)
        return whole(self, sources, *args, **more)

    monkeypatch.setattr(Host, "map", counted)
    assert reward(completions=[fenced(GOOD), fenced(GOOD + "\n"), GOOD]) == [1.0] * 3
    assert len(ran) == 1


class Lost:
    """A Host whose results are lost, so many times."""

    def __init__(self, host: Host, times: int) -> None:
        self.host, self.times = host, times

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)

    def map(self, sources: Any, *args: Any, **more: Any) -> list[RunResult]:
        results = list(self.host.map(sources, *args, **more))
        self.times -= 1
        if self.times < 0:
            return results
        gone = copy.copy(results[0].outcome)
        object.__setattr__(gone, "reason", Reason.LOST)
        object.__setattr__(results[0], "outcome", gone)
        return results


def test_a_fault_of_ours_is_tried_again_and_is_never_the_models(host: Host, profile: str) -> None:
    again = Reward(CHECKS, profile=profile, host=Lost(host, 1))  # type: ignore[arg-type]
    assert again(completions=[fenced(GOOD)]) == [1.0]
    gone = Reward(CHECKS, profile=profile, host=Lost(host, 9))  # type: ignore[arg-type]
    assert gone(completions=[fenced(GOOD), "no"]) == [None, 0.0]
    with pytest.raises(SandboxFault, match="1 of 2 completions"):
        gone.compute_score(solution_strs=[fenced(GOOD), "no"])


@pytest.mark.parametrize(
    ("row", "why"),
    [({"hole": 1}, "no hole"), ({"holes": "many"}, "holes"), ({"solids": 0}, "solids 0"), ({"volume": [1]}, "volume")],
)
def test_a_check_that_is_none_is_refused(row: dict[str, Any], why: str, reward: Reward) -> None:
    with pytest.raises(Denied, match=why):
        reward(completions=["no"], checks=[row])


def test_what_cannot_be_a_reward_is_refused(host: Host) -> None:
    with pytest.raises(ValueError, match="1 checks for 2"):
        Reward(host=host).judge(["", ""], [None])
    with pytest.raises(Denied):
        Reward(profile="nobody", host=host)(completions=[GOOD])
    for scale in ({"denied": 0.9}, {"part": 1.1}, {"no_script": -1.0}, {"failed": float("nan")}):
        with pytest.raises(ValueError, match="worth"):
            Scale(**scale)


def test_a_copy_in_another_process_has_a_host_of_its_own(reward: Reward, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = pickle.loads(pickle.dumps(reward))
    assert (copied.checks, copied.profile, copied.limits, copied.scale) == (
        reward.checks, reward.profile, reward.limits, reward.scale
    )  # fmt: skip
    monkeypatch.setattr(shared, "host", lambda: reward._host)
    assert copied(completions=[fenced(GOOD)]) == [1.0]


def test_a_completion_without_end_is_no_script(reward: Reward) -> None:
    assert reward(completions=[fenced(GOOD) + "#" * (1 << 18), "```python\n" * 20_000]) == [0.0, 0.0]


def test_a_reference_counts_by_what_is_common(reward: Reward, host: Host, profile: str, tmp_path: Path) -> None:
    """By cad-recode: the middles of the boxes lie in one place, and the longest sides become 1."""
    bar = "result = cq.Workplane().box(40, 10, 10)\n"
    result = host.run(IMPORT + bar, profile)
    [artifact] = result.artifacts.values()
    path = tmp_path / "bar.step"
    path.write_bytes(artifact.data)
    free = Reward(Checks(solids=None), profile=profile, host=host)
    sources = [bar, "result = cq.Workplane().box(80, 20, 20)\n", "result = cq.Workplane().box(40, 10, 5)\n", "x = 1\n"]
    judged = free.judge([IMPORT + source for source in sources], references=[path, str(path), path, path])
    # The same, the same at another scale, half of it (0.6 + 0.4 / 2), and no part.
    assert [one.reward for one in judged] == pytest.approx([1.0, 1.0, 0.8, 0.4], abs=1e-6)
    assert "0.500 of the union" in judged[2].reason
    [told] = free.compute_score(solution_strs=[IMPORT + sources[2]], extra_infos=[{"reference": str(path)}])
    assert told["score"] == pytest.approx(0.8)
    path.write_text("junk", "utf-8")
    with pytest.raises(Denied, match="reference is no part"):
        free(completions=[IMPORT + bar], reference=[path])
    with pytest.raises(FileNotFoundError):
        free(completions=[IMPORT + bar], reference=[tmp_path / "none.step"])


def test_a_profile_for_plain_programs_is_refused(host: Host) -> None:
    with pytest.raises(Denied, match="CAD profile"):
        Reward(profile="python", host=host).judge([fenced(GOOD)])
