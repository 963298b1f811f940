"""Each row in which plain programs differ from CAD jobs: attacks that must not work, and each with the guard taken out.

Attacks on the same profile share one sandbox and print a line each. A twin runs them against a launcher from which
their guard is missing; those with the same guard share a sandbox too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from escape.program_attacks import ATTACKS, LANDLOCK_EXECUTE, NOEXEC, PROFILES, READ_ONLY_TMP, TRY, Attack, Edits
from escape.test_guards import without
from harness import Launch, launches
from policy.written import text_of

from casemate import Limit, Reason
from casemate.launcher import cgroups

CGROUPS = not cgroups.survey().missing
PYTHON = "python" if CGROUPS else "python-rlimit"
NEEDS_CGROUP = pytest.mark.skipif(not CGROUPS, reason="needs memory, pids and cpu controllers")
Seen = dict[Launch, dict[str, Any]]


def written(name: str) -> str:
    """The text of a profile for tests."""
    text = text_of("strict" if name == "strict" else PYTHON)
    for old, new in PROFILES[name]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def launch(name: str, *attacks: Attack, edits: Edits = (), ahead: bool = True) -> Launch:
    return Launch(TRY + "".join(each.source for each in attacks), written(name), edits, ahead)


def lines(seen: dict[str, Any], *attacks: Attack) -> dict[str, str]:
    """Attack → what it printed."""
    found = {
        each.name: line.removeprefix(f"{each.name}: ")
        for line in seen["stdout"].splitlines()
        for each in attacks
        if line.startswith(f"{each.name}: ")
    }
    assert set(found) == {each.name for each in attacks}, seen
    return found


def of(profile: str) -> tuple[Attack, ...]:
    return tuple(each for each in ATTACKS if each.profile == profile)


def named(name: str) -> Attack:
    [found] = [each for each in ATTACKS if each.name == name]
    return found


def on_this_host(profile: str) -> bool:
    return CGROUPS or profile != "strict"


TWINS: dict[tuple[str, Edits], tuple[Attack, ...]] = {
    (name, edits): tuple(each for each in of(name) if each.edits == edits)
    for name in PROFILES
    for edits in {each.edits: None for each in of(name)}
}
EXECUTE, WRITE = named("execute a written file"), named("write a file")
LEFT_ALONE = {
    "execute, Landlock": (EXECUTE, NOEXEC, "PermissionError"),
    "execute, noexec": (EXECUTE, (LANDLOCK_EXECUTE,), "PermissionError"),
    "write, mount": (WRITE, (without("seccomp", "landlock"),), "[Errno 30]"),  # EROFS
    "write, Landlock": (WRITE, (without("seccomp"), *READ_ONLY_TMP), "[Errno 13]"),  # EACCES
    "write, seccomp": (WRITE, (without("landlock"), *READ_ONLY_TMP), "[Errno 1]"),  # EPERM
}
"""One of several guards of the same thing is left, and holds: what is taken out, and how it refuses."""
FORK = Launch(TRY + "attempt('fork', os.fork)\n", written("strict"), (without("seccomp", "limits"),))
"""The cgroup alone."""
BOMB = Launch("""
import os, time
done = 0
try:
    while done < 400:
        os.fork() or (time.sleep(60), os._exit(0))
        done += 1
except OSError as error:
    print("refused", error.errno, done)
else:
    print("passed", done)
""", written("plain"))  # fmt: skip
HOG = Launch("""
import os, time
for _ in range(6):
    if not os.fork():
        kept = b'x' * (300 << 20)
        time.sleep(60)
time.sleep(60)
""", written("plain"))  # fmt: skip


@pytest.fixture(scope="module", params=[True, False], ids=["ahead", "on_demand"])
def held(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Profile → what became of all attacks on it, in a sandbox that was made ahead or was built for them."""
    wanted = {name: launch(name, *of(name), ahead=request.param) for name in PROFILES if on_this_host(name)}
    seen = launches(tmp_path_factory.mktemp("held"), [*wanted.values()])
    return {name: seen[each] for name, each in wanted.items()}


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    """Of one profile at a time: launchers without one guard or another, and programs that only the cgroup ends."""

    @functools.cache
    def of_profile(profile: str) -> Seen:
        wanted = [launch(name, *found, edits=edits) for (name, edits), found in TWINS.items() if name == profile]
        wanted += [
            launch(profile, each, edits=edits) for each, edits, _ in LEFT_ALONE.values() if each.profile == profile
        ]
        wanted += {"plain": [BOMB, *([HOG] if CGROUPS else [])], "strict": [FORK]}.get(profile, [])
        return launches(tmp_path_factory.mktemp(profile), wanted)

    return of_profile


def needs(profile: str) -> None:
    if not on_this_host(profile):
        pytest.skip("strict needs memory, pids and cpu controllers")


@pytest.mark.parametrize("profile", PROFILES)
def test_every_attack_is_held(profile: str, held: dict[str, dict[str, Any]]) -> None:
    needs(profile)
    found = lines(held[profile], *of(profile))
    assert {name: line for name, line in found.items() if not line.startswith("HELD")} == {}


@pytest.mark.parametrize("each", ATTACKS, ids=lambda each: each.name)
def test_twin_works_without_the_guard(each: Attack, weak: Callable[[str], Seen]) -> None:
    needs(each.profile)
    together = TWINS[each.profile, each.edits]
    found = lines(weak(each.profile)[launch(each.profile, *together, edits=each.edits)], *together)
    assert found[each.name].startswith("OPEN"), found


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_a_guard_that_is_left_alone_holds(name: str, weak: Callable[[str], Seen]) -> None:
    each, edits, how = LEFT_ALONE[name]
    needs(each.profile)
    line = lines(weak(each.profile)[launch(each.profile, each, edits=edits)], each)[each.name]
    assert line.startswith("HELD"), line
    assert how in line


@NEEDS_CGROUP
def test_one_process_is_held_by_the_cgroup_too_and_counted(weak: Callable[[str], Seen]) -> None:
    assert weak("strict")[FORK]["stdout"].startswith("fork: HELD BlockingIOError"), weak("strict")[FORK]
    assert weak("strict")[FORK]["refused"] == ["processes"]


def test_a_fork_bomb_is_refused_and_dies_with_its_program(weak: Callable[[str], Seen]) -> None:
    word, errno, done = weak("plain")[BOMB]["stdout"].split()
    assert (word, errno, weak("plain")[BOMB]["reason"]) == ("refused", "11", Reason.EXITED)
    assert int(done) <= 64


@NEEDS_CGROUP
def test_a_memory_hog_of_processes_is_named_by_the_cgroup(weak: Callable[[str], Seen]) -> None:
    assert (weak("plain")[HOG]["reason"], weak("plain")[HOG]["limit"]) == (Reason.LIMIT, Limit.MEMORY)
