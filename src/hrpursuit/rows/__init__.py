"""Where rows come from."""

from hrpursuit.rows.array import ArrayRows, gather
from hrpursuit.rows.mapped import MappedRows, whitening

__all__ = ["ArrayRows", "MappedRows", "gather", "whitening"]
