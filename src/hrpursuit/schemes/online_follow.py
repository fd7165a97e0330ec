"""How the online learner follows the rows of a step: running sums with forgetting, and what each mode makes of them."""

import numpy as np

from hrpursuit.core.coding import keep_above, keep_largest, refit_on_support
from hrpursuit.core.manifolds import OrthogonalGroup, normalize_rows, polar, polar_near
from hrpursuit.core.objectives import LpNorm
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.procrustes import hard_threshold_procrustes, noise_level, thresholded_block
from hrpursuit.core.protocols import Array
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.fixed_sparsity import alternate_complete
from hrpursuit.schemes.online_state import OnlineState
from hrpursuit.schemes.stages import StageLog, Stopper

_THRESHOLD = HRPOptions().threshold
_ALTERNATIONS = 10  # on the window, when a mode begins
_TAIL = 0.88  # rms of a unit Gaussian within two standard deviations
_MOMENTUM = 0.8  # of the mean subgradient, per full step
_STAGE_TWO_STEP, _STAGE_TWO_DELAY = 5.0, 10.0  # steps of 5 / (10 + steps remembered), for data of unit rms
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
    whitened = state.held if P is None else state.held @ P
    state.noise = noise_level((whitened @ state.W.T)[:, _alive(state)])
    rows = ArrayRows(whitened)
    threshold = _THRESHOLD * state.noise
    W = hard_threshold_procrustes(rows, state.W, threshold=threshold, max_iter=_ALTERNATIONS).components
    set_dictionary(state, W, P)
    state.gradient = thresholded_block(state.held, state.coder.T, None, threshold)[0]
    state.weight = float(state.n_held)


def begin_fixed(state: OnlineState, P: Array | None) -> None:
    """Fit the dictionary to so many codes a row of the window, and begin the running sums with it."""
    n_nonzero = _n_nonzero(state)
    if P is None:
        rows = ArrayRows(state.held)
        W = hard_threshold_procrustes(rows, state.W, n_nonzero=n_nonzero, max_iter=_ALTERNATIONS).components
        set_dictionary(state, W, None)
    else:
        components = unit_atoms(state.coder, True)[0]
        rows = ArrayRows(state.held)
        components = alternate_complete(rows, components, n_nonzero, _ALTERNATIONS, Stopper(None), StageLog())
        state.coder = np.linalg.inv(components)
    state.gradient[:], state.code_gram[:], state.weight = 0.0, 0.0, 0.0
    _sum_fixed(state, state.held)


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
        _add(state, keep_above(S, _THRESHOLD * state.noise).T @ R, len(R))
        set_dictionary(state, polar(_whitened(state.gradient, P)), P)
    elif state.mode == "dense":
        _stage_two(state, R, S, P)
    elif state.mode == "fixed":
        _sum_fixed(state, R, S)
        _fit_fixed(state)


def _whitened(G: Array, P: Array | None) -> Array:
    return G if P is None else G @ P


def _add(state: OnlineState, more: Array, n_rows: int) -> None:
    state.gradient, state.weight = remember(state.gradient, state.weight, more, n_rows, state.settings.forgetting)


def _alive(state: OnlineState) -> Array:
    """Atoms whose codes on the window are not all zero: those of dead features say nothing of the noise."""
    alive = np.abs(state.held @ state.coder).max(axis=0) > 0
    return alive if alive.any() else ~alive


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


def _n_nonzero(state: OnlineState) -> int:
    assert state.settings.n_nonzero is not None
    return state.settings.n_nonzero


def _sum_fixed(state: OnlineState, R: Array, S: Array | None = None) -> None:
    S = keep_largest(R @ state.coder if S is None else S, _n_nonzero(state))
    if state.settings.complete:
        if _n_nonzero(state) < len(state.coder):
            S = refit_on_support(R, S, np.linalg.inv(state.coder), _n_nonzero(state))
        fade = state.settings.forgetting ** len(R)
        state.code_gram = fade * state.code_gram + S.T @ S
    _add(state, S.T @ R, len(R))


def _fit_fixed(state: OnlineState) -> None:
    if not state.settings.complete:
        set_dictionary(state, polar(state.gradient), None)
        return
    n = len(state.coder)
    ridge = 1e-10 * np.trace(state.code_gram) / n
    components = normalize_rows(np.linalg.solve(state.code_gram + ridge * np.eye(n), state.gradient))
    if np.linalg.cond(components) < _WORST_CONDITION:
        state.coder = np.linalg.inv(components)
