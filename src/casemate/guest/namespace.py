"""The globals a script runs in: the permitted builtins, the libraries as proxies, and the names we inject.

What is shown or exported is only kept here; `results` chooses among it when the script has ended.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from casemate.gate.injected import EXPORT, IMPORT, INPUT, STAR
from casemate.guest.inputs import Inputs
from casemate.guest.proxies import Library
from casemate.guest.results import Shown, variable_name


class Namespace:
    """One script's globals, and what it gave away while it ran."""

    def __init__(self, permitted: Mapping[str, Any], library: Library | None, inputs: Inputs) -> None:
        self.shown: list[Shown] = []
        self.exported: list[Shown] = []
        self._library = library
        injected: dict[str, Any] = {
            "show_object": self._show,
            "show": self._show,
            "debug": self._debug,
            "log": self._log,
            "exit": leave,
            "quit": leave,
            EXPORT: self._export,
            IMPORT: self._import,
            STAR: self._star,
            INPUT: inputs.read,
        }
        self.variables: dict[str, Any] = {"__name__": "__main__", "__builtins__": {**permitted, **injected}}

    def _keep(self, objects: tuple[Any, ...], names: tuple[str, ...], debug: bool) -> None:
        for value, name in zip(objects, (*names, *[""] * len(objects)), strict=False):
            self.shown.append(Shown(value, name or variable_name(value, self.variables), debug))

    def _show(self, *objects: Any, name: Any = None, names: Any = None, options: Any = None, **_: Any) -> None:
        """Viewers differ: show_object(x, "name"), show_object(x, name=…, options={…}), show(x, y, names=[…])."""
        values = tuple(item for item in objects if not isinstance(item, str))
        given = [item for item in objects if isinstance(item, str)]
        if isinstance(names, (list, tuple)):
            given += [str(item) for item in names]
        if isinstance(name, str):
            given.insert(0, name)
        elif isinstance(options, dict) and isinstance(options.get("name"), str):
            given.insert(0, options["name"])
        self._keep(values, tuple(given), bool(isinstance(options, dict) and options.get("debug")))

    def _debug(self, *objects: Any, name: Any = None, **_: Any) -> None:
        values = tuple(item for item in objects if not isinstance(item, str))
        self._keep(values, (name,) if isinstance(name, str) else (), True)

    def _log(self, *values: Any, **_: Any) -> None:
        print(*values)

    def _export(self, value: Any) -> Any:
        self.exported.append(Shown(value, variable_name(value, self.variables)))
        return value

    def _import(self, module: str, *names: str) -> Any:
        if self._library is None:
            raise ImportError(module)
        if not names:
            return self._library.module(module)
        return self._library.name(module, names[0])

    def _star(self, module: str) -> None:
        if self._library is None:
            raise ImportError(module)
        self.variables.update(self._library.names(module))


def leave(code: object = None) -> NoReturn:
    """What `exit` and `quit` are in a script."""
    raise SystemExit(code)


def permitted_builtins(names: Iterable[str]) -> dict[str, Any]:
    """The permitted ones by name, and the hook without which `class` cannot be compiled."""
    values = {name: getattr(builtins, name) for name in names if hasattr(builtins, name)}
    values["__build_class__"] = builtins.__build_class__
    return values


def every_builtin() -> dict[str, Any]:
    """All of them, for a script that no gate read."""
    return dict(vars(builtins))


def flush() -> None:
    """Write out what the script printed; streams that it closed or replaced are its own affair."""
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except BaseException:  # a script's own stream object may raise anything, SystemExit too
            continue
