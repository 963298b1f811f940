"""Profiles and the ceiling as files: what is read, what is refused, and that nobody but the administrator can cap."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import casemate
from casemate import Host, Limit, PolicyError, Reason, Stage
from casemate.control.host import strongest
from casemate.control.profiles import admit, load_ceiling, load_profile, names, profile_names
from casemate.runtime import seccomp

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can own a ceiling")
BOX = "import cadquery as cq\nresult = cq.Workplane().box(1, 2, 3)\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a ceiling may be: its directory is the administrator's."""
    directory = tmp_path / "etc"
    directory.mkdir(mode=0o755)
    return directory / "ceiling.toml"


def test_every_shipped_profile_loads_and_its_names_resolve() -> None:
    assert set(profile_names()) == {
        "cad", "cad-fast", "cad-minimal", "cad-rlimit", "python", "python-rlimit", "strict",
    }  # fmt: skip
    assert {load_profile(name).name for name in profile_names()} == set(profile_names())
    assert "cad" in names().images
    assert names().syscalls["cad"] == set(seccomp.load("cad").calls) >= {"read", "write", "futex"}


@pytest.mark.parametrize("name", ["", "nothing", "cad.txt", "../cad", "/etc/passwd", "missing.toml", "\0.toml"])
def test_no_such_profile(name: str) -> None:
    with pytest.raises(PolicyError, match="no profile"):
        load_profile(name)


def test_a_profile_is_a_regular_file_of_text(tmp_path: Path) -> None:
    (tmp_path / "directory.toml").mkdir()
    os.mkfifo(tmp_path / "fifo.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "large.toml").write_text("# x\n" * 100_000)
    for name in ("directory", "fifo", "binary", "large"):
        with pytest.raises(PolicyError):
            load_profile(str(tmp_path / f"{name}.toml"))


def test_no_ceiling_is_no_ceiling(place: Path) -> None:
    assert load_ceiling(place.parent.parent / "missing" / "ceiling.toml") is None


@ROOT
def test_a_ceiling_caps_whatever_is_loaded(place: Path) -> None:
    assert load_ceiling(place) is None
    place.write_text("[limits]\nmemory = 1_073_741_824\n")
    with pytest.raises(PolicyError) as caught:
        admit("cad", place)
    assert f"limits.memory: 2147483648 is above this host's ceiling ({place}:2)" in str(caught.value)
    assert str(caught.value).startswith("cad.toml:")
    place.write_text("[limits]\nmemory = 2_147_483_648\n")
    assert admit("cad", place).name == "cad"


@ROOT
def test_a_ceiling_that_others_could_write_is_refused(place: Path) -> None:
    def refused(why: str) -> None:
        with pytest.raises(PolicyError, match=why):
            load_ceiling(place)

    place.write_text("")
    assert load_ceiling(place) is not None
    for mode in (0o664, 0o646, 0o666):
        place.chmod(mode)
        refused("nobody else may write")
    place.chmod(0o600)
    os.chown(place, 1000, 0)
    refused("belongs to uid 1000")
    os.chown(place, 0, 1000)
    assert load_ceiling(place) is not None
    for mode in (0o775, 0o757, 0o1777):
        place.parent.chmod(mode)
        refused("nobody else may write")
    place.parent.chmod(0o755)
    os.chown(place.parent, 1000, 0)
    refused("belongs to uid 1000")
    # Whoever can write the directory can take the ceiling away.
    place.unlink()
    refused("belongs to uid 1000")


@ROOT
def test_a_ceiling_is_a_regular_file(place: Path) -> None:
    target = place.with_name("target")
    target.write_text("")
    place.symlink_to(target)
    with pytest.raises(PolicyError, match="symbolic link"):
        load_ceiling(place)
    place.unlink()
    place.symlink_to("nowhere")
    with pytest.raises(PolicyError, match="symbolic link"):
        load_ceiling(place)
    place.unlink()
    place.mkdir()
    with pytest.raises(PolicyError, match="not a regular file"):
        load_ceiling(place)
    place.rmdir()
    os.mkfifo(place)
    with pytest.raises(PolicyError, match="not a regular file"):
        load_ceiling(place)


def test_a_users_own_file_is_no_ceiling(place: Path) -> None:
    place.write_text("")
    if os.geteuid() == 0:
        os.chown(place, 31337, 31337)
    with pytest.raises(PolicyError, match="root's"):
        load_ceiling(place)


@ROOT
def test_a_host_under_a_ceiling_refuses_and_runs(place: Path, profile: str) -> None:
    place.write_text("[limits]\nwall_time = 59\n")
    with Host(ceiling=place) as host:
        for call in (
            lambda: host.run(BOX, profile),
            lambda: host.run(BOX, profile, limits={"wall_time": 5}),
            lambda: host.check(BOX, profile),
            lambda: host.map([BOX], profile),
            lambda: strongest(host),
        ):
            with pytest.raises(PolicyError, match="above this host's ceiling"):
                call()
        assert host.keeper_pid is None
        # The administrator's next word counts at once.
        place.write_text("[limits]\nwall_time = 60\n")
        assert strongest(host) == profile
        assert host.run(BOX, profile).ok


@ROOT
def test_a_broken_ceiling_stops_everything(place: Path, profile: str) -> None:
    place.write_text("[limits]\nwall_time = 0\n")
    with Host(ceiling=place) as host, pytest.raises(PolicyError, match=r"ceiling\.toml:2: limits\.wall_time"):
        host.run(BOX, profile)


def test_a_tightened_limit_fires_and_twin_without_it(host: Host, profile: str) -> None:
    source = BOX + "print('x' * 1000)\n"
    loose = host.run(source, profile)
    assert (loose.ok, loose.stdout.total, loose.stdout.truncated) == (True, 1001, False)
    tight = host.run(source, profile, limits={"stdout_bytes": 100})
    assert (tight.ok, tight.stdout.total, len(tight.stdout.data)) == (True, 1001, 100)
    assert tight.enforcement.profile == loose.enforcement.profile
    assert tight.enforcement.profile_digest != loose.enforcement.profile_digest
    assert loose.enforcement.profile_digest == load_profile(profile).digest


def test_a_tightened_wall_clock_ends_the_job(host: Host, profile: str) -> None:
    outcome = host.run("while True:\n    pass\n", profile, limits={"wall_time": 0.5}).outcome
    assert (outcome.reason, outcome.limit) == (Reason.LIMIT, Limit.WALL_TIME)
    outcome = host.run(BOX, profile, limits={"source_bytes": 10}).outcome
    assert (outcome.reason, outcome.limit, outcome.stage) == (Reason.LIMIT, Limit.SOURCE_BYTES, Stage.GATE)


def test_tightened_in_a_map_too(host: Host, profile: str) -> None:
    results = list(host.map([BOX, BOX], profile, limits={"source_bytes": 10}))
    assert [result.outcome.limit for result in results] == [Limit.SOURCE_BYTES] * 2


@pytest.mark.parametrize("limits", [{"wall_time": 61}, {"wall_time": 0}, {"luck": 1}, {"memory": 2.5}])
def test_a_caller_may_only_tighten(host: Host, profile: str, limits: dict[str, float]) -> None:
    for call in (
        lambda: host.run(BOX, profile, limits=limits),
        lambda: casemate.run(BOX, profile, limits=limits),
        lambda: host.map([BOX], profile, limits=limits),
    ):
        with pytest.raises(PolicyError, match=rf"limits\.{next(iter(limits))}: "):
            call()
