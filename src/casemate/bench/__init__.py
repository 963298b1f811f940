"""Measures what the walls cost, as ratios of things that were measured in turn in one run (docs/performance.md)."""
