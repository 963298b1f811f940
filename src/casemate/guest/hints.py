"""Short repair hints for the ways in which CAD scripts fail, for a person or a model that will write the next attempt.

OCCT gives no reason when an operation fails, so its hints are derived from the operation: what the library's frames in
the traceback hold, measured when that is cheap.
"""

from __future__ import annotations

import builtins
import difflib
import math
import re
import sys
from types import FrameType, ModuleType, TracebackType
from typing import Any

MESSAGES: tuple[tuple[str, str], ...] = (
    (
        r"Cannot find a solid on the stack|at least one solid on the stack",
        "there is no solid in this chain yet: make one first (box, extrude, revolve) and call this on that object",
    ),
    (
        r"No pending wires present",
        "draw a closed profile right before this call (rect, circle, polyline(…).close()); each is used once",
    ),
    (r"No pending edges present", "draw lines or arcs right before this call"),
    (
        r"requires that edges be selected|no suitable edges|Edges are required|No edges? (were )?selected",
        "the selector matched no edge: check it against the part as it is at this point, for example .edges('|Z')",
    ),
    (
        r"Nth element of an empty list|list index out of range|Attempted to access index",
        "the selection before this is empty or shorter than the index: loosen the selector or use another index",
    ),
    (
        r"More than one wire|Nothing to loft",
        "a loft needs two or more closed profiles: draw one, .workplane(offset=…), draw the next, then .loft()",
    ),
    (r"wires? not planar|co-planar|must be planar", "select exactly one planar face, for example .faces('>Z')"),
    (r"not closed", "the profile is open: end it with .close(), or let its last point be its first"),
    (
        r"No start point specified",
        "begin the profile with moveTo(x, y) or a lineTo, and close it once",
    ),
    (r"zero norm", "a direction has no length: two points that should differ are the same, or an axis is (0, 0, 0)"),
    (r"radius should be positive", "a radius is zero or negative: check how it was computed"),
    (r"makeBox|StdFail_NotDone.*gp_|no result", "the points are the same or in one line: check the coordinates"),
    (r"A face or sketch must be provided", "make a sketch first, and give it to this call or call it in the builder"),
    (r"Null TopoDS_Shape", "the operation before left nothing: check that its amount fits the size of the part"),
    (r"No valid context|not inside a", "call this inside `with BuildPart():`, BuildSketch or BuildLine"),
    (r"takes \d+ positional arguments? but", "give one tuple where a vector is meant, as in translate((x, y, z))"),
    (r"Supported names are", "name the plane 'XY', 'XZ' or 'YZ', or make one with Plane(origin, xDir, normal)"),
)
_SELECTOR = (
    "a selector is '>Z', '<X', '|Z', '#Z', '+Z', '-Z', '>Z[1]' or '%CYLINDER', joined by 'and', 'or', 'not' or 'exc'"
)
_NOT_DONE = ("command not done", "Failed creating a fillet", "Failed creating a chamfer", "Standard_")
_MOST_EDGES = 2000
_OWN = re.compile(r"\b__own_(\w+?)__(?!\w)")
"""How the gate spells the attributes of the script's own classes."""


def hint(error: BaseException, kind: str, message: str, file: str) -> str:
    """One or two sentences, or nothing."""
    if isinstance(error, AttributeError):
        return _attribute(error)
    if isinstance(error, NameError):
        return _name(error, file)
    if isinstance(error, RecursionError):
        return "a function calls itself without end: give it a case that returns"
    if isinstance(error, MemoryError):
        return "the script needed more memory than it may have: make fewer or smaller things"
    if kind == "ParseException":
        return _SELECTOR
    if isinstance(error, TypeError) and (found := _keyword(message)):
        return found
    if kind.startswith(("StdFail", "Standard_")) or any(text in message for text in _NOT_DONE):
        found = _operation(error.__traceback__)
        if found:
            return found
    for pattern, text in MESSAGES:
        if re.search(pattern, message):
            return text
    return ""


def rephrase(error: BaseException, kind: str) -> str:
    """The message of an exception; a selector that cannot be parsed would give the whole grammar as its own."""
    text = getattr(error, "pstr", None) if kind == "ParseException" else None
    return f"{text!r} is not a selector" if isinstance(text, str) else _OWN.sub(r"\1", str(error))


def _public(value: object) -> list[str]:
    names = vars(value) if isinstance(value, ModuleType) else dir(type(value))
    plain = [_OWN.sub(r"\1", name) for name in (*names, *getattr(value, "__dict__", ()))]
    return list(dict.fromkeys(name for name in plain if not name.startswith("_")))


def _near(name: str, names: list[str]) -> list[str]:
    lower = {candidate.lower(): candidate for candidate in names}
    folded = name.lower().replace("_", "")
    close = [candidate for candidate in names if candidate.lower().replace("_", "") == folded]
    close += [lower[found] for found in difflib.get_close_matches(name.lower(), list(lower), 3, 0.6)]
    return list(dict.fromkeys(close))[:3]


def _library(name: str, member: str = "") -> Any:
    return getattr(sys.modules.get(name), member, None) if member else sys.modules.get(name)


def _attribute(error: AttributeError) -> str:
    name, owner = _OWN.sub(r"\1", error.name or ""), error.obj
    if owner is None:
        return "the value is None: the call before returned nothing"
    workplane, shape = _library("cadquery", "Workplane"), _library("cadquery", "Shape")
    if workplane is not None and isinstance(owner, workplane) and hasattr(shape, name):
        return f".{name} belongs to shapes: call .val().{name} on the Workplane"
    if shape is not None and isinstance(owner, shape) and hasattr(workplane, name):
        return f".{name} belongs to Workplane: wrap the shape with cq.Workplane(obj=shape)"
    near = _near(name, _public(owner))
    if near:
        owned = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__name__
        return f"{owned} has no {name}; nearest: {', '.join(near)}"
    if type(owner).__module__.startswith("build123d") and hasattr(workplane, name):
        return f".{name} is CadQuery's; build123d has functions and operators for it"
    return ""


def _name(error: NameError, file: str) -> str:
    name = error.name or ""
    for library in ("cadquery", "build123d", "math"):
        if name and hasattr(_library(library), name) and not name.startswith("_"):
            return f"import it: from {library} import {name}"
    known = list(vars(builtins))
    for frame in _frames(error.__traceback__):
        if frame.f_code.co_filename == file:
            known += [*frame.f_locals, *frame.f_globals]
    near = _near(name, [candidate for candidate in known if not candidate.startswith("_")])
    return f"{name} is not defined; nearest: {', '.join(near)}" if near else f"{name} is not defined before this line"


def _keyword(message: str) -> str:
    match = re.match(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'", message)
    if match is None:
        return ""
    path, keyword = match.groups()
    for library in ("cadquery", "build123d"):
        target: Any = _library(library)
        for step in path.split("."):
            target = getattr(target, step, None)
        code = getattr(target, "__code__", None)
        if code is not None:
            count = code.co_argcount + code.co_kwonlyargcount
            names = [name for name in code.co_varnames[:count] if name != "self"]
            near = _near(keyword, names)
            return f"nearest argument: {near[0]}" if near else f"its arguments: {', '.join(names)[:300]}"
    return ""


def _frames(trace: TracebackType | None) -> list[FrameType]:
    found: list[FrameType] = []
    while trace is not None and len(found) < 200:
        found.append(trace.tb_frame)
        trace = trace.tb_next
    return found


def _operation(trace: TracebackType | None) -> str:
    for frame in reversed(_frames(trace)):
        name = frame.f_code.co_name
        if name in _OPERATIONS:
            return _OPERATIONS[name](frame.f_locals)
    return ""


def _size(values: dict[str, Any], *names: str) -> float | None:
    for name in names:
        value = values.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    return None


def _shape(values: dict[str, Any]) -> Any:
    held: Any = values.get("self", values.get("target"))
    solid = held.findSolid() if hasattr(held, "findSolid") else held
    return getattr(solid, "wrapped", None)


def _edge_lengths(shape: Any) -> list[float]:
    from OCP.BRepAdaptor import BRepAdaptor_Curve
    from OCP.GCPnts import GCPnts_AbscissaPoint
    from OCP.TopAbs import TopAbs_ShapeEnum
    from OCP.TopoDS import TopoDS

    from casemate.guest.measure import sub_shapes

    edges = sub_shapes(shape, TopAbs_ShapeEnum.TopAbs_EDGE)
    if len(edges) > _MOST_EDGES:
        return []
    lengths = []
    for edge in edges:
        try:
            lengths.append(GCPnts_AbscissaPoint.Length_s(BRepAdaptor_Curve(TopoDS.Edge_s(edge))))
        except Exception:  # an edge without a curve, at a cone's tip
            continue
    return [length for length in lengths if length > 1e-7]


def _extents(shape: Any) -> list[float]:
    from casemate.guest.measure import bounds

    box = bounds(shape, exact=False)
    return [] if box is None else [box[axis + 3] - box[axis] for axis in range(3)]


def _blend(what: str, size: float | None, values: dict[str, Any]) -> str:
    if size is not None and size <= 0:
        return f"the {what} is {size:g} mm; it must be positive"
    shape = _shape(values)
    lengths = _edge_lengths(shape) if shape is not None else []
    asked = f"a {what} of {size:g} mm" if size is not None else f"this {what}"
    if not lengths:
        return f"{asked} does not fit: use a smaller one or select fewer edges"
    least = min(lengths)
    if size is not None and size < least / 2:
        return (
            f"{asked} fails though the shortest edge is {least:.4g} mm: select fewer edges, leave out those that meet "
            "rounded or tangent faces, or do this before the holes and cuts"
        )
    return (
        f"{asked} does not fit: the shortest edge of the solid here is {least:.4g} mm, so stay below {least / 2:.4g}, "
        "or well within the faces beside the edges that are selected"
    )


def _fillet(values: dict[str, Any]) -> str:
    return _blend("fillet radius", _size(values, "radius"), values)


def _chamfer(values: dict[str, Any]) -> str:
    return _blend("chamfer length", _size(values, "length", "d", "d1"), values)


def _shell(values: dict[str, Any]) -> str:
    thickness = _size(values, "thickness", "amount")
    shape = _shape(values)
    extents = _extents(shape) if shape is not None else []
    text = "the wall does not fit everywhere: make it thinner, shell before fillets and small details"
    if thickness is None or not extents:
        return text
    return f"a wall of {abs(thickness):g} mm in a solid whose least extent is {min(extents):.4g} mm: {text}"


def _loft(_values: dict[str, Any]) -> str:
    return "a loft needs profiles that do not touch each other, in order, with like numbers of edges; try ruled=True"


def _sweep(_values: dict[str, Any]) -> str:
    return (
        "the profile does not follow the path: start it at the path's first point, across it, and keep it smaller than "
        "the path's tightest bend; try transition='round'"
    )


def _revolve(_values: dict[str, Any]) -> str:
    return "the profile must lie on one side of the axis, and the axis needs two different points"


def _box(_values: dict[str, Any]) -> str:
    return "a dimension is zero or negative: check how it was computed"


_OPERATIONS = {
    "fillet": _fillet,
    "chamfer": _chamfer,
    "chamfer2D": _chamfer,
    "shell": _shell,
    "hollow": _shell,
    "offset_3d": _shell,
    "thicken": _shell,
    "loft": _loft,
    "make_loft": _loft,
    "sweep": _sweep,
    "revolve": _revolve,
    "makeBox": _box,
    "makeCylinder": _box,
    "makeCone": _box,
    "make_box": _box,
    "make_cylinder": _box,
}
