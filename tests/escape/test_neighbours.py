"""What one job does never ends another: every event that a guest can cause is survived by template and keeper."""

from __future__ import annotations

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


def neighbours(directory: Path, source: str, package: str = "-") -> dict[str, Any]:
    path = directory / "source.py"
    path.write_text(source, "utf-8")
    with confined("neighbours", str(path), package) as running:
        return running.finish(100)


def test_a_child_given_to_the_template_is_refused(tmp_path: Path) -> None:
    told = neighbours(tmp_path, SIBLING)
    assert told["victim"] == ["exited", 0, "slept well\n"]
    first, second, third = (line.split() for line in told["attacker"][2].splitlines())
    assert (first[1:], second[1:]) == (["-1", "1"], ["-1", "1"])  # EPERM
    assert int(third[1]) > 0  # a child of its own may be made


def test_a_child_given_to_the_template_would_be_nobodys_verdict(tmp_path: Path) -> None:
    # Without the filter the child is there, and the template lets it go by.
    told = neighbours(tmp_path, SIBLING, str(weakened(tmp_path, (without("seccomp"), BLIND))))
    assert told["victim"] == ["exited", 0, "slept well\n"]
    assert int(told["attacker"][2].split()[1]) > 0


def test_twin_it_ends_every_job_without_either(tmp_path: Path) -> None:
    careless = (
        "launcher/template.py",
        "        name = guests.pop(pid, None)\n        if name is None:\n",
        "        name = guests.pop(pid)\n        if False:\n",
    )
    told = neighbours(tmp_path, SIBLING, str(weakened(tmp_path, (without("seccomp"), BLIND, careless))))
    assert told["victim"][0] == "SandboxFault"


@pytest.mark.parametrize("number", [24, 14])
def test_a_signal_to_oneself_is_a_signal_and_no_limit(tmp_path: Path, number: int) -> None:
    forged = b'{"kind": "stage", "name": "handover", "event": "start"}'
    source = (
        f"import os\nos.write(3, len({forged!r}).to_bytes(4, 'big') + {forged!r})\nos.kill(os.getpid(), {number})\n"
    )
    assert neighbours(tmp_path, source)["attacker"][0] == "signaled"
