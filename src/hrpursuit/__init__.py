"""Sparse coding with orthogonal and complete dictionaries by Hierarchical Riemannian Pursuit."""

from importlib.metadata import PackageNotFoundError, version

from hrpursuit.estimators import HRP, MiniBatchHRP, recover_atom, sparse_code
from hrpursuit.versions import show_versions

try:
    __version__ = version("hrpursuit")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0+unknown"

__all__ = ["HRP", "MiniBatchHRP", "recover_atom", "show_versions", "sparse_code"]
