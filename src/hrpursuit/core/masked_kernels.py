"""Compiled kernel that codes rows with gaps: so many atoms a row, fitted to its observed entries alone.

For one row let A be the atoms restricted to the observed entries. All that coding needs is the tableau G = A A^T, b = A
x. Gauss-Jordan elimination on a set of atoms, which are "swept in", leaves in b the least squares codes of the set, and
for every other atom its product with the residual; in G minus the inverse on the set, and for every other atom, on the
diagonal, the squared norm of what the set does not explain of it. So what the squared error gains by one more atom, and
loses by one less, is b[k]^2 / G[k, k], and the gain of exchanging two is as easily had. A sweep takes n^2 operations,
and a second sweep of the same atom takes it out again.

All of it stands in one file because numba's cache on disk follows changes of the file of a kernel, not of the files
that it calls.
"""

import numpy as np
from numba import njit

_FAINT = 1e-6  # squared norm below which what is left of a unit atom counts as nothing
_GAIN = 1e-10  # of the squared norm of the row: an exchange that gains less is not made


@njit(inline="always", error_model="numpy")
def _sweep(G, b, k, direction):
    """Gauss-Jordan step on atom k: in with direction 1, out with -1."""
    n = G.shape[0]
    row = G[k]
    pivot = 1.0 / row[k]
    product = b[k]
    for i in range(n):
        if i != k:
            other = G[i]
            f = other[k] * pivot
            b[i] -= f * product
            for j in range(n):
                other[j] -= f * row[j]
            other[k] = direction * f
    for j in range(n):
        row[j] *= direction * pivot
    row[k] = -pivot
    b[k] = direction * product * pivot


@njit(inline="always", error_model="numpy")
def _gram_of_observed(W, observed, A, G):
    """G = A A^T by a sum over the observed entries."""
    n, n_features = W.shape
    n_observed = 0
    for f in range(n_features):
        if observed[f]:
            for i in range(n):
                A[i, n_observed] = W[i, f]
            n_observed += 1
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for f in range(n_observed):
                total += A[i, f] * A[j, f]
            G[i, j] = total
            G[j, i] = total


@njit(inline="always", error_model="numpy")
def _take_greedily(G, b, inside, n_nonzero):
    """Orthogonal least squares: sweep in the atom that lowers the error most, until there are `n_nonzero`."""
    n = G.shape[0]
    n_inside = 0
    for k in range(n):
        n_inside += 1 if inside[k] else 0
    while n_inside < n_nonzero:
        best = -1
        most = 0.0
        for k in range(n):
            if not inside[k] and G[k, k] > _FAINT:
                gain = b[k] * b[k] / G[k, k]
                if gain > most:
                    best = k
                    most = gain
        if best < 0:
            break
        _sweep(G, b, best, 1.0)
        inside[best] = True
        n_inside += 1


@njit(inline="always", error_model="numpy")
def _exchange(G, b, inside, least, n_exchanges):
    """Exchange the pair of atoms, one in and one out, that lowers the error most, while it falls by `least`."""
    n = G.shape[0]
    for _ in range(n_exchanges):
        best_in = -1
        best_out = -1
        most = least
        for i in range(n):
            if inside[i]:
                row = G[i]
                inverse = 1.0 / row[i]
                loss = b[i] * b[i] * inverse  # negative
                f = b[i] * inverse
                for j in range(n):
                    if not inside[j]:
                        left = G[j, j] - row[j] * row[j] * inverse
                        product = b[j] - row[j] * f
                        if product * product > (most - loss) * left and left > _FAINT:
                            most = product * product / left + loss
                            best_in = i
                            best_out = j
        if best_in < 0:
            break
        _sweep(G, b, best_in, -1.0)
        _sweep(G, b, best_out, 1.0)
        inside[best_in] = False
        inside[best_out] = True


@njit(inline="always", error_model="numpy")
def _residual(x, observed, W, code, inside, residual):
    """What the code leaves of the observed entries (zero elsewhere), and its squared norm."""
    n, n_features = W.shape
    for f in range(n_features):
        residual[f] = x[f] if observed[f] else 0.0
    for k in range(n):
        if inside[k]:
            for f in range(n_features):
                residual[f] -= code[k] * W[k, f]
    total = 0.0
    for f in range(n_features):
        if observed[f]:
            total += residual[f] * residual[f]
        else:
            residual[f] = 0.0
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def code_rows(X, observed, W, products, S, errors, n_nonzero, is_greedy, n_exchanges):
    """Codes of rows with gaps, in place: S keeps the code of a row unless a better one is found.

    `products` are A x for all rows, `errors` the squared errors of S on the observed entries (infinite where S is
    worth nothing). The search starts from no atom if `is_greedy`, else from those that S uses; atoms are then taken
    greedily until there are `n_nonzero`, and up to `n_exchanges` pairs exchanged.
    """
    n_rows = X.shape[0]
    n, n_features = W.shape
    A = np.empty((n, n_features))
    G0 = np.empty((n, n))
    G = np.empty((n, n))
    b = np.empty(n)
    code = np.empty(n)
    residual = np.empty(n_features)
    inside = np.empty(n, np.bool_)
    for r in range(n_rows):
        same = r > 0
        f = 0
        while same and f < n_features:
            same = observed[r, f] == observed[r - 1, f]
            f += 1
        if not same:
            _gram_of_observed(W, observed[r], A, G0)
        norm = 0.0
        for f in range(n_features):
            if observed[r, f]:
                norm += X[r, f] * X[r, f]
        for i in range(n):
            b[i] = products[r, i]
            inside[i] = False
            for j in range(n):
                G[i, j] = G0[i, j]
        if not is_greedy:
            for k in range(n):
                if S[r, k] != 0.0 and G[k, k] > _FAINT:
                    _sweep(G, b, k, 1.0)
                    inside[k] = True
        _take_greedily(G, b, inside, n_nonzero)
        _exchange(G, b, inside, _GAIN * norm, n_exchanges)
        for k in range(n):
            code[k] = b[k] if inside[k] else 0.0
        _residual(X[r], observed[r], W, code, inside, residual)
        for k in range(n):  # one step of refinement: the tableau has lost some digits on its way
            if inside[k]:
                total = 0.0
                for f in range(n_features):
                    total += W[k, f] * residual[f]
                b[k] = total
        for i in range(n):
            if inside[i]:
                for j in range(n):
                    if inside[j]:
                        code[i] -= G[i, j] * b[j]
        error = _residual(X[r], observed[r], W, code, inside, residual)
        if error < errors[r]:
            errors[r] = error
            for k in range(n):
                S[r, k] = code[k]
