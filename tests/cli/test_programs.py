"""`casemate run` of a plain program, as a user sees it: what was printed, what was written, how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli.command import casemate, document

from casemate.launcher import cgroups

PYTHON = "python-rlimit" if cgroups.survey().missing else "python"
COUNT = """
import subprocess, sys
words = subprocess.check_output("tr ' ' '\\\\n' < data.txt | sort -u", shell=True, text=True).split()
print(len(words), "words")
with open("out/words.txt", "w") as file:
    file.write(",".join(words))
print("to stderr", file=sys.stderr)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "data.txt").write_text("b a b\n")
    (tmp_path / "count.py").write_text(COUNT)
    return tmp_path / "count.py"


def test_a_person_sees_what_it_printed_and_where_its_files_are(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = casemate("run", script, "--profile", PYTHON, "--input", tmp_path / "data.txt", "--out", out)
    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert lines[0] == "count: exited well"
    assert lines[-4:] == ["stdout:", "2 words", "stderr:", "to stderr"]
    assert "the files are as the program left them" in lines
    assert (out / "words.txt").read_text() == "a,b"


def test_a_program_that_fails_is_told_as_a_document(tmp_path: Path, whole: dict[str, Any]) -> None:
    (tmp_path / "half.py").write_text("open('out/half', 'w').write('x')\nprint(1 / 0)\n")
    found = document(casemate("run", tmp_path / "half.py", "--profile", PYTHON, "--json"), "RunDocument", whole, 1)
    assert (found["ok"], found["trusted"], found["parts"]) == (False, False, [])
    assert (found["outcome"]["exit_code"], found["outcome"]["verdict"]) == (1, None)
    assert found["outcome"]["error"]["type"] == "ZeroDivisionError"
    assert [(name, each["path"], each["size"]) for name, each in found["artifacts"].items()] == [("half", None, 1)]
