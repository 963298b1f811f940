"""What a person's terminal gets: nothing that it would obey, and no progress where nobody watches."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from cli.command import BOX, casemate
from hypothesis import given
from hypothesis import strategies as st

from casemate.cli import terminal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),  # clear the screen
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),  # CSI as one C1 character
        ("\x90q\x9c", "\\x90q\\x9c"),  # a device control string
        ("a\rb", "a\\rb"),  # overwrite the line
        ("a\bb", "a\\x08b"),
        ("\x00\x7f\x0b\x0c", "\\x00\\x7f\\x0b\\x0c"),
        ("\u202egnp.exe", "\\u202egnp.exe"),  # right-to-left override
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u200bx\ufeff", "\\u200bx\\ufeff"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("\U000e0041", "\\U000e0041"),  # an invisible tag
        ("\ud800", "\\ud800"),
        ("\ue000", "\\ue000"),
        ("é → ü\t50 mm³\n", "é → ü\t50 mm³\n"),
        ("[red]not markup[/red]", "[red]not markup[/red]"),
    ],
)
def test_inert(text: str, shown: str) -> None:
    assert terminal.inert(text) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = terminal.inert(text)
    assert not {unicodedata.category(c) for c in shown if c not in "\n\t"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    shown.encode("utf-8")
    assert terminal.inert(shown) == shown


HOSTILE = BOX + "print('\\x1b]0;title\\x07\\x9b2J\\u202e \\rover')\nprint('[bold]plain[/bold]')\n"


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory, profile: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A run of it with pipes, and its directory."""
    place = tmp_path_factory.mktemp("piped")
    (place / "box.py").write_text(HOSTILE, "utf-8")
    return place, casemate("run", place / "box.py", "--profile", profile, "--out", place)


def test_a_scripts_prints_cannot_steer_the_terminal(piped: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    _, done = piped
    assert done.returncode == 0, done.stdout + done.stderr
    assert not set(done.stdout) & set("\x1b\x07\x9b\u202e\r")
    assert "\\x1b]0;title" in done.stdout
    assert "[bold]plain[/bold]" in done.stdout


def test_a_name_of_a_file_cannot_either(tmp_path: Path) -> None:
    done = casemate("run", tmp_path / "\x1b[2Jmissing.py")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "missing.py" in done.stderr


def test_piped_there_is_a_result_and_no_progress(piped: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    place, done = piped
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == "box: part"
    assert f"part: part, {place}/box.step" in done.stdout
    assert "volume 6000.000 mm³" in done.stdout


def on_a_terminal(*arguments: str | Path) -> tuple[int, bytes]:
    """Exit status and all output of `casemate` with both streams on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "casemate.cli", *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # EIO: the last writer is gone (pty(7))
            break
        if not data:
            break
        seen += data
    os.close(ours)
    return process.wait(60), seen


def test_on_a_terminal_there_is_progress(tmp_path: Path, profile: str) -> None:
    (tmp_path / "box.py").write_text(BOX)
    status, seen = on_a_terminal("run", tmp_path / "box.py", "--profile", profile)
    assert status == 0
    assert b"template" in seen
    assert b"volume" in seen


def test_json_on_a_terminal_has_no_progress(tmp_path: Path) -> None:
    status, seen = on_a_terminal("doctor", "--json")
    assert status == 0
    assert b"\x1b" not in seen
    assert seen.startswith(b"{")


def test_odd_streams_are_no_error() -> None:
    """One that the caller closed, and one that has no sign for what is to be said."""
    program = "import sys; from casemate.cli.main import main; sys.exit(main(sys.argv[1:]))"
    argv = [sys.executable, "-c", program, "policy", "diff", "cad", "strict"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert r'"cad" \u2192 "strict"' in done.stdout
    closed = "import sys; sys.stdout = None; from casemate.cli import terminal; sys.exit(terminal.watched())"
    assert subprocess.run([sys.executable, "-c", closed], env=environment, check=False).returncode == 0
