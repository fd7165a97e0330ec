"""Functions of the codes whose maximum (lp, p > 2) or minimum (l1, log cosh) is sparse."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.core.protocols import Array


@dataclass(frozen=True)
class LpNorm:
    """Sum of |s|^p / p, p > 2: largest, at a fixed l2 norm, where the codes are sparse. Stage One uses p = 3."""

    p: float = 3.0

    def __post_init__(self) -> None:
        if not self.p > 2:
            raise ValueError(f"p must be greater than 2; got {self.p}.")

    def value(self, S: Array) -> float:
        return self.value_and_score(S)[0]

    def score(self, S: Array) -> Array:
        return self.value_and_score(S)[1]

    def value_and_score(self, S: Array, out: Array | None = None) -> tuple[float, Array]:
        score = np.abs(S, out=out)
        if self.p == 4:
            np.multiply(score, score, out=score)
        elif self.p != 3:
            np.power(score, self.p - 2, out=score)
        np.multiply(score, S, out=score)  # |s|^(p-2) s
        return float(np.vdot(score, S)) / self.p, score  # Euler: the function is homogeneous


@dataclass(frozen=True)
class L1Norm:
    """Sum of |s|; its score is the sign, 0 at 0. Stage Two minimises it."""

    def value(self, S: Array) -> float:
        return float(np.abs(S).sum(dtype=np.float64))

    def score(self, S: Array) -> Array:
        return np.sign(S)

    def value_and_score(self, S: Array, out: Array | None = None) -> tuple[float, Array]:
        sign = np.sign(S, out=out)
        return float(np.vdot(sign, S)), sign


@dataclass(frozen=True)
class LogCosh:
    """Sum of mu log cosh(s / mu), a smooth version of the l1 norm that it approaches as mu falls."""

    mu: float = 0.01

    def __post_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"mu must be positive; got {self.mu}.")

    def value(self, S: Array) -> float:
        a = np.abs(S) / self.mu
        # log cosh a = a - log 2 + log(1 + exp(-2a)), which does not overflow
        return float(self.mu * (a - np.log(2.0) + np.log1p(np.exp(-2.0 * a))).sum(dtype=np.float64))

    def score(self, S: Array) -> Array:
        return np.tanh(S / self.mu)

    def value_and_score(self, S: Array, out: Array | None = None) -> tuple[float, Array]:
        return self.value(S), np.tanh(S / self.mu, out=out)
