"""Scores of shapes whose distances and overlaps are known by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from cad.steps import box, made

from casemate import Host
from casemate.cad.protocols import PROTOCOLS
from casemate.control.runs import Cancellation
from casemate.control.scoring import Comparison, Settings

PLAIN = Settings(points=8192, seed=1, normalise="none", align="none")
L = "cq.Workplane().box(30, 20, 10).cut(cq.Workplane().box(20, 10, 20).translate((10, 10, 0)))"
TURNED = f"{L}.rotate((0, 0, 0), (1, 2, 3), 40).translate((3, 4, 5))"
L_AREA = 2 * (30 * 20 - 15 * 5) + 10 * 2 * (30 + 20)
"""The cut takes a corner of 15 × 5 away, and leaves the outline as long as it was."""


def compare(host: Host, profile: str, generated: str, reference: str, settings: Settings = PLAIN) -> Comparison:
    found = host.compare([made(host, generated)], made(host, reference), settings, profile)
    assert (found.fault, found.message) == ("", "")
    return found


def iou(found: Comparison) -> float:
    assert found.overlap is not None
    assert found.overlap.method == "boolean", found.overlap.message
    return found.overlap.iou


def test_offset_boxes_have_the_overlap_of_the_formula(host: Host, profile: str) -> None:
    found = compare(host, profile, box(10, 20, 30, (2, 3, 5)), box(10, 20, 30))
    common = (10 - 2) * (20 - 3) * (30 - 5)
    assert iou(found) == pytest.approx(common / (2 * 6000 - common), rel=1e-9)
    assert found.distances is not None
    assert found.distances.iogt == pytest.approx(common / 6000, rel=1e-9)


def test_a_sphere_fills_its_cube_by_a_sixth_of_pi(host: Host, profile: str) -> None:
    found = compare(host, profile, "cq.Workplane().sphere(5)", box(10, 10, 10))
    assert iou(found) == pytest.approx(math.pi / 6, rel=1e-9)
    assert found.generated is not None
    assert found.generated.volume == pytest.approx(4 / 3 * math.pi * 125)
    assert found.generated.box == pytest.approx((-5, -5, -5, 5, 5, 5))


def test_a_shape_is_as_far_from_itself_as_the_sampling_makes_it(host: Host, profile: str) -> None:
    """Of n points strewn over an area A the mean squared distance to the nearest is A / (π n)."""
    cube = box(10, 10, 10)
    found = [
        compare(host, profile, cube, cube, replace(PLAIN, points=points, normalise="unit-cube"))
        for points in (1024, 4096, 16384)
    ]
    for points, one in zip((1024, 4096, 16384), found, strict=True):
        assert one.distances is not None
        assert one.distances.chamfer == pytest.approx(2 * 6 / (math.pi * points), rel=0.05)
        assert iou(one) == 1


def test_concentric_spheres_are_apart_by_the_difference_of_their_radii(host: Host, profile: str) -> None:
    found = compare(host, profile, "cq.Workplane().sphere(10)", "cq.Workplane().sphere(5)")
    assert found.distances is not None
    assert found.distances.chamfer == pytest.approx(2 * 5**2, rel=0.01)
    assert found.distances.point_cloud == pytest.approx(5, rel=0.01)
    assert found.distances.hausdorff == pytest.approx(5, rel=0.02)
    assert iou(found) == pytest.approx(1 / 8, rel=1e-9)


def test_disjoint_cubes(host: Host, profile: str) -> None:
    """From a point at x of the far cube the near one's face, at 5, is x - 5 away; x has mean 50, variance 125 / 9."""
    found = compare(host, profile, box(10, 10, 10, (50, 0, 0)), box(10, 10, 10))
    assert found.distances is not None
    assert found.distances.point_cloud == pytest.approx(45, rel=0.005)
    assert found.distances.chamfer == pytest.approx(2 * (45**2 + 125 / 9), rel=0.005)
    assert found.distances.hausdorff == pytest.approx(50, rel=0.01)
    assert (iou(found), found.distances.iogt) == (0, 0)
    assert (
        iou(compare(host, profile, box(10, 10, 10, (50, 0, 0)), box(10, 10, 10), replace(PLAIN, align="centre"))) == 1
    )


@pytest.mark.parametrize(
    ("normalise", "generated", "reference", "wanted"),
    [
        ("none", box(20, 20, 20), box(10, 10, 10), 1 / 8),
        ("unit-cube", box(20, 20, 20, (7, 8, 9)), box(10, 10, 10), 1),
        ("unit-cube", box(20, 20, 10), box(10, 10, 10), 1 / 2),
        ("inertia", box(20, 40, 60, (7, 8, 9)), box(10, 20, 30), 1),
        # 10 reaches to 5, beyond 2, and comes into -1 … 1; 3 reaches to 1.5 and stays.
        ("deepcad", box(10, 10, 10), box(2, 2, 2), 1),
        ("deepcad", box(3, 3, 3), box(2, 2, 2), 8 / 27),
        ("deepcad", box(2, 2, 2), box(10, 10, 10), 8 / 1000),
    ],
)
def test_scaled_shapes_under_each_normalisation(
    normalise: str, generated: str, reference: str, wanted: float, host: Host, profile: str
) -> None:
    found = compare(host, profile, generated, reference, replace(PLAIN, points=100, normalise=normalise))
    assert iou(found) == pytest.approx(wanted, rel=1e-6)


def test_a_turned_shape_without_and_with_alignment(host: Host, profile: str) -> None:
    asis = compare(host, profile, TURNED, L)
    assert iou(asis) < 0.3
    assert asis.distances is not None
    assert asis.distances.chamfer > 10
    noise = 2 * L_AREA / (math.pi * PLAIN.points)
    for align, least in (("icp", 0.99), ("principal-axes", 1 - 1e-6)):
        found = compare(host, profile, TURNED, L, replace(PLAIN, align=align))
        assert iou(found) >= least
        assert found.distances is not None
        assert found.distances.chamfer == pytest.approx(noise, rel=0.08)


def test_a_shape_in_several_files_is_taken_together(host: Host, profile: str) -> None:
    halves = [made(host, box(5, 10, 10, (x, 0, 0))) for x in (-2.5, 2.5)]
    found = host.compare(halves, made(host, box(10, 10, 10)), PLAIN, profile)
    assert iou(found) == pytest.approx(1, rel=1e-9)
    assert found.generated is not None
    assert found.generated.volume == pytest.approx(1000)


def test_the_same_seed_gives_the_same_digits_and_another_one_others(host: Host, profile: str) -> None:
    pair = "cq.Workplane().sphere(5)", box(10, 10, 10)
    first, again, other = (
        compare(host, profile, *pair, replace(PLAIN, points=500, align="icp", seed=seed)) for seed in (3, 3, 4)
    )
    assert first == again
    assert first.distances != other.distances


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_shape_and_itself_under_each_protocol(name: str, host: Host, profile: str) -> None:
    shape = box(1.5, 1, 0.5)
    found = compare(host, profile, shape, shape, PROTOCOLS[name].settings(seed=5, points=2000))
    assert iou(found) > 0.98
    assert found.distances is not None
    assert found.distances.iogt > 0.99


INSIDE = """\
import json
from casemate.guest import inspect, measure, overlap, surface
import cadquery as cq
import numpy as np

def loaded(body):
    shape = body.val().wrapped
    box = np.array(measure.bounds(shape, exact=True))
    return shape, surface.triangles(shape, box)

cube, sphere = loaded(cq.Workplane().box(10, 10, 10)), loaded(cq.Workplane().sphere(5).translate((3, 0, 0)))
surfaces = cube[1], sphere[1]
volumes = 1000.0, 4 / 3 * np.pi * 125
exact = overlap.boolean(cube[0], sphere[0], surfaces, np.random.default_rng(1)).iou
seen = overlap.sampled(volumes, surfaces, np.random.default_rng(2))
common = exact * sum(volumes) / (1 + exact)
doubts = {}
for name, told in (("right", common), ("nothing", 0.0), ("all", 523.0), ("less", 0.9 * common), ("more", 1.1 * common)):
    try:
        overlap._check(told, volumes, surfaces, np.random.default_rng(3))
        doubts[name] = ""
    except overlap.Doubtful as doubt:
        doubts[name] = str(doubt)
print(json.dumps([exact, seen.iou, seen.error, seen.samples, doubts]))
result = cq.Workplane().box(1, 1, 1)
"""


def test_an_estimate_is_near_and_a_boolean_that_lies_is_found(host: Host, profile: str) -> None:
    request = host.request(INSIDE, profile, None, None, "local", "local", gate=False)
    result = host.execute(request, Cancellation(), lambda _: None)
    exact, estimate, error, rays, doubts = json.loads(result.stdout.text)
    cap = math.pi * 3**2 * (3 * 5 - 3) / 3  # of the sphere that is outside: its height is 3 + 5 - 5
    common = 4 / 3 * math.pi * 125 - cap
    assert exact == pytest.approx(common / (1000 + cap), rel=1e-6)
    assert rays > 20_000
    assert 0 < error < 0.005
    assert abs(estimate - exact) < 3 * error
    assert doubts["right"] == ""
    assert all(doubts[name] for name in ("nothing", "all", "less", "more"))
