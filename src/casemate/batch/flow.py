"""The life of a batch: rows that are done already, then each other one from the cache or through a sandbox.

    rows ─► behind the partial results ─► mapping (order, back-pressure) ─► cache? ─► sandbox ─► keep ─► file, row

A row asks the cache before it asks for a sandbox. Of equal rows that are under way at the same time one runs and the
others wait for what it leaves in the cache; if that is nothing, each runs by itself.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from casemate.batch import results
from casemate.batch.cache import Cache, Entry
from casemate.batch.keys import Terms
from casemate.batch.output import Output
from casemate.batch.rows import Row
from casemate.control import mapping
from casemate.control.runs import Cancellation
from casemate.model import RunResult

UNKEPT = 10_000
AHEAD, EACH = 128, 64
"""Rows, and more for each job, that may wait, done, behind one that takes long: lines of bytes, and bounded."""
Run = Callable[[bytes, Cancellation], RunResult]


@dataclass(frozen=True, slots=True)
class Done:
    """A row that is over: what it counts as, where its result is from, and its line of results.jsonl."""

    label: str
    origin: str
    """`run`, `cache`, `partial` (it was there from a map that was broken off), or `unread`."""
    line: bytes

    @property
    def row(self) -> dict[str, Any]:
        """The JSON of a `MapRow`."""
        found: dict[str, Any] = json.loads(self.line)
        return found


class Batch:
    """One map of rows under fixed terms. `run` is `Host.runner`, `cache` None for none at all."""

    def __init__(self, run: Run, terms: Terms, output: Output, cache: Cache | None, *, usage: bool = False) -> None:
        self._run, self._terms, self._output, self._cache = run, terms, output, cache
        self._usage = usage
        self._lock = threading.Lock()
        self._running: dict[str, threading.Event] = {}
        self._unkept: set[str] = set()
        """Keys that were run to no result that may be kept: nobody need wait for the next one."""

    def done(self, rows: Iterator[Row], jobs: int) -> Generator[Done, None, None]:
        """Every row in order, each written before it is given; the results are in place when this ends."""
        numbered = enumerate(rows)
        first: list[tuple[int, Row]] = []
        end = 0
        partial = self._output.partial()
        for index, row in numbered:
            found = next(partial, None)
            if found is None or not self._belongs(index, row, found[0]):
                first.append((index, row))
                break
            end = found[1]
            yield _done(found[0], "partial")
        self._output.cut(end)
        under_way = mapping.ordered(itertools.chain(first, numbered), self._one, jobs, AHEAD + EACH * jobs)
        try:
            for done in under_way:
                self._output.write(done.line)
                yield done
        finally:
            under_way.close()
        self._output.finish()

    def _belongs(self, index: int, row: Row, found: Mapping[str, Any]) -> bool:
        """Whether a row that was written is of this row, under these terms."""
        sha256 = _digest(row.source)
        wanted = {
            "index": index, "place": row.place, "id": row.id, "sha256": sha256,
            "key": None if sha256 is None else self._terms.key(sha256),
        }  # fmt: skip
        same = all(name in found and found[name] == value for name, value in wanted.items())
        return (
            same and (sha256 is None or (found.get("usage") is not None) is self._usage) and results.whole(dict(found))
        )

    def _one(self, numbered: tuple[int, Row], cancellation: Cancellation) -> Done:
        index, row = numbered
        sha256 = _digest(row.source)
        written = {"index": index, "place": row.place, "id": row.id, "sha256": sha256}
        if row.source is None or sha256 is None:
            assert row.unreadable is not None
            why = {"reason": row.unreadable.reason.value, "message": row.unreadable.message}
            unread = {**written, "key": None, "ok": False, "unreadable": why, "result": None, "usage": None}
            return _done(unread, "unread")
        key = self._terms.key(sha256)
        origin, entry = "cache", self._kept(key)
        if entry is None:
            with self._alone(key):
                entry = self._kept(key)
                if entry is None:
                    origin = "run"
                    key, entry = self._fresh(row.source, sha256, cancellation)
        made = {
            **written, "key": key, "ok": _ok(entry.result), "unreadable": None, "result": entry.result,
            "usage": entry.usage if self._usage else None,
        }  # fmt: skip
        return _done(made, origin)

    def _fresh(self, source: bytes, sha256: str, cancellation: Cancellation) -> tuple[str, Entry]:
        result = self._run(source, cancellation)
        # The image may have been built anew since the map began: what it was run under is what it is kept under.
        key = Terms.of_result(result.enforcement).key(sha256)
        entry = Entry(results.kept(result), results.usage(result.usage))
        for artifact in result.artifacts.values():
            path, data = f"artifacts/{results.stored(artifact)}", functools.partial(bytes, artifact.data)
            self._output.deliver(path, artifact.sha256, artifact.size, data)
        if self._cache is not None and results.repeatable(result):
            self._cache.put(key, entry, result.artifacts.values())
        elif len(self._unkept) < UNKEPT:
            self._unkept.add(key)
        return key, entry

    def _kept(self, key: str) -> Entry | None:
        """What the cache has, with its files delivered; None if anything of it cannot be believed."""
        if self._cache is None or (entry := self._cache.get(key)) is None:
            return None
        for file in entry.result["artifacts"].values():
            sha256, size = file["sha256"], file["size"]
            read = functools.partial(self._cache.file, sha256, size)
            if not self._output.deliver(file["path"], sha256, size, read):
                return None
        return entry

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        """For the first of those that run this key at a time; the others get in when it is over, all of them."""
        if self._cache is None or key in self._unkept:
            yield
            return
        with self._lock:
            other = self._running.get(key)
            if other is None:
                mine = self._running[key] = threading.Event()
        if other is not None:
            other.wait()
            yield
            return
        try:
            yield
        finally:
            with self._lock:
                del self._running[key]
            mine.set()


def _done(row: dict[str, Any], origin: str) -> Done:
    return Done(results.label(row), origin, results.line(row))


def _digest(source: bytes | None) -> str | None:
    return None if source is None else hashlib.sha256(source).hexdigest()


def _ok(result: Mapping[str, Any]) -> bool:
    outcome = result["outcome"]
    return outcome["reason"] == "exited" and outcome["exit_code"] == 0 and outcome["verdict"] in (None, "part")
