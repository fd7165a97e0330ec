"""Maximum likelihood for codes that are independent: fitted densities, and Newton steps on O(N) or on GL(N).

The Hessian is the approximation of independent component analysis, exact for independent codes: it couples only the
two entries (i, j) and (j, i) of a relative step (Amari, Chen & Cichocki 1997; Ablin, Cardoso & Gramfort 2018, Picard).
"""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.densities import Densities, column_units, fit_densities, histogram, score_sums, shrunk_units
from hrpursuit.core.manifolds import normalize_rows, polar_near
from hrpursuit.core.protocols import Array, Callback, Iterate, Rows

MAXIMUM_LIKELIHOOD = "maximum likelihood"
SMOOTH_LIKELIHOOD = "smooth likelihood"  # with the density of the score tanh, for rows too few to fit densities to
_LEAST_CURVATURE = 0.05  # eigenvalues of the Hessian are raised to this: pairs of Gaussian codes have none
_LONGEST_TURN = 0.3  # largest entry of a step, in radians: beyond, the quadratic model means little
_STEP_TOL = 0.05  # converged when the rms entry of a step is below this, in standard errors of the estimate
_SHORTEST, _LONGEST = 2.0**-6, 2.0**6  # factors of the Newton step: at the shortest the search ends
_MOST_CURVATURE = 2.0  # mean square of a code column, in its units, that counts in the Hessian: a few huge codes would
# make it so large that the steps come to nothing, far from the maximum; close to it, where steps that ignore them only
# lower the likelihood, they count in full
_NOISE_OF_EM = 1e-4  # fall of the log-likelihood per code that is put down to weights that EM has not settled yet
_FIRST_SCALE = 0.25  # rms of a column: densities start no sharper than this and may sharpen by 2 at each step, since
# columns that lock on first would hold the others at a wrong dictionary (error .01 to .03 in place of 1e-4 at 60 dB)
_UNIT_ROWS = 20_000  # rows that the units of the code columns are estimated from


@dataclass(frozen=True)
class LikelihoodFit:
    """Where the Newton steps ended.

    Attributes
    ----------
    encoder : array of shape (n_features, n_features)
        The codes are X @ encoder.T: one row per code column; orthogonal where asked.
    n_iter : int
        Steps, each one pass over the rows.
    converged : bool
        Whether the step fell below a twentieth of the statistical error.
    log_likelihood, before : float
        Per row, at `encoder` and at the start.
    densities : Densities
        Of the code columns.
    """

    encoder: Array
    n_iter: int
    converged: bool
    log_likelihood: float
    before: float
    densities: Densities


def in_units(X: Array, encoder: Array) -> Array:
    """Codes of a block in units of their columns: the product in the type of the data, the result in float32."""
    with np.errstate(over="ignore", invalid="ignore"):  # the kernels clip what leaves the range of float32
        return np.ascontiguousarray(X @ encoder, dtype=np.float32)


def newton_block(X: Array, encoder: Array, ratios: Array, slopes: Array) -> tuple[Array, Array, Array, Array]:
    return score_sums(in_units(X, encoder), ratios, slopes)


def histogram_block(X: Array, encoders: Array) -> tuple[Array]:
    return (np.stack([histogram(in_units(X, encoder)) for encoder in encoders]),)


def log_likelihoods(rows: Rows, sample: Array, encoders: list[Array]) -> list[float]:
    """Log-likelihood per row of each encoder (codes X @ encoder.T) with densities fitted for it; one pass.

    The units of the code columns are those of the `sample` of the rows. -inf for an encoder without an inverse.
    """
    fitted = densities_of(rows, sample, encoders)
    return [_value(B, densities) for B, densities in zip(encoders, fitted, strict=True)]


def densities_of(rows: Rows, sample: Array, encoders: list[Array]) -> list[Densities]:
    n = rows.n_samples or len(sample)
    units = [column_units(sample @ B.T) for B in encoders]
    scaled = np.stack([_scaled(B, unit) for B, unit in zip(encoders, units, strict=True)])
    (counts,) = rows.sum(histogram_block, scaled.astype(rows.dtype, copy=False))
    return [fit_densities(count, unit, n) for count, unit in zip(counts, units, strict=True)]


def _scaled(B: Array, units: Array) -> Array:
    return np.asarray((B / np.where(units > 0, units, 1.0)[:, None]).T)


def _value(B: Array, densities: Densities) -> float:
    """Log-likelihood per row: of the codes, and of the change of variables from codes to rows."""
    _, log_det = np.linalg.slogdet(B)
    value = float(densities.log_likelihood.sum() + log_det)
    return value if np.isfinite(value) else -np.inf


def orthogonal_step(products: Array, derivatives: Array, squares: Array, units: Array) -> tuple[Array, float]:
    """Skew-symmetric Newton step of the likelihood on O(N) for B <- exp(step) B, from means over the rows.

    Also the slope of the log-likelihood per row along it, which is twice the gain of a quadratic model.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # units that are too far apart give no step
        ratio = units / units[:, None]
        gradient = products * ratio
        own = np.diag(products)
        h = np.outer(derivatives, squares) * ratio**2
        curvature = np.maximum(h + h.T - own[:, None] - own, _LEAST_CURVATURE)
        step = _finite((gradient.T - gradient) / curvature)
    return step, -float(np.vdot(gradient, step))


def complete_step(products: Array, derivatives: Array, squares: Array) -> tuple[Array, float]:
    """Newton step of the likelihood on GL(N) for C <- C + step C, C the encoder in units of the columns; and the slope.

    For each pair the 2 x 2 system [[h_ij, 1], [1, h_ji]], h_ij = E psi_i' E y_j^2. The diagonal, which is the scale of
    a code, is left to the densities.
    """
    h = np.outer(derivatives, squares)
    least = (h + h.T) / 2 - np.sqrt((h - h.T) ** 2 / 4 + 1)
    h = h + np.maximum(0, _LEAST_CURVATURE - least)  # symmetric: both eigenvalues rise by the same amount
    step = _finite((products.T - h.T * products) / (h * h.T - 1))
    np.fill_diagonal(step, 0)
    return step, -float(np.vdot(products, step))


def _step(means: list[Array], units: Array, most: float, orthogonal: bool) -> tuple[Array, float]:
    """Newton step from means over the rows, with the mean squares of codes limited."""
    products, derivatives, squares = means
    squares = np.minimum(squares, most)
    if orthogonal:
        return orthogonal_step(products, derivatives, squares, units)
    return complete_step(products, derivatives, squares)


def _finite(step: Array) -> Array:
    return np.nan_to_num(step, nan=0.0, posinf=0.0, neginf=0.0)


def _moved(B: Array, step: Array, units: Array, orthogonal: bool) -> Array:
    if orthogonal:
        eye = np.eye(len(B))
        return polar_near(np.linalg.solve(eye - step / 2, eye + step / 2) @ B)  # Cayley transform
    C = B / units[:, None]
    return np.asarray((C + step @ C) * units[:, None])


def maximize_likelihood(
    rows: Rows,
    B: Array,
    *,
    orthogonal: bool,
    max_iter: int = 30,
    anneal: bool = True,
    smooth: bool = False,
    sample: Array | None = None,
    callback: Callback | None = None,
) -> LikelihoodFit:
    """Newton steps from the encoder B (codes X @ B.T), densities refitted at each.

    A step that lowers the likelihood is halved and tried again from where it began; one that gains more than a
    quadratic model explains makes the next ones longer. Each try is one pass over the rows, and one iteration.

    Parameters
    ----------
    rows : Rows
        Of full rank.
    B : array of shape (n_features, n_features)
        The encoder to start from, one row per code column.
    orthogonal : bool
        Whether B is orthogonal and has to stay so.
    max_iter : int, default=30
    anneal : bool, default=True
        Whether the densities start out smooth and sharpen step by step; False for a start that is nearly right.
    smooth : bool, default=False
        Whether columns that are not sub-Gaussian have the density 1 / (pi cosh s), s relative to their unit, instead of
        one that is fitted to them; units that differ by chance are pooled. For rows that are too few.
    sample : array of shape (n, n_features) or None, default=None
        Rows for the units of the code columns; None takes up to 20,000 of `rows`.
    callback : callable or None, default=None
        Called with an `Iterate` after each pass: `value` is minus the log-likelihood per row, `step` the rms entry of
        the next step in standard errors of the estimate. Returning True stops.
    """
    sample = rows.sample(_UNIT_ROWS, 0) if sample is None else sample
    n = max(1, rows.n_samples or len(sample))
    n_pairs = max(1, len(B) * (len(B) - 1)) / (2 if orthogonal else 1)
    B = np.asarray(B, dtype=np.float64)
    units = column_units(sample @ B.T)
    units = shrunk_units(units, n) if smooth else units
    counts = histogram(in_units(sample, _scaled(B, units).astype(sample.dtype)))
    anneal, name = anneal and not smooth, SMOOTH_LIKELIHOOD if smooth else MAXIMUM_LIKELIHOOD
    densities = fit_densities(counts, units, len(sample), _FIRST_SCALE if anneal else 0.0)
    densities = densities.smoothed(counts) if smooth else densities
    best = LikelihoodFit(B, 0, False, -np.inf, -np.inf, densities)
    direction, factor, slope, size, sharp = np.zeros_like(B), 1.0, 0.0, np.inf, False
    means, most = list[Array](), _MOST_CURVATURE
    for n_iter in range(1, max_iter + 1):
        encoder = _scaled(B, densities.units).astype(rows.dtype, copy=False)
        *sums, counts = rows.sum(newton_block, encoder, *best.densities.tables)
        finest = _FIRST_SCALE * 0.5**n_iter if anneal else 0.0
        densities = best.densities.evaluated(counts) if smooth else best.densities.refitted(counts, n, finest)
        value = _value(B, densities)
        if value > best.log_likelihood - _NOISE_OF_EM * len(B):
            gained = value - best.log_likelihood - _NOISE_OF_EM * len(B)
            gained_more = sharp and n_iter > 1 and gained > 2 * factor * slope  # before, sharper densities gain as well
            factor = min(_LONGEST, 4 * factor) if gained_more else min(1.0, 2 * factor)
            means = [item / n for item in sums]
            direction, slope = _step(means, densities.units, most, orthogonal)
            size = float(np.sqrt(max(0.0, slope) * n / n_pairs))
            longest = float(np.abs(direction).max(initial=0.0))
            factor = min(factor, _LONGEST_TURN / longest if longest > 0 else 1.0)
            sharp = not anneal or bool((densities.finest >= finest).all())
            before = value if n_iter == 1 else best.before
            best = LikelihoodFit(B, n_iter, sharp and size <= _STEP_TOL, value, before, densities)
        else:
            factor /= 2
            if factor < _SHORTEST and means and (means[2] > most).any():
                most = np.inf
                direction, slope = _step(means, best.densities.units, most, orthogonal)
                factor = min(1.0, _LONGEST_TURN / max(float(np.abs(direction).max(initial=0.0)), _LONGEST_TURN))
        best = replace(best, n_iter=n_iter)
        stop = callback is not None and callback(
            Iterate(name, n_iter, _atoms(best.encoder, orthogonal), -best.log_likelihood, size, max_iter)
        )
        if stop or best.converged or factor < _SHORTEST:
            break
        B = _moved(best.encoder, factor * direction, best.densities.units, orthogonal)
        if not np.isfinite(B).all():
            break
    return best


def _atoms(B: Array, orthogonal: bool) -> Array:
    return B if orthogonal else normalize_rows(np.linalg.pinv(B).T)
