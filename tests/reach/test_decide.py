"""Which names are taken and which not, each with its reason; no sandbox, the surveys are written here."""

from __future__ import annotations

import dataclasses

import pytest

from casemate.errors import SandboxFault
from casemate.reach import decide, decisions
from casemate.reach.decide import Found, Proposal, Tables
from casemate.reach.report import Finding, Survey

OWNERS = {
    "box": ["cadquery.Workplane"],
    "wrapped": ["cadquery.Shape"],
    "files": ["cadquery.Assembly"],
    "bark": ["cadquery._Hound"],
    "msp": ["cadquery.DxfDocument"],
    "both": ["cadquery.DxfDocument", "build123d.Part"],
    "upper": ["str"],
    "zfill": ["str"],
    "mySelector": ["cadquery.StringSyntaxSelector"],
}
SURVEY = Survey(
    python="3.11.7",
    versions={},
    owners=OWNERS,
    modules={
        "cadquery": {
            "Workplane": (False, "Defines"),
            "exporters": (True, "module"),
            "selectors": (True, "module"),
            "tools": (True, "module"),
            "helper": (False, ""),
        },
        "cadquery.selectors": {},
        "numpy": {"abs": (False, "Absolute"), "fromfile": (False, "Reads"), "corr": (False, "Correlates")},
        "time": {"time": (False, "Clock"), "sleep": (False, "Waits")},
    },
)
CURRENT = Tables({"upper": "str"}, {"numpy": {"abs": "by hand"}, "time": {"time": "by hand"}}, {})
DENIED = {"wrapped": "the raw kernel object", "exporters": "files", "fromfile": "files", "mro": "every class"}


def proposed(found: Found | None = None, current: Tables = CURRENT) -> Proposal:
    return decide.propose(SURVEY, current, DENIED, found or Found())


def finding(
    *names: str, root: str = "cadquery.Assembly", kind: str = "reaches", what: str = "the module os"
) -> Finding:
    return Finding(kind=kind, names=list(names), root=root, path=".".join((root, *names)), what=what)


def test_each_name_is_taken_or_has_its_reason() -> None:
    made = proposed()
    assert made.tables.attributes == {
        "both": "cadquery.DxfDocument, build123d.Part",
        "box": "cadquery.Workplane",
        "files": "cadquery.Assembly",
        "helper": "cadquery",
        "selectors": "cadquery",
        "upper": "str",
        "Workplane": "cadquery",
    }
    assert made.denied["wrapped"] == DENIED["wrapped"]
    assert "private" in made.left_out["bark"]
    assert "files" in made.left_out["msp"]
    assert "by hand" in made.left_out["zfill"]
    assert made.left_out["mySelector"] == decisions.LEFT_NAMES["mySelector"]
    assert not {"wrapped", "bark", "msp", "zfill", "mySelector", "mro"} & set(made.tables.attributes)


def test_a_module_gives_no_module_and_nothing_denied() -> None:
    made = proposed()
    assert set(made.tables.modules["cadquery"]) == {"Workplane", "helper"}
    assert made.denied["exporters"] == "files"
    assert "module" in made.denied["tools"]
    assert made.tables.modules["cadquery"]["helper"] == "cadquery.helper"  # none is without a reason


def test_of_a_chosen_module_nothing_is_added() -> None:
    made = proposed()
    assert made.tables.modules["numpy"] == {"abs": "by hand"}
    assert made.tables.modules["time"] == {"time": "by hand"}
    assert "by hand" in made.left_out["corr"]
    assert made.denied["fromfile"] == "files"


def test_what_was_found_is_denied_and_named_with_its_path() -> None:
    found = decide.against([finding("files")], proposed())
    assert found.attributes == {"files": "cadquery.Assembly.files: the module os"}
    made = proposed(found)
    assert "files" not in made.tables.attributes
    assert made.tables.reached == {"files": "cadquery.Assembly.files: the module os"}
    assert made.denied["files"] == made.tables.reached["files"]


def test_the_twin_that_finds_nothing_admits_it() -> None:
    assert "files" in proposed(Found()).tables.attributes


def test_a_name_of_a_module_that_leads_there_is_no_name_of_it_any_more() -> None:
    found = decide.against([finding(root="cadquery.helper")], proposed())
    made = proposed(found)
    assert set(made.tables.modules["cadquery"]) == {"Workplane"}
    assert made.denied["helper"] == "cadquery.helper: the module os"


def test_only_the_name_that_leads_there_is_denied_and_not_what_lies_beyond() -> None:
    found = decide.against([finding("files"), finding("files", "both"), finding("box", "upper")], proposed())
    assert set(found.attributes) == {"files", "upper"}


def test_a_font_is_kept_and_a_file_is_not() -> None:
    current = dataclasses.replace(CURRENT, attributes={"text": "cadquery.Workplane"})
    survey = SURVEY.model_copy(update={"owners": {**OWNERS, "text": ["cadquery.Workplane"]}})
    made = decide.propose(survey, current, DENIED, Found())
    kept = finding("text", kind="opens", what="its parameter fontPath names a file")
    assert not decide.against([kept], made).attributes
    for other in (
        finding("text", kind="opens", what="its parameter fileName names a file"),
        finding("text", kind="reaches", what="the module fontTools"),
    ):
        assert set(decide.against([other], made).attributes) == {"text"}


@pytest.mark.parametrize("strange", [finding("never"), finding(root="a list"), finding(root="os.system")])
def test_a_finding_that_no_name_leads_to_is_a_fault(strange: Finding) -> None:
    with pytest.raises(SandboxFault):
        decide.against([strange], proposed())


def test_making_them_again_changes_nothing() -> None:
    once = proposed()
    again = proposed(current=once.tables)
    assert again == once
    assert not any(decide.differences(once.tables, again))


def test_a_difference_says_what_came_and_why_the_others_went() -> None:
    old = Tables({"upper": "str", "gone": "cadquery", "wrapped": "x"}, {"numpy": {"abs": "by hand"}}, {})
    changes = {one.table: one for one in decide.differences(old, proposed(current=old))}
    assert "box" in changes["attributes"].added
    assert changes["attributes"].removed == {"gone": "the image has no such name", "wrapped": DENIED["wrapped"]}
    assert not changes["numpy"]
    assert set(changes["cadquery"].added) == {"Workplane", "helper"}


def test_every_decision_has_a_reason() -> None:
    for table in (
        decisions.PACKAGES, decisions.CLASSES, decisions.PLUMBING, decisions.ORIGINS, decisions.USES,
        decisions.KEPT_METHODS, decisions.LEFT_NAMES, decisions.LEFT_CLASSES,
    ):  # fmt: skip
        assert all(key and reason.strip() for key, reason in table.items())
    assert all(pattern and reason for pattern, reason in decisions.KEPT.values())
