"""Reads a file that the caller gave with the job, by the reader that the script named and the gate admitted."""

from __future__ import annotations

import importlib
import os
from typing import Any


def reader(function: str) -> Any:
    """The library's function of a dotted name, as `cadquery.importers.importStep`."""
    library, *steps = function.split(".")
    found: Any = importlib.import_module(library)
    for step in steps:
        found = getattr(found, step)
    return found


class Inputs:
    """The given files of one job."""

    def __init__(self, folder: str, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = frozenset(names)

    def read(self, function: str, name: str, *rest: Any, **keywords: Any) -> Any:
        """Call the reader on the file; its path is whole, because the script may think of it as it likes.

        A reader that is a method comes with its object as the first of `rest`.
        """
        if name not in self._names:
            raise FileNotFoundError(f"{name!r} is not one of the files given with this job")
        path = os.path.join(self._folder, name)
        call = reader(function)
        if function in METHODS:
            owner, *others = rest
            return call(owner, path, *others, **keywords)
        return call(path, *rest, **keywords)


METHODS = frozenset({"cadquery.Sketch.importDXF"})
"""Readers that are called on an object."""
