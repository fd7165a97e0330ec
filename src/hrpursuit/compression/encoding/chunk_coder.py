"""The readings of chunks as bytes, towards one target."""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hrpursuit.compression.chunks.bases import Group, write_groups
from hrpursuit.compression.chunks.compilation import compile_kernels
from hrpursuit.compression.encoding.drafts import LEAST_UNIT
from hrpursuit.compression.encoding.grouping import make_groups
from hrpursuit.compression.encoding.open_chunk import Limits, OpenChunk
from hrpursuit.compression.encoding.pieces import Piece, Trial, is_same, is_within
from hrpursuit.compression.encoding.search import Choice, RmseSearch, bounded, choose_bounded, encode_rmse, lossless
from hrpursuit.compression.encoding.sparse_codes import encode_sparse
from hrpursuit.compression.targets import Target

Progress = Callable[[int, int], object]
LOSSLESS = Target("lossless", 0.0)


class ChunkCoder:
    """Encodes chunks of a table towards one target. What was best for one chunk is tried first on the next."""

    def __init__(self, target: Target, *, effort: str = "default", basis: str = "adaptive") -> None:
        self.target, self.effort, self.basis = target, effort, basis
        self._limits: Limits = ()
        self._groups: list[Group] = []
        self._choice: Choice | None = None

    def prepare(self, columns: list[np.ndarray], limits: Limits = ()) -> bytes:
        """Look at the rows known so far; give what all chunks share, for the header."""
        if self.target.kind == "n_nonzero" and self.target.amount > len(columns):
            raise ValueError(
                f"n_nonzero={self.target.amount:g} is more than the {len(columns)} columns of the table; give at most "
                f"{len(columns)}, or lossless=True."
            )
        compile_kernels()
        self._limits = limits
        self._groups = make_groups(columns, self.target, self.basis) if columns else []
        return write_groups(self._groups, len(columns))

    def encode(self, columns: list[np.ndarray]) -> bytes:
        """One chunk, its target met on it alone."""
        return next(self.encode_all([columns]))

    def encode_all(self, chunks: Sequence[list[np.ndarray]], progress: Progress | None = None) -> Iterator[bytes]:
        """All chunks, the target met over all of them together."""
        n_rows, n_done = sum(len(chunk[0]) for chunk in chunks if chunk), 0
        trials: Iterator[Trial] | None = None
        target = self.target
        if target.kind == "rmse":
            opened = [OpenChunk(columns, self._groups, target, self._limits) for columns in chunks]
            trials = self._towards_rmse([piece for chunk in opened for piece in chunk.pieces])
            target = target if trials is not None else LOSSLESS  # which keeps every error
        elif target.kind == "max_error" and self._choice is None:
            self._choose(chunks)
        for columns in chunks:
            chunk = OpenChunk(columns, self._groups, target, self._limits)
            yield chunk.to_bytes([next(trials) for _ in chunk.pieces]) if trials else self._finish(chunk)
            n_done += chunk.n_rows
            if progress is not None:
                progress(n_done, n_rows)

    def _choose(self, chunks: Sequence[list[np.ndarray]]) -> None:
        """How to stay within the bound, from a few chunks; nothing if these have no readings."""
        few = [chunks[i] for i in np.unique(np.linspace(0, len(chunks) - 1, min(len(chunks), 3)).astype(int))]
        opened = [OpenChunk(columns, self._groups, self.target, self._limits) for columns in few]
        pieces = [piece for chunk in opened for piece in chunk.pieces]
        if pieces:
            self._choice = choose_bounded(pieces, self.target.amount, self.effort)

    def _finish(self, chunk: OpenChunk) -> bytes:
        """Code a chunk; columns that do not come back as they should are kept as they are."""
        while True:
            trials = [self._code(piece, chunk.target) for piece in chunk.pieces]
            failed = [
                place
                for trial, piece, places in zip(trials, chunk.pieces, chunk.places, strict=True)
                for place, is_kept in zip(places, _keeps(trial, piece, chunk.target), strict=True)
                if not is_kept
            ]
            if not failed:
                return chunk.to_bytes(trials)
            chunk = chunk.keeping(failed)

    def _code(self, piece: Piece, target: Target) -> Trial:
        if target.kind == "n_nonzero" and piece.basis.n_nonzero:
            return encode_sparse(piece)
        if target.kind == "max_error":
            return self._within(piece, target)
        return lossless(piece, self.effort)

    def _within(self, piece: Piece, target: Target) -> Trial:
        """A piece within the bound: if need be with one a little smaller, since the bound is no decimal itself, or with
        a whole one, to which the rounding of whole numbers does not add.
        """
        if self._choice is None:  # nothing to choose by so far
            self._choice = choose_bounded([piece], target.amount, self.effort)
        bounds = [target.amount, target.amount * (1 - 1e-9)]
        if target.amount > 1 and any(column.ends_whole for column in piece.columns):
            bounds.append(math.floor(target.amount))
        for bound in bounds:
            trial = bounded(piece, bound, self._choice, self.effort)
            if all(_keeps(trial, piece, target)):
                break
        return trial

    def _towards_rmse(self, pieces: list[Piece]) -> Iterator[Trial] | None:
        """All pieces coded so that the error is kept; None if only coding without loss keeps it."""
        largest = max((column.largest for piece in pieces for column in piece.columns), default=0.0)
        if largest == 0.0:
            return None
        n_readings = sum(piece.n_readings for piece in pieces)
        rms = math.sqrt(sum(piece.squares(largest) for piece in pieces) / n_readings) * largest
        if self.target.amount * rms < LEAST_UNIT:
            return None
        found = encode_rmse(RmseSearch(pieces, self.target.amount * rms, self.effort), self._choice)
        if found is None:
            return None
        trials, self._choice = found
        return iter(trials)


def _keeps(trial: Trial, piece: Piece, target: Target) -> list[bool]:
    """For each column whether it is as the target asks."""
    if target.kind == "max_error":
        return is_within(trial, piece, target.amount)
    return is_same(trial, piece) if target.kind == "lossless" else [True] * len(piece.columns)
