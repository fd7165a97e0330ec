"""Functions that need no estimator: codes in a given dictionary, and a single atom."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from hrpursuit.core.atom_order import signs
from hrpursuit.core.masked import gap_codes_block
from hrpursuit.core.protocols import Array
from hrpursuit.core.rounding import zero_levels
from hrpursuit.core.sphere import polish_atom, random_on_sphere, two_stages_on_sphere
from hrpursuit.estimators.checks import check_enough_samples, check_n_nonzero, check_scale, check_table
from hrpursuit.rows import ArrayRows, gather
from hrpursuit.schemes.free import free_encoder
from hrpursuit.validation import Interval, validate_params

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
        Samples, one per row. NaN is a missing value, as are masked, null and NA entries.
    components : array-like of shape (n_features, n_features)
        The dictionary, one atom per row: an invertible matrix, or any square matrix if `n_nonzero_coefs` is given.
    n_nonzero_coefs : int or None, default=None
        Maximum number of nonzero codes per sample. If the atoms are orthonormal and the sample has no gaps, the largest
        codes are kept. Otherwise codes are fitted by least squares to the observed entries of the sample: atoms are
        chosen greedily by orthogonal least squares (for a sample without gaps also as those with the largest codes of
        the (pseudo-)inverse) and exchanged as long as the error falls; the best codes found are kept. None keeps all
        codes and fills each gap with the mean of the observed entries of its row.
    threshold : float or None, default=None
        Codes of smaller magnitude are set to zero. None keeps them.

    Returns
    -------
    codes : array of shape (n_samples, n_features)
        Codes such that X is approximately codes @ components.
    """
    X = check_table(X, gaps=True)
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
    encoder = W.T if orthonormal else free_encoder(W) if n_nonzero_coefs is not None else np.linalg.inv(W)
    refit = None if orthonormal else W.astype(X.dtype)
    blocks = ArrayRows(X).map(gap_codes_block, encoder.astype(X.dtype), W, n_nonzero_coefs, threshold, refit)
    return gather(blocks, len(X), n, X.dtype)


@dataclass(frozen=True, eq=False)
class RecoveredAtom:
    """One atom of a dictionary, as found by `recover_atom`.

    Attributes
    ----------
    atom : array of shape (n_features,)
        The atom, of unit norm; its entry of largest magnitude is positive.
    n_agreed : int
        Number of starts that ended at this atom.
    n_init : int
        Number of starts.
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
    """Recover one atom of an orthogonal dictionary from random starts on the unit sphere.

    Both stages of HRP run on the sphere from all starts at once. Of the unit vectors that they reach, the one whose
    codes have the lowest mean magnitude is returned; if its codes have exact zeros, it is polished to machine
    precision.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, one per row, without gaps.
    n_init : int, default=20
        Number of random starts. A few are enough, since at least half of all starts lie in a good subset, from which an
        atom is reached (Section IV of the paper).
    random_state : int, RandomState instance or None, default=None
        Determines the starts.

    Returns
    -------
    recovered : RecoveredAtom
        The atom, and how many starts ended at it. The others may have found other atoms.
    """
    X = check_table(X)
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
