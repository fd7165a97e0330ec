"""Tables to bytes and back, in one call."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from hrpursuit.compression.checking import Checked, checked
from hrpursuit.compression.column_errors import ColumnErrors
from hrpursuit.compression.decoding import LIMIT, ChunkReader
from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.errors import DamagedFileWarning
from hrpursuit.compression.files.header import even_chunk_rows, fitting_chunk_rows
from hrpursuit.compression.files.writer import Writer
from hrpursuit.compression.jobs import n_threads
from hrpursuit.compression.parameters import Amounts, check_settings, request_target
from hrpursuit.compression.reader import Decoder
from hrpursuit.compression.tables.columns import take_apart
from hrpursuit.compression.tables.texts import numbers_alone
from hrpursuit.compression.waiting import Waiting, cut_at_grids


def compress(
    table: Any,
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
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """Compress a table of readings into the bytes of a file.

    Give exactly one target: `relative_rmse`, `max_error`, `relative_error`, `n_nonzero_coefs` or `lossless=True`. With
    any of the others, `lossless` can also name columns that are lossless.

    Parameters
    ----------
    table : array-like, or DataFrame of pandas or polars, or table of Arrow, of shape (n_rows, n_columns)
        One time per row, one sensor per column: bool, integers or floats up to 64 bits. NaN is a gap, and stays one. A
        DataFrame may also have columns of texts, categories and times; its index, the names and types of its columns
        and `attrs` (as JSON) are kept. Columns of bool, texts, categories and times are lossless, whatever the target.
    relative_rmse : float, default=None
        Relative RMSE over all finite readings of the columns that are not lossless, as a fraction: 0.05 is 5%. Columns
        with small readings may have large relative errors; a LostColumnsWarning then names them.
    max_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading, in the unit of its column; never exceeded. The keys of a mapping (or
        the index of a Series) are names of columns, column numbers for an array, patterns such as `"temp*"`, or None
        for all other columns. The name of a column counts before patterns, and the first pattern that matches before
        later ones. A bound of 0 or `"lossless"` keeps every bit of a column.
    relative_error : float, mapping or array-like of shape (n_columns,), default=None
        Bound on the error of every single reading as a share of the range of its column, which is its largest minus
        its smallest finite reading in the table: 0.01 is 1%. The bounds are rounded down to four significant digits and
        stored in the file. A column that has no range, since it is constant or empty, is lossless. Mappings and arrays
        are as for `max_error`.
    n_nonzero_coefs : int, default=None
        Number of coefficients per row, in a dictionary that HRP learns for the columns that are not lossless.
    lossless : bool or sequence of str or int, default=False
        True: keep every bit. A list of names, numbers or patterns: keep every bit of these columns, whatever the target
        is for the others.
    effort : {"fast", "default", "best"}, default="default"
        How many ways to code are tried for the shortest file.
    basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
        Basis over the sensors, if readings are transformed. The adaptive basis is learned from the rows that are
        decoded already, and takes no bytes.
    chunk_rows : int or None, default=None
        Rows per chunk, from 1 to 65536; fewer if a chunk would have more than 2^24 readings. None: equally long chunks
        of at most 2^20 readings. With shorter chunks less has to be decoded for a range of rows, but files are larger.
        In lossless files, a new chunk also begins where the decimals or steps of columns change, if that saves bytes.
    n_jobs : int or None, default=None
        Number of threads, each of which works on a chunk: None is 1, -1 one per core. The bytes do not depend on it.
    progress : callable, default=None
        Called as `progress(n_rows_done, n_rows)`.

    Returns
    -------
    data : bytes
        A whole file, see `docs/reference/format.md`. Every chunk has been decoded and compared with the table; a chunk
        that did not keep the target is stored bit for bit, with a RuntimeWarning.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.compression import compress, decompress
    >>> table = np.round(np.random.default_rng(0).normal(20, 5, (100, 8)), 1)
    >>> np.array_equal(decompress(compress(table, lossless=True)), table)
    True
    """
    request = request_target(
        relative_rmse=relative_rmse,
        max_error=max_error,
        relative_error=relative_error,
        n_nonzero_coefs=n_nonzero_coefs,
        lossless=lossless,
    )
    chunk_rows, n_jobs = check_settings(effort, basis, chunk_rows), n_threads(n_jobs)
    parts = take_apart(table)
    target = request.target(parts.schema.columns, parts.columns, parts.schema.exact)
    coder = ChunkCoder(target, effort=effort, basis=basis)
    is_empty = not parts.columns or not parts.n_rows  # nothing for the coder to do
    numbers = parts.columns if is_empty else numbers_alone(parts.columns, parts.schema.kinds)
    n_columns = len(parts.columns)
    rows = fitting_chunk_rows(chunk_rows, n_columns) if chunk_rows else even_chunk_rows(parts.n_rows, n_columns)
    writer = Writer.beginning(
        parts.schema,
        target,
        rows,
        b"" if is_empty else coder.prepare(numbers, parts.schema.limits),
    )
    chunks = cut_at_grids(Waiting((parts,)).all_chunks(writer.header.chunk_rows), target, n_jobs)
    listed = [b""] * len(chunks)
    if is_empty:
        payloads = [Checked(b"")] * len(chunks)
    else:
        columns, listed = map(list, zip(*(chunk.numbers() for chunk in chunks), strict=True))
        coded = coder.encode_all(columns, progress, n_jobs)
        errors = ColumnErrors(numbers) if target.kind == "relative_rmse" else None
        payloads = checked(ChunkReader(writer.header), target, parts.schema.limits, columns, coded, errors, n_jobs)
        if errors is not None:
            errors.warn(target.amount, parts.schema.columns)
    body = [
        writer.chunk(chunk, one.payload, one.is_plain, texts)
        for chunk, one, texts in zip(chunks, payloads, listed, strict=True)
    ]
    return b"".join([writer.start, *body, writer.end()])


def decompress(data: Any, *, damaged: str = "raise", limit: int | None = LIMIT, n_jobs: int | None = None) -> Any:
    """Decompress the bytes of a file that `compress` or an `Encoder` made.

    Parameters
    ----------
    data : bytes-like
        A whole file.
    damaged : {"raise", "skip"}, default="raise"
        What to do if the file was cut or changed: raise DamagedFile, or return all whole chunks with a
        DamagedFileWarning. Nothing can be read if the header is damaged: DamagedFile is then raised in both cases.
    limit : int or None, default=2**33
        Maximum size of the table in bytes, readings and labels together. Each reading counts as 8 bytes, its size while
        it is decoded, so that the limit bounds the time as well. A file that claims a larger table raises
        LimitExceeded before it is decoded. None: no limit.
    n_jobs : int or None, default=None
        Number of threads, each of which works on a chunk: None is 1, -1 one per core.

    Returns
    -------
    table : ndarray, or DataFrame of pandas or polars, or table of Arrow
        The kind of table that was compressed; if its library is not installed, a DataFrame of pandas, with a warning.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"decompress takes bytes; got {type(data).__name__}. For a path or a file use Decoder.")
    with Decoder(data, damaged=damaged, limit=limit, n_jobs=n_jobs) as decoder:
        table = decoder.read()
        if decoder.damage:
            warnings.warn("; ".join(decoder.damage), DamagedFileWarning, stacklevel=2)
    return table
