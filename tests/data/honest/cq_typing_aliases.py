from typing import Dict, List, NamedTuple, Tuple, Union
import typing as t
import cadquery as cq

Point = Tuple[float, float]
Number = Union[int, float]
T = t.TypeVar("T")


def outline(points: List[Point], closed: bool = True) -> "cq.Workplane":
    wire: cq.Workplane = cq.Workplane("XY").polyline(points)
    count: int
    count = len(points)
    return wire.close() if closed and count > 2 else wire


def area(table: Dict[str, Number]) -> t.Optional[float]:
    return table.get("a", 0) * table.get("b", 0) or None


pts: List[Point] = [(0, 0), (30, 0), (30, 10), (15, 25), (0, 10)]
result = outline(pts).extrude(4)
print(area({"a": 2, "b": 3}))
