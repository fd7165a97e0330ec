"""Codes from a dictionary: hard thresholds and the refit on a support."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hrpursuit.compiled import kernel
from hrpursuit.core.protocols import Array

_SYSTEMS_BYTES = 1 << 22  # of normal equations at a time: a few rows, so that memory does not grow with the block


@njit(inline="always")
def _select(values, k):  # type: ignore[no-untyped-def]
    """The k-th smallest of `values` (from 0), which are put in disorder: Hoare's quickselect. numba's own partition
    compiles for 8 s.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel(nogil=True, error_model="numpy")
def _keep_largest(S, n_nonzero):  # type: ignore[no-untyped-def]
    """Bisect for a threshold that exactly `n_nonzero` entries of a row exceed: counting runs in vector instructions."""
    n_rows, n_columns = S.shape
    size = np.empty(n_columns, S.dtype)
    for r in range(n_rows):
        low = size[0] * 0
        high = low
        for j in range(n_columns):
            size[j] = abs(S[r, j])
            high = max(high, size[j])
        limit = low
        for _ in range(40):
            limit = (low + high) / 2
            count = 0
            for j in range(n_columns):
                count += 1 if size[j] > limit else 0
            if count == n_nonzero:
                for j in range(n_columns):  # without a branch, which would be predicted wrongly for most that stay
                    S[r, j] = S[r, j] if size[j] > limit else 0
                break
            if count > n_nonzero:
                low = limit
            else:
                high = limit
        else:  # equal entries, or nearly so
            limit = _select(size, n_columns - n_nonzero)
            room = n_nonzero  # for entries that are equal to the limit and stay
            for j in range(n_columns):
                if abs(S[r, j]) > limit:
                    room -= 1
            for j in range(n_columns):
                v = abs(S[r, j])
                if v <= limit:
                    if v == limit and room > 0:  # of equal entries the first ones stay
                        room -= 1
                    else:
                        S[r, j] = 0


def keep_largest(S: Array, n_nonzero: int) -> Array:
    """Zero all but the `n_nonzero` entries of largest magnitude of each row, in place; of equal ones the first stay."""
    if n_nonzero < S.shape[1]:
        if n_nonzero == 0:
            S[:] = 0
        else:
            _keep_largest(S, n_nonzero)
    return S


def keep_above(S: Array, threshold: float) -> Array:
    """Zero all entries whose magnitude is below `threshold`, in place."""
    S *= np.abs(S) >= threshold  # several times as fast as an assignment under a mask
    S += 0.0  # no negative zeros
    return S


def codes_block(
    X: Array, encoder: Array, n_nonzero: int | None = None, threshold: float | None = None, refit: Array | None = None
) -> Array:
    """Codes X @ encoder, thresholded where asked; with `refit` (the dictionary) least squares on the support that is
    left.
    """
    S = X @ encoder
    if threshold is not None:
        keep_above(S, threshold)
    if n_nonzero is not None:
        keep_largest(S, n_nonzero)
        if refit is not None and 0 < n_nonzero < S.shape[1]:
            return refit_on_support(X, S, refit, n_nonzero)
    return S


def refit_on_support(X: Array, S: Array, W: Array, n_nonzero: int) -> Array:
    """For each row the least squares codes on the (at most `n_nonzero`) atoms that S uses.

    Rows are solved for in pieces whose normal equations take at most `_SYSTEMS_BYTES`.
    """
    W = np.asarray(W, dtype=np.float64)
    gram = W @ W.T
    refitted = np.zeros_like(S)
    n_rows = max(1, _SYSTEMS_BYTES // (n_nonzero**2 * gram.itemsize))
    for start in range(0, len(S), n_rows):
        piece = slice(start, start + n_rows)
        _refit_piece(X[piece] @ W.T, S[piece], gram, n_nonzero, refitted[piece])
    return refitted


def _refit_piece(products: Array, S: Array, gram: Array, n_nonzero: int, refitted: Array) -> None:
    """Solve the normal equations of a few rows; an atom that is not used has an equation of its own, with the answer
    zero.
    """
    support = np.sort(np.argpartition(-np.abs(S), n_nonzero - 1, axis=1)[:, :n_nonzero], axis=1)
    used = np.take_along_axis(S, support, axis=1) != 0
    systems: NDArray[Any] = gram[support[:, :, None], support[:, None, :]]
    systems *= used[:, :, None]
    systems *= used[:, None, :]
    diagonal = np.arange(n_nonzero)
    systems[:, diagonal, diagonal] += ~used
    right = np.take_along_axis(products, support, axis=1) * used
    fitted = np.linalg.solve(systems, right[:, :, None])[:, :, 0]
    np.put_along_axis(refitted, support, fitted.astype(refitted.dtype), axis=1)
