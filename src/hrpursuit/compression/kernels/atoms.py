"""A basis over sensors that is sent: an order of the sensors, and atoms as small integers over cosines in it."""

import math
from functools import lru_cache

import numpy as np

from hrpursuit.compression.kernels.bits import code_plain_bits
from hrpursuit.compression.kernels.compiled import as_integers, compiled, integers
from hrpursuit.compression.kernels.mixing import Model, code_integer, guess_by_scale, new_model, scale_of

UNIT = 1 << 24
FINENESS = 9  # sent atoms are whole numbers over this
_PI = 3141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067982  # 1e102
_SHORTEST = 1 << 21  # what is left of an atom after those before it, or it is left out
_N_SLOTS = 64 + 16 * 8 + 64


@lru_cache(maxsize=8)
def cosine_atoms(n: int) -> np.ndarray:
    """Orthonormal cosine basis, one atom a row, in 1/2^24; computed in integers of 320 bits."""
    one = 1 << 320
    angle = one * _PI // 10**102 // (2 * n)
    cosine, sine, term, k = 0, 0, one, 0
    while term:  # the series of both
        if k % 2 == 0:
            cosine += term if k % 4 == 0 else -term
        else:
            sine += term if k % 4 == 1 else -term
        k += 1
        term = term * angle // one // k
    table, c, s = [], one, 0
    for _ in range(4 * n):
        table.append(c)
        c, s = (c * cosine - s * sine) // one, (s * cosine + c * sine) // one
    atoms = np.empty((n, n), dtype=np.int64)
    for f in range(n):
        norm = math.isqrt((one * one // n) * (1 if f == 0 else 2))
        for t in range(n):
            exact = table[(2 * t + 1) * f % (4 * n)] * norm // one
            atoms[f, t] = (exact * UNIT * 2 + one) // (2 * one)
    atoms.setflags(write=False)
    return atoms


@compiled
def code_order(coder, buffer, decoding, order, left):
    """A permutation; `left` is room for it."""
    n = len(order)
    for i in range(n):
        left[i] = i
    for i in range(n - 1):
        n_bits, place = 0, 0
        while (1 << n_bits) < n - i:
            n_bits += 1
        if not decoding:
            while left[place] != order[i]:
                place += 1
        place = min(code_plain_bits(coder, buffer, decoding, place, n_bits), n - i - 1)
        order[i] = left[place]
        for j in range(place, n - i - 1):
            left[j] = left[j + 1]
    order[n - 1] = left[0]


def new_atom_model() -> Model:
    model = new_model(_N_SLOTS, [22000] * 3, n_experts=0, limit=100)
    guess_by_scale(model, 0, 4)
    return model


@compiled
def code_atoms(coder, buffer, decoding, atoms, model):
    """Whole numbers, one atom a row; contexts are the numbers around and the distance from the diagonal."""
    n_atoms, n = atoms.shape
    mean = 256
    for k in range(n_atoms):
        for i in range(n):
            around = 0
            if i > 0:
                around += abs(atoms[k, i - 1])
            if i > 1:
                around += abs(atoms[k, i - 2])
            if k > 0:
                around += abs(atoms[k - 1, i])
                if i + 1 < n:
                    around += abs(atoms[k - 1, i + 1])
                if i > 0:
                    around += abs(atoms[k - 1, i - 1])
            away = abs(i - k)
            model.slots[0] = scale_of((mean + (around << 8) // 5) >> 1)
            model.slots[1] = 64 + min(around, 15) * 8 + min(away, 14) // 2
            model.slots[2] = 64 + 128 + min(away, 63)
            atoms[k, i] = code_integer(coder, buffer, decoding, atoms[k, i], model, True)
            mean += ((abs(atoms[k, i]) << 8) - mean) >> 4


@compiled
def _root(x):
    """Largest integer whose square is at most x."""
    if x < 2:
        return x
    root = 1
    while root * root <= x >> 2:
        root <<= 1
    root <<= 1
    while root * root > x:
        root = (root + x // root) >> 1
    return root


@compiled
def _orthonormalize(candidates, basis):
    """Gram-Schmidt, twice each, over the candidates in order until the basis is full."""
    n_found, n = 0, len(basis)
    for c in range(len(candidates)):
        if n_found == n:
            break
        row = basis[n_found]
        for i in range(n):
            row[i] = candidates[c, i]
        norm = 0
        for _ in range(2):
            for j in range(n_found):
                product = 0
                for i in range(n):
                    product += row[i] * basis[j, i]
                product = (product + (1 << 23)) >> 24
                for i in range(n):
                    row[i] -= (product * basis[j, i] + (1 << 23)) >> 24
            norm = 0
            for i in range(n):
                norm += row[i] * row[i]
            norm = _root(norm)
            if norm < _SHORTEST:
                break
            for i in range(n):
                row[i] = (row[i] << 24) // norm
        if norm >= _SHORTEST:
            n_found += 1
    return n_found


def sent_basis(order: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Orthonormal basis in 1/2^24, one atom a row: the atoms that were sent, then cosines that complete it."""
    n = len(order)
    cosines = np.zeros((n, n), dtype=np.int64)
    cosines[:, order.astype(np.int64)] = cosine_atoms(n)
    if len(atoms) == 0:
        return cosines
    sent = (np.clip(atoms.astype(np.int64), -64, 64) @ cosines) // FINENESS
    basis = integers((n, n))
    if _orthonormalize(as_integers(np.concatenate([sent, cosines])), basis) < n:
        return cosines
    return basis.astype(np.int64)
