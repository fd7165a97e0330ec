"""The atoms of a dictionary that HRP learns from the readings."""

from dataclasses import dataclass

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.estimators import HRP
from hrpursuit.reports.readings import Readings

N_SHOWN = 12
_CODES = (5, 7, 11, 18, 28)  # of 56 sensors, as the paper has it


@dataclass(frozen=True)
class Atom:
    """A pattern over the sensors."""

    weights: Array
    share: float  # of the energy of all codes
    used: float  # share of the time steps that use it


@dataclass(frozen=True)
class Atoms:
    """The atoms with the most energy, and how many a time step may use."""

    n_nonzero: int
    shown: tuple[Atom, ...]
    n_all: int


def code_counts(n_columns: int) -> list[int]:
    """Codes a time step, in the proportion of the paper's table: 5, 7, 11, 18 and 28 of 56."""
    return sorted({max(1, round(n_columns * n / 56)) for n in _CODES})


def learn_atoms(readings: Readings) -> Atoms:
    """A dictionary fitted to the smallest of `code_counts`; only observed readings count."""
    n_nonzero = code_counts(readings.n_columns)[0]
    model = HRP(n_nonzero_coefs=n_nonzero, random_state=0).fit(readings.values)
    codes = model.transform(readings.values)
    energy = np.sum(codes**2, axis=0)
    total = max(float(energy.sum()), np.finfo(float).tiny)
    used = np.mean(codes != 0, axis=0)
    order = np.argsort(-energy, kind="stable")[:N_SHOWN]
    shown = tuple(Atom(model.components_[i], float(energy[i] / total), float(used[i])) for i in order)
    return Atoms(n_nonzero, shown, len(energy))
