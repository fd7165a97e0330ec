"""pco (pcodec): readings, whole numbers or ranks, column by column or all columns in one line."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from .preparations import Series, quantised, ranked
from .tables import Column, Table

try:
    from pcodec import ChunkConfig, DeltaSpec, ModeSpec, PagingSpec
    from pcodec.wrapped import FileCompressor, FileDecompressor
except ImportError:
    FileCompressor = None

LEVEL = 12  # the highest
BATCH = 256  # numbers that pco codes at a time
Packed = tuple[bytes, bytes]  # description and page


def configurations(n: int) -> Iterator["ChunkConfig"]:
    """All modes with all differences; linear prediction in the classic mode only, and where the last batch is long
    enough: it panics elsewhere (pcodec 1.0.4).
    """
    deltas = [DeltaSpec.no_op(), *(DeltaSpec.try_consecutive(order) for order in (1, 2, 3)), DeltaSpec.try_lookback()]
    ways = list(product([ModeSpec.auto(), ModeSpec.classic(), ModeSpec.try_dict()], deltas))
    ways += [(ModeSpec.classic(), DeltaSpec.try_conv1(order)) for order in (8, 32) if (n % BATCH or BATCH) > order]
    for mode, delta in ways:
        yield ChunkConfig(
            compression_level=LEVEL,
            mode_spec=mode,
            delta_spec=delta,
            paging_spec=PagingSpec.equal_pages_up_to(1 << 24),  # one page
            enable_8_bit=True,
        )


def pack(numbers: np.ndarray) -> Packed:
    """As short as a configuration makes it."""
    found = []
    for configuration in configurations(len(numbers)):
        try:
            chunk = FileCompressor().chunk_compressor(numbers, configuration)
        except RuntimeError:  # a configuration that these numbers do not allow
            continue
        found.append((chunk.write_meta(), chunk.write_page(0)))
    return min(found, key=size_of)


def size_of(packed: Packed) -> int:
    return len(packed[0]) + len(packed[1])


def unpack(packed: Packed, n: int, kind: np.dtype) -> np.ndarray:
    file, _ = FileDecompressor.new(FileCompressor().write_header())
    chunk, _ = file.chunk_decompressor(packed[0], f"{kind.kind}{8 * kind.itemsize}")
    numbers = np.empty(n, kind)
    chunk.read_page_into(packed[1], n, numbers)
    return numbers


def shortest(numbers: np.ndarray) -> np.ndarray:
    """Whole numbers in the narrowest type."""
    low, high = numbers.min(initial=0), numbers.max(initial=0)
    for kind in ("u1", "i1", "u2", "i2", "u4", "i4"):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return numbers.astype(kind)
    return numbers.astype(np.int64)


Line = tuple[Series, Callable[[Series], np.ndarray]]  # what is packed for a column, and the way back to its readings


def lines(table: Table, column: Column) -> Iterator[Line]:
    """A column without its gaps: readings as they are, whole numbers, ranks with their table."""
    seen = column.observed
    if table.is_lossless:
        values = column.values[seen]
        values = values.view(np.uint8) if values.dtype == bool else values
        yield [values], lambda back: back[0].view(column.values.dtype)
    whole, from_whole = quantised(column)
    yield [shortest(whole[seen])], lambda back: from_whole(back[0].astype(np.int64))
    found = ranked(whole, seen)
    if found is not None:
        distinct, ranks = found
        steps = shortest(np.diff(distinct, prepend=0))
        yield (
            [shortest(ranks[seen]), steps],
            lambda back: from_whole(np.cumsum(back[1].astype(np.int64))[back[0]]),
        )


def with_gaps(column: Column, values: np.ndarray) -> np.ndarray:
    whole = np.empty_like(column.values)
    whole[column.observed] = values
    if not column.observed.all():
        whole[~column.observed] = np.nan
    return whole


def by_columns(table: Table) -> tuple[int, list[np.ndarray]]:
    """Each column in the way that suits it best."""
    n_bytes, decoded = 0, []
    for column in table.live:
        found = []
        for series, back in lines(table, column):
            packed = [pack(numbers) for numbers in series]
            found.append((sum(map(size_of, packed)), packed, series, back))
        size, packed, series, back = min(found, key=lambda one: one[0])
        n_bytes += size
        unpacked = [unpack(one, len(numbers), numbers.dtype) for one, numbers in zip(packed, series, strict=True)]
        decoded.append(with_gaps(column, back(unpacked)))
    return n_bytes, decoded


def in_one_line(table: Table) -> Iterator[tuple[int, list[np.ndarray]]]:
    """All columns after each other, in each of the ways that all of them have; tables of values likewise."""
    for ways in zip(*(lines(table, column) for column in table.live), strict=False):
        n_series = {len(series) for series, _ in ways}
        kinds = [{series[i].dtype.kind for series, _ in ways} for i in range(min(n_series))]
        if len(n_series) > 1 or any("f" in kind and len(kind) > 1 for kind in kinds):
            continue
        n_bytes, back = 0, []
        for i in range(min(n_series)):
            pieces = [series[i] for series, _ in ways]
            line = np.concatenate(pieces)
            line = line if line.dtype.kind == "f" else shortest(line)
            packed = pack(line)
            n_bytes += size_of(packed)
            ends = np.cumsum([len(piece) for piece in pieces])[:-1]
            split = np.split(unpack(packed, len(line), line.dtype), ends)
            back.append([part.astype(piece.dtype) for part, piece in zip(split, pieces, strict=True)])
        values = [undo([part[j] for part in back]) for j, (_, undo) in enumerate(ways)]
        yield n_bytes, [with_gaps(column, one) for column, one in zip(table.live, values, strict=True)]


def smallest_pco(table: Table) -> tuple[int, str]:
    """Bytes and how, decoded and judged."""
    found = [(*by_columns(table), "by columns"), *((*one, "in one line") for one in in_one_line(table))]
    n_bytes, decoded, how = min(found, key=lambda one: one[0])
    table.judge(decoded)
    return n_bytes, how
