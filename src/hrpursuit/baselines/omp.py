"""Orthogonal matching pursuit for many samples and one dictionary: Batch-OMP, compiled.

Only products with the atoms are needed once the Gram matrix of the atoms is known. The Cholesky factor of the Gram
matrix of the chosen atoms grows by a row a step. It is kept as the products of all atoms with an orthonormal basis of
the chosen ones: its rows are then entries of what the residual's products need anyway, and no step solves a system.
"""

import numpy as np

from hrpursuit.compiled import kernel
from hrpursuit.core.protocols import Array

#: Squared share of an atom outside the span of the chosen ones, from which on it counts as new.
_DEPENDENT = 1e-12
#: Squared product with an atom, relative to the sample, that is rounding.
_ROUNDING = 1e-28
#: All bits of a double but that of its sign.
_MAGNITUDE = 0x7FFFFFFFFFFFFFFF
#: Bytes of the products of a block of samples, so that they stay in cache.
_BLOCK_BYTES = 1 << 18


@kernel(nogil=True, error_model="numpy", fastmath={"contract"})
def _pursue(products, bits, gram, energy, limit, index, value, count):
    """For each row of products (sample times atom) the atoms chosen, their codes, and how many they are. On return
    `products` are those of the residuals before the last step, and `energy` the squared norms that are left.

    `bits` are the products seen as integers: without their sign bit they are in the order of the magnitudes, and the
    largest of integers is found in vector instructions, that of floats is not.
    """
    n_samples, n_atoms = products.shape
    most = index.shape[1]
    basis = np.empty((most, n_atoms))  # all atoms times the orthonormal basis of the chosen ones
    fresh = np.empty(n_atoms)
    root = np.empty(most)  # diagonal of the Cholesky factor
    along = np.empty(most)  # the sample times the basis
    for i in range(n_samples):
        noise, left = _ROUNDING * energy[i], energy[i]
        k = 0
        while k < most and left > limit:
            largest = np.int64(0)
            for a in range(n_atoms):
                largest = max(largest, bits[i, a] & _MAGNITUDE)
            atom = 0
            while bits[i, atom] & _MAGNITUDE < largest:
                atom += 1
            product = products[i, atom]
            if product * product <= noise:
                break
            pivot = gram[atom, atom]
            for j in range(k):
                pivot -= basis[j, atom] * basis[j, atom]
            if pivot <= _DEPENDENT:
                break
            root[k] = np.sqrt(pivot)
            along[k] = product / root[k]
            left = max(0.0, left - along[k] * along[k])
            index[i, k] = atom
            k += 1
            if k == most or left <= limit:
                break
            for a in range(n_atoms):
                fresh[a] = gram[atom, a]
            is_odd = (k - 1) % 2
            for j in range(is_odd):
                weight = basis[j, atom]
                for a in range(n_atoms):
                    fresh[a] -= weight * basis[j, a]
            for j in range(is_odd, k - 1, 2):  # by twos, as loads and stores of `fresh` are what takes time
                weight, another = basis[j, atom], basis[j + 1, atom]
                for a in range(n_atoms):
                    fresh[a] -= weight * basis[j, a] + another * basis[j + 1, a]
            scale = 1 / root[k - 1]
            for a in range(n_atoms):
                basis[k - 1, a] = scale * fresh[a]
            step = along[k - 1] * scale
            for a in range(n_atoms):
                products[i, a] -= step * fresh[a]
        energy[i], count[i] = left, k
        for j in range(k - 1, -1, -1):  # back substitution: the factor's rows are columns of the basis
            rest = along[j]
            for m in range(j + 1, k):
                rest -= basis[j, index[i, m]] * value[i, m]
            value[i, j] = rest / root[j]


@kernel(nogil=True)
def _spread(index, value, count, codes):
    for i in range(len(count)):
        for k in range(count[i]):
            codes[i, index[i, k]] = value[i, k]


def block_rows(n_atoms: int) -> int:
    """Samples whose products with the atoms stay in cache."""
    return max(16, _BLOCK_BYTES // (8 * n_atoms))


def most_nonzeros(n_nonzero: int | None, components: Array) -> int:
    """Codes that a sample can have: no more than asked for, and no more than independent atoms."""
    most = min(components.shape)
    return most if n_nonzero is None else min(n_nonzero, most)


def pursue_into(
    X: Array, components: Array, gram: Array, error_tol: float | None, index: Array, value: Array, count: Array
) -> Array:
    """Batch-OMP of the samples X, in the order of choice into `index` and `value`, with `count` entries a sample; the
    squared norms of the residuals come back. Computed in double, `components` and `gram` too.
    """
    X = np.asarray(X, dtype=np.float64)
    energy = np.einsum("ij,ij->i", X, X)
    limit = -1.0 if error_tol is None else float(error_tol) * float(error_tol)  # of its power Python makes an error
    products = X @ components.T
    _pursue(products, products.view(np.int64), gram, energy, limit, index, value, count)
    return energy


def omp_block(X: Array, components: Array, gram: Array, n_nonzero: int | None, error_tol: float | None) -> Array:
    """Codes of a block of samples, in its type: at most `n_nonzero` a sample, fewer where the norm of the residual has
    come down to `error_tol`.
    """
    most = most_nonzeros(n_nonzero, components)
    codes = np.zeros((len(X), len(components)), X.dtype)
    index = np.empty((len(X), most), np.int32)
    value, count = np.empty((len(X), most)), np.empty(len(X), np.int32)
    pursue_into(X, components, gram, error_tol, index, value, count)
    _spread(index, value, count, codes)
    return codes
