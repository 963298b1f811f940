"""The instruments outside see what they should: canaries that are touched, listeners that are reached, a process."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from casemate.verify import look
from casemate.verify.canaries import Canaries, Place, word
from casemate.verify.source import MARK

DIAL = """
import json, os, socket
from casemate.launcher import syscalls
from casemate.verify import network
syscalls.unshare(syscalls.CLONE_NEWNET)
network.isolate()
seen = {}
with network.Impostors("w") as listeners:
    seen["control"] = listeners.control()
    for address in ADDRESSES:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with socket.socket(family, kind) as one:
                one.settimeout(2)
                one.connect((address, 53))
                one.send(f"{address}-{kind}-".encode())
    end = 200
    while end and not all(listeners.saw(f"{a}-{k}-") for a in ADDRESSES for k in (1, 2)):
        end -= 1
        os.sched_yield()
        network.time.sleep(0.01)
    seen["reached"] = [a for a in ADDRESSES if all(listeners.saw(f"{a}-{k}-") for k in (1, 2))]
    seen["never"] = listeners.saw("never sent")
    for listener in [key.fileobj for key in listeners._selector.get_map().values()]:
        listeners._selector.unregister(listener)
        listener.close()
    seen["blind"] = listeners.control()
print(json.dumps(seen))
"""
ADDRESSES = ["8.8.8.8", "10.1.2.3", "169.254.169.254", "127.0.0.1", "::1", "2001:db8::1", "fd00:ec2::254"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root, or a user namespace around it")
def test_every_address_is_answered_by_our_own_listeners() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"ADDRESSES = {ADDRESSES!r}\n{DIAL}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["control"] == ""
    assert seen["reached"] == ADDRESSES
    assert seen["never"] is False
    assert seen["blind"].startswith("listeners did not see our own")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path, word())
    for path in (made.file, made.open, tmp_path / "socket"):
        path.write_text(made.secret)
    return made


def test_an_untouched_place_has_no_changes(place: Place) -> None:
    assert place.changes() == []


@pytest.mark.parametrize("deed", ["write", "create", "remove", "rename"])
def test_a_touched_place_tells(place: Place, deed: str) -> None:
    if deed == "write":
        place.open.write_text("changed")
    elif deed == "create":
        (place.directory / "new").touch()
    elif deed == "remove":
        place.open.unlink()
    else:
        place.open.rename(place.directory / "else")
    assert place.changes() != []


def test_canaries_are_planted_found_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CASEMATE_CANARY", raising=False)
    planted = Canaries()
    directories = [place.directory for place in planted.places]
    assert len(directories) >= 2
    assert planted.called() == []
    for place in planted.places:
        assert planted.shown(f"what came out: {place.secret}") == (f"the canary of {place.file} came out",)
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(str(directories[0] / "socket"))
    assert planted.called() == [f"somebody connected to {directories[0]}/socket"]
    assert planted.shown("nothing of ours") == ()
    planted.close()
    assert [directory for directory in directories if directory.exists()] == []
    assert "CASEMATE_CANARY" not in os.environ


HELD = f"""
import os, signal, sys
fd = os.memfd_create("held")
os.nice(3)
os.umask(0)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGTERM])
os.dup2(1, {MARK})
signal.sigwait([signal.SIGUSR1])
"""


def test_a_process_that_waits_is_seen_with_all_that_it_has() -> None:
    with subprocess.Popen([sys.executable, "-c", HELD], stdout=subprocess.PIPE) as process:
        try:
            pid = look.until_seen(os.getpid(), 60, [])
            assert pid == process.pid
            seen = look.take(pid)
            limits = {"Max open files": 1, "Max core file size": 1 << 62}
            told = {
                trace: seen.shows(trace, limits)
                for trace in (
                    "fd /memfd:held", "fd anon_inode:[io_uring]", "file nice 3", "file nice 0", "status Umask 0000",
                    "status Umask 0077", "count 4", "map libc", "map /SYSV", "limit Max open files", "ns net",
                    "guest signals", "guest session", "mount / no-such-option",
                )
            }  # fmt: skip
            look.release(pid)
            assert process.wait(10) == 0
        finally:
            process.kill()
    quiet = {trace for trace, text in told.items() if not text}
    assert quiet == {"fd anon_inode:[io_uring]", "file nice 3", "status Umask 0000", "count 4", "map /SYSV"}


@pytest.mark.parametrize("what", ["uid", "gid", "init"])
def test_an_id_is_nobody_elses_only_if_theirs_is_known(what: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(60)
    with subprocess.Popen(["sleep", "60"]) as init:
        held = look.take(os.getpid())
        ids = "\t".join(["61002"] * 4)
        held = replace(held, status={**held.status, "Uid": ids, "Gid": ids}, above=(init.pid,))
        alone = held.shows(f"guest {what}", {})
        beside_one_that_is_gone = replace(held, above=(init.pid, ended.pid)).shows(f"guest {what}", {})
        init.kill()
    assert alone == ""
    assert beside_one_that_is_gone.startswith(f"wrong {what}")


def test_a_process_that_is_gone_is_not_as_it_should_be() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait(60)
    seen = replace(look.take(os.getpid()), above=(ended.pid,))
    told = {what: seen.shows(f"above {what}", {}) for what in ("dumpable", "cores", "nice", "tracer", "open 64")}
    assert all(told.values()), told


def test_nobody_is_waited_for_once_it_is_over() -> None:
    assert look.until_seen(os.getpid(), 10, ["over"]) is None
