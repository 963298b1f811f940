"""The common and the joint volume of two closed surfaces, by rays along z: exact on each ray, sampled across them.

The rays are one in each cell of a square grid over the box around both, at a random place of its cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from casemate.guest.surface import Triangles

_CHUNK = 1 << 20
"""Pairs of a ray and a triangle that are computed at once."""
LEAKS = 0.01
"""The share of rays that may enter a surface and not leave it; they are left out."""


class Leaky(Exception):
    """The surfaces are not closed."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """mm³ by rays, and one standard error of the common volume, and of common / joint."""

    common: float
    joint: float
    common_error: float
    share_error: float
    rays: int


def volumes(first: Triangles, second: Triangles, side: int, generator: Any) -> Volumes:
    """By `side` × `side` rays, `side` even; raises Leaky."""
    low, high = np.minimum(first.low, second.low)[:2], np.maximum(first.high, second.high)[:2]
    cell = (high - low) / side
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side), indexing="ij"), axis=-1)
    places = low + (grid + generator.random((side, side, 2))) * cell
    hits = [_hits(surface.corners, places, low, cell) for surface in (first, second)]
    sound = np.ones(side * side, dtype=bool)
    for ray, _, sign in hits:
        sound &= np.bincount(ray, sign, side * side) == 0
    if (~sound).mean() > LEAKS:
        raise Leaky(f"{(~sound).sum()} of {side * side} rays enter a surface and do not leave it")
    ray = np.concatenate([hits[0][0], hits[1][0]])
    z = np.concatenate([hits[0][1], hits[1][1]])
    signs = np.zeros((len(ray), 2))
    signs[: len(hits[0][0]), 0], signs[len(hits[0][0]) :, 1] = hits[0][2], hits[1][2]
    kept = sound[ray]
    ray, z, signs = ray[kept], z[kept], signs[kept]
    order = np.lexsort((z, ray))
    ray, z, inside = ray[order], z[order], np.cumsum(signs[order], axis=0) > 0.5
    if not len(ray):
        raise Leaky("no ray meets a surface")
    # Past the last crossing of a ray it is inside of nothing, so what lies between two rays has no length that counts.
    length = np.where(inside.any(axis=1), np.append(np.diff(z), 0.0), 0.0)
    common = np.bincount(ray, length * inside.all(axis=1), side * side)
    joint = np.bincount(ray, length, side * side)
    whole = float(joint.sum())
    if not whole > 0:
        raise Leaky("no ray goes through either shape")
    share = float(common.sum()) / whole
    count = int(sound.sum())
    area = float(np.prod(high - low)) / count
    return Volumes(
        float(common.sum()) * area, whole * area, _error(common) * area, _error(common - share * joint) / whole, count
    )


def _error(values: Any) -> float:
    """One standard error of the sum over all rays, from pairs of neighbours (Wolter 2007, successive differences)."""
    pairs = values.reshape(-1, 2)
    return float(np.sqrt(np.sum((pairs[:, 0] - pairs[:, 1]) ** 2)))


def _hits(corners: Any, places: Any, low: Any, cell: Any) -> tuple[Any, Any, Any]:
    """Number of the ray, z, and +1 (into the solid) or -1 (out of it) of every crossing."""
    side = len(places)
    flat = corners[:, :, :2]
    first = np.clip(((flat.min(axis=1) - low) / cell).astype(int), 0, side - 1)
    last = np.clip(((flat.max(axis=1) - low) / cell).astype(int), 0, side - 1)
    wide = last - first + 1
    counts = wide[:, 0] * wide[:, 1]
    ends = np.cumsum(counts)
    found: list[tuple[Any, Any, Any]] = []
    start = 0
    while start < len(corners):
        before = ends[start] - counts[start]
        stop = max(start + 1, int(np.searchsorted(ends, before + _CHUNK, side="right")))
        which = np.repeat(np.arange(start, stop), counts[start:stop])
        offset = np.arange(len(which)) + before - (ends - counts)[which]
        row, column = first[which, 0] + offset // wide[which, 1], first[which, 1] + offset % wide[which, 1]
        found.append(_crossed(corners[which], places[row, column], row * side + column))
        start = stop
    ray, z, sign = (np.concatenate(each) for each in zip(*found, strict=True))
    return ray, z, sign


def _crossed(corners: Any, places: Any, rays: Any) -> tuple[Any, Any, Any]:
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    ab, ac, ap = (b - a)[:, :2], (c - a)[:, :2], places - a[:, :2]
    twice = ab[:, 0] * ac[:, 1] - ab[:, 1] * ac[:, 0]
    steep = twice == 0
    scale = np.where(steep, 1.0, twice)
    u = (ap[:, 0] * ac[:, 1] - ap[:, 1] * ac[:, 0]) / scale
    v = (ab[:, 0] * ap[:, 1] - ab[:, 1] * ap[:, 0]) / scale
    hit = ~steep & (u >= 0) & (v >= 0) & (u + v <= 1)
    z = a[:, 2] + u * (b - a)[:, 2] + v * (c - a)[:, 2]
    # A triangle that is counter-clockwise from above faces up: a ray going up leaves the solid there.
    return rays[hit], z[hit], -np.sign(twice[hit])
