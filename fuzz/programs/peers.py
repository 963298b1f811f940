"""Runs cases of hostile peers against a real keeper, and judges each by what became of the others; one line of JSON.

Arguments: directory of the package whose sandboxes can be hostile, file with a JSON list of cases.

After each case: an honest job ends well, the jobs that were there before still run, and the keeper has as many
processes, descriptors and cgroups below it as before. It stops at the first case of which that is not true.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import json
import os
import sys
import traceback
import uuid
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from processes import descendants, fields, wait_until
from stocked import open_request

import casemate
from casemate.control import rendered, runs
from casemate.control.host import TEMPLATES
from casemate.launcher import spec
from casemate.runtime import connection, workspace
from casemate.runtime.connection import Finished
from casemate.runtime.rooms import Standing
from casemate.runtime.runtimes import NATIVE
from fuzz import callers
from fuzz.peers import CALLER, GUEST, INNER, KEEPER

TOKEN = "honest-5d1f"
HONEST = f"print('{TOKEN}', open('input').read())\nraise SystemExit(0)\n".encode()
SLEEP = b"import time\ntime.sleep(3000)\n"
PATIENCE, BOUND, GROWTH = 1.0, 30.0, 64 << 10
"""Seconds until a case that hangs is cancelled, until all else has to be over; kilobytes that a keeper may grow."""


class Wrong(Exception):
    """A case that did something to others."""


class Ground:
    """A keeper with two rooms, and an endless job in each."""

    def __init__(self, host: casemate.Host) -> None:
        self._host = host
        self._request = open_request(host, b"")
        self._walls = rendered.walls(self._request.plan, traced=False)
        self._bounds = dataclasses.replace(rendered.bounds(self._request.plan), wall=3000.0, cpu=0.0, gate=0.0)
        self.image = str(self._request.image.root)
        self._other = ""
        self._rooms: dict[str, Standing] = {}
        self._sleepers: dict[str, tuple[str, Future[Finished]]] = {}
        self.stand("hostile")
        keeper = host.keeper_pid
        assert keeper is not None
        self.keeper = keeper
        self._job("hostile")
        assert wait_until(lambda: len(self._sandboxes()) == 1, BOUND)
        already = self._sandboxes()
        self.stand("other")
        self._job("other")
        assert wait_until(lambda: len(self._sandboxes()) == 2, BOUND)
        (self._other,) = self._sandboxes() - already
        """The keeper's name for the job that sleeps in the other room."""
        seen = [self._census()]
        assert wait_until(lambda: seen.append(self._census()) or len(set(seen[-20:])) == 1 < len(seen) - 20, BOUND)
        self._before = seen[-1]
        self._memory = self._size()

    def stand(self, room: str) -> None:
        """Make a room, with an endless job."""
        template = dataclasses.replace(TEMPLATES["light"], name=room)
        self._rooms[room] = self._host._rooms.standing(self._request.image, template, NATIVE)
        self._rooms[room].release()
        self._sleepers[room] = self._start(room, SLEEP)

    def _start(self, room: str, source: bytes, case: bytes = b"") -> tuple[str, Future[Finished]]:
        name = uuid.uuid4().hex[:12]
        case = case.replace(b"{other}", self._other.encode())
        filter_ = self._walls.seccomp + (f"#{base64.b64encode(case).decode()}" if case else "")
        job = spec.GuestJob(name, "script", None, "", ("input",), 0, 1 << 40, 1000, ())
        with workspace.sealed(source, b"given") as descriptors:
            return name, self._rooms[room].start(
                name=name, entry=runs.SCRIPT, job=job, walls=dataclasses.replace(self._walls, seccomp=filter_),
                bounds=self._bounds, gated=False, deadline=0.0, descriptors=descriptors, started=lambda: None,
            )  # fmt: skip

    def _job(self, room: str) -> None:
        """An honest job."""
        try:
            said = self._result(*self._start(room, HONEST))
        except (casemate.CasemateError, TimeoutError) as error:
            raise Wrong(f"an honest job in the {room} room: {type(error).__name__} {error}") from None
        if said != "exited":
            raise Wrong(f"an honest job in the {room} room: {said}")

    def _result(self, name: str, future: Future[Finished], *, patience: float = BOUND) -> str:
        """What became of an honest script: a word, and how it ended if that is not as it should."""
        try:
            finished = future.result(patience)
        except TimeoutError:
            self._rooms["other"].connection.cancel(name)
            finished = future.result(BOUND)
        with contextlib.closing(finished):
            ended, text = finished.facts, os.pread(finished.stdout, 1000, 0).decode()
        whole = (ended.reason, ended.exit_code, text) == ("exited", 0, f"{TOKEN} given\n")
        well = whole or ended.reason in ("cancelled", "lost")
        return ended.reason if well else f"{ended.reason} {ended.exit_code} {text[:40]!r}"

    def hostile(self, case: bytes, place: str) -> str:
        """Run a case and look at the others; raises Wrong."""
        try:
            said = self._result(*self._start("hostile", HONEST, case), patience=PATIENCE)
        except TimeoutError:
            raise Wrong("it did not end though it was cancelled") from None
        except casemate.SandboxFault as fault:
            said = "fault"
            if not self._rooms["other"].connection.alive:
                raise Wrong(f"{fault}") from None
        # A guest that has its job is the untrusted process: how it ends and what it prints is its own affair.
        if place in INNER and place not in GUEST and said not in ("fault", "cancelled", "exited", "lost"):
            raise Wrong(f"the script of a hostile sandbox: {said}")
        self._job("other")
        if place in INNER:
            self._job("hostile")
        else:
            self._renew()
        if asleep := [room for room, (_, future) in self._sleepers.items() if future.done()]:
            raise Wrong(f"a job in the {asleep[0]} room ended: {self._sleepers[asleep[0]][1].exception()}")
        if not wait_until(lambda: self._census() == self._before, 10.0):
            raise Wrong(f"processes, descriptors, groups: {self._before} before, {self._census()} after")
        if (grown := self._size() - self._memory) > GROWTH:
            raise Wrong(f"the keeper has grown by {grown >> 10} MiB")
        return said

    def _renew(self) -> None:
        """Another room in place of the one that a case was let loose in, whatever is left of it."""
        room, (name, future) = self._rooms["hostile"], self._sleepers["hostile"]
        room.connection.cancel(name)
        with contextlib.suppress(casemate.SandboxFault):
            future.result(BOUND).close()
        room.connection.retire(room.room)
        if not wait_until(lambda: room.connection.lost(room.room), BOUND):
            raise Wrong("the room cannot be ended")
        self._host._rooms.forget(room.room)
        self.stand("hostile")

    def end(self) -> None:
        """End the jobs that slept all the time."""
        for name, future in self._sleepers.values():
            self._rooms["other"].connection.cancel(name)
            if (said := self._result(name, future)) != "cancelled":
                raise Wrong(f"a job that slept: {said}")

    def _census(self) -> tuple[int, int, int]:
        try:
            open_ = len(os.listdir(f"/proc/{self.keeper}/fd"))
        except PermissionError:
            open_ = 0
        return len(descendants(self.keeper)), open_, len(self._groups())

    def _groups(self) -> list[Path]:
        found = [Path(group) for group in callers.groups(self.keeper)]
        return [path for group in found for path in group.glob("*") if path.is_dir()]

    def _sandboxes(self) -> set[str]:
        return {path.name for path in self._groups() if len(path.name) == 16}

    def _size(self) -> int:
        return int(fields(self.keeper)["VmRSS"].split()[0])


def run(cases: list[bytes]) -> dict[str, Any]:
    """Every case, until one is wrong."""
    said: dict[str, int] = {}
    with casemate.Host(stock=casemate.Stock(size=0)) as host:
        ground = Ground(host)
        for case in cases:
            place = json.loads(case)["place"]
            try:
                if place == CALLER:
                    word = callers.hostile_caller(ground.image, json.loads(case))
                elif place == KEEPER:
                    word = callers.hostile_keeper(json.loads(case))
                else:
                    word = ground.hostile(case, place)
                if case is cases[-1]:
                    ground.end()
            except Exception as error:
                why = str(error) if isinstance(error, (Wrong, callers.Wrong)) else traceback.format_exc()[-3000:]
                os.write(1, json.dumps({"said": said, "wrong": [case.decode("latin-1"), why]}).encode() + b"\n")
                os._exit(0)  # a keeper that hangs would be waited for
            said[f"{place}: {word}"] = said.get(f"{place}: {word}", 0) + 1
    return {"said": said, "wrong": None}


connection.PACKAGE = Path(sys.argv[1])
print(json.dumps(run([case.encode("latin-1") for case in json.loads(Path(sys.argv[2]).read_text("utf-8"))])))
