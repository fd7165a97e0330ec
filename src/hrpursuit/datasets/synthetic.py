"""Sparse data with a known dictionary."""

from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.validation import Interval, StrOptions, validate_params


def _complete(n: int, condition: float, rng: np.random.RandomState) -> np.ndarray:
    """Unit rows; singular values spread geometrically, found so that the condition holds after the rows are scaled."""
    U, V = random_orthogonal(n, rng), random_orthogonal(n, rng)
    spread = condition
    for _ in range(50):
        A = normalize_rows((U * np.geomspace(1, 1 / spread, n)) @ V)
        reached = np.linalg.cond(A)
        if abs(reached / condition - 1) < 1e-10:
            break
        spread = max(1.0, spread * condition / reached)
    return A


def _checked(components: ArrayLike, n_features: int) -> np.ndarray:
    W = check_array(components, dtype=np.float64, input_name="components", copy=True)
    if W.shape != (n_features, n_features) or np.linalg.matrix_rank(W) < n_features:
        raise ValueError(
            f"components must be an invertible matrix of shape ({n_features}, {n_features}); got shape {W.shape} "
            f"and rank {np.linalg.matrix_rank(W)}."
        )
    return W


@validate_params(
    {
        "n_samples": [Interval(Integral, 1, None, closed="left")],
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "sparsity": [Interval(Real, 0, 1, closed="right")],
        "components": ["array-like", None],
        "dictionary": [StrOptions({"orthogonal", "complete"})],
        "condition": [Interval(Real, 1, None, closed="left"), None],
        "snr_db": [Real, None],
        "outliers": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def make_sparse_coded(
    n_samples: int,
    n_features: int,
    *,
    sparsity: float,
    components: ArrayLike | None = None,
    dictionary: Literal["orthogonal", "complete"] = "orthogonal",
    condition: float | None = None,
    snr_db: float | None = None,
    outliers: float = 0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make samples X = codes @ components with Bernoulli-Gaussian codes, the model of the paper.

    Parameters
    ----------
    n_samples, n_features : int
        Number of samples, and of features and atoms.
    sparsity : float in (0, 1]
        Probability that a code is nonzero. Nonzero codes are standard Gaussian.
    components : array-like of shape (n_features, n_features) or None, default=None
        The dictionary, one atom per row, an invertible matrix. None draws one at random.
    dictionary : {"orthogonal", "complete"}, default="orthogonal"
        Kind of the dictionary that is drawn: uniform on the orthogonal group, or an invertible matrix with rows of unit
        norm.
    condition : float or None, default=None
        Condition number of a complete dictionary. None means 2.
    snr_db : float or None, default=None
        Signal-to-noise ratio of the Gaussian noise that is added to X, in decibels: 10 log10 of the ratio of mean
        squares. None adds no noise.
    outliers : float in [0, 1), default=0
        Share of the samples that are replaced by dense Gaussian vectors with three times the root mean square of X.
        Their codes are not sparse.
    random_state : int, RandomState instance or None, default=None
        Determines the dictionary, the codes, the outliers and the noise.

    Returns
    -------
    X : array of shape (n_samples, n_features)
        The samples, one per row.
    codes : array of shape (n_samples, n_features)
        The codes; `X - codes @ components` is the noise.
    components : array of shape (n_features, n_features)
        The dictionary, one atom per row.

    Examples
    --------
    >>> from hrpursuit.datasets import make_sparse_coded
    >>> X, codes, components = make_sparse_coded(100, 20, sparsity=0.2, random_state=0)
    >>> bool(abs(X - codes @ components).max() < 1e-12)
    True

    More samples of the same dictionary:

    >>> more = make_sparse_coded(100, 20, sparsity=0.2, components=components, random_state=1)[0]
    """
    if components is not None and (dictionary != "orthogonal" or condition is not None):
        raise ValueError("components are given: leave out dictionary and condition, which say how to draw some.")
    if condition is not None and dictionary == "orthogonal" and condition != 1:
        raise ValueError(
            f'an orthogonal dictionary has condition 1; got condition={condition}. Use dictionary="complete".'
        )
    if condition is not None and condition != 1 and n_features == 1:
        raise ValueError(f"a dictionary of one atom has condition 1; got condition={condition}.")
    rng = check_random_state(random_state)
    if components is not None:
        components = _checked(components, n_features)
    elif dictionary == "orthogonal":
        components = random_orthogonal(n_features, rng)
    else:
        components = _complete(n_features, 2.0 if condition is None else float(condition), rng)
    codes = rng.standard_normal((n_samples, n_features)) * (rng.random_sample((n_samples, n_features)) < sparsity)
    X = codes @ components
    rms = float(np.sqrt(np.mean(X**2)))
    if outliers:
        chosen = rng.permutation(n_samples)[: round(outliers * n_samples)]
        X[chosen] = 3 * rms * rng.standard_normal((len(chosen), n_features))
        codes[chosen] = np.linalg.solve(components.T, X[chosen].T).T
    if snr_db is not None:
        X = X + rms * 10 ** (-snr_db / 20) * rng.standard_normal(X.shape)
    return X, codes, components
