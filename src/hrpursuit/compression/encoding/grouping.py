"""Which columns go together, and the bases that are learned beforehand and sent."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hrpursuit.compression.chunks.bases import MOST_TOGETHER, SENT, Basis, Group
from hrpursuit.compression.kernels.atoms import FINENESS, UNIT, cosine_atoms
from hrpursuit.compression.targets import Target

_TOGETHER = 128  # columns in a group, where there are more than one group can have: time goes with the square
_MOST_COMPARED = 2048  # columns that are compared with each other: memory goes with the square
_ROWS = 4000  # to learn from
_N_ATOMS = 12
_RANK, _N_FILLS = 12, 20

Floats = NDArray[np.float64]


def make_groups(columns: Sequence[np.ndarray], target: Target, basis: str) -> list[Group]:
    """Groups of columns that have one bound on their errors, by correlation, each with its basis. Columns without a
    reading so far are no part of a basis that is sent.
    """
    bounds = target.bounds(len(columns))
    groups = []
    for bound in np.unique(bounds):
        places = np.flatnonzero(bounds == bound)
        kept, way = (target, basis) if bound > 0 else (Target("lossless"), "adaptive" if bounds.any() else basis)
        for group in _groups_of_one_bound([columns[place] for place in places.tolist()], kept, way):
            groups.append(Group(places[group.columns], group.basis))
    return groups


def _groups_of_one_bound(columns: Sequence[np.ndarray], target: Target, basis: str) -> list[Group]:
    n = len(columns)
    needs_basis = target.kind == "n_nonzero_coefs" or basis != "adaptive"
    if n <= MOST_TOGETHER and not needs_basis:
        return [Group(np.arange(n), Basis())]
    table = _table(columns)
    live = np.flatnonzero(np.isfinite(table).any(axis=0)) if needs_basis else np.arange(n)
    dead = np.setdiff1d(np.arange(n), live)
    groups = [Group(part, Basis()) for part in _split(dead, MOST_TOGETHER)]
    places = live
    if len(live) > MOST_TOGETHER:
        parts = _split(live, _MOST_COMPARED)
        places = np.concatenate([part[_order_by_correlation(table[:, part])] for part in parts])
    for part in _split(places, MOST_TOGETHER if len(live) <= MOST_TOGETHER else _TOGETHER):
        part = np.sort(part)
        if target.kind == "n_nonzero_coefs":
            n_atoms = n if n <= MOST_TOGETHER else len(part)  # the paper counts columns without a reading, too
            from hrpursuit.compression.encoding.sparse_codes import learn_dictionary  # noqa: PLC0415 - it needs scikit-learn

            learned = learn_dictionary(table[:, part], int(target.amount), n_atoms)
        else:
            learned = _learn(table[:, part], basis) if needs_basis else Basis()
        groups.append(Group(part, learned))
    return groups


def _table(columns: Sequence[np.ndarray]) -> Floats:
    """Rows to learn from, as floats of moderate size, NaN where there is no reading."""
    stride = max(1, math.ceil(len(columns[0]) / _ROWS))
    table = np.column_stack([np.asarray(column[::stride], dtype=np.float64) for column in columns])
    table[~np.isfinite(table)] = np.nan
    largest = np.nanmax(np.abs(table), initial=0.0)
    return table / largest if largest > 0 else table


def _split(places: np.ndarray, most: int) -> list[np.ndarray]:
    return np.array_split(places, math.ceil(len(places) / most)) if len(places) else []


def _learn(table: Floats, basis: str) -> Basis:
    filled = _filled(table)
    order = _order_by_nearness(filled)
    n = table.shape[1]
    if basis == "dct":
        return Basis(SENT, order=order, sent=np.zeros((0, n), dtype=np.int64))
    atoms = _principal(filled) if basis == "pca" else _sparse(filled)
    atoms = atoms * np.where(atoms.sum(axis=1) < 0, -1.0, 1.0)[:, None]
    cosines = np.zeros((n, n))
    cosines[:, order] = cosine_atoms(n) / UNIT
    sent = np.rint(atoms[:_N_ATOMS] @ cosines.T * FINENESS).astype(np.int64)
    return Basis(SENT, order=order, sent=sent[np.abs(sent).sum(axis=1) > 0])


def _filled(table: Floats) -> Floats:
    """Gaps filled by a low-rank fit, shrunk; to begin with by the mean of the row."""
    seen = np.isfinite(table)
    known = np.where(seen, table, 0.0)
    means = known.sum(axis=1, keepdims=True) / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    filled = np.where(seen, table, means)
    rank = min(_RANK, min(table.shape) - 1)
    if rank < 1 or seen.all():
        return filled
    for _ in range(_N_FILLS):
        values, vectors = np.linalg.eigh(filled.T @ filled)
        sizes = np.sqrt(np.maximum(values[::-1], 1e-24))
        leading = vectors[:, ::-1][:, :rank]
        shrunk = np.maximum(sizes[:rank] - sizes[rank], 0.0) / sizes[:rank]
        filled = np.where(seen, table, (filled @ leading * shrunk) @ leading.T)
    return filled


def _principal(filled: Floats) -> Floats:
    return np.linalg.eigh(filled.T @ filled)[1][:, ::-1].T


def _sparse(filled: Floats) -> Floats:
    """Atoms of HRP, those that carry most first."""
    if len(filled) < max(filled.shape[1], 2):
        return _principal(filled)
    from hrpursuit.compression.encoding.sparse_codes import hrp_atoms  # noqa: PLC0415 - it needs scikit-learn

    atoms = hrp_atoms(filled, None)
    return atoms[np.argsort(-np.square(filled @ atoms.T).sum(axis=0), kind="stable")]


def _order_by_nearness(filled: Floats) -> np.ndarray:
    """Columns one after another so that neighbours read alike, and change alike."""
    if filled.shape[1] < 3:
        return np.arange(filled.shape[1])
    moments = 0.1 * filled.T @ filled
    changes = np.diff(filled, axis=0)
    moments += changes.T @ changes
    sizes = np.diag(moments)
    return _leaves(np.sqrt(np.maximum(sizes[:, None] + sizes[None, :] - 2 * moments, 0.0)))


def _order_by_correlation(table: Floats) -> np.ndarray:
    """Columns one after another so that those which vary together are near; a gap counts as the mean of its column."""
    seen = np.isfinite(table)
    means = np.where(seen, table, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    centred = np.where(seen, table - means, 0.0)
    norms = np.linalg.norm(centred, axis=0)
    centred /= np.where(norms > 0, norms, 1.0)
    return _leaves(1.0 - np.abs(centred.T @ centred), optimal=False)


def _leaves(distances: Floats, optimal: bool = True) -> np.ndarray:
    from scipy.cluster.hierarchy import leaves_list, linkage  # noqa: PLC0415 - most files need no scipy
    from scipy.spatial.distance import squareform  # noqa: PLC0415

    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(np.maximum(distances, 0.0), checks=False), method="average", optimal_ordering=optimal)
    return leaves_list(tree).astype(np.int64)
