"""Records on the report descriptor: what the guest claims about itself, for one strict parser outside.

A record is a length of four bytes, big-endian, and one JSON object in UTF-8 of at most 64 KiB. Writing never raises: a
reader that is gone, or a descriptor that the script closed, must not turn an honest success into an exception.
"""

from __future__ import annotations

import json
import math
import os
import select
from collections.abc import Mapping

DESCRIPTOR = 3
MAX_RECORD = 64 * 1024 - 4
"""Bytes of JSON in one record; with its length it is 64 KiB."""
MAX_STRING = 4096
"""Characters of one string; also of one that the script chose."""
_SHORT_STRING = 256


def clean(value: object, longest: int = MAX_STRING) -> object:
    """The value as strict JSON can hold it: strings cut and without lone surrogates, numbers finite or null."""
    if isinstance(value, str):
        text = value if len(value) <= longest else f"{value[:longest]}… ({len(value) - longest} more)"
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(clean(key, longest)): clean(item, longest) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item, longest) for item in value]
    return clean(str(value), longest)


def _dump(value: object) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def encode(record: Mapping[str, object]) -> bytes:
    """One record with its length; lists at its top level are cut until it fits and `omitted` counts what was cut."""
    plain = clean(record)
    assert isinstance(plain, dict)
    data = _dump(plain)
    while len(data) > MAX_RECORD:
        lists = [(len(_dump(item)), key) for key, item in plain.items() if isinstance(item, list) and item]
        if not lists:
            short = _dump(clean(plain, _SHORT_STRING))
            data = short if len(short) <= MAX_RECORD else _dump({"kind": plain.get("kind"), "omitted": len(plain)})
            break
        items = plain[max(lists)[1]]
        excess = len(data) - MAX_RECORD + 32
        while items and excess > 0:
            excess -= len(_dump(items.pop())) + 1
            plain["omitted"] = int(plain.get("omitted", 0)) + 1
        data = _dump(plain)
    return len(data).to_bytes(4, "big") + data


def _file(descriptor: int) -> tuple[int, int] | None:
    """Device and inode of what is open there."""
    try:
        seen = os.fstat(descriptor)
    except OSError:
        return None
    return seen.st_dev, seen.st_ino


class Report:
    """The writing end; one per process."""

    def __init__(self, descriptor: int = DESCRIPTOR) -> None:
        self._descriptor = descriptor
        self._file = _file(descriptor)
        self._open = True

    def write(self, kind: str, **members: object) -> None:
        """Write one record whole, or nothing more ever again; what a program opened in its place is left alone."""
        self._open = self._open and _file(self._descriptor) == self._file
        if not self._open:
            return
        data = memoryview(encode({"kind": kind, **members}))
        try:
            while data:
                try:
                    data = data[os.write(self._descriptor, data) :]
                except BlockingIOError:
                    select.select([], [self._descriptor], [])
        except OSError:
            self._open = False
