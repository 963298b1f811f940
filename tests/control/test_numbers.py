"""Numbers that are none never become a part, and numpy works behind the gate as it does anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import confined, weakened

from casemate import Host, Reason, Verdict

CADQUERY = "import math\nimport cadquery as cq\nresult = "
BUILD123D = "import math\nfrom build123d import *\nresult = "
NOT_FINITE = (
    CADQUERY + "cq.Workplane().box(math.inf, 1, 1)",
    CADQUERY + "cq.Solid.makeBox(math.inf, 1, 1)",
    CADQUERY + "cq.Solid.makeBox(1, math.nan, 1)",
    CADQUERY + "cq.Solid.makeSphere(math.inf)",
    CADQUERY + "cq.Solid.makeCylinder(math.nan, 1)",
    CADQUERY + "cq.Workplane().box(1, 1, 1).translate((math.inf, 0, 0))",
    CADQUERY + "cq.Solid.makeBox(1, 1, 1).moved(cq.Location(cq.Vector(math.nan, 0, 0)))",
    BUILD123D + "Box(math.nan, 1, 1)",
    BUILD123D + "Box(math.inf, 1, 1)",
    BUILD123D + "Sphere(math.inf)",
    BUILD123D + "Cylinder(1, math.nan)",
    BUILD123D + "Pos(math.nan, 0, 0) * Box(1, 1, 1)",
    BUILD123D + "scale(Box(1, 1, 1), math.nan)",
)
# OCCT itself refuses these, with an exception that the script sees.
ERRORS = (CADQUERY + "cq.Solid.makeBox(1e300, 1, 1)", BUILD123D + "scale(Box(1, 1, 1), math.inf)")


@pytest.mark.parametrize("source", NOT_FINITE, ids=lambda source: source.rpartition("result = ")[2])
def test_a_shape_that_is_not_finite_is_told_and_never_delivered(source: str, host: Host, profile: str) -> None:
    result = host.run(source, profile)
    assert (result.outcome.reason, result.outcome.verdict) == (Reason.EXITED, Verdict.NOT_FINITE)
    assert not result.ok
    assert result.artifacts == {}


@pytest.mark.parametrize("source", ERRORS, ids=lambda source: source.rpartition("result = ")[2])
def test_a_shape_that_the_library_refuses_is_the_scripts_error(source: str, host: Host, profile: str) -> None:
    result = host.run(source, profile)
    assert (result.outcome.reason, result.outcome.exit_code) == (Reason.EXITED, 1)
    assert result.outcome.error is not None
    assert result.artifacts == {}


# Each of these makes numpy's C code import something the first time.
ARRAYS = """
import numpy as np
a = np.arange(6.0).reshape(2, 3)
print(a)
print(repr(a), a[0, 1], f"{a[1, 2]:.1f}")
print(a.max(), a.min(), a.sum(), a.mean(axis=0), a.std(), a.var(), a.any(), a.all(), a.prod())
print(a.clip(1, 4).round(1), a.argmax(), a.argmin(), a.cumsum(), a.T @ a)
print(np.linalg.norm(a), np.median(a), np.sort(a), np.array([True, False]), np.array([1, 2]) / 2)
"""
# The first lines, by hand.
PRINTED = "[[0. 1. 2.]\n [3. 4. 5.]]\narray([[0., 1., 2.],\n       [3., 4., 5.]]) 1.0 5.0\n5.0 0.0 15.0 [1.5 2.5 3.5] "


def test_arrays_are_printed_and_measured_behind_the_gate(host: Host, profile: str) -> None:
    result = host.run(ARRAYS, profile)
    assert result.outcome.error is None, result.outcome
    assert result.outcome.denials == ()
    assert result.stdout.text.startswith(PRINTED)


def test_twin_they_are_not_where_the_template_did_not_use_them_before(tmp_path: Path, profile: str) -> None:
    (tmp_path / "gated.py").write_text(ARRAYS, "utf-8")
    package = str(weakened(tmp_path, (("guest/warm.py", "    numbers()\n", ""),)))
    with confined("successive", package, "cad", profile, "1", str(tmp_path / "gated.py")) as running:
        [job] = running.finish(100)
    assert "Error" in job["stderr"]
