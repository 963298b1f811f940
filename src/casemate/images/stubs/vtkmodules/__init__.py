"""Stands in for VTK in the CAD image, where nothing is ever drawn on a screen.

CadQuery imports a handful of VTK's classes when it is imported and calls them only to display a shape or to write
VTK's own formats. VTK itself would bring 200 MB, 150 shared objects, libGL and libX11 into every room.
"""

from __future__ import annotations

from typing import Any


class _Absent:
    """A class that can be named, subclassed and used in annotations, but not called."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise RuntimeError(f"{type(self).__name__} is not available: the CAD image has no display (VTK is left out)")


def absent(name: str) -> type[Any]:
    """Give a placeholder class of that name; `from vtkmodules.X import Y` ends here through `__getattr__`."""
    if name.startswith("_"):
        raise AttributeError(name)
    return type(name, (_Absent,), {"__module__": "vtkmodules"})
