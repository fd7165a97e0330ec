"""The part of a chunk with columns of any kind: settings, lists of values, cells apart, and from numbers to values."""

from typing import NamedTuple

from .apart import Apart
from .quick_coder import read_quick
from .table_coder import CONSTANT, DRIFTING, LAST, LIMIT, TableCoder
from .words import Bits, Bytes, Type, clip

DECIMALS, FACTOR, AFFINE, VALUES, FLOAT, SHORT = range(6)
THOROUGH, HASTY, QUICK = range(3)
SINGLE = Type("f", 4)


class Column(NamedTuple):
    """Settings of one column."""

    kind: int
    single: bool
    decimals: int
    factor: float
    first: float
    step: int
    offset: int
    width: int
    scale: int
    centre: int
    constant: int
    recurs: bool
    neighbours: list
    values: list
    listed: str


def read_table(data, n_rows, types):
    """Columns as lists of bits, and a record of what was met."""
    source = Bytes(data)
    pace, order, season, n_neighbours, taps, columns = _settings(source, types)
    apart, n = Apart(source, types), len(types)
    bits = Bits(source.rest())
    coded = apart.read_places(bits, n_rows)
    given = [
        (column.scale, column.centre, column.constant, column.neighbours, _ends(column), column.recurs)
        for column in columns
    ]
    if pace == QUICK:
        X = read_quick(bits, coded, given)
    else:
        X = TableCoder(
            bits, coded, given, order=order, season=season, n_neighbours=n_neighbours, n_taps=16 * taps, hasty=pace
        ).read()
    low = [[0] * n for _ in range(n_rows)]
    if any(column.width for column in columns):
        low = [[bits.plain(columns[j].width) if coded[t][j] else 0 for j in range(n)] for t in range(n_rows)]
    out = [[0] * n_rows for _ in range(n)]
    for t in range(n_rows):
        for j, column in enumerate(columns):
            if coded[t][j] and column.kind == FLOAT:
                out[j][t] = _float_bits(bits, X[t][j], column.decimals, types[j])
            elif coded[t][j]:
                most = 2**62 >> column.width
                number = (clip(X[t][j], -most, most) << column.width) + low[t][j] if column.width else X[t][j]
                out[j][t] = _value(column, number, types[j])
    apart.put(out, types)
    met = _met(pace, season, n_neighbours, taps, columns)
    return out, met | {("apart", name) for name in apart.met}


def _ends(column):
    if column.kind == VALUES and column.step == 1 and column.offset == 0 and column.width == 0:
        return 0, len(column.values) - 1
    return -LIMIT, LIMIT


def _met(pace, season, n_neighbours, taps, columns):
    met = {("pace", pace), ("has season", season > 0), ("has neighbours", n_neighbours > 0), ("has filter", taps > 0)}
    for column in columns:
        met |= {("lag", min(lag, 2)) for _, lag in column.neighbours}
        met |= {("grid", column.kind), ("centre", column.centre), ("single", column.single)}
        met |= {
            ("step", column.step > 1),
            ("offset", column.offset != 0),
            ("width", column.width > 0),
            ("recurs", column.recurs),
        }
        met |= {("list", column.listed)} if column.kind == VALUES else set()
    return met


def _settings(outer, types):
    n, source = len(types), Bytes(outer.take(outer.varint())).packed()
    how, season, n_neighbours, taps = (source.varint() for _ in range(4))
    flags = source.take(n)
    given = [_parameters(source, flag & 7) for flag in flags]
    steps = [source.varint() if flag & 32 else 1 for flag in flags]
    offsets = [source.signed() if flag & 64 else 0 for flag in flags]
    widths = [source.byte() if flag & 128 else 0 for flag in flags]
    scales = [(4 + code % 4) << (code // 4) for code in source.take(n)]
    centres = source.take(n)
    constants = [source.signed() if centre in (DRIFTING, CONSTANT) else 0 for centre in centres]
    counts = source.take(n) if n_neighbours else bytes(n)
    codes = [[source.varint() for _ in range(counts[k])] for k in range(n)]
    neighbours = [[(k - 1 - v, 0) if v < k else ((v - k) % n, 1 + (v - k) // n) for v in codes[k]] for k in range(n)]
    source.end()
    columns, lists = [], []
    for k, flag in enumerate(flags):
        values, listed = read_list(outer, types[k], lists) if flag & 7 == VALUES else ([], "")
        if flag & 7 == VALUES:
            lists.append(values)
        columns.append(
            Column(flag & 7, bool(flag & 16), *given[k], steps[k], offsets[k], widths[k], scales[k], centres[k],
                   constants[k], bool(flag & 8), neighbours[k], values, listed)
        )  # fmt: skip
    return how & 3, how >> 2, season, n_neighbours, taps, columns


def _parameters(source, kind):
    """Decimals (or the binary exponent of FLOAT), factor, first."""
    if kind in (DECIMALS, SHORT):
        return source.byte(), 1.0, 0.0
    if kind == FLOAT:
        return source.signed(), 1.0, 0.0
    if kind == VALUES:
        return 0, 1.0, 0.0
    factor = source.double()
    return 0, factor, source.double() if kind == AFFINE else 0.0


def read_numbers(source, n):
    """A packed list of n whole numbers."""
    if n == 0:
        return []
    first = source.signed()
    bits = Bits(source.take(source.varint()))
    coder = TableCoder(
        bits,
        [[1]] * n,
        [(16, LAST, 0, [], (-LIMIT, LIMIT), False)],
        order=2,
        season=0,
        n_neighbours=0,
        n_taps=0,
        hasty=False,
    )
    return [first + row[0] for row in coder.read()]


def read_list(source, kind, earlier):
    """Values in rising order, as bits; and how they were written."""
    n = source.varint()
    if n == 0:
        return earlier[source.varint()], "as before"
    how = source.byte()
    decimals, single = how & 63, bool(how & 64)
    if not decimals:
        planes = Bytes(source.take(source.varint())).packed().rest()
        assert len(planes) == n * kind.size
        bits, last = [], 0
        for i in range(n):
            last = (last + int.from_bytes(planes[i::n], "little")) % 2 ** (8 * kind.size)
            bits.append(last)
        return bits, "bits"
    numbers = [source.signed()]
    for change in read_numbers(source, n - 1):
        numbers.append(numbers[-1] + change)
    near = [_decimal(number, decimals - 1, single, kind) for number in numbers]
    unit = source.byte()
    if unit == 0:
        return near, "decimals"
    of = SINGLE if unit == 2 else kind
    found = []
    for bits, left in zip(near, read_numbers(source, n), strict=True):
        if of != kind:
            bits = of.bits_of(kind.value_of(bits))
        sign = 1 << (8 * of.size - 1)
        place = (sign - bits if bits >= sign else bits) + clip(left, -LIMIT, LIMIT)
        bits = sign - place if place < 0 else place
        found.append(bits if of == kind else kind.bits_of(of.value_of(bits)))
    return found, f"decimals and rest of {of.size} bytes"


def _decimal(number, decimals, single, kind):
    if not kind.is_float:
        return kind.whole(number)
    return _rounded(number / float(10**decimals), single, kind)


def _rounded(value, single, kind):
    return kind.bits_of(SINGLE.value_of(SINGLE.bits_of(value)) if single else value)


def _value(column, coded, kind):
    most = 2**62 // column.step
    number = clip(coded, -most, most) * column.step + column.offset
    if column.kind == VALUES:
        return column.values[clip(number, 0, len(column.values) - 1)]
    if column.kind == DECIMALS:
        return _decimal(number, column.decimals, column.single, kind)
    if column.kind == SHORT:
        sign, infinity = 1 << (8 * kind.size - 1), (1 << (8 * kind.size - 1 - kind.mantissa)) - 1 << kind.mantissa
        most = (infinity - 1) >> column.decimals
        place = clip(number, -most, most) << column.decimals
        return sign - place if place < 0 else place
    if column.kind == FACTOR:
        return _rounded(number * column.factor, column.single, kind)
    return _rounded(column.first + number * column.factor, column.single, kind)


def _float_bits(bits, part, q, kind):
    """The bits of a float from its leading part k and bits as they are."""
    m = kind.mantissa
    most = 2 ** (8 * kind.size - 1 - m) - 1
    if part:
        negative, length = part < 0, abs(part).bit_length() - 1
        known = min(length, m)
        mantissa = (abs(part) - 2**length) >> (length - known)
        mantissa = (mantissa << (m - known)) + bits.plain(m - known)
        exponent = clip(q + length - kind.bias + 1, 0, most)
    else:
        negative, exponent = bits.bit(32768), clip(q - kind.bias, 0, most)
        while exponent > 0 and not bits.bit(32768):
            exponent -= 1
        mantissa = bits.plain(m)
    return (exponent << m) + mantissa + (negative << (8 * kind.size - 1))
