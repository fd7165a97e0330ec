"""Columns as their bits."""

import lzma
import zlib


def read_verbatim(source, n_rows, types):
    """Columns as lists of bits, and how they were packed."""
    out, met = [[] for _ in types], set()
    for type_ in dict.fromkeys(types):
        places = [j for j, other in enumerate(types) if other == type_]
        method, data = source.byte(), source.take(source.varint())
        met.add(("packed", method >> 3))
        n, size = len(places), n_rows * len(places) * type_.size
        if method >> 3 == 1:
            data = zlib.decompress(data, -15)
        elif method >> 3 >= 2:
            window = 4096
            while window < min(size, 2**24):
                window *= 2
            lc, lp, pb = (3, 0, 0) if method >> 3 == 2 else (1, 3, 3)
            how = [{"id": lzma.FILTER_LZMA2, "dict_size": window, "lc": lc, "lp": lp, "pb": pb}]
            data = lzma.decompress(data, lzma.FORMAT_RAW, filters=how)
        assert len(data) == size
        if method >> 3 == 3:
            for i, j in enumerate(places):
                starts = range(i * type_.size, size, n * type_.size)
                out[j] += [int.from_bytes(data[start : start + type_.size], "little") for start in starts]
            continue
        for i, j in enumerate(places):
            last = 0
            for t in range(n_rows):
                cell = t * n + i if method & 4 else i * n_rows + t
                bits = int.from_bytes(data[cell :: n_rows * n], "little")
                change = method & 3
                last = bits ^ last if change == 1 else (bits + last) % 2 ** (8 * type_.size) if change == 2 else bits
                out[j].append(last)
    source.end()
    return out, met
