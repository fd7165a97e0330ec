"""Functions for those who need no estimator: codes for a dictionary, and one atom."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, validate_params
from sklearn.utils.validation import check_array

from hrpursuit.core.atom_order import signs
from hrpursuit.core.masked import gap_codes_block, has_gaps
from hrpursuit.core.protocols import Array
from hrpursuit.core.rounding import zero_levels
from hrpursuit.core.sphere import polish_atom, random_on_sphere, two_stages_on_sphere
from hrpursuit.estimators.checks import check_enough_samples, check_n_nonzero, check_scale
from hrpursuit.estimators.compilation import compile_gap_kernels
from hrpursuit.rows import ArrayRows, gather
from hrpursuit.schemes.free import free_encoder

_SAME_ATOM = 0.99  # absolute cosine


@validate_params(
    {
        "X": ["array-like"],
        "components": ["array-like"],
        "n_nonzero_coefs": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, None, closed="left"), None],
    },
    prefer_skip_nested_validation=True,
)
def sparse_code(
    X: ArrayLike, components: ArrayLike, n_nonzero_coefs: int | None = None, threshold: float | None = None
) -> np.ndarray:
    """Sparse codes of samples in a given square dictionary.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        NaN is a missing entry.
    components : array-like of shape (n_features, n_features)
        One atom per row: orthonormal, or any invertible matrix; with `n_nonzero_coefs` any matrix.
    n_nonzero_coefs : int or None, default=None
        Nonzero codes per row, at the most. Of orthonormal atoms and a row without gaps the largest codes are kept.
        Otherwise codes are fitted by least squares to the observed entries of the row: atoms are taken greedily by
        orthogonal least squares, or start as those of the largest codes of the (pseudo-)inverse, and are exchanged
        while the error falls. With None gaps are filled with the mean of the observed entries of their row.
    threshold : float or None, default=None
        Set codes of smaller magnitude to zero.

    Returns
    -------
    codes : array of shape (n_samples, n_features)
        X is about codes @ components.
    """
    X = check_array(X, dtype=[np.float64, np.float32], input_name="X", ensure_all_finite="allow-nan")
    W = check_array(components, dtype=np.float64, input_name="components")
    n = X.shape[1]
    if W.shape != (n, n):
        raise ValueError(f"components must have shape ({n}, {n}) to match X with {n} features; got {W.shape}.")
    check_n_nonzero(n_nonzero_coefs, n)
    orthonormal = np.abs(W @ W.T - np.eye(n)).max() < 1e-5
    if n_nonzero_coefs is None and not orthonormal and np.linalg.matrix_rank(W) < n:
        raise ValueError(
            f"components must be invertible; got a matrix of rank {np.linalg.matrix_rank(W)} for {n} features. "
            "Give n_nonzero_coefs, which allows it."
        )
    if n_nonzero_coefs is not None and (has_gaps(X) or not orthonormal):
        compile_gap_kernels()
    encoder = W.T if orthonormal else free_encoder(W) if n_nonzero_coefs is not None else np.linalg.inv(W)
    refit = None if orthonormal else W.astype(X.dtype)
    blocks = ArrayRows(X).map(gap_codes_block, encoder.astype(X.dtype), W, n_nonzero_coefs, threshold, refit)
    return gather(blocks, len(X), n, X.dtype)


@dataclass(frozen=True)
class RecoveredAtom:
    """One atom of a dictionary.

    Attributes
    ----------
    atom : array of shape (n_features,)
        Of unit norm; its largest entry is positive.
    n_agreed : int
        Restarts that ended at this atom.
    n_init : int
        Restarts in all.
    objective : float
        Mean magnitude of the codes of the atom.
    """

    atom: Array
    n_agreed: int
    n_init: int
    objective: float


@validate_params(
    {"X": ["array-like"], "n_init": [Interval(Integral, 1, None, closed="left")], "random_state": ["random_state"]},
    prefer_skip_nested_validation=True,
)
def recover_atom(
    X: ArrayLike, *, n_init: int = 20, random_state: int | np.random.RandomState | None = None
) -> RecoveredAtom:
    """Recover one atom of an orthogonal dictionary over the sphere, from random starts.

    Both stages of HRP run on the sphere from all starts at once; the end with the least mean magnitude of its codes is
    polished exactly, where it has exact zeros, and returned.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_init : int, default=20
        Random starts. At least half of all starts lie in a good subset (Section IV of the paper), so a few are enough.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    recovered : RecoveredAtom
        The atom, and how many restarts agreed on it. Other restarts may have found other atoms.
    """
    X = check_array(X, dtype=[np.float64, np.float32], input_name="X", ensure_min_samples=2)
    check_enough_samples(len(X), X.shape[1], "recover_atom")
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    if not X.any():
        raise ValueError("X has no entry other than zero; there is no atom to recover.")
    check_scale(X)
    rms = float(np.sqrt(np.mean(np.square(X, dtype=np.float64))))
    starts = random_on_sphere(n_init, X.shape[1], np.random.default_rng(seed))
    ends = two_stages_on_sphere(ArrayRows(X), starts, step_size=0.1 / rms)
    magnitudes = np.abs(X @ ends.T.astype(X.dtype)).mean(axis=0, dtype=np.float64)
    best = ends[int(np.argmin(magnitudes))]
    atom = polish_atom(np.asarray(X, dtype=np.float64), best, zero_levels(X)[-1].floor)
    atom = atom / np.linalg.norm(atom)
    atom = atom * signs(atom[None])[0]
    n_agreed = int(np.sum(np.abs(ends @ best) > _SAME_ATOM))
    return RecoveredAtom(atom.astype(X.dtype), n_agreed, int(n_init), float(np.abs(X @ atom).mean()))
