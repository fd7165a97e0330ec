"""A tiny table through every kernel, to write and to read, so that all are compiled before the first real one."""

from dataclasses import replace

import numpy as np

from hrpursuit.compression.chunks.bases import DICTIONARY, SENT, Basis
from hrpursuit.compression.chunks.coding import Readings, decode_group, encode_group
from hrpursuit.compression.chunks.settings import CORRECTED, SAMPLES, SPARSE, TRANSFORM, Settings
from hrpursuit.compression.files.layout import Cursor
from hrpursuit.compression.kernels.compiled import as_integers


def run_all_kernels() -> None:
    n, values = 3, as_integers(np.arange(27).reshape(9, 3) * 64)
    readings = Readings(values, as_integers(np.ones((9, n))), as_integers(np.zeros((9, n))))
    settings = Settings(TRANSFORM, (0,), (64,), 6, bound=7)
    identity, atoms = np.eye(n, dtype=np.int64), np.array([[9, 1, 0]])
    sent = Basis(SENT, order=np.arange(n), sent=atoms)
    codes = Basis(DICTIONARY, dictionary=identity << 6, precision=6, n_nonzero=1)
    for setting, basis in (
        (settings, Basis()),
        (replace(settings, mode=CORRECTED), sent),
        (replace(settings, mode=SAMPLES, widths=(0, 0, 1), steps=(64, 64, 64)), Basis()),
        (replace(settings, mode=SPARSE), codes),
    ):
        wanted = (
            readings if setting.mode != SPARSE else replace(readings, values=as_integers(identity[np.arange(9) % n]))
        )
        coded = encode_group(setting, basis, wanted, 0.1)
        decode_group(coded.data, setting, Basis.from_cursor(Cursor(basis.to_bytes()), n), (9, n))
