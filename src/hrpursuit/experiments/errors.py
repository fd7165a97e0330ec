"""How far what was learned is from the truth, as the paper measures it."""

from collections.abc import Collection

import numpy as np

from hrpursuit.core.manifolds import normalize_rows
from hrpursuit.core.protocols import Array
from hrpursuit.experiments.quirks import MATCHING
from hrpursuit.metrics import dictionary_error

SUCCESS = 1e-3  # relative error below which a dictionary counts as recovered, as in the paper


def recovery_error(components: Array, truth: Array, quirks: Collection[str] = ()) -> float:
    """Relative error of a dictionary, least over the order and signs of its atoms, one atom per row.

    Atoms are matched one to one. With the quirk MATCHING each true atom takes its nearest estimate, even if another one
    has taken it already, so that the error can only be smaller.
    """
    if MATCHING not in quirks:
        return dictionary_error(components, truth)
    A, B = normalize_rows(components), normalize_rows(truth)
    cosines = B @ A.T
    nearest = np.abs(cosines).argmax(axis=1)
    signs = np.sign(cosines[np.arange(len(B)), nearest])
    return float(np.linalg.norm(A[nearest] * signs[:, None] - B) / np.linalg.norm(B))


def atom_error(atom: Array, truth: Array) -> float:
    """Distance from a unit vector to the nearest atom of the truth, of either sign."""
    w = np.ravel(atom) / np.linalg.norm(atom)
    cosines = truth @ w
    nearest = int(np.abs(cosines).argmax())
    return float(np.linalg.norm(w * np.sign(cosines[nearest]) - truth[nearest]) / np.linalg.norm(truth[nearest]))
