"""Placeholder for OCP's bridge to VTK, which the OCP wheel without VTK does not have; see vtkmodules."""

from vtkmodules import absent as __getattr__

__all__ = ["__getattr__"]
