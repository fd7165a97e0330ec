"""Atoms that need not be orthogonal, each fitted together with its codes to the observed entries: one pass of K-SVD
(Aharon, Elad and Bruckstein, 2006) with a mask, in the form of alternating least squares for one atom.
"""

import numpy as np

from hrpursuit.compiled import kernel
from hrpursuit.core.masked import GapTable
from hrpursuit.core.protocols import Array

_TURNS = 2  # of atom and codes by least squares, for each atom of a pass; more gain nothing that the next pass does not
_DAMPING = 1e-3  # pull towards the present atom, as a share of the weight of its best observed entry
_FAINT = 1e-6  # squared norm on the observed entries below which the code of an atom is not fitted, as in coding


@kernel(nogil=True, fastmath=True, error_model="numpy")
def fit_atoms(residual, observed, W, S, first, users):  # type: ignore[no-untyped-def]
    """Fit each atom with its codes to what all others leave, in place; the squared error never rises.

    `residual` is zero where nothing was observed. The rows that use atom k are `users[first[k] : first[k + 1]]`. An
    entry of an atom moves to its least squares value, damped such that it stays where (nearly) none of these rows has
    observed it; the damping is a proximal term, which cannot raise the error either.
    """
    n, n_features = W.shape
    atom = np.empty(n_features)
    products = np.empty(n_features)
    weights = np.empty(n_features)
    for k in range(n):
        rows = users[first[k] : first[k + 1]]
        if len(rows) == 0:
            continue
        for f in range(n_features):
            atom[f] = W[k, f]
        for r in rows:  # what the others leave
            x = S[r, k]
            for f in range(n_features):
                residual[r, f] += x * atom[f] * observed[r, f]
        for _ in range(_TURNS):
            for f in range(n_features):
                products[f] = 0.0
                weights[f] = 0.0
            for r in rows:
                x = S[r, k]
                for f in range(n_features):
                    products[f] += x * residual[r, f]
                    weights[f] += x * x * observed[r, f]
            damping = _DAMPING * weights.max()
            if not damping > 0.0:
                break
            norm = 0.0
            for f in range(n_features):
                products[f] = (products[f] + damping * atom[f]) / (weights[f] + damping)
                norm += products[f] * products[f]
            if not norm > 0.0:
                break
            norm = np.sqrt(norm)
            for f in range(n_features):
                atom[f] = products[f] / norm
            for r in rows:
                product = 0.0
                power = 0.0
                for f in range(n_features):
                    product += residual[r, f] * atom[f]
                    power += atom[f] * atom[f] * observed[r, f]
                S[r, k] = product / power if power > _FAINT else S[r, k] * norm
        for f in range(n_features):
            W[k, f] = atom[f]
        for r in rows:
            x = S[r, k]
            for f in range(n_features):
                residual[r, f] -= x * atom[f] * observed[r, f]


def update_atoms(table: GapTable, S: Array, W: Array) -> None:
    """One pass over all atoms: W and S are changed in place, such that the error on the observed entries falls."""
    users = np.nonzero(S.T)
    first = np.searchsorted(users[0], np.arange(len(W) + 1))
    fit_atoms(table.residual(S, W), table.observed, W, S, first, users[1])


def replace_idle_atoms(table: GapTable, S: Array, W: Array) -> None:
    """Atoms that no row uses become, in place, what the codes leave of the rows that are represented worst."""
    idle = np.flatnonzero(~S.any(axis=0))
    if len(idle) == 0:
        return
    residual = table.residual(S, W)
    norms = np.linalg.norm(residual, axis=1)
    for k, r in zip(idle, np.argsort(-norms, kind="stable")[: len(idle)], strict=False):
        if norms[r] > 0:
            W[k] = residual[r] / norms[r]
