"""A dictionary and the codes of a working sample, turned pair by pair of atoms."""

from typing import Any

import numpy as np

from hrpursuit.core import plane_kernels as kernels
from hrpursuit.core.manifolds import polar_near
from hrpursuit.core.protocols import Array
from hrpursuit.core.team import Team
from hrpursuit.core.tournament import schedule

#: Steps of a quench in radians.
QUENCH_WIDTHS = (0.05, 0.035, 0.025, 0.018, 0.012, 0.008)


class Planes:
    """State of sweeps over all pairs of atoms.

    Parameters
    ----------
    X : array of shape (m, n_features)
        The working sample.
    W : array of shape (n_features, n_features)
        The dictionary to start from, orthogonal.
    team : Team or None
        Threads for the greedy sweeps. The result is the same with any number of them.
    """

    def __init__(self, X: Array, W: Array, team: Team | None = None) -> None:
        n, self.m = len(W), len(X)
        self.Z = np.empty((n, self.m + n), np.float32)
        self.Z[:, : self.m] = W @ X.T
        self.Z[:, self.m :] = W
        self.norms = np.abs(self.Z[:, : self.m]).sum(axis=1)
        self._schedule = schedule(n)
        self._team = team if team is not None and team.n_threads > 1 and len(self._schedule.rounds) > 1 else None

    def copy(self) -> "Planes":
        twin = object.__new__(Planes)
        twin.__dict__.update(self.__dict__, Z=self.Z.copy(), norms=self.norms.copy())
        return twin

    def _sweep(self, kernel: Any, *args: Any) -> list[Any]:
        state = (self.Z, self.m, self.norms, self._schedule.pairs)
        if self._team is None:
            return [kernel(*state, 0, len(self._schedule.pairs), *args)]
        results: list[Any] = []
        for tasks in self._schedule.rounds:
            results += self._team.run(lambda first, last: kernel(*state, first, last, *args), tasks)
        return results

    def heat(self, temperature: float, spacing: float, n_sweeps: int, key: int) -> None:
        """Heat-bath sweeps at a temperature, with a grid of angles of this spacing."""
        pairs = self._schedule.pairs
        kernels.heat_bath(
            self.Z, self.m, self.norms, pairs, temperature, spacing, n_sweeps, np.uint64(key), kernels.GUMBEL
        )

    def quench(self) -> tuple[Array, float]:
        """Dictionary after a few sweeps at zero temperature, and its l1 norm; the state itself stays as hot as it
        is.
        """
        cold = self.copy()
        for width in QUENCH_WIDTHS:
            cold._sweep(kernels.zero_temperature, width)
        return cold.components, cold.l1

    def greedy(self, n_sweeps: int) -> tuple[Array, int]:
        """Dictionary after up to `n_sweeps` sweeps that turn each pair to the least l1 norm of its plane, and how many.

        Stops when few pairs turn.
        """
        n, n_done = len(self.Z), 0
        changed = np.ones(n, np.bool_)
        while n_done < n_sweeps:
            n_done += 1
            changed_now = np.zeros(n, np.bool_)
            n_turned = sum(self._sweep(kernels.greedy, changed, changed_now))
            changed = changed_now
            if n_turned <= n * (n - 1) // 400:
                break
        return self.components, n_done

    @property
    def components(self) -> Array:
        """The dictionary, made orthogonal to double precision."""
        return polar_near(self.Z[:, self.m :])

    @property
    def l1(self) -> float:
        """l1 norm of the codes per row of the working sample."""
        return float(self.norms.sum(dtype=np.float64)) / max(1, self.m)
