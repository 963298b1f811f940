"""The table of both walls: complete, in the order that the kernel asks for, and closed when an effect is not seen."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from casemate.launcher import steps
from casemate.launcher.site import Place, Site, StepFailed, require
from casemate.launcher.steps import STEPS, Step

ROOM, INIT, EXEC, GUEST = Place.ROOM, Place.INIT, Place.EXEC, Place.GUEST


def order(place: Place) -> list[str]:
    return [step.name for step in STEPS if place in step.places]


def assert_order(place: Place, *names: str) -> None:
    positions = [order(place).index(name) for name in names]
    assert positions == sorted(positions), f"{place}: {names}"


def test_every_step_is_whole() -> None:
    assert len({step.name for step in STEPS}) == len(STEPS)
    for step in STEPS:
        assert step.places
        assert callable(step.apply)
        assert callable(step.verify)
        assert step.apply is not step.verify
        line = step.describe()
        assert "\n" not in line
        assert step.name in line
        assert step.what in line
        assert all(place in line for place in step.places)


def test_no_two_steps_share_a_function() -> None:
    # `rlimits` and `limits` set the same table in two places; a read-back is never another step's.
    applied = [step.apply for step in STEPS if step.name != "limits"]
    read_back = [step.verify for step in STEPS if step.name != "limits"]
    assert len(set(applied)) == len(applied)
    assert len(set(read_back)) == len(read_back)


@pytest.mark.parametrize("place", [ROOM, INIT])
def test_the_order_of_a_wall(place: Place) -> None:
    # cgroup → uid → dumpable → user namespace and maps → rlimits → other namespaces → mounts → cgroup ns.
    assert_order(place, "cgroup", "identity", "user", "rlimits", "namespaces", "pid", "mounts", "cgroupns")
    assert_order(place, "session", "cgroup")


def test_power_goes_last_and_in_order() -> None:
    assert_order(INIT, "cgroupns", "undumpable", "no_new_privs")
    assert_order(EXEC, "mounts", "undumpable", "capabilities", "no_new_privs")
    assert_order(GUEST, "uid", "capabilities", "no_new_privs", "landlock", "environment", "seccomp")


def test_a_guest_joins_its_walls_before_limits_and_uid() -> None:
    # RLIMIT_NPROC counts per user namespace; the uid is mapped in the sandbox's.
    assert_order(GUEST, "cgroup", "walls", "limits", "descriptors", "uid")


def test_the_filter_is_the_last_thing_that_a_guest_gets() -> None:
    assert order(GUEST)[-1] == "seccomp"


def test_no_landlock_in_an_outer_wall() -> None:
    # It makes every inner mount EPERM (tried on Linux 6.18).
    for place in (ROOM, INIT, EXEC):
        assert "landlock" not in order(place)
        assert "seccomp" not in order(place)


def test_what_untrusted_code_must_not_have_is_taken_from_it() -> None:
    needed = {
        "session", "cgroup", "walls", "limits", "descriptors", "uid", "capabilities", "no_new_privs", "landlock",
        "environment", "seccomp",
    }  # fmt: skip
    assert needed <= set(order(GUEST))


def step(name: str, verify: Callable[[Site], str], place: Place = GUEST, done: list[str] | None = None) -> Step:
    return Step(name, frozenset([place]), name, lambda _: (done if done is not None else []).append(name), verify)


def use(monkeypatch: pytest.MonkeyPatch, *table: Step) -> None:
    monkeypatch.setattr(steps, "STEPS", table)


def test_what_was_read_back_becomes_a_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    use(
        monkeypatch,
        step("one", lambda _: "seen", done=done),
        step("two", lambda _: "", done=done),
        step("three", lambda _: "elsewhere", INIT, done),
    )
    layers = steps.take(GUEST, Site())
    assert [(layer.name, layer.on, layer.detail) for layer in layers] == [
        ("guest.one", True, "seen"),
        ("guest.two", False, ""),
    ]
    assert done == ["one", "two"]


def not_seen(_: Site) -> str:
    require(False, "uid is 65534")
    return "never"


def missing_file(_: Site) -> str:
    return os.readlink("/nowhere/at/all")


def not_a_number(_: Site) -> str:
    return str(int("zero"))


@pytest.mark.parametrize(
    ("verify", "text"), [(not_seen, "uid is 65534"), (missing_file, "/nowhere"), (not_a_number, "zero")]
)
def test_an_effect_that_is_not_seen_stops_everything(
    monkeypatch: pytest.MonkeyPatch, verify: Callable[[Site], str], text: str
) -> None:
    done: list[str] = []
    use(
        monkeypatch,
        step("good", lambda _: "seen", done=done),
        step("walls", verify, done=done),
        step("after", lambda _: "seen", done=done),
    )
    with pytest.raises(StepFailed, match=rf"guest: walls: .*{text}"):
        steps.take(GUEST, Site())
    assert done == ["good", "walls"]


def test_a_step_that_cannot_be_applied_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def apply(_: Site) -> None:
        raise PermissionError(1, "unshare: not permitted")

    seen: list[str] = []
    use(monkeypatch, Step("user", frozenset([ROOM]), "", apply, lambda _: seen.append("read back") or ""))
    with pytest.raises(StepFailed, match=r"room: user: .*unshare"):
        steps.take(ROOM, Site())
    assert seen == []


def test_a_place_is_taken_in_two_parts_without_gap_or_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, *(step(name, lambda _: "seen") for name in "abcd"))
    site = Site()
    first = steps.take(GUEST, site, upto="b")
    second = steps.take(GUEST, site, after="b")
    assert [layer.name for layer in first + second] == [f"guest.{name}" for name in "abcd"]
    assert len(first) == 2


def test_an_unknown_boundary_between_parts_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, step("a", lambda _: "seen"))
    with pytest.raises(ValueError, match="nothing"):
        steps.take(GUEST, Site(), after="nothing")


def test_namespaces_are_remembered_from_before_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, step("a", lambda _: "seen"))
    site = Site()
    steps.take(GUEST, site)
    assert site.before["net"] == os.stat("/proc/self/ns/net").st_ino
    assert set(site.before) >= {"user", "mnt", "net", "ipc", "uts", "cgroup"}
