"""From a dictionary that is nearly right to a certified one: polish, check, turn the pairs of atoms that fail, check
again.
"""

import numpy as np
from scipy.special import ndtri

from hrpursuit.core.certificate import Certificate, certify_codes, moves_along
from hrpursuit.core.manifolds import polar_near
from hrpursuit.core.plane_kernels import unmix_pairs
from hrpursuit.core.polish import polish_free, polish_orthogonal, probe_and_polish
from hrpursuit.core.protocols import Array

_SMALL = 0.3  # a code is small below this share of the rms of its column
_FALSE_ALARM, _MARGIN = 1e-3, 1.5  # chance that independent atoms are unmixed, and how far beyond they have to be
_UNMIX_ROUNDS, _MOST_PAIRS = 4, 4  # rounds, and pairs per feature beyond which nothing is ordered yet
_POLISH_EVERY = 4  # repairs
#: For leaks in noise: small codes are up to this many times the lower quartile of their column, about three standard
#: deviations of the noise; that level is below this share of the rms, or there is too much noise; a move has to gain
#: this share of the rows.
_NOISE_LEVEL, _LITTLE_NOISE, _LEAST_GAIN = 8.0, 0.1, 0.02
_MOST_FEATURES, _LEAK_ROWS, _LEAK_ROUNDS = 64, 30, 3  # rows per feature
_LARGE = 0.05  # share of the largest code of a column above which it may divide, so that rounding stays small


def unmix_small(X: Array, W: Array) -> Array:
    """W with the pairs of atoms that share more small codes than chance explains unmixed in their plane.

    Two mixed atoms keep their common zeros, and the polish does not tell them apart.
    """
    S, unmixed = X @ W.T, W.copy()
    for k in range(_UNMIX_ROUNDS):
        pairs = _mixed_pairs(S)
        if not 0 < len(pairs) <= _MOST_PAIRS * len(W):
            return W if k == 0 else polar_near(unmixed)
        unmix_pairs(S, unmixed, pairs)
    return polar_near(unmixed)


def _mixed_pairs(S: Array) -> Array:
    """Pairs of code columns that share more small codes than independent columns would."""
    m, n = S.shape
    limits = _SMALL * np.sqrt(np.einsum("ij,ij->j", S, S) / m)
    small = (np.abs(S) < limits).astype(np.float32)
    common = small.T @ small
    share = common.diagonal() / m
    spread = np.sqrt(share * (1 - share))
    beyond = -_MARGIN * float(ndtri(_FALSE_ALARM / max(1, n * (n - 1) // 2)))
    excess = common - m * np.outer(share, share) > beyond * np.sqrt(m) * np.outer(spread, spread)
    return np.argwhere(np.triu(excess, 1))


def settle_orthogonal(X: Array, W: Array, levels: Array, n_repairs: int = 20) -> tuple[Array, Certificate]:
    """Polish W on the sample X, whose rows have the zero levels `levels`; then repair the pairs that fail the
    certificate, up to `n_repairs` times. The certificate is of the matrix that is returned; it has no zeros where the
    first level of the polish finds none.
    """
    level, norms = float(levels.mean()), np.ones(len(W))
    W, is_exact = probe_and_polish(X, W, level)
    if not is_exact:
        return W, Certificate(len(X), len(W), level, 0)
    S = X @ W.T
    certificate = certify_codes(S, levels, norms, orthogonal=True)
    l1, repair = np.inf, 0
    while repair < n_repairs and certificate.has_zeros and not certificate:
        l1_now = float(np.abs(S).sum())
        if len(certificate.unstationary) == 0 and l1_now > l1 * (1 - 1e-6):
            break  # turning the entangled pairs does not help: their zeros may really be common
        l1 = l1_now
        turned = W.copy()
        unmix_pairs(S, turned, certificate.failing_pairs)
        turned = polar_near(turned)
        if repair % _POLISH_EVERY == _POLISH_EVERY - 1:
            turned = polish_orthogonal(X, turned, level, start=0.03)
        W, repair = turned, repair + 1
        S = X @ W.T
        certificate = certify_codes(S, levels, norms, orthogonal=True)
    if repair and certificate.has_zeros:
        polished = polish_orthogonal(X, W, level, start=1e-6)
        checked = certify_codes(X @ polished.T, levels, norms, orthogonal=True)
        if checked or not certificate:
            return polished, checked
    return W, certificate


def settle_complete(X: Array, B: Array, levels: Array, n_repairs: int = 20) -> tuple[Array, Certificate]:
    """Polish the rows of the encoding matrix B (codes X B^T), each by itself, and check the certificate of a complete
    dictionary; where a code column can be moved along another to more zeros it is, up to `n_repairs` times.
    """
    level = float(levels.mean())
    B, repair = polish_free(X, B, level), 0
    for repair in range(n_repairs + 1):
        S, norms = X @ B.T, np.linalg.norm(B, axis=1)
        certificate = certify_codes(S, levels, norms, orthogonal=False)
        if certificate or not certificate.has_zeros or repair == n_repairs:
            break
        moved = _moved_to_zeros(S, B, levels, certificate)
        if moved is None:
            break
        B = moved
    if repair and certificate.has_zeros:  # a move is as exact as the zeros that it was found by
        polished = polish_free(X, B, level, start=1e-6)
        checked = certify_codes(X @ polished.T, levels, np.linalg.norm(polished, axis=1), orthogonal=False)
        if checked or not certificate:
            return polished, checked
    return B, certificate


def _moved_to_zeros(S: Array, B: Array, levels: Array, certificate: Certificate) -> Array | None:
    """B with the code columns that fail moved along others to more zeros; None where nothing helps."""
    norms = np.linalg.norm(B, axis=1)
    factors = [(i, j, _shift_to_zeros(S[:, i], S[:, j], levels * norms[i])) for i, j in certificate.unstationary]
    if len(certificate.ambiguous):
        factors += [
            (move.column, move.along, move.factor)
            for move in moves_along(S, levels, norms, np.unique(certificate.ambiguous[:, 1]))
            if move.n_more > 0
        ]
    if not any(c for *_, c in factors):
        return None
    moved = B.copy()
    used: set[int] = set()
    for i, j, c in factors:
        if c != 0 and not used & {i, j}:  # one move for each column: two that move along each other become one
            used |= {i, j}
            moved[i] += c * B[j]
    return moved


def _shift_to_zeros(x: Array, y: Array, levels: Array) -> float:
    """The c for which x + c y has the most zeros, which are below `levels`; 0 where it has no more than x."""
    size = np.abs(y)
    large = size > _LARGE * size.max(initial=0.0)
    if not large.any():
        return 0.0
    c = mode(-x[large] / y[large], 2 * float(np.median(levels[large] / size[large])))
    n_before, n_after = (np.count_nonzero(np.abs(codes) <= levels) for codes in (x, x + c * y))
    return c if n_after > n_before else 0.0


def without_leaks(X: Array, B: Array) -> Array:
    """Rows B of an encoding matrix (codes X B^T) of a complete dictionary in little noise, with the code columns moved
    along others where that makes clearly more of their codes small. A likelihood does not find such moves: where an
    atom leaks into few rows of a code column, its peak is as narrow as the noise.
    """
    n = len(B)
    if n > _MOST_FEATURES:
        return B
    X, given, B = X[: _LEAK_ROWS * n], B, B.copy()
    for _ in range(_LEAK_ROUNDS):
        S = X @ B.T
        levels = _NOISE_LEVEL * np.quantile(np.abs(S), 0.25, axis=0)
        quiet = np.flatnonzero(levels < _LITTLE_NOISE * np.sqrt(np.mean(S * S, axis=0)))
        moves = []
        for j in quiet:
            used = np.abs(S[:, j]) > np.maximum(3 * levels[j], _LARGE * np.abs(S[:, j]).max())
            for i in quiet[quiet != j]:
                x, y = S[used, i], S[used, j]
                c = mode(-x / y, 2 * float(levels[i] / np.median(np.abs(y)))) if len(y) else 0.0
                n_more = int(np.sum(np.abs(x + c * y) < levels[i])) - int(np.sum(np.abs(x) < levels[i]))
                if n_more >= max(3, _LEAST_GAIN * len(X)):
                    moves.append((n_more, int(i), int(j), c))
        if not moves:
            break
        moved: set[int] = set()
        for _, i, j, c in sorted(moves, reverse=True):
            if not moved & {i, j}:
                moved.add(i)
                B[i] += c * B[j]
    return B if (given != B).any() else given


def mode(values: Array, width: float) -> float:
    """The mean of those values that most others are within `width` of."""
    values = np.sort(values)
    counts = np.searchsorted(values, values + 2 * width, side="right") - np.arange(len(values))
    first = int(np.argmax(counts))
    return float(values[first : first + counts[first]].mean())
