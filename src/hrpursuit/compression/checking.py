"""What a chunk decodes to is compared with what it was made of before its bytes are given away."""

import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hrpursuit.compression.chunks import verbatim
from hrpursuit.compression.column_errors import ColumnErrors
from hrpursuit.compression.decoding import ChunkReader
from hrpursuit.compression.encoding.columns import Limits
from hrpursuit.compression.encoding.decimals import keeps_bound
from hrpursuit.compression.errors import DamagedFile, stack_level
from hrpursuit.compression.files.frame import Frame
from hrpursuit.compression.jobs import in_order
from hrpursuit.compression.targets import Target

#: Share by which a relative RMSE, or the bound of whole numbers, may be missed: both are computed in floats.
_SLACK = 2e-9


@dataclass(frozen=True)
class Checked:
    """The payload of a chunk that keeps the target: coded, or the columns bit for bit."""

    payload: bytes
    is_plain: bool = False


@dataclass(frozen=True)
class _Comparison:
    """What a payload decodes to, beside the chunk that it was made of."""

    data: bytes
    keeps: bool  # the target, as far as single readings go
    error: float = 0.0  # roots of the sums of squares of errors, and of readings
    reading: float = 0.0
    of_columns: np.ndarray | None = None  # squared errors, for a ColumnErrors


def checked(
    reader: ChunkReader,
    target: Target,
    limits: Limits,
    chunks: Sequence[list[np.ndarray]],
    payloads: Iterable[bytes],
    column_errors: ColumnErrors | None = None,
    n_jobs: int = 1,
) -> list[Checked]:
    """Decode each payload and compare it with its chunk, in threads; what does not keep the target is stored as it is,
    and warned of. A relative RMSE is kept over all of the chunks, every other target in each of them.

    The errors of what is given are added to `column_errors`.
    """

    def compare(pair: tuple[list[np.ndarray], bytes]) -> _Comparison:
        return _compared(reader, target, limits, *pair, column_errors)

    found = list(in_order(compare, zip(chunks, payloads, strict=True), n_jobs))
    is_rmse = target.kind == "relative_rmse"
    is_kept = [one.keeps for one in found]
    errors = [one.error if one.keeps else 0.0 for one in found]
    readings = [one.reading if one.keeps else 0.0 for one in found]
    while is_rmse and math.hypot(*errors) > target.amount * math.hypot(*readings) * (1 + _SLACK):
        worst = errors.index(max(errors))
        is_kept[worst], errors[worst] = False, 0.0
    for one, kept in zip(found, is_kept, strict=True):
        if column_errors is not None and kept and one.of_columns is not None:
            column_errors.add(one.of_columns)
    return [
        Checked(one.data) if kept else _plain(reader, columns)
        for one, kept, columns in zip(found, is_kept, chunks, strict=True)
    ]


def _compared(
    reader: ChunkReader,
    target: Target,
    limits: Limits,
    columns: list[np.ndarray],
    data: bytes,
    column_errors: ColumnErrors | None,
) -> _Comparison:
    decoded = _decoded(reader, data, columns, limits)
    if decoded is None or not _keeps(target, columns, decoded):
        return _Comparison(data, keeps=False)
    norms = _norms(target, columns, decoded) if target.kind == "relative_rmse" else (0.0, 0.0)
    return _Comparison(data, True, *norms, None if column_errors is None else column_errors.squared(columns, decoded))


def _decoded(reader: ChunkReader, data: bytes, like: list[np.ndarray], limits: Limits) -> list[np.ndarray] | None:
    """The columns as a reader gives them; None if they cannot be read, or are of other types."""
    try:
        columns = reader.columns(Frame(0, len(like[0]), b"", data))
    except DamagedFile:
        return None
    if [(column.dtype, column.shape) for column in columns] != [(column.dtype, column.shape) for column in like]:
        return None
    return [
        column if limit is None else np.clip(np.rint(column), *limit)
        for column, limit in zip(columns, limits, strict=True)
    ]


def _plain(reader: ChunkReader, columns: list[np.ndarray]) -> Checked:
    warnings.warn(
        f"{len(columns[0])} rows did not decode to what was asked for and are stored as they are: the file is right, "
        "but larger than it could be. Please report it with the table.",
        RuntimeWarning,
        stacklevel=stack_level(),
    )
    data = verbatim.pack(columns)
    decoded = reader.columns(Frame(0, len(columns[0]), b"", data, is_plain=True))
    if not all(_same_bits(a, b) for a, b in zip(columns, decoded, strict=True)):
        raise RuntimeError("internal error: rows that were stored as they are read back as others; please report it.")
    return Checked(data, is_plain=True)


def _keeps(target: Target, columns: list[np.ndarray], decoded: list[np.ndarray]) -> bool:
    """Whether every reading is as close as the target asks, and gaps and infinities are where they were."""
    bounds = target.bounds(len(columns)).tolist()
    return all(_within(a, b, bound) for a, b, bound in zip(columns, decoded, bounds, strict=True))


def _within(a: np.ndarray, b: np.ndarray, bound: float) -> bool:
    if bound == 0:
        return _same_bits(a, b)
    if not _same_gaps(a, b):
        return False
    if bound == math.inf:
        return True
    if a.dtype.kind != "f":
        return bool(np.all(_distance(a, b) <= bound * (1 + _SLACK)))
    finite = np.isfinite(a)
    return keeps_bound(a[finite], b[finite], bound)


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of whole numbers, without leaving their 64 bits."""
    wide = np.uint64 if a.dtype == np.uint64 else np.int64
    high, low = (f(a.astype(wide), b.astype(wide)) for f in (np.maximum, np.minimum))
    return high.view(np.uint64) - low.view(np.uint64)


def _same_gaps(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind != "f":
        return True
    odd = ~np.isfinite(a)
    return np.array_equal(odd, ~np.isfinite(b)) and np.array_equal(a[odd], b[odd], equal_nan=True)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def _norms(target: Target, columns: list[np.ndarray], decoded: list[np.ndarray]) -> tuple[float, float]:
    """Root of the sum of squares of all errors, and of all readings, those that are finite and may be lost."""
    errors, readings = [0.0], [0.0]
    for a, b, bound in zip(columns, decoded, target.bounds(len(columns)).tolist(), strict=True):
        if bound == 0:
            continue
        finite = np.isfinite(a)
        wide, other = a[finite].astype(float), b[finite].astype(float)
        errors.append(_norm(wide - other))
        readings.append(_norm(wide))
    return math.hypot(*errors), math.hypot(*readings)


def _norm(values: np.ndarray) -> float:
    largest = float(np.abs(values).max(initial=0.0))
    return largest * math.sqrt(float(np.square(values / largest).sum())) if largest else 0.0
