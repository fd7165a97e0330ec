"""Tables to bytes and back, in one call."""

import warnings
from collections.abc import Callable
from typing import Any

from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.errors import DamagedFileWarning
from hrpursuit.compression.files.container import Writer, fitting_chunk_rows, split_rows
from hrpursuit.compression.reader import Decoder
from hrpursuit.compression.tables.columns import take_apart
from hrpursuit.compression.targets import check_settings, choose_target


def compress(
    table: Any,
    *,
    rmse: float | None = None,
    max_error: float | None = None,
    n_nonzero: int | None = None,
    lossless: bool = False,
    effort: str = "default",
    basis: str = "adaptive",
    chunk_rows: int = 1000,
    progress: Callable[[int, int], object] | None = None,
) -> bytes:
    """Compress a table of readings into the bytes of a file.

    Give exactly one target: `rmse`, `max_error`, `n_nonzero` or `lossless=True`.

    Parameters
    ----------
    table : array-like or DataFrame of shape (n_rows, n_columns)
        One time a row, one sensor a column: bool, whole numbers or floats up to 64 bits. NaN is a gap, and stays one.
        Of a DataFrame the index, the names and types of the columns and `attrs` (as JSON) are kept as well.
    rmse : float, default=None
        Relative RMSE over all readings, gaps and infinities not counted, as a fraction: 0.05 is 5%.
    max_error : float, default=None
        Bound on the error of every single reading, in the unit of the table. Never exceeded.
    n_nonzero : int, default=None
        Coefficients a row in a dictionary learned by HRP.
    lossless : bool, default=False
        Keep every bit.
    effort : {"default", "fast"}, default="default"
        How long to search for the shortest file.
    basis : {"adaptive", "hrp", "pca", "dct"}, default="adaptive"
        Basis over the sensors where readings are transformed. The adaptive one is learned from what is already
        decoded and takes no bytes.
    chunk_rows : int, default=1000
        Rows of a chunk, from 1 to 65536; fewer if they would have more than 2^24 readings.
    progress : callable, default=None
        Called as `progress(n_rows_done, n_rows)`.

    Returns
    -------
    data : bytes
        A whole file, see `docs/format.md`.

    Examples
    --------
    >>> import numpy as np
    >>> from hrpursuit.compression import compress, decompress
    >>> table = np.round(np.random.default_rng(0).normal(20, 5, (100, 8)), 1)
    >>> np.array_equal(decompress(compress(table, lossless=True)), table)
    True
    """
    target = choose_target(rmse=rmse, max_error=max_error, n_nonzero=n_nonzero, lossless=lossless)
    chunk_rows = check_settings(effort, basis, chunk_rows)
    parts = take_apart(table)
    coder = ChunkCoder(target, effort=effort, basis=basis)
    is_empty = not parts.columns or not parts.n_rows  # nothing for the coder to do
    writer = Writer(
        parts.schema,
        target,
        fitting_chunk_rows(chunk_rows, len(parts.columns)),
        b"" if is_empty else coder.prepare(parts.columns, parts.schema.limits),
    )
    chunks = list(split_rows(parts, writer.header.chunk_rows))
    payloads = (b"" for _ in chunks) if is_empty else coder.encode_all([chunk.columns for chunk in chunks], progress)
    body = [writer.chunk(chunk, payload) for chunk, payload in zip(chunks, payloads, strict=True)]
    return b"".join([writer.start, *body, writer.end()])


def decompress(data: Any, *, damaged: str = "raise") -> Any:
    """Give back the table that `compress` or an `Encoder` made bytes of.

    Parameters
    ----------
    data : bytes-like
        A whole file.
    damaged : {"raise", "skip"}, default="raise"
        What to do if the file is cut or changed: raise DamagedFile, or give every whole chunk and warn
        (DamagedFileWarning). Without a whole header nothing can be read, and DamagedFile is raised in both cases.

    Returns
    -------
    table : ndarray or DataFrame
        Whatever was compressed.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"decompress takes bytes; got {type(data).__name__}. For a path or a file use Decoder.")
    with Decoder(data, damaged=damaged) as decoder:
        table = decoder.read()
        if decoder.damage:
            warnings.warn("; ".join(decoder.damage), DamagedFileWarning, stacklevel=2)
    return table
