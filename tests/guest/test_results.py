"""The order in which the part is found, with stand-ins for geometry: no CAD library is needed to choose."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from casemate.guest import results
from casemate.guest.results import Left, Shown, find, slug, unique


class Fake:
    """A value that counts as geometry of one kind (as in shapes.Kind)."""

    def __init__(self, kind: int) -> None:
        self.kind = kind


def kind_of(value: object) -> int | None:
    return value.kind if isinstance(value, Fake) else None


def left(source: str = "", shown: Any = (), exported: Any = (), tail: Any = None, **variables: Any) -> Left:
    return Left(variables, shown, exported, tail, ast.parse(source))


def chosen(what: Left) -> list[tuple[Any, str, str]]:
    return [(item.value, item.name, item.source) for item in find(what, kind_of).candidates]


SOLID, OTHER, CHAIN, FACE, CURVE, BARE = Fake(4), Fake(4), Fake(3), Fake(2), Fake(1), Fake(0)


def test_result_comes_before_all_else() -> None:
    what = left(shown=[Shown(OTHER)], exported=[Shown(OTHER)], result=SOLID, part=OTHER)
    assert chosen(what) == [(SOLID, "", "result")]


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, [1, 2]])
def test_a_result_that_is_no_geometry_is_passed_over(value: object) -> None:
    assert chosen(left(result=value, part=SOLID)) == [(SOLID, "part", "part")]


@pytest.mark.parametrize("value", [FACE, CURVE, BARE])
def test_a_result_that_is_no_solid_is_still_the_result(value: Fake) -> None:
    assert chosen(left(result=value, part=SOLID)) == [(value, "", "result")]


def test_shown_comes_before_exported_and_both_before_the_usual_names() -> None:
    assert chosen(left(shown=[Shown(SOLID)], exported=[Shown(OTHER)], part=OTHER)) == [(SOLID, "", "show_object")]
    assert chosen(left(exported=[Shown(SOLID)], part=OTHER)) == [(SOLID, "", "export")]


def test_the_usual_names_in_their_order() -> None:
    names = dict.fromkeys(reversed(results.USUAL_NAMES), OTHER)
    for number, name in enumerate(results.USUAL_NAMES):
        here = {**names, name: SOLID}
        for earlier in results.USUAL_NAMES[:number]:
            here[earlier] = 1
        assert chosen(left(**here))[0][::2] == (SOLID, name)


def test_a_usual_name_that_holds_no_solid_is_passed_over() -> None:
    assert chosen(left(part=FACE, body=SOLID))[0][0] is SOLID


def test_shown_faces_and_debug_objects_are_left_out_beside_solids() -> None:
    found = find(left(shown=[Shown(FACE), Shown(OTHER, "", True), Shown(SOLID, "lid")]), kind_of)
    assert [(item.value, item.name) for item in found.candidates] == [(SOLID, "lid")]
    assert [code for code, _ in found.notices] == ["result.dropped"]


def test_debug_alone_counts() -> None:
    assert chosen(left(shown=[Shown(SOLID, "d", True)])) == [(SOLID, "d", "show_object")]


def test_a_shown_face_gives_way_to_a_named_solid_but_counts_when_there_is_none() -> None:
    assert chosen(left(shown=[Shown(FACE)], part=SOLID))[0][0] is SOLID
    assert chosen(left(shown=[Shown(FACE)]))[0][0] is FACE


def test_lists_and_dicts_are_parts_in_order() -> None:
    what = left(result={"lid": SOLID, "rest": [OTHER, (CHAIN,)]})
    assert chosen(what) == [(SOLID, "lid", "result"), (OTHER, "rest", "result"), (CHAIN, "rest", "result")]


def test_a_list_in_itself_ends() -> None:
    ring: list[Any] = [SOLID]
    ring.append(ring)
    assert {item for item, _, _ in chosen(left(result=ring))} == {SOLID}


def test_a_telling_name_of_the_same_object_is_taken() -> None:
    assert chosen(left(bracket=SOLID, result=SOLID)) == [(SOLID, "bracket", "result")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = 1\nb = 1", "b"),
        ("a = 1\nb = 1\na = a", "a"),
        ("a = 1\nb = 1\nif b:\n    a += 1", "a"),
        ("with x() as a:\n    b = 1", "a"),
        ("with x() as a:\n    pass\nb: int = 1", "b"),
        ("for a in x:\n    b = 1\n    a = 1", "a"),
        ("try:\n    b = 1\nexcept E:\n    a = 1", "a"),
        ("b, a = x", "a"),
        ("a = 1\ndef f():\n    b = 1", "a"),
    ],
)
def test_the_last_variable_in_the_source_is_the_guess_and_is_told(source: str, expected: str) -> None:
    variables = {"a": SOLID, "b": OTHER} if expected == "a" else {"a": OTHER, "b": SOLID}
    found = find(left(source, **variables), kind_of)
    assert found.candidates[0].value is SOLID
    assert found.candidates[0].name == expected
    assert found.notices[0][0] == "result.guessed"
    assert f"`{expected}`" in found.notices[0][1]


@pytest.mark.parametrize(
    ("source", "expected", "code"),
    [
        ("body = 1\nholes = 1\nbracket = body.cut(holes)", "bracket", "result.guessed"),
        ("body = 1\nbracket = body.cut()\nlast = bracket.fillet()", "last", "result.guessed"),
        ("body = 1\nbracket = f(x, [body])", "bracket", "result.guessed"),
        ("body = 1\nbracket = 1\nbracket += body", "bracket", "result.guessed"),
        ("body = 1\nif x:\n    bracket = body.cut()", "bracket", "result.guessed"),
        ("body = 1\nface = body.faces()\nbracket = face.hole()", "bracket", "result.guessed"),
        ("body = 1\nbracket = 1", "body", "result.elsewhere"),
        ("body = 1\nbracket = body.cut()\nbracket = 1", "body", "result.elsewhere"),
        ("bracket = 1\nbody = bracket.cut()", "body", ""),
        ("bracket = body.cut()\nbody = 1", "body", ""),
        ("body = 1\nnumber = body.volume()", "body", ""),
        ("body = 1\nface = body.faces()", "body", ""),
        ("body = 1\nalias = body", "body", ""),
    ],
)
def test_what_was_made_from_a_usual_name_is_the_part(source: str, expected: str, code: str) -> None:
    held: dict[str, Any] = {name: Fake(4) for name in ("body", "bracket", "holes", "last")}
    held |= {"number": 3, "face": Fake(3), "alias": held["body"]}
    what = left(source, **{name: value for name, value in held.items() if f"{name} " in source})
    found = find(what, kind_of)
    assert [item.value for item in found.candidates] == [held[expected]]
    assert [notice for notice, _ in found.notices] == ([code] if code else [])
    assert all("`body`" in text for _, text in found.notices)


def test_result_is_never_passed_over() -> None:
    what = left("result = 1\nbracket = result.cut()", result=SOLID, bracket=OTHER)
    assert chosen(what)[0][0] is SOLID
    assert not find(what, kind_of).notices


def test_a_solid_is_guessed_before_a_selection_on_one() -> None:
    assert chosen(left("a = 1\nb = 1", a=SOLID, b=CHAIN))[0][0] is SOLID
    assert chosen(left("b = 1", b=CHAIN))[0][0] is CHAIN


def test_a_name_on_the_last_line_is_guessed_first_and_a_call_there_last() -> None:
    assert chosen(left("a = 1\nb = 1\na", tail=SOLID, a=SOLID, b=OTHER))[0][0] is SOLID
    assert chosen(left("a = 1\nf()", tail=OTHER, a=SOLID))[0][0] is SOLID
    assert chosen(left("f()", tail=SOLID))[0][0] is SOLID


def test_a_list_of_solids_and_an_object_of_the_script_are_guessed_at_last() -> None:
    assert [value for value, _, _ in chosen(left("a = 1", a=[SOLID, OTHER]))] == [SOLID, OTHER]
    own = type("Hinge", (), {"__module__": "__main__"})()
    own.blank, own.part, own.other = OTHER, SOLID, OTHER
    assert chosen(left("h = 1", h=own))[0][:2] == (SOLID, "h")


def test_nothing_says_what_to_do() -> None:
    assert "result" in find(left("x = 1", x=1), kind_of).message
    assert "build()" in find(left("def build(): pass"), kind_of).message
    assert "build()" not in find(left("def build(): pass\nbuild()"), kind_of).message


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bracket", "bracket"),
        ("Base Plate", "Base-Plate"),
        ("Gehäuse/../oben", "Gehause-.-oben"),
        ("../../etc/passwd", "etc-passwd"),
        ("部品", "part"),
        ("", "part"),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("_private", "private"),
        ("a\x00b\nc", "a-b-c"),
        ("x" * 100, "x" * 60),
        ("\ud800", "part"),
    ],
)
def test_a_slug_is_a_safe_file_name(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_names_are_unique_whatever_their_case_and_length() -> None:
    assert unique(["part", "part", "Part", "part-2"]) == ["part", "part-2", "Part-3", "part-2-2"]
    long = unique(["y" * 80] * 3)
    assert len(set(long)) == 3
    assert max(map(len, long)) == 60
