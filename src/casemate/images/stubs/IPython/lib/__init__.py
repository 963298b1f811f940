"""Holds `pretty`."""
