"""Callers may only tighten: downwards, what there is, and never to nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy.written import load, text_of

from casemate.errors import PolicyError
from casemate.policy import Profile, diff, tighten

relaxed = settings(deadline=None)

PROFILES = {name: load(text_of(name)) for name in ("cad", "cad-fast", "cad-rlimit", "python", "strict")}
CAD = PROFILES["cad"]
NUMBERS = [name for name, value in CAD.limits if not isinstance(value, str)]


@pytest.mark.parametrize("name", NUMBERS)
def test_every_limit_may_go_down_but_not_up_nor_to_zero(name: str) -> None:
    most = getattr(CAD.limits, name)
    if name != "sockets":  # 0 as it is: no less can be asked
        least = {"memory": 64 << 20, "disk_bytes": 4 << 20, "inodes": 256, "open_files": 16}.get(name, most / 2)
        lower = type(most)(least)
        assert getattr(tighten(CAD, {name: lower}).limits, name) == lower < most
    for bad in (most + 1, most * 2 + 1, -1, math.nan, math.inf, True, "1", None, *(() if name == "sockets" else (0,))):
        with pytest.raises(PolicyError, match=rf"mine\.toml:\d+: limits\.{name}: "):
            tighten(CAD, {name: bad})  # type: ignore[dict-item]


def test_a_number_too_long_to_be_told_is_refused_like_any_other() -> None:
    with pytest.raises(PolicyError, match=r"limits\.memory: a number of thousands of digits: "):
        tighten(CAD, {"memory": 1 << 20_000})


@pytest.mark.parametrize("name", ["luck", "", "wall_time ", "limits.wall_time", "output_overflow", "__class__"])
def test_what_is_no_limit_is_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="there is no such limit"):
        tighten(CAD, {name: 1})


def test_a_whole_number_of_seconds_is_a_number_of_seconds() -> None:
    tightened = tighten(CAD, {"wall_time": 10})
    assert (tightened.limits.wall_time, type(tightened.limits.wall_time)) == (10.0, float)
    with pytest.raises(PolicyError):
        tighten(CAD, {"memory": 1e9})


def test_what_could_not_take_effect_any_more_goes_down_as_well() -> None:
    tightened = tighten(CAD, {"wall_time": 1, "disk_bytes": 5 << 20})
    assert (tightened.stages.gate, tightened.stages.step, tightened.stages.facts) == (1.0, 1.0, 1.0)
    assert tightened.stages.gate_memory == CAD.stages.gate_memory
    assert tightened.limits.file_size == 5 << 20
    assert tightened.limits.artifact_total_bytes == tightened.limits.artifact_bytes == 2 << 20
    python = tighten(PROFILES["python"], {"disk_bytes": 5 << 20, "wall_time": 1})
    assert (python.limits.artifact_total_bytes, python.stages.gate) == (5 << 20, "not-applicable")


def test_a_tightened_profile_has_a_digest_of_its_own() -> None:
    digests = {
        tighten(CAD, asked).digest
        for asked in ({}, {"wall_time": 10}, {"wall_time": 11}, {"cpu_time": 10}, {"cpus": 0.5})
    }
    assert len(digests) == 5
    assert tighten(CAD, {}).digest == tighten(CAD, {"wall_time": 60.0}).digest == CAD.digest
    assert tighten(CAD, {"wall_time": 10}).digest == tighten(CAD, {"wall_time": 10.0}).digest
    assert tighten(PROFILES["cad-fast"], {"wall_time": 10}).digest != tighten(CAD, {"wall_time": 10}).digest
    assert tighten(CAD, {"wall_time": 10}).digest != tighten(tighten(CAD, {"wall_time": 11}), {"wall_time": 10}).digest
    assert CAD.limits.wall_time == 60.0


@relaxed
@given(st.sampled_from(sorted(PROFILES)), st.data())
def test_whatever_is_asked_the_result_is_nowhere_looser(name: str, data: st.DataObject) -> None:
    profile: Profile = PROFILES[name]
    asked = data.draw(
        st.dictionaries(
            st.sampled_from(NUMBERS), st.one_of(st.integers(-1, 1 << 41), st.floats(), st.floats(0.01, 100)), max_size=4
        )
    )
    try:
        tightened = tighten(profile, asked)
    except PolicyError:
        return
    assert all(found.second_is == "tighter" for found in diff(profile, tightened, {}))
    assert all(getattr(tightened.limits, limit) == value for limit, value in asked.items())
