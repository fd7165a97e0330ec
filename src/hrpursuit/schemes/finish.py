"""The finish for data that is not exactly sparse: maximum likelihood, or in noise spike-and-slab EM."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.densities import has_heavy_tails, in_units_of_columns
from hrpursuit.core.evaluate import gram
from hrpursuit.core.likelihood import (
    MAXIMUM_LIKELIHOOD,
    SMOOTH_LIKELIHOOD,
    LikelihoodFit,
    log_likelihoods,
    maximize_likelihood,
)
from hrpursuit.core.manifolds import normalize_rows, polar, random_orthogonal
from hrpursuit.core.protocols import Array, Callback, Rows
from hrpursuit.core.search import anneal
from hrpursuit.core.settle import without_leaks
from hrpursuit.core.spike_slab import (
    SPIKE_AND_SLAB,
    SpikeSlab,
    evidence,
    fit_spike_slab,
    in_other_units,
    initial_model,
    lasso_dictionary,
)
from hrpursuit.core.team import Team
from hrpursuit.rows import ArrayRows, MappedRows, whitening
from hrpursuit.schemes.dependence import codes_are_independent
from hrpursuit.schemes.evidence import distinct_live, is_live
from hrpursuit.schemes.finish_l1 import finish_l1
from hrpursuit.schemes.finished import Finished
from hrpursuit.schemes.stages import Stopper

_SAMPLE_ROWS, _SAMPLE_ROWS_PER_FEATURE = 5000, 100  # Newton steps begin on the larger of the two
_STEPS_ON_SAMPLE, _STEPS_ON_ALL = 30, 4
_STEPS_WITH_HEAVY_TAILS = 30  # on all rows: with a few huge codes Newton steps converge slowly
_FIRST_STEPS = 6  # after which codes that are dependent are not worth more
_EM_ROWS, _EM_ROWS_PER_FEATURE = 1000, 20
_EM_STEPS_ON_SAMPLE, _EM_STEPS_ON_ALL = 20, 5
_FIXED_POINT_STEPS, _FIXED_POINT_TOL = 30, 1e-2
_CLEARLY_WORSE = 0.02  # per feature, of the evidence: data far from spike-and-slab codes in noise
_MOST_REPEATED = 0.01  # share of repeated rows up to which all rows count as evidence
#: Log-likelihood of all rows over that of Gaussian codes, per pair of atoms: below this, densities are fitted to
#: chance, and a smooth one does better. Measured on sparse codes at 0 and 10 dB with 10 to 50 rows per
#: feature: from 2 to 4 the error falls by 4 to 17% with the smooth one, at 6 by 1%, at 11 it rises by a third.
_LEAST_GAIN = 5.0
#: The same per code and row, .07 for Laplace codes: nearer to Gaussian ones than this, what is fitted is the grid of
#: the histogram. Sparse codes at -3 dB are below, and a smooth density is better by 1 to 6%; at -6 dB fourfold.
_LEAST_GAIN_PER_CODE = 0.02


@dataclass(frozen=True)
class _Likeliest:
    """An encoder, with its log-likelihood on the evidence and that of the best start."""

    encoder: Array
    n_iter: int
    before: float
    value: float


@dataclass(frozen=True)
class _Evidence:
    """The rows that a finish learns from: a sample in memory of distinct rows, not zero, and all rows where there are
    more and few of them repeat.
    """

    sample: Array
    rows: Rows
    all: Rows | None

    @property
    def most(self) -> Rows:
        """All rows that count."""
        return self.rows if self.all is None else self.all

    def has_heavy_tails(self, encoder: Array) -> bool:
        return has_heavy_tails(self.sample @ encoder.T)

    @classmethod
    def draw(cls, rows: Rows, seed: int) -> "_Evidence":
        n = max(_SAMPLE_ROWS, _SAMPLE_ROWS_PER_FEATURE * rows.n_features)
        X = rows.sample(n, seed)
        live, first = np.flatnonzero(is_live(X)), distinct_live(X)
        distinct = len(first) >= (1 - _MOST_REPEATED) * len(live)
        sample = X[live] if distinct else X[first]
        more = distinct and len(X) < (rows.n_samples or 0)
        return cls(sample, ArrayRows(sample), rows if more else None)


def _fixed_point(X: Array, seed: int) -> Array:
    """FastICA's symmetric fixed point for tanh (Hyvarinen 1999) on white rows, from a random orthogonal start."""
    n = X.shape[1]
    X = X.astype(np.float32)
    W = random_orthogonal(n, np.random.default_rng([seed, 3]))
    for _ in range(_FIXED_POINT_STEPS):
        T = np.tanh(X @ W.T.astype(np.float32))
        W_next = polar(T.T @ X / len(X) - (1 - np.mean(T * T, axis=0))[:, None] * W)
        turned = float(np.abs(np.abs(np.sum(W_next * W, axis=1)) - 1).max())
        W = W_next
        if turned < _FIXED_POINT_TOL:
            break
    return W


def _independent_start(X: Array, seed: int, orthogonal: bool) -> list[Array]:
    """The fixed point as an encoder; none where the rows lack rank."""
    values = np.linalg.eigvalsh(X.T @ X)
    if len(X) <= X.shape[1] or not values[0] > 1e-12 * values[-1]:
        return []
    P = whitening(X.T @ X, len(X))
    B = _fixed_point(X @ P, seed) @ P
    return [polar(B) if orthogonal else B]


def _by_equal_rows(sample: Array, start: Array, *, orthogonal: bool, stopper: Stopper) -> Array:
    """Encoder after Newton steps on the rows divided by the norm of their codes: with heavy tails a start that is near
    the likeliest one, since a huge code shows exactly which part of the others it leaks into.
    """
    norms = np.linalg.norm(in_units_of_columns(sample @ start.T), axis=1)
    equal = sample / np.where(norms > 0, norms, 1.0)[:, None]
    return maximize_likelihood(
        ArrayRows(equal), start, orthogonal=orthogonal, max_iter=_STEPS_ON_SAMPLE, sample=equal,
        callback=stopper.callback,
    ).encoder  # fmt: skip


def _likeliest_on_sample(
    data: _Evidence, starts: list[Array], *, orthogonal: bool, lost: bool, seed: int, stopper: Stopper
) -> _Likeliest:
    """Newton steps on the sample from each start and, where the search was lost, from the fixed point of tanh."""
    tried = [(B, True) for B in (*starts, *(_independent_start(data.sample, seed, orthogonal) if lost else []))]
    if data.has_heavy_tails(starts[0]):
        tried[0] = (_by_equal_rows(data.sample, starts[0], orthogonal=orthogonal, stopper=stopper), False)
    fits = []
    for B, is_rough in tried:
        if stopper.stopped:
            break
        fits.append(
            maximize_likelihood(
                data.rows,
                B,
                orthogonal=orthogonal,
                max_iter=_STEPS_ON_SAMPLE if is_rough else 2 * _STEPS_ON_SAMPLE,
                anneal=is_rough,
                sample=data.sample,
                callback=stopper.callback,
            )
        )
    encoders = [*starts, *(fit.encoder for fit in fits)]
    values = log_likelihoods(data.rows, data.sample, encoders)
    k = int(np.argmax(values))
    n_iter = fits[k - len(starts)].n_iter if k >= len(starts) else 0
    return _Likeliest(encoders[k], n_iter, max(values[: len(starts)]), values[k])


def _likeliest_on_all(
    data: _Evidence, best: _Likeliest, starts: list[Array], orthogonal: bool, stopper: Stopper
) -> _Likeliest:
    """Newton steps over all rows, from the likeliest there of the starts and the result on the sample."""
    if data.all is None or stopper.stopped:
        return best
    encoders = [*starts, best.encoder]
    values = log_likelihoods(data.all, data.sample, encoders)
    k = int(np.argmax(values))
    fit = maximize_likelihood(
        data.all,
        encoders[k],
        orthogonal=orthogonal,
        max_iter=_STEPS_WITH_HEAVY_TAILS if data.has_heavy_tails(starts[0]) else _STEPS_ON_ALL,
        anneal=False,
        sample=data.sample,
        callback=stopper.callback,
    )
    (value,) = log_likelihoods(data.all, data.sample, [fit.encoder])
    encoder, value = (fit.encoder, value) if value > values[k] else (encoders[k], values[k])
    return _Likeliest(encoder, best.n_iter + fit.n_iter, max(values[:-1]), value)


def _is_overfitted(rows: Rows, sample: Array, W: Array) -> bool:
    """Whether densities fitted to the codes X @ W.T would overfit, or hardly differ from Gaussian ones."""
    (value,) = log_likelihoods(rows, sample, [W])
    n, n_codes = rows.n_samples or len(sample), len(W)
    variances = np.einsum("ij,jk,ik->i", W, gram(rows) / n, W)
    variances = variances[variances > 0]
    gain = value + 0.5 * float(np.log(2 * np.pi * np.e * variances).sum())
    n_pairs = max(1, n_codes * (n_codes - 1) // 2)
    return n * gain < _LEAST_GAIN * n_pairs or gain < _LEAST_GAIN_PER_CODE * n_codes


def _smoothly_likeliest(rows: Rows, sample: Array, starts: list[Array], seed: int, stopper: Stopper) -> LikelihoodFit:
    """The likeliest result of Newton steps with a smooth density, from each orthogonal start and from one that is
    annealed; `before` is that of the likeliest start.
    """
    fits: list[LikelihoodFit] = []
    for W in (*starts, anneal(sample, starts[0], seed)):
        if fits and stopper.stopped:
            break
        fits.append(
            maximize_likelihood(
                rows,
                W,
                orthogonal=True,
                max_iter=_STEPS_ON_SAMPLE,
                smooth=True,
                sample=sample,
                callback=stopper.callback,
            )
        )
    best = max(fits, key=lambda fit: fit.log_likelihood)
    return replace(best, before=max(fit.before for fit in fits[: len(starts)]))


def _look_dependent(data: _Evidence, start: Array, *, orthogonal: bool, stopper: Stopper) -> bool:
    """Whether the codes are dependent already after a few Newton steps from the first start."""
    fit = maximize_likelihood(
        data.rows, start, orthogonal=orthogonal, max_iter=_FIRST_STEPS, sample=data.sample, callback=stopper.callback
    )
    return not stopper.stopped and not codes_are_independent(data.sample @ fit.encoder.T)


def finish_orthogonal(
    rows: Rows,
    starts: list[Array],
    *,
    lost: bool,
    seed: int,
    team: Team | None = None,
    callback: Callback | None = None,
) -> Finished:
    """Finish an orthogonal dictionary: maximum likelihood, or the least l1 norm where its codes are not independent.

    The log-likelihood of the result, with densities fitted to its codes, is never below that of any start: over all
    rows, or over the distinct rows of a sample where more than 1% of them repeat. Nor is the l1 norm above any start's,
    where that was minimised. Where rows are so few that fitted densities would overfit, the likelihood is that of one
    smooth density for all columns that are not sub-Gaussian.

    Parameters
    ----------
    rows : Rows
        Of full rank.
    starts : list of arrays of shape (n_features, n_features)
        Orthogonal dictionaries: the result of the search, and others such as the user's.
    lost : bool
        Whether the search found no order. The fixed point of tanh on white rows is then tried as well.
    seed : int
    team : Team or None, default=None
        Threads of the plane sweeps for the l1 norm.
    callback : callable or None, default=None
        Seen at each step; returning True ends the finish with the best so far.
    """
    data = _Evidence.draw(rows, seed)
    if len(data.sample) == 0:
        return Finished(starts[0], starts[0].T, 0, 0.0, 0.0, MAXIMUM_LIKELIHOOD)
    stopper = Stopper(callback)
    if _look_dependent(data, starts[0], orthogonal=True, stopper=stopper):
        return finish_l1(rows, starts, seed=seed, team=team, callback=callback)
    best = _likeliest_on_sample(data, starts, orthogonal=True, lost=lost, seed=seed, stopper=stopper)
    if not stopper.stopped and not codes_are_independent(data.sample @ best.encoder.T):
        return finish_l1(rows, [*starts, best.encoder], seed=seed, team=team, callback=callback)
    best = _likeliest_on_all(data, best, starts, True, stopper)
    if not stopper.stopped and _is_overfitted(data.most, data.sample, best.encoder):
        fit = _smoothly_likeliest(data.most, data.sample, [*starts, best.encoder], seed, stopper)
        W, n_iter = fit.encoder, best.n_iter + fit.n_iter
        return Finished(W, W.T, n_iter, fit.before, fit.log_likelihood, SMOOTH_LIKELIHOOD)
    W = best.encoder
    return Finished(W, W.T, best.n_iter, best.before, best.value, MAXIMUM_LIKELIHOOD)


def _atoms(B: Array) -> Array:
    return normalize_rows(np.linalg.inv(B).T)


def finish_complete(
    rows: Rows,
    starts: list[Array],
    *,
    lost: bool,
    seed: int,
    team: Team | None = None,
    callback: Callback | None = None,
) -> Finished:
    """Finish a complete dictionary: maximum likelihood, or spike-and-slab EM where its evidence is higher.

    Parameters as in `finish_orthogonal`; `starts` are invertible encoders, codes X @ start.T. The same guarantee holds,
    with the evidence of spike and slab in place of the log-likelihood where that was kept; with a smooth density it is
    that of the starts made orthogonal for white rows.
    """
    stopper = Stopper(callback)
    data = _Evidence.draw(rows, seed)
    if len(data.sample) == 0:
        components = _atoms(starts[0])
        return Finished(components, np.linalg.inv(components), 0, 0.0, 0.0, MAXIMUM_LIKELIHOOD)
    best = _likeliest_on_sample(data, starts, orthogonal=False, lost=lost, seed=seed, stopper=stopper)
    if not stopper.stopped and not codes_are_independent(data.sample @ best.encoder.T):
        return _l1_of_white_rows(rows, [*starts, best.encoder], seed, team, callback)
    moved = best.encoder if stopper.stopped else without_leaks(data.sample, best.encoder)
    if moved is not best.encoder:
        again = _likeliest_on_sample(
            data, [best.encoder, moved], orthogonal=False, lost=False, seed=seed, stopper=stopper
        )
        best = replace(again, n_iter=best.n_iter + again.n_iter, before=best.before)
    best = _likeliest_on_all(data, best, starts, False, stopper)
    components = _atoms(best.encoder)
    done = Finished(components, np.linalg.inv(components), best.n_iter, best.before, best.value, MAXIMUM_LIKELIHOOD)
    if not stopper.stopped:
        done = _in_noise(data, best.encoder, done, stopper)
    if stopper.stopped or done.method == SPIKE_AND_SLAB:
        return done
    return _smooth_if_overfitted(data, starts, best, done, seed, stopper)


def _smooth_if_overfitted(
    data: _Evidence, starts: list[Array], best: _Likeliest, done: Finished, seed: int, stopper: Stopper
) -> Finished:
    """Where fitted densities would overfit: a smooth one, and rotations of white rows only, half as many unknowns."""
    G = gram(data.most)
    values = np.linalg.eigvalsh(G)
    if not values[0] > 1e-12 * values[-1]:
        return done
    P = whitening(G, data.most.n_samples or len(data.sample))
    rows, sample, inverse = MappedRows(data.most, P), data.sample @ P, np.linalg.inv(P)
    white = [polar(B @ inverse) for B in (best.encoder, *starts)]
    if not _is_overfitted(rows, sample, white[0]):
        return done
    fit = _smoothly_likeliest(rows, sample, white, seed, stopper)
    components, log_det = _atoms(fit.encoder @ P), float(np.linalg.slogdet(P)[1])
    return Finished(
        components,
        np.linalg.inv(components),
        done.n_iter + fit.n_iter,
        fit.before + log_det,  # of the rows as they were given
        fit.log_likelihood + log_det,
        SMOOTH_LIKELIHOOD,
    )


def _l1_of_white_rows(
    rows: Rows, starts: list[Array], seed: int, team: Team | None, callback: Callback | None
) -> Finished:
    """The least l1 norm over orthogonal dictionaries of the whitened rows."""
    P = whitening(gram(rows), max(1, rows.n_samples or 0))
    inverse = np.linalg.inv(P)
    done = finish_l1(MappedRows(rows, P), [polar(B @ inverse) for B in starts], seed=seed, team=team, callback=callback)
    components = _atoms(done.components @ P)
    return replace(done, components=components, encoder=np.linalg.inv(components))


def _in_noise(data: _Evidence, B: Array, done: Finished, stopper: Stopper) -> Finished:
    """Spike-and-slab EM on a small sample and then on the evidence; `done` where that is no more likely."""
    n = data.sample.shape[1]
    step = -(-len(data.sample) // max(_EM_ROWS, _EM_ROWS_PER_FEATURE * n))
    X = data.sample[::step].astype(np.float64)
    units = np.sqrt(np.mean(X * X, axis=0))
    if not (units > 0).all():
        return done
    (value,) = log_likelihoods(ArrayRows(X), X, [B])
    value += float(np.log(units).sum())  # of the scaled sample
    X = X / units
    sample = ArrayRows(X)
    models = [_em(sample, done.components / units, 1.0, stopper)]
    bounds = [evidence(sample, models[0])]
    if bounds[0] < value - _CLEARLY_WORSE * n:
        return done
    if np.linalg.eigvalsh(gram(sample) / len(X))[0] < 2 * models[0].noise.mean():
        loud = X[np.argsort(np.linalg.norm(X, axis=1))[-4 * n :: 4]]
        if len(loud) == n:
            models.append(_em(sample, loud, 0.3, stopper))
            bounds.append(evidence(sample, models[1]))
    k = int(np.argmax(bounds))
    if bounds[k] <= value:
        return done
    model = in_other_units(models[k], units)
    rows = data.most
    fit = fit_spike_slab(rows, model, max_iter=_EM_STEPS_ON_ALL, callback=stopper.callback)
    model, bound = max(((m, evidence(rows, m)) for m in (model, fit.model)), key=lambda found: found[1])
    if bound <= done.objective_after:
        return done
    return Finished(
        model.components,
        np.linalg.pinv(model.components),
        done.n_iter + fit.n_iter,
        done.objective_before,
        bound,
        SPIKE_AND_SLAB,
        float(np.sqrt(model.noise.mean())),
    )


def _em(sample: ArrayRows, atoms: Array, penalty: float, stopper: Stopper) -> SpikeSlab:
    n = sample.n_features
    model = initial_model(lasso_dictionary(sample.X, atoms, penalty), np.ones(n))
    return fit_spike_slab(sample, model, max_iter=_EM_STEPS_ON_SAMPLE, callback=stopper.callback).model
