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


@njit(nogil=True, fastmath=True, error_model="numpy")
def _sweep(G, b, k, direction, row):
    """Gauss-Jordan step on atom k: in with direction 1, out with -1. `row` is room for a copy of row k, without which
    the loops would have to mind that it changes.
    """
    n = G.shape[0]
    for j in range(n):
        row[j] = G[k, j]
    pivot = 1.0 / row[k]
    product = b[k] * pivot
    for i in range(n):
        b[i] -= row[i] * product
        f = row[i] * pivot
        for j in range(n):
            G[i, j] -= f * row[j]
        G[i, k] = direction * f
    for j in range(n):
        G[k, j] = direction * pivot * row[j]
    G[k, k] = -pivot
    b[k] = direction * product


@njit(nogil=True, fastmath=True, error_model="numpy")
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


@njit(nogil=True, error_model="numpy")
def _take_greedily(G, b, inside, n_nonzero, barred, room):
    """Orthogonal least squares: sweep in the atom that lowers the error most, until there are `n_nonzero`; not the atom
    `barred`. Returns the sum of what was gained.
    """
    gained = 0.0
    n = G.shape[0]
    n_inside = 0
    for k in range(n):
        n_inside += 1 if inside[k] else 0
    while n_inside < n_nonzero:
        best = -1
        most = 0.0
        for k in range(n):
            if not inside[k] and k != barred and G[k, k] > _FAINT:
                gain = b[k] * b[k] / G[k, k]
                if gain > most:
                    best = k
                    most = gain
        if best < 0:
            break
        _sweep(G, b, best, 1.0, room)
        inside[best] = True
        n_inside += 1
        gained += most
    return gained


@njit(nogil=True, error_model="numpy")
def _exchange(G, b, inside, least, n_exchanges, barred, room):
    """Exchange the pair of atoms, one in and one out, that lowers the error most, while it falls by `least`; the atom
    `barred` stays out. Returns the sum of what was gained.
    """
    n = G.shape[0]
    gained = 0.0
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
                    if not inside[j] and j != barred:
                        left = G[j, j] - row[j] * row[j] * inverse
                        product = b[j] - row[j] * f
                        if product * product > (most - loss) * left and left > _FAINT:
                            most = product * product / left + loss
                            best_in = i
                            best_out = j
        if best_in < 0:
            break
        _sweep(G, b, best_in, -1.0, room)
        _sweep(G, b, best_out, 1.0, room)
        inside[best_in] = False
        inside[best_out] = True
        gained += most
    return gained


@njit(nogil=True, error_model="numpy")
def _kick(G, b, inside, least, n_exchanges, n_kicks, G_kept, b_kept, kept, room):
    """Out of a local optimum: bar each atom in turn, exchange others until that gains no more, and again without the
    bar; go on from there where the error has fallen by `least` in all.
    """
    n = G.shape[0]
    n_inside = 0
    for k in range(n):
        n_inside += 1 if inside[k] else 0
    for i in range(n):
        b_kept[i] = b[i]
        kept[i] = inside[i]
        for j in range(n):
            G_kept[i, j] = G[i, j]
    since = 0  # atoms since the last success
    k = 0
    while since < n and n_kicks > 0:
        since += 1
        k = k + 1 if k + 1 < n else 0
        if not inside[k]:
            continue
        n_kicks -= 1
        gained = b[k] * b[k] / G[k, k]
        _sweep(G, b, k, -1.0, room)
        inside[k] = False
        gained += _take_greedily(G, b, inside, n_inside, k, room)
        gained += _exchange(G, b, inside, least, n_exchanges, k, room)
        gained += _exchange(G, b, inside, least, n_exchanges, -1, room)
        if gained > least:
            since = 0
            for i in range(n):
                b_kept[i] = b[i]
                kept[i] = inside[i]
                for j in range(n):
                    G_kept[i, j] = G[i, j]
        else:
            for i in range(n):
                b[i] = b_kept[i]
                inside[i] = kept[i]
                for j in range(n):
                    G[i, j] = G_kept[i, j]


@njit(nogil=True, error_model="numpy")
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
def code_rows(X, observed, W, products, S, errors, n_nonzero, is_greedy, n_exchanges, n_kicks):
    """Codes of rows with gaps, in place: S keeps the code of a row unless a better one is found.

    `products` are A x for all rows, `errors` the squared errors of S on the observed entries (infinite where S is
    worth nothing). The search starts from no atom if `is_greedy`, else from those that S uses; atoms are then taken
    greedily until there are `n_nonzero`, up to `n_exchanges` pairs exchanged, and up to `n_kicks` kicks given.
    """
    n_rows = X.shape[0]
    n, n_features = W.shape
    A = np.empty((n, n_features))
    G0 = np.empty((n, n))
    G = np.empty((n, n))
    G_kept = np.empty((n, n))
    b = np.empty(n)
    b_kept = np.empty(n)
    room = np.empty(n)
    code = np.empty(n)
    residual = np.empty(n_features)
    inside = np.empty(n, np.bool_)
    kept = np.empty(n, np.bool_)
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
                    _sweep(G, b, k, 1.0, room)
                    inside[k] = True
        _take_greedily(G, b, inside, n_nonzero, -1, room)
        _exchange(G, b, inside, _GAIN * norm, n_exchanges, -1, room)
        if n_kicks > 0:
            _kick(G, b, inside, _GAIN * norm, n_exchanges, n_kicks, G_kept, b_kept, kept, room)
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
