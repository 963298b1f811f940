"""The account of an exception: the last line of the script, the library's function, and no harm from its message."""

from __future__ import annotations

import time
from typing import Any

import pytest

from casemate.guest.account import FILE, account, show


def raised(source: str, **names: Any) -> dict[str, Any]:
    """The account of what a script raises."""
    try:
        exec(compile(source, FILE, "exec"), {"__name__": "__main__", **names})
    except BaseException as error:
        return account(error, source.splitlines())
    pytest.fail("nothing was raised")


class Kernel:
    """A library object."""

    def fillet(self, radius: float) -> None:
        self.build(radius)

    def build(self, radius: float) -> None:
        raise RuntimeError(f"command not done: {radius}")

    def each(self, call: Any) -> None:
        call(self)


def test_the_last_frame_in_the_script_and_the_function_it_called() -> None:
    told = raised("def f():\n    kernel.fillet(9)\n\nf()\n", kernel=Kernel())
    assert told == {
        "type": "RuntimeError",
        "message": "command not done: 9",
        "line": 2,
        "source_line": "    kernel.fillet(9)",
        "function": "Kernel.fillet",
        "hint": "a fillet radius of 9 mm does not fit: use a smaller one or select fewer edges",
    }


def test_a_callback_of_the_script_is_the_last_frame() -> None:
    told = raised("kernel.each(\n    lambda k: k.nothing)\n", kernel=Kernel())
    assert (told["line"], told["function"]) == (2, "")


def test_a_refused_call_names_the_function() -> None:
    told = raised("kernel.fillet(size=3)\n", kernel=Kernel())
    assert told["function"] == "Kernel.fillet"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("raise SystemExit(0)", "SystemExit"),
        ("def f(): f()\nf()", "RecursionError"),
        ("[0] * 10**15", "MemoryError"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_kinds_are_told_apart(source: str, kind: str) -> None:
    assert raised(source)["type"] == kind


def test_a_syntax_error_has_its_line() -> None:
    source = "x = 1\ny = = 2\n"
    with pytest.raises(SyntaxError) as caught:
        compile(source, FILE, "exec")
    told = account(caught.value, source.splitlines())
    assert (told["line"], told["source_line"]) == (2, "y = = 2")


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError('no')",
        "raise SystemExit(3)",
        "return 7",
        "return 'x' * 10**8",
    ],
)
def test_a_hostile_message_does_no_harm(body: str) -> None:
    source = f"class E(Exception):\n    def __str__(self):\n        {body}\nraise E()\n"
    told = raised(source)
    assert told["type"] == "E"
    assert told["line"] == 4
    assert len(told["message"]) < 2100


def test_a_message_that_never_comes_is_given_up() -> None:
    began = time.monotonic()
    told = raised(
        "class E(Exception):\n"
        "    def __str__(self):\n"
        "        while True:\n"
        "            try:\n"
        "                while True: pass\n"
        "            except Exception: pass\n"
        "raise E()\n"
    )
    assert told["message"] == "(its message could not be had)"
    assert time.monotonic() - began < 10


def test_a_string_that_pretends_is_bounded_too() -> None:
    source = (
        "class S(str):\n"
        "    def __len__(self): return 1\n"
        "class E(Exception):\n"
        "    def __str__(self): return S('z' * 10**6)\n"
        "raise E()\n"
    )
    assert len(raised(source)["message"]) < 2100


@pytest.mark.parametrize(
    ("source", "fragment"),
    [
        ("kernel.filet(3)", "nearest: fillet"),
        ("width = 3\nprint(widht)", "nearest: width"),
        ("kernel.fillet.missing.more", ""),
        ("(lambda: None)().x", "returned nothing"),
        ("raise ValueError('No pending wires present')", "closed profile"),
        ("raise ValueError('Cannot find a solid on the stack or in the parent chain')", "no solid in this chain"),
        ("raise ValueError('Can not return the Nth element of an empty list')", "selection"),
        ("raise ValueError('Fillets requires that edges be selected')", "matched no edge"),
        ("raise ValueError('More than one wire is required')", "two or more closed profiles"),
        ("def f(n): return f(n + 1)\nf(0)", "calls itself"),
        ("[0] * 10**15", "memory"),
    ],
)
def test_hints(source: str, fragment: str) -> None:
    assert fragment in raised(source, kernel=Kernel())["hint"]


def test_a_bad_selector_does_not_come_with_its_grammar() -> None:
    source = "class ParseException(Exception):\n    pstr = '>Q'\nraise ParseException('Expected ' + 'x' * 5000)"
    told = raised(source)
    assert told["message"] == "'>Q' is not a selector"
    assert "'>Z'" in told["hint"]


def test_the_traceback_for_people_shows_only_the_script() -> None:
    source = "def f():\n    kernel.fillet(9)\nf()\n"
    try:
        exec(compile(source, FILE, "exec"), {"kernel": Kernel()})
    except RuntimeError as error:
        text = show(error, source.splitlines(), account(error, source.splitlines()))
    assert text == (
        "Traceback (most recent call last):\n"
        '  File "script.py", line 3, in <module>\n'
        "    f()\n"
        '  File "script.py", line 2, in f\n'
        "    kernel.fillet(9)\n"
        "  in Kernel.fillet\n"
        "RuntimeError: command not done: 9\n"
    )
