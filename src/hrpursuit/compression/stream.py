"""Compress rows as they arrive."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np

from hrpursuit.compression.appending import Ending, mended_ending
from hrpursuit.compression.checking import Checked, checked
from hrpursuit.compression.column_errors import ColumnErrors
from hrpursuit.compression.decoding import ChunkReader
from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.files.header import VERSION, fitting_chunk_rows
from hrpursuit.compression.files.members import n_counted
from hrpursuit.compression.files.writer import Writer
from hrpursuit.compression.jobs import n_threads
from hrpursuit.compression.parameters import Amounts, Request, check_settings, request_target
from hrpursuit.compression.tables.columns import Schema, Table, take_apart
from hrpursuit.compression.targets import Target
from hrpursuit.compression.waiting import Waiting, cut_at_grids, fitted


class Encoder:
    """Compress rows as they arrive. Its methods return bytes, to be written one after the other.

    Give exactly one target: `relative_rmse`, `max_error`, `relative_error`, `n_nonzero_coefs` or `lossless=True`. With
    any of the others, `lossless` can also name columns that are lossless. Each chunk keeps the target on its own: it is
    decoded and compared before its bytes are returned, and if it does not keep the target it is stored bit for bit,
    with a RuntimeWarning. No more than one chunk of rows per thread is kept in memory.

    Parameters
    ----------
    relative_rmse : float, default=None
        Relative RMSE over the readings of each chunk, as a fraction. Columns with small readings may have large
        relative errors; a LostColumnsWarning then names them.
    max_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading, in the unit of its column; by column as for `compress`.
    relative_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading as a share of the range of its column, which is its largest minus
        its smallest finite reading in the first chunk; the same bounds hold for all later chunks. A column that is
        constant or empty in the first chunk is lossless.
    n_nonzero_coefs : int, default=None
        Number of coefficients per row, in a dictionary that HRP learns from the first chunk.
    lossless : bool or sequence of str or int, default=False
        True: keep every bit. A list of names, numbers or patterns: keep every bit of these columns, whatever the target
        is for the others.
    effort : {"fast", "default", "best"}, default="default"
        How many ways to code are tried for the shortest file.
    basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
        Basis over the sensors, if readings are transformed.
    chunk_rows : int or None, default=None
        Rows per chunk, from 1 to 65536; fewer if a chunk would have more than 2^24 readings. None: as many as make 2^20
        readings. With shorter chunks less has to be decoded for a range of rows, but files are larger. In lossless
        files, a new chunk also begins where the decimals or steps of columns change, if that saves bytes.
    n_jobs : int or None, default=None
        Number of threads, each of which works on a chunk: None is 1, -1 one per core. Rows wait until there are as many
        chunks as threads, or until `flush`. The bytes do not depend on it.

    Attributes
    ----------
    target : Target or None
        The target of the file; None before the first chunk.

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
        n_jobs: int | None = None,
    ) -> None:
        request = request_target(
            relative_rmse=relative_rmse,
            max_error=max_error,
            relative_error=relative_error,
            n_nonzero_coefs=n_nonzero_coefs,
            lossless=lossless,
        )
        self._set_up(request, effort, basis, chunk_rows, n_jobs)

    def _set_up(
        self, request: Request | None, effort: str, basis: str, chunk_rows: int | None, n_jobs: int | None
    ) -> None:
        self._request = request  # None if the target is that of the file that is continued
        self._chunk_rows = check_settings(effort, basis, chunk_rows)
        self._effort, self._basis, self._n_jobs = effort, basis, n_threads(n_jobs)
        self.target: Target | None = None
        self._coder: ChunkCoder | None = None
        self._warned: set[int] = set()  # columns that were named in a warning
        self._ending: Ending | None = None  # of the file that is continued
        self._schema: Schema | None = None
        self._writer: Writer | None = None
        self._reader: ChunkReader | None = None
        self._waiting = Waiting()
        self._n_rows = 0
        self._finished = False

    @classmethod
    def append_to(
        cls,
        path: str | PathLike[str],
        *,
        effort: str = "default",
        basis: str = "adaptive",
        n_jobs: int | None = None,
    ) -> Self:
        """Continue a file, whether it was finished or not. Write what the encoder returns to the end of the file.

        Columns, types, target and rows per chunk are those of the file. A finished file is not changed by this call.
        A file that was cut, even within a chunk, is repaired: bytes after its last whole chunk are removed, with a
        DamagedFileWarning, and the missing index is written.

        Parameters
        ----------
        path : path
            The file.
        effort : {"fast", "default", "best"}, default="default"
            How many ways to code are tried for the shortest bytes.
        basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
            Basis over the sensors, if readings are transformed.
        n_jobs : int or None, default=None
            Number of threads, each of which works on a chunk.

        Returns
        -------
        encoder : Encoder
            Append what it returns to the file: `open(path, "ab")`.

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
        n_threads(n_jobs)
        ending = mended_ending(path)
        header = ending.member.header
        encoder = cls.__new__(cls)
        encoder._set_up(None, effort, basis, header.chunk_rows, n_jobs)
        encoder.target = header.target
        encoder._ending, encoder._schema = ending, ending.first.schema
        encoder._n_rows = ending.member.n_before + ending.n_rows
        return encoder

    def append(self, rows: Any) -> bytes:
        """Add rows.

        If an exception is raised, the encoder has taken none of these rows, and the call can be repeated.

        Parameters
        ----------
        rows : array-like or DataFrame of shape (n_rows, n_columns)
            The same columns in every call, of the same types. If each DataFrame numbers its rows from 0, the rows of
            the file are numbered consecutively. `attrs` are those of the first DataFrame.

        Returns
        -------
        data : bytes
            Bytes that are ready to be written; often none.
        """
        self._check_open()
        table = take_apart(rows)
        schema = table.schema if self._schema is None else self._schema
        if self._schema is None and self._request is not None:
            self._request.check(schema.columns)
        table = fitted(table, schema, self._n_rows)
        chunk_rows = fitting_chunk_rows(self._chunk_rows, len(table.columns))
        waiting, out = self._waiting.with_rows(table), b""
        n_coded = 0
        if waiting.n_rows >= chunk_rows * self._n_jobs:
            n_coded = waiting.n_rows // chunk_rows * chunk_rows
            with self._all_or_nothing():
                out = self._encode(waiting.whole_chunks(chunk_rows), chunk_rows)
        self._schema, self._chunk_rows = schema, chunk_rows
        self._waiting = waiting.without(n_coded)
        self._n_rows += table.n_rows
        return out

    def flush(self) -> bytes:
        """Return the bytes of all rows that are still waiting, in chunks that may be short.

        Returns
        -------
        data : bytes
            The chunks; empty if no row is waiting.
        """
        self._check_open()
        if not self._waiting.n_rows:
            return b""
        assert self._chunk_rows is not None
        with self._all_or_nothing():
            out = self._encode(self._waiting.all_chunks(self._chunk_rows), self._chunk_rows)
        self._waiting = Waiting()
        return out

    def finish(self) -> bytes:
        """Return the rest of the file; no rows can be added afterwards.

        Returns
        -------
        data : bytes
            The last rows, and the index.
        """
        self._check_open()
        if self._schema is None:
            raise ValueError("nothing was appended: a file needs to know its columns; append a table without rows.")
        with self._all_or_nothing():
            rest = self.flush()
            if self._writer is None and self._ending is None:
                n_columns = len(self._schema.kinds)
                self.target = self._target_for(self._schema, [np.empty(0)] * n_columns)
                chunk_rows = fitting_chunk_rows(self._chunk_rows, n_columns)
                self._writer = Writer.beginning(self._schema, self.target, chunk_rows, b"")
                rest = self._writer.start
            rest += b"" if self._writer is None else self._writer.end()
        self._finished = True
        return rest

    def _check_open(self) -> None:
        if self._finished:
            raise ValueError("this Encoder has finished its file; make a new one.")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Forget the chunks that were encoded if another one fails: their bytes are not given away."""
        writer, n_chunks = self._writer, 0 if self._writer is None else self._writer.n_chunks
        target, coder, waiting = self.target, self._coder, self._waiting
        try:
            yield
        except BaseException:
            self._writer, self.target, self._coder, self._waiting = writer, target, coder, waiting
            if writer is not None:
                writer.undo(n_chunks)
            raise

    def _encode(self, chunks: list[Table], chunk_rows: int) -> bytes:
        start = b""
        if self._writer is None:
            self._begin(chunks[0], chunk_rows)
            assert self._writer is not None
            start = self._writer.start
        assert self.target is not None
        chunks = cut_at_grids(chunks, self.target, self._n_jobs)
        columns, listed = map(list, zip(*(chunk.numbers() for chunk in chunks), strict=True))
        payloads = self._checked(chunks[0].schema, columns) if columns[0] else [Checked(b"")] * len(chunks)
        write = self._writer.chunk
        return start + b"".join(
            [
                write(chunk, one.payload, one.is_plain, texts)
                for chunk, one, texts in zip(chunks, payloads, listed, strict=True)
            ]
        )

    def _checked(self, schema: Schema, columns: list[list[np.ndarray]]) -> list[Checked]:
        """The readings of chunks as bytes that were decoded. Columns that the RMSE leaves in error are named once."""
        assert self._coder is not None
        assert self._reader is not None
        reader, target = self._reader, self._coder.target
        coded = self._coder.encode_each(columns, self._n_jobs)
        if target.kind != "relative_rmse":
            return checked(reader, target, schema.limits, columns, coded, n_jobs=self._n_jobs)
        payloads = []
        for one, data in zip(columns, coded, strict=True):
            errors = ColumnErrors(one)
            payloads += checked(reader, target, schema.limits, [one], [data], errors)
            self._warned |= errors.warn(target.amount, schema.columns, but=self._warned)
        return payloads

    def _begin(self, chunk: Table, chunk_rows: int) -> None:
        """Choose by the first chunk what is the same for all."""
        columns, _ = chunk.numbers()
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
