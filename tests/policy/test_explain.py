"""Every limit is explained, and nothing else is."""

from __future__ import annotations

import dataclasses

import pytest

from casemate.errors import PolicyError
from casemate.model import Limit
from casemate.policy import explain
from casemate.policy.explain import EXPLANATIONS
from casemate.policy.limits import Limits

TERMINAL = {
    "wall_time", "cpu_time", "memory", "stdout_bytes", "stderr_bytes", "report_bytes", "upload_bytes", "download_bytes",
    "artifact_count", "artifact_bytes", "artifact_total_bytes", "source_bytes",
}  # fmt: skip
REFUSING = {"processes", "disk_bytes", "inodes", "open_files", "sockets", "address_space", "data", "file_size"}


def test_every_limit_has_an_entry_and_there_is_no_other() -> None:
    assert list(EXPLANATIONS) == list(Limits.model_fields)


def test_each_is_terminal_or_refusing_as_designed() -> None:
    kinds = {name: entry.kind for name, entry in EXPLANATIONS.items()}
    assert {name for name, kind in kinds.items() if kind == "terminal"} == TERMINAL
    assert {name for name, kind in kinds.items() if kind == "refusing"} == REFUSING
    assert kinds["cpus"] == "slowing"
    assert kinds["output_overflow"] == "choice"
    # A limit that an outcome can name ends the job.
    assert {str(limit) for limit in Limit} <= TERMINAL


@pytest.mark.parametrize("name", EXPLANATIONS)
def test_no_entry_leaves_anything_out(name: str) -> None:
    assert all(dataclasses.astuple(explain(name)))
    assert explain(f"limits.{name}") is explain(name)


@pytest.mark.parametrize("name", ["", "luck", "limits.", "limits.limits.memory", "stages.gate"])
def test_what_is_no_limit_is_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="no limit"):
        explain(name)
