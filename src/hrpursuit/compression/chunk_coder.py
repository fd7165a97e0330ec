"""The readings of a chunk as bytes, and back."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hrpursuit.compression.targets import Target
from hrpursuit.compression.verbatim import pack, unpack

Progress = Callable[[int, int], object]


class ChunkCoder:
    """Encodes chunks of a table towards one target."""

    def __init__(self, target: Target, *, effort: str = "default", basis: str = "adaptive") -> None:
        self.target = target

    def prepare(self, columns: list[np.ndarray]) -> bytes:
        """Look at the rows known so far; give what all chunks share, for the header."""
        return b""

    def encode(self, columns: list[np.ndarray]) -> bytes:
        """One chunk, its target met on it alone."""
        return pack(columns)

    def encode_all(self, chunks: Sequence[list[np.ndarray]], progress: Progress | None = None) -> Iterator[bytes]:
        """All chunks, the target met over all of them together."""
        total = sum(len(chunk[0]) for chunk in chunks if chunk)
        done = 0
        for chunk in chunks:
            yield self.encode(chunk)
            done += len(chunk[0]) if chunk else 0
            if progress is not None:
                progress(done, total)


class ChunkDecoder:
    """Decodes chunks, in any order."""

    def __init__(self, shared: bytes, dtypes: list[np.dtype]) -> None:
        self.dtypes = dtypes

    def decode(self, payload: bytes, n_rows: int) -> list[np.ndarray]:
        """The columns of a chunk."""
        return unpack(payload, n_rows, self.dtypes)

    def parts(self, payload: bytes, n_rows: int) -> tuple[str, dict[str, int]]:
        """How the chunk is coded, and how many bytes each part takes."""
        return "verbatim", {"readings": len(payload)}
