"""Where rows come from: memory, files larger than memory, a cluster."""

from hrpursuit.core.protocols import Rows
from hrpursuit.rows.array import ArrayRows, gather
from hrpursuit.rows.dask import DaskRows, map_lazily
from hrpursuit.rows.kept import KeptRows
from hrpursuit.rows.mapped import MappedRows, whitening
from hrpursuit.rows.open import is_outside_memory, open_rows
from hrpursuit.rows.source import BlockError, Opener, Source
from hrpursuit.rows.stream import StreamedRows
from hrpursuit.rows.survey import survey
from hrpursuit.rows.writers import write_blocks

__all__ = [
    "ArrayRows",
    "BlockError",
    "DaskRows",
    "KeptRows",
    "MappedRows",
    "Opener",
    "Rows",
    "Source",
    "StreamedRows",
    "gather",
    "is_outside_memory",
    "map_lazily",
    "open_rows",
    "survey",
    "whitening",
    "write_blocks",
]
