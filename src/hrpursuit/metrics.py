"""How far a dictionary or a reconstruction is from the truth."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.utils.validation import check_array

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array

__all__ = ["dictionary_error", "masked_rmse", "match_atoms"]


def _two_dictionaries(components: ArrayLike, true_components: ArrayLike) -> tuple[Array, Array]:
    A = check_array(components, dtype=np.float64, input_name="components")
    B = check_array(true_components, dtype=np.float64, input_name="true_components")
    if A.shape != B.shape:
        raise ValueError(f"components and true_components must have the same shape; got {A.shape} and {B.shape}.")
    return normalize_rows(A), normalize_rows(B)


def match_atoms(components: ArrayLike, true_components: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Match atoms one to one such that the sum of their absolute cosines is largest.

    Parameters
    ----------
    components, true_components : array-like of shape (n_atoms, n_features)
        Dictionaries, one atom per row. The norms of the atoms do not matter.

    Returns
    -------
    order : array of shape (n_atoms,)
        `components[order[i]]` is matched to `true_components[i]`.
    signs : array of shape (n_atoms,)
        Signs of the inner products of the matched atoms, 1 or -1: `components[order] * signs[:, None]` is aligned with
        `true_components`.
    """
    A, B = _two_dictionaries(components, true_components)
    cosines = B @ A.T
    rows, order = linear_sum_assignment(-np.abs(cosines))
    return order, np.where(cosines[rows, order] < 0, -1.0, 1.0)


def dictionary_error(components: ArrayLike, true_components: ArrayLike) -> float:
    """Relative error of a dictionary, for the best order and signs of its atoms.

    The atoms of both dictionaries are scaled to unit norm and matched one to one, so that two estimates of the same
    true atom do not both count as right.

    Parameters
    ----------
    components, true_components : array-like of shape (n_atoms, n_features)
        Dictionaries, one atom per row.

    Returns
    -------
    error : float
        Frobenius norm of the difference, divided by that of `true_components`: 0 for the same dictionary, about 1.4 for
        unrelated ones.
    """
    A, B = _two_dictionaries(components, true_components)
    order, signs = match_atoms(A, B)
    return float(np.linalg.norm(A[order] * signs[:, None] - B) / np.linalg.norm(B))


def masked_rmse(X: ArrayLike, X_hat: ArrayLike, mask: ArrayLike | None = None) -> float:
    """Relative root mean squared error over the observed entries.

    Parameters
    ----------
    X, X_hat : array-like of shape (n_samples, n_features)
        Samples and their reconstruction.
    mask : array-like of bool of shape (n_samples, n_features) or None, default=None
        True where X is observed. None means where X is not NaN.

    Returns
    -------
    rmse : float
        norm(X - X_hat) / norm(X) over the observed entries.
    """
    X, X_hat = np.asarray(X, dtype=np.float64), np.asarray(X_hat, dtype=np.float64)
    observed = ~np.isnan(X) if mask is None else np.asarray(mask, dtype=bool)
    if not X.shape == X_hat.shape == observed.shape:
        raise ValueError(
            f"X, X_hat and mask must have the same shape; got {X.shape}, {X_hat.shape} and {observed.shape}."
        )
    if not observed.any():
        raise ValueError("no entry is observed: mask must have at least one True entry.")
    norm = float(np.linalg.norm(X[observed]))
    error = float(np.linalg.norm(X[observed] - X_hat[observed]))
    if norm == 0:
        return 0.0 if error == 0 else float("inf")
    return error / norm
