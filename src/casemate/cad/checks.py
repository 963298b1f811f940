"""What a caller demands of a part beside being one, judged on the facts of the second sandbox alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from casemate.model import Facts


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with an attempt: a code for programs, a sentence for the model."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Checks:
    """None: not asked for. Lengths in mm, volumes in mm³; `tolerance` is relative, for the bounding box.

    `bounding_box` is the extent along x, y and z. `solids` is how many there must be. `watertight` wants a valid shape
    whose shells are closed. `holes` counts the axes of round inner faces that go all the way around, so a counterbored
    hole is one. `symmetric` names axes ("xy") across whose middle plane the mass is mirrored, to second moments.
    """

    bounding_box: tuple[float, float, float] | None = None
    tolerance: float = 0.01
    volume: tuple[float, float] | None = None
    solids: int | None = 1
    watertight: bool = False
    holes: int | None = None
    symmetric: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError for what no part could ever pass."""
        if self.bounding_box is not None and not all(math.isfinite(x) and x > 0 for x in self.bounding_box):
            raise ValueError(f"bounding_box {self.bounding_box}: three positive lengths")
        if not 0 < self.tolerance < 1:
            raise ValueError(f"tolerance {self.tolerance}: between 0 and 1")
        if self.volume is not None and not 0 <= self.volume[0] <= self.volume[1]:
            raise ValueError(f"volume {self.volume}: the least, then the most")
        for name in ("solids", "holes"):
            value = getattr(self, name)
            if value is not None and value < (1 if name == "solids" else 0):
                raise ValueError(f"{name} {value}: a count")
        if set(self.symmetric) - set("xyz"):
            raise ValueError(f"symmetric {self.symmetric!r}: letters of x, y and z")

    @property
    def count(self) -> int:
        """How many things are asked for."""
        single = (self.bounding_box, self.volume, self.solids, self.watertight or None, self.holes)
        return sum(value is not None for value in single) + len(set(self.symmetric))

    def wishes(self) -> str:
        """The checks as sentences for the model; "" if there is none that it could not guess."""
        told = []
        if self.bounding_box is not None:
            told.append(f"Its bounding box is {_by(self.bounding_box)} mm along x, y and z.")
        if self.volume is not None:
            told.append(f"Its volume is between {self.volume[0]:g} and {self.volume[1]:g} mm³.")
        if self.solids is not None and self.solids != 1:
            told.append(f"It has {self.solids} solids.")
        if self.holes is not None:
            told.append(f"It has {self.holes} round holes.")
        if self.watertight:
            told.append("It is watertight.")
        if self.symmetric:
            told.append(f"It is symmetric across the middle along {' and '.join(self.symmetric)}.")
        return "\n".join(told)

    def faults(self, facts: Facts) -> tuple[Fault, ...]:
        """What of a part's facts is not as demanded."""
        found = []
        x0, y0, z0, x1, y1, z1 = facts.bounding_box
        extent = (x1 - x0, y1 - y0, z1 - z0)
        if self.bounding_box is not None:
            close = (math.isclose(a, b, rel_tol=self.tolerance) for a, b in zip(extent, self.bounding_box, strict=True))
            if not all(close):
                found.append(
                    Fault("bounding_box", f"its bounding box is {_by(extent)} mm, not {_by(self.bounding_box)}")
                )
        if self.volume is not None and not self.volume[0] <= facts.volume <= self.volume[1]:
            message = f"its volume is {facts.volume:.6g} mm³, not between {self.volume[0]:g} and {self.volume[1]:g}"
            found.append(Fault("volume", message))
        if self.solids is not None and facts.solids != self.solids:
            message = f"it is made of {facts.solids} solids, not {self.solids}"
            if facts.solids > self.solids == 1:
                message += ": join them with union, and make them overlap or touch over an area"
            found.append(Fault("solids", message))
        if self.watertight and not (facts.valid and facts.closed):
            found.append(Fault("watertight", "it is not watertight: a shell is open or a face is faulty"))
        if self.holes is not None and facts.holes != self.holes:
            found.append(Fault("holes", f"it has {facts.holes} round holes, not {self.holes}"))
        for axis in sorted(set(self.symmetric)):
            if axis not in facts.symmetric:
                found.append(Fault("symmetric", f"it is not symmetric across its middle along {axis}"))
        return tuple(found)


def _by(extent: tuple[float, float, float]) -> str:
    return " × ".join(f"{value:.6g}" for value in extent)
