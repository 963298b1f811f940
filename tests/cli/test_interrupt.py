"""Ctrl-C ends the job and leaves nothing of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness import wait_until
from processes import descendants, fields, guests

from casemate.launcher import cgroups


def groups(keepers: set[int]) -> set[Path]:
    """The groups of these keepers (casemate-PID-STARTED) below our own."""
    tops = [Path(hierarchy.own) for hierarchy in cgroups.survey().hierarchies]
    return {path for top in tops for pid in keepers for path in top.glob(f"casemate-{pid}-*")}


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_interrupt(tmp_path: Path, profile: str, flags: tuple[str, ...]) -> None:
    (tmp_path / "endless.py").write_text("while True:\n    pass\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "casemate.cli", "run", str(tmp_path / "endless.py"), "--profile", profile, *flags],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        # What runs in the background of a script inherits an ignored SIGINT (sh, "Asynchronous Lists").
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    try:
        assert wait_until(lambda: guests(process.pid) or process.poll() is not None, 60)
        family = descendants(process.pid)
        assert len(family) > 5  # keeper, monitor, zygote, template, init, exec, guest
        made = groups(family)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    if flags:
        assert json.loads(out)["exit_status"] == 130
    else:
        assert (out, "interrupted" in err) == ("", True)
    # The keeper has ended too by now: the command waits for it.
    assert not [pid for pid in family if fields(pid)]
    assert profile == "cad-rlimit" or made
    assert not [path for path in made if path.exists()]
