"""What a file was asked to keep: a kind of error and how much of it, for all columns or column by column."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, decimal, deflated, inflated, varint

KINDS = ("lossless", "relative_rmse", "max_error", "n_nonzero_coefs")  # the place is the code in the header
MAX_COEFS = 2**20  # per row: as many as a table can have columns
_DEFLATED = 4  # flag beside the code of the kind
_MAX_AMOUNTS = 2**25  # bytes after inflating: a bound and a count for each of 2^20 columns take at most 23 bytes


@dataclass(frozen=True)
class Target:
    """What was asked for when a file was written.

    Attributes
    ----------
    kind : {"lossless", "relative_rmse", "max_error", "n_nonzero_coefs"}
        What is bounded.
    amount : float or int
        The relative RMSE as a fraction, the largest error of a reading in the unit of its column, or the number of
        coefficients per row; 0.0 if nothing may be lost. Of bounds by column it is the largest one.
    by_column : tuple of float, or None
        One amount per column, 0.0 for a column that is lossless; None if all columns have the same.
    """

    kind: str
    amount: float = 0.0
    by_column: tuple[float, ...] | None = None

    @classmethod
    def of_columns(cls, kind: str, amounts: Sequence[float]) -> "Target":
        """The target with one amount per column; equal targets compare equal, however they were asked for."""
        largest = max(amounts, default=0.0)
        if largest == 0:
            return cls("lossless")
        return cls(kind, largest, None if min(amounts) == largest else tuple(amounts))

    def amounts(self, n_columns: int) -> np.ndarray:
        """One amount per column, 0 for a column that is lossless."""
        if self.by_column is None:
            return np.full(n_columns, float(self.amount))
        if len(self.by_column) != n_columns:
            raise ValueError(f"the target is for {len(self.by_column)} columns; got {n_columns}.")
        return np.array(self.by_column, dtype=np.float64)

    def bounds(self, n_columns: int) -> np.ndarray:
        """Largest error that a single reading of each column may have.

        Parameters
        ----------
        n_columns : int
            Number of columns of the table.

        Returns
        -------
        bounds : ndarray of float64 of shape (n_columns,)
            In the unit of each column; 0 where nothing may be lost, infinite where single readings have no bound
            (`relative_rmse` and `n_nonzero_coefs`).
        """
        amounts = self.amounts(n_columns)
        return amounts if self.kind in ("lossless", "max_error") else np.where(amounts == 0, 0.0, np.inf)

    def of_column(self, place: int) -> "Target":
        """What one column was asked to keep."""
        return self if self.by_column is None else Target.of_columns(self.kind, [self.by_column[place]])

    def to_bytes(self) -> bytes:
        """The section of the header: its length, then the kind and runs of amounts; nothing if all is lossless."""
        if self.kind == "lossless":
            return varint(0)
        runs = [(amount, sum(1 for _ in same)) for amount, same in groupby(self.by_column or (self.amount,))]
        counted = [self._amount_bytes(amount) + varint(count) for amount, count in runs[:-1]]
        data, code = b"".join(counted) + self._amount_bytes(runs[-1][0]), KINDS.index(self.kind)
        packed = deflated(data)
        if len(packed) < len(data):
            data, code = packed, code | _DEFLATED
        return varint(1 + len(data)) + bytes([code]) + data

    @classmethod
    def read(cls, cursor: Cursor, n_columns: int) -> "Target":
        """What `to_bytes` wrote; raises DamagedFile at what it never writes."""
        section = Cursor(cursor.take(cursor.varint(_MAX_AMOUNTS)))
        if not section.left:
            return cls("lossless")
        code, data = section.byte(), section.rest()
        kind = code & ~_DEFLATED
        if not 1 <= kind < len(KINDS):
            raise DamagedFile(f"the target is of the unknown kind {kind}")
        runs = _read_runs(Cursor(inflated(data, _MAX_AMOUNTS) if code & _DEFLATED else data), KINDS[kind], n_columns)
        if len(runs) == 1:
            return cls(KINDS[kind], runs[0][0])
        return cls.of_columns(KINDS[kind], [amount for amount, count in runs for _ in range(count)])

    def _amount_bytes(self, amount: float) -> bytes:
        return varint(int(amount)) if self.kind == "n_nonzero_coefs" else decimal(amount)

    def __str__(self) -> str:
        if self.kind == "lossless":
            return "lossless"
        if self.kind == "relative_rmse":
            text = f"relative RMSE {100 * self.amount:.4g}%"
        elif self.kind == "n_nonzero_coefs":
            text = f"{self.amount} coefficient{'s' * (self.amount != 1)} per row"
        else:
            smallest = min(filter(None, self.by_column or ()), default=self.amount)
            by_column = f"±{smallest:.6g} to ±{self.amount:.6g} by column"
            text = f"±{self.amount:.6g}" if smallest == self.amount else by_column
        n_lossless = (self.by_column or ()).count(0)
        return text + (f", {n_lossless} column{'s' * (n_lossless != 1)} lossless" if n_lossless else "")


def _read_runs(cursor: Cursor, kind: str, n_columns: int) -> list[tuple[float, int]]:
    """Amounts and how many columns have each; the last one has all that are left and no count."""
    runs: list[tuple[float, int]] = []
    left = n_columns
    while True:
        amount = cursor.varint(MAX_COEFS) if kind == "n_nonzero_coefs" else cursor.decimal()
        if not amount < (1 if kind == "relative_rmse" else math.inf):
            raise DamagedFile(f"the target has the {kind} {amount}")
        runs.append((amount, left))
        if not cursor.left:
            break
        count = cursor.varint(max(left - 1, 0))
        if count == 0:
            raise DamagedFile("the target has an amount for no column")
        runs[-1] = amount, count
        left -= count
    amounts = {amount for amount, _ in runs} - {0}
    if not amounts or (kind != "max_error" and len(amounts) > 1):
        raise DamagedFile("the target says what cannot be")
    return runs
