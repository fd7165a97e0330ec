"""How the online learner follows the rows of a step: running sums with forgetting, and what each mode makes of them.

The dictionary is turned from where it is, not computed anew: with G the running sum of score(S)^T R and M = G @ coder,
the polar factor of G lies off the present dictionary by nearly the rotation (M - M^T)_ij / (M_ii + M_jj), and steps
that follow each other find what is left. A polar factor at every step would cost more than all the rest.
"""

import numpy as np

from hrpursuit.core.coding import keep_largest, refit_on_support
from hrpursuit.core.manifolds import normalize_rows, polar, polar_near
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.procrustes import noise_level
from hrpursuit.core.protocols import Array
from hrpursuit.schemes.online.state import OnlineState

_THRESHOLD = 2.5  # standard deviations of the noise that a code must exceed to count
_SMALLEST_SHARE = 0.25  # of the rms of its column, that a code must have to count in noise
_ALTERNATIONS, _SMALL_TURN = 10, 1e-3  # on the window: most, and the rotation that is none
_TRIAL_ALTERNATIONS = 4  # for a trial, which begins close to where it ends
_SMALL_ENOUGH = 0.05
_SAME_WAY = 0.25  # cosine between two turns
_TAIL = 0.88  # rms of a unit Gaussian within two standard deviations
_NOISE_ROWS = 100  # of a step, to follow the noise level by
_MOMENTUM = 0.8  # of the mean subgradient, per full step
_STAGE_TWO_STEP, _STAGE_TWO_DELAY = 7.0, 30.0  # 7 / (30 + sqrt(10 steps remembered)) of a Newton step
_WHITEN_EVERY = 4  # steps: it moves little in one
_WORST_CONDITION = 1e8
_LEAST_VARIANCE = 1e-12  # of a direction, relative to the mean one; or features that die would take the coder with them


def remember(total: Array, weight: float, more: Array, n_rows: int, forgetting: float) -> tuple[Array, float]:
    """A running sum over rows and the rows it stands for, the older ones fading."""
    fade = forgetting**n_rows
    return fade * total + more, fade * weight + n_rows


def unit_atoms(coder: Array, complete: bool) -> tuple[Array, Array]:
    """Unit atoms, one a row, and the encoder that belongs to them."""
    if not complete:
        return coder.T.copy(), coder.copy()
    atoms = np.linalg.inv(coder)
    norms = np.linalg.norm(atoms, axis=1)
    return atoms / norms[:, None], coder * norms


def second_moment(state: OnlineState) -> Array:
    """Running mean of R^T R, kept from being singular."""
    C = state.moments / max(state.moments_weight, 1.0)
    return C + _LEAST_VARIANCE * float(np.trace(C)) / len(C) * np.eye(len(C))


def whiten_codes(state: OnlineState) -> None:
    """Move the coder of a complete dictionary a little, so that its codes have the identity for second moment."""
    C = second_moment(state)
    for _ in range(4):
        defect = state.coder.T @ C @ state.coder - np.eye(len(C))
        size = float(np.abs(defect).max())
        if not size < 0.5 / np.sqrt(len(C)):
            values, V = np.linalg.eigh(defect + np.eye(len(C)))
            root = (V / np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))) @ V.T
        else:
            root = np.eye(len(C)) - 0.5 * defect + 0.375 * (defect @ defect)  # of (1 + d)^(-1/2)
        state.coder = state.coder @ root
        if size < 0.05:  # what is left is of third order
            break


def begin_noisy(state: OnlineState) -> None:
    """Fit the dictionary to the window with the noise that its codes show, and begin the running sum with it."""
    S = state.held @ state.coder
    alive = np.abs(S).max(axis=0) > 0  # atoms of dead features say nothing of the noise
    state.noise = noise_level(S[:, alive]) if alive.any() else 0.0
    state.coder = fit_noisy_window(state, _ALTERNATIONS)
    S = state.held @ state.coder
    state.gradient = _thresholded(state, S, np.abs(S)).T @ state.held
    state.weight = float(state.n_held)


def fit_noisy_window(state: OnlineState, n_alternations: int = _TRIAL_ALTERNATIONS) -> Array:
    """Hard threshold and Procrustes on the window alone, from the present dictionary; returns the coder."""
    coder = state.coder
    for _ in range(n_alternations):
        S = state.held @ coder
        turn = _turn(_thresholded(state, S, np.abs(S)).T @ state.held, coder)
        coder = _turned(coder, turn, state.settings.complete)
        if np.linalg.norm(turn) < _SMALL_TURN * np.sqrt(len(turn)):
            break
    return coder


def begin_dense(state: OnlineState) -> None:
    """Begin Stage Two from the present dictionary."""
    state.gradient[:], state.weight = 0.0, 0.0


def begin_fixed(state: OnlineState) -> None:
    """Begin the running sums of codes with a fixed number of nonzeros with the window."""
    state.gradient[:], state.code_gram[:], state.weight = 0.0, 0.0, 0.0
    _sum_fixed(state, state.held, _fixed_codes(state, state.held, state.held @ state.coder, state.coder))
    _propose_fixed(state)


def follow_stage_one(state: OnlineState, R: Array, S: Array, P: Array | None) -> None:
    """A step of Stage One on the running gradient, over data whitened by P where that is given; S is overwritten."""
    _add(state, LpNorm(3).score(S, out=np.empty_like(S)).T @ R, len(R))
    W = polar(state.gradient if P is None else state.gradient @ P)
    state.coder = W.T.copy() if P is None else P @ W.T


def follow(state: OnlineState, R: Array, S: Array, size: Array) -> None:
    """Move the dictionary by the rows R of a step, whose codes are S with magnitudes `size`; S is overwritten."""
    complete = state.settings.complete
    if state.mode == "noisy":
        _follow_noise_level(state, size[:: max(1, len(size) // _NOISE_ROWS)])
        G = _thresholded(state, S, size).T @ R
        _hurry_if_turning(state, G)
        _add(state, G, len(R))
        state.coder = _turned(state.coder, _turn(state.gradient, state.coder), complete)
    elif state.mode == "dense":
        _stage_two(state, R, S, size)
    elif state.mode == "fixed":
        _follow_fixed(state, R, S)
    if complete and state.mode in ("noisy", "dense") and state.n_steps % _WHITEN_EVERY == 0:
        whiten_codes(state)


def _add(state: OnlineState, more: Array, n_rows: int) -> None:
    state.gradient, state.weight = remember(state.gradient, state.weight, more, n_rows, state.settings.forgetting)


def _turn(G: Array, coder: Array) -> Array:
    """The rotation, as a skew matrix, from the dictionary to the polar factor of G, to first order."""
    M = G @ coder
    h = np.diag(M)
    stiffness = h[:, None] + h
    return np.divide(M - M.T, stiffness, out=np.zeros_like(M), where=stiffness > 1e-9 * max(float(h.max()), 1e-300))


def _hurry_if_turning(state: OnlineState, G: Array) -> None:
    """Where two steps in a row turn the dictionary the same way it lags behind a drift: try the window alone now.

    Turns that are nothing but noise are at right angles, to one part in the root of their number.
    """
    M = G @ state.coder
    turn = M - M.T
    turn /= max(float(np.abs(turn).max()), np.finfo(float).tiny)  # whatever the unit of the data
    norms = float(np.linalg.norm(turn) * np.linalg.norm(state.last_turn))
    n_planes = len(turn) * (len(turn) - 1) / 2
    if norms > 0 and float(np.vdot(turn, state.last_turn)) > max(_SAME_WAY, 4 / np.sqrt(n_planes)) * norms:
        state.countdown = 0
    state.last_turn = turn


def _turned(coder: Array, turn: Array, complete: bool) -> Array:
    if not complete:
        return polar_near(coder.T + turn @ coder.T).T.copy()
    if np.abs(turn).max() < _SMALL_ENOUGH:  # no rotation to second order; `whiten_codes` makes up for it
        return coder + coder @ turn.T
    return coder @ polar_near(np.eye(len(turn)) + turn).T


def _thresholded(state: OnlineState, S: Array, size: Array) -> Array:
    """Codes above the noise, and above a share of the rms of their column, in place.

    The share is for a dictionary that drifts without noise: what its lag adds to the codes looks like noise with heavy
    tails, and codes that are kept for true hold the dictionary where it is.
    """
    rms = np.sqrt(np.einsum("ij,ij->j", S, S) / len(S))
    return np.multiply(S, size >= np.maximum(_THRESHOLD * state.noise, _SMALLEST_SHARE * rms), out=S)


def _follow_noise_level(state: OnlineState, size: Array) -> None:
    """One step of the fixed point of `noise_level`: it comes along with the stream."""
    inside = size[(size < 2 * state.noise) & (size > 0)]
    if inside.size:
        state.noise = float(np.sqrt(np.vdot(inside, inside) / inside.size)) / _TAIL


def _stage_two(state: OnlineState, R: Array, S: Array, size: Array) -> None:
    """A step along the running mean of the subgradient of the l1 norm, as short as there are steps in memory.

    In each plane it is measured by the curvature that codes with a Laplace density would give, v_i / a_j + v_j / a_i -
    a_i - a_j with a the mean magnitude and v the mean square of their columns; or atoms that are much stronger than
    others would be thrown about while these stand still. At least a_i + a_j, as where all are alike.
    """
    n_rows, step_rows = len(R), state.settings.step_rows
    a = np.full(n_rows, 1 / n_rows) @ size
    v = np.einsum("ij,ij->j", S, S) / n_rows
    momentum = _MOMENTUM ** (n_rows / step_rows)
    G = np.copysign(1.0, S, out=S).T @ R  # five times as fast as the sign; a code that is 0 is rare here
    state.gradient = momentum * state.gradient + (1 - momentum) / n_rows * G
    state.weight = state.settings.forgetting**n_rows * state.weight + n_rows
    tau = _STAGE_TWO_STEP / (_STAGE_TWO_DELAY + np.sqrt(10 * state.weight / step_rows)) * min(1.0, n_rows / step_rows)
    M = state.gradient @ state.coder
    spread = np.outer(v, 1 / np.maximum(a, np.finfo(float).tiny))
    least = a[:, None] + a
    curvature = np.maximum(spread + spread.T - least, least)
    turn = np.divide(-tau * (M - M.T), curvature, out=np.zeros_like(M), where=curvature > 0)
    state.coder = _turned(state.coder, turn, state.settings.complete)


def _fixed_codes(state: OnlineState, R: Array, S: Array, coder: Array) -> Array:
    """The largest of the codes S of each row, as many as asked for; of a complete dictionary fitted to the row."""
    n_nonzero = state.settings.n_nonzero or len(coder)
    keep_largest(S, n_nonzero)
    if state.settings.complete and n_nonzero < len(coder):
        return refit_on_support(R, S, np.linalg.inv(coder), n_nonzero)
    return S


def _sum_fixed(state: OnlineState, R: Array, S: Array) -> None:
    if state.settings.complete:
        state.code_gram = state.settings.forgetting ** len(R) * state.code_gram + S.T @ S
    _add(state, S.T @ R, len(R))


def _propose_fixed(state: OnlineState) -> None:
    """The dictionary that fits the running sums best; it has to prove itself on the next rows."""
    n = len(state.coder)
    if not state.settings.complete:
        state.trial, state.has_trial = _turned(state.coder, _turn(state.gradient, state.coder), False), True
        return
    ridge = 1e-10 * np.trace(state.code_gram) / n
    atoms = normalize_rows(np.linalg.solve(state.code_gram + ridge * np.eye(n), state.gradient))
    state.has_trial = bool(np.linalg.cond(atoms) < _WORST_CONDITION)
    if state.has_trial:
        state.trial = np.linalg.inv(atoms)


def _follow_fixed(state: OnlineState, R: Array, S: Array) -> None:
    """Keep the better one of the present dictionary and the proposed one, by the error on rows new to both."""
    S = _fixed_codes(state, R, S, state.coder)
    if state.has_trial:
        S_trial = _fixed_codes(state, R, R @ state.trial, state.trial)
        if _error(state, R, S_trial, state.trial) < _error(state, R, S, state.coder):
            state.coder, S = state.trial.copy(), S_trial
    _sum_fixed(state, R, S)
    _propose_fixed(state)


def _error(state: OnlineState, R: Array, S: Array, coder: Array) -> float:
    """Squared error of the rows for codes S; of an orthogonal dictionary up to a constant."""
    if not state.settings.complete:
        return -float(np.vdot(S, S))
    residual = R - S @ np.linalg.inv(coder)
    return float(np.vdot(residual, residual))
