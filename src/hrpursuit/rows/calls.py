"""Rows from a function of one's own that gives the blocks anew for every pass."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.source import BlockError, Source, check_shape, float_type, repacked

_NAME = "the function that gives blocks"


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
            raise ValueError(f"{self.name} gave none: there are no rows.")
        self.n_features = first.shape[1]
        self.dtype = float_type(first.dtype, f"block 1 of {self.name}")

    def _parts(self) -> Iterator[Array]:
        """The blocks, checked; whatever goes wrong is reported with the number of the block."""
        n_blocks, n_rows, n_columns = 0, 0, None
        blocks: Any = None
        try:
            try:
                blocks = iter(self._call())
                while True:
                    block = np.asarray(next(blocks))
                    n_blocks += 1
                    label = f"block {n_blocks} of {self.name}"
                    check_shape(block.shape, label)
                    float_type(block.dtype, label)
                    n_columns = n_columns or block.shape[1]
                    if block.shape[1] != n_columns:
                        raise ValueError(
                            f"{label} has {block.shape[1]} columns where the first has {n_columns}; all must have as "
                            "many."
                        )
                    n_rows += len(block)
                    yield block
            except StopIteration:
                return
            except (ValueError, BlockError):
                raise
            except Exception as error:
                raise BlockError(
                    f"block {n_blocks + 1} of {self.name}, from row {n_rows + 1} on, could not be read: "
                    f"{type(error).__name__}: {error}"
                ) from error
        finally:
            with suppress(AttributeError):
                blocks.close()

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._parts(), n_rows, self.n_features, self.dtype)
