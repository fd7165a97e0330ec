"""The rows that a search works on, for orthogonal and for complete dictionaries."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.core.certificate import Certificate, has_exact_atom
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.rounding import zero_levels
from hrpursuit.core.settle import settle_complete, settle_orthogonal
from hrpursuit.rows import ArrayRows

_FEWEST_ROWS = 200  # of a working sample, however few the features
_NEARLY_ALL = 0.9  # share of rows that are not zero from which on a second draw is not worth it
_RANK_TOL = 1e-12  # of the eigenvalues of X^T X, relative to the largest


def is_live(X: Array) -> Array:
    """Which rows are not zero."""
    return np.asarray(X.any(axis=1))


@dataclass(frozen=True)
class IsAlong:
    """Which rows have a part along any of the directions."""

    directions: Array
    level: float

    def __call__(self, X: Array) -> Array:
        return np.asarray((np.abs(X @ self.directions) > self.level).any(axis=1))


def sample_live_rows(rows: Rows, n: int, seed: int) -> Array:
    """About n rows that are not zero, or all there are."""
    X = rows.sample(n, seed)
    live = is_live(X)
    n_live = int(live.sum())
    if n_live >= _NEARLY_ALL * len(X) or len(X) == rows.n_samples:
        return X if n_live == len(X) else X[live]
    if n_live < n / 4:
        return rows.sample(n, seed, where=is_live)  # so few that a plain sample misses them
    X = rows.sample(int(np.ceil(n * n / n_live)), seed)
    return X[is_live(X)]


def missing_directions(X: Array) -> Array:
    """Orthonormal columns that span what the rows of X do not."""
    gram = X.T @ X
    values = np.linalg.eigvalsh(gram)
    if values[0] > _RANK_TOL * values[-1]:
        return np.empty((len(gram), 0))
    values, V = np.linalg.eigh(gram)
    return V[:, values <= _RANK_TOL * values[-1]]


class OrthogonalSample:
    """A working sample, scaled to unit rms.

    Rows that a plain sample misses are added where it spans less than all rows do: an atom may be used seldom.

    Parameters
    ----------
    rows : Rows
    seed : int
    levels : tuple of float or None
        Sizes of a zero in the data, finest first; None finds them from the sample.
    """

    def __init__(self, rows: Rows, seed: int, levels: tuple[float, ...] | None = None) -> None:
        self._rows = rows
        self._seed = seed
        self._levels = levels
        self._n_asked = 0
        self.scale = 1.0
        self.X: Array = np.empty((0, rows.n_features))

    def draw(self, rows_per_feature: int) -> bool:
        n_rows = max(rows_per_feature * self._rows.n_features, _FEWEST_ROWS)
        if n_rows <= self._n_asked:
            return False
        self._n_asked = n_rows
        X = sample_live_rows(self._rows, n_rows, self._seed)
        if len(X) <= len(self.X):
            return False
        levels = self._levels or zero_levels(X)
        X = np.asarray(X, dtype=np.float64)
        self.missing = missing_directions(X)
        while self.missing.shape[1] and len(X) < (self._rows.n_samples or 0):
            more = self._rows.sample(n_rows, self._seed, where=IsAlong(self.missing, levels[0]))
            if len(more) == 0:
                break  # dead, not seldom
            X = np.concatenate([X, np.asarray(more, dtype=np.float64)])
            self.missing = missing_directions(X)  # fewer each time, so this ends
        self.scale = float(np.sqrt(np.mean(X * X)))
        self.data_levels = levels
        self.levels = tuple(level / self.scale for level in levels)
        self.X = X / self.scale
        self.rows = ArrayRows(self.X)
        return True

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        for level in self.levels:
            components, certificate = settle_orthogonal(self.X, self.rows, W, level)
            if certificate.has_zeros:
                break
        return components, certificate

    def has_exact_atom(self, w: Array) -> bool:
        return any(has_exact_atom(self.X, w, level) for level in self.levels)

    def l1(self, components: Array) -> float:
        return float(np.abs(self.X @ components.T).sum()) / max(1, len(self.X))


class CompleteSample:
    """A working sample in whitened coordinates, where an orthogonal dictionary is nearly right.

    Settled in the coordinates of the data.
    """

    scale = 1.0

    def __init__(self, rows: Rows, seed: int, P: Array) -> None:
        self.plain = OrthogonalSample(rows, seed)
        self._whitening = P
        self.X: Array = self.plain.X

    def draw(self, rows_per_feature: int) -> bool:
        if not self.plain.draw(rows_per_feature):
            return False
        self._P = self._whitening * self.plain.scale
        self.X = self.plain.X @ self._P
        return True

    def settle(self, W: Array) -> tuple[Array, Certificate]:
        """Rows of the encoding matrix B (codes X B^T, each up to scale), and the certificate of a complete one."""
        for level in self.plain.levels:
            B, certificate = settle_complete(self.plain.X, self.plain.rows, W @ self._P, level)
            if certificate.has_zeros:
                break
        return B, certificate

    def has_exact_atom(self, w: Array) -> bool:
        stretch = float(np.linalg.norm(self._P, 2))
        return any(has_exact_atom(self.X, w, level * stretch) for level in self.plain.levels)

    def l1(self, components: Array) -> float:
        """With the codes of each atom scaled to unit rms, since the scale of a free atom means nothing."""
        S = self.plain.X @ components.T
        return float(np.sum(np.abs(S).mean(axis=0) / np.sqrt(np.mean(S * S, axis=0))))
