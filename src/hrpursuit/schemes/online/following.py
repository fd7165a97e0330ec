"""The modes of the online learner that move the dictionary with the rows of each step."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from hrpursuit.core.coding import keep_largest, refit_on_support
from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.procrustes import noise_level
from hrpursuit.core.protocols import Array
from hrpursuit.core.search import Outcome
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.fixed_sparsity import relative_error
from hrpursuit.schemes.online.modes import QUICK_STEPS, Mode, Watched
from hrpursuit.schemes.online.search import Found, has_exact_atom, search_window
from hrpursuit.schemes.online.stream import Square, Stream, check_invertible, check_not_negative
from hrpursuit.schemes.online.turns import fit_in_noise, is_same_way, threshold, turn_to, turned, whiten
from hrpursuit.schemes.online.watch import Level, Step, level_of, row_norms, sparsity

_PATIENT = 128  # steps between searches from which on noisy data is checked for exact atoms
_ALTERNATIONS, _TRIAL_ALTERNATIONS = 10, 4  # on the window at most; for a trial, which begins close to where it ends
_TAIL = 0.88  # rms of a unit Gaussian within two standard deviations
_NOISE_ROWS = 100  # of a step, to follow the noise level by
_WHITEN_EVERY = 4  # steps: it moves little in one
_MOMENTUM = 0.8  # of the mean subgradient, per full step
_STAGE_TWO_STEP, _STAGE_TWO_DELAY = 7.0, 30.0  # 7 / (30 + sqrt(10 steps remembered)) of a Newton step
_STEPS_BEFORE_FIXED = 20  # of Stage Two on data that is not sparse, which the alternation cannot make up for
_SPARSE_ALREADY = 1e-7  # relative error of codes that are as sparse as asked for
_WORST_CONDITION = 1e8  # of a dictionary that is proposed


@dataclass(kw_only=True)
class Tried(Watched):
    """A mode that follows a dictionary, while another one may have to prove itself on the next rows: `trial`."""

    trial: Square | None = None

    def _proven(self, step: Step) -> Array | None:
        """The trial, if its codes of rows that it has not seen are sparser."""
        trial, self.trial = self.trial, None
        if trial is None:
            return None
        S = step.X @ trial
        return trial if step.sparsity.is_beaten_by(sparsity(np.abs(S), row_norms(S))) else None

    def _whiten(self, stream: Stream) -> None:
        if stream.settings.complete and stream.n_steps % _WHITEN_EVERY == 0:
            stream.coder = whiten(stream.coder, stream.second_moment())

    def check(self) -> None:
        check_invertible(self.trial, "trial")


@dataclass(kw_only=True)
class Noisy(Tried):
    """Thresholded codes are summed up, and the dictionary is turned towards the polar factor of the sum.

    Attributes
    ----------
    noise : float
        Standard deviation of the noise in the codes.
    gradient : array
        Running sum of S^T X for thresholded codes S.
    last_turn : array
        The way that the last step turned the dictionary.
    """

    noise: float
    gradient: Square
    last_turn: Square

    @classmethod
    def begin(cls, stream: Stream) -> Self:
        noise, gradient = _fit_noisy(stream)
        return cls(level=level_of(stream), noise=noise, gradient=gradient, last_turn=np.zeros_like(gradient))

    def follow(self, stream: Stream, step: Step) -> None:
        super().follow(stream, step)
        trial, settings = self._proven(step), stream.settings
        if trial is not None:  # the window alone is better than all that is remembered: the dictionary drifts
            stream.coder = trial
            self.noise, self.gradient = _fit_noisy(stream)
            stream.wait, stream.countdown = 1, 0
            step.S, step.size = step.codes(stream.coder)
        self._follow_noise_level(step.size[:: max(1, len(step.size) // _NOISE_ROWS)])
        G = threshold(step.S, step.size, self.noise).T @ step.X
        self._hurry_if_turning(stream, G)
        self.gradient = settings.forgetting ** len(step.X) * self.gradient + G
        stream.coder = turned(stream.coder, turn_to(self.gradient, stream.coder), settings.complete)
        self._whiten(stream)

    def _follow_noise_level(self, size: Array) -> None:
        """One step of the fixed point of `noise_level`: it comes along with the stream."""
        inside = size * (size < 2 * self.noise)  # zeros for the rest, which is faster than to pick those inside
        n_inside = np.count_nonzero(inside)
        if n_inside:
            self.noise = float(np.sqrt(np.vdot(inside, inside) / n_inside)) / _TAIL

    def _hurry_if_turning(self, stream: Stream, G: Array) -> None:
        """Where two steps in a row turn the dictionary the same way it lags behind a drift: try the window now."""
        M = G @ stream.coder
        turn = M - M.T
        turn /= max(float(np.abs(turn).max()), np.finfo(float).tiny)  # whatever the unit of the data
        if is_same_way(turn, self.last_turn):
            stream.countdown = 0
        self.last_turn = turn

    def next(self, stream: Stream) -> "Mode | Found":
        if not stream.is_search_due():
            return self
        if not (stream.wait >= _PATIENT and has_exact_atom(stream)):
            X, complete = stream.centred(), stream.settings.complete
            self.trial = fit_in_noise(X, stream.coder, self.noise, complete, _TRIAL_ALTERNATIONS)
            return self
        found = search_window(stream, QUICK_STEPS, warm=True)
        return found if found is not None and found.is_exact else self

    def check(self) -> None:
        super().check()
        check_not_negative(self, "noise")


def _fit_noisy(stream: Stream) -> tuple[float, Array]:
    """Fit the dictionary to the window with the noise that its codes show; that noise, and the sum to begin with."""
    X = stream.centred()
    S = X @ stream.coder
    alive = np.abs(S).max(axis=0) > 0  # atoms of dead features say nothing of the noise
    noise = noise_level(S[:, alive]) if alive.any() else 0.0
    stream.coder = fit_in_noise(X, stream.coder, noise, stream.settings.complete, _ALTERNATIONS)
    S = X @ stream.coder
    return noise, threshold(S, np.abs(S), noise).T @ X


@dataclass(kw_only=True)
class Dense(Tried):
    """Stage Two along a running mean of the subgradient of the l1 norm, with steps as short as there are in memory.

    Attributes
    ----------
    gradient : array
        Running mean of sign(S)^T X.
    weight : float
        Rows in memory, older ones counting less.
    """

    gradient: Square
    weight: float = 0.0
    keeps_waiting = True

    @classmethod
    def begin(cls, stream: Stream, trial: Array | None = None) -> Self:
        return cls(level=level_of(stream), gradient=np.zeros_like(stream.coder), trial=trial)

    def follow(self, stream: Stream, step: Step) -> None:
        super().follow(stream, step)
        trial = self._proven(step)
        if trial is not None:
            stream.replace_dictionary(trial)
            self.gradient, self.weight, self.level = np.zeros_like(trial), 0.0, level_of(stream)
            stream.drift = 0.0
            step.S, step.size = step.codes(stream.coder)
        self._stage_two(stream, step)
        self._whiten(stream)

    def _stage_two(self, stream: Stream, step: Step) -> None:
        """In each plane the step is measured by the curvature that codes with a Laplace density would give, v_i / a_j +
        v_j / a_i - a_i - a_j with a the mean magnitude and v the mean square of their columns; or atoms that are much
        stronger than others would be thrown about while these stand still. At least a_i + a_j, as where all are alike.
        """
        X, S, n_rows, step_rows = step.X, step.S, len(step.X), stream.settings.step_rows
        a = np.full(n_rows, 1 / n_rows) @ step.size
        v = np.einsum("ij,ij->j", S, S) / n_rows
        momentum = _MOMENTUM ** (n_rows / step_rows)
        G = np.copysign(1.0, S, out=S).T @ X  # five times as fast as the sign; a code that is 0 is rare here
        self.gradient = momentum * self.gradient + (1 - momentum) / n_rows * G
        self.weight = stream.settings.forgetting**n_rows * self.weight + n_rows
        tau = _STAGE_TWO_STEP / (_STAGE_TWO_DELAY + np.sqrt(10 * self.weight / step_rows))
        tau *= min(1.0, n_rows / step_rows)
        M = self.gradient @ stream.coder
        spread = np.outer(v, 1 / np.maximum(a, np.finfo(float).tiny))
        least = a[:, None] + a
        curvature = np.maximum(spread + spread.T - least, least)
        turn = np.divide(-tau * (M - M.T), curvature, out=np.zeros_like(M), where=curvature > 0)
        stream.coder = turned(stream.coder, turn, stream.settings.complete)

    def next(self, stream: Stream) -> "Mode | Found":
        if self.level.n_judged == _STEPS_BEFORE_FIXED:
            mode = fixed_where_asked(stream, self)
            if mode is not self:
                return mode
        found = search_window(stream, QUICK_STEPS, warm=False) if stream.is_search_due() else None
        return found if found is not None and (found.is_exact or found.outcome is Outcome.NOISY) else self

    def check(self) -> None:
        super().check()
        check_not_negative(self, "weight")


@dataclass(kw_only=True)
class Fixed(Watched):
    """The alternation for a fixed number of codes on running sums; a new dictionary has to prove itself.

    Attributes
    ----------
    gradient, code_gram : array
        Running sums of S^T X and, for a complete dictionary, of S^T S.
    trial : array or None
        The dictionary that fits the sums best.
    """

    gradient: Square
    code_gram: Square
    trial: Square | None = None
    sums = False  # a fit to few codes may cost the sparsity of the others

    @classmethod
    def begin(cls, stream: Stream, level: Level) -> Self:
        zeros = np.zeros_like(stream.coder)
        mode, X = cls(level=level, gradient=zeros, code_gram=zeros), stream.centred()
        mode._sum(stream, X, _largest_codes(stream, X, X @ stream.coder, stream.coder))
        return mode

    def _sum(self, stream: Stream, X: Array, S: Array) -> None:
        """Take codes of rows into the sums, and propose the dictionary that fits these best."""
        fade, n = stream.settings.forgetting ** len(X), len(stream.coder)
        self.gradient = fade * self.gradient + S.T @ X
        if not stream.settings.complete:
            self.trial = turned(stream.coder, turn_to(self.gradient, stream.coder), False)
            return
        self.code_gram = fade * self.code_gram + S.T @ S
        ridge = 1e-10 * np.trace(self.code_gram) / n
        atoms = normalize_rows(np.linalg.solve(self.code_gram + ridge * np.eye(n), self.gradient))
        self.trial = np.linalg.inv(atoms) if np.linalg.cond(atoms) < _WORST_CONDITION else None

    def follow(self, stream: Stream, step: Step) -> None:
        """Keep the better one of the present dictionary and the proposed one, by the error on rows new to both."""
        super().follow(stream, step)
        X = step.X
        S = _largest_codes(stream, X, step.S, stream.coder)
        if self.trial is not None:
            S_trial = _largest_codes(stream, X, X @ self.trial, self.trial)
            if self._loss(stream, X, S_trial, self.trial) < self._loss(stream, X, S, stream.coder):
                stream.coder, S = self.trial, S_trial
        self._sum(stream, X, S)

    def _error(self, stream: Stream, X: Array) -> float | None:
        return _relative_error(stream, X) if len(X) else None

    def _loss(self, stream: Stream, X: Array, S: Array, coder: Array) -> float:
        """Squared error of the rows for codes S; of an orthogonal dictionary up to a constant."""
        if not stream.settings.complete:
            return -float(np.vdot(S, S))
        residual = X - S @ np.linalg.inv(coder)
        return float(np.vdot(residual, residual))

    def check(self) -> None:
        check_invertible(self.trial, "trial")


def _largest_codes(stream: Stream, X: Array, S: Array, coder: Array) -> Array:
    """The largest of the codes S of each row, as many as asked for; of a complete dictionary fitted to the row."""
    n_nonzero = stream.settings.n_nonzero or len(coder)
    keep_largest(S, n_nonzero)
    if stream.settings.complete and n_nonzero < len(coder):
        return refit_on_support(X, S, np.linalg.inv(coder), n_nonzero)
    return S


def _relative_error(stream: Stream, X: Array) -> float:
    """Of rows X less their offset, with as many codes as asked for."""
    n_nonzero = stream.settings.n_nonzero or len(stream.coder)
    return relative_error(ArrayRows(X), *stream.dictionary(), n_nonzero, refit=stream.settings.complete)


def fixed_where_asked(stream: Stream, mode: Watched) -> Watched:
    """Go over to a fixed number of codes, unless none was asked for or the codes are that sparse."""
    if stream.settings.n_nonzero is None or _relative_error(stream, stream.centred()) <= _SPARSE_ALREADY:
        return mode
    stream.uncertify()  # it moves from here on
    return Fixed.begin(stream, mode.level)
