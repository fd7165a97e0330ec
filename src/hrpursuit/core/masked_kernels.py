"""Compiled kernel that codes rows, with gaps or without: so many atoms per row, fitted to its observed entries alone.

For one row let A be the atoms restricted to the observed entries, G = A A^T their Gram matrix and b = A x their
products with the row. Gauss-Jordan elimination of [G b] on a set of atoms, which are "swept in", leaves in b the least
squares codes of the set, and for every other atom its product with the residual; in G minus the inverse on the set, and
for every other atom, on the diagonal, the squared norm of what the set does not explain of it. So what the squared
error gains by one more atom, and loses by one less, is b[k]^2 / G[k, k], and the gain of exchanging two is as easily
had.

Of the eliminated G only its diagonal (`left`) and the rows of the set (`swept`, one per atom of the set, in the order
of `atoms`) are ever needed, and the row of an atom that is swept in follows from them and from G. A sweep of a set of t
atoms out of n thus takes 2 t n operations, where elimination of the whole takes n^2, and rows that observe the same
entries share G, which no sweep changes. An atom can be taken where `left` exceeds its `gate`.

All of it stands in one file because numba's cache on disk follows changes of the file of a kernel, not of the files
that it calls.
"""

import numpy as np
from numba import njit

from hrpursuit.compiled import kernel

_FAINT = 1e-6  # squared norm below which what is left of a unit atom counts as nothing
_CLOSED = 1e300  # gate of an atom that cannot be taken: it is in the set already, or barred
_GAIN = 1e-10  # share of the squared norm of the row: an exchange that gains less is not made
_NONE = np.int64(-1)  # no atom; numba would compile what is called with a plain -1 or 0 once more for the constant
_EXACT = 1e-26  # share of the squared norm of the row: codes with a smaller squared error are not searched again


@njit(nogil=True, fastmath=True, error_model="numpy")
def _sweep_in(G, b, left, swept, atoms, n_inside, k, row):
    """Gauss-Jordan step on atom k, which becomes the last of the set. `row` is room for the row of k."""
    n = G.shape[0]
    for j in range(n):
        row[j] = G[k, j]
    for s in range(n_inside):
        f = G[k, atoms[s]]
        for j in range(n):
            row[j] -= f * swept[s, j]
    for s in range(n_inside):
        row[atoms[s]] = swept[s, k]
    pivot = 1.0 / row[k]
    product = b[k] * pivot
    for j in range(n):
        b[j] -= row[j] * product
        left[j] -= row[j] * row[j] * pivot
    for s in range(n_inside):
        f = row[atoms[s]] * pivot
        for j in range(n):
            swept[s, j] -= f * row[j]
        swept[s, k] = f
    for j in range(n):
        swept[n_inside, j] = pivot * row[j]
    swept[n_inside, k] = -pivot
    atoms[n_inside] = k
    b[k] = product


@njit(nogil=True, fastmath=True, error_model="numpy")
def _sweep_out(b, left, swept, atoms, n_inside, k, row):
    """Undo the step on atom k; the last atom of the set takes its place."""
    n = len(b)
    slot = 0
    while atoms[slot] != k:
        slot += 1
    last = n_inside - 1
    for j in range(n):
        row[j] = swept[slot, j]
        swept[slot, j] = swept[last, j]
    atoms[slot] = atoms[last]
    pivot = 1.0 / row[k]
    product = b[k] * pivot
    for j in range(n):
        b[j] -= row[j] * product
        left[j] -= row[j] * row[j] * pivot
    for s in range(last):
        f = row[atoms[s]] * pivot
        for j in range(n):
            swept[s, j] -= f * row[j]
        swept[s, k] = -f
    b[k] = -product
    left[k] = -pivot


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
def _take_greedily(G, b, left, gate, swept, atoms, n_inside, n_nonzero, room):
    """Orthogonal least squares: sweep in the atom that lowers the error most, until there are `n_nonzero`. Returns how
    many atoms there are, and the sum of what was gained.
    """
    gained = 0.0
    while n_inside < n_nonzero:
        best = _NONE
        most = 0.0
        for k in range(len(b)):
            if left[k] > gate[k] and b[k] * b[k] > most * left[k]:
                best = k
                most = b[k] * b[k] / left[k]
        if best < 0:
            break
        _sweep_in(G, b, left, swept, atoms, n_inside, best, room)
        gate[best] = _CLOSED
        n_inside += 1
        gained += most
    return n_inside, gained


@njit(nogil=True, fastmath=True, error_model="numpy")
def _gains_of_exchange(b, left, gate, row, i, gains):
    """Raise `gains`, for each atom outside, to what its exchange for atom i of the set, whose row this is, gains."""
    inverse = 1.0 / row[i]
    loss = b[i] * b[i] * inverse  # negative
    f = b[i] * inverse
    for j in range(len(b)):  # no reduction, or it would not run in vector instructions
        remains = left[j] - row[j] * row[j] * inverse
        product = b[j] - row[j] * f
        gain = product * product / remains + loss if remains > gate[j] else 0.0
        gains[j] = max(gains[j], gain)


@njit(nogil=True, error_model="numpy")
def _exchange(G, b, left, gate, swept, atoms, n_inside, least, n_exchanges, room):
    """Exchange the pair of atoms, one in and one out, that lowers the error most, while it falls by `least`. Returns
    the sum of what was gained.
    """
    gained = 0.0
    for _ in range(n_exchanges):
        room[:] = 0.0
        for s in range(n_inside):
            _gains_of_exchange(b, left, gate, swept[s], atoms[s], room)
        new = np.argmax(room)
        gain = room[new]
        if not gain > least:
            break
        old = _NONE
        fewest = np.inf  # lost by taking out one atom of the set for the new one
        for s in range(n_inside):
            inverse = 1.0 / swept[s, atoms[s]]
            remains = left[new] - swept[s, new] * swept[s, new] * inverse
            product = b[new] - swept[s, new] * b[atoms[s]] * inverse
            loss = -product * product / remains - b[atoms[s]] * b[atoms[s]] * inverse
            if remains > _FAINT and loss < fewest:
                fewest = loss
                old = atoms[s]
        if old < 0:  # the new atom is faint by the last bit
            break
        _sweep_out(b, left, swept, atoms, n_inside, old, room)
        _sweep_in(G, b, left, swept, atoms, n_inside - 1, new, room)
        gate[old] = _FAINT
        gate[new] = _CLOSED
        gained += gain
    return gained


@njit(nogil=True, error_model="numpy")
def _copy(n_inside, b, left, gate, swept, atoms, b_to, left_to, gate_to, swept_to, atoms_to):
    """The set and all that was eliminated on it."""
    for j in range(len(b)):
        b_to[j] = b[j]
        left_to[j] = left[j]
        gate_to[j] = gate[j]
    for s in range(n_inside):
        atoms_to[s] = atoms[s]
        for j in range(len(b)):
            swept_to[s, j] = swept[s, j]


@njit(nogil=True, error_model="numpy")
def _kick(
    G, b, left, gate, swept, atoms, n_inside, least, n_exchanges, n_kicks, k,
    b_kept, left_kept, gate_kept, swept_kept, atoms_kept, room,
):  # fmt: skip
    """Out of a local optimum: bar each atom in turn, from the one after k on, exchange others until that gains no more,
    and again without the bar; go on from there where the error has fallen by `least` in all. Returns how many atoms
    there are.
    """
    n = len(b)
    _copy(n_inside, b, left, gate, swept, atoms, b_kept, left_kept, gate_kept, swept_kept, atoms_kept)
    since = 0  # atoms since the last success
    while since < n and n_kicks > 0:
        since += 1
        k = k + 1 if k + 1 < n else 0
        if gate[k] < _CLOSED:
            continue
        n_kicks -= 1
        _sweep_out(b, left, swept, atoms, n_inside, k, room)  # the gate stays closed: barred
        gained = -b[k] * b[k] / left[k]
        n_now, more = _take_greedily(G, b, left, gate, swept, atoms, n_inside - 1, n_inside, room)
        gained += more
        gained += _exchange(G, b, left, gate, swept, atoms, n_now, least, n_exchanges, room)
        gate[k] = _FAINT
        gained += _exchange(G, b, left, gate, swept, atoms, n_now, least, n_exchanges, room)
        if gained > least:
            since = 0
            n_inside = n_now
            _copy(n_inside, b, left, gate, swept, atoms, b_kept, left_kept, gate_kept, swept_kept, atoms_kept)
        else:
            _copy(n_inside, b_kept, left_kept, gate_kept, swept_kept, atoms_kept, b, left, gate, swept, atoms)
    return n_inside


@njit(nogil=True, error_model="numpy")
def _residual(x, observed, W, code, atoms, n_inside, residual):
    """What the code leaves of the observed entries (zero elsewhere), and its squared norm."""
    n_features = W.shape[1]
    for f in range(n_features):
        residual[f] = x[f] if observed[f] else 0.0
    for s in range(n_inside):
        for f in range(n_features):
            residual[f] -= code[s] * W[atoms[s], f]
    total = 0.0
    for f in range(n_features):
        if observed[f]:
            total += residual[f] * residual[f]
        else:
            residual[f] = 0.0
    return total


@njit(nogil=True, error_model="numpy")
def _fit_codes(x, observed, W, b, swept, atoms, n_inside, code, products, residual):
    """Codes of the set in the order of `atoms`, with one step of refinement, since the elimination has lost some digits
    on its way. Returns their squared error on the observed entries.
    """
    for s in range(n_inside):
        code[s] = b[atoms[s]]
    _residual(x, observed, W, code, atoms, n_inside, residual)
    for s in range(n_inside):
        total = 0.0
        for f in range(len(residual)):
            total += W[atoms[s], f] * residual[f]
        products[s] = total
    for s in range(n_inside):
        for other in range(n_inside):
            code[s] -= swept[s, atoms[other]] * products[other]
    return _residual(x, observed, W, code, atoms, n_inside, residual)


@kernel(nogil=True, error_model="numpy")
def code_rows(X, observed, W, products, S, errors, n_nonzero, is_greedy, n_exchanges, n_kicks, first_kick):
    """Codes of rows by their observed entries, in place: S keeps the code of a row unless a better one is found.

    `products` are A x for all rows, `errors` the squared errors of S on the observed entries (infinite where S is
    worth nothing). The search starts from no atom if `is_greedy`, else from those that S uses; atoms are then taken
    greedily until there are `n_nonzero`, up to `n_exchanges` pairs exchanged, and up to `n_kicks` kicks given, of which
    the first bars an atom from `first_kick` plus the number of the row on.
    """
    n_rows = X.shape[0]
    n, n_features = W.shape
    most = min(n, n_nonzero)
    A = np.empty((n, n_features))
    G = np.empty((n, n))
    swept = np.empty((most, n))
    swept_kept = np.empty((most, n))
    b = np.empty(n)
    b_kept = np.empty(n)
    left = np.empty(n)
    left_kept = np.empty(n)
    room = np.empty(n)
    code = np.empty(most)
    residual = np.empty(n_features)
    gate = np.empty(n)
    gate_kept = np.empty(n)
    atoms = np.empty(most, np.int64)
    atoms_kept = np.empty(most, np.int64)
    for r in range(n_rows):
        same = r > 0
        f = 0
        while same and f < n_features:
            same = observed[r, f] == observed[r - 1, f]
            f += 1
        if not same:
            _gram_of_observed(W, observed[r], A, G)
        norm = 0.0
        for f in range(n_features):
            if observed[r, f]:
                norm += X[r, f] * X[r, f]
        if errors[r] <= _EXACT * norm:
            continue
        n_inside = np.int64(0)
        for i in range(n):
            b[i] = products[r, i]
            left[i] = G[i, i]
            gate[i] = _FAINT
        if not is_greedy:
            for k in range(n):
                if S[r, k] != 0.0 and left[k] > _FAINT and n_inside < most:
                    _sweep_in(G, b, left, swept, atoms, n_inside, k, room)
                    gate[k] = _CLOSED
                    n_inside += 1
        n_inside, _ = _take_greedily(G, b, left, gate, swept, atoms, n_inside, most, room)
        _exchange(G, b, left, gate, swept, atoms, n_inside, _GAIN * norm, n_exchanges, room)
        if n_kicks > 0:
            n_inside = _kick(
                G, b, left, gate, swept, atoms, n_inside, _GAIN * norm, n_exchanges, n_kicks, (first_kick + r) % n,
                b_kept, left_kept, gate_kept, swept_kept, atoms_kept, room,
            )  # fmt: skip
        error = _fit_codes(X[r], observed[r], W, b, swept, atoms, n_inside, code, room, residual)
        if error < errors[r]:
            errors[r] = error
            for k in range(n):
                S[r, k] = 0.0
            for s in range(n_inside):
                S[r, atoms[s]] = code[s]
