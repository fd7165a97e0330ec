"""The readings of chunks as bytes, towards one target."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from hrpursuit.compression.chunks.bases import Group, write_groups
from hrpursuit.compression.chunks.payload import Payload
from hrpursuit.compression.chunks.verbatim import may_repeat, pack
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup, Encoded, is_same, is_within
from hrpursuit.compression.encoding.columns import Column, Limits
from hrpursuit.compression.encoding.grouping import make_groups
from hrpursuit.compression.encoding.open_chunk import OpenChunk
from hrpursuit.compression.encoding.search import Choice, RmseSearch, bounded, choose_bounded, encode_rmse, lossless
from hrpursuit.compression.encoding.table_columns import on_grids
from hrpursuit.compression.encoding.tabular import encode_columns
from hrpursuit.compression.encoding.whole_numbers import LEAST_UNIT
from hrpursuit.compression.jobs import in_order
from hrpursuit.compression.targets import Target

Progress = Callable[[int, int], object]
LOSSLESS = Target("lossless")
EFFORTS = ("fast", "default", "best")
_ROWS_TO_CHOOSE_BY = 3000
_FEWEST_OF_NETWORK = 4  # columns
_CELLS_TO_COMPARE = 1 << 15  # up to which coding without loss takes no time
_CELLS_TO_SETTLE = 1 << 15  # by which it is found out whether columns are those of a network
_CELLS_TO_TRY = 1 << 17  # up to which other ways to code are tried on all rows


class ChunkCoder:
    """Encodes chunks of a table towards one target. What was best for the first chunk is tried first on the others."""

    def __init__(self, target: Target, *, effort: str = "default", basis: str = "adaptive") -> None:
        self.target, self.effort, self.basis = target, effort, basis
        self._limits: Limits = ()
        self._groups: list[Group] = []
        self._choice: Choice | None = None
        self._is_network: bool | None = None  # whether columns are coded as those of a network of sensors

    def prepare(self, columns: list[np.ndarray], limits: Limits = ()) -> bytes:
        """Look at the rows known so far; give what all chunks share, for the header."""
        n_lossy = np.count_nonzero(self.target.bounds(len(columns)))
        if self.target.kind == "n_nonzero_coefs" and self.target.amount > n_lossy:
            raise ValueError(
                f"n_nonzero_coefs={self.target.amount:g} is more than the {n_lossy} columns of the table that are not "
                f"lossless; give at most {n_lossy}, or lossless=True."
            )
        self._limits = limits
        self._groups = make_groups(columns, self.target, self.basis) if columns else []
        return write_groups(self._groups, len(columns))

    def encode(self, columns: list[np.ndarray]) -> bytes:
        """One chunk, its target met on it alone."""
        return next(self.encode_all([columns]))

    def encode_each(self, chunks: Sequence[list[np.ndarray]], n_jobs: int = 1) -> Iterator[bytes]:
        """All chunks, the target met on each of them alone; in threads as soon as it is known how they are coded, so
        that the bytes do not depend on the number of threads.
        """
        if self.target.kind != "relative_rmse":
            yield from self.encode_all(chunks, n_jobs=n_jobs)
            return
        left = iter(chunks)
        for columns in left:
            yield self.encode(columns)
            if self._choice is not None:
                break
        yield from in_order(self.encode, left, n_jobs)

    def encode_all(
        self, chunks: Sequence[list[np.ndarray]], progress: Progress | None = None, n_jobs: int = 1
    ) -> Iterator[bytes]:
        """All chunks, the target met over all of them together; in threads."""
        if self.target.kind in ("lossless", "max_error"):
            payloads = self._encode_all_within(chunks, n_jobs)
        elif self.target.kind == "relative_rmse":
            payloads = self._encode_towards_rmse(chunks, n_jobs)
        else:
            opened = (OpenChunk(columns, self._groups, self.target, self._limits) for columns in chunks)
            payloads = in_order(self._finish, opened, n_jobs)
        n_rows, n_done = sum(len(chunk[0]) for chunk in chunks if chunk), 0
        for columns, data in zip(chunks, payloads, strict=True):
            yield data
            n_done += len(columns[0])
            if progress is not None:
                progress(n_done, n_rows)

    def _encode_towards_rmse(self, chunks: Sequence[list[np.ndarray]], n_jobs: int) -> Iterator[bytes]:
        opened = [OpenChunk(columns, self._groups, self.target, self._limits) for columns in chunks]
        lossy = self._towards_rmse([group for chunk in opened for group in chunk.groups if group.bound], n_jobs)
        if lossy is None:  # no loss keeps every error
            opened = [OpenChunk(columns, self._groups, LOSSLESS, self._limits) for columns in chunks]
        encoded = [[next(lossy) for group in chunk.groups if group.bound] if lossy else None for chunk in opened]

        def finish(place: int) -> bytes:
            data, columns = self._finish(opened[place], encoded[place]), chunks[place]
            if len(columns) * len(columns[0]) <= _CELLS_TO_COMPARE:
                data = min(data, self._as_table(columns, np.zeros(len(columns))), key=len)
            return data

        yield from in_order(finish, range(len(chunks)), n_jobs)

    def _encode_all_within(self, chunks: Sequence[list[np.ndarray]], n_jobs: int) -> Iterator[bytes]:
        """All chunks with all their bounds: by the coder of tables, or by that of networks of sensors where it is
        shorter. Which of the two, and how, is found out on the first chunk that has readings.
        """
        ready: dict[int, bytes] = {}
        for place, columns in enumerate(chunks):
            if self._is_settled:
                break
            data = self._settle(columns, n_jobs)
            if data is not None:
                ready[place] = data

        def encode(place: int) -> bytes:
            return ready.pop(place) if place in ready else self._encode_within(chunks[place])

        yield from in_order(encode, range(len(chunks)), n_jobs)

    @property
    def _is_settled(self) -> bool:
        """Whether it is known how chunks are coded."""
        has_choice = self._choice is not None or self.target.kind == "lossless"
        return self._is_network is not None and (not self._is_network or has_choice)

    def _settle(self, columns: list[np.ndarray], n_jobs: int) -> bytes | None:
        """Find out by a chunk how all are coded; gives its bytes if it was coded for that, or tells nothing."""
        bounds, data = self.target.bounds(len(columns)), None
        if self._is_network is None:
            if not any(_has_readings(column) for column in columns):
                return self._as_table(columns, bounds)
            self._is_network = self._may_be_network(columns)
            if self._is_network:
                n_few = max(_ROWS_TO_CHOOSE_BY, _CELLS_TO_SETTLE // len(columns))
                few = [column[:n_few] for column in columns]
                self._is_network = self._has_network(few)
            if self._is_network:
                effort = self.effort if len(columns[0]) <= n_few else "default"
                ways = [partial(self._as_table, few, bounds, effort), partial(self._as_network, few)]
                table, network = in_order(lambda way: way(), ways, n_jobs)
                self._is_network = len(network) < len(table)
                data = min(table, network, key=len) if len(columns[0]) <= n_few else None
        if data is None and not self._is_settled:
            self._choose([columns])
        return data if data is not None or self._is_settled else self._encode_within(columns)

    def _encode_within(self, columns: list[np.ndarray]) -> bytes:
        bounds = self.target.bounds(len(columns))
        return self._as_network(columns) if self._is_network else self._as_table(columns, bounds)

    def _may_be_network(self, columns: list[np.ndarray]) -> bool:
        """Whether there are several columns with one bound, and no truth values among them."""
        bounds = self.target.bounds(len(columns))
        alike = len(set(bounds.tolist())) == 1 and all(column.dtype.kind != "b" for column in columns)
        return alike and len(columns) >= _FEWEST_OF_NETWORK and self.effort != "fast"

    def _has_network(self, columns: list[np.ndarray]) -> bool:
        """Whether enough of the columns can be coded together, and need not be kept as they are."""
        opened = OpenChunk(columns, self._groups, self.target, self._limits)
        return sum(len(group.places) for group in opened.groups) >= _FEWEST_OF_NETWORK

    def _as_network(self, columns: list[np.ndarray]) -> bytes:
        if self.target.kind == "max_error" and self._choice is None:
            self._choose([columns])
        return self._finish(OpenChunk(columns, self._groups, self.target, self._limits))

    def _as_table(self, columns: list[np.ndarray], bounds: np.ndarray, effort: str | None = None) -> bytes:
        """By the coder of tables, with the effort that was asked for or another. Columns without a grid, and those that
        do not come back as they should, are kept as they are; and all of them, if that is shorter.
        """
        effort = effort or self.effort
        taken = [
            on_grids(np.ascontiguousarray(column), 0.0 if column.dtype.kind == "b" else float(bound))
            for column, bound in zip(columns, bounds, strict=True)
        ]
        empty = np.array([column.is_empty for column in taken])
        verbatim = np.array([not column.ways for column in taken]) & ~empty
        while True:
            tabled = np.flatnonzero(~(empty | verbatim))
            data, kept = b"", list[bool]()
            if len(tabled):
                data, kept = _shortest([taken[place] for place in tabled], effort)
            if all(kept):
                break
            verbatim[tabled[~np.array(kept)]] = True
        plain = [column.given for column in taken]
        found = Payload(empty, verbatim, ~(empty | verbatim), table_data=data)
        found.verbatim_data = pack([plain[place] for place in np.flatnonzero(verbatim)]) if verbatim.any() else b""
        payload = found.to_bytes()
        if may_repeat(plain, len(payload), effort) and not empty.all():
            packed = Payload(empty, ~empty, np.zeros(len(taken), bool))
            packed.verbatim_data = pack([column for column, nothing in zip(plain, empty, strict=True) if not nothing])
            payload = min(payload, packed.to_bytes(), key=len)
        return payload

    def _choose(self, chunks: Sequence[list[np.ndarray]]) -> None:
        """How to stay within the bound, from a few chunks; nothing if these have no readings."""
        few = [chunks[i] for i in np.unique(np.linspace(0, len(chunks) - 1, min(len(chunks), 3)).astype(int))]
        opened = [OpenChunk(columns, self._groups, self.target, self._limits) for columns in few]
        groups = [group for chunk in opened for group in chunk.groups if group.bound]
        if groups:
            self._choice = choose_bounded(groups, self.effort)

    def _finish(self, chunk: OpenChunk, lossy: list[Encoded] | None = None) -> bytes:
        """Encode a chunk, groups with loss as they are encoded already if they are; columns that do not come back as
        they should are kept as they are.
        """
        while True:
            ready = iter(lossy or ())
            encoded = [next(ready) if lossy and group.bound else self._encode_group(group) for group in chunk.groups]
            failed = [
                place
                for one, group in zip(encoded, chunk.groups, strict=True)
                for place, is_kept in zip(group.places, _keeps(one, group), strict=True)
                if not is_kept
            ]
            if not failed:
                return chunk.to_bytes(encoded)
            chunk = chunk.keeping(failed)

    def _encode_group(self, group: ChunkGroup) -> Encoded:
        if group.basis.n_nonzero:
            from hrpursuit.compression.encoding.sparse_codes import encode_sparse  # noqa: PLC0415 - it needs scikit-learn

            return encode_sparse(group)
        if 0 < group.bound < math.inf:
            return self._within(group)
        return lossless(group, self.effort)

    def _within(self, group: ChunkGroup) -> Encoded:
        """A group within the bound: if need be with one a little smaller, since the bound is no decimal itself, or with
        a whole one, to which the rounding of whole numbers does not add.
        """
        if self._choice is None:  # nothing to choose by so far
            self._choice = choose_bounded([group], self.effort)
        bounds = [group.bound, group.bound * (1 - 1e-9)]
        if group.bound > 1 and any(column.ends_whole for column in group.columns):
            bounds.append(math.floor(group.bound))
        for bound in bounds:
            encoded = bounded(group, bound, self._choice, self.effort)
            if all(_keeps(encoded, group)):
                break
        return encoded

    def _towards_rmse(self, groups: list[ChunkGroup], n_jobs: int) -> Iterator[Encoded] | None:
        """All groups encoded so that the error is kept; None if only coding without loss keeps it."""
        largest = max((column.largest for group in groups for column in group.columns), default=0.0)
        if largest == 0.0:
            return None
        n_readings = sum(group.n_readings for group in groups)
        rms = math.sqrt(sum(group.squares(largest) for group in groups) / n_readings) * largest
        if self.target.amount * rms < LEAST_UNIT:
            return None
        found = encode_rmse(RmseSearch(groups, self.target.amount * rms, self.effort, n_jobs), self._choice)
        if found is None:
            return None
        self._choice = self._choice or found[1]
        return iter(found[0])


def _shortest(columns: list[Column], effort: str) -> tuple[bytes, list[bool]]:
    """The part of a chunk with these columns. Choices are made on some rows, so that more effort may be longer in the
    end: less is tried, too, where that takes no time.
    """
    efforts = EFFORTS[: EFFORTS.index(effort) + 1]
    if len(columns) * len(columns[0].given) > _CELLS_TO_TRY:
        efforts = efforts[-1:]
    encoded = [encode_columns(columns, effort) for effort in efforts]
    return min(encoded, key=lambda one: (not all(one[1]), len(one[0])))


def _has_readings(column: np.ndarray) -> bool:
    return column.dtype.kind != "f" or bool(np.isfinite(column).any())


def _keeps(encoded: Encoded, group: ChunkGroup) -> list[bool]:
    """For each column whether it is as the target asks."""
    if 0 < group.bound < math.inf:
        return is_within(encoded, group, group.bound)
    return is_same(encoded, group) if group.bound == 0 else [True] * len(group.columns)
