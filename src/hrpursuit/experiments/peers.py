"""FastICA, Picard and scikit-learn's dictionary learning as their users call them, with a number of codes per sample.

Each centres the samples and has as many atoms as features. ICA whitens, transforms and keeps the codes that contribute
most; dictionary learning codes by orthogonal matching pursuit.
"""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import DictionaryLearning, FastICA, MiniBatchDictionaryLearning
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.core.coding import keep_largest
from hrpursuit.core.protocols import Array
from hrpursuit.rows.optional import needed

#: Seconds that DictionaryLearning takes for each sample, and for each sample and square of the features, where it needs
#: many iterations (130 to 140): measured on 17,420 x 7 and 744 x 56 readings on one core, where it takes 73 and 29 s.
_PER_SAMPLE, _PER_SQUARE = 4e-3, 1e-5
_PATIENCE = 60.0  # seconds; above, samples are taken in batches


class ICA(BaseEstimator):
    """An estimator with the interface of FastICA that keeps the largest codes.

    Parameters
    ----------
    estimator : FastICA
        Not fitted. The dictionary has as many atoms as the centred samples have dimensions.
    n_nonzero_coefs : int or None
        Codes per sample. Those stay whose part of the reconstruction, code times atom, has the largest norm.
    """

    def __init__(self, estimator: Any, n_nonzero_coefs: int | None) -> None:
        self.estimator, self.n_nonzero_coefs = estimator, n_nonzero_coefs

    @property
    def label(self) -> str:
        return type(self.estimator).__name__

    def fit(self, X: Array) -> Self:
        n_dimensions = int(np.linalg.matrix_rank(X - X.mean(axis=0)))  # whitening divides by their variances
        self.estimator.set_params(n_components=max(1, n_dimensions)).fit(X)
        return self

    def transform(self, X: Array) -> Array:
        norms = np.linalg.norm(self.estimator.mixing_, axis=0)
        parts = self.estimator.transform(X) * norms
        return (parts if self.n_nonzero_coefs is None else keep_largest(parts, self.n_nonzero_coefs)) / norms

    def inverse_transform(self, codes: Array) -> Array:
        return self.estimator.inverse_transform(codes)


def fast_ica(n_nonzero: int | None, seed: int) -> ICA:
    return ICA(FastICA(random_state=seed), n_nonzero)


def picard(n_nonzero: int | None, seed: int) -> ICA:
    return ICA(needed("picard", "The method Picard", "peers").Picard(random_state=seed), n_nonzero)


class SklearnDictionary(BaseEstimator):
    """DictionaryLearning of scikit-learn, or MiniBatchDictionaryLearning where that would take more than a minute.

    The settings are the defaults, with coordinate descent, which gives the same dictionary as the default in a third of
    the time. The weight of the l1 norm, alpha = 1, is absolute, so the samples are given to it in units of their rms.

    Parameters
    ----------
    n_nonzero_coefs : int or None
        Codes per sample.
    random_state : int
    """

    label = "DictionaryLearning"

    def __init__(self, n_nonzero_coefs: int | None, random_state: int) -> None:
        self.n_nonzero_coefs, self.random_state = n_nonzero_coefs, random_state

    def fit(self, X: Array) -> Self:
        n_samples, n_features = X.shape
        in_batches = n_samples * (_PER_SAMPLE + _PER_SQUARE * n_features**2) > _PATIENCE
        kind = MiniBatchDictionaryLearning if in_batches else DictionaryLearning
        self.label = kind.__name__
        self.mean = X.mean(axis=0)
        self.unit = float(np.sqrt(np.mean((X - self.mean) ** 2))) or 1.0
        self.estimator = kind(
            n_features,
            fit_algorithm="cd",
            transform_algorithm="omp",
            transform_n_nonzero_coefs=self.n_nonzero_coefs,
            random_state=self.random_state,
        )
        with warnings.catch_warnings():  # one for each sample and iteration
            warnings.filterwarnings("ignore", "Objective did not converge", ConvergenceWarning)
            self.estimator.fit((X - self.mean) / self.unit)
        return self

    def transform(self, X: Array) -> Array:
        return self.estimator.transform((X - self.mean) / self.unit)

    def inverse_transform(self, codes: Array) -> Array:
        return codes @ self.estimator.components_ * self.unit + self.mean
