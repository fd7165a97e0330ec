"""The online learner: Stage One from the first rows on, search on a window of recent rows, then running sums that
follow the dictionary; a change is noticed by its codes, and starts over on rows that come after it.

It moves on at fixed numbers of rows (`OnlineSettings.rows_until_step`), so that its state does not depend on how the
stream was cut into batches.
"""

import copy
from dataclasses import dataclass

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.core.search import Outcome
from hrpursuit.schemes.online.following import Dense, Fixed, Noisy, fixed_where_asked
from hrpursuit.schemes.online.modes import Exact, Mode, Searching, Starting
from hrpursuit.schemes.online.search import Found
from hrpursuit.schemes.online.stream import OnlineSettings, Stream, start_of
from hrpursuit.schemes.online.watch import Step

_FIRST_WAIT = 16  # steps between two searches, where there is something to follow in between


@dataclass(kw_only=True)
class OnlineState(Stream):
    """The whole state of the learner: a stream, and the mode that it is in."""

    mode: Starting | Searching | Exact | Noisy | Dense | Fixed


def new_state(settings: OnlineSettings) -> OnlineState:
    """A learner that has seen nothing."""
    n = settings.n_features
    return OnlineState(**start_of(settings), mode=Starting(gradient=np.zeros((n, n))))


def take(state: OnlineState, X: Array) -> OnlineState:
    """The state after rows, any number of them, one after another. The state that was given stays as it is, so that
    whatever interrupts this loses nothing. Its matrices are small: for one thread of linear algebra.
    """
    state = copy.copy(state)
    state.mode = copy.copy(state.mode)
    start = 0
    while start < len(X):
        wanted = state.settings.rows_until_step(state.n_seen)
        if len(X) - start < wanted:
            state.collect(X[start:])
            break
        R = np.empty((state.n_pending + wanted, X.shape[1]))
        np.concatenate([*state.pending, X[start : start + wanted]], out=R)
        state.pending, state.n_seen = [], state.n_seen + wanted
        _step(state, R)
        start += wanted
    return state


def _step(state: OnlineState, R: Array) -> None:
    """Move on by the rows R: judge the dictionary by them, follow them, and search where it is due."""
    state.n_steps += 1
    if state.n_steps == 1 and state.settings.offset:
        state.intercept = R.mean(axis=0)
    step, mode = Step(state, R), state.mode
    is_live = step.is_live()
    if not (is_live or state.settings.offset):
        return
    changed = mode.watch(state, step) if is_live else None
    if changed is not None:
        state.mode = changed
        return  # some of these rows may be older than the change
    if mode.remembers:
        state.remember(step.rows)
    if is_live:
        mode.follow(state, step)
    if state.settings.offset and not mode.keeps_offset:
        state.intercept = state.mean
    state.hold(step.rows)
    following = mode.next(state)
    state.mode = _learn(state, following) if isinstance(following, Found) else following  # type: ignore[assignment]


def _learn(stream: Stream, found: Found) -> Mode:
    """Go on with what a search has found, in the mode that it calls for."""
    stream.intercept, stream.drift = found.intercept, 0.0
    if found.is_exact:
        stream.certificate = found.certificate
    else:
        stream.uncertify()
    if found.outcome is Outcome.LOST and stream.n_learned > 0:
        return Dense.begin(stream, trial=found.coder)
    stream.replace_dictionary(found.coder)
    stream.n_learned += 1
    if found.is_exact:
        return fixed_where_asked(stream, Exact.begin(stream))
    stream.wait = stream.countdown = max(stream.wait, _FIRST_WAIT)
    return fixed_where_asked(stream, Noisy.begin(stream)) if found.outcome is Outcome.NOISY else Dense.begin(stream)
