"""What this host has no room for is Busy, never a fault; a keeper that cannot start says why."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import confined

from casemate import Host, SandboxFault


@pytest.mark.parametrize("stock", [0, 4])
def test_more_sandboxes_than_descriptors_allow_is_busy(stock: int) -> None:
    with confined("few_files", str(stock)) as running:
        told = running.finish(60)
    assert told["jobs"] == ["cancelled"] * 10
    assert told["too many"].startswith("Busy: 10 sandboxes are alive")
    assert told["after"] == "served\n"


@pytest.mark.parametrize("keeper", ["warm", "cold"])
def test_a_caller_without_descriptors_is_busy_and_keeps_its_keeper(keeper: str, profile: str) -> None:
    assert profile
    with confined("short_of_files", keeper, "guarded") as running:
        seen = running.finish(60)
    assert set(seen["told"]) == {"busy", "served"}
    assert (seen["told"][0], seen["told"][-1], seen["after"]) == ("busy", "served", "served")
    assert (seen["keepers"], seen["gone"]) == (1, True)


def test_twin_a_message_that_lost_its_descriptors_would_cost_the_keeper(profile: str) -> None:
    assert profile
    with confined("short_of_files", "warm", "unguarded") as running:
        seen = running.finish(60)
    assert "SandboxFault: the keeper cannot be understood: a packet was cut" in seen["told"]
    assert seen["keepers"] > 1


def state_is_a_file(directory: Path) -> Path:
    (directory / "state").write_text("not a directory", "utf-8")
    return directory / "state"


def state_is_open_to_others(directory: Path) -> Path:
    (directory / "state").mkdir(mode=0o755)
    (directory / "state").chmod(0o755)
    return directory / "state"


def state_is_a_link(directory: Path) -> Path:
    (directory / "real").mkdir(mode=0o700)
    (directory / "state").symlink_to(directory / "real")
    return directory / "state"


def state_cannot_be_made(_: Path) -> Path:
    return Path("/proc/casemate/state")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (state_is_a_file, "File exists"),
        (state_is_open_to_others, "not a private directory of this user"),
        (state_is_a_link, "not a private directory of this user"),
        (state_cannot_be_made, "No such file or directory"),
    ],
)
def test_a_keeper_that_cannot_start_says_why(make: object, why: str, tmp_path: Path, profile: str) -> None:
    assert callable(make)
    state = make(tmp_path)
    with Host(state=state) as host, pytest.raises(SandboxFault) as caught:
        host.check("x = 1", profile)
    assert why in str(caught.value)
    assert str(state) in str(caught.value) or "/proc/casemate" in str(caught.value)
