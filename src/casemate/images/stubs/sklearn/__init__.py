"""Stands in for scikit-learn: build123d uses one small algorithm of it (60 MB, a second of every import)."""
