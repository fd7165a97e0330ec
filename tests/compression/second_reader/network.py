"""Groups of columns that are coded together: settings, coded bits, and from numbers to values."""

from .samples import read_samples
from .sparse import read_sparse
from .transform import cosines, read_correction, read_transform
from .words import Bits, Bytes, clip


def read_group(data, n_rows, types, basis, apart):
    """Columns as lists of bits, and the mode."""
    source, n = Bytes(data), len(types)
    flags = source.byte()
    mode, positive, rounded = flags & 3, flags & 4, flags & 8
    decimals = list(source.take(n if flags & 16 else 1)) * (1 if flags & 16 else n)
    fraction = source.signed()
    factor = source.double() if 255 in decimals else 1.0
    offsets = [source.signed() for _ in range(n)] if flags & 32 else [0] * n
    widths = list(source.take(n)) if flags & 64 else [0] * n
    steps = [source.varint() for _ in range(n)] if flags & 128 else [source.varint()] * n
    more = season = bound = 0
    scales = []
    if mode == 0:
        more, season = source.byte(), source.varint()
        scales = [source.varint() for _ in range(n)] if more & 2 else [source.varint()] * n
    elif mode == 2:
        bound = source.varint()
    bits = Bits(source.rest())
    seen, low = apart.read_places(bits, n_rows), [[0] * n for _ in range(n_rows)]
    kind, what = basis
    if mode == 0:
        grain = 2**fraction if more & 1 else 0
        k = read_samples(bits, seen, n, steps, scales, season, positive, grain, more & 4)
        low = [[bits.plain(widths[j]) if seen[t][j] else 0 for j in range(n)] for t in range(n_rows)]
    elif mode == 3:
        k = read_sparse(bits, seen, n, steps[0], positive, what)
    else:
        atoms = [list(row) for row in what] if kind == "sent" else cosines(n)
        k = read_transform(bits, n_rows, n, steps[0], positive, atoms, kind == "adaptive")
        if mode == 2:
            k, fraction = read_correction(bits, seen, k, fraction, bound), 0
    out = [[0] * n_rows for _ in range(n)]
    for j, type_ in enumerate(types):
        for t in range(n_rows):
            number, divisor = k[t][j], 1
            if fraction < 0:
                number <<= -fraction
            elif rounded or not type_.is_float:
                number = (number + (2**fraction >> 1)) >> fraction
            else:
                divisor = 2**fraction
            number = (number << widths[j]) + low[t][j] + offsets[j]
            out[j][t] = _value(number, decimals[j], factor, divisor, type_)
    apart.put(out, types)
    return out, mode


def _value(number, decimals, factor, divisor, type_):
    if not type_.is_float and decimals == 0:
        return type_.whole(number)
    value = number * (factor / divisor) if decimals == 255 else number / float(divisor * 10**decimals)
    if not type_.is_float:
        return type_.whole(round(clip(value, -(2.0**70), 2.0**70)))
    return type_.bits_of(value)
