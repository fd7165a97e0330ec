"""Columns that others are predicted from: which are tried, by what rows look like."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.tabular import MOST_LAG, MOST_STATE, TableSettings
from hrpursuit.compression.kernels.table_state import n_features_of

_NEIGHBOURS = {"default": (6,), "best": (3, 8)}  # numbers of them that are tried
_ALIKE = 0.02  # correlation of changes, below which columns are no neighbours
_MOST_COMPARED = 2048  # columns whose changes are correlated with each other
_ROWS = 4000  # that are looked at
_FURTHEST = 20  # mean changes, beyond which a change counts as one of these
_MOST_WITH_ROW_BEFORE = 64  # columns that are also compared with the row before: time goes with the square
_MOST_WITH_LAGS = {"default": 16, "best": 32}  # columns that are also compared at any lag
#: Squared correlation at a lag: by chance the largest of all lags is below the smaller one. With the other, columns
#: repeat others; less is a season, which a trial on few rows does not tell from these.
_LEAST_LATE = {"default": 0.3, "best": 0.05}
#: Rows in which a relation holds, as that of a course to a place does, and what its squared correlation must have on
#: average to be more than chance, which gives one over these rows.
_WINDOW, _LEAST_SHARE = 256, 0.015


def neighbourhoods(settings: TableSettings, whole: np.ndarray, effort: str) -> list[TableSettings]:
    """The settings with neighbours, in all ways that are worth a trial."""
    n = whole.shape[1]
    most = _most_neighbours(n, settings) if n > 1 else 0
    numbers = [min(few, most) for few in _NEIGHBOURS[effort] if most]
    found = [_with_like_changes(settings, whole, few) for few in numbers]
    if numbers and n <= _MOST_WITH_ROW_BEFORE and len(whole) > 2 * _WINDOW:
        least_late = _LEAST_LATE[effort] if n <= _MOST_WITH_LAGS[effort] else None
        found.append(_with_like_innovations(settings, whole, numbers[-1], least_late))
    return [one for one in found if any(column.neighbours for column in one.columns)]


def _most_neighbours(n: int, settings: TableSettings) -> int:
    """As many as leave room for all sums."""
    most = 0
    while most < 8 and n * n_features_of(settings.order, settings.season, most + 1) ** 2 <= MOST_STATE:
        most += 1
    return most


def _changes(whole: np.ndarray) -> np.ndarray:
    changes = np.diff(whole[:_ROWS].astype(np.float64), axis=0)
    spread = np.abs(changes).mean(axis=0)
    return np.clip(changes, -_FURTHEST * spread, _FURTHEST * spread)


def _with_like_changes(settings: TableSettings, whole: np.ndarray, most: int) -> TableSettings:
    """For each column the earlier ones whose changes are most like its own."""
    changes = _changes(whole)
    norms = np.linalg.norm(changes, axis=0)
    changes /= np.where(norms > 0, norms, 1.0)
    columns = []
    for k, column in enumerate(settings.columns):
        first = max(0, k - _MOST_COMPARED)
        alike = np.abs(changes[:, k] @ changes[:, first:k]) if k else np.zeros(0)
        order = first + np.argsort(-alike, kind="stable")[:most]
        near = tuple(int(q) for q in order if alike[q - first] > _ALIKE)
        columns.append(replace(column, neighbours=near))
    return replace(settings, columns=tuple(columns), n_neighbours=most)


def _with_like_innovations(
    settings: TableSettings, whole: np.ndarray, most: int, least_late: float | None
) -> TableSettings:  # fmt: skip
    """For each column those whose innovations are like its own, in this row or one before: what is left of a column
    after its last value, or of a smooth one after a straight line, which takes changes of two rows.
    """
    changes = _changes(whole)
    bent = np.diff(changes, axis=0)
    is_smooth = np.square(bent).sum(axis=0) < np.square(changes[1:]).sum(axis=0)
    rests = np.where(is_smooth, bent, changes[1:])
    n = whole.shape[1]
    here, before = _shares(rests[1:], rests[1:]), _shares(rests[1:], rests[:-1])
    np.fill_diagonal(before, 0.0)
    lags, late = _lags(rests) if least_late else (np.zeros((n, n), int), np.zeros((n, n)))
    late = np.where(late > (least_late or 0.0), late, 0.0)
    columns = []
    for k, column in enumerate(settings.columns):
        shares = np.concatenate([np.where(np.arange(n) < k, here[k], 0.0), before[k], late[k]])
        places = np.concatenate([np.arange(2 * n), lags[k] * n + np.arange(n)])
        near: dict[int, None] = {}  # in order
        for i in np.argsort(-shares, kind="stable").tolist():
            if shares[i] > _LEAST_SHARE:
                q = int(places[i])
                near.update(dict.fromkeys([q, q + n] if is_smooth[q % n] and q // n < MOST_LAG else [q]))
        columns.append(replace(column, neighbours=tuple(near)[:most]))
    return replace(settings, columns=tuple(columns), n_neighbours=most)


def _lags(rests: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each two columns the lag of two rows or more at which the first is most like the second before, and the
    square of their correlation.
    """
    n_rows = len(rests)
    most = min(MOST_LAG, n_rows // 2)
    spectra = np.fft.rfft(rests / np.maximum(np.linalg.norm(rests, axis=0), 1e-300), 2 * n_rows, axis=0)
    lags, shares = np.zeros((2, rests.shape[1], rests.shape[1]))
    for k in range(rests.shape[1]):
        found = np.square(np.fft.irfft(spectra[:, k : k + 1] * spectra.conj(), axis=0)[: most + 1])
        found[:2] = 0.0
        lags[k] = found.argmax(axis=0)
        shares[k] = found.max(axis=0)
    return lags.astype(int), shares


def _shares(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Mean squared correlations of columns within windows of rows."""
    n_windows = len(some) // _WINDOW
    parts = [one[: n_windows * _WINDOW].reshape(n_windows, _WINDOW, -1) for one in (some, others)]
    norms = [np.linalg.norm(part, axis=1, keepdims=True) for part in parts]
    a, b = (part / np.where(norm > 0, norm, 1.0) for part, norm in zip(parts, norms, strict=True))
    return np.square(a.transpose(0, 2, 1) @ b).mean(axis=0)
