"""How published benchmarks compare a generated shape with its reference, by name.

Of each stands here what its authors' code, or code that follows their paper, does; what differs here is said. All take
points uniformly over the area of both surfaces, each shape's own. A benchmark whose definition could not be read is not
named: so there is no `text2cad`.
"""

from __future__ import annotations

from dataclasses import dataclass

from casemate.control.scoring import Settings
from casemate.errors import Denied

NORMALISATIONS = {
    "none": "as they are, in mm",
    "unit-cube": "each by itself: the middle of its box to (½, ½, ½), the longest side of its box to 1",
    "deepcad": "as they are; a generated shape that reaches beyond 2 is divided by its largest coordinate",
    "inertia": "each by itself: its centre of mass to 0, the trace of its inertia over its volume to 1",
}
"""Before distances are taken."""
ALIGNMENTS = {
    "none": "as they are",
    "centre": "the centre of mass of the generated shape onto that of the reference",
    "icp": "by the iterative closest point, from where it is and from the 24 rotations of a cube",
    "principal-axes": "the centre of mass, and the principal axes of inertia in the best of their four positions",
}
"""Of the generated shape onto the reference, after the normalisation."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """`penalty`: what a shape that is no part is taken to have, by metric; without one it is in the ratio alone."""

    name: str
    points: int
    normalise: str
    align: str
    source: str
    penalty: dict[str, float] | None = None

    def settings(
        self, *, points: int | None = None, seed: int = 0, normalise: str | None = None, align: str | None = None
    ) -> Settings:
        """Those of the protocol, with what is given in their place; raises Denied."""
        chosen = Settings(
            self.points if points is None else points, seed, normalise or self.normalise, align or self.align
        )
        if chosen.normalise not in NORMALISATIONS:
            raise Denied(f"no normalisation is called {chosen.normalise!r}: {', '.join(NORMALISATIONS)}")
        if chosen.align not in ALIGNMENTS:
            raise Denied(f"no alignment is called {chosen.align!r}: {', '.join(ALIGNMENTS)}")
        return chosen


PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol(
            "cad-recode", 8192, "unit-cube", "none",
            "Rukhovich et al., CAD-Recode (ICCV 2025), evaluate.py of its repository: squared Chamfer distance over "
            "8192 points, told ×10³ as mean and median over the valid; IoU; invalidity ratio. There the references "
            "come normalised and the solids are meshes.",
        ),
        Protocol(
            "deepcad", 2000, "deepcad", "none",
            "Wu et al., DeepCAD (ICCV 2021), evaluation/evaluate_ae_cd.py of its repository: squared Chamfer distance "
            "over 2000 points, mean and median over the valid, and the invalid ratio. Its shapes are made in a cube "
            "of side 2; the largest coordinate is that of the box here, that of the points there.",
        ),
        Protocol(
            "cadprompt", 8192, "unit-cube", "icp",
            "Alrashedy et al., CADPrompt and CADCodeVerify (ICLR 2025), section 5.2, as code that follows it has it: "
            "point cloud distance, Hausdorff distance and IoGT of the boxes, in the unit cube after ICP, as median and "
            "quartiles over all, where what did not compile has √3, √3 and 0. The number of points and the starts of "
            "ICP are ours.",
            {"point_cloud": 3**0.5, "hausdorff": 3**0.5, "iogt": 0.0},
        ),
        Protocol(
            "cad-coder", 8192, "inertia", "principal-axes",
            "Doris et al., CAD-Coder (IDETC 2025), cq_align_shapes of its code: the best IoU of four positions. All "
            "four are rotations here; there they may be reflections. It has no distances: the points are ours.",
        ),
    )
}  # fmt: skip
DEFAULT = "cad-recode"


def protocol(name: str) -> Protocol:
    """By name; raises Denied."""
    if name not in PROTOCOLS:
        raise Denied(f"no protocol is called {name!r}: {', '.join(PROTOCOLS)}")
    return PROTOCOLS[name]
