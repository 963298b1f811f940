"""How much of two solids is common: by OCCT's booleans where their result can be believed, else by rays.

A boolean of OCCT may raise, hang, crash, or give nothing or too much without a word. So its volume is held against what
it can be, and against an estimate by rays through both surfaces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from OCP.Bnd import Bnd_Box
from OCP.BRepAlgoAPI import BRepAlgoAPI_Common
from OCP.BRepBndLib import BRepBndLib
from OCP.BRepBuilderAPI import BRepBuilderAPI_Transform
from OCP.BRepGProp import BRepGProp
from OCP.gp import gp_Trsf
from OCP.GProp import GProp_GProps
from OCP.TopAbs import TopAbs_ShapeEnum

from casemate.guest import measure, rays
from casemate.guest.similarity import Similarity
from casemate.guest.surface import Triangles

SIDE, CHECK_SIDE = 160, 64
"""Rays along a side of the grid: of an estimate, and of the check of a boolean."""
_PAIRS = 256
"""Pairs of solids of which booleans are made."""
_SLACK, _NEAR, _SIGMAS = 1e-6, 0.005, 6.0


class Doubtful(Exception):
    """The result of a boolean cannot be believed; the text says why."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Intersection over union; of an estimate one standard error, and how many rays; of a boolean both are 0."""

    iou: float
    error: float
    samples: int


def moved(shape: Any, motion: Similarity) -> Any:
    """A copy of the shape, moved."""
    matrix = motion.scale * motion.rotation
    transformation = gp_Trsf()
    transformation.SetValues(*(float(v) for row in range(3) for v in (*matrix[row], motion.shift[row])))
    return BRepBuilderAPI_Transform(shape, transformation, True).Shape()


def boolean(first: Any, second: Any, surfaces: tuple[Triangles, Triangles], generator: Any) -> Overlap:
    """By BRepAlgoAPI_Common of each solid of one with each of the other; raises Doubtful.

    The union is by inclusion and exclusion. Solids of one shape that overlap each other count twice.
    """
    solids = [measure.sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_SOLID) for shape in (first, second)]
    if len(solids[0]) * len(solids[1]) > _PAIRS:
        raise Doubtful(f"more than {_PAIRS} pairs of solids")
    volumes = [[_volume(solid) for solid in group] for group in solids]
    common = 0.0
    for one, its in zip(solids[0], volumes[0], strict=True):
        for other, theirs in zip(solids[1], volumes[1], strict=True):
            if not _box(one).IsOut(_box(other)):
                common += _common(one, other, min(its, theirs))
    whole = sum(volumes[0]) + sum(volumes[1])
    if common > min(map(sum, volumes)) * (1 + _SLACK):
        raise Doubtful("the common volume is larger than one of the shapes")
    _check(common, (sum(volumes[0]), sum(volumes[1])), surfaces, generator)
    return Overlap(min(1.0, common / (whole - common)), 0.0, 0)


def _common(one: Any, other: Any, most: float) -> float:
    try:
        operation = BRepAlgoAPI_Common(one, other)
        if not operation.IsDone():
            raise Doubtful("OCCT's boolean gave up")
        volume = _volume(operation.Shape())
    except Doubtful:
        raise
    except Exception as error:  # OCCT throws anything
        raise Doubtful(f"OCCT's boolean raised {type(error).__name__}") from None
    if not -_SLACK * most <= volume <= most * (1 + _SLACK):
        raise Doubtful(f"a common volume of {volume:.6g} mm³, where 0 to {most:.6g} can be")
    return max(0.0, volume)


def _check(common: float, volumes: tuple[float, float], surfaces: tuple[Triangles, Triangles], generator: Any) -> None:
    """Raise Doubtful if rays tell of another volume, by more than they and the triangles may be wrong."""
    try:
        seen = rays.volumes(*surfaces, CHECK_SIDE, generator)
    except rays.Leaky as leak:
        raise Doubtful(f"OCCT's boolean cannot be checked: {leak}") from None
    slack = _SIGMAS * seen.common_error + _NEAR * seen.common + _SLACK * seen.joint + _blur(volumes, surfaces)
    if abs(common - seen.common) > slack:
        raise Doubtful(f"OCCT's boolean gives {common:.6g} mm³, where rays tell of {seen.common:.6g}")


def sampled(volumes: tuple[float, float], surfaces: tuple[Triangles, Triangles], generator: Any) -> Overlap:
    """By rays; `volumes` are the solids' own, by which the triangles' error is known. Raises Doubtful."""
    try:
        seen = rays.volumes(*surfaces, SIDE, generator)
    except rays.Leaky as leak:
        raise Doubtful(str(leak)) from None
    error = min(1.0, math.hypot(seen.share_error, _blur(volumes, surfaces) / seen.joint))
    return Overlap(min(1.0, seen.common / seen.joint), error, seen.rays)


def _blur(volumes: tuple[float, float], surfaces: tuple[Triangles, Triangles]) -> float:
    """By how much the triangles' volumes are not those of the solids, together."""
    return sum(abs(surface.volume - volume) for surface, volume in zip(surfaces, volumes, strict=True))


def _volume(shape: Any) -> float:
    properties = GProp_GProps()
    BRepGProp.VolumeProperties_s(shape, properties)
    volume = float(properties.Mass())
    if not math.isfinite(volume):
        raise Doubtful("a volume that is no number")
    return volume


def _box(shape: Any) -> Any:
    box = Bnd_Box()
    BRepBndLib.Add_s(shape, box, False)
    return box
