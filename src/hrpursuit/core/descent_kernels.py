"""Compiled kernel of the search: stochastic subgradient steps on the orthogonal group.

One step on a batch X_b: codes S = X_b W^T, scores P (their signs, or s / (softening + |s|)^1.5), and the skew gradient
G = S^T P - P^T S, scaled so that an atom turns by a given angle in the root mean square. With momentum, M <- beta M +
G, W <- (I + M) W, and one Newton-Schulz step back towards the orthogonal group. All of it in float32, nearly all of it
in matrix products.
"""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel
from hrpursuit.core.products import product, product_of_transposed, product_with_transposed
from hrpursuit.core.protocols import Array

f4 = np.float32
LARGEST = f4(2.5)  # square of a singular value of W up to which a Newton-Schulz step is good; it diverges from 5 on
SMALL = f4(0.3)  # a code is small when it is below this share of the rms of its column


def descend(
    X_twice: Array, W: Array, M: Array, offsets: Array, n_batch: int, turns: Array, momentum: float, softening: float
) -> tuple[float, float, float]:
    """Steps on batches of consecutive rows, one for each offset; W and M are changed in place.

    Parameters
    ----------
    X_twice : float32 array of shape (2 m, n_features)
        The sample above itself, so that every cyclic run of rows is one block of memory.
    W, M : float32 arrays of shape (n_features, n_features)
        Dictionary and momentum (skew).
    offsets : int array of shape (n_steps,)
        First row of each batch, below m.
    n_batch : int
    turns : float array of shape (n_steps,)
        Root mean square angle, in radians, by which the gradient of each step turns an atom.
    momentum : float
    softening : float
        Of the score s / (softening + |s|)^1.5, whose energy is about 2 sqrt|s|; below zero the score is the sign, whose
        energy is |s|.

    Returns
    -------
    fewest, most : float
        Smallest and largest share of small codes of an atom in the last batch.
    flatness : float
        Mean over the atoms of the l1 norm of their codes over the rms: .8 for Gaussian codes, less for sparse ones.
    """
    n = len(W)
    S, P = np.empty((2, n_batch, n), f4)
    A, V = np.empty((2, n, n), f4)
    _descend(X_twice, W, M, offsets, turns, f4(momentum), f4(softening), S, P, A, V, np.empty((2, n), f4))
    return _order(S)


def _order(S: Array) -> tuple[float, float, float]:
    """What `descend` returns, of these codes."""
    m, n = S.shape
    squares = S * S
    mean = np.add.reduce(squares, axis=0) / m
    flatness = np.add.reduce(np.abs(S), axis=0) @ (1 / np.sqrt(mean + f4(1e-30))) / (m * n)
    small = np.add.reduce(squares < SMALL * SMALL * mean, axis=0)
    return float(small.min() / m), float(small.max() / m), float(flatness)


@kernel(fastmath=True, nogil=True, error_model="numpy")
def _descend(X_twice, W, M, offsets, turns, momentum, softening, S, P, A, V, columns):
    """`descend` with room for the codes and scores of a batch, two square matrices and two vectors."""
    n_batch, n = S.shape
    for i in range(n):
        columns[0, i] = 1 / np.sqrt(n)  # direction of the largest singular value of W, about
    for k in range(len(offsets)):
        product_with_transposed(X_twice, offsets[k], W, S)
        for r in range(n_batch):
            for i in range(n):
                code = S[r, i]
                if softening < 0:
                    P[r, i] = f4(1) if code > 0 else f4(-1)
                else:
                    size = softening + abs(code)
                    P[r, i] = code / (size * np.sqrt(size))
        product_of_transposed(P, 0, S, A)
        square = f4(0)
        for i in range(n):
            for j in range(i):
                skew = A[j, i] - A[i, j]
                A[i, j] = skew
                square += skew * skew
        scale = f4(turns[k]) * np.sqrt(n / (f4(2) * square + f4(1e-30)))
        for i in range(n):
            for j in range(i):
                turn = momentum * M[i, j] + scale * A[i, j]
                M[i, j] = turn
                M[j, i] = -turn
        largest = f4(1)
        for i in range(n):
            row = f4(0)
            for j in range(n):
                turn = M[i, j]
                row += turn * turn
            largest = row if row > largest else largest
        if largest > 1:  # an atom that turns further than this would leave the range of the Newton-Schulz step
            _multiply(M, 1 / np.sqrt(largest))
        product(M, 0, W, V)
        for i in range(n):
            for j in range(n):
                W[i, j] += V[i, j]
        product_with_transposed(W, 0, W, A)
        square = _largest_eigenvalue(A, columns)
        n_rounds = 1
        if square > LARGEST:  # all atoms turn in one plane, too far for a Newton-Schulz step
            n_rounds = 10
            _multiply(W, np.sqrt(1 / square))
            _multiply(M, np.sqrt(1 / square))
        for _ in range(n_rounds):
            if n_rounds > 1:
                product_with_transposed(W, 0, W, A)
            for i in range(n):
                for j in range(n):
                    A[i, j] *= f4(-0.5)
                A[i, i] += f4(1.5)
            product(A, 0, W, V)
            for i in range(n):
                for j in range(n):
                    W[i, j] = V[i, j]


@njit(fastmath=True, error_model="numpy")
def _multiply(A, factor):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            A[i, j] *= factor


@njit(fastmath=True, error_model="numpy")
def _largest_eigenvalue(A, columns):
    """Of a positive matrix, by three power iterations from the unit vector columns[0], which they turn."""
    n = A.shape[0]
    size = f4(0)
    for _ in range(3):
        size = f4(0)
        for i in range(n):
            total = f4(0)
            for j in range(n):
                total += A[i, j] * columns[0, j]
            columns[1, i] = total
            size += total * total
        size = np.sqrt(size)
        for i in range(n):
            columns[0, i] = columns[1, i] / (size + f4(1e-30))
    return size
