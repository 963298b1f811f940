"""A proxy holds the permitted names, cannot be changed, and does not lead to the module behind it."""

from __future__ import annotations

import array
import gc
import os
import types

import pytest

from casemate.gate.tables import calls
from casemate.guest import proxies
from casemate.guest.proxies import Library

NAMES = {
    "os": frozenset({"getpid", "sep", "path", "no_such_name"}),
    "os.path": frozenset({"join"}),
    "json": frozenset({"dumps", "decoder"}),
    "math": frozenset({"pi", "sqrt"}),
}


@pytest.fixture
def library() -> Library:
    return Library(NAMES)


def test_it_holds_the_permitted_names_and_no_others(library: Library) -> None:
    module = library.module("os")
    assert module.getpid() == os.getpid()
    for name in ("system", "environ", "no_such_name", "__dict__", "__file__", "__loader__"):
        assert not hasattr(module, name)


def test_a_module_among_the_names_is_a_proxy_or_absent(library: Library) -> None:
    assert not isinstance(library.module("os").path, types.ModuleType)
    assert library.module("os").path is library.module("os.path")
    assert library.module("os").path.join("a", "b") == "a/b"
    assert not hasattr(library.module("json"), "decoder")


def test_it_cannot_be_changed(library: Library) -> None:
    module = library.module("math")
    for name in ("pi", "other"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(module, name, 3)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del module.pi


def test_it_does_not_refer_to_the_module(library: Library) -> None:
    module = library.module("math")
    assert repr(module) == "<module 'math'>"
    for referred in gc.get_referents(module, type(module)):
        assert not isinstance(referred, types.ModuleType)


def test_a_module_that_is_not_permitted_is_no_proxy(library: Library) -> None:
    for call in (library.module, library.names, lambda name: library.name(name, "x")):
        with pytest.raises(ImportError):
            call("sys")


def test_single_names(library: Library) -> None:
    assert library.name("math", "pi") == pytest.approx(3.14159265)
    assert library.name("os", "path") is library.module("os.path")
    for module, name in (("math", "sin"), ("json", "decoder"), ("os", "system")):
        with pytest.raises(ImportError):
            library.name(module, name)


def test_a_star_gives_the_permitted_names(library: Library) -> None:
    assert set(library.names("math")) == {"pi", "sqrt"}


def test_a_class_that_reaches_memory_can_be_asked_for_and_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"array": frozenset({"array"})}
    twin = Library(names)
    assert twin.module("array").array("b", [1])[0] == 1
    monkeypatch.setattr(proxies, "TYPES_ONLY", {"array.array": "a stand-in for numpy.ndarray"})
    library = Library(names)
    asked = library.module("array").array
    assert asked is library.name("array", "array")
    assert isinstance(array.array("b", [1]), asked)
    assert not isinstance([1], asked)
    with pytest.raises(TypeError, match="isinstance"):
        asked("b", [1])
    assert not any(hasattr(asked, name) for name in ("frombytes", "buffer_info"))
    assert "numpy.ndarray" in calls.TYPES_ONLY
