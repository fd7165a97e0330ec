"""Compress rows as they come."""

from dataclasses import replace
from typing import Any

import numpy as np

from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.files.container import Writer, fitting_chunk_rows
from hrpursuit.compression.tables.columns import Schema, Table, take_apart
from hrpursuit.compression.tables.dtypes import NUMPY
from hrpursuit.compression.targets import check_settings, choose_target

_MOST_PARTS = 64  # tables that wait for a chunk to fill; more are joined


class Encoder:
    """Compress rows as they come, like `zlib.compressobj`: gives bytes to be written one after the other.

    No more than one chunk of rows is kept. Each chunk meets the target on its own; give exactly one of `rmse`,
    `max_error`, `n_nonzero` and `lossless=True`.

    Parameters
    ----------
    rmse : float, default=None
        Relative RMSE over the readings of each chunk, as a fraction.
    max_error : float, default=None
        Bound on the error of every single reading, in the unit of the table.
    n_nonzero : int, default=None
        Coefficients a row in a dictionary learned by HRP, from the first chunk.
    lossless : bool, default=False
        Keep every bit.
    effort : {"default", "fast"}, default="default"
        How long to search for the shortest file.
    basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
        Basis over the sensors where readings are transformed.
    chunk_rows : int, default=1000
        Rows of a chunk, from 1 to 65536; fewer if they would have more than 2^24 readings.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.compression import Decoder, Encoder
    >>> encoder = Encoder(lossless=True, chunk_rows=100)
    >>> rows = np.arange(60.0).reshape(30, 2)
    >>> data = b"".join([encoder.append(rows) for _ in range(5)] + [encoder.finish()])
    >>> [len(table) for table in Decoder(data)]
    [100, 50]
    """

    def __init__(
        self,
        *,
        rmse: float | None = None,
        max_error: float | None = None,
        n_nonzero: int | None = None,
        lossless: bool = False,
        effort: str = "default",
        basis: str = "adaptive",
        chunk_rows: int = 1000,
    ) -> None:
        self.target = choose_target(rmse=rmse, max_error=max_error, n_nonzero=n_nonzero, lossless=lossless)
        self._chunk_rows = check_settings(effort, basis, chunk_rows)
        self._coder = ChunkCoder(self.target, effort=effort, basis=basis)
        self._schema: Schema | None = None
        self._writer: Writer | None = None
        self._waiting: list[Table] = []
        self._n_waiting = 0
        self._n_rows = 0
        self._finished = False

    def append(self, rows: Any) -> bytes:
        """Add rows.

        Parameters
        ----------
        rows : array-like or DataFrame of shape (n_rows, n_columns)
            The same columns each time, of the same types. DataFrames that each count their rows from 0 are numbered
            on. `attrs` are those of the first.

        Returns
        -------
        data : bytes
            What is ready to be written; often nothing.
        """
        self._check_open()
        table = take_apart(rows)
        if self._schema is None:
            self._schema = table.schema
            self._chunk_rows = fitting_chunk_rows(self._chunk_rows, len(table.columns))
        table = _fitted(table, self._schema, self._n_rows)
        self._n_rows += table.n_rows
        out, at = [], 0
        n_waiting = self._n_waiting
        while n_waiting + table.n_rows - at >= self._chunk_rows:
            stop = at + self._chunk_rows - n_waiting
            out.append(self._encode([*self._waiting, table.rows(at, stop)]))
            self._waiting, n_waiting, at = [], 0, stop
        if at < table.n_rows:
            self._waiting.append(_copy(table.rows(at, table.n_rows)))
        self._n_waiting = n_waiting + table.n_rows - at
        if len(self._waiting) > _MOST_PARTS:
            self._waiting = [_joined(self._waiting)]
        return b"".join(out)

    def finish(self) -> bytes:
        """Give the rest of the file; nothing can be added afterwards.

        Returns
        -------
        data : bytes
            The last rows, and the index.
        """
        self._check_open()
        if self._schema is None:
            raise ValueError("nothing was appended: a file needs to know its columns; append a table without rows.")
        self._finished = True
        rest = self._encode(self._waiting) if self._waiting else b""
        self._waiting = []
        if self._writer is None:
            self._writer = Writer(self._schema, self.target, self._chunk_rows, b"")
            rest = self._writer.start
        return rest + self._writer.end()

    def _check_open(self) -> None:
        if self._finished:
            raise ValueError("this Encoder has finished its file; make a new one.")

    def _encode(self, parts: list[Table]) -> bytes:
        chunk = _joined(parts)
        out = b""
        if self._writer is None:
            shared = self._coder.prepare(chunk.columns, chunk.schema.limits) if chunk.columns else b""
            schema = replace(chunk.schema, labels=chunk.schema.labels.counting_as(chunk.labels))
            self._writer = Writer(schema, self.target, self._chunk_rows, shared)
            out = self._writer.start
        return out + self._writer.chunk(chunk, self._coder.encode(chunk.columns) if chunk.columns else b"")


def _fitted(table: Table, schema: Schema, n_before: int) -> Table:
    """The table in the types of the first one, or ValueError."""
    here = table.schema
    if here.is_frame != schema.is_frame:
        names = ("an array", "a DataFrame")
        raise ValueError(
            f"the first rows were {names[schema.is_frame]}, these are {names[here.is_frame]}; stay with one."
        )
    if len(here.kinds) != len(schema.kinds):
        raise ValueError(f"the first rows had {len(schema.kinds)} columns, these have {len(here.kinds)}.")
    if here.names is not None and schema.names is not None and list(here.names.values) != list(schema.names.values):
        wrong = next((a, b) for a, b in zip(schema.names.values, here.names.values, strict=True) if a != b)
        raise ValueError(
            f"the columns differ from those of the first rows: {wrong[0]!r} was expected, {wrong[1]!r} came."
        )
    columns = []
    for place, (column, kind, first) in enumerate(zip(table.columns, here.kinds, schema.kinds, strict=True)):
        if kind != first and not _holds(first, kind, column):
            name = place if schema.names is None else schema.names.values[place]
            raise ValueError(
                f"column {name!r} was {first} in the first rows and is {kind} now; convert it: astype({first!r})."
            )
        columns.append(column.astype(first) if kind != first else column)
    return Table(schema, columns, _fitted_labels(table, schema, n_before), table.n_rows)


def _holds(first: str, kind: str, column: np.ndarray) -> bool:
    """Whether the type of the first rows has all values of this column; whole numbers may become floats."""
    if kind not in NUMPY or first not in NUMPY or not np.can_cast(kind, first, "safe"):
        return False
    too_wide = first == "float64" and kind in ("int64", "uint64")
    return not too_wide or not ((column > 2**53).any() or (column < -(2**53)).any())


def _fitted_labels(table: Table, schema: Schema, n_before: int) -> Any:
    here, first = table.schema.labels, schema.labels
    same = (here.kind, here.dtype, here.tz) == (first.kind, first.dtype, first.tz)
    both_count = {here.kind, first.kind} == {"range", "integer"} and here.dtype == first.dtype
    if not same and not both_count:
        raise ValueError(
            f"the index of the first rows was {_described(first)}, that of these is {_described(here)}; convert it."
        )
    counts_from_zero = here.kind == first.kind == "range" and (here.start, here.step) == (first.start, first.step) == (
        0,
        1,
    )
    return table.labels + n_before if counts_from_zero else table.labels


def _described(kind: Any) -> str:
    return " ".join(part for part in (kind.kind, kind.dtype, kind.tz) if part)


def _joined(parts: list[Table]) -> Table:
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(columns) for columns in zip(*(part.columns for part in parts), strict=True)]
    labels: Any = None
    if isinstance(parts[0].labels, list):
        labels = [label for part in parts for label in part.labels]
    elif parts[0].labels is not None:
        labels = np.concatenate([part.labels for part in parts])
    return Table(parts[0].schema, columns, labels, sum(part.n_rows for part in parts))


def _copy(table: Table) -> Table:
    """The caller may use its arrays again before these rows are encoded."""
    labels = table.labels if table.labels is None or isinstance(table.labels, list) else table.labels.copy()
    return Table(table.schema, [column.copy() for column in table.columns], labels, table.n_rows)
