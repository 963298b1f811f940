"""Checks and facts of one shape, as OCCT measures them (mm, mm², mm³)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from OCP.Bnd import Bnd_Box
from OCP.BRep import BRep_Tool
from OCP.BRepBndLib import BRepBndLib
from OCP.BRepCheck import BRepCheck_Analyzer, BRepCheck_Status
from OCP.BRepGProp import BRepGProp
from OCP.GProp import GProp_GProps
from OCP.TopAbs import TopAbs_ShapeEnum
from OCP.TopExp import TopExp
from OCP.TopoDS import TopoDS
from OCP.TopTools import TopTools_IndexedMapOfShape

from casemate.model import Facts

NOTHING = 1e-12
"""mm³ that count as no volume: far below a cube of a micrometre."""
_FAULT_KINDS = (
    TopAbs_ShapeEnum.TopAbs_VERTEX,
    TopAbs_ShapeEnum.TopAbs_EDGE,
    TopAbs_ShapeEnum.TopAbs_WIRE,
    TopAbs_ShapeEnum.TopAbs_FACE,
    TopAbs_ShapeEnum.TopAbs_SHELL,
    TopAbs_ShapeEnum.TopAbs_SOLID,
)


@dataclass(frozen=True, slots=True)
class Amounts:
    """What can be counted and summed over a shape; a sub-shape placed twice counts twice."""

    solids: int
    shells: int
    faces: int
    edges: int
    volume: float
    least_volume: float
    """Of a single solid: one that is inside out has a negative volume and would hide in the sum."""
    area: float
    center: tuple[float, float, float]

    def like(self, other: Amounts) -> bool:
        """True if both shapes are made of as many pieces and are as large."""
        mine, theirs = (self.solids, self.faces, self.edges), (other.solids, other.faces, other.edges)
        sizes = ((self.volume, other.volume), (self.area, other.area))
        return mine == theirs and all(math.isclose(*pair, rel_tol=1e-6, abs_tol=NOTHING) for pair in sizes)


def sub_shapes(shape: Any, kind: TopAbs_ShapeEnum) -> list[Any]:
    """The distinct sub-shapes of one kind, in order."""
    found = TopTools_IndexedMapOfShape()
    TopExp.MapShapes_s(shape, kind, found)
    return [found.FindKey(number) for number in range(1, found.Extent() + 1)]


def amounts(shape: Any) -> Amounts:
    """Count and sum over a shape; the centre is that of the volume, or of the surface where there is none."""
    solids = sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_SOLID)
    total, surface = GProp_GProps(), GProp_GProps()
    least = math.inf
    for solid in solids:
        properties = GProp_GProps()
        BRepGProp.VolumeProperties_s(solid, properties)
        total.Add(properties)
        least = min(least, properties.Mass())
    BRepGProp.SurfaceProperties_s(shape, surface)
    center = (surface if abs(total.Mass()) < NOTHING else total).CentreOfMass()
    return Amounts(
        solids=len(solids),
        shells=_count(shape, TopAbs_ShapeEnum.TopAbs_SHELL),
        faces=_count(shape, TopAbs_ShapeEnum.TopAbs_FACE),
        edges=_count(shape, TopAbs_ShapeEnum.TopAbs_EDGE),
        volume=total.Mass(),
        least_volume=least if solids else 0.0,
        area=surface.Mass(),
        center=(center.X(), center.Y(), center.Z()),
    )


def finite_vertices(shape: Any) -> bool:
    """False if a corner is NaN, infinite or absurdly far: OCCT crashes, or takes for ever, measuring such a shape."""
    for vertex in sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_VERTEX):
        point = BRep_Tool.Pnt_s(TopoDS.Vertex_s(vertex))
        if not all(math.isfinite(value) and abs(value) < 1e50 for value in (point.X(), point.Y(), point.Z())):
            return False
    return True


def bounds(shape: Any, exact: bool) -> tuple[float, float, float, float, float, float] | None:
    """xmin, ymin, zmin, xmax, ymax, zmax, or None without a finite extent; `exact` fits the box to the surfaces."""
    box = Bnd_Box()
    if exact:
        BRepBndLib.AddOptimal_s(shape, box, False, False)
    else:
        BRepBndLib.Add_s(shape, box, False)
    if box.IsVoid() or box.IsOpen():
        return None
    box.SetGap(0.0)
    values = box.Get()
    if not all(math.isfinite(value) and abs(value) < 1e50 for value in values):
        return None
    return tuple(_place(value) for value in values)  # type: ignore[return-value]


def faults(shape: Any) -> str:
    """What is wrong with an invalid shape, in OCCT's words with counts; empty for a valid one."""
    analyzer = BRepCheck_Analyzer(shape, True, False)
    if analyzer.IsValid():
        return ""
    seen: Counter[str] = Counter()
    for kind in _FAULT_KINDS:
        for sub in sub_shapes(shape, kind):
            if analyzer.IsValid(sub):
                continue
            for status in analyzer.Result(sub).Status():
                if status != BRepCheck_Status.BRepCheck_NoError:
                    fault, where = status.name.removeprefix("BRepCheck_"), kind.name.removeprefix("TopAbs_")
                    seen[f"{fault} of {where.lower()}"] += 1
    return ", ".join(f"{what} ×{times}" for what, times in seen.most_common(4)) or "unspecified fault"


def facts(shape: Any, found: Amounts) -> Facts | None:
    """All facts of a shape, or None if one of them is not a finite number."""
    box = bounds(shape, exact=True)
    if box is None or not all(map(math.isfinite, (found.volume, found.area, *found.center))):
        return None
    x, y, z = map(_place, found.center)
    return Facts(
        volume=_amount(found.volume),
        area=_amount(found.area),
        bounding_box=box,
        center_of_mass=(x, y, z),
        solids=found.solids,
        shells=found.shells,
        faces=found.faces,
        edges=found.edges,
        valid=not faults(shape),
    )


def _count(shape: Any, kind: TopAbs_ShapeEnum) -> int:
    found = TopTools_IndexedMapOfShape()
    TopExp.MapShapes_s(shape, kind, found)
    return int(found.Extent())


def _place(value: float) -> float:
    """A coordinate to the nanometre: OCCT's own tolerance is a hundred of them. Never a negative zero."""
    return round(value, 6) + 0.0


def _amount(value: float) -> float:
    """A volume or an area without the noise of the last places."""
    return float(f"{value:.12g}") + 0.0
