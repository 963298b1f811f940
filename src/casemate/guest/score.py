"""Compares a generated shape with a reference, in a clean process: reads their STEP files, measures, tells numbers.

Nothing of a script ran here, but OCCT has parsed bytes that one may have made. The reference is read first, and what
is told of it stands; each stage has a budget, so that a hang has a name.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from OCP.BRepGProp import BRepGProp
from OCP.GProp import GProp_GProps
from OCP.TopAbs import TopAbs_ShapeEnum
from scipy.spatial import cKDTree

from casemate.guest import inspect, measure, overlap, similarity, step, surface
from casemate.guest.report import Report
from casemate.guest.similarity import Frame, Similarity
from casemate.guest.stages import refuse_by_error, stage
from casemate.model import Facts, Verdict

SETTINGS = "score.json"
REFERENCE, GENERATED = "reference", "generated"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the caller asked for; `samples_only` leaves out the booleans."""

    points: int
    seed: int
    normalise: str
    align: str
    samples_only: bool
    files: int
    """Of the generated shape."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A shape that can be compared: its solids, its surface, points on it."""

    shape: Any
    facts: Facts
    frame: Frame
    surface: surface.Triangles
    points: Any


def run(job: inspect.Job) -> int:
    """Compare; what cannot be compared is told, and ends it."""
    refuse_by_error()
    report, budgets = Report(), dict(job.budgets)
    with open(os.path.join(job.workdir, SETTINGS), encoding="utf-8") as file:
        settings = Settings(**json.load(file))
    paths = {
        REFERENCE: [os.path.join(job.workdir, "reference.step")],
        GENERATED: [os.path.join(job.workdir, f"generated-{number}.step") for number in range(settings.files)],
    }
    found: dict[str, Loaded] = {}
    for number, which in enumerate((REFERENCE, GENERATED)):
        with stage(report, which, budgets):
            loaded = load(paths[which], settings.points, np.random.default_rng((settings.seed, number)))
        facts = loaded.facts
        verdict, message = (Verdict.PART, "") if isinstance(loaded, Loaded) else (loaded.verdict, loaded.message)
        report.write(
            "shape", which=which, verdict=verdict.value, message=message,
            volume=None if facts is None else facts.volume, box=None if facts is None else facts.bounding_box,
        )  # fmt: skip
        if not isinstance(loaded, Loaded):
            return 0
        found[which] = loaded
    compare(report, found[REFERENCE], found[GENERATED], settings, budgets)
    return 0


def load(paths: list[str], count: int, generator: Any) -> Loaded | inspect.Finding:
    """Read, check and mesh what is in STEP files, or say why it is no part; `count` points are taken on its surface."""
    try:
        whole = inspect.together([step.read(path) for path in paths])
    except step.StepError:
        return inspect.Finding(Verdict.INSPECTOR_FAILED, "it cannot be read as STEP, or holds no shape")
    except Exception as error:  # OCCT throws anything
        return inspect.Finding(Verdict.INSPECTOR_FAILED, f"reading it: {type(error).__name__}: {error}"[:1000])
    try:
        hopeless = inspect.hopeless(whole)
        if hopeless is not None:
            return hopeless
        solids = measure.sub_shapes(whole, TopAbs_ShapeEnum.TopAbs_SOLID)
        shape = inspect.together(solids) if solids else whole  # faces beside the solids are no part of them
        finding = inspect.judge("", shape, measure.amounts(shape), shape)
        if finding.verdict is not Verdict.PART or finding.facts is None:
            return finding
        box = np.array(finding.facts.bounding_box)
        triangles = surface.triangles(shape, box)
        return Loaded(shape, finding.facts, _frame(shape, box), triangles, surface.sample(triangles, count, generator))
    except surface.Unmeshable as error:
        return inspect.Finding(Verdict.INVALID, str(error))
    except Exception as error:
        return inspect.Finding(Verdict.INSPECTOR_FAILED, f"measuring it: {type(error).__name__}: {error}"[:1000])


def compare(
    report: Report, reference: Loaded, generated: Loaded, settings: Settings, budgets: dict[str, float]
) -> None:
    """Tell the distances between points, then the overlap of the solids."""
    theirs = similarity.normalisation(settings.normalise, reference.frame, generated=False)
    mine = similarity.normalisation(settings.normalise, generated.frame, generated=True)
    target, source = theirs.apply(reference.points), mine.apply(generated.points)
    with stage(report, "distances", budgets):
        ways = alignments(settings.align, (generated.frame, mine), (reference.frame, theirs), source, target)
        told = [distances(way.apply(source), target) for way in ways]
        best = min(range(len(ways)), key=lambda number: (told[number]["point_cloud"], number))
        report.write("distances", **told[best], iogt=iogt(reference, generated, theirs, ways[best].after(mine)))
    # Into the frame of the reference: OCCT's tolerances are lengths, made for parts of millimetres.
    motions = [theirs.inverse().after(way).after(mine) for way in ways]
    surfaces = [surface.Triangles(_moved(motion, generated.surface.corners)) for motion in motions]
    why = "asked for"
    if not settings.samples_only:
        try:
            with stage(report, "boolean", budgets):
                found = max(
                    (
                        overlap.boolean(
                            reference.shape, overlap.moved(generated.shape, motion), (reference.surface, moved),
                            np.random.default_rng((settings.seed, 2)),
                        )
                        for motion, moved in zip(motions, surfaces, strict=True)
                    ),
                    key=lambda one: one.iou,
                )  # fmt: skip
            report.write("overlap", method="boolean", iou=found.iou, error=0.0, samples=0, message="")
            return
        except overlap.Doubtful as doubt:
            why = str(doubt)
    try:
        with stage(report, "sampled", budgets):
            estimates = [
                overlap.sampled(
                    (reference.frame.volume, generated.frame.volume * motion.scale**3), (reference.surface, moved),
                    np.random.default_rng((settings.seed, 3)),
                )
                for motion, moved in zip(motions, surfaces, strict=True)
            ]  # fmt: skip
    except overlap.Doubtful as doubt:
        report.write("overlap", method="none", iou=None, error=0.0, samples=0, message=f"{why}; {doubt}")
        return
    found = max(estimates, key=lambda one: one.iou)
    report.write("overlap", method="sampled", iou=found.iou, error=found.error, samples=found.samples, message=why)


def alignments(
    name: str, source: tuple[Frame, Similarity], target: tuple[Frame, Similarity], points: Any, others: Any
) -> list[Similarity]:
    """The motions of the normalised source to be tried, of which the best counts.

    `name` is one of `casemate.cad.protocols.ALIGNMENTS`; `points` and `others` are normalised.
    """
    if name == "none":
        return [Similarity.nothing()]
    if name == "icp":
        return [similarity.icp(points, others)]
    mine, theirs = (at.apply(frame.center[None, :])[0] for frame, at in (source, target))
    if name == "centre":
        return [similarity.about(np.eye(3), mine, theirs)]
    if name == "principal-axes":
        return [similarity.about(turn, mine, theirs) for turn in similarity.principal(source[0], target[0])]
    raise ValueError(f"no alignment is called {name}")


def distances(points: Any, others: Any) -> dict[str, float]:
    """Between two point sets (n, 3), in the units that they are in.

    `chamfer`: the mean squared distance to the nearest point of the other, summed over both ways. `point_cloud`: the
    mean distance to the nearest, averaged over both ways. `hausdorff`: the greatest distance to the nearest.
    """
    forth, back = cKDTree(others).query(points)[0], cKDTree(points).query(others)[0]
    return {
        "chamfer": _digits(np.mean(forth**2) + np.mean(back**2)),
        "point_cloud": _digits((np.mean(forth) + np.mean(back)) / 2),
        "hausdorff": _digits(max(np.max(forth), np.max(back))),
    }


def iogt(reference: Loaded, generated: Loaded, theirs: Similarity, mine: Similarity) -> float:
    """The common volume of both boxes along the axes, over that of the reference's."""
    (low, high), (first, last) = _box(reference, theirs), _box(generated, mine)
    common = np.clip(np.minimum(high, last) - np.maximum(low, first), 0.0, None)
    return min(1.0, _digits(np.prod(common) / np.prod(high - low)))


def _frame(shape: Any, box: Any) -> Frame:
    properties = GProp_GProps()
    BRepGProp.VolumeProperties_s(shape, properties)
    center, matrix = properties.CentreOfMass(), properties.MatrixOfInertia()
    inertia = np.array([[matrix.Value(row, column) for column in (1, 2, 3)] for row in (1, 2, 3)])
    return Frame(box, np.array([center.X(), center.Y(), center.Z()]), float(properties.Mass()), inertia)


def _box(loaded: Loaded, motion: Similarity) -> tuple[Any, Any]:
    """Along the axes, of what was moved: of the triangles where it was turned."""
    if np.array_equal(motion.rotation, np.eye(3)):
        low, high = motion.apply(loaded.frame.box.reshape(2, 3))
        return low, high
    corners = _moved(motion, loaded.surface.corners)
    return corners.min(axis=(0, 1)), corners.max(axis=(0, 1))


def _moved(motion: Similarity, corners: Any) -> Any:
    return motion.apply(corners.reshape(-1, 3)).reshape(corners.shape)


def _digits(value: Any) -> float:
    """Without the noise of the last places."""
    return float(f"{float(value):.12g}")
