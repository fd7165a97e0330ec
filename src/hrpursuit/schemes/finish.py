"""Finishes over all rows for data that is not exactly sparse."""

import numpy as np

from hrpursuit.core.protocols import Array, Rows


def finish(rows: Rows, starts: list[Array], sample, *, lost: bool, setup) -> Array:
    return starts[0]
