"""Tables of sensor readings, gaps and all, as files: small, with a bound on the error, readable in parts."""

from hrpursuit.compression.codec import compress, decompress
from hrpursuit.compression.column_errors import LostColumnsWarning
from hrpursuit.compression.description import ChunkDescription, Description, describe
from hrpursuit.compression.errors import DamagedFile, DamagedFileWarning, LimitExceeded, UnsupportedVersion
from hrpursuit.compression.files.listing import ChunkInfo
from hrpursuit.compression.reader import Decoder
from hrpursuit.compression.stream import Encoder
from hrpursuit.compression.targets import Target

__all__ = [
    "ChunkDescription",
    "ChunkInfo",
    "DamagedFile",
    "DamagedFileWarning",
    "Decoder",
    "Description",
    "Encoder",
    "LimitExceeded",
    "LostColumnsWarning",
    "Target",
    "UnsupportedVersion",
    "compress",
    "decompress",
    "describe",
]
