"""Log-density of samples under a fitted model: independent codes, or a fixed number of codes and what they leave."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from hrpursuit.core.densities import SUB_GAUSSIAN, SUPER_GAUSSIAN, Densities
from hrpursuit.core.protocols import Array

_LOG_2PI = float(np.log(2 * np.pi))
_MOST_ENTRIES = 2_000_000  # of the atoms that are gathered for a block of rows, 16 MB
_LEAST_SHARE = 1e-6  # of the mean square of a code that is no noise


@dataclass(frozen=True)
class CodeDensities:
    """Independent codes: each column is a mixture of Gaussians, symmetric about zero.

    Attributes
    ----------
    weights, means, stds : arrays of shape (n_components, n_columns)
        Of the components; half of each has the mean with the other sign. A weight of zero marks an unused one.
    """

    weights: Annotated[NDArray[np.float64], "n_components", "n_features_in_"]
    means: Annotated[NDArray[np.float64], "n_components", "n_features_in_"]
    stds: Annotated[NDArray[np.float64], "n_components", "n_features_in_"]

    def check(self) -> None:
        """Raise ValueError unless each column has a density."""
        if not ((self.weights >= 0).all() and (self.stds > 0).all() and (self.means >= 0).all()):
            raise ValueError("weights and means of a density must not be negative, and standard deviations positive.")
        if not np.allclose(self.weights.sum(axis=0), 1, atol=1e-3):
            raise ValueError("the weights of a density must have the sum 1.")

    def log_density(self, S: Array) -> Array:
        """Of each row of codes."""
        size = np.abs(S)
        total = np.full(S.shape, -np.inf)
        for weight, mean, std in zip(self.weights, self.means, self.stds, strict=True):
            with np.errstate(divide="ignore"):
                height = np.log(weight) - np.log(std) - 0.5 * _LOG_2PI
            one = height - 0.5 * ((size - mean) / std) ** 2
            if mean.any():
                one += np.log1p(np.exp(-2 * size * mean / std**2)) - np.log(2)
            np.logaddexp(total, one, out=total)
        return np.asarray(total.sum(axis=1))

    def score(self, S: Array) -> Array:
        """Minus the derivative of the log density, at each entry of the codes S."""
        with np.errstate(divide="ignore"):
            heights = np.log(self.weights) - np.log(self.stds)
        halves = [(height, sign * mean, std) for height, mean, std in zip(heights, self.means, self.stds, strict=True)
                  for sign in (1, -1)]  # fmt: skip
        logs = [height - 0.5 * ((S - mean) / std) ** 2 for height, mean, std in halves]
        top = np.max(logs, axis=0)  # keeps the exponentials within range
        shares = [np.exp(log - top) for log in logs]
        slope = sum(share * (S - mean) / std**2 for share, (_, mean, std) in zip(shares, halves, strict=True))
        return np.asarray(slope / sum(shares))

    @classmethod
    def spike_and_slab(cls, noise: Array, sparsity: Array, variances: Array) -> "CodeDensities":
        """Zero in noise of these variances, or with a probability of the column Gaussian of other variances."""
        weights = np.stack([1 - sparsity, sparsity])
        return cls(weights, np.zeros_like(weights), np.sqrt(np.stack([noise, variances])))

    @classmethod
    def fitted(cls, densities: Densities, least: Array) -> "CodeDensities":
        """Those of the finish by maximum likelihood; columns of zeros have standard deviations of `least`."""
        n_components = max(len(SUPER_GAUSSIAN.stds), len(SUB_GAUSSIAN.stds))
        parts = np.zeros((3, n_components, len(densities.units)))
        parts[2] = 1.0
        for j, is_sub in enumerate(densities.is_sub_gaussian):
            family, weights = (SUB_GAUSSIAN if is_sub else SUPER_GAUSSIAN), densities.weights[int(is_sub)][:, j]
            used = slice(len(weights))
            parts[:, used, j] = weights, family.means * densities.units[j], family.stds * densities.units[j]
        dead = np.flatnonzero(densities.is_dead)
        parts[:, :, dead] = 0.0
        parts[0, 0, dead], parts[2][:, dead] = 1.0, least[dead]
        return cls(*parts[:, parts[0].any(axis=1)])


@dataclass(frozen=True)
class FixedSupport:
    """Codes with a fixed number of nonzeros: any support is as likely, codes on it and the residual are Gaussian.

    Attributes
    ----------
    n_nonzero : int
    noise : float
        Variance of the residual in a direction that the support leaves free.
    variances : array of shape (n_atoms,)
        Of the codes of each atom where it is used, without the noise.
    """

    n_nonzero: int
    noise: float
    variances: Annotated[NDArray[np.float64], "n_features_in_"]

    def check(self) -> None:
        """Raise ValueError unless this is a model of codes."""
        if not (self.noise > 0 and (self.variances > 0).all() and 0 < self.n_nonzero <= len(self.variances)):
            raise ValueError("variances must be positive, and n_nonzero at most the number of atoms.")

    def log_density(self, X: Array, S: Array, components: Array) -> Array:
        """Of each row of X (NaN where it was not observed) together with the support of its codes S."""
        out = np.empty(len(X))
        step = max(1, _MOST_ENTRIES // max(1, self.n_nonzero * X.shape[1]))
        for first in range(0, len(X), step):
            part = slice(first, first + step)
            out[part] = self._of_block(X[part], S[part], components)
        n = len(components)
        n_supports = gammaln(n + 1) - gammaln(self.n_nonzero + 1) - gammaln(n - self.n_nonzero + 1)
        return np.asarray(out - n_supports)

    def _of_block(self, X: Array, S: Array, components: Array) -> Array:
        observed = ~np.isnan(X)
        residual = np.where(observed, X - S @ components, 0.0)
        # The support of each row, the largest codes first; rows may have fewer codes, which are then zero and left out.
        support = np.argsort(-np.abs(S), axis=1, kind="stable")[:, : self.n_nonzero]
        codes = np.take_along_axis(S, support, axis=1)
        used = codes != 0
        atoms = components[support] * observed[:, None, :] * used[:, :, None]
        k = codes.shape[1]
        gram = atoms @ atoms.transpose(0, 2, 1)
        diagonal = np.arange(k)
        gram[:, diagonal, diagonal] += ~used + _LEAST_SHARE * 1e-6  # an atom without any observed entry has no inverse
        spread = self.noise * np.linalg.inv(gram)
        spread[:, diagonal, diagonal] += np.where(used, self.variances[support], 1.0 - self.noise)
        explained = np.einsum("ij,ij->i", codes, np.linalg.solve(spread, codes[:, :, None])[:, :, 0])
        left = np.einsum("ij,ij->i", residual, residual) / self.noise
        n_used, n_observed = used.sum(axis=1), observed.sum(axis=1)
        log_det = np.linalg.slogdet(gram)[1] + np.linalg.slogdet(spread)[1]
        log_det += (n_observed - n_used) * np.log(self.noise)
        return -0.5 * (n_observed * _LOG_2PI + log_det + explained + left)


def fit_fixed_support(X: Array, S: Array, components: Array, n_nonzero: int) -> FixedSupport:
    """Moments of codes S with `n_nonzero` nonzeros per row, and of what they leave of the rows X (NaN: a gap)."""
    observed = ~np.isnan(X)
    residual = np.where(observed, X - S @ components, 0.0)
    energy = (float(np.square(X[observed]).mean()) if observed.any() else 0.0) or 1.0  # of nothing but zeros: any unit
    used = S != 0
    free = float(np.sum(observed) - np.sum(used))
    least = max(np.finfo(np.float64).eps ** 2 * energy, np.finfo(np.float64).tiny)
    noise = max(float(np.vdot(residual, residual)) / max(free, 1.0), least)
    n_used = used.sum(axis=0)
    squares = np.square(S).sum(axis=0) / np.maximum(n_used, 1)
    common = float(np.square(S).sum()) / max(1, int(n_used.sum())) or 1.0
    squares = np.where(n_used > 0, squares, common)
    return FixedSupport(n_nonzero, noise, np.maximum(squares - noise, _LEAST_SHARE * np.maximum(squares, common)))
