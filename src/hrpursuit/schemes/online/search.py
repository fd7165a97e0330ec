"""Search on the window of the online learner."""

from dataclasses import dataclass, replace

import numpy as np

from hrpursuit.core.certificate import Certificate, most_small, unchecked
from hrpursuit.core.likelihood import maximize_likelihood
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.planes import Planes
from hrpursuit.core.protocols import Array
from hrpursuit.core.search import Outcome
from hrpursuit.core.team import Team
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.online.stream import Stream
from hrpursuit.schemes.setup import EXACT, Setup, run_search
from hrpursuit.schemes.stages import StageLog, Stopper
from hrpursuit.schemes.working_sample import WorkingSample

_PATIENCE = 150, 300, None  # of a full search: without an exact atom it is better to wait for more rows
_NEWTON_STEPS, _GREEDY_SWEEPS = 12, 3  # on the window, where nothing is sparse: what follows goes on from there
_WORST_CONDITION = 1e8


@dataclass(frozen=True)
class Found:
    """What a search on the window found.

    Attributes
    ----------
    outcome : Outcome
    coder : array of shape (n_features, n_features)
        The codes are (X - intercept) @ coder.
    intercept : array of shape (n_features,)
        Offset of the rows: of exact ones as they tell it, else their running mean; zeros unless one is learned.
    certificate : Certificate
        Of an exact dictionary on the rows that the search looked at, zero level in the unit of the data.
    """

    outcome: Outcome
    coder: Array
    intercept: Array
    certificate: Certificate

    @property
    def is_exact(self) -> bool:
        return self.outcome in EXACT


def search_window(stream: Stream, patience: int | None, *, warm: bool) -> Found | None:
    """Search the window for a dictionary, from the present one; None where it has nothing but zeros.

    Parameters
    ----------
    stream : Stream
        The number of searches seeds the next one, so that no random generator has to be kept.
    patience : int or None
        Most steps, for a search that only looks for sparsity; None leaves it to the search, and what is not sparse is
        taken to a local minimum.
    warm : bool
        Whether to look at the present dictionary first.
    """
    stream.n_searches += 1
    seed = int(np.random.default_rng([stream.settings.seed, stream.n_searches]).integers(2**31))
    options = HRPOptions(patience=_PATIENCE)
    few, many = options.rows_per_feature
    if patience is not None:  # it is over before it would go on with the larger sample
        options = HRPOptions(patience=(patience, patience, patience), rows_per_feature=(few, few))
    sample, held = _working_sample(stream, seed), stream.held()
    if not sample.draw(few):
        return None
    setup = Setup(options, seed, Team(1), Stopper(None), StageLog())
    found = run_search(sample, sample.start(stream.dictionary()[0]), warm and sample.span is None, setup)
    if found.outcome is Outcome.SETTLED and found.n_steps >= options.patience[0]:
        sample.draw(many)  # to check it on
    outcome, B, offset = found.outcome, found.components, stream.settings.offset
    if outcome not in EXACT:
        if outcome is Outcome.LOST and patience is None:
            B = _finish(sample.rows_less(stream.mean) if offset else sample.X, B)
        B = sample.encoding(B)
    components, encoder = sample.dictionary(B)
    intercept = sample.offset_row(B) if offset and outcome in EXACT else stream.mean
    if sample.complete:
        if np.linalg.cond(components) > _WORST_CONDITION:
            return None
        codes = (held - intercept if offset else held) @ encoder
        encoder = encoder / np.sqrt(np.maximum(np.mean(codes * codes, axis=0), np.finfo(float).tiny))
    if outcome not in EXACT:
        return Found(outcome, encoder.copy(), intercept, unchecked(len(encoder)))
    certificate = sample.check(B, intercept if offset else None)
    stretch = np.linalg.norm(encoder * sample.units[:, None], axis=0) / np.linalg.norm(encoder, axis=0)
    certificate = replace(certificate, zero_level=certificate.zero_level * float(stretch.max()))  # in data units
    return Found(outcome, encoder.copy(), intercept, certificate)


def _working_sample(stream: Stream, seed: int) -> WorkingSample:
    settings = stream.settings
    return WorkingSample(ArrayRows(stream.held()), seed, complete=settings.complete, offset=settings.offset)


def _finish(X: Array, W: Array) -> Array:
    """An orthogonal dictionary for rows that are not sparse: some Newton steps on the likelihood of a smooth density,
    since rows are few, then nearly a local minimum of the l1 norm in every plane. The first alone doubles the error of
    readings of sensors, whose codes depend on each other; the second alone often ends in a bad minimum.
    """
    fit = maximize_likelihood(ArrayRows(X), W, orthogonal=True, max_iter=_NEWTON_STEPS, smooth=True, sample=X)
    return Planes(X.astype(np.float32), fit.encoder, None).greedy(_GREEDY_SWEEPS)[0]


def has_exact_atom(stream: Stream) -> bool:
    """Whether some atom becomes exact on the window: far cheaper to see than to search."""
    sample = _working_sample(stream, 0)
    if not sample.draw(HRPOptions().rows_per_feature[0]):
        return False
    W = sample.start(stream.dictionary()[0])
    return sample.has_exact_atom(W[most_small(sample.X @ W.T)[0]])
