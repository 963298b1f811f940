"""Nothing of a profile is above the host's ceiling; a cap that could never take effect is no cap."""

from __future__ import annotations

import pytest
from policy.written import edited, load, text_of

from casemate.errors import PolicyError
from casemate.policy import Profile, parse_ceiling, tighten

CAD = load(text_of("cad"))


def cap(text: str, profile: Profile = CAD) -> Profile:
    return parse_ceiling(text, "ceiling.toml").cap(profile)


def above(text: str, profile: Profile = CAD) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        cap(text, profile)
    return [str(fault) for fault in caught.value.faults]


def test_an_empty_ceiling_caps_nothing() -> None:
    assert cap("") is CAD
    assert cap("[limits]\n") is CAD


def test_a_limit_at_the_ceiling_is_admitted_and_one_above_is_not() -> None:
    assert cap("[limits]\nmemory = 2_147_483_648\n") is CAD
    line = text_of("cad").split("\n").index("memory = 2_147_483_648") + 1
    assert above("# mine\n[limits]\nwall_time = 60\n\nmemory = 2_147_483_647\n") == [
        f"mine.toml:{line}: limits.memory: 2147483648 is above this host's ceiling (ceiling.toml:5)"
    ]


def test_everything_above_is_told() -> None:
    told = above(
        "[limits]\nmemory = 1_073_741_824\nwall_time = 30\n[stages]\nfacts = 1.0\n[lifecycle]\ntime_to_live = 1"
    )
    assert [text.split(": ")[1] for text in told] == [
        "limits.memory", "limits.wall_time", "stages.facts", "lifecycle.time_to_live",
    ]  # fmt: skip


def test_a_caller_cannot_tighten_a_profile_under_the_ceiling() -> None:
    # The file itself is what the administrator refuses.
    assert tighten(CAD, {"wall_time": 10}).limits.wall_time == 10
    assert above("[limits]\nwall_time = 30\n")


@pytest.mark.parametrize(
    ("row", "allowed", "refused"),
    [
        ("profile.name", '["cad", "cad-rlimit"]', '["cad-rlimit"]'),
        ("profile.digest", f'["{CAD.digest}"]', f'["{"0" * 64}"]'),
        ("network.egress", '["none"]', '["broker"]'),
        ("filesystem.image", '["cad"]', '["python"]'),
        ("filesystem.writable", '["/tmp", "/home"]', "[]"),
        ("filesystem.exec_writable", "[false]", "[true]"),
        ("layers.permitted_degraded", '["landlock"]', "[]"),
        ("kernel.landlock", '["if-available", "required"]', '["required"]'),
        ("environment.variables", "[]", None),
        ("limits.output_overflow", '["cut"]', '["kill"]'),
        ("limits.sockets", "0", None),
        ("stages.gate", "2.0", "1.0"),
        ("artifacts.inspection", '["required"]', '["claimed"]'),
    ],
)
def test_words_and_lists(row: str, allowed: str, refused: str | None) -> None:
    table, _, key = row.partition(".")
    assert cap(f"[{table}]\n{key} = {allowed}\n") is CAD
    if refused is not None:
        [told] = above(f"[{table}]\n{key} = {refused}\n")
        assert f" {row}: " in told
        assert "(ceiling.toml:2)" in told


def test_a_profile_that_claims_a_name_has_another_digest() -> None:
    mine = load(edited("limits.memory", 1 << 30))
    assert cap('[profile]\nname = ["cad"]\n', mine) is mine
    assert above(f'[profile]\ndigest = ["{CAD.digest}"]\n', mine)


def test_what_is_not_applicable_is_under_every_number() -> None:
    python = load(text_of("python"))
    assert cap("[stages]\ngate = 1.0\n", python) is python


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[limits]\nmemory = 0\n", 2), ("[limits]\nmemory = -1\n", 2), ("[limits]\nmemory = true\n", 2),
        ('[limits]\nmemory = "1"\n', 2), ("[limits]\nmemory = [1]\n", 2), ("[limits]\n\nmemory = 9e99\n", 3),
        ("[limits]\nwall_time = nan\n", 2), ("[limits]\nwall_time = inf\n", 2), ("[limits]\nopen_files = 15\n", 2),
        ("[limits]\nluck = 1\n", 2), ("[luck]\nmemory = 1\n", 2), ("memory = 1\n", 1), ("[limits.memory]\nx = 1\n", 1),
        ('[network]\negress = "none"\n', 2), ('[network]\negress = []\n', 2), ('[network]\negress = ["all"]\n', 2),
        ("[filesystem]\nexec_writable = false\n", 2), ("[filesystem]\nexec_writable = [0]\n", 2),
        ('[filesystem]\nwritable = ["tmp"]\n', 2), ("[profile]\nversion = 1\n", 2), ('[layers]\nrequired = []\n', 2),
        ('[profile]\ndigest = ["abc"]\n', 2), ('[stages]\ngate = "not-applicable"\n', 2), ("[limits]\nx", 2),
    ],
)  # fmt: skip
def test_a_faulty_ceiling_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_ceiling(text, "ceiling.toml")
    assert [(fault.file, fault.line) for fault in caught.value.faults] == [("ceiling.toml", line)]
