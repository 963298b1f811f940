"""What one job does never ends another: every event that a guest can cause is survived by template and keeper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from escape.test_guards import without
from harness import BLIND, confined, weakened

# A child with CLONE_PARENT is the template's own child (clone(2)): it is the template that reaps it.
SIBLING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x8000 | 17, 0x8000 | 0x4000 | 17, 17):
    pid = libc.syscall(56, flags, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    print(hex(flags), pid, ctypes.get_errno())
raise SystemExit(0)
"""


FORGED = b'{"kind": "stage", "name": "handover", "event": "start"}'
SIGNALS = {
    f"signal {number}": (
        f"import os\nos.write(3, len({FORGED!r}).to_bytes(4, 'big') + {FORGED!r})\nos.kill(os.getpid(), {number})\n"
    )
    for number in (24, 14)
}


def neighbours(directory: Path, attacks: Mapping[str, str], package: str = "-") -> dict[str, Any]:
    for name, source in attacks.items():
        (directory / f"{name}.py").write_text(source, "utf-8")
    with confined("neighbours", package, *(str(directory / f"{name}.py") for name in attacks)) as running:
        told: dict[str, Any] = running.finish(100)
    assert set(told) == {"victim", *attacks}
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all of them, one after the other beside one victim."""
    return neighbours(tmp_path_factory.mktemp("neighbours"), {"sibling": SIBLING, **SIGNALS})


def test_nothing_of_all_this_ends_the_victim(told: dict[str, Any]) -> None:
    assert told["victim"] == ["exited", 0, "slept well\n"]


def test_a_child_given_to_the_template_is_refused(told: dict[str, Any]) -> None:
    first, second, third = (line.split() for line in told["sibling"][2].splitlines())
    assert (first[1:], second[1:]) == (["-1", "1"], ["-1", "1"])  # EPERM
    assert int(third[1]) > 0  # a child of its own may be made


def test_a_child_given_to_the_template_would_be_nobodys_verdict(tmp_path: Path) -> None:
    # Without the filter the child is there, and the template lets it go by.
    package = str(weakened(tmp_path, (without("seccomp"), BLIND)))
    told = neighbours(tmp_path, {"sibling": SIBLING}, package)
    assert told["victim"] == ["exited", 0, "slept well\n"]
    assert int(told["sibling"][2].split()[1]) > 0


def test_twin_it_ends_every_job_without_either(tmp_path: Path) -> None:
    careless = (
        "launcher/template.py",
        "        name = guests.pop(pid, None)\n        if name is None:\n",
        "        name = guests.pop(pid)\n        if False:\n",
    )
    package = str(weakened(tmp_path, (without("seccomp"), BLIND, careless)))
    assert neighbours(tmp_path, {"sibling": SIBLING}, package)["victim"][0] == "SandboxFault"


@pytest.mark.parametrize("name", SIGNALS)
def test_a_signal_to_oneself_is_a_signal_and_no_limit(name: str, told: dict[str, Any]) -> None:
    assert told[name][0] == "signaled"
