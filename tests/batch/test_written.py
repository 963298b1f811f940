"""The scripts that are kept as a model's: always the same thousand, all distinct, each of its kind."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter

from batch.written import COUNT, FAULTS, scripts

KEPT = "0746fe422d9452fcf7e7b1f2bc482f317a5e0b0feaeadf6e1785edbbb3a56f9c"


def test_they_are_a_thousand_and_always_the_same() -> None:
    found = list(scripts())
    assert len(found) == len({source for _, source in found}) == COUNT == 1000
    assert hashlib.sha256(repr(found).encode()).hexdigest() == KEPT
    assert list(scripts(10)) == found[:10]


def test_each_kind_is_there_as_often_as_it_says() -> None:
    kinds = Counter(kind for kind, _ in scripts())
    assert {kind: kinds[kind] for kind in FAULTS} == {kind: share for kind, (share, _) in FAULTS.items()}
    assert kinds["part"] > 700


def test_only_those_that_are_meant_to_be_no_python_are_none() -> None:
    def python(source: str) -> bool:
        try:
            ast.parse(source)
        except SyntaxError:
            return False
        return True

    assert {kind for kind, source in scripts() if not python(source)} == {"syntax", "prose"}
