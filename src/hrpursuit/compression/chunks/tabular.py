"""The part of a chunk that the coder of tables has written: grids, exceptions, gaps, whole numbers."""

import struct
from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.grids import (
    AFFINE,
    DECIMALS,
    FACTOR,
    FLOAT,
    LEAST_EXPONENT,
    MANTISSA,
    MOST_STEP,
    POWERS,
    SHORT,
    VALUES,
    Grid,
    from_float_bits,
)
from hrpursuit.compression.chunks.lists import lists_bytes, read_list
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.bits import N_BEYOND, POSITION, finish_encoding, new_coder, start_decoding
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.floats import code_float_bits
from hrpursuit.compression.kernels.quick import code_quick, new_quick
from hrpursuit.compression.kernels.samples import code_low_bits
from hrpursuit.compression.kernels.table import code_table
from hrpursuit.compression.kernels.table_state import BITS, CONSTANT, DRIFTING, LIMIT, n_features_of, new_table
from hrpursuit.compression.layout import Cursor, shorter, signed, unpacked, varint, varints

THOROUGH, HASTY, QUICK = range(3)
MOST_ORDER, MOST_SEASON, MOST_NEIGHBOURS, MOST_TAPS = 32, 1 << 16, 16, 64
MOST_LAG = 1 << 12  # rows from a neighbour to what it predicts
MOST_WIDTH = 29  # low bits that are sent as they are
MOST_STATE = 1 << 24  # entries of the sums of all regressions
_MOST_SCALE = 120
_RECURS, _SINGLE, _BOUNDED, _SHIFTED, _LOW_BITS = 8, 16, 32, 64, 128  # beside the kind of a grid
_MOST_SETTINGS = 1 << 26


def scale_of_code(code: int) -> int:
    """Typical change in 1/16: four codes per octave, from 4."""
    return (4 + code % 4) << (code // 4)


def code_of_scale(change: float) -> int:
    """The nearest code of a mean change."""
    code = 0
    while code < _MOST_SCALE and scale_of_code(code + 1) + scale_of_code(code) <= 32 * change:
        code += 1
    return code


@dataclass(frozen=True)
class ColumnSettings:
    """How one column is coded."""

    grid: Grid = field(default_factory=Grid)
    width: int = 0  # low bits that are sent as they are
    scale: int = 0  # code of the typical change
    centre: int = 0
    constant: int = 0  # drift, or constant centre
    neighbours: tuple[int, ...] = ()  # earlier columns of this part; plus their number times a lag, any column then
    recurs: bool = False  # whether the same levels come again, so that all their bits are learned


@dataclass(frozen=True)
class TableSettings:
    """How the table is coded."""

    columns: tuple[ColumnSettings, ...]
    order: int = 2  # second differences among the features
    season: int = 0  # rows; 0: none
    n_neighbours: int = 0
    taps: int = 0  # of the long filters, in 16
    pace: int = THOROUGH  # how much is computed for each number: THOROUGH, HASTY or QUICK

    def to_bytes(self) -> bytes:
        """Field by field, so that what is alike in all columns takes no room."""
        grids = [column.grid for column in self.columns]
        out = [varints([self.order << 2 | self.pace, self.season, self.n_neighbours, self.taps])]
        out.append(
            bytes(
                grid.kind
                | _RECURS * column.recurs
                | _SINGLE * grid.single
                | _BOUNDED * (grid.step != 1)
                | _SHIFTED * (grid.offset != 0)
                | _LOW_BITS * (column.width != 0)
                for grid, column in zip(grids, self.columns, strict=True)
            )
        )
        out += [_parameters(grid) for grid in grids]
        out += [varint(grid.step) for grid in grids if grid.step != 1]
        out += [signed(grid.offset) for grid in grids if grid.offset != 0]
        out += [bytes([column.width]) for column in self.columns if column.width]
        out += [bytes(column.scale for column in self.columns), bytes(column.centre for column in self.columns)]
        out += [signed(column.constant) for column in self.columns if column.centre in (DRIFTING, CONSTANT)]
        if self.n_neighbours:
            out.append(bytes(len(column.neighbours) for column in self.columns))
            n = len(self.columns)
            out += [varint(k - 1 - q if q < n else k + q - n) for k, column in enumerate(self.columns)
                    for q in column.neighbours]  # fmt: skip
        fields = shorter(b"".join(out))
        return varint(len(fields)) + fields + lists_bytes([grid for grid in grids if grid.kind == VALUES])

    @classmethod
    def from_cursor(cls, outer: Cursor, dtypes: list[np.dtype]) -> "TableSettings":
        n = len(dtypes)
        cursor = Cursor(unpacked(outer.take(outer.varint()), _MOST_SETTINGS))
        order, season = cursor.varint(4 * MOST_ORDER + QUICK), cursor.varint(MOST_SEASON)
        n_neighbours, taps = cursor.varint(MOST_NEIGHBOURS), cursor.varint(MOST_TAPS)
        order, pace = order >> 2, order & 3
        if pace > QUICK:
            raise DamagedFile(f"a table is coded at the unknown pace {pace}")
        most = max(n * n_features_of(order, season, n_neighbours) ** 2, n * 16 * taps)
        if pace != QUICK and most > MOST_STATE:
            raise DamagedFile("a table has more regressions than a decoder keeps")
        flags = cursor.take(n)
        given = [_read_parameters(cursor, flag & 7) for flag in flags]
        steps = [cursor.varint(MOST_STEP) if flag & _BOUNDED else 1 for flag in flags]
        offsets = [cursor.signed(2**62) if flag & _SHIFTED else 0 for flag in flags]
        widths = [cursor.byte() if flag & _LOW_BITS else 0 for flag in flags]
        scales, centres = cursor.take(n), cursor.take(n)
        constants = [cursor.signed(LIMIT) if centre in (DRIFTING, CONSTANT) else 0 for centre in centres]
        counts = cursor.take(n) if n_neighbours else bytes(n)
        codes = [[cursor.varint(k + n * MOST_LAG - 1) for _ in range(counts[k])] for k in range(n)]
        neighbours = [tuple(k - 1 - code if code < k else n + code - k for code in codes[k]) for k in range(n)]
        cursor.end()
        columns, lists = [], list[np.ndarray]()
        for k, (flag, dtype) in enumerate(zip(flags, dtypes, strict=True)):
            decimals, factor, first = given[k]
            if flag & 7 == VALUES:
                lists.append(read_list(outer, dtype, lists))
            values = lists[-1] if flag & 7 == VALUES else np.zeros(0)
            grid = Grid(flag & 7, decimals, factor, first, values, bool(flag & _SINGLE), offsets[k], steps[k])
            recurs = bool(flag & _RECURS)
            columns.append(ColumnSettings(grid, widths[k], scales[k], centres[k], constants[k], neighbours[k], recurs))
            _check(columns[-1], dtype, n_neighbours)
        return cls(tuple(columns), order, season, n_neighbours, taps, pace)


def _check(column: ColumnSettings, dtype: np.dtype, n_neighbours: int) -> None:
    grid = column.grid
    needs_float = grid.kind in (FACTOR, AFFINE, FLOAT, SHORT) or grid.single
    if grid.kind > SHORT or (needs_float and dtype.kind != "f"):
        raise DamagedFile("a column has an impossible grid")
    if grid.kind == SHORT and grid.decimals > MANTISSA[dtype.itemsize]:
        raise DamagedFile("a column has floats without a mantissa")
    if column.width > MOST_WIDTH or column.scale > _MOST_SCALE or column.centre > CONSTANT or grid.step < 1:
        raise DamagedFile("the settings of a column are impossible")
    if len(column.neighbours) > n_neighbours:
        raise DamagedFile("a column has impossible neighbours")


def _parameters(grid: Grid) -> bytes:
    if grid.kind in (DECIMALS, SHORT):
        return bytes([grid.decimals])
    if grid.kind == FLOAT:
        return signed(grid.decimals)
    if grid.kind == VALUES:
        return b""
    return struct.pack("<d", grid.factor) + (struct.pack("<d", grid.first) if grid.kind == AFFINE else b"")


def _read_parameters(cursor: Cursor, kind: int) -> tuple[int, float, float]:
    if kind == DECIMALS:
        decimals = cursor.byte()
        if decimals >= len(POWERS):
            raise DamagedFile("a column has an impossible number of decimals")
        return decimals, 1.0, 0.0
    if kind == FLOAT:
        return cursor.signed(1100), 1.0, 0.0
    if kind == SHORT:
        return cursor.byte(), 1.0, 0.0
    if kind == VALUES:
        return 0, 1.0, 0.0
    (factor,) = struct.unpack("<d", cursor.take(8))
    first = struct.unpack("<d", cursor.take(8))[0] if kind == AFFINE else 0.0
    if not (np.isfinite(factor) and np.isfinite(first)):
        raise DamagedFile("a factor is not finite")
    return 0, factor, first


def encode_table(settings: TableSettings, apart: Apart, numbers: Numbers, dtypes: list[np.dtype]) -> bytes:
    """The bytes of the part, which `decode_table` reads."""
    head = settings.to_bytes() + apart.to_bytes()
    size = 10 * numbers.whole.size + 4096  # memory that is not written to is not taken
    while True:
        buffer, coder = np.zeros(size, dtype=np.uint8), new_coder()
        _run(coder, buffer, False, settings, apart, not apart.seen.all(), numbers, dtypes)
        finish_encoding(coder, buffer)
        size = int(coder[POSITION])
        if size <= len(buffer):
            return head + buffer[:size].tobytes()


def decode_table(data: bytes, n_rows: int, dtypes: list[np.dtype]) -> list[np.ndarray]:
    """The columns of the part."""
    cursor, shape = Cursor(data), (n_rows, len(dtypes))
    settings = TableSettings.from_cursor(cursor, dtypes)
    apart, has_gaps = Apart.from_cursor(cursor, shape, dtypes)
    buffer, coder = np.frombuffer(cursor.rest(), dtype=np.uint8).copy(), new_coder()
    start_decoding(coder, buffer)
    has_low = any(column.width for column in settings.columns)
    has_bits = any(column.grid.kind == FLOAT for column in settings.columns)
    numbers = Numbers(integers(shape), integers(shape if has_low else (0, 0)), integers(shape if has_bits else (0, 0)))
    _run(coder, buffer, True, settings, apart, has_gaps, numbers, dtypes)
    if coder[POSITION] > len(buffer) + N_BEYOND:
        raise DamagedFile("a coded table ends too early")
    if any(dtype.kind != "f" and not apart.seen[:, j].all() for j, dtype in enumerate(dtypes)):
        raise DamagedFile("a column of whole numbers has gaps")
    return hand_over(settings, apart, numbers, dtypes)


def table_parts(data: bytes, n_rows: int, dtypes: list[np.dtype]) -> dict[str, int]:
    """How many bytes settings, exceptions and numbers take."""
    cursor = Cursor(data)
    TableSettings.from_cursor(cursor, dtypes)
    n_settings = cursor.at
    apart, _ = Apart.from_cursor(cursor, (n_rows, len(dtypes)), dtypes)
    n_apart = cursor.at - n_settings
    n_odd = n_apart if apart else 0
    return {"columns": n_settings + n_apart - n_odd, "exceptions": n_odd, "readings": cursor.left}


def hand_over(settings: TableSettings, apart: Apart, numbers: Numbers, dtypes: list[np.dtype]) -> list[np.ndarray]:
    """Columns from what was coded."""
    columns = []
    for j, (column, dtype) in enumerate(zip(settings.columns, dtypes, strict=True)):
        if column.grid.kind == FLOAT:
            columns.append(from_float_bits(np.asarray(numbers.bits[:, j], dtype=np.int64), dtype))
            continue
        whole = np.asarray(numbers.whole[:, j], dtype=np.int64)
        if column.width:
            most = 2**62 >> column.width  # no honest number is larger
            whole = (np.clip(whole, -most, most) << column.width) + np.asarray(numbers.low[:, j], dtype=np.int64)
        columns.append(column.grid.to_values(whole, dtype))
    apart.set_values(columns)
    return columns


def _run(
    coder: np.ndarray, buffer: np.ndarray, decoding: bool, settings: TableSettings, apart: Apart, has_gaps: bool,
    numbers: Numbers, dtypes: list[np.dtype],
) -> None:  # fmt: skip
    """Gaps, places of sentinels, whole numbers, low bits, bits of floats."""
    apart.code_places(coder, buffer, decoding, has_gaps)
    coded = apart.coded()
    run_numbers(coder, buffer, decoding, settings, numbers.whole, coded)
    widths = as_integers(np.array([column.width for column in settings.columns]))
    if widths.any():
        code_low_bits(coder, buffer, decoding, numbers.low, coded, widths)
    grids = [column.grid for column in settings.columns]
    if any(grid.kind == FLOAT for grid in grids):
        parts = [
            (grid.decimals, MANTISSA[dtype.itemsize], LEAST_EXPONENT[dtype.itemsize])
            if grid.kind == FLOAT
            else (0, 0, 0)
            for grid, dtype in zip(grids, dtypes, strict=True)
        ]
        exponents, mantissas, biases = (as_integers(np.array(part)) for part in zip(*parts, strict=True))
        code_float_bits(coder, buffer, decoding, numbers.bits, numbers.whole, coded, exponents, mantissas, biases)


def _ends(column: ColumnSettings) -> tuple[int, int]:
    """The least and the largest number: ranks are within their list."""
    if column.grid.kind == VALUES and column.grid.step == 1 and column.grid.offset == 0 and column.width == 0:
        return 0, len(column.grid.values) - 1
    return -LIMIT, LIMIT


def run_numbers(
    coder: np.ndarray, buffer: np.ndarray, decoding: bool, settings: TableSettings, whole: np.ndarray,
    coded: np.ndarray, count_from: int = -1,
) -> np.ndarray:  # fmt: skip
    """Code the whole numbers; with `count_from` only find how many bits each column takes from this row
    on, in 1/256.
    """
    n = whole.shape[1]
    centres = as_integers(np.array([column.centre for column in settings.columns]))
    constants = as_integers(np.array([column.constant for column in settings.columns]))
    if settings.pace == QUICK:
        code_quick(coder, buffer, decoding, whole, coded, *new_quick(n), centres, constants)
        return np.zeros(n, dtype=np.int64)
    scales = np.array([scale_of_code(column.scale) for column in settings.columns])
    neighbours = np.full((n, settings.n_neighbours), -1, dtype=np.int64)
    for k, column in enumerate(settings.columns):
        neighbours[k, : len(column.neighbours)] = column.neighbours
    state = new_table(
        scales,
        centres,
        constants,
        np.array([_ends(column) for column in settings.columns], dtype=np.int64).reshape(n, 2),
        np.array([column.recurs for column in settings.columns]),
        whole.size,
        settings.order,
        settings.season,
        settings.n_neighbours,
        16 * settings.taps,
        settings.pace == HASTY,
    )
    code_table(
        coder, buffer, decoding, whole, coded, state, as_integers(neighbours), settings.order, settings.season,
        count_from,
    )  # fmt: skip
    return np.asarray(state.columns[:, BITS], dtype=np.int64)
