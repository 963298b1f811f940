"""What is for want of a descriptor is Busy, and nothing else is."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from casemate.errors import Busy, Denied, SandboxFault
from casemate.runtime import capacity, process, runtimes


@capacity.descriptors()
def fail(error: Exception, cause: BaseException | None = None) -> None:
    raise error from cause


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_it_is_busy_whatever_it_was_turned_into(number: int) -> None:
    full = OSError(number, "full")
    for error, cause in ((full, None), (SandboxFault("x"), full), (Denied("x"), full)):
        with pytest.raises(Busy, match="RLIMIT_NOFILE"):
            fail(error, cause)


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "gone"), Denied("no"), ValueError("x")])
def test_anything_else_is_what_it_was(error: Exception) -> None:
    with pytest.raises(type(error)):
        fail(error)


def test_what_the_caller_is_handling_is_nothing_of_ours() -> None:
    try:
        raise OSError(errno.EMFILE, "the caller's own")
    except OSError:
        with pytest.raises(Denied):
            fail(Denied("no such profile"))


def test_a_runtime_is_not_condemned_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise SandboxFault("crun cannot be started") from OSError(errno.EMFILE, "full")

    monkeypatch.setattr(process, "run_tool", full)
    monkeypatch.setattr(runtimes, "_require_safe", lambda _: None)
    with pytest.raises(OSError, match="full"):
        runtimes.find("crun", Path("/bin/true"))
