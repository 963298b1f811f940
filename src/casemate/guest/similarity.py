"""Similarity transforms of points (n, 3): how shapes are normalised and aligned before they are compared. numpy alone.

Sources of the named ones: the protocols of `casemate.cad.protocols`.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

COARSE, TRIAL, ITERATIONS, SETTLED = 512, 20, 60, 1e-9
"""Of ICP: points and steps while it tries its starts, steps at most, and the relative change of its error at which it
stops."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """p → scale · rotation p + shift; `rotation` is a proper 3 × 3 rotation, `scale` is above 0."""

    scale: float
    rotation: Any
    shift: Any

    @classmethod
    def nothing(cls) -> Similarity:
        """The identity."""
        return cls(1.0, np.eye(3), np.zeros(3))

    def apply(self, points: Any) -> Any:
        """The points (n, 3), moved."""
        return self.scale * points @ self.rotation.T + self.shift

    def after(self, first: Similarity) -> Similarity:
        """This one after another."""
        return Similarity(
            self.scale * first.scale, self.rotation @ first.rotation, self.apply(first.shift[None, :])[0]
        )  # fmt: skip

    def inverse(self) -> Similarity:
        """The way back."""
        scale, rotation = 1.0 / self.scale, self.rotation.T
        return Similarity(scale, rotation, -scale * rotation @ self.shift)


@dataclass(frozen=True, slots=True)
class Frame:
    """What normalising and aligning need of a solid, in its own coordinates (mm): box (6), centre of mass (3), volume,
    matrix of inertia about that centre (3, 3), density 1."""

    box: Any
    center: Any
    volume: float
    inertia: Any


def normalisation(name: str, frame: Frame, *, generated: bool) -> Similarity:
    """What a shape is normalised by; `name` is one of `casemate.cad.protocols.NORMALISATIONS`."""
    low, high = frame.box[:3], frame.box[3:]
    if name == "none":
        return Similarity.nothing()
    if name == "unit-cube":
        scale = 1.0 / float(np.max(high - low))
        return Similarity(scale, np.eye(3), 0.5 - scale * (low + high) / 2)
    if name == "deepcad":
        furthest = float(np.max(np.abs(frame.box)))
        return Similarity(1.0 / furthest if generated and furthest > 2 else 1.0, np.eye(3), np.zeros(3))
    if name == "inertia":
        scale = float(np.sqrt(frame.volume / np.trace(frame.inertia)))
        return Similarity(scale, np.eye(3), -scale * frame.center)
    raise ValueError(f"no normalisation is called {name}")


def about(rotation: Any, source: Any, target: Any) -> Similarity:
    """A rotation that takes the point `source` to `target`."""
    return Similarity(1.0, rotation, target - rotation @ source)


def principal(source: Frame, target: Frame) -> list[Any]:
    """The four proper rotations that lay the principal axes of inertia of one solid along those of another.

    Where two moments are equal the axes between them are arbitrary.
    """
    mine, theirs = _axes(source.inertia), _axes(target.inertia)
    turns = ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1))
    return [theirs @ np.diag(turn) @ mine.T for turn in turns]


def _axes(inertia: Any) -> Any:
    axes = np.linalg.eigh(inertia)[1]
    return axes if np.linalg.det(axes) > 0 else axes * np.array([1.0, 1.0, -1.0])


def icp(source: Any, target: Any) -> Similarity:
    """The rigid motion of `source` (n, 3) onto `target` (m, 3) by the iterative closest point (Besl & McKay 1992).

    It starts from where the points are, and from the 24 rotations of a cube with the centroids laid on each other; the
    start whose error is least is taken to its end with all points.
    """
    few, some = source[:COARSE], target[:COARSE]
    tree = cKDTree(some)
    middle, there = few.mean(axis=0), some.mean(axis=0)
    starts = [Similarity.nothing(), *(about(turn, middle, there) for turn in _cube())]
    tried = [_closest(few, some, tree, start, TRIAL) for start in starts]
    best = min(range(len(tried)), key=lambda number: (tried[number][1], number))
    return _closest(source, target, cKDTree(target), tried[best][0], ITERATIONS)[0]


def _closest(source: Any, target: Any, tree: Any, start: Similarity, most: int) -> tuple[Similarity, float]:
    motion, error = start, np.inf
    for _ in range(most):
        moved = motion.apply(source)
        distances, nearest = tree.query(moved)
        now = float(np.mean(distances**2))
        if error - now <= SETTLED * error if np.isfinite(error) else now == 0:
            break
        error = now
        motion = _fit(source, target[nearest])
    return motion, float(np.mean(tree.query(motion.apply(source))[0] ** 2))


def _fit(source: Any, target: Any) -> Similarity:
    """The rigid motion of least squares between points that belong together (Kabsch 1976)."""
    middle, there = source.mean(axis=0), target.mean(axis=0)
    left, _, right = np.linalg.svd((source - middle).T @ (target - there))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(right.T @ left.T)) or 1.0])
    return about(right.T @ flip @ left.T, middle, there)


def _cube() -> list[Any]:
    """The rotations that leave a cube as it is."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            turn = np.zeros((3, 3))
            turn[range(3), order] = signs
            if np.linalg.det(turn) > 0:
                found.append(turn)
    return found
