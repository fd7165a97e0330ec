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

    @property
    def degree(self) -> float:
        return self.p

    def value(self, S: Array) -> float:
        return float(np.vdot(self.score(S), S)) / self.p

    def score(self, S: Array, out: Array | None = None) -> Array:
        score = np.abs(S, out=out)
        if self.p == 4:
            np.multiply(score, score, out=score)
        elif self.p != 3:
            np.power(score, self.p - 2, out=score)
        return np.multiply(score, S, out=score)  # |s|^(p-2) s


@dataclass(frozen=True)
class L1Norm:
    """Sum of |s|; its score is the sign, 0 at 0. Stage Two minimises it."""

    degree: float = 1.0

    def value(self, S: Array) -> float:
        return float(np.abs(S).sum(dtype=np.float64))

    def score(self, S: Array, out: Array | None = None) -> Array:
        return np.sign(S, out=out)


@dataclass(frozen=True)
class LogCosh:
    """Sum of mu log cosh(s / mu), a smooth version of the l1 norm that it approaches as mu falls."""

    mu: float = 0.01
    degree: None = None

    def __post_init__(self) -> None:
        if not self.mu > 0:
            raise ValueError(f"mu must be positive; got {self.mu}.")

    def value(self, S: Array) -> float:
        a = np.abs(S) / self.mu
        # log cosh a = a - log 2 + log(1 + exp(-2a)), which does not overflow
        return float(self.mu * (a - np.log(2.0) + np.log1p(np.exp(-2.0 * a))).sum(dtype=np.float64))

    def score(self, S: Array, out: Array | None = None) -> Array:
        return np.tanh(np.divide(S, self.mu, out=out), out=out)
