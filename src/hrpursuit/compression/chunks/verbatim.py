"""Columns of any type bit for bit: what is left where readings are no short decimals.

Columns of one item size are kept together: their bits as whole numbers, plain or as the change from the row before
(exclusive or, or difference), split into byte planes, and packed by whichever of LZMA and deflate is shorter; or the
rows as they are by LZMA, which finds rows that repeat.
"""

import lzma
import zlib

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.layout import Cursor, deflated, inflated, varint

_PLAIN, _XOR, _DELTA = range(3)
_STORED, _DEFLATE, _LZMA, _LZMA_OF_ROWS = range(4)
#: No packer makes its input smaller than this: a larger claim is refused before memory is taken.
_MOST_TIMES_SMALLER = 8192
_LITTLE = 0.95  # of the bytes as they are, above which coding saves little
_ODD = 0x9E3779B97F4A7C15  # that bits are multiplied by, to tell rows apart
_SMALL = 1 << 16  # bytes that are packed in no time
_NEARLY = 1.25  # times as long as coded, that some rows may be for all to be packed
#: Times as long by LZMA in haste, a tenth of the time, from which on it is not looked at more closely.
_FAR_FROM = 2.0
_HASTY = [{"id": lzma.FILTER_LZMA2, "preset": 0}]
_REPEATED = 0.8  # share of rows, other than those like the one before, that are different where none repeat


def pack(columns: list[np.ndarray]) -> bytes:
    """Pack columns of equal length, each of any bool, integer or float type of native byte order."""
    out = []
    for places in _groups([column.dtype for column in columns]):
        out.append(_pack_bits(np.column_stack([_bits(columns[place]) for place in places])))
    return b"".join(out)


def may_repeat(columns: list[np.ndarray], n_coded: int, effort: str) -> bool:
    """Whether packing the columns as they are could be shorter than `n_coded` bytes, by a quick look: where packing
    some rows comes near, where rows repeat, and where coding saves little.
    """
    n_raw = sum(column.nbytes for column in columns)
    if n_coded > _LITTLE * n_raw or n_raw < _SMALL:
        return True
    if effort == "fast":
        return False
    rows = np.zeros(len(columns[0]), dtype=np.uint64)
    for place, column in enumerate(columns):
        rows += _bits(column).astype(np.uint64) * np.uint64(2 * place + _ODD)
    changed = np.flatnonzero(np.diff(rows) != 0)
    if len(changed) and len(np.unique(rows[changed])) < _REPEATED * len(changed):
        return True
    n = max(1, _SMALL * len(columns[0]) // n_raw)
    middle = slice((len(columns[0]) - n) // 2, (len(columns[0]) + n) // 2)
    few = [column[middle] for column in columns]
    most = _NEARLY * n_coded * sum(column.nbytes for column in few) / n_raw
    return _hasty_size(few) < _FAR_FROM * most and len(pack(few)) < most


def unpack(data: bytes, n_rows: int, dtypes: list[np.dtype]) -> list[np.ndarray]:
    """The columns that `pack` was given. Raises DamagedFile if the bytes are not its work."""
    cursor = Cursor(data)
    columns: list[np.ndarray] = [np.empty(0)] * len(dtypes)
    with damage("a verbatim part"):
        for places in _groups(dtypes):
            bits = _unpack_bits(cursor, n_rows, len(places), dtypes[places[0]].itemsize)
            for place, column in zip(places, bits.T, strict=True):
                if dtypes[place].kind == "b" and column.size and column.max() > 1:
                    raise DamagedFile("a truth value is neither 0 nor 1")
                columns[place] = np.ascontiguousarray(column).view(dtypes[place])
        cursor.end()
    return columns


def _groups(dtypes: list[np.dtype]) -> list[list[int]]:
    """Places of the columns of one type, in order of the first of each; floats and integers do not mix well."""
    groups: dict[np.dtype, list[int]] = {}
    for place, dtype in enumerate(dtypes):
        groups.setdefault(dtype, []).append(place)
    return list(groups.values())


def _bits(column: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(column).view(f"u{column.dtype.itemsize}")


def _pack_bits(bits: np.ndarray) -> bytes:
    changed = {_PLAIN: bits}
    if len(bits) > 1:
        changed[_XOR] = np.concatenate([bits[:1], bits[1:] ^ bits[:-1]])
        changed[_DELTA] = np.concatenate([bits[:1], bits[1:] - bits[:-1]])
    planes = {(way, by_row): _planes(change, by_row) for way, change in changed.items() for by_row in (False, True)}
    way, by_row = min(planes, key=lambda key: len(zlib.compress(planes[key], 3)))
    plain = planes[way, by_row]
    packed = {_STORED: plain, _DEFLATE: deflated(plain), _LZMA: _lzma(plain, _filters(len(plain)))}
    rows = np.ascontiguousarray(bits.astype(f"<u{bits.itemsize}", copy=False)).tobytes()
    packed[_LZMA_OF_ROWS] = _lzma(rows, _filters_of_rows(len(rows)))
    packer = min(packed, key=lambda key: len(packed[key]))
    if packer == _LZMA_OF_ROWS:
        way, by_row = _PLAIN, False
    return bytes([way | by_row << 2 | packer << 3]) + varint(len(packed[packer])) + packed[packer]


def _unpack_bits(cursor: Cursor, n_rows: int, n_columns: int, item: int) -> np.ndarray:
    method, data = cursor.byte(), cursor.take(cursor.varint())
    way, by_row, packer = method & 3, bool(method & 4), method >> 3
    size = n_rows * n_columns * item
    if way > _DELTA or packer > _LZMA_OF_ROWS or (packer == _LZMA_OF_ROWS and method & 7):
        raise DamagedFile(f"a verbatim part is packed in the unknown way {method}")
    if size > _MOST_TIMES_SMALLER * (len(data) + 1):
        raise DamagedFile(f"{len(data)} bytes cannot hold {n_rows} rows of {n_columns} columns")
    if packer in (_LZMA, _LZMA_OF_ROWS):
        plain = _unlzma(data, size, _filters(size) if packer == _LZMA else _filters_of_rows(size))
    else:
        plain = data if packer == _STORED else inflated(data, size)
    if len(plain) != size:
        raise DamagedFile(f"a verbatim part has {len(plain)} bytes instead of {size}")
    if packer == _LZMA_OF_ROWS:
        return np.frombuffer(plain, f"<u{item}").astype(f"=u{item}").reshape(n_rows, n_columns)
    shape = (item, n_rows, n_columns) if by_row else (item, n_columns, n_rows)
    order = (1, 2, 0) if by_row else (2, 1, 0)
    planes = np.frombuffer(plain, np.uint8).reshape(shape).transpose(order)
    bits = np.ascontiguousarray(planes).view(f"<u{item}")[..., 0].astype(f"=u{item}", copy=False)
    if way == _XOR:
        return np.bitwise_xor.accumulate(bits, axis=0)
    return np.cumsum(bits, axis=0, dtype=bits.dtype) if way == _DELTA else bits


def _hasty_size(columns: list[np.ndarray]) -> int:
    """About what packing gives: bytes of the columns as rows or in planes, by LZMA in haste."""
    size = 0
    for places in _groups([column.dtype for column in columns]):
        bits = np.column_stack([_bits(columns[place]) for place in places])
        size += min(len(_lzma(data, _HASTY)) for data in (bits.tobytes(), _planes(bits, False)))
    return size


def _planes(bits: np.ndarray, by_row: bool) -> bytes:
    """All lowest bytes, then all second lowest, ...; within a plane row by row or column by column."""
    item = bits.dtype.itemsize
    octets = np.ascontiguousarray(bits.astype(f"<u{item}", copy=False)).view(np.uint8).reshape(*bits.shape, item)
    return octets.transpose((2, 0, 1) if by_row else (2, 1, 0)).tobytes()


def _filters(size: int) -> list[dict]:
    """Both sides know the size, so the dictionary needs no byte; it is no larger than the data."""
    window = max(4096, min(1 << max(size - 1, 1).bit_length(), 1 << 24))
    return [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": window, "pb": 0, "lp": 0, "lc": 3}]


def _filters_of_rows(size: int) -> list[dict]:
    """For rows as they are: LZMA tells the bytes of eight apart by their place."""
    return [{**_filters(size)[0], "pb": 3, "lp": 3, "lc": 1}]


def _lzma(plain: bytes, filters: list[dict]) -> bytes:
    return lzma.compress(plain, lzma.FORMAT_RAW, filters=filters)


def _unlzma(data: bytes, size: int, filters: list[dict]) -> bytes:
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
    plain = unpacker.decompress(data, size + 1)
    if not unpacker.eof or unpacker.unused_data:
        raise DamagedFile("a verbatim part does not end where it should")
    return plain
