"""What the baselines share that may have any number of atoms: where they start, how they code and are put in order."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from hrpursuit.baselines.base import Baseline
from hrpursuit.baselines.omp import omp_block
from hrpursuit.core.atom_order import signs
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array
from hrpursuit.estimators.base import Coder


def start_from(dict_init: ArrayLike, n_atoms: int, n_features: int) -> Array:
    """The atoms that were given, in double and of unit norm."""
    W = check_array(dict_init, dtype=np.float64, input_name="dict_init")
    if W.shape != (n_atoms, n_features):
        raise ValueError(
            f"dict_init must have shape ({n_atoms}, {n_features}) for {n_atoms} atoms and X with {n_features} "
            f"features; got {W.shape}."
        )
    if not np.any(W != 0, axis=1).all():
        raise ValueError(f"the atoms of dict_init must not be zero; row {int(np.argmin(np.any(W != 0, axis=1)))} is.")
    return normalize_rows(W)


def start_from_samples(X: Array, n_atoms: int, rng: np.random.Generator) -> Array:
    """As many samples that are not zero, drawn without repetition, as atoms; of unit norm."""
    candidates = np.flatnonzero(np.any(X != 0, axis=1))
    if len(candidates) < n_atoms:
        raise ValueError(
            f"n_components must be at most {len(candidates)}, the number of samples that are not zero, as the atoms "
            f"start from samples; got {n_atoms}. Give more samples, fewer atoms, or dict_init."
        )
    return normalize_rows(X[rng.choice(candidates, n_atoms, replace=False)].astype(np.float64))


class OvercompleteBaseline(Baseline):
    """A baseline with `n_components` atoms that codes by orthogonal matching pursuit."""

    n_components: int | None
    dict_init: ArrayLike | None
    error_tol: ClassVar[float | None] = None  # those that have the parameter set it

    def _start(self, X: Array, rng: np.random.Generator) -> Array:
        n_features = X.shape[1]
        n_atoms = n_features if self.n_components is None else self.n_components
        if self.dict_init is not None:
            return start_from(self.dict_init, n_atoms, n_features)
        return start_from_samples(X, n_atoms, rng)

    def _n_nonzero(self, n_features: int) -> int | None:
        """Codes a sample; None where only the error says when to stop."""
        return self.n_nonzero_coefs

    def _coder(self, dtype: np.dtype) -> tuple[Coder, tuple[Any, ...]]:
        W = self.components_.astype(np.float64)
        return omp_block, (W, W @ W.T, self._n_nonzero(W.shape[1]), self.error_tol)

    def _set_dictionary(self, W: Array, magnitude: Array, dtype: np.dtype) -> None:
        """Atoms by the magnitude of their codes, largest first, with the signs of every estimator."""
        W = W[np.argsort(-magnitude, kind="stable")]
        self.components_ = (W * signs(W)[:, None]).astype(dtype, copy=False)
