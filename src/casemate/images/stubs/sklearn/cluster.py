"""DBSCAN (Ester, Kriegel, Sander, Xu 1996) for the points that build123d's `detect_primitives` gives it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import KDTree


class DBSCAN:
    """The subset of scikit-learn's class that build123d uses; `labels_` is numbered as scikit-learn numbers it.

    `eps` is a distance (euclidean, or 1 - cos of the angle for `cosine`), `min_samples` counts the point itself.
    """

    labels_: np.ndarray[Any, Any]

    def __init__(self, eps: float = 0.5, min_samples: int = 5, metric: str = "euclidean") -> None:
        if metric not in ("euclidean", "cosine"):
            raise ValueError(f"metric {metric!r} is not available in the CAD image")
        self.eps, self.min_samples, self.metric = eps, min_samples, metric

    def fit(self, rows: Any) -> DBSCAN:
        """Label each row with its cluster's number, or -1 for noise."""
        points = np.asarray(rows, dtype=float)
        radius = self.eps
        if self.metric == "cosine":
            norms = np.linalg.norm(points, axis=1, keepdims=True)
            points = points / np.where(norms == 0, 1.0, norms)
            radius = float(np.sqrt(2 * self.eps))  # |a - b|² = 2 (1 - cos) for unit vectors
        near = KDTree(points).query_ball_point(points, radius, workers=1)
        core = [len(neighbours) >= self.min_samples for neighbours in near]
        labels = np.full(len(points), -1, dtype=np.intp)
        cluster = 0
        for seed in range(len(points)):
            if labels[seed] != -1 or not core[seed]:
                continue
            pending = [seed]
            while pending:
                point = pending.pop()
                if labels[point] != -1:
                    continue
                labels[point] = cluster
                if core[point]:
                    pending.extend(near[point])
            cluster += 1
        self.labels_ = labels
        return self
