"""Rows from a function of the user, which yields the blocks again for every pass."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from hrpursuit.core.protocols import Array
from hrpursuit.rows.memory import array_of
from hrpursuit.rows.source import BlockError, DataError, Opener, Source, repacked

_END = object()


class CalledSource(Source):
    """Blocks, arrays or tables, from a function without arguments; it is called once for each pass, and once for a
    first look. Columns of tables are taken by name.
    """

    name = "the function that gives blocks"
    n_samples = None

    def __init__(self, call: Callable[[], Iterable[Any]], columns: Sequence[str] | None = None) -> None:
        self._call, self._columns = call, columns
        parts: Any = self._parts()
        first: tuple[Array, list[str] | None] | None = next(parts, None)
        parts.close()
        if first is None:
            raise DataError(f"{self.name} gave none: there are no rows.")
        self.n_features, self.dtype, self.feature_names = first[0].shape[1], first[0].dtype, first[1]
        self._columns = self.feature_names

    def _parts(self) -> Iterator[tuple[Array, list[str] | None]]:
        """The blocks that have rows, with the names of their columns, checked; whatever goes wrong is reported with the
        number of the block.
        """
        n_blocks, n_rows, first = 0, 0, None
        blocks: Any = None
        try:
            while True:
                label = f"block {n_blocks + 1} of {self.name}"
                try:
                    blocks = iter(self._call()) if blocks is None else blocks
                    given = next(blocks, _END)
                    if given is _END:
                        return
                    block, names = array_of(given, self._columns, label)
                except DataError:
                    raise
                except Exception as error:
                    raise BlockError(
                        f"{label}, from row {n_rows + 1} on, could not be read: {type(error).__name__}: {error}"
                    ) from error
                n_blocks += 1
                if len(block) == 0:
                    continue
                first = block if first is None else first
                if block.shape[1] != first.shape[1]:
                    raise DataError(
                        f"{label} has {block.shape[1]} columns where the first has {first.shape[1]}; all must have as "
                        "many."
                    )
                if block.dtype.itemsize > first.dtype.itemsize:
                    raise DataError(
                        f"{label} holds {block.dtype} where the first holds {first.dtype}; give all as one type."
                    )
                n_rows += len(block)
                yield block, names
        finally:
            with suppress(AttributeError):
                blocks.close()

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked((block for block, _ in self._parts()), n_rows, self.n_features, self.dtype)


def _is_function(data: Any) -> bool:
    return callable(data) and not hasattr(data, "__array__") and not isinstance(data, type)


OPENER = Opener(_is_function, CalledSource)
