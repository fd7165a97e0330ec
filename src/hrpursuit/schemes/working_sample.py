"""The rows that a search works on, for orthogonal and for complete dictionaries."""

import numpy as np

from hrpursuit.core.certificate import Certificate
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.rounding import zero_level
from hrpursuit.core.settle import settle_complete, settle_orthogonal
from hrpursuit.rows import ArrayRows


def sample_live_rows(rows: Rows, n: int, seed: int) -> Array:
    """About n rows that are not zero, or all there are."""
    X = rows.sample(n, seed)
    live = X.any(axis=1)
    n_live = int(live.sum())
    if 0 < n_live < 0.95 * len(X) and len(X) < (rows.n_samples or 0):
        X = rows.sample(int(np.ceil(len(X) * n / n_live)), seed)
        live = X.any(axis=1)
    return X if live.all() else X[live]


class OrthogonalSample:
    """A working sample, scaled to unit rms."""

    def __init__(self, rows: Rows, seed: int) -> None:
        self._rows = rows
        self._seed = seed
        self._n_asked = 0
        self.X: Array = np.empty((0, rows.n_features))
        self.zero_level = 0.0

    def draw(self, rows_per_feature: int) -> bool:
        n_rows = rows_per_feature * self._rows.n_features
        if n_rows <= self._n_asked:
            return False
        self._n_asked = n_rows
        X = sample_live_rows(self._rows, n_rows, self._seed)
        if len(X) <= len(self.X):
            return False
        self.scale = float(np.sqrt(np.mean(np.square(X, dtype=np.float64)))) or 1.0
        self.zero_level = zero_level(X) / self.scale
        self.X = np.asarray(X, dtype=np.float64) / self.scale
        self.rows = ArrayRows(self.X)
        return True

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        return settle_orthogonal(self.X, self.rows, W, self.zero_level)

    def l1(self, components: Array) -> float:
        return float(np.abs(self.X @ components.T).sum()) / max(1, len(self.X))


class CompleteSample:
    """A working sample in whitened coordinates, where an orthogonal dictionary is nearly right; settled in those of the
    data.
    """

    scale = 1.0

    def __init__(self, rows: Rows, seed: int, P: Array) -> None:
        self._plain = OrthogonalSample(rows, seed)
        self._P = P
        self.X: Array = self._plain.X
        self.zero_level = 0.0

    def draw(self, rows_per_feature: int) -> bool:
        if not self._plain.draw(rows_per_feature):
            return False
        self.X = self._plain.X @ (self._P * self._plain.scale)
        self.zero_level = self._plain.zero_level * self._plain.scale * float(np.linalg.norm(self._P, 2))
        return True

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        """Rows of the encoding matrix B (codes X B^T of the data), and the certificate of a complete dictionary."""
        return settle_complete(self._plain.X, self._plain.rows, W @ self._P, self._plain.zero_level)

    def l1(self, components: Array) -> float:
        """With the codes of each atom scaled to unit rms, since the scale of a free atom means nothing."""
        S = self._plain.X @ components.T
        return float(np.sum(np.abs(S).mean(axis=0) / np.sqrt(np.mean(S * S, axis=0))))
