"""What counts as geometry among Python values, and the OCCT shapes inside them.

Works on CadQuery's and build123d's objects by their own attributes, so that neither library has to be imported for the
other's sake. Nothing here judges a shape: that is the second stage's work.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from OCP.BRep import BRep_Builder
from OCP.TopAbs import TopAbs_ShapeEnum
from OCP.TopoDS import TopoDS_Compound, TopoDS_Iterator, TopoDS_Shape

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Kind(IntEnum):
    """How much of a part a value is, in rising order."""

    BARE = 0
    """A workplane with nothing on it."""
    CURVE = 1
    FACE = 2
    CHAIN = 3
    """Faces or edges that were selected on a solid further up their chain."""
    SOLID = 4
    """Solids, or the empty compound that a cut leaves: it must not be passed over in silence."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One shape to hand over, placed; named if it is a component of an assembly."""

    name: str
    shape: Any


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a value holds; `elements` are its shapes as the script had them, to know one shown twice."""

    kind: Kind
    type: str
    leaves: tuple[Leaf, ...]
    elements: tuple[Any, ...]

    def cut(self, most: int) -> Geometry:
        """With the last components as one, so that there are no more than `most`."""
        rest = Leaf("others", compound([leaf.shape for leaf in self.leaves[most - 1 :]]))
        return replace(self, leaves=(*self.leaves[: most - 1], rest))

    def same(self, other: Geometry) -> bool:
        """True if both hold the very same shapes in the same places."""
        return len(self.elements) == len(other.elements) and all(
            mine.IsSame(theirs) for mine, theirs in zip(self.elements, other.elements, strict=True)
        )


def kind_of(value: object) -> Kind | None:
    """What a single value (not a list) is, or None if it is not geometry at all."""
    if isinstance(value, TopoDS_Shape):
        return None if value.IsNull() else _dimension(value)
    if _is(value, "cadquery", "Workplane"):
        return _workplane_kind(value)
    if _is(value, "cadquery", "Assembly"):
        return Kind.SOLID
    if _is(value, "cadquery", "Sketch"):
        return Kind.FACE
    if _is(value, "build123d", "Builder"):
        return {"BuildPart": Kind.SOLID, "BuildSketch": Kind.FACE}.get(type(value).__name__, Kind.CURVE)
    if _is(value, "build123d", "Part"):
        return Kind.SOLID
    if _is(value, "cadquery", "Shape") or _is(value, "build123d", "Shape"):
        shape = wrapped(value)
        return Kind.BARE if shape is None else _dimension(shape)
    return None


def geometry(value: Any) -> Geometry | None:
    """The shapes of a single value, or None if it holds none."""
    kind = kind_of(value)
    if kind is None:
        return None
    if _is(value, "cadquery", "Assembly"):
        return _assembly(_cadquery_leaves(value))
    if _is(value, "build123d", "Shape") and getattr(value, "children", None) and wrapped(value) is not None:
        return _assembly(_build123d_leaves(value, wrapped(value)))
    elements = _elements(value)
    if not elements:
        return None
    one = elements[0] if len(elements) == 1 else compound(elements)
    return Geometry(kind, "sketch" if kind is Kind.FACE else "shape", (Leaf("", one),), tuple(elements))


def label(value: Any) -> str:
    """The name that an object carries itself, as assemblies do; empty if it was not given one."""
    for library, kind, attribute in (("cadquery", "Assembly", "name"), ("build123d", "Shape", "label")):
        if _is(value, library, kind):
            held = getattr(value, attribute, "")
            return held if isinstance(held, str) and not _UUID.fullmatch(held) else ""
    return ""


def wrapped(value: Any) -> Any:
    """The OCCT shape of a library's object, or None; build123d asserts that there is one."""
    try:
        shape = value.wrapped
    except (AttributeError, AssertionError):
        return None
    return shape if isinstance(shape, TopoDS_Shape) and not shape.IsNull() else None


def compound(shapes: list[Any]) -> Any:
    """Several shapes as one."""
    whole = TopoDS_Compound()
    builder = BRep_Builder()
    builder.MakeCompound(whole)
    for shape in shapes:
        builder.Add(whole, shape)
    return whole


def merged(parts: list[Geometry]) -> Geometry:
    """Several values as one part, where there are too many to deliver one by one."""
    elements = [element for part in parts for element in part.elements]
    return Geometry(max(part.kind for part in parts), "shape", (Leaf("", compound(elements)),), tuple(elements))


def _is(value: object, library: str, name: str) -> bool:
    """isinstance() against a library's class, without importing the library."""
    if name == "Builder":
        return any(base.__name__ == name and base.__module__.startswith(library) for base in type(value).__mro__)
    cls = getattr(sys.modules.get(library), name, None)
    return isinstance(cls, type) and isinstance(value, cls)


def _dimension(shape: Any) -> Kind:
    kind = shape.ShapeType()
    if kind in (TopAbs_ShapeEnum.TopAbs_SOLID, TopAbs_ShapeEnum.TopAbs_COMPSOLID):
        return Kind.SOLID
    if kind in (TopAbs_ShapeEnum.TopAbs_SHELL, TopAbs_ShapeEnum.TopAbs_FACE):
        return Kind.FACE
    if kind != TopAbs_ShapeEnum.TopAbs_COMPOUND:
        return Kind.CURVE
    found: Kind | None = None
    for child in _children(shape):
        found = max(found or Kind.BARE, _dimension(child))
        if found is Kind.SOLID:
            break
    return Kind.SOLID if found is None else found


def _children(shape: Any) -> Iterator[Any]:
    iterator = TopoDS_Iterator(shape)
    while iterator.More():
        yield iterator.Value()
        iterator.Next()


def _stack(workplane: Any) -> list[Any]:
    """The OCCT shapes on a Workplane's stack; sketches give their faces, points give nothing."""
    found = []
    for item in workplane.objects:
        if _is(item, "cadquery", "Sketch"):
            found += _sketch(item)
        elif (shape := wrapped(item)) is not None:
            found.append(shape)
    return found


def _workplane_kind(workplane: Any) -> Kind:
    best = max((_dimension(shape) for shape in _stack(workplane)), default=Kind.BARE)
    if best is not Kind.SOLID and _above(workplane) is not None:
        return Kind.CHAIN
    return best


def _above(workplane: Any) -> Any:
    """The solid further up the chain, as every operation of CadQuery finds it."""
    try:
        return workplane.findSolid().wrapped
    except ValueError:
        return None


def _elements(value: Any) -> list[Any]:
    if isinstance(value, TopoDS_Shape):
        return [value]
    if _is(value, "cadquery", "Workplane"):
        stack = _stack(value)
        solids = [shape for shape in stack if _dimension(shape) is Kind.SOLID]
        if solids:
            return solids
        above = _above(value)
        return stack if above is None else [above]
    if _is(value, "cadquery", "Sketch"):
        return _sketch(value)
    if _is(value, "build123d", "Builder"):
        held = next((getattr(value, name) for name in ("part", "sketch", "line") if hasattr(value, name)), None)
        return [] if held is None else _elements(held)
    shape = wrapped(value)
    return [] if shape is None else [shape]


def _sketch(sketch: Any) -> list[Any]:
    return [face.wrapped for face in sketch]


def _assembly(placed: Iterator[tuple[str, Any]]) -> Geometry | None:
    """Solids only, where there are any: a wire that was added for orientation is no component."""
    every = list(placed)
    solids = [(name, shape) for name, shape in every if _dimension(shape) is Kind.SOLID]
    leaves = tuple(_named(solids or every))
    kind = Kind.SOLID if solids else Kind.FACE
    return Geometry(kind, "assembly", leaves, tuple(leaf.shape for leaf in leaves)) if leaves else None


def _cadquery_leaves(assembly: Any) -> Iterator[tuple[str, Any]]:
    for shape, path, location, _ in assembly:
        yield path.rsplit("/", 1)[-1], shape.wrapped.Moved(location.wrapped)


def _build123d_leaves(node: Any, placed: Any) -> Iterator[tuple[str, Any]]:
    """Each child's own shape as it stands in the parent's compound: only that one moves with the parent."""
    children = list(node.children)
    shapes = list(_children(placed))
    if len(children) != len(shapes):
        yield node.label, placed
        return
    for child, shape in zip(children, shapes, strict=True):
        if child.children:
            yield from _build123d_leaves(child, shape)
        else:
            yield child.label, shape


def _named(leaves: Iterable[tuple[str, Any]]) -> Iterator[Leaf]:
    """Leaves with a name each; CadQuery's default names are random and would make every file differ."""
    taken: set[str] = set()
    for name, shape in leaves:
        base = "solid" if not name or _UUID.fullmatch(name) else name[:60]
        unique, number = base, 1
        while unique in taken:
            number += 1
            unique = f"{base}-{number}"
        taken.add(unique)
        yield Leaf(unique, shape)
