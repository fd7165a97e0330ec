"""A codec for numcodecs, and with it for arrays of Zarr 2; `hrpursuit.compression.zarr` is the one for Zarr 3."""

import threading
from math import prod
from typing import Any

import numpy as np

from hrpursuit.compression.codec import compress, decompress
from hrpursuit.compression.decoding import LIMIT
from hrpursuit.compression.parameters import check_settings, request_target
from hrpursuit.rows.optional import needed

needed("numcodecs", "arrays of Zarr", "files")

from numcodecs.abc import Codec  # noqa: E402 - after the check that it is installed
from numcodecs.compat import ensure_bytes, ndarray_copy  # noqa: E402

NAME = "hrpursuit"
_MOST_COLUMNS = 4096  # of a chunk: beyond, further axes become rows, since columns are told by the rows before
_LOCK = threading.Lock()  # Zarr codes chunks in several threads, and caught warnings are of all of them


def check_parameters(max_error: float | None, effort: str) -> None:
    """Raise ValueError if there is no such bound or effort."""
    if max_error is not None:
        if isinstance(max_error, bool) or not isinstance(max_error, (int, float)):
            raise ValueError(f"max_error must be a number, or None for no loss; got {max_error!r}.")
        request_target(max_error=max_error)
    check_settings(effort, "adaptive", None)


def pack(array: np.ndarray, max_error: float | None, effort: str) -> bytes:
    """An array of any shape as the bytes of a file: the first axis is rows, the others together are columns."""
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(
            f"the codec of hrpursuit takes truth values, whole numbers and floats up to 64 bits; got {array.dtype}: "
            "choose another codec for this array."
        )
    n_columns = next((n for n in _columns(array.shape) if n <= _MOST_COLUMNS), 1)
    table = np.ascontiguousarray(array).reshape(-1, max(1, n_columns))
    target: dict[str, Any] = {"lossless": True} if max_error is None else {"max_error": max_error}
    with _LOCK:
        return compress(table, **target, effort=effort)


def _columns(shape: tuple[int, ...]) -> list[int]:
    """Number of columns if the first axes are rows: one of them, two of them, and so on."""
    return [prod(shape[axis:]) for axis in range(1, len(shape) + 1)]


def unpack(data: bytes, n_bytes: int | None = None) -> np.ndarray:
    """The numbers, one after the other. A chunk that is to have `n_bytes` bytes can claim no more memory than that."""
    with _LOCK:
        table = decompress(data, limit=LIMIT if n_bytes is None else n_bytes + (1 << 20))
    if not isinstance(table, np.ndarray):
        raise ValueError("the chunk holds a table with names, and no array.")
    return table.reshape(-1)


class HRPCodec(Codec):
    """Compress the chunks of an array, losslessly or with a bound on the error of every number.

    Parameters
    ----------
    max_error : float or None, default=None
        Bound on the error of every number; None: lossless. NaN and infinities are kept in both cases.
    effort : {"fast", "default", "best"}, default="default"
        How many ways to code are tried for the shortest bytes.
    """

    codec_id = NAME

    def __init__(self, max_error: float | None = None, effort: str = "default") -> None:
        check_parameters(max_error, effort)
        self.max_error, self.effort = max_error, effort

    def encode(self, buf: Any) -> bytes:
        """The bytes of a file. An array in the order of Fortran is taken as its transpose, as it is in memory."""
        array = np.asarray(buf)
        if array.dtype != array.dtype.newbyteorder("<"):
            raise TypeError(
                f"the codec of hrpursuit for numcodecs takes numbers whose lowest byte comes first; got {array.dtype}: "
                "convert them (astype), or use hrpursuit.compression.zarr with Zarr 3."
            )
        in_memory = array.T if array.flags.f_contiguous and not array.flags.c_contiguous else array
        return pack(in_memory, self.max_error, self.effort)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """The numbers as they were in memory, lowest byte first, written to `out` if it is given."""
        numbers = unpack(ensure_bytes(buf), None if out is None else memoryview(out).nbytes)
        numbers = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        return numbers if out is None else ndarray_copy(numbers, out)
