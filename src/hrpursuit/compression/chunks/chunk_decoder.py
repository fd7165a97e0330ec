"""The readings of chunks from their bytes."""

import numpy as np

from hrpursuit.compression.chunks.apart import Apart
from hrpursuit.compression.chunks.bases import Group, read_groups
from hrpursuit.compression.chunks.coding import count_gap_bytes, decode_group
from hrpursuit.compression.chunks.handover import hand_over
from hrpursuit.compression.chunks.payload import Payload
from hrpursuit.compression.chunks.settings import MODES, SPARSE, GroupSettings
from hrpursuit.compression.chunks.tabular import decode_table, table_parts
from hrpursuit.compression.chunks.verbatim import unpack
from hrpursuit.compression.errors import damage
from hrpursuit.compression.kernels.compiled import integers
from hrpursuit.compression.layout import Cursor


class ChunkDecoder:
    """Decodes chunks, in any order."""

    def __init__(self, shared: bytes, dtypes: list[np.dtype]) -> None:
        self.dtypes = dtypes
        with damage("the basis of the columns"):
            self._groups = read_groups(shared, len(dtypes))

    def decode(self, payload: bytes, n_rows: int) -> list[np.ndarray]:
        """The columns of a chunk."""
        with damage("a chunk"):
            found = self._open(payload, n_rows)
            columns: list[np.ndarray] = [np.full(n_rows, np.nan).astype(d) if d.kind == "f" else np.zeros(n_rows, d)
                                         for d in self.dtypes]  # fmt: skip
            kept = np.flatnonzero(found.verbatim)
            if len(kept):
                data = unpack(found.verbatim_data, n_rows, [self.dtypes[place] for place in kept])
                for place, column in zip(kept, data, strict=True):
                    columns[place] = column
            tabled = np.flatnonzero(found.tabled)
            if len(tabled):
                data = decode_table(found.table_data, n_rows, [self.dtypes[place] for place in tabled])
                for place, column in zip(tabled, data, strict=True):
                    columns[place] = column
            for group, places, data in self._coded(found):
                cursor = Cursor(data)
                settings = GroupSettings.from_cursor(cursor, len(places))
                _check_mode(settings, group)
                apart = Apart(integers((n_rows, len(places)), 1))
                if found.apart is not None:
                    apart = found.apart.of_columns(places)
                numbers = decode_group(cursor.rest(), settings, group.basis, apart)
                decoded = hand_over(settings, apart, numbers, [self.dtypes[place] for place in places])
                for place, column in zip(places, decoded, strict=True):
                    if found.grouped[place]:
                        columns[place] = column
        return columns

    def parts(self, payload: bytes, n_rows: int) -> tuple[str, dict[str, int]]:
        """How the chunk is coded, and how many bytes each part takes."""
        with damage("a chunk"):
            found = self._open(payload, n_rows)
            modes, n_gaps, n_coded = [], 0, 0
            for _, places, data in self._coded(found):
                cursor = Cursor(data)
                modes.append(MODES[GroupSettings.from_cursor(cursor, len(places)).mode])
                gaps = count_gap_bytes(cursor.rest(), (n_rows, len(places)))
                n_gaps += gaps
                n_coded += len(data) - gaps
            inside = {"columns": 0, "exceptions": 0, "readings": 0}
            if len(found.table_data):
                dtypes = [self.dtypes[place] for place in np.flatnonzero(found.tabled)]
                modes.append("table")
                inside = table_parts(found.table_data, n_rows, dtypes)
        if len(found.verbatim_data):
            modes.append("verbatim")
        parts = {"gaps": n_gaps, "readings": n_coded + inside["readings"], "verbatim": len(found.verbatim_data)}
        parts["exceptions"] = inside["exceptions"] + (len(found.apart.to_bytes()) if found.apart is not None else 0)
        parts["columns"] = len(payload) - sum(parts.values())
        return ", ".join(dict.fromkeys(modes)) or "nothing", {part: size for part, size in parts.items() if size > 0}

    def _open(self, payload: bytes, n_rows: int) -> Payload:
        return Payload.from_bytes(payload, n_rows, self.dtypes, [group.columns for group in self._groups])

    def _coded(self, found: Payload) -> list[tuple[Group, np.ndarray, bytes]]:
        """Groups that have coded columns, the columns that take part, and their bytes."""
        out, rest = [], iter(found.groups)
        for group in self._groups:
            coded = found.grouped[group.columns]
            if coded.any():
                out.append((group, group.columns[coded] if group.basis.is_adaptive else group.columns, next(rest)))
        return out


def _check_mode(settings: GroupSettings, group: Group) -> None:
    if settings.mode == SPARSE and not group.basis.n_nonzero:
        raise ValueError("sparse codes without a dictionary")
