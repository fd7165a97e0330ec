"""Compress rows as they come."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np

from hrpursuit.compression.appending import Ending, mended_ending
from hrpursuit.compression.checking import Payload, checked
from hrpursuit.compression.column_errors import ColumnErrors
from hrpursuit.compression.decoding import ChunkReader
from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.files.header import VERSION, fitting_chunk_rows
from hrpursuit.compression.files.members import n_counted
from hrpursuit.compression.files.writer import Writer
from hrpursuit.compression.parameters import Amounts, Request, check_settings, request_target
from hrpursuit.compression.tables.columns import Schema, Table, take_apart
from hrpursuit.compression.tables.dtypes import NUMPY
from hrpursuit.compression.targets import Target

_MOST_PARTS = 64  # tables that wait for a chunk to fill; more are joined


class Encoder:
    """Compress rows as they come, like `zlib.compressobj`: gives bytes to be written one after the other.

    No more than one chunk of rows is kept. Each chunk meets the target on its own; give exactly one of
    `relative_rmse`, `max_error`, `relative_error`, `n_nonzero_coefs` and `lossless=True`. Some columns may be lossless
    beside it. Every chunk is decoded and compared before it is given; one that does not keep the target is stored bit
    for bit, with a RuntimeWarning.

    Parameters
    ----------
    relative_rmse : float, default=None
        Relative RMSE over the readings of each chunk, as a fraction. Columns with small readings may be lost in it; a
        LostColumnsWarning then names them.
    max_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading, in the unit of its column; by column as for `compress`.
    relative_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading as a share of the range of its column, which is its largest minus
        its smallest finite reading in the first chunk: the bounds are numbers from then on. A column that is constant
        or empty in the first chunk is lossless.
    n_nonzero_coefs : int, default=None
        Coefficients per row in a dictionary learned by HRP, from the first chunk.
    lossless : bool or sequence of str or int, default=False
        True: keep every bit. Names (or numbers, or patterns) of columns: keep every bit of these, whatever the target
        is for the others.
    effort : {"fast", "default", "best"}, default="default"
        How long to search for the shortest file.
    basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
        Basis over the sensors where readings are transformed.
    chunk_rows : int or None, default=None
        Rows of a chunk, from 1 to 65536; fewer if they would have more than 2^24 readings. None: as many as have 2^20
        readings. The shorter chunks are, the less has to be decoded for a range of rows, and the longer is the file.

    Attributes
    ----------
    target : Target or None
        What the file keeps; None before the first chunk.

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
        relative_rmse: float | None = None,
        max_error: Amounts | None = None,
        relative_error: Amounts | None = None,
        n_nonzero_coefs: int | None = None,
        lossless: bool | Sequence[str | int] = False,
        effort: str = "default",
        basis: str = "adaptive",
        chunk_rows: int | None = None,
    ) -> None:
        request = request_target(
            relative_rmse=relative_rmse,
            max_error=max_error,
            relative_error=relative_error,
            n_nonzero_coefs=n_nonzero_coefs,
            lossless=lossless,
        )
        self._set_up(request, effort, basis, chunk_rows)

    def _set_up(self, request: Request | None, effort: str, basis: str, chunk_rows: int | None) -> None:
        self._request = request  # None if the target is that of the file that is gone on with
        self._chunk_rows = check_settings(effort, basis, chunk_rows)
        self._effort, self._basis = effort, basis
        self.target: Target | None = None
        self._coder: ChunkCoder | None = None
        self._warned: set[int] = set()  # columns that were named in a warning
        self._ending: Ending | None = None  # of the file that is gone on with
        self._schema: Schema | None = None
        self._writer: Writer | None = None
        self._reader: ChunkReader | None = None
        self._waiting: list[Table] = []
        self._n_waiting = 0
        self._n_rows = 0
        self._finished = False

    @classmethod
    def append_to(cls, path: str | PathLike[str], *, effort: str = "default", basis: str = "adaptive") -> Self:
        """Go on with a file that there is, whether it was finished or not; what follows is to be written to its end.

        Columns, types, target and rows of a chunk are those of the file. A file that was finished is not changed here.
        One that was cut, even within a chunk, keeps all whole chunks, loses what is behind them with a
        DamagedFileWarning, and gets the index that it lacks: it is whole again.

        Parameters
        ----------
        path : path
            The file.
        effort : {"fast", "default", "best"}, default="default"
            How long to search for the shortest bytes.
        basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
            Basis over the sensors where readings are transformed.

        Returns
        -------
        encoder : Encoder
            Write what it gives behind the file: `open(path, "ab")`.

        Examples
        --------
        >>> import numpy as np, pathlib, tempfile
        >>> from hrpursuit.compression import Decoder, Encoder, compress
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "readings.hrp"
        >>> _ = path.write_bytes(compress(np.zeros((3, 2)), lossless=True))
        >>> encoder = Encoder.append_to(path)
        >>> with path.open("ab") as file:
        ...     _ = file.write(encoder.append(np.ones((2, 2))) + encoder.finish())
        >>> with Decoder(path) as decoder:
        ...     decoder.read()[:, 0].tolist()
        [0.0, 0.0, 0.0, 1.0, 1.0]
        """
        check_settings(effort, basis, 1)
        ending = mended_ending(path)
        header = ending.member.header
        encoder = cls.__new__(cls)
        encoder._set_up(None, effort, basis, header.chunk_rows)
        encoder.target = header.target
        encoder._ending, encoder._schema = ending, ending.first.schema
        encoder._n_rows = ending.member.n_before + ending.n_rows
        return encoder

    def append(self, rows: Any) -> bytes:
        """Add rows.

        If anything is raised, none of these rows is taken, and the encoder can be used as if it had not been called.

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
        schema = table.schema if self._schema is None else self._schema
        if self._schema is None and self._request is not None:
            self._request.check(schema.columns)
        table = _fitted(table, schema, self._n_rows)
        chunk_rows = fitting_chunk_rows(self._chunk_rows, len(table.columns))
        out, at, waiting, n_waiting = [], 0, self._waiting, self._n_waiting
        with self._all_or_nothing():
            while n_waiting + table.n_rows - at >= chunk_rows:
                stop = at + chunk_rows - n_waiting
                out.append(self._encode([*waiting, table.rows(at, stop)], chunk_rows))
                waiting, n_waiting, at = [], 0, stop
            if at < table.n_rows:
                waiting = [*waiting, _copy(table.rows(at, table.n_rows))]
            if len(waiting) > _MOST_PARTS:
                waiting = [_joined(waiting)]
        self._schema, self._chunk_rows = schema, chunk_rows
        self._waiting, self._n_waiting = waiting, n_waiting + table.n_rows - at
        self._n_rows += table.n_rows
        return b"".join(out)

    def flush(self) -> bytes:
        """Give all rows that were added so far, in a chunk that may be short: whoever has these bytes has the rows.

        Returns
        -------
        data : bytes
            The chunk; nothing if no row is waiting for one.
        """
        self._check_open()
        if not self._n_waiting:
            return b""
        with self._all_or_nothing():
            out = self._encode(self._waiting, fitting_chunk_rows(self._chunk_rows, len(self._waiting[0].columns)))
        self._waiting, self._n_waiting = [], 0
        return out

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
        rest = self.flush()
        if self._writer is None and self._ending is None:
            n_columns = len(self._schema.kinds)
            self.target = self._target_for(self._schema, [np.empty(0)] * n_columns)
            chunk_rows = fitting_chunk_rows(self._chunk_rows, n_columns)
            self._writer = Writer.beginning(self._schema, self.target, chunk_rows, b"")
            rest = self._writer.start
        self._finished = True
        return rest if self._writer is None else rest + self._writer.end()

    def _check_open(self) -> None:
        if self._finished:
            raise ValueError("this Encoder has finished its file; make a new one.")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Forget the chunks that were encoded if another one fails: their bytes are not given away."""
        writer, n_chunks = self._writer, 0 if self._writer is None else self._writer.n_chunks
        target, coder = self.target, self._coder
        try:
            yield
        except BaseException:
            self._writer, self.target, self._coder = writer, target, coder
            if writer is not None:
                writer.undo(n_chunks)
            raise

    def _encode(self, parts: list[Table], chunk_rows: int) -> bytes:
        chunk = _joined(parts)
        columns, texts = chunk.numbers()
        start = b""
        if self._writer is None:
            self._begin(chunk, columns, chunk_rows)
            assert self._writer is not None
            start = self._writer.start
        payload = Payload(b"")
        if columns:
            payload = self._checked(chunk.schema, columns)
        return start + self._writer.chunk(chunk, payload.data, payload.is_plain, texts)

    def _checked(self, schema: Schema, columns: list[np.ndarray]) -> Payload:
        """The readings of a chunk as bytes that were decoded. Columns that the RMSE leaves in error are named once."""
        assert self._coder is not None
        assert self._reader is not None
        target, coded = self._coder.target, [self._coder.encode(columns)]
        errors = ColumnErrors(columns) if target.kind == "relative_rmse" else None
        [payload] = checked(self._reader, target, schema.limits, [columns], coded, errors)
        if errors is not None:
            self._warned |= errors.warn(target.amount, schema.columns, but=self._warned)
        return payload

    def _begin(self, chunk: Table, columns: list[np.ndarray], chunk_rows: int) -> None:
        """Choose by the first chunk, whose texts are numbers in `columns`, what is the same for all."""
        self.target = self._target_for(chunk.schema, columns)
        self._coder = ChunkCoder(self.target, effort=self._effort, basis=self._basis)
        shared = self._coder.prepare(columns, chunk.schema.limits) if columns else b""
        self._writer = self._writer_for(chunk, self.target, chunk_rows, shared)
        self._reader = ChunkReader(self._writer.header)

    def _target_for(self, schema: Schema, columns: list[np.ndarray]) -> Target:
        if self._request is not None:
            return self._request.target(schema.columns, columns, schema.exact)
        assert self._ending is not None
        return self._ending.member.header.target

    def _writer_for(self, chunk: Table, target: Target, chunk_rows: int, shared: bytes) -> Writer:
        """What writes the chunks: behind the last header of a file if the same is shared there, or behind a new one."""
        ending = self._ending
        if ending is not None and ending.member.header.shared == shared and ending.member.header.version == VERSION:
            return Writer(ending.member.header, first_row=ending.n_rows, n_before=ending.member.n_counted)
        schema = replace(chunk.schema, labels=chunk.schema.labels.counting_as(chunk.labels))
        n_before = 0
        if ending is not None:
            n_before = n_counted(ending.first.schema.labels, schema.labels, ending.member.n_before + ending.n_rows)
        return Writer.beginning(schema, target, chunk_rows, shared, n_before)


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
        if here.categories.get(place) != schema.categories.get(place):
            raise ValueError(
                f"column {schema.columns[place]!r} has other categories than in the first rows; give all of them from "
                "the beginning: cat.set_categories."
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
    if not first.joins(here):
        raise ValueError(
            f"the index of the first rows was {first.in_words()}, that of these is {here.in_words()}; convert it."
        )
    return table.labels + n_before if here.counts_from_zero and first.counts_from_zero else table.labels


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
