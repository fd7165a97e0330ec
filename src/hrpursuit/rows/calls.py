"""Rows from a function of one's own that gives the blocks anew for every pass."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.source import BlockError, DataError, Source, check_shape, float_type, repacked

_NAME = "the function that gives blocks"
_END = object()


class CalledSource(Source):
    """Blocks from a function without arguments; it is called once for each pass, and once for a first look."""

    def __init__(self, call: Callable[[], Iterable[Any]]) -> None:
        self.name = _NAME
        self.n_samples = None
        self._call = call
        parts: Any = self._parts()
        first: Array | None = next(parts, None)
        parts.close()
        if first is None:
            raise DataError(f"{self.name} gave none: there are no rows.")
        self.n_features = first.shape[1]
        self.dtype = float_type(first.dtype, f"block 1 of {self.name}")

    def _parts(self) -> Iterator[Array]:
        """The blocks that have rows, checked; whatever goes wrong is reported with the number of the block."""
        n_blocks, n_rows, n_columns, dtype = 0, 0, 0, None
        blocks: Any = None
        try:
            while True:
                try:
                    blocks = iter(self._call()) if blocks is None else blocks
                    given = next(blocks, _END)
                    block = np.asarray(given)
                except Exception as error:
                    raise BlockError(
                        f"block {n_blocks + 1} of {self.name}, from row {n_rows + 1} on, could not be read: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                if given is _END:
                    return
                n_blocks += 1
                label = f"block {n_blocks} of {self.name}"
                check_shape(block.shape, label)
                if len(block) == 0:
                    continue
                n_columns, dtype = n_columns or block.shape[1], dtype or float_type(block.dtype, label)
                if block.shape[1] != n_columns:
                    raise DataError(
                        f"{label} has {block.shape[1]} columns where the first has {n_columns}; all must have as many."
                    )
                if float_type(block.dtype, label).itemsize > dtype.itemsize and block.dtype.kind == "f":
                    raise DataError(f"{label} holds {block.dtype} where the first holds {dtype}; give all as one type.")
                n_rows += len(block)
                yield block
        finally:
            with suppress(AttributeError):
                blocks.close()

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._parts(), n_rows, self.n_features, self.dtype)
