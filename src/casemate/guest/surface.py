"""The surface of a solid as triangles, and points on it by area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from OCP.BRep import BRep_Tool
from OCP.BRepMesh import BRepMesh_IncrementalMesh
from OCP.TopAbs import TopAbs_Orientation, TopAbs_ShapeEnum
from OCP.TopLoc import TopLoc_Location
from OCP.TopoDS import TopoDS

from casemate.guest import measure

LINEAR, ANGULAR = 1e-3, 0.25
"""How far a triangle may be from its surface, over the diagonal of the box; and the angle between neighbours, rad.

OCCT's mesher takes a time that grows with the square of a face's nodes: by 0.1 rad a plate with fifty holes took 2 s.
"""


class Unmeshable(Exception):
    """A face of which OCCT makes no triangles."""


@dataclass(frozen=True, slots=True)
class Triangles:
    """Corners (n, 3, 3) in mm, counter-clockwise seen from outside."""

    corners: Any

    @property
    def low(self) -> Any:
        """Least x, y, z."""
        return self.corners.min(axis=(0, 1))

    @property
    def high(self) -> Any:
        """Greatest x, y, z."""
        return self.corners.max(axis=(0, 1))

    @property
    def volume(self) -> float:
        """What it encloses, mm³ (the divergence theorem)."""
        a, b, c = (self.corners[:, corner] - self.corners[0, 0] for corner in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def triangles(shape: Any, box: Any) -> Triangles:
    """Mesh every face; `box` is the shape's (6). Raises Unmeshable."""
    diagonal = float(np.linalg.norm(box[3:] - box[:3]))
    BRepMesh_IncrementalMesh(shape, LINEAR * diagonal, False, ANGULAR, False)
    found = [_of_face(TopoDS.Face_s(face)) for face in measure.sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_FACE)]
    corners = np.concatenate(found)
    if not np.isfinite(corners).all():
        raise Unmeshable("a triangle of its surface has no finite place")
    return Triangles(corners)


def _of_face(face: Any) -> Any:
    place = TopLoc_Location()
    mesh = BRep_Tool.Triangulation_s(face, place)
    if mesh is None or not mesh.NbTriangles():
        raise Unmeshable("OCCT makes no triangles of one of its faces")
    move = place.Transformation()
    nodes = [mesh.Node(number).Transformed(move) for number in range(1, mesh.NbNodes() + 1)]
    points = np.array([(node.X(), node.Y(), node.Z()) for node in nodes])
    order = (1, 3, 2) if face.Orientation() == TopAbs_Orientation.TopAbs_REVERSED else (1, 2, 3)
    rows = (mesh.Triangle(number) for number in range(1, mesh.NbTriangles() + 1))
    index = np.array([[row.Value(corner) - 1 for corner in order] for row in rows])
    return points[index]


def sample(surface: Triangles, count: int, generator: Any) -> Any:
    """`count` points (count, 3), uniform over the area."""
    a, b, c = surface.corners[:, 0], surface.corners[:, 1], surface.corners[:, 2]
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    total = areas.sum()
    if not total > 0:
        raise Unmeshable("its surface has no area")
    chosen = generator.choice(len(areas), size=count, p=areas / total)
    u, v = generator.random(count), generator.random(count)
    over = u + v > 1
    u[over], v[over] = 1 - u[over], 1 - v[over]
    return a[chosen] + u[:, None] * (b - a)[chosen] + v[:, None] * (c - a)[chosen]
