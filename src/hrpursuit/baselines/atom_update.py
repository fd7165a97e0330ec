"""The dictionary's half of K-SVD: sparse codes as arrays, sweeps over the atoms, and atoms that are replaced."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.baselines.omp import block_rows, most_nonzeros, pursue_into
from hrpursuit.compiled import kernel
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array

#: Two atoms whose cosine exceeds this are the same.
_SAME = 0.99
#: Samples that an atom needs to be kept.
_FEWEST_USERS = 4


@kernel(nogil=True, fastmath={"contract"})
def _add_products(X, index, value, count, products):
    """Add codes.T @ X."""
    for i in range(len(X)):
        for k in range(count[i]):
            atom, code = index[i, k], value[i, k]
            for f in range(X.shape[1]):
                products[atom, f] += code * X[i, f]


@kernel(nogil=True)
def _users(index, count, n_atoms):
    """For each atom where its codes stand, in order: those of atom j are where[start[j] : start[j + 1]]."""
    n_samples, most = index.shape
    start = np.zeros(n_atoms + 1, np.int64)
    for i in range(n_samples):
        for k in range(count[i]):
            start[index[i, k] + 1] += 1
    for j in range(n_atoms):
        start[j + 1] += start[j]
    where = np.empty(start[n_atoms], np.int64)
    filled = np.empty(n_atoms, np.int64)
    for j in range(n_atoms):
        filled[j] = start[j]
    for i in range(n_samples):
        for k in range(count[i]):
            where[filled[index[i, k]]] = i * most + k
            filled[index[i, k]] += 1
    return start, where


@kernel(nogil=True, error_model="numpy", fastmath=True)
def _sweep(X, W, order, start, where, index, value, flat, count, products):
    """Update each atom and its codes once, in this order: the atom by one power step on the residuals R of its users,
    d = normalised g^T R with their codes g, then the codes R d.

    R is never formed: g^T R = (codes^T X)_j - sum over the other atoms k of (codes^T codes)_jk W_k. The first product
    still holds when its turn comes, as only an atom's own sweep changes its codes. `flat` is `value` as one row.
    """
    n_atoms, n_features = W.shape
    most = index.shape[1]
    shared, overlap = np.empty(n_atoms), np.empty(n_atoms)
    atom = np.empty(n_features)
    for turn in range(n_atoms):
        j = order[turn]
        if start[j] == start[j + 1]:
            continue
        for k in range(n_atoms):  # loops throughout: assignments to slices take seconds to compile
            shared[k] = 0
        for user in range(start[j], start[j + 1]):
            u = where[user]
            i = u // most
            code = flat[u]
            for k in range(count[i]):
                shared[index[i, k]] += code * value[i, k]
        for f in range(n_features):
            atom[f] = products[j, f]
        for k in range(n_atoms):
            if k != j and shared[k] != 0:
                for f in range(n_features):
                    atom[f] -= shared[k] * W[k, f]
        norm = 0.0
        for f in range(n_features):
            norm += atom[f] * atom[f]
        if norm == 0:
            continue
        norm = np.sqrt(norm)
        for f in range(n_features):
            atom[f] /= norm
            W[j, f] = atom[f]
        for k in range(n_atoms):
            cosine = 0.0
            for f in range(n_features):
                cosine += W[k, f] * atom[f]
            overlap[k] = cosine
        overlap[j] = 0
        for user in range(start[j], start[j + 1]):
            u = where[user]
            i = u // most
            code = 0.0
            for f in range(n_features):
                code += X[i, f] * atom[f]
            for k in range(count[i]):
                code -= value[i, k] * overlap[index[i, k]]
            flat[u] = code


@dataclass(frozen=True)
class SparseCodes:
    """The codes of all samples: `count[i]` of sample i, at the atoms `index[i]`, and the squared norm of what they
    leave of it.
    """

    index: Array
    value: Array
    count: Array
    left: Array

    @classmethod
    def room(cls, n_samples: int, most: int) -> "SparseCodes":
        return cls(
            np.empty((n_samples, most), np.int32),
            np.empty((n_samples, most)),
            np.empty(n_samples, np.int32),
            np.empty(n_samples),
        )


def code_all(X: Array, W: Array, error_tol: float | None, codes: SparseCodes) -> Array:
    """Batch-OMP of all samples into `codes`; codes^T X comes back, from the same pass."""
    products, gram, step = np.zeros_like(W), W @ W.T, block_rows(len(W))
    for first in range(0, len(X), step):
        part = slice(first, first + step)
        index, value, count = codes.index[part], codes.value[part], codes.count[part]
        codes.left[part] = pursue_into(X[part], W, gram, error_tol, index, value, count)
        _add_products(X[part], index, value, count, products)
    return products


def magnitudes(codes: SparseCodes, n_atoms: int) -> Array:
    """Sum of the magnitudes of each atom's codes."""
    used = np.arange(codes.index.shape[1]) < codes.count[:, None]
    return np.bincount(codes.index[used], np.abs(codes.value[used]), n_atoms)


def update_atoms(X: Array, W: Array, codes: SparseCodes, products: Array, order: Array) -> Array:
    """Sweep over the atoms in this order, changing them and the codes in place; the users of each come back."""
    start, where = _users(codes.index, codes.count, len(W))
    _sweep(X, W, order, start, where, codes.index, codes.value, codes.value.ravel(), codes.count, products)
    return np.diff(start)


def replace_atoms(X: Array, W: Array, n_users: Array, left: Array) -> int:
    """Put the worst represented samples, each once, in the place of atoms that hardly any sample uses, and of all but
    one of those that are the same, as KSVD-Box does; in place. How many comes back.
    """
    fewest = _FEWEST_USERS if len(X) >= _FEWEST_USERS * len(W) else 1
    replaced, left = 0, left.copy()
    gram = np.abs(W @ W.T)
    np.fill_diagonal(gram, 0)
    for j in np.flatnonzero((n_users < fewest) | (gram.max(axis=1) > _SAME)):
        if n_users[j] >= fewest and np.abs(np.delete(W, j, axis=0) @ W[j]).max(initial=0) <= _SAME:
            continue  # its double has been replaced by now
        worst = int(np.argmax(left))
        if left[worst] <= 0:
            break
        W[j] = normalize_rows(np.asarray(X[worst], dtype=np.float64)[None])[0]
        left[worst] = 0
        replaced += 1
    return replaced


def room_for(X: Array, W: Array, n_nonzero: int | None) -> SparseCodes:
    """Room for the codes of X by W."""
    return SparseCodes.room(len(X), most_nonzeros(n_nonzero, W))
