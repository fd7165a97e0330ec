"""Tables of the format, read from constants.bin: they are the same on every machine because nothing computes them.

make_constants.py says what each is and how the file came about.
"""

from pathlib import Path

import numpy as np

from hrpursuit.compression.kernels.compiled import as_table

FILE = Path(__file__).with_name("constants.bin")
N_SCALES, N_BINS = 40, 20
#: Rows of readings that are transformed together.
BLOCK = 8
SHAPES = {
    "SQUASH": (4096,),
    "STRETCH": (4096,),
    "RATE": (256,),
    "LOGISTIC": (8192,),
    "SCALE": (8192,),
    "FIRST_GUESS": (N_SCALES, N_BINS),
    "COSINES": (BLOCK, BLOCK),
    "TURNS": (2, 1025, 2),
}


_TYPES = {"STRETCH": "i2", "SCALE": "i1"}


def _read() -> dict[str, np.ndarray]:
    numbers, start, tables = np.frombuffer(FILE.read_bytes(), dtype="<i4"), 0, {}
    for name, shape in SHAPES.items():
        size = int(np.prod(shape))
        tables[name] = as_table(numbers[start : start + size].reshape(shape), _TYPES.get(name, "i4"))
        start += size
    return tables


_tables = _read()
SQUASH, STRETCH, RATE, LOGISTIC = (_tables[name] for name in ("SQUASH", "STRETCH", "RATE", "LOGISTIC"))
SCALE, FIRST_GUESS, COSINES, TURNS = (_tables[name] for name in ("SCALE", "FIRST_GUESS", "COSINES", "TURNS"))
