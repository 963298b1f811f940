"""Placeholder for VTK's module of this name; see the package's docstring."""

from vtkmodules import absent as __getattr__

__all__ = ["__getattr__"]
