import cadquery as cq


class DimensionError(ValueError):
    """A dimension that makes no part."""


def ring(outer, inner, h=5.0):
    if inner >= outer:
        raise DimensionError(f"inner {inner!r} >= outer {outer!r}")
    return cq.Workplane().circle(outer).circle(inner).extrude(h)


rings = []
for outer, inner in [(10, 5), (4, 6), (8, 7)]:
    try:
        rings.append(ring(outer, inner))
    except DimensionError as error:
        print("skipped:", error, error.args)
    except (TypeError, RuntimeError):
        raise
result = rings[0]
for offset, extra in enumerate(rings[1:], start=1):
    result = result.union(extra.translate((0, 0, 6 * offset)))
