"""What comes back from the sandbox: all that is not a plain public name or a plain line is dropped or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from casemate.errors import SandboxFault
from casemate.reach import report

SURVEY: dict[str, Any] = {
    "python": "3.11.7",
    "versions": {"cadquery": "2.8.0"},
    "owners": {"box": ["cadquery.Workplane"]},
    "modules": {"cadquery": {"Workplane": [False, "Defines a coordinate system"]}},
}
WALK: dict[str, Any] = {"stopped": "", "objects": 2, "types": 1, "depth": 1, "findings": []}
NOT_NAMES = (
    "__class__", "_private", "class", "None", "a b", "a.b", "", "1a", "größe", "ﬁllet", "a\n", "x" * 65, "a-b",
    'a": 1, "b',
)  # fmt: skip


def changed(value: dict[str, Any], *path: str | int, to: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(value))
    place: Any = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return copy


def test_what_is_well_formed_is_read() -> None:
    found = report.survey(SURVEY)
    assert found.owners == {"box": ["cadquery.Workplane"]}
    assert found.modules["cadquery"]["Workplane"] == (False, "Defines a coordinate system")
    assert report.walk(WALK).objects == 2


@pytest.mark.parametrize("name", NOT_NAMES)
def test_what_is_no_plain_public_name_is_dropped(name: str) -> None:
    assert not report.is_name(name)
    found = report.survey(changed(SURVEY, "owners", name, to=["cadquery.Workplane"]))
    assert set(found.owners) == {"box"}
    found = report.survey(changed(SURVEY, "modules", "cadquery", name, to=[False, "x"]))
    assert set(found.modules["cadquery"]) == {"Workplane"}


@pytest.mark.parametrize(
    "bad",
    [
        changed(SURVEY, "more", to=1),
        changed(SURVEY, "python", to='3.11.7\n"""'),
        changed(SURVEY, "versions", "cadquery", to="2.8.0; import os"),
        changed(SURVEY, "versions", 'x"""+str(1)+"""', to="2.8.0"),
        changed(SURVEY, "owners", to=[]),
        changed(SURVEY, "owners", "box", to=[]),
        changed(SURVEY, "owners", "box", to=["a b"]),
        changed(SURVEY, "owners", "box", to=['cadquery.Workplane"\n']),
        changed(SURVEY, "owners", "box", to=["cadquery.Workplane\n"]),
        changed(SURVEY, "owners", to={f"a{n}": ["b"] for n in range(20_001)}),
        changed(SURVEY, "modules", "cadquery", "Workplane", to=["yes", "x"]),
        changed(SURVEY, "modules", "cadquery", "Workplane", to=[False, "x" * 2001]),
        changed(SURVEY, "modules", "not a module", to={}),
        {},
    ],
    ids=range(14),
)
def test_a_survey_that_is_not_as_it_should_be_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SandboxFault):
        report.survey(bad)


@pytest.mark.parametrize(
    "bad",
    [
        changed(WALK, "stopped", to="never"),
        changed(WALK, "objects", to=-1),
        changed(WALK, "objects", to="2"),
        changed(WALK, "findings", to=[{"kind": "reaches"}]),
        changed(WALK, "findings", to=[{"kind": "nothing", "names": [], "root": "a", "path": "a", "what": "b"}]),
        {key: value for key, value in WALK.items() if key != "stopped"},
    ],
    ids=range(6),
)
def test_a_walk_that_is_not_as_it_should_be_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(SandboxFault):
        report.walk(bad)


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "1", '{"nonce": "other"}', "{}", "[" * 100_000, '{"nonce": ["word"]}', "\x00"],
    ids=range(9),
)
def test_a_line_that_is_not_the_report_is_refused(line: str) -> None:
    with pytest.raises(SandboxFault):
        report.parse(line, "word")
    assert report.parse('{"nonce": "word", "a": 1}', "word") == {"a": 1}


@pytest.mark.parametrize("text", ['a" + b', "a\\", "a\nb", "a\u202eb", '"""', "'''", "a\x00", "é", "x" * 500])
def test_a_text_of_a_library_is_one_plain_line(text: str) -> None:
    plain = report.plain(text)
    assert plain.isascii()
    assert not set(plain) & set('"\\\n\r\x00')
    assert len(plain) <= report.TEXT
    assert plain == "" or plain.isprintable()
