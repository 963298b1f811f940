"""The tool itself: a mutant that is seen, one that is not, and ones that do not fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from mutants import run
from mutants.edits import Misfit, apply, laid, restore
from mutants.mutant import Mutant, source, unique

TESTS = ("tests/gate/test_source.py",)
STRICT = ("gate/source.py", 'body.decode("utf-8", "strict")', 'body.decode("utf-8", "replace")')
PLAIN = ("gate/source.py", '"""Bytes to text:', '"""Bytes  to text:')


def test_a_guard_that_is_gone_is_seen_and_a_change_of_words_is_not() -> None:
    with run.Ground() as ground:
        file = ground.root / "src" / "casemate" / "gate" / "source.py"
        before = file.read_bytes()
        found = ground.judge(Mutant("gate", "not strict", (STRICT,), TESTS), TESTS)
        assert (found.outcome, found.by.split("::")[0]) == (run.KILLED, "gate/test_source.py")
        assert file.read_bytes() == before
        assert ground.judge(Mutant("gate", "words", (PLAIN,), TESTS), TESTS).outcome == run.SURVIVED


def test_every_mutant_fits_the_package_as_it_is() -> None:
    mutants = run.every()
    assert len(mutants) > 700
    for mutant in mutants:
        texts = {edit[0]: source(edit[0]) for edit in mutant.edits}
        for edit in mutant.edits:
            texts[edit[0]] = laid(texts[edit[0]], edit)
        for file, text in texts.items():
            compile(text, file, "exec")


def test_every_test_that_is_named_is_there() -> None:
    for mutant in run.every():
        for argument in (*mutant.tests, *mutant.wider):
            assert (run.ROOT / argument.partition("::")[0]).exists(), argument


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misfit, match="0 times"):
        laid("some text", ("file", "another", "x"))
    with pytest.raises(Misfit, match="2 times"):
        laid("x x", ("file", "x", "y"))
    with pytest.raises(Misfit, match="changes nothing"):
        laid("x", ("file", "x", "x"))
    with pytest.raises(Misfit, match="two mutants"):
        unique(iter([Mutant("a", "same", (), ())] * 2))
    (tmp_path / "file").write_text("old")
    before = apply(tmp_path, [("file", "old", "new")])
    assert (tmp_path / "file").read_text() == "new"
    restore(before)
    assert (tmp_path / "file").read_text() == "old"
