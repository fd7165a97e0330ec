"""What makes an answer certified sparse.

1. Zeros: every code column has at least n_features exact zeros, and at least 20, more than the density of its codes
   around zero explains, and hardly any of them above half the zero level; and at least five other codes, since an atom
   that is hardly ever used can be almost anything. There are at least 2.5 rows per atom, since from fewer rows another
   dictionary may be as sparse.
2. Stationarity: no pair of atoms can be turned in its plane (of a complete dictionary: no atom moved along another) so
   that the l1 norm of the codes, each row divided by its norm, falls to first order.
3. Independence: no pair of atoms shares significantly more zeros than independent atoms would: so many that one such
   pair in a dictionary has a chance of one in a thousand. Two mixed atoms keep their common zeros and may pass the
   first two.
4. Of a complete dictionary: no code column can be moved along that of an atom used in at most 20 rows without losing
   zeros. Such moves hardly change the l1 norm, so that the second condition does not see them.

Rows without any zero, where there are more of them than independent codes would bring along, are outliers to the model,
and are left out of the second and third condition; up to 7% of the rows may be, since an atom that is missing makes the
rows that use it outliers. Certified is not proved: with very few samples a wrong answer can be
as sparse as the right one, and pass. Atoms whose codes are all zero, as they belong to dead features, are left out.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hrpursuit.core.certificate_kernels import count_zeros, failing_pairs, pair_sums
from hrpursuit.core.few_values import has_few_values, turns_to_zeros
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array, Rows
from hrpursuit.core.rounding import ZeroLevel
from hrpursuit.core.sphere import polish_atom

Pairs = NDArray[np.intp]
_FEWEST_ZEROS, _FEWEST_NONZEROS = 20, 5  # of each code column, however few the features
#: Rows per feature below which another dictionary may be as sparse as the right one. With two per feature 4 of 24
#: answers that passed all other conditions were wrong (20 features, 20% of nonzeros), with three none of 92.
_ROWS_PER_FEATURE = 2.5
#: Share of the zeros above half the zero level from which on they are no zeros. That half is three standard deviations
#: of the rounding to decimals, and more of that to a float format: .3% are expected there. A quarter to a half was seen
#: in readings of simulated sensors, of which dictionaries had been certified.
_WIDE = 0.1
_MOST_OUTLIERS = 0.07  # share of the rows
_FALSE_ALARM = 1e-3  # chance that a dictionary of independent atoms fails the third condition
#: Rows up to which an atom is used seldom. Of wrong dictionaries that passed the first three conditions all had an atom
#: used in five or six rows (some 600 fits with 5 to 10 samples per feature).
_SELDOM = 20
_FEW_FEATURES = 32  # up to which codes with few values are looked at; with more, no wrong certificate was seen
_FEW_VALUES = "the codes take few values, so that another dictionary can be as sparse"
#: Share of codes in use below which, and rows per feature from which on, no wrong dictionary of codes with few values
#: passed.
_MANY_USED, _MANY_USED_OF_COMPLETE, _ROWS_OF_FEW_VALUES = 0.4, 0.25, 8
_ROWS_FOR_VALUES = 1000  # that are looked at for this
_BANDS = (0, 1), (0.5, 1), (1, 3)  # of zeros, wide ones, and codes next to them, in zero levels
_NO_PAIRS = np.empty((0, 2), np.intp)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Whether a dictionary is certified sparse on samples, and what the check found.

    `bool(certificate)` says whether it is certified, printing it says why or why not. Certificates can be compared
    with `==` and hashed. Four conditions are checked:

    1. Every code column has enough exact zeros and enough other codes.
    2. No pair of atoms can be turned in its plane (of a complete dictionary: no atom can be moved along another) such
       that the l1 norm of the codes falls.
    3. No pair of atoms shares more zeros than independent atoms would, as mixed atoms do.
    4. Of a complete dictionary: no atom can be moved along a seldom used one without loss of zeros.

    Certified is not proved. The conditions are necessary for the right dictionary, and hardly ever hold for another one
    if there are enough samples; the benchmarks count wrong certificates.

    Attributes
    ----------
    n_rows : int
        Number of samples that were checked: those with a nonzero code and, if there are zeros, with a zero code. 0 if
        nothing was checked. Required: 2.5 per atom.
    n_features : int
        Number of atoms that were checked. Atoms whose codes are all zero are left out.
    zero_level : float
        Magnitude below which the code of a unit atom counts as zero.
    fewest_zeros : int
        Number of zeros in the code column with the fewest zeros, minus those that the density of codes near zero
        explains. Required: `n_features`, and at least 20.
    fewest_nonzeros : int
        Number of nonzero codes in the column with the fewest. Required: 5.
    n_outliers : int
        Number of samples without a zero code, beyond those that chance explains. Allowed: 7% of all samples.
    reason : str
        Why nothing was checked, if nothing was, or why the conditions do not suffice.
    unstationary : array of shape (n_pairs, 2)
        Pairs of atoms that break the second condition.
    entangled : array of shape (n_pairs, 2)
        Pairs of atoms that break the third condition.
    ambiguous : array of shape (n_pairs, 2)
        Pairs of atoms that break the fourth condition: the first atom can be moved along the second.
    """

    n_rows: int
    n_features: int
    zero_level: float
    fewest_zeros: int
    fewest_nonzeros: int = 0
    n_outliers: int = 0
    reason: str = ""
    unstationary: Annotated[Pairs, None, 2] = field(default_factory=lambda: _NO_PAIRS, repr=False)
    entangled: Annotated[Pairs, None, 2] = field(default_factory=lambda: _NO_PAIRS, repr=False)
    ambiguous: Annotated[Pairs, None, 2] = field(default_factory=lambda: _NO_PAIRS, repr=False)

    @property
    def has_zeros(self) -> bool:
        """Whether every code column has as many zeros as there are atoms."""
        return self.n_rows > 0 and self.fewest_zeros >= self.n_features

    @property
    def has_many_outliers(self) -> bool:
        """Whether more samples than allowed have no zero code."""
        return self.n_outliers > _MOST_OUTLIERS * (self.n_rows + self.n_outliers)

    @property
    def failing_pairs(self) -> Pairs:
        """Pairs of atoms that break the second or the third condition."""
        return np.unique(np.concatenate([self.unstationary, self.entangled]), axis=0)

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, one.name) for one in fields(self)[:-3]) + tuple(
            pairs.tobytes() for pairs in (self.unstationary, self.entangled, self.ambiguous)
        )

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Certificate) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def reordered(self, order: NDArray[np.intp]) -> "Certificate":
        """Of the same atoms in another order: the new atom k is the old atom order[k]."""
        place = np.argsort(order)
        return replace(
            self,
            unstationary=place[self.unstationary],
            entangled=place[self.entangled],
            ambiguous=place[self.ambiguous],
        )

    @property
    def has_enough_rows(self) -> bool:
        """Whether there are so many rows that only one dictionary is likely to be that sparse."""
        return self.n_rows >= _ROWS_PER_FEATURE * self.n_features

    @property
    def is_conclusive(self) -> bool:
        """Whether the rows, zeros and other codes are enough to tell."""
        enough_codes = self.fewest_zeros >= _FEWEST_ZEROS and self.fewest_nonzeros >= _FEWEST_NONZEROS
        return enough_codes and self.has_enough_rows

    def __bool__(self) -> bool:
        fails = any(len(pairs) for pairs in (self.unstationary, self.entangled, self.ambiguous))
        return self.has_zeros and self.is_conclusive and not (self.has_many_outliers or fails or self.reason)

    def __str__(self) -> str:
        if self:
            return (
                f"certified sparse on {self.n_rows} rows: at least {self.fewest_zeros} zeros per code column, "
                f"{self.n_features} needed"
            )
        if self.n_rows == 0:
            return f"not certified: {self.reason or 'nothing was checked'}"
        if not self.has_zeros:
            return (
                f"not certified: a code column has {_count(self.fewest_zeros, 'zero')} in "
                f"{_count(self.n_rows, 'row')}, {self.n_features} needed"
            )
        if not self.is_conclusive:
            return (
                f"not certified: {_count(self.n_rows, 'row')} ({int(np.ceil(_ROWS_PER_FEATURE * self.n_features))} "
                f"needed), an atom with {_count(self.fewest_zeros, 'zero')} ({_FEWEST_ZEROS} needed), and one that is "
                f"used in {_count(self.fewest_nonzeros, 'row')} ({_FEWEST_NONZEROS} needed)"
            )
        if self.has_many_outliers:
            return (
                f"not certified: {self.n_outliers} of {self.n_rows + self.n_outliers} rows have no zero, more than "
                "chance explains: outliers, or an atom is missing"
            )
        if self.reason:
            return f"not certified on {self.n_rows} rows: {self.reason}"
        found = {
            "with a lower l1 norm when turned": self.unstationary,
            "with too many common zeros": self.entangled,
            "told apart by too few rows": self.ambiguous,
        }
        failing = ", ".join(
            f"{_count(len(pairs), 'pair')} of atoms {what}" for what, pairs in found.items() if len(pairs)
        )
        return f"not certified on {self.n_rows} rows: {failing}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def unchecked(n_features: int, reason: str = "") -> Certificate:
    """What stands for a certificate where nothing was checked, for this reason."""
    return Certificate(0, n_features, 0.0, 0, reason=reason)


def zeros_block(X: Array, B: Array, zero: ZeroLevel, norms: Array) -> tuple[int, Array, Array, Array]:
    """`count_zeros` of the codes of a block of rows."""
    return count_zeros(X @ B.T, zero.of_rows(X), norms)


def pairs_block(X: Array, B: Array, zero: ZeroLevel, norms: Array) -> tuple[Any, ...]:
    """`pair_sums` of the codes of a block of rows."""
    return pair_sums(X @ B.T, zero.of_rows(X), norms)


def certify(rows: Rows, B: Array, zero: ZeroLevel, *, orthogonal: bool = True) -> Certificate:
    """Check the conditions on the codes X B^T of all rows; one pass if the first fails, else two, and two more for the
    fourth where atoms of a complete dictionary are used seldom.
    """
    norms = np.linalg.norm(B, axis=1)
    B = B.astype(rows.dtype, copy=False)
    m, zeros, wide, near = rows.sum(zeros_block, B, zero, norms)
    alive, fewest = _alive(m, zeros, wide, near)
    if fewest < max(1, len(alive)):
        return Certificate(int(m), len(alive) or len(B), float(zero.floor), fewest)
    sums = rows.sum(pairs_block, B[alive], zero, norms[alive])
    certificate = _conclude(float(zero.floor), fewest, zeros[alive], sums, alive, orthogonal)
    if len(alive) <= _FEW_FEATURES:
        X = rows.sample(_ROWS_FOR_VALUES, 0)
        S, levels = np.asarray(X @ B[alive].T, dtype=np.float64), zero.of_rows(X)
        if has_few_values(S, levels, norms[alive]):
            certificate = _with_moves_of_values(certificate, S, levels, norms[alive], alive, orthogonal)
    seldom = alive[m - zeros[alive] <= _SELDOM]
    if orthogonal or len(seldom) == 0 or len(certificate.ambiguous):
        return certificate
    X = rows.sample(_SELDOM * len(seldom), 0, where=Uses(B[seldom], zero, norms[seldom]))
    S = np.asarray(X @ B.T, dtype=np.float64)
    return _with_moves(certificate, moves_along(S, zero.of_rows(X), norms, seldom))


@dataclass(frozen=True)
class Uses:
    """Which rows use any of these atoms, given by rows of the encoding matrix."""

    B: Array
    zero: ZeroLevel
    norms: Array

    def __call__(self, X: Array) -> Array:
        return np.asarray((np.abs(X @ self.B.T) > self.zero.of_rows(X)[:, None] * self.norms).any(axis=1))


def certify_codes(S: Array, levels: Array, norms: Array, *, orthogonal: bool) -> Certificate:
    """The same for codes S in memory, where a code is zero below `levels` of its row times `norms` of its column."""
    m, zeros, wide, near = count_zeros(S, levels, norms)
    alive, fewest = _alive(m, zeros, wide, near)
    zero_level = float(levels.mean()) if len(levels) else 0.0
    if fewest < max(1, len(alive)):
        return Certificate(m, len(alive) or S.shape[1], zero_level, fewest)
    if len(alive) < S.shape[1]:
        S, norms = np.ascontiguousarray(S[:, alive]), norms[alive]
    certificate = _conclude(zero_level, fewest, zeros[alive], pair_sums(S, levels, norms), alive, orthogonal)
    if len(alive) <= _FEW_FEATURES and has_few_values(S, levels, norms):
        return _with_moves_of_values(certificate, S, levels, norms, alive, orthogonal)
    if orthogonal:
        return certificate
    return _with_moves(certificate, moves_along(S, levels, norms, used_seldom(S, levels, norms)), alive)


class Move(NamedTuple):
    """Adding `factor` times column `along` gives column `column` of the codes `n_more` more zeros; 0 is a tie."""

    column: int
    along: int
    factor: float
    n_more: int


def _with_moves(certificate: Certificate, moves: list[Move], alive: NDArray[np.intp] | None = None) -> Certificate:
    """With the moves as pairs of atoms; `alive` has the atoms that the columns belong to, unless these are all."""
    if not moves:
        return certificate
    pairs = np.array([(move.column, move.along) for move in moves])
    return replace(certificate, ambiguous=pairs if alive is None else alive[pairs])


def _with_moves_of_values(
    certificate: Certificate, S: Array, levels: Array, norms: Array, alive: NDArray[np.intp], orthogonal: bool
) -> Certificate:
    """Of codes with few values: with all pairs that a turn, or a move of the one along the other, gives more zeros.

    That does not tell right from wrong where many codes are in use, since four atoms can be mixed as well as two: of
    complete dictionaries of 8 atoms with 30% of codes 0 and 1 half of those that passed were wrong.
    """
    if orthogonal:
        pairs = np.unique(np.concatenate([certificate.unstationary, alive[turns_to_zeros(S, levels)]]), axis=0)
        certificate = replace(certificate, unstationary=pairs)
    else:
        certificate = _with_moves(certificate, moves_along(S, levels, norms, np.arange(S.shape[1])), alive)
    share_used = float((np.abs(S) > levels[:, None] * norms).mean()) if len(S) else 1.0
    most, fewest_rows = (_MANY_USED, 0) if orthogonal else (_MANY_USED_OF_COMPLETE, _ROWS_OF_FEW_VALUES * S.shape[1])
    is_sure = certificate and share_used < most and certificate.n_rows >= fewest_rows
    return certificate if is_sure else replace(certificate, reason=_FEW_VALUES)


def used_seldom(S: Array, levels: Array, norms: Array) -> NDArray[np.intp]:
    """Columns of the codes with a few that are not zero."""
    uses = np.count_nonzero(np.abs(S) > levels[:, None] * norms, axis=0)
    return np.flatnonzero((uses > 0) & (uses <= _SELDOM))


def moves_along(S: Array, levels: Array, norms: Array, columns: NDArray[np.intp]) -> list[Move]:
    """For each code column and each of these `columns`: the move of the one along the other after which it has the most
    zeros, unless it then has fewer.
    """
    found = []
    for j in columns:
        rows = np.flatnonzero(np.abs(S[:, j]) > levels * norms[j])
        y = S[rows, j][:, None]
        zero = np.abs(S[rows]) <= levels[rows, None] * norms
        ratios = -S[rows] / y
        width = 2 * levels[rows, None] * (norms + np.abs(ratios) * norms[j]) / np.abs(y)
        agree = np.abs(ratios[:, None] - ratios) <= width[:, None] + width
        counts = np.where(zero, 0, agree.sum(axis=1))
        best = counts.argmax(axis=0)
        more = counts.max(axis=0) - zero.sum(axis=0)
        more[j] = -1
        found += [Move(int(i), int(j), float(ratios[best[i], i]), int(more[i])) for i in np.flatnonzero(more >= 0)]
    return found


def _alive(m: float, zeros: Array, wide: Array, near: Array) -> tuple[NDArray[np.intp], int]:
    """Columns that have a code, and the fewest zeros of one of them: without as many as its density around zero gives,
    since the band of zeros is half as wide as the band around it; none if they are too wide.
    """
    alive = np.flatnonzero(zeros < m)
    if len(alive) == 0 or _are_wide(float(zeros[alive].sum()), float(wide[alive].sum()), float(near[alive].sum())):
        return alive, 0
    return alive, max(0, int((zeros - near / 2)[alive].min()))


def _are_wide(zeros: float, wide: float, near: float) -> bool:
    """Whether what counts as zero is no rounding of zeros: more of it is above half the zero level than the density
    around zero explains. Small codes of smooth readings that were rounded to few digits are spread over all of it.
    """
    return wide - near / 4 > _WIDE * zeros


def _conclude(
    zero_level: float,
    fewest: int,
    zeros: Array,
    sums: tuple[Any, ...],
    alive: NDArray[np.intp],
    orthogonal: bool,
) -> Certificate:
    m, n = float(sums[0]), len(alive)
    z = -float(ndtri(_FALSE_ALARM / max(1, n * (n - 1) // 2)))
    sums = (m, *(np.asarray(item, dtype=np.float64) for item in sums[1:]))
    *flags, n_outliers = failing_pairs(zeros, sums, orthogonal, z)
    pairs = [alive[np.argwhere(flag)] if flag.any() else _NO_PAIRS for flag in flags]
    return Certificate(int(m), n, zero_level, fewest, int(m - zeros.max()), int(n_outliers), "", *pairs)


def has_exact_atom(X: Array, w: Array, levels: Array) -> bool:
    """Whether the unit vector w lies in the basin of an exact atom: polished, it has as many exact zeros as the
    certificate asks. `levels` has the zero level of each row.
    """
    size = np.abs(X @ polish_atom(X, w, float(levels.mean())))
    zeros, wide, near = (int(((low * levels <= size) & (size < high * levels)).sum()) for low, high in _BANDS)
    return zeros - near / 2 >= X.shape[1] and not _are_wide(zeros, wide, near)


def most_small(S: NDArray[Any], n_columns: int = 1) -> NDArray[np.intp]:
    """Columns with the largest shares of entries below .1 rms, the largest first."""
    rms = np.sqrt(np.mean(S * S, axis=0))
    return np.argsort(-(np.abs(S) < 0.1 * rms).mean(axis=0), kind="stable")[:n_columns]


def same_atoms(A: Array, B: Array, cosine: float = 0.9) -> bool:
    """Whether two dictionaries hold the same atoms, up to signs and order, to the given cosine."""
    C = np.abs(normalize_rows(A) @ normalize_rows(B).T)
    return bool((C.max(axis=0) > cosine).all() and (C.max(axis=1) > cosine).all())
