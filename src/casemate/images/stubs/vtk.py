"""Placeholder for VTK's umbrella module; see vtkmodules."""

from vtkmodules import absent as __getattr__

__all__ = ["__getattr__"]
