"""The methods that are compared by name: those of the paper with its settings, and those of other libraries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from hrpursuit.baselines import KSVD, L1RGD, MSP, SPAMS, L3Stage1, LogCoshRTR, TransformLearning
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRP
from hrpursuit.experiments.experiment import Settings, Verdict
from hrpursuit.experiments.peers import SklearnDictionary, fast_ica, picard

Make = Callable[[int | None, int], Any]  # number of nonzeros that the method is told, seed


@dataclass(frozen=True)
class Method:
    """A way to learn a dictionary.

    Attributes
    ----------
    label : str
        In figures and tables.
    make : callable of (n_nonzero, seed)
        Estimator with the settings of the paper's experiments on synthetic data.
    make_for_readings : callable or None
        With those for the sensor readings, where they differ.
    learns_sparsity : bool
        Whether the dictionary depends on the number of nonzeros that is asked for.
    is_slow : bool
        Takes seconds where the others take a fraction of one.
    package : str or None
        What has to be installed beside hrpursuit.
    """

    label: str
    make: Make
    make_for_readings: Make | None = None
    learns_sparsity: bool = False
    is_slow: bool = False
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None

    def estimator(self, n_nonzero: int | None, seed: int, *, for_readings: bool = False) -> Any:
        make = self.make_for_readings if for_readings and self.make_for_readings is not None else self.make
        return make(n_nonzero, seed)


OURS, PROPOSED = "ours", "proposed"
SYNTHETIC_LAMBDA, SENSOR_LAMBDA = 0.15, 0.002  # of SPAMS, as the paper says
#: Those of the paper's figures and tables, and ours.
METHODS: Mapping[str, Method] = {
    OURS: Method("hrpursuit", lambda k, seed: HRP(n_nonzero_coefs=k, random_state=seed), learns_sparsity=True),
    PROPOSED: Method("Proposed (paper)", lambda k, seed: HRP(n_nonzero_coefs=k, scheme="paper", random_state=seed)),
    "ksvd": Method("K-SVD", lambda k, seed: KSVD(n_nonzero_coefs=k, random_state=seed), learns_sparsity=True),
    "spams": Method(
        "SPAMS",
        lambda k, seed: SPAMS(n_nonzero_coefs=k, lambda1=SYNTHETIC_LAMBDA, random_state=seed),
        lambda k, seed: SPAMS(n_nonzero_coefs=k, lambda1=SENSOR_LAMBDA, random_state=seed),
        is_slow=True,
        package="spams",
    ),
    "translearn": Method(
        "TransLearn",
        lambda k, seed: TransformLearning(n_nonzero_coefs=k, random_state=seed),
        learns_sparsity=True,
        is_slow=True,
    ),
    "logcosh-rtr": Method(
        "logcosh-RTR", lambda k, seed: LogCoshRTR(n_nonzero_coefs=k, random_state=seed), is_slow=True
    ),
    "l1-rgd": Method(
        "l1-RGD",
        lambda k, seed: L1RGD(n_nonzero_coefs=k, random_state=seed),
        lambda k, seed: L1RGD(n_nonzero_coefs=k, recovery="deflation", random_state=seed),
        is_slow=True,
    ),
    "l4-msp": Method("l4-MSP", lambda k, seed: MSP(n_nonzero_coefs=k, random_state=seed)),
    "l3-s1": Method("l3-s1", lambda k, seed: L3Stage1(n_nonzero_coefs=k, random_state=seed)),
}
#: Those that a user's data is tried with.
COMPARED: Mapping[str, Method] = {
    **METHODS,
    "fastica": Method("FastICA", fast_ica),
    "picard": Method("Picard", picard, package="picard"),
    "dictionary-learning": Method(SklearnDictionary.label, SklearnDictionary, is_slow=True),
}
LEARNS_SPARSITY = ("ksvd", "translearn")  # told the true number of nonzeros in the paper


def installed(methods: Mapping[str, Method] = METHODS) -> list[str]:
    return [name for name, method in methods.items() if method.is_installed]


def check(names: Sequence[str], methods: Mapping[str, Method] = METHODS) -> None:
    """Refuse a name that is unknown, or whose package is missing."""
    for name in names:
        if name not in methods:
            raise ValueError(f"there is no method {name!r}; the methods are {', '.join(methods)}, or all.")
        if not methods[name].is_installed:
            raise ImportError(
                f'{methods[name].label} needs {methods[name].package}: pip install "hrpursuit[peers]", '
                f"or leave {name} out."
            )


def chosen(settings: Settings) -> list[str]:
    """Those that the user asked for, which have been checked, or all that are installed."""
    return [name for name in METHODS if name in settings.methods] if settings.methods else installed()


def missing(methods: Mapping[str, Method] = METHODS) -> str:
    """A sentence on the methods that are not installed; empty if all are."""
    absent = [method for method in methods.values() if not method.is_installed]
    return " ".join(f'{m.label} is left out: pip install "hrpursuit[peers]" installs it.' for m in absent)


def left_out(settings: Settings) -> list[Verdict]:
    """What a comparison that is not of all methods says."""
    if settings.methods:
        return [Verdict(None, f"Only some of the methods were asked for: {', '.join(settings.methods)}.")]
    return [Verdict(None, missing())] if missing() else []


@cache
def warm_up(name: str) -> None:
    """Let a method compile and import what it needs, before it is timed."""
    X = make_sparse_coded(60, 4, sparsity=0.3, random_state=0)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        COMPARED[name].estimator(2, 0).fit(X).transform(X)
