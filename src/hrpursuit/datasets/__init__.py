"""Synthetic data."""

from hrpursuit.datasets.synthetic import make_sparse_coded

__all__ = ["make_sparse_coded"]
