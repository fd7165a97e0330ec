"""The bytes of a chunk: which columns are coded, which are kept as they are, which the
coder of tables has written, cells apart, then the groups.
"""

from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.chunks.apart import Apart
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, varint

_EMPTY, _VERBATIM, _APART, _TABLE = 1, 2, 4, 8


@dataclass
class Payload:
    """A chunk taken apart.

    Attributes
    ----------
    empty, verbatim : array of bool
        Columns without any value, and columns that are kept as they are.
    verbatim_data : bytes
    tabled : array of bool
        Columns that the coder of tables has written.
    table_data : bytes
    apart : Apart or None
        Cells of columns in groups that are not coded; groups say where their gaps are.
    groups : list of bytes
        Those groups that have a column which is coded, in order.
    """

    empty: np.ndarray
    verbatim: np.ndarray
    tabled: np.ndarray
    verbatim_data: bytes = b""
    table_data: bytes = b""
    apart: Apart | None = None
    groups: list[bytes] = field(default_factory=list)

    @property
    def grouped(self) -> np.ndarray:
        """Columns that are coded in their groups."""
        return ~(self.empty | self.verbatim | self.tabled)

    def to_bytes(self) -> bytes:
        flags = (
            _EMPTY * bool(self.empty.any())
            | _VERBATIM * bool(self.verbatim.any())
            | _APART * (self.apart is not None)
            | _TABLE * bool(self.tabled.any())
        )
        out = [bytes([flags])]
        if self.empty.any():
            out.append(np.packbits(self.empty).tobytes())
        if self.verbatim.any():
            out += [np.packbits(self.verbatim).tobytes(), varint(len(self.verbatim_data)), self.verbatim_data]
        if self.tabled.any():  # if nothing else is left, there is no need to say which columns, nor how long
            is_all = not self.grouped.any()
            out.append(bytes([is_all]))
            if not is_all:
                out.append(np.packbits(self.tabled).tobytes() + varint(len(self.table_data)))
        if self.apart is not None:
            out.append(self.apart.to_bytes())
        out.append(self.table_data)
        for group in self.groups[:-1]:
            out += [varint(len(group)), group]
        return b"".join(out + self.groups[-1:])

    @classmethod
    def from_bytes(cls, data: bytes, n_rows: int, dtypes: list[np.dtype], groups: list[np.ndarray]) -> "Payload":
        """Take a chunk apart; `groups` are the columns of each group."""
        cursor, n = Cursor(data), len(dtypes)
        flags = cursor.byte()
        if flags > 15:
            raise DamagedFile(f"a chunk has the unknown flags {flags}")
        found = cls(_bits(cursor, n, flags & _EMPTY), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool))
        if flags & _VERBATIM:
            found.verbatim = _bits(cursor, n, True)
            found.verbatim_data = cursor.take(cursor.varint())
        if (found.empty & found.verbatim).any():
            raise DamagedFile("a column is empty and has values")
        if any(found.empty[j] and dtypes[j].kind in "biu" for j in range(n)):
            raise DamagedFile("a column of whole numbers cannot be empty")
        n_table = None
        if flags & _TABLE:
            is_all = cursor.byte()
            found.tabled = ~(found.empty | found.verbatim) if is_all else _bits(cursor, n, True)
            n_table = None if is_all else cursor.varint()
            if is_all > 1 or (found.tabled & (found.empty | found.verbatim)).any() or not found.tabled.any():
                raise DamagedFile("the columns of a table are impossible")
        if flags & _APART:
            found.apart, has_gaps = Apart.from_cursor(cursor, (n_rows, n), dtypes)
            odd = [*(found.apart.cells % n).tolist(), *(place for place, _, _ in found.apart.sentinels)]
            if has_gaps or not found.grouped[odd].all():
                raise DamagedFile("cells apart are in no group")
        if flags & _TABLE:
            found.table_data = cursor.rest() if n_table is None else cursor.take(n_table)
        coded = [columns for columns in groups if found.grouped[columns].any()]
        for i in range(len(coded)):
            found.groups.append(cursor.take(cursor.varint()) if i < len(coded) - 1 else cursor.rest())
        cursor.end()
        return found


def _bits(cursor: Cursor, n: int, are_there: int | bool) -> np.ndarray:
    if not are_there:
        return np.zeros(n, dtype=bool)
    return np.unpackbits(np.frombuffer(cursor.take((n + 7) // 8), dtype=np.uint8))[:n].astype(bool)
