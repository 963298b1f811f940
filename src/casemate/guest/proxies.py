"""Stand-ins for modules that hold the permitted names and nothing else.

The gate refuses every path that is not in its tables; a proxy makes sure that what it missed is not there either: no
`__dict__`, no attribute that leads to the module, nothing that can be set. One proxy stands for one module everywhere.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NoReturn

from casemate.gate.tables.calls import TYPES_ONLY


def _refuse_set(_self: object, name: str, _value: object) -> NoReturn:
    raise AttributeError(f"{name}: a library cannot be changed")


def _refuse_delete(_self: object, name: str) -> NoReturn:
    raise AttributeError(f"{name}: a library cannot be changed")


def _describe(self: object) -> str:
    return f"<module {type(self).__name__!r}>"


class _Asks(type):
    """The type of a class that answers isinstance for another, and makes nothing."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, _BEHIND[cls])

    def __call__(cls, *_: object, **__: object) -> NoReturn:
        raise TypeError(f"{cls.__name__} may only be the second argument of isinstance")


_BEHIND: dict[type, type] = {}


def _asked(dotted: str, value: Any) -> Any:
    """The value, or a stand-in for a class that a script may ask for but not call."""
    if dotted not in TYPES_ONLY or not isinstance(value, type):
        return value
    made = next((known for known, behind in _BEHIND.items() if behind is value), None)
    if made is None:
        made = _Asks(value.__name__, (), {"__slots__": (), "__module__": "casemate"})
        _BEHIND[made] = value
    return made


def proxy(name: str, values: Mapping[str, Any]) -> Any:
    """An immutable object with exactly these attributes; its class carries no reference to anything else."""
    cls = type(
        name,
        (),
        {
            "__slots__": tuple(values),
            "__setattr__": _refuse_set,
            "__delattr__": _refuse_delete,
            "__repr__": _describe,
            "__module__": "casemate",
        },
    )
    made: Any = object.__new__(cls)
    for key, value in values.items():
        object.__setattr__(made, key, value)
    return made


class Library:
    """The modules that a rule set lets a script import, as proxies; made once, in the template."""

    def __init__(self, module_names: Mapping[str, frozenset[str]]) -> None:
        self._names = module_names
        self._proxies: dict[str, Any] = {}

    def load(self) -> None:
        """Make every proxy now, so that no fork has to."""
        for dotted in self._names:
            self.module(dotted)

    def module(self, dotted: str) -> Any:
        """The proxy of an importable module."""
        if dotted not in self._names:
            raise ImportError(f"{dotted} is not among the permitted modules")
        if dotted not in self._proxies:
            self._proxies[dotted] = proxy(dotted, self.names(dotted))
        return self._proxies[dotted]

    def names(self, dotted: str) -> dict[str, Any]:
        """Every permitted name of a module that its version really has; modules among them as proxies."""
        if dotted not in self._names:
            raise ImportError(f"{dotted} is not among the permitted modules")
        module = importlib.import_module(dotted)
        values = {}
        for name in sorted(self._names[dotted]):
            value = getattr(module, name, module)
            if not isinstance(value, ModuleType):
                values[name] = _asked(f"{dotted}.{name}", value)
        for path in self._names:
            parent, _, child = path.rpartition(".")
            if parent == dotted:
                values[child] = self.module(path)
        return values

    def name(self, dotted: str, name: str) -> Any:
        """One permitted name of a module."""
        if f"{dotted}.{name}" in self._names:
            return self.module(f"{dotted}.{name}")
        if name not in self._names.get(dotted, frozenset()):
            raise ImportError(f"cannot import name {name!r} from {dotted!r}")
        value = getattr(importlib.import_module(dotted), name)
        if isinstance(value, ModuleType):
            raise ImportError(f"{dotted}.{name} is not among the permitted modules")
        return _asked(f"{dotted}.{name}", value)
