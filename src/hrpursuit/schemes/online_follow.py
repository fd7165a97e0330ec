"""How the online learner follows the rows of a step: running sums with forgetting, and what each mode makes of them."""

import numpy as np

from hrpursuit.core.coding import keep_above, keep_largest, refit_on_support
from hrpursuit.core.manifolds import OrthogonalGroup, normalize_rows, polar, polar_near
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.procrustes import noise_level
from hrpursuit.core.protocols import Array
from hrpursuit.schemes.online_state import OnlineState

_THRESHOLD = HRPOptions().threshold
_ALTERNATIONS = 10  # on the window, when a mode begins
_TAIL = 0.88  # rms of a unit Gaussian within two standard deviations
_MOMENTUM = 0.8  # of the mean subgradient, per full step
_STAGE_TWO_STEP, _STAGE_TWO_DELAY = 10.0, 30.0  # steps of 10 / (30 + steps remembered), for data of unit rms
_SMALLEST_SHARE = 0.25  # of the rms of its column, that a code must have to count in noise
_SMALL_STEP = 1e-3
_WORST_CONDITION = 1e8


def remember(total: Array, weight: float, more: Array, n_rows: int, forgetting: float) -> tuple[Array, float]:
    """A running sum over rows and the rows it stands for, the older ones fading."""
    fade = forgetting**n_rows
    return fade * total + more, fade * weight + n_rows


def set_dictionary(state: OnlineState, W: Array, P: Array | None) -> None:
    """Take an orthogonal dictionary (of whitened data with P) as the present one."""
    state.W = W
    state.coder = W.T.copy() if P is None else P @ W.T


def unit_atoms(coder: Array, complete: bool) -> tuple[Array, Array]:
    """Unit atoms, one a row, and the encoder that belongs to them."""
    if not complete:
        return coder.T.copy(), coder
    atoms = np.linalg.inv(coder)
    norms = np.linalg.norm(atoms, axis=1)
    return atoms / norms[:, None], coder * norms


def begin_noisy(state: OnlineState, P: Array | None) -> None:
    """Fit the dictionary to the window with the noise that its codes show, and begin the running sum with it."""
    S = state.held @ state.coder
    alive = np.abs(S).max(axis=0) > 0  # atoms of dead features say nothing of the noise
    state.noise = noise_level(S[:, alive]) if alive.any() else 0.0
    set_dictionary(state, fit_noisy_window(state, P), P)
    state.gradient = _thresholded(state, state.held @ state.coder).T @ state.held
    state.weight = float(state.n_held)


def fit_noisy_window(state: OnlineState, P: Array | None) -> Array:
    """Hard threshold and Procrustes on the window alone, from the present dictionary."""
    W, coder = state.W, state.coder
    for _ in range(_ALTERNATIONS):
        W_next = polar(_whitened(_thresholded(state, state.held @ coder).T @ state.held, P))
        step = float(np.linalg.norm(W_next - W))
        W, coder = W_next, W_next.T if P is None else P @ W_next.T
        if step < _SMALL_STEP * np.sqrt(len(W)):
            break
    return W


def begin_fixed(state: OnlineState) -> None:
    """Begin the running sums of codes with a fixed number of nonzeros with the window."""
    state.gradient[:], state.code_gram[:], state.weight = 0.0, 0.0, 0.0
    _sum_fixed(state, state.held, _fixed_codes(state, state.held, state.coder))
    _propose_fixed(state)


def begin_dense(state: OnlineState) -> None:
    """Begin Stage Two from the present dictionary."""
    state.gradient[:], state.weight = 0.0, 0.0


def follow(state: OnlineState, R: Array, S: Array, size: Array, P: Array | None) -> None:
    """Move the dictionary by the rows R of a step, whose codes are S with magnitudes `size`; S is overwritten."""
    if state.mode == "starting":
        _add(state, LpNorm(3).score(S, out=size).T @ R, len(R))
        set_dictionary(state, polar(_whitened(state.gradient, P)), P)
    elif state.mode == "noisy":
        _follow_noise_level(state, size)
        _add(state, _thresholded(state, S).T @ R, len(R))
        set_dictionary(state, polar(_whitened(state.gradient, P)), P)
    elif state.mode == "dense":
        _stage_two(state, R, S, P)
    elif state.mode == "fixed":
        _follow_fixed(state, R)


def _whitened(G: Array, P: Array | None) -> Array:
    return G if P is None else G @ P


def _add(state: OnlineState, more: Array, n_rows: int) -> None:
    state.gradient, state.weight = remember(state.gradient, state.weight, more, n_rows, state.settings.forgetting)


def _thresholded(state: OnlineState, S: Array) -> Array:
    """Codes above the noise, and above a share of the rms of their column, in place.

    The share is for a dictionary that drifts without noise: what its lag adds to the codes looks like noise with heavy
    tails, and codes that are kept for true hold the dictionary where it is.
    """
    rms = np.sqrt(np.einsum("ij,ij->j", S, S) / len(S))
    return keep_above(S, np.maximum(_THRESHOLD * state.noise, _SMALLEST_SHARE * rms))


def _follow_noise_level(state: OnlineState, size: Array) -> None:
    """One step of the fixed point of `noise_level`: it comes along with the stream."""
    inside = size[size < 2 * state.noise]
    inside = inside[inside > 0]
    if inside.size:
        state.noise = float(np.sqrt(np.vdot(inside, inside) / inside.size)) / _TAIL


def _stage_two(state: OnlineState, R: Array, S: Array, P: Array | None) -> None:
    """A step along the running mean of the subgradient of the l1 norm, as short as there are steps in memory."""
    n_rows, step_rows = len(R), state.settings.step_rows
    rms = float(np.sqrt(np.vdot(S, S) / S.size))
    G = _whitened(np.sign(S, out=S).T @ R, P) / (n_rows * rms)
    momentum = _MOMENTUM ** (n_rows / step_rows)
    state.gradient = momentum * state.gradient + (1 - momentum) * G
    state.weight = state.settings.forgetting**n_rows * state.weight + n_rows
    tau = _STAGE_TWO_STEP / (_STAGE_TWO_DELAY + state.weight / step_rows) * min(1.0, n_rows / step_rows)
    set_dictionary(state, polar_near(state.W - tau * OrthogonalGroup().tangent(state.W, state.gradient)), P)


def _fixed_codes(state: OnlineState, R: Array, coder: Array) -> Array:
    """The largest codes of each row, as many as asked for; of a complete dictionary fitted to the row."""
    n_nonzero = state.settings.n_nonzero or len(coder)
    S = keep_largest(R @ coder, n_nonzero)
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
        state.trial, state.has_trial = polar(state.gradient), True
        return
    ridge = 1e-10 * np.trace(state.code_gram) / n
    atoms = normalize_rows(np.linalg.solve(state.code_gram + ridge * np.eye(n), state.gradient))
    state.has_trial = bool(np.linalg.cond(atoms) < _WORST_CONDITION)
    if state.has_trial:
        state.trial = np.linalg.inv(atoms).T


def _follow_fixed(state: OnlineState, R: Array) -> None:
    """Keep the better one of the present dictionary and the proposed one, by the error on rows new to both."""
    S = _fixed_codes(state, R, state.coder)
    if state.has_trial:
        S_trial = _fixed_codes(state, R, state.trial.T)
        if _error(R, S_trial, state.trial.T) < _error(R, S, state.coder):
            state.W, state.coder, S = state.trial, state.trial.T.copy(), S_trial
    _sum_fixed(state, R, S)
    _propose_fixed(state)


def _error(R: Array, S: Array, coder: Array) -> float:
    residual = R - S @ np.linalg.inv(coder)
    return float(np.vdot(residual, residual))
