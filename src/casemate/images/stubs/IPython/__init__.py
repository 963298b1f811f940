"""Stands in for IPython: build123d needs two names of `IPython.lib.pretty`, not a shell (50 packages)."""
