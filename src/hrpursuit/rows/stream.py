"""Rows that are read from a source in every pass: a file may be larger than memory."""

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from hrpursuit.core.protocols import Array, Rows, Where
from hrpursuit.rows.array import cache_sized, rows_at, sample_indices, sample_where, sum_of_tuples
from hrpursuit.rows.source import BlockError, DataError, Source, no_rows
from hrpursuit.rows.watch import pass_name, watched

PIECE_BYTES = 8 << 20  # read at once; two of these are held


class StreamedRows(Rows):
    """The rows of a source, read ahead by a thread of its own while the last piece is computed.

    Two pieces are in memory at a time, whatever the length of the data. A block is valid until the next one is asked
    for.

    Parameters
    ----------
    source : Source
    block_size : int or None, default=None
        Rows per block; None chooses by the number of features.

    Attributes
    ----------
    n_passes : int
        Times that the source was read, wholly or in part.
    """

    def __init__(self, source: Source, block_size: int | None = None) -> None:
        self.source = source
        self.n_samples = source.n_samples
        self.n_features = source.n_features
        self.dtype = source.dtype
        self.name = source.name
        self.feature_names = source.feature_names
        self.block_size = block_size or cache_sized(source.n_features, source.dtype)
        block_bytes = max(1, self.block_size * self.n_features * self.dtype.itemsize)
        self.piece_size = self.block_size * max(1, PIECE_BYTES // block_bytes)
        self.n_passes = 0

    def blocks(self) -> Generator[Array]:
        return self._blocks("read")

    def _blocks(self, name: str) -> Generator[Array]:
        self.n_passes += 1
        seen = 0
        with (
            watched(self.watcher, name, self.n_samples) as advance,
            closing(read_ahead(self.source.pieces(self.piece_size), self.name)) as pieces,
        ):
            for piece in pieces:
                for start in range(0, len(piece), self.block_size):
                    block = piece[start : start + self.block_size]
                    yield block
                    advance(len(block))
                seen += len(piece)
        if self.n_samples is None:
            self.n_samples = seen
        elif seen != self.n_samples:
            raise BlockError(f"{self.name} had {self.n_samples} rows and now has {seen}: it changed while it was read.")

    def sum(self, kernel: Callable[..., tuple[Any, ...]], *args: Any) -> tuple[Any, ...]:
        with closing(self.map(kernel, *args)) as parts:
            first = next(parts, None)
            if first is None:
                raise no_rows(self.name)
            return sum_of_tuples(_chain(first, parts))

    def map(self, kernel: Callable[..., Any], *args: Any) -> Generator[Any]:
        with closing(self._blocks(pass_name(kernel))) as blocks:
            for block in blocks:
                yield kernel(block, *args)

    def sample(self, n: int, seed: int, where: Where | None = None) -> Array:
        if where is not None:
            return sample_where(self.blocks, n, seed, where)
        if self.n_samples is None:
            self.n_samples = sum(len(block) for block in self._blocks("count"))
        if self.n_samples == 0:
            raise no_rows(self.name)
        chosen = sample_indices(self.n_samples, n, seed)
        found = None if chosen is None else self.source.take(chosen)
        if found is not None:
            self.n_passes += 1
            return found
        with closing(self._blocks("sample")) as blocks:
            return rows_at(blocks, chosen)


def _chain(first: Any, others: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from others


def read_ahead(pieces: Iterator[Array], name: str) -> Generator[Array]:
    """The same pieces, the next one being read by another thread while the last one is used.

    What fails on the way is reported with the place where it did; the reader is closed in any case.
    """
    n_read = n_rows = 0
    with ThreadPoolExecutor(1, thread_name_prefix="hrpursuit-read") as reader:
        try:
            ahead = reader.submit(next, pieces, None)
            while True:
                try:
                    piece = ahead.result()
                except (BlockError, DataError):
                    raise  # says what is wrong already
                except Exception as error:
                    raise BlockError(
                        f"{name}: block {n_read + 1}, from row {n_rows + 1} on, could not be read: "
                        f"{type(error).__name__}: {error}"
                    ) from error
                if piece is None:
                    return
                n_read, n_rows = n_read + 1, n_rows + len(piece)
                ahead = reader.submit(next, pieces, None)
                yield piece
        finally:
            close: Callable[[], None] = pieces.close  # type: ignore[attr-defined]
            try:
                reader.submit(close).result()
            except RuntimeError:  # the interpreter is on its way out, and the thread is gone
                close()
