"""Checks and facts of one shape, as OCCT measures them (mm, mm², mm³)."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from OCP.Bnd import Bnd_Box
from OCP.BRep import BRep_Tool
from OCP.BRepAdaptor import BRepAdaptor_Surface
from OCP.BRepBndLib import BRepBndLib
from OCP.BRepCheck import BRepCheck_Analyzer, BRepCheck_Status
from OCP.BRepGProp import BRepGProp
from OCP.GeomAbs import GeomAbs_SurfaceType
from OCP.gp import gp_Ax3, gp_Dir, gp_Pnt
from OCP.GProp import GProp_GProps
from OCP.TopAbs import TopAbs_Orientation, TopAbs_ShapeEnum
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
    products: tuple[float, float, float]
    """Of inertia about the centre (yz, xz, xy), over the sum of the moments: 0 where mass is mirrored."""

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
    mass = surface if abs(total.Mass()) < NOTHING else total
    center, inertia = mass.CentreOfMass(), mass.MatrixOfInertia()
    trace = sum(inertia.Value(axis, axis) for axis in (1, 2, 3)) or 1.0
    return Amounts(
        solids=len(solids),
        shells=_count(shape, TopAbs_ShapeEnum.TopAbs_SHELL),
        faces=_count(shape, TopAbs_ShapeEnum.TopAbs_FACE),
        edges=_count(shape, TopAbs_ShapeEnum.TopAbs_EDGE),
        volume=total.Mass(),
        least_volume=least if solids else 0.0,
        area=surface.Mass(),
        center=(center.X(), center.Y(), center.Z()),
        products=(inertia.Value(2, 3) / trace, inertia.Value(1, 3) / trace, inertia.Value(1, 2) / trace),
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
        closed=_closed(shape),
        holes=_holes(shape),
        symmetric=_symmetric(found, box),
    )


def _closed(shape: Any) -> bool:
    shells = sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_SHELL)
    return bool(shells) and all(BRep_Tool.IsClosed_s(shell) for shell in shells)


def _holes(shape: Any) -> int:
    """Axes of inner cylinders whose faces go all the way around together."""
    turned: dict[tuple[tuple[float, ...], float], list[tuple[float, float]]] = {}
    for face in sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_FACE):
        surface = BRepAdaptor_Surface(TopoDS.Face_s(face))
        if surface.GetType() != GeomAbs_SurfaceType.GeomAbs_Cylinder:
            continue
        cylinder = surface.Cylinder()
        # The normal of a right-handed cylinder points away from its axis: a face turned over has the material outside.
        if cylinder.Direct() == (face.Orientation() == TopAbs_Orientation.TopAbs_REVERSED):
            line = _line(cylinder.Axis())
            sector = _sector(line[:3], surface)
            turned.setdefault((line, round(cylinder.Radius(), 4)), []).append(sector)
    return len({line for (line, _), sectors in turned.items() if _around(sectors)})


def _line(axis: Any) -> tuple[float, ...]:
    """The same numbers for every axis that lies on the same line: its direction, and its point nearest the origin."""
    at, to = axis.Location(), axis.Direction()
    direction = (to.X(), to.Y(), to.Z())
    sign = next((math.copysign(1.0, value) for value in direction if abs(value) > 1e-6), 1.0)
    along = at.X() * direction[0] + at.Y() * direction[1] + at.Z() * direction[2]
    foot = (at.X() - along * direction[0], at.Y() - along * direction[1], at.Z() - along * direction[2])
    return tuple(round(value, 3) + 0.0 for value in (*(sign * value for value in direction), *foot))


def _sector(direction: tuple[float, ...], surface: Any) -> tuple[float, float]:
    """The angles about a direction between which a face of a cylinder lies: from 0 to 2π, and how far on."""
    around = gp_Ax3(gp_Pnt(), gp_Dir(*direction))
    first, last = surface.FirstUParameter(), surface.LastUParameter()
    place = surface.Cylinder().Position()

    def angle(u: float) -> float:
        point = place.XDirection().XYZ() * math.cos(u) + place.YDirection().XYZ() * math.sin(u)
        return math.atan2(point.Dot(around.YDirection().XYZ()), point.Dot(around.XDirection().XYZ())) % (2 * math.pi)

    same_way = place.XDirection().Crossed(place.YDirection()).Dot(around.Direction()) > 0
    return angle(first if same_way else last), last - first


def _around(sectors: list[tuple[float, float]]) -> bool:
    """True if sectors cover the whole circle."""
    reached, slack = 0.0, 1e-3
    for start, length in sorted([*sectors, *((start - 2 * math.pi, length) for start, length in sectors)]):
        if start <= reached + slack:
            reached = max(reached, start + length)
    return reached >= 2 * math.pi - slack


def _symmetric(found: Amounts, box: tuple[float, float, float, float, float, float]) -> Any:
    size = max(box[axis + 3] - box[axis] for axis in range(3))
    axes = ""
    for axis, name in enumerate("xyz"):
        middle = (box[axis] + box[axis + 3]) / 2
        others = [found.products[other] for other in range(3) if other != axis]
        if abs(found.center[axis] - middle) <= 1e-5 * size and all(abs(value) <= 1e-6 for value in others):
            axes += name
    return axes


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
