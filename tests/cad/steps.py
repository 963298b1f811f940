"""STEP files for tests: parts that a sandbox made, and what people would write to do harm."""

from __future__ import annotations

import re
from pathlib import Path

import casemate
from casemate import Host
from casemate.control.host import strongest

_made: dict[str, bytes] = {}


def made(host: Host, body: str) -> bytes:
    """The STEP of a CadQuery expression (`cq`), made once."""
    if body not in _made:
        result = host.run(f"import cadquery as cq\nresult = {body}\n", strongest(host))
        [artifact] = result.artifacts.values()
        _made[body] = artifact.data
    return _made[body]


def box(x: float, y: float, z: float, at: tuple[float, float, float] = (0, 0, 0)) -> str:
    """A box about the origin, moved."""
    return f"cq.Workplane().box({x}, {y}, {z}).translate({at})"


def bomb(step: bytes, levels: int) -> bytes:
    """A part's STEP in which each of so many levels holds the one below twice: 2 ** levels parts in a short file."""
    text = step.decode("ascii")
    lines = dict(re.findall(r"(#\d+) = (.+?);", text, re.DOTALL))
    [part] = [number for number, line in lines.items() if line.startswith("ADVANCED_BREP_SHAPE_REPRESENTATION(")]
    [whole] = [line for line in lines.values() if line.startswith("SHAPE_DEFINITION_REPRESENTATION(")]
    context = re.findall(r"#\d+", lines[part])[-1]
    new: list[str] = []

    def add(line: str) -> str:
        number = f"#{100_000 + len(new)}"
        new.append(f"{number} = {line};")
        return number

    def axis(x: float) -> str:
        point = add(f"CARTESIAN_POINT('',({x:.1f},0.,0.))")
        return add(f"AXIS2_PLACEMENT_3D('',{point},$,$)")

    below = part
    for level in range(levels):
        source = add(f"REPRESENTATION_MAP({axis(0)},{below})")
        items = [add(f"MAPPED_ITEM('',{source},{axis(place)})") for place in (0.0, 100.0 * 2**level)]
        below = add(f"SHAPE_REPRESENTATION('',({','.join(items)}),{context})")
    text = text.replace(whole, whole.replace(f"{part})", f"{below})"))
    end = text.rindex("ENDSEC;")
    return (text[:end] + "\n".join(new) + "\n" + text[end:]).encode("ascii")


def short(directory: Path, profile: str, **rows: float) -> str:
    """The profile with less time for some stages."""
    text = (Path(casemate.__file__).parent / "profiles" / f"{profile}.toml").read_text("utf-8")
    lines = text.replace(f'name = "{profile}"', 'name = "short"').splitlines()
    for row, seconds in rows.items():
        [place] = [number for number, line in enumerate(lines) if line.startswith(f"{row} = ")]
        lines[place] = f"{row} = {seconds}"
    path = directory / "short.toml"
    path.write_text("\n".join(lines), "utf-8")
    return str(path)
