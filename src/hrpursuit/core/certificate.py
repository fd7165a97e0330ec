"""What makes an answer certified sparse.

1. Zeros: every code column has at least n_features exact zeros, and at least 20, more than the density of its codes
   around zero explains; and at least five other codes, since an atom that is hardly ever used can be almost anything.
2. Stationarity: no pair of atoms can be turned in its plane (of a complete dictionary: no atom moved along another) so
   that the l1 norm falls to first order.
3. Independence: no pair of atoms shares significantly more zeros than independent atoms would: so many that one such
   pair in a dictionary has a chance of one in a thousand. Two mixed atoms keep their common zeros and may pass the
   first two.

Certified is not proved: with very few samples a wrong answer can be as sparse as the right one, and pass. Atoms whose
codes are all zero, as they belong to dead features, are left out.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.sphere import polish_atom

Pairs = NDArray[np.intp]
_FEWEST_ZEROS, _FEWEST_NONZEROS = 20, 5  # of each code column, however few the features
_UNIT = 1e5  # sizes of a zero
_FALSE_ALARM = 1e-3  # chance that a dictionary of independent atoms fails the third condition
_NO_PAIRS = np.empty((0, 2), np.intp)


@dataclass(frozen=True)
class Certificate:
    """What the check of a dictionary against rows found; true in a condition when all three conditions hold.

    Attributes
    ----------
    n_rows : int
        Rows that were looked at, zero rows left out.
    n_features : int
        Atoms that were looked at, those without any code left out.
    zero_level : float
        Magnitude below which the code of a unit atom counts as zero.
    fewest_zeros : int
        Zeros of the code column that has the fewest, less those that the density of codes near zero explains. Needed:
        `n_features`, and at least 20.
    fewest_nonzeros : int
        Other codes of the column that has the fewest. Needed: 5.
    unstationary : array of shape (n_pairs, 2)
        Pairs of atoms that break the second condition.
    entangled : array of shape (n_pairs, 2)
        Pairs of atoms that break the third condition.
    """

    n_rows: int
    n_features: int
    zero_level: float
    fewest_zeros: int
    fewest_nonzeros: int = 0
    unstationary: Pairs = field(default_factory=lambda: _NO_PAIRS, repr=False)
    entangled: Pairs = field(default_factory=lambda: _NO_PAIRS, repr=False)

    @property
    def has_zeros(self) -> bool:
        return self.n_rows > 0 and self.fewest_zeros >= self.n_features

    @property
    def failing_pairs(self) -> Pairs:
        return np.unique(np.concatenate([self.unstationary, self.entangled]), axis=0)

    @property
    def is_conclusive(self) -> bool:
        """Whether the rows are enough to tell."""
        return self.fewest_zeros >= _FEWEST_ZEROS and self.fewest_nonzeros >= _FEWEST_NONZEROS

    def __bool__(self) -> bool:
        return self.has_zeros and self.is_conclusive and len(self.unstationary) == 0 and len(self.entangled) == 0

    def __str__(self) -> str:
        if self:
            return (
                f"certified sparse on {self.n_rows} rows: at least {self.fewest_zeros} zeros a code column, "
                f"{self.n_features} needed"
            )
        if self.n_rows == 0:
            return "not certified: no rows were checked"
        if not self.has_zeros:
            return (
                f"not certified: a code column has {self.fewest_zeros} zeros in {self.n_rows} rows, "
                f"{self.n_features} needed"
            )
        if not self.is_conclusive:
            return (
                f"not certified: {self.n_rows} rows are too few; an atom has {self.fewest_zeros} zeros "
                f"({_FEWEST_ZEROS} needed), one is used in {self.fewest_nonzeros} rows ({_FEWEST_NONZEROS} needed)"
            )
        return (
            f"not certified on {self.n_rows} rows: {len(self.unstationary)} pairs of atoms could be turned to a lower "
            f"l1 norm, {len(self.entangled)} pairs share too many zeros"
        )


def unchecked(n_features: int) -> Certificate:
    """What stands for a certificate where there was nothing to check."""
    return Certificate(0, n_features, 0.0, 0)


def zeros_block(X: Array, W: Array, levels: Array) -> tuple[int, Array, Array]:
    """Rows that are not zero; zeros of each column in them; codes of one to three times the size of a zero."""
    size = np.abs(X @ W.T)
    zero = size < levels
    live = ~zero.all(axis=1)
    return int(live.sum()), (zero & live[:, None]).sum(axis=0), ((size < 3 * levels) & ~zero).sum(axis=0)


def pairs_block(X: Array, W: Array, levels: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Sums over rows that the conditions on pairs are made of: sgn(s_i) s_j; |s_j| where s_i = 0; common zeros; s_i
    s_j; |s_i|.
    """
    S = X @ W.T
    zero = np.abs(S) < levels
    live = ~zero.all(axis=1)
    if not live.all():
        S, zero = S[live], zero[live]
    S = (S / (_UNIT * levels.max())).astype(np.float32)  # within the range of float32 whatever the unit of the data
    zero = zero.astype(np.float32)
    size = np.abs(S)
    return ((1 - zero) * np.sign(S)).T @ S, zero.T @ size, zero.T @ zero, S.T @ S, size.sum(axis=0)


def _chance(p: Array, m: int) -> Array:
    """Common zeros above expectation that chance explains, for each pair of columns with shares p of zeros in m rows.

    A quantile of the hypergeometric distribution, by its spread and its skew.
    """
    n_pairs = max(1, len(p) * (len(p) - 1) // 2)
    z = -float(ndtri(_FALSE_ALARM / n_pairs))
    skew = np.maximum(np.outer(1 - 2 * p, 1 - 2 * p), 0)
    return z * np.sqrt(m * np.outer(p * (1 - p), p * (1 - p))) + skew * (z**2 - 1) / 6 + 0.5


def certify(rows: Rows, W: Array, zero_level: float, *, orthogonal: bool = True) -> Certificate:
    """Check the three conditions on the codes X W^T of all rows; one pass if the first fails, else two."""
    scale = np.linalg.norm(W, axis=1)
    n, levels = len(W), (zero_level * scale).astype(rows.dtype)
    W = W.astype(rows.dtype, copy=False)
    m, zeros, near = rows.sum(zeros_block, W, levels)
    if m == 0:
        return unchecked(n)
    alive = np.flatnonzero(zeros < m)
    n, W, levels, zeros = len(alive), W[alive], levels[alive], zeros[alive]
    fewest = max(0, int((zeros - near[alive] / 2).min()))  # the band of zeros is half as wide as the band around it
    if fewest < n:
        return Certificate(int(m), n, zero_level, fewest)
    signed, dead, common, products, l1 = rows.sum(pairs_block, W, levels)
    if orthogonal:
        unstationary = np.triu(np.abs(signed - signed.T) > 1.0001 * (dead + dead.T), 1)
    else:
        slope = np.abs(signed - products * (l1 / np.diag(products))[:, None])
        unstationary = slope > 1.0001 * dead
        np.fill_diagonal(unstationary, False)
    entangled = np.triu(common - np.outer(zeros, zeros) / m > _chance(zeros / m, int(m)), 1)
    pairs = alive[np.argwhere(unstationary)], alive[np.argwhere(entangled)]
    return Certificate(int(m), n, zero_level, fewest, int(m - zeros.max()), *pairs)


def has_exact_atom(X: Array, w: Array, zero_level: float) -> bool:
    """Whether the unit vector w lies in the basin of an exact atom: polished, it has as many exact zeros as the
    certificate asks.
    """
    size = np.abs(X @ polish_atom(X, w, zero_level))
    zeros = int((size < zero_level).sum())
    near = int((size < 3 * zero_level).sum()) - zeros
    return zeros - near / 2 >= X.shape[1]


def most_small(S: NDArray[Any]) -> int:
    """Column with the largest share of entries below .1 rms."""
    rms = np.sqrt(np.mean(S * S, axis=0))
    return int(np.argmax((np.abs(S) < 0.1 * rms).mean(axis=0)))


def same_atoms(A: Array, B: Array, cosine: float = 0.9) -> bool:
    """Whether two dictionaries hold the same atoms, up to signs and order, to the given cosine."""
    C = np.abs(normalize_rows(A) @ normalize_rows(B).T)
    return bool((C.max(axis=0) > cosine).all() and (C.max(axis=1) > cosine).all())
