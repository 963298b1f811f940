"""Pictures: drawn from numbers that a sandbox told, and from nothing else."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from casemate import Denied, Host
from casemate.cad import picture
from casemate.control.outlining import Outline
from casemate.runtime import outline_report

SVG = "{http://www.w3.org/2000/svg}"


def step(host: Host, profile: str, source: str) -> bytes:
    result = host.run(f"import cadquery as cq\nresult = {source}\n", profile)
    [artifact] = result.artifacts.values()
    return artifact.data


@pytest.fixture(scope="module")
def box(host: Host, profile: str) -> Outline:
    return host.outline(step(host, profile, "cq.Workplane().box(30, 20, 10)"), profile)


def test_of_a_box_nine_edges_are_seen(box: Outline) -> None:
    """Three faces look at the eye: nine of the twelve edges, which meet in seven corners."""
    assert [len(line) for line in box.lines] == [2] * 9
    corners = {point for line in box.lines for point in line}
    assert len({(round(x / 8), round(y / 8)) for x, y in corners}) == 7
    # The larger extent fills the square.
    assert min(min(point) for point in corners) == 0
    assert max(max(point) for point in corners) == outline_report.SIZE


def test_the_top_is_above(host: Host, profile: str) -> None:
    drawn = host.outline(step(host, profile, "cq.Workplane().box(30, 30, 2).circle(2).extrude(40)"), profile)
    highest = max((point for line in drawn.lines for point in line), key=lambda point: point[1])
    width = [x for line in drawn.lines for x, _ in line]
    assert abs(highest[0] - (min(width) + max(width)) / 2) < 400  # the pin, in the middle


def test_an_svg_is_one_path(box: Outline) -> None:
    root = ET.fromstring(picture.svg(box))
    assert [element.tag for element in root.iter()] == [f"{SVG}svg", f"{SVG}path"]
    assert root[0].attrib["d"].count("M") == 9
    assert set(root[0].attrib["d"]) <= set("ML 0123456789")


def test_a_line_of_dots() -> None:
    size = outline_report.SIZE
    assert picture.braille(Outline((((0, size), (size, size)),)), 4) == "⠉⠉⠉⠉"
    assert picture.braille(Outline((((0, 0), (0, size)),)), 2) == "⡇"
    assert picture.braille(Outline(())) == ""


def test_what_is_no_part_is_not_drawn(host: Host, profile: str) -> None:
    for data in (b"", b"junk", b"ISO-10303-21;\nEND-ISO-10303-21;\n"):
        drawn = host.outline(data, profile)
        assert drawn.lines == ()
        assert drawn.message
    with pytest.raises(Denied, match="plain programs"):
        host.outline(b"", "python")


def record(value: Any) -> bytes:
    data = json.dumps(value).encode()
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    "line",
    [
        [0, 0],
        [0, 0, 1, 4096], [0, 0, 1, -1], [0, 0, 1, 1.5], [0, 0, 1, "1"], [0, 0, 1, None], "0011", [[0, 0], [1, 1]],
        [0] * 20_001, ["<script/>"] * 4,
    ],
)  # fmt: skip
def test_what_a_process_says_that_was_taken_over_is_numbers_or_nothing(line: Any) -> None:
    good = {"kind": "lines", "lines": [[0, 0, 5, 5]]}
    data = record(good) + record({"kind": "lines", "lines": [line]}) + record(good)
    assert outline_report.parse(data) == (((0, 0), (5, 5)),)


def test_no_more_is_drawn_than_an_honest_process_tells() -> None:
    """4 MiB of long strokes would take a minute to turn into dots."""
    many = record({"kind": "lines", "lines": [[0, 0, 4095, 4095] * 2_000]}) * 100
    drawn = outline_report.parse(many)
    assert sum(map(len, drawn)) == outline_report.MOST_POINTS


def test_a_drawing_ends_at_its_deadline(host: Host, profile: str) -> None:
    part = step(host, profile, "cq.Workplane().box(30, 20, 10)")
    assert host.outline(part, profile, 60.0).lines
    assert host.outline(part, profile, 0.0).lines == ()
