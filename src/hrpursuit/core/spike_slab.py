"""Spike-and-slab codes in noise: mean-field EM for dictionaries that need not be orthogonal.

X = S A + E: a code is zero or, with a probability of its atom, Gaussian; the noise has a variance of its own for each
feature, so that the result does not depend on units. E step: mean field, coordinate by coordinate (Titsias &
Lazaro-Gredilla 2011; Carbonetto & Stephens 2012). M step: least squares. Nothing needs an inverse of A, and the
noise is not amplified by one.
"""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows
from hrpursuit.core.spike_kernels import lasso_codes, spike_slab_codes

SPIKE_AND_SLAB = "spike and slab"
_SWEEPS = 15  # over the codes of a row; they end earlier where nothing moves
_STEP_TOL = 0.1  # converged when the rms change of an atom is below this over sqrt(n): 1/10 of the statistical error
_NOISE_TOL = 0.01  # and the logarithms of the noise variances change by less than this on average
_FIRST_NOISE = 0.1  # share of the energy that is taken for noise at the start
_FIRST_SPARSITY = 0.2
_LEAST_NOISE = 1e-8  # of the noise variance of a feature, relative to its energy
_LEAST_ENERGY = 1e-200  # mean square that a feature of zeros is taken to have
_RIDGE = 1e-9  # keeps an atom that no row uses where it is
_LASSO_STEP_TOL = 3e-3  # rms change of an atom at which the lasso start ends: EM goes on from there
_LASSO_SWEEPS = 5


@dataclass(frozen=True)
class SpikeSlab:
    """The model.

    Attributes
    ----------
    components : array of shape (n_atoms, n_features)
        One unit atom per row.
    noise : array of shape (n_features,)
        Variances of the noise.
    sparsity : array of shape (n_atoms,)
        Probabilities that a code is not zero.
    variances : array of shape (n_atoms,)
        Of the codes that are not zero.
    """

    components: Array
    noise: Array
    sparsity: Array
    variances: Array


@dataclass(frozen=True)
class SpikeSlabFit:
    """Where EM ended.

    Attributes
    ----------
    model : SpikeSlab
    n_iter : int
        Iterations, each one pass over the rows.
    converged : bool
    evidence : float
        Lower bound of the log-likelihood per row, of the model before the last iteration.
    """

    model: SpikeSlab
    n_iter: int
    converged: bool
    evidence: float


def initial_model(components: Array, energy: Array) -> SpikeSlab:
    """A model around a dictionary, for features with these mean squares."""
    n_atoms = len(components)
    energy = np.maximum(energy, _LEAST_ENERGY)
    variance = float(energy.mean()) / _FIRST_SPARSITY
    noise = _FIRST_NOISE * energy
    return SpikeSlab(normalize_rows(components), noise, np.full(n_atoms, _FIRST_SPARSITY), np.full(n_atoms, variance))


def posterior_block(X: Array, model: SpikeSlab) -> tuple[Array, Array, Array, Array, Array, float]:
    """Sums over one block: M^T M and M^T X of the posterior means M, sums of posterior variances and of probabilities
    of a nonzero code, X^2 by features, and the divergence from the prior.
    """
    X = X.astype(np.float64, copy=False)
    weighted = model.components / model.noise
    means, spreads, chosen = np.zeros((len(X), len(weighted))), np.zeros(len(weighted)), np.zeros(len(weighted))
    gram = weighted @ model.components.T
    products = X @ weighted.T
    divergence = spike_slab_codes(products, gram, model.sparsity, model.variances, _SWEEPS, means, spreads, chosen)
    return means.T @ means, means.T @ X, spreads, chosen, np.square(X).sum(axis=0), divergence


def _misfit(A: Array, gram: Array, products: Array, spreads: Array, energy: Array) -> Array:
    """Expected squared residual of each feature, summed over the rows."""
    return energy - 2 * np.sum(products * A, axis=0) + np.sum(A * (gram @ A), axis=0) + spreads @ A**2


def evidence(rows: Rows, model: SpikeSlab) -> float:
    """Lower bound of the log-likelihood per row; one pass."""
    return _bound(model, rows.sum(posterior_block, model), max(1, rows.n_samples or 0))


def _bound(model: SpikeSlab, sums: tuple[Array, ...], n: int) -> float:
    gram, products, spreads, _, energy, divergence = sums
    misfit = _misfit(model.components, gram, products, spreads, energy)
    value = -0.5 * float(np.sum(misfit / model.noise / n + np.log(2 * np.pi * model.noise))) - float(divergence) / n
    return value if np.isfinite(value) else -np.inf


def _updated(model: SpikeSlab, sums: tuple[Array, ...], n: int) -> SpikeSlab:
    """The M step: least squares for the atoms, then noise, sparsity and variances in closed form."""
    gram, products, spreads, chosen, energy, _ = sums
    ridge = max(_RIDGE * float(energy.sum()), _LEAST_ENERGY)
    system = gram + np.diag(spreads + ridge)
    A = np.linalg.solve(system, products + ridge * model.components)
    floor = np.maximum(_LEAST_NOISE * energy / n, _LEAST_ENERGY)
    noise = np.maximum(_misfit(A, gram, products, spreads, energy) / n, floor)
    norms = np.linalg.norm(A, axis=1)
    variances = (np.diag(gram) + spreads) / np.maximum(chosen, 1.0) * norms**2
    least = 1.0 / np.maximum(np.sum((A / np.maximum(norms, 1e-300)[:, None]) ** 2 / noise, axis=1), 1e-300)
    return SpikeSlab(
        np.where(norms[:, None] > 0, normalize_rows(A), model.components),
        noise,
        np.clip(chosen / n, 1 / (n + 1), n / (n + 1)),
        np.maximum(variances, least),  # a slab below the noise would be no slab
    )


def fit_spike_slab(
    rows: Rows, model: SpikeSlab, *, max_iter: int = 20, callback: Callback | None = None
) -> SpikeSlabFit:
    """EM from a model. The codes of each row start from zero at every pass, so that nothing is kept per row.

    Parameters
    ----------
    rows : Rows
    model : SpikeSlab
    max_iter : int, default=20
    callback : callable or None, default=None
        Called with an `Iterate` after each pass; `value` is minus the evidence per row. Returning True stops.
    """
    n = max(1, rows.n_samples or 0)
    fit = SpikeSlabFit(model, 0, False, -np.inf)
    for n_iter in range(1, max_iter + 1):
        sums = rows.sum(posterior_block, fit.model)
        bound, after = _bound(fit.model, sums, n), _updated(fit.model, sums, n)
        if not all(np.isfinite(item).all() for item in vars(after).values()):
            break
        step = float(np.sqrt(np.mean(np.sum((after.components - fit.model.components) ** 2, axis=1))))
        settled = float(np.mean(np.abs(np.log(after.noise / fit.model.noise)))) < _NOISE_TOL
        converged = settled and step < _STEP_TOL / np.sqrt(n)
        fit = SpikeSlabFit(after, n_iter, converged, bound)
        seen = Iterate(SPIKE_AND_SLAB, n_iter, after.components, -bound, step, max_iter)
        if converged or (callback is not None and callback(seen)):
            break
    return fit


def lasso_dictionary(X: Array, A: Array, penalty: float, max_iter: int = 30) -> Array:
    """Unit atoms after lasso codes and the least-squares dictionary in turn, from the atoms A.

    `penalty` is in the unit of X. Its bias keeps codes small where atoms are nearly parallel, which is why it is a
    better start in noise than the codes of an inverse.
    """
    A, codes = normalize_rows(A), np.zeros((len(X), len(A)))
    for _ in range(max_iter):
        lasso_codes(X @ A.T, A @ A.T, penalty, _LASSO_SWEEPS, codes)
        gram = codes.T @ codes
        ridge = 1e-6 * np.trace(gram) / len(A) + np.finfo(np.float64).tiny
        fitted = np.linalg.solve(gram + ridge * np.eye(len(A)), codes.T @ X + ridge * A)
        norms = np.linalg.norm(fitted, axis=1)
        if not np.isfinite(fitted).all() or not (norms > 0).all():
            break
        step = float(np.sqrt(np.mean(np.sum((fitted / norms[:, None] - A) ** 2, axis=1))))
        A = fitted / norms[:, None]
        codes *= norms
        if step < _LASSO_STEP_TOL:
            break
    return A


def in_other_units(model: SpikeSlab, units: Array) -> SpikeSlab:
    """The model of X * units for the model of X."""
    A = model.components * units
    norms = np.linalg.norm(A, axis=1)
    return replace(
        model,
        components=normalize_rows(A),
        noise=model.noise * units**2,
        variances=model.variances * norms**2,
    )
