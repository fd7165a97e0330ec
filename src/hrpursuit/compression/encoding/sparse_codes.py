"""The paper's coding in real bytes: a few coefficients per row in a dictionary learned by HRP."""

import math
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from hrpursuit.compression.chunks.apart import Numbers
from hrpursuit.compression.chunks.bases import DICTIONARY, MOST_PRECISION, Basis
from hrpursuit.compression.chunks.settings import MOST_STEP, SPARSE
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup, Encoded, encode
from hrpursuit.compression.encoding.whole_numbers import for_rmse
from hrpursuit.compression.kernels.compiled import as_integers
from hrpursuit.compression.kernels.sparse import LIMIT
from hrpursuit.core.masked import masked_codes
from hrpursuit.core.options import HRPOptions
from hrpursuit.estimators import HRP, MisspecifiedWarning

_LEAST_PRECISION = 5
_ROUNDS = 100  # of learning with gaps
_SHARE = 0.02  # of the squared error that quantised coefficients may add; atoms as much

Floats = NDArray[np.float64]


def hrp_atoms(table: Floats, n_nonzero: int | None) -> Floats:
    """Atoms of HRP, one per row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a basis is good enough before it has settled ...
        warnings.simplefilter("ignore", MisspecifiedWarning)  # ... and has to be orthogonal
        rounds = min(max(round(_ROUNDS * (64 / table.shape[1]) ** 2), _ROUNDS // 20), _ROUNDS)  # each is cubic
        model = HRP(n_nonzero_coefs=n_nonzero, options=HRPOptions(gap_rounds=rounds), random_state=0)
        return np.asarray(model.fit(table).components_, dtype=np.float64)


def learn_dictionary(table: Floats, n_nonzero: int, n_atoms: int) -> Basis:
    """A dictionary for rows with gaps (NaN), in as many bits as make little difference at `n_nonzero` codes per row.

    With more atoms than columns it is learned as a square one over so many columns, of which the last have no reading.
    What atoms say there is left out, and they have unit norm without it.
    """
    n = table.shape[1]
    n_nonzero = min(n_nonzero, n)
    with_readings = table[np.isfinite(table).any(axis=1)]
    if len(with_readings) >= max(n_atoms, 2):
        unseen = np.full((len(with_readings), n_atoms - n), np.nan)
        atoms = hrp_atoms(np.hstack([with_readings, unseen]), n_nonzero)[:, :n]
    else:
        filled = np.where(np.isfinite(table), table, 0.0)
        atoms = np.linalg.eigh(filled.T @ filled)[1][:, ::-1].T
    norms = np.linalg.norm(atoms, axis=1, keepdims=True)
    atoms = atoms[norms[:, 0] > 1e-9] / norms[norms > 1e-9][:, None]
    error, size = _error(with_readings, atoms, n_nonzero)
    relative = max(error / size, 1e-4) if size > 0 else 1.0
    precision = math.ceil(math.log2(math.sqrt(n / 12 / _SHARE) / relative))
    precision = min(max(precision, _LEAST_PRECISION), MOST_PRECISION)
    dictionary = np.rint(atoms * 2.0**precision).astype(np.int64)
    return Basis(DICTIONARY, dictionary=dictionary, precision=precision, n_nonzero=n_nonzero)


def _error(table: Floats, atoms: Floats, n_nonzero: int) -> tuple[float, float]:
    """Norms over what is observed: of what codes leave, and of all."""
    residual = table - masked_codes(table, atoms, n_nonzero) @ atoms
    return math.sqrt(float(np.nansum(residual**2))), math.sqrt(float(np.nansum(table**2)))


def encode_sparse(group: ChunkGroup) -> Encoded:
    """Codes of the rows, by least squares in the dictionary as the decoder has it, in steps that add little error."""
    (settings, numbers), basis = for_rmse(group.columns), group.basis
    coded = np.column_stack([column.is_coded for column in group.columns])
    table = np.where(coded, numbers.whole, np.nan).astype(np.float64)
    atoms = np.asarray(basis.dictionary, dtype=np.float64) / 2.0**basis.precision
    codes = np.zeros((len(table), len(atoms)))
    some = coded.any(axis=1)
    codes[some] = masked_codes(table[some], atoms, basis.n_nonzero)
    squares = float(np.nansum((table - codes @ atoms) ** 2)) / max(1, int(np.count_nonzero(codes)))
    step = min(max(round(math.sqrt(12 * _SHARE * squares)), 1), MOST_STEP)
    _tame(codes, table, atoms, float(LIMIT * step))
    levels = as_integers(np.rint(codes / step).astype(np.int64))
    return encode(group, replace(settings, mode=SPARSE, steps=(step,)), Numbers(levels))


def _tame(codes: Floats, table: Floats, atoms: Floats, largest: float) -> None:
    """Make codes smaller that the coder has no room for: those of rows whose few readings hardly touch the atoms. By
    least squares with a penalty that grows until they fit.
    """
    for row in np.flatnonzero(np.abs(codes).max(axis=1, initial=0.0) > largest):
        used, seen = np.flatnonzero(codes[row]), np.isfinite(table[row])
        touched = atoms[used][:, seen]
        penalty = 1e-10
        while np.abs(codes[row]).max() > largest:
            normal = touched @ touched.T + penalty * np.eye(len(used))
            codes[row, used] = np.linalg.solve(normal, touched @ table[row, seen])
            penalty *= 8
