"""Codes with few values, such as 0 and 1: what the certificate has to look for beyond pairs that are not stationary."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hrpursuit.core.protocols import Array

#: Share of the codes that have to agree. Of codes 0 and 1 in a wrong dictionary .2 to .6 do, of normal ones none.
_MANY = 0.15
_EXACT = 1e-5  # zero level, relative to the largest code of a row, up to which equal codes are told from near ones


def has_few_values(S: Array, levels: Array, norms: Array) -> bool:
    """Whether many codes, relative to the largest of their row, have the magnitude of another one in their column, as
    where all are 0 or 1. Then a wrong dictionary can have a lowest l1 norm, too, and has pairs of atoms that a large
    turn gives more zeros.
    """
    size = np.abs(S) / norms
    largest = size.max(axis=1, keepdims=True, initial=0.0)
    share = levels[:, None] / np.maximum(largest, levels[:, None])
    if len(S) == 0 or float(np.median(share)) > _EXACT:
        return False  # different values agree up to their rounding
    size /= np.maximum(largest, np.finfo(np.float64).tiny)
    size[np.arange(len(S)), size.argmax(axis=1)] = 0  # these are all 1
    n_codes = n_equal = 0
    for column, used in zip(size.T, (size > share).T, strict=True):
        gaps = np.diff(np.sort(column[used]))
        n_codes += len(gaps)
        n_equal += int((gaps <= 2 * _EXACT).sum())
    return n_equal > _MANY * n_codes


def turns_to_zeros(S: Array, levels: Array) -> NDArray[np.intp]:
    """Pairs of columns of the codes in an orthogonal dictionary that a turn in their plane gives as many or more zeros:
    one for each row with the same ratio of the two codes, or at right angles to it.
    """
    used, level = np.abs(S) > levels[:, None], float(levels.mean())
    found = []
    for i, j in combinations(range(S.shape[1]), 2):
        both, n_lost = used[:, i] & used[:, j], int((used[:, i] ^ used[:, j]).sum())
        if 0 < n_lost <= 2 * both.sum():
            angles = np.sort(np.arctan2(S[both, i], S[both, j]) % (np.pi / 2))
            width = 4 * level / float(np.hypot(S[both, i], S[both, j]).min())
            counts = np.searchsorted(angles, angles + width, side="right") - np.arange(len(angles))
            if counts.max() >= n_lost:
                found.append((i, j))
    return np.array(found, dtype=np.intp).reshape(-1, 2)
