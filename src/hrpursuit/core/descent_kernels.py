"""Compiled kernel of the search: stochastic subgradient steps on the orthogonal group.

One step on a batch X_b: codes S = X_b W^T, scores P (their signs, or s / (softening + |s|)^1.5), and the skew gradient
G = S^T P - P^T S, scaled so that an atom turns by a given angle in the root mean square. With momentum, M <- beta M +
G, W <- (I + M) W, and one Newton-Schulz step back towards the orthogonal group. All of it in float32, nearly all of it
in matrix products.
"""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel

f4 = np.float32
LARGEST = f4(2.5)  # square of a singular value of W up to which a Newton-Schulz step is good; it diverges from 5 on
SMALL = f4(0.3)  # a code is small when it is below this share of the rms of its column


@kernel(fastmath=True, nogil=True, error_model="numpy")
def descend(X_twice, W, M, offsets, n_batch, turns, momentum, softening):
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
    n = W.shape[0]
    codes = np.empty((2, n_batch, n), f4)
    S = codes[0]
    P = codes[1]
    squares = np.empty((2, n, n), f4)
    A = squares[0]
    V = squares[1]
    columns = np.empty((1, 3, n), f4)
    leading = columns[0, 0]  # direction of the largest singular value of W, about
    for i in range(n):
        leading[i] = 1 / np.sqrt(n)
    for k in range(len(offsets)):
        np.dot(X_twice[offsets[k] : offsets[k] + n_batch], W.T, S)
        if softening < 0:
            for r in range(n_batch):
                for i in range(n):
                    P[r, i] = f4(1) if S[r, i] > 0 else f4(-1)
        else:
            for r in range(n_batch):
                for i in range(n):
                    size = softening + abs(S[r, i])
                    P[r, i] = S[r, i] / (size * np.sqrt(size))
        np.dot(P.T, S, A)
        square = f4(0)
        for i in range(n):
            for j in range(i):
                A[i, j] = A[j, i] - A[i, j]
                square += A[i, j] * A[i, j]
        scale = f4(turns[k]) * np.sqrt(n / (f4(2) * square + f4(1e-30)))
        largest = f4(0)
        for i in range(n):
            for j in range(i):
                M[i, j] = momentum * M[i, j] + scale * A[i, j]
                M[j, i] = -M[i, j]
        for i in range(n):
            row = f4(0)
            for j in range(n):
                row += M[i, j] * M[i, j]
            largest = max(largest, row)
        if largest > 1:  # an atom that turns further than this would leave the range of the Newton-Schulz step
            shrink = 1 / np.sqrt(largest)
            for i in range(n):
                for j in range(n):
                    M[i, j] *= shrink
        np.dot(M, W, V)
        for i in range(n):
            for j in range(n):
                W[i, j] += V[i, j]
        np.dot(W, W.T, A)
        square = _largest_eigenvalue(A, leading, columns[0, 1])
        n_rounds = 1
        if square > LARGEST:  # all atoms turn in one plane, too far for a Newton-Schulz step
            shrink = np.sqrt(1 / square)
            n_rounds = 10
            for i in range(n):
                for j in range(n):
                    W[i, j] *= shrink
                    M[i, j] *= shrink
        for _ in range(n_rounds):
            if n_rounds > 1:
                np.dot(W, W.T, A)
            for i in range(n):
                for j in range(n):
                    A[i, j] *= f4(-0.5)
                A[i, i] += f4(1.5)
            np.dot(A, W, V)
            for i in range(n):
                for j in range(n):
                    W[i, j] = V[i, j]
    return _order(S, columns[0, 0], columns[0, 1], columns[0, 2])


@njit(fastmath=True, inline="always", error_model="numpy")
def _largest_eigenvalue(A, v, u):
    """Of a positive matrix, by three power iterations from the unit vector v, which they turn."""
    size = f4(0)
    for _ in range(3):
        size = f4(0)
        for i in range(len(v)):
            product = f4(0)
            for j in range(len(v)):
                product += A[i, j] * v[j]
            u[i] = product
            size += product * product
        size = np.sqrt(size)
        for i in range(len(v)):
            v[i] = u[i] / (size + f4(1e-30))
    return size


@njit(fastmath=True, inline="always", error_model="numpy")
def _order(S, square, total, count):
    """What `descend` returns; the others are room for sums of columns."""
    m, n = S.shape
    for i in range(n):
        square[i] = 0
        total[i] = 0
        count[i] = 0
    for r in range(m):
        for i in range(n):
            square[i] += S[r, i] * S[r, i]
            total[i] += abs(S[r, i])
    flatness = 0.0
    for i in range(n):
        mean = square[i] / m
        flatness += total[i] / (m * np.sqrt(mean + f4(1e-30)) * n)
        square[i] = SMALL * SMALL * mean
    for r in range(m):
        for i in range(n):
            count[i] += f4(1) if S[r, i] * S[r, i] < square[i] else f4(0)
    fewest = count[0]
    most = count[0]
    for i in range(n):
        fewest = min(fewest, count[i])
        most = max(most, count[i])
    return fewest / m, most / m, flatness
