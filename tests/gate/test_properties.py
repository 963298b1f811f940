"""An attack among honest lines is denied, and a script cannot write what the gate writes. The rest is fuzz/gate.py."""

from __future__ import annotations

import ast

from gate.room import CAD, Admitted, Denied, check, codes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.gate import holds
from fuzz.sources import ATTACKS, HONEST

#: what is denied wherever it stands; a coding cookie is one on the first two lines only
DENIED_ANYWHERE = [
    source
    for source in ATTACKS
    if isinstance(check(source, CAD), Denied) and codes(check(source, CAD)) != ["source.cookie"]
]
relaxed = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def joints(source: bytes) -> list[int]:
    """Line numbers before which other statements can stand without being inside a text or a bracket."""
    tree = ast.parse(source)
    return [0, *(statement.end_lineno for statement in tree.body if statement.end_lineno is not None)]


@relaxed
@given(st.sampled_from(HONEST), st.sampled_from(DENIED_ANYWHERE), st.data())
def test_an_attack_among_honest_lines(honest: bytes, attack: bytes, data: st.DataObject) -> None:
    lines = honest.split(b"\n")
    at = data.draw(st.sampled_from(joints(honest)))
    source = b"\n".join([*lines[:at], attack, *lines[at:]])
    assert isinstance(holds(source, CAD), Denied)


@relaxed
@given(st.sampled_from(HONEST))
def test_what_the_gate_wrote_is_refused_from_a_script(source: bytes) -> None:
    verdict = check(source, CAD)
    assert isinstance(verdict, Admitted)
    text = ast.unparse(verdict.tree)
    if "__casemate_" in text:
        assert isinstance(check(text.encode(), CAD), Denied)
