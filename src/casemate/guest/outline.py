"""Draws a part's visible edges, seen from above at an angle, in a clean process: reads its STEP, tells lines.

Hidden lines are removed by OCCT (HLRBRep). What leaves is whole numbers between 0 and SIZE, y upwards, so that whoever
draws them draws no byte that this process chose.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

from OCP.BRepAdaptor import BRepAdaptor_Curve
from OCP.BRepLib import BRepLib
from OCP.GCPnts import GCPnts_TangentialDeflection
from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt
from OCP.HLRAlgo import HLRAlgo_Projector
from OCP.HLRBRep import HLRBRep_Algo, HLRBRep_HLRToShape
from OCP.TopAbs import TopAbs_ShapeEnum
from OCP.TopExp import TopExp_Explorer
from OCP.TopoDS import TopoDS

from casemate.guest import inspect, step
from casemate.guest.report import Report
from casemate.guest.stages import refuse_by_error, stage

SIZE, MOST_POINTS, BATCH = 4095, 12_000, 2_000
_EYE = (1.0, -1.6, 1.1)
_ANGLE = 0.2
"""Between the chords of a curve, in radians."""
Line = list[tuple[float, float]]


def run(job: inspect.Job) -> int:
    """Tell the lines, the longest first, as many as there is room for."""
    refuse_by_error()
    report, budgets = Report(), dict(job.budgets)
    with stage(report, "outline", budgets):
        lines = _scaled(list(_visible(step.read(os.path.join(job.workdir, "part.step")))))
    lines.sort(key=len, reverse=True)
    told = 0
    batch: list[list[int]] = []
    for line in lines:
        if told + len(line) // 2 > MOST_POINTS:
            break
        told += len(line) // 2
        batch.append(line)
        if sum(map(len, batch)) >= BATCH:
            report.write("lines", lines=batch)
            batch = []
    report.write("lines", lines=batch)
    return 0


def _visible(shape: Any) -> Iterator[Line]:
    hidden = HLRBRep_Algo()
    hidden.Add(shape)
    hidden.Projector(HLRAlgo_Projector(gp_Ax2(gp_Pnt(0, 0, 0), gp_Dir(*_EYE), gp_Dir(1.6, 1.0, 0.0))))
    hidden.Update()
    hidden.Hide()
    found = HLRBRep_HLRToShape(hidden)
    for edges in (found.VCompound(), found.Rg1LineVCompound(), found.OutLineVCompound()):
        if edges is None or edges.IsNull():
            continue
        BRepLib.BuildCurves3d_s(edges)
        explorer = TopExp_Explorer(edges, TopAbs_ShapeEnum.TopAbs_EDGE)
        while explorer.More():
            curve = BRepAdaptor_Curve(TopoDS.Edge_s(explorer.Current()))
            points = GCPnts_TangentialDeflection(curve, _ANGLE, 1e9)
            yield [(p.X(), p.Y()) for p in (points.Value(n + 1) for n in range(points.NbPoints()))]
            explorer.Next()


def _scaled(lines: list[Line]) -> list[list[int]]:
    """x0, y0, x1, y1, …: the larger extent is SIZE, the other one in the middle."""
    points = list(itertools.chain.from_iterable(lines))
    if not points:
        return []
    low = [min(point[axis] for point in points) for axis in (0, 1)]
    extent = [max(point[axis] for point in points) - low[axis] for axis in (0, 1)]
    scale = SIZE / max(*extent, 1e-9)
    start = [(SIZE - extent[axis] * scale) / 2 - low[axis] * scale for axis in (0, 1)]
    return [[round(point[axis] * scale + start[axis]) for point in line for axis in (0, 1)] for line in lines]
