"""Estimators with scikit-learn's interface, and the functions beside them."""

from hrpursuit.core.options import HRPOptions
from hrpursuit.estimators.checks import MisspecifiedWarning
from hrpursuit.estimators.functions import RecoveredAtom, recover_atom, sparse_code
from hrpursuit.estimators.hrp import HRP
from hrpursuit.estimators.mini_batch import MiniBatchHRP

__all__ = ["HRP", "HRPOptions", "MiniBatchHRP", "MisspecifiedWarning", "RecoveredAtom", "recover_atom", "sparse_code"]
