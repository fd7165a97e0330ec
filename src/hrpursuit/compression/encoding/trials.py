"""Some of the rows of a table, to try settings of the coder of tables on by counting bits."""

import numpy as np

from hrpursuit.compression.chunks.tabular import TableSettings, run_numbers
from hrpursuit.compression.kernels.bits import new_coder
from hrpursuit.compression.kernels.compiled import as_integers

#: One cell in so many is tried first; what is longer there by this factor is not tried on the others.
_GLANCE, _HOPELESS = 8, 1.03
_FEWEST_AT_A_GLANCE = 256  # rows
_LATE = 1 / 4  # of the rows of a trial that do not count


def widths_of(settings: TableSettings) -> np.ndarray:
    return np.array([column.width for column in settings.columns], dtype=np.int64)


class TrialRows:
    """Some of the rows, to try settings on by counting bits."""

    def __init__(
        self, coded: np.ndarray, n_rows: int, close: float = 0.0, late: float = _LATE, slow: float = 0.0
    ) -> None:
        self.n_rows = min(len(coded), n_rows)
        start = (len(coded) - self.n_rows) // 3
        self.rows = slice(start, start + self.n_rows)
        self.coded = coded[self.rows]
        #: Bits count from this row on, since regressions have to learn first; unless these are all rows.
        self.late = 0 if self.n_rows == len(coded) else int(self.n_rows * late)
        self.close = 0.0 if self.n_rows == len(coded) else close
        self.slow = slow
        self.share = (self.n_rows - self.late) / len(coded)  # of the rows whose bits count
        few = self.n_rows // _GLANCE
        self._glance = TrialRows(coded, few) if few >= _FEWEST_AT_A_GLANCE else None
        self._seen: tuple[TableSettings, np.ndarray, np.ndarray] | None = None  # at a glance

    def costs(self, settings: TableSettings, whole: np.ndarray) -> np.ndarray:
        """Bits of each column in 1/256."""
        numbers = whole[self.rows] >> widths_of(settings)
        nothing = np.zeros(1, np.uint8)
        return run_numbers(
            new_coder(), nothing, False, settings, as_integers(numbers), as_integers(self.coded), self.late
        )

    def is_hopeless(
        self, settings: TableSettings, tried: TableSettings, whole: np.ndarray, of: np.ndarray | None = None
    ) -> bool:
        """Whether on a few rows the sum of all columns, or each of these, is clearly longer than with the settings so
        far.
        """
        if self._glance is None:
            return False
        if self._seen is None or self._seen[0] is not settings or self._seen[1] is not whole:
            self._seen = settings, whole, self._glance.costs(settings, whole)
        before, after = self._seen[2], self._glance.costs(tried, whole)
        if of is None:
            return bool(after.sum() > _HOPELESS * before.sum())
        return bool(np.all(after[of] > _HOPELESS * before[of]))
