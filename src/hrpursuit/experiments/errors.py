"""The error of a dictionary as the experiments report it."""

from collections.abc import Collection

import numpy as np

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.experiments.quirks import MATCHING
from hrpursuit.metrics import dictionary_error

SUCCESS = 1e-3  # relative error below which a dictionary counts as recovered, as in the paper


def recovery_error(components: np.ndarray, truth: np.ndarray, quirks: Collection[str] = ()) -> float:
    """Relative error over signed permutations; with the quirk `many-to-one-matching` two true atoms may share one
    estimate.
    """
    if MATCHING not in quirks:
        return dictionary_error(components, truth)
    estimates, atoms = normalize_rows(components), normalize_rows(truth)
    cosines = np.abs(atoms @ estimates.T).max(axis=1)
    return float(np.sqrt(np.sum(2 - 2 * np.minimum(cosines, 1)) / len(atoms)))
