"""Rows with gaps (NaN): codes from the observed entries alone, and what the alternation with the dictionary needs."""

import numpy as np
from numpy.typing import NDArray

from hrpursuit.core.coding import codes_block, keep_above, keep_largest
from hrpursuit.core.manifolds import normalize_rows, polar
from hrpursuit.core.masked_kernels import code_rows
from hrpursuit.core.protocols import Array

EXCHANGES = 50  # most exchanges of two atoms in the code of a row; a few are enough nearly always
KICKS = 100  # most attempts to get out of a local optimum by barring one of its atoms


def has_gaps(X: Array) -> bool:
    """Whether an entry is NaN, without an array beside X."""
    return X.size > 0 and bool(np.isnan(np.min(X)))


def fill_with_row_means(X: Array) -> Array:
    """Each gap the mean of the observed entries of its row, as in the paper; zero where there are none."""
    gaps = np.isnan(X)
    n_observed = X.shape[1] - gaps.sum(axis=1)
    unit = unit_of_rows(X)
    sums = np.where(gaps, 0, X / unit).sum(axis=1, dtype=np.float64)
    means = (sums / np.maximum(n_observed, 1))[:, None].astype(X.dtype) * unit
    return np.where(gaps, means, X)


def observed_means(X: Array) -> Array:
    """Mean of the observed entries of each feature; zero where there are none."""
    gaps = np.isnan(X)
    total = np.where(gaps, 0, X).sum(axis=0, dtype=np.float64)
    return np.asarray(total / np.maximum(len(X) - gaps.sum(axis=0), 1), dtype=X.dtype)


def unit_of_rows(X: Array) -> Array:
    """For each row, as a column, the power of two next above its largest observed magnitude: the unit in which squares
    stay within the range of the format. Division by it is exact.
    """
    largest = np.fmax.reduce(np.abs(X), axis=1, initial=0.0, keepdims=True)
    limit = np.finfo(X.dtype).maxexp - 1
    return np.ldexp(np.ones_like(largest), np.clip(np.frexp(largest)[1], -limit, limit))


def masked_codes(X: Array, W: Array, n_nonzero: int, encoder: Array | None = None) -> Array:
    """For each row the best found of the codes with at most `n_nonzero` nonzeros, by the squared error on its observed
    entries: atoms are taken greedily by orthogonal least squares, then exchanged, with kicks out of local optima.

    With an `encoder` rows without gaps are also coded from the atoms of the largest codes X @ encoder, which are the
    right ones where the row is exactly sparse, and the kicks start from the better code.
    """
    unit = unit_of_rows(X)
    norms = np.linalg.norm(W, axis=1)
    norms[norms == 0] = 1.0  # an atom of zeros is never used
    table = GapTable(X / unit)
    atoms = normalize_rows(np.asarray(W, dtype=np.float64))
    if encoder is None:
        S = np.zeros((len(X), len(W)))
        table.improve_codes(atoms, S, n_nonzero, greedy=True, fresh=True, n_kicks=KICKS)
    else:
        S = table.codes(atoms, encoder * norms, n_nonzero)
        table.improve_codes(atoms, S, n_nonzero, greedy=False, n_kicks=KICKS)
    return (table.in_given_order(S) / norms * unit).astype(X.dtype)


def gap_codes_block(
    X: Array,
    encoder: Array,
    components: Array,
    n_nonzero: int | None = None,
    threshold: float | None = None,
    refit: Array | None = None,
) -> Array:
    """`codes_block` for rows that may have gaps. Rows without get the very same codes, but with `n_nonzero` and `refit`
    (a dictionary that is not orthogonal), where all rows are coded by `masked_codes`.

    With `n_nonzero` a row with gaps is coded by its observed entries; without, its gaps are filled with the mean of
    these.
    """
    if not has_gaps(X) and (n_nonzero is None or refit is None or n_nonzero == len(components)):
        return codes_block(X, encoder, n_nonzero, threshold, refit)
    gaps, infinite = np.isnan(X), np.isinf(X)
    if infinite.any():
        X = np.where(infinite, 0, X)
    if n_nonzero is not None and refit is not None:
        S = masked_codes(X, components, n_nonzero, encoder)
        if threshold is not None:
            keep_above(S, threshold)
    else:
        S = codes_block(fill_with_row_means(X), encoder, n_nonzero, threshold, refit)
        is_gappy = gaps.any(axis=1)
        if n_nonzero is not None:
            own = masked_codes(X[is_gappy], components, n_nonzero)
            S[is_gappy] = own if threshold is None else keep_above(own, threshold)
    S[infinite.any(axis=1)] = np.nan  # whoever asked for the codes has to notice
    return S


class GapTable:
    """A table with gaps in the shape that the alternation works on.

    Rows are ordered by their gaps, since rows that share them share most of the work of a code, and those without any
    come first. A table without gaps will do as well.
    """

    def __init__(self, X: Array) -> None:
        gaps = np.isnan(X)
        self._order = np.lexsort(np.packbits(gaps, axis=1).T[::-1]) if gaps.any() else np.arange(len(X))
        gaps = gaps[self._order]
        self.observed: NDArray[np.bool_] = ~gaps
        self.X: Array = np.where(gaps, 0.0, np.asarray(X, dtype=np.float64)[self._order])
        self.n_whole = int(np.sum(~gaps.any(axis=1)))
        self.norm = float(np.linalg.norm(self.X))

    def in_given_order(self, S: Array) -> Array:
        given = np.empty_like(S)
        given[self._order] = S
        return given

    def residual(self, S: Array, W: Array) -> Array:
        return (self.X - S @ W) * self.observed

    def error(self, S: Array, W: Array) -> float:
        """Relative error on the observed entries."""
        return float(np.linalg.norm(self.residual(S, W))) / self.norm if self.norm > 0 else 0.0

    def filled(self, S: Array, W: Array) -> Array:
        """The table with its reconstruction in the gaps."""
        return np.where(self.observed, self.X, S @ W)

    def codes(self, W: Array, encoder: Array, n_nonzero: int) -> Array:
        """Codes without kicks: the better of those from the atoms of the largest codes X @ encoder (rows without gaps)
        and those from no atom.
        """
        S = np.zeros((len(self.X), len(W)))
        S[: self.n_whole] = keep_largest(self.X[: self.n_whole] @ encoder.astype(np.float64), n_nonzero)
        self.improve_codes(W, S, n_nonzero, greedy=False, fresh=True)
        self.improve_codes(W, S, n_nonzero, greedy=True)
        return S

    def improve_codes(
        self,
        W: Array,
        S: Array,
        n_nonzero: int,
        *,
        greedy: bool,
        n_kicks: int = 0,
        first_kick: int = 0,
        fresh: bool = False,
        orthogonal: bool = False,
    ) -> None:
        """Replace codes of S, in place, by better ones on the observed entries: found from the atoms that they use, or
        by taking atoms greedily from none; then by up to `n_kicks` kicks out of local optima for each row, which begin
        with another atom from row to row, from `first_kick` on. `fresh` codes count for nothing. Rows without gaps get
        the best codes that there are at once, where the dictionary is orthogonal.
        """
        n_whole = self.n_whole if orthogonal else 0
        if n_whole:
            S[:n_whole] = keep_largest(self.X[:n_whole] @ W.T, n_nonzero)
        X, own = self.X[n_whole:], S[n_whole:]
        if len(X) == 0:
            return
        if fresh:
            errors = np.full(len(X), np.inf)
        else:
            errors = np.sum(np.square((X - own @ W) * self.observed[n_whole:]), axis=1)
        code_rows(
            np.ascontiguousarray(X), np.ascontiguousarray(self.observed[n_whole:]), np.ascontiguousarray(W),
            np.ascontiguousarray(X @ W.T), own, errors, n_nonzero, greedy, EXCHANGES,
            n_kicks, first_kick,
        )  # fmt: skip


def orthogonal_steps(table: GapTable, S: Array, W: Array, n_steps: int) -> Array:
    """Fill the gaps with the reconstruction, then Procrustes, in turn, for codes that stay: neither raises the error on
    the observed entries. The fill looks ahead by momentum, which ends where the error would rise.
    """
    W_before, momentum, error = W, 0, table.error(S, W)
    for _ in range(n_steps):
        ahead = W + momentum / (momentum + 3) * (W - W_before)
        W_next = polar(S.T @ table.filled(S, ahead))
        error_next = table.error(S, W_next)
        if error_next <= error:
            W_before, W, error, momentum = W, W_next, error_next, momentum + 1
        elif momentum:
            W_before, momentum = W, 0
        else:
            break
    return W
