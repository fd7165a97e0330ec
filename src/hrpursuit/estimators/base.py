"""What every estimator with a square dictionary does once it has one: code, decode, score, check, save."""

from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._tags import Tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from hrpursuit.core.certificate import Certificate, certify
from hrpursuit.core.coding import codes_block
from hrpursuit.core.rounding import zero_levels
from hrpursuit.estimators.archive import load_model, save_model
from hrpursuit.rows import ArrayRows, gather


class SquareDictionary(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators: `components_` (one atom a row) and `encoder_` (codes are X @ encoder_) once fitted.

    A subclass says what of it goes into a file: `_to_archive` gives a header of plain values and a dictionary of
    arrays, `_from_archive` makes a fitted estimator of them again.
    """

    n_nonzero_coefs: int | None
    dictionary: Literal["orthogonal", "complete"]
    components_: np.ndarray
    encoder_: np.ndarray

    def _to_archive(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        raise NotImplementedError

    @classmethod
    def _from_archive(cls, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Self:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Codes of the samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        codes : array of shape (n_samples, n_features)
            X @ encoder_; with `n_nonzero_coefs` all but that many of the largest of each row are zero, and those of a
            complete dictionary are fitted to the sample by least squares.
        """
        check_is_fitted(self, "components_")
        return self._codes(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _codes(self, X: np.ndarray) -> np.ndarray:
        refit = self.components_ if self.dictionary == "complete" else None
        blocks = ArrayRows(X).map(
            codes_block, self.encoder_.astype(X.dtype, copy=False), self.n_nonzero_coefs, None, refit
        )
        return gather(blocks, X)

    def inverse_transform(self, codes: ArrayLike) -> np.ndarray:
        """Samples for codes: codes @ components_.

        Parameters
        ----------
        codes : array-like of shape (n_samples, n_features)

        Returns
        -------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self, "components_")
        codes = check_array(codes, dtype=[np.float64, np.float32], input_name="codes")
        if codes.shape[1] != len(self.components_):
            raise ValueError(
                f"codes must have {len(self.components_)} columns, one for each atom; got {codes.shape[1]}."
            )
        return codes @ self.components_

    def score(self, X: ArrayLike, y: None = None) -> float:
        """Minus the relative reconstruction error, -norm(X - inverse_transform(transform(X))) / norm(X); 0 is best.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "components_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        largest = float(np.abs(X).max())
        if largest == 0:
            return 0.0
        X = np.asarray(X, dtype=np.float64) / largest  # norms that do not overflow
        residual = X - self._codes(X) @ self.components_
        return 0.0 - float(np.linalg.norm(residual) / np.linalg.norm(X))

    def certify(self, X: ArrayLike) -> Certificate:
        """Check the certificate on all samples X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        certificate : Certificate
            True in a condition when the dictionary is certified sparse on X; `print` tells what was found.
        """
        check_is_fitted(self, "components_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        rows, orthogonal = ArrayRows(X), self.dictionary == "orthogonal"
        for level in zero_levels(X):
            certificate = certify(rows, self.encoder_.T, level, orthogonal=orthogonal)
            if certificate:
                break
        return certificate

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file, without pickle: arrays and text only. A callback is not kept, nor a random
        state that is no number.

        Parameters
        ----------
        path : path-like
            Where to; `.npz` is not added. The file appears whole or not at all.
        """
        check_is_fitted(self, "components_")
        save_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` has written.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        model : estimator of this class
            Fitted.
        """
        return load_model(cls, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
