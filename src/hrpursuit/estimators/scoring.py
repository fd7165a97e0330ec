"""The log-likelihood of samples under the model that a fit found, for estimators that keep one."""

from typing import Any

import numpy as np

from hrpursuit.core.code_density import CodeDensities, FixedSupport, fit_fixed_support
from hrpursuit.core.masked import gap_codes_block
from hrpursuit.core.protocols import Array
from hrpursuit.estimators.base import SquareDictionary
from hrpursuit.estimators.sources import guarded_map, guarded_sum, matching_rows, shown
from hrpursuit.rows import ArrayRows, gather


def log_density_block(
    X: Array,
    encoder: Array,
    components: Array,
    intercept: Array,
    density: CodeDensities | FixedSupport,
    refit: Array | None,
    log_det: float,
) -> Array:
    """Log-density of each row of a block, as a column."""
    X = np.asarray(X, dtype=np.float64) - intercept
    if isinstance(density, FixedSupport):
        S = gap_codes_block(X, encoder, components, density.n_nonzero, None, refit)
        values = density.log_density(X, S, components)
    else:
        values = density.log_density(gap_codes_block(X, encoder, components, None, None, None)) + log_det
    return np.asarray(values[:, None])


def sum_block(X: Array, *args: Any) -> tuple[float, int]:
    return float(log_density_block(X, *args).sum()), len(X)


class LikelihoodMixin(SquareDictionary):
    """`score_samples` and `score` of estimators with an `intercept_` and a density of their codes."""

    intercept_: np.ndarray

    def _density_of_codes(self) -> CodeDensities | FixedSupport:
        raise NotImplementedError

    def _support_density(self, X: Array) -> FixedSupport:
        """The model of rows, less their offset, with a fixed number of codes."""
        assert self.n_nonzero_coefs is not None
        components, encoder = (np.asarray(item, dtype=np.float64) for item in (self.components_, self.encoder_))
        return fit_fixed_support(X, self._codes(X, components, encoder), components, self.n_nonzero_coefs)

    def _codes(self, X: Array, components: Array, encoder: Array) -> Array:
        refit = components if self.dictionary == "complete" else None
        return gap_codes_block(X, encoder, components, self.n_nonzero_coefs, None, refit)

    def _model_of_samples(self) -> tuple[Any, ...]:
        encoder, components = (np.asarray(item, dtype=np.float64) for item in (self.encoder_, self.components_))
        refit = components if self.dictionary == "complete" else None
        density = self._density_of_codes()
        log_det = float(np.linalg.slogdet(encoder)[1]) if isinstance(density, CodeDensities) else 0.0
        return encoder, components, np.asarray(self.intercept_, dtype=np.float64), density, refit, log_det

    def score_samples(self, X: Any) -> np.ndarray:
        """Log-likelihood of each sample under the model that the fit found.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes

        Returns
        -------
        log_likelihood : array of shape (n_samples,)
            For a sample x with codes s = (x - intercept_) @ encoder_ it is sum_j log p_j(s_j) + log|det(encoder_)|. The
            density p_j of a code column depends on `verdict_`. For exact and noisy samples it is spike and slab plus
            noise,

                p_j(s) = (1 - q_j) N(s; 0, e_j) + q_j N(s; 0, v_j),

            where q_j is the share of samples that use atom j, v_j the variance of their codes, and e_j the variance of
            the noise, for exact samples that of their rounding. For all other samples p_j is a mixture of Gaussians
            fitted to the column. Gaps are first filled with the mean of their row.

            With `n_nonzero_coefs=k` it is the joint log-likelihood of the observed entries of x and of the support T
            that `transform` chooses, which is a lower bound of the log-likelihood of x:

                -log C(n_features, k) + log N(x - intercept_; 0, e I + W_T' V_T W_T),

            where W_T are the atoms of the support, V_T the variances of their codes, and e the variance of the
            residual. All supports have the same probability. The first term lowers the score for a larger k unless the
            further codes explain the samples, so that grid search on held-out samples finds the right k.
        """
        self._check_has_dictionary()
        rows = matching_rows(self, X, gaps=self._takes_gaps)
        blocks = guarded_map(rows, log_density_block, *self._model_of_samples(), gaps=self._takes_gaps)
        if isinstance(rows, ArrayRows):
            return np.asarray(gather(blocks, len(rows.X), 1, np.dtype(np.float64))[:, 0])
        return np.concatenate([block[:, 0] for block in blocks])

    def score(self, X: Any, y: None = None) -> float:
        """Mean log-likelihood of the samples; the higher, the better. See `score_samples` for the formula.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or anything that :func:`~hrpursuit.rows.open_rows` takes
        y : None
            Ignored.

        Returns
        -------
        log_likelihood : float
        """
        self._check_has_dictionary()
        rows = matching_rows(self, X, gaps=self._takes_gaps)
        with shown(rows, getattr(self, "verbose", 0)):
            total, n = guarded_sum(rows, sum_block, *self._model_of_samples(), gaps=self._takes_gaps)
        return float(total) / max(1, int(n))
