"""Lists of whole numbers by the coder of tables: lists of values, labels."""

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.bits import N_BEYOND, POSITION, finish_encoding, new_coder, start_decoding
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.table import code_table
from hrpursuit.compression.kernels.table_state import LAST, LIMIT, new_table
from hrpursuit.compression.layout import Cursor, signed, varint

_ORDER = 2


def _run(coder: np.ndarray, buffer: np.ndarray, decoding: bool, X: np.ndarray) -> None:
    n = X.shape[1]
    ends = np.broadcast_to([-LIMIT, LIMIT], (n, 2))
    state = new_table(np.full(n, 16), np.full(n, LAST), np.zeros(n), ends, np.zeros(n), X.size, _ORDER, 0, 0)
    code_table(coder, buffer, decoding, X, integers(X.shape, 1), state, integers((n, 0)), _ORDER, 0, -1)


def pack_numbers(numbers: np.ndarray) -> bytes:
    """Whole numbers within 2^33 of the first, as bytes; their number is for the reader to know."""
    if len(numbers) == 0:
        return b""
    if not can_be_packed(numbers):
        raise ValueError("numbers are too far from each other to be packed.")
    first = int(numbers[0])
    X = as_integers(numbers.reshape(-1, 1) - first)
    size = 9 * len(numbers) + 64
    buffer, coder = np.zeros(size, dtype=np.uint8), new_coder()
    _run(coder, buffer, False, X)
    finish_encoding(coder, buffer)
    n_bytes = int(coder[POSITION])
    return signed(first) + varint(n_bytes) + buffer[:n_bytes].tobytes()


def unpack_numbers(cursor: Cursor, n: int) -> np.ndarray:
    """The n numbers that `pack_numbers` was given."""
    if n == 0:
        return np.zeros(0, dtype=np.int64)
    first = cursor.signed(2**62)
    buffer, coder = np.frombuffer(cursor.take(cursor.varint()), dtype=np.uint8).copy(), new_coder()
    start_decoding(coder, buffer)
    X = integers((n, 1))
    _run(coder, buffer, True, X)
    if coder[POSITION] > len(buffer) + N_BEYOND:
        raise DamagedFile("a list of numbers ends too early")
    return np.asarray(X[:, 0], dtype=np.int64) + first


def can_be_packed(numbers: np.ndarray) -> bool:
    """Whether the numbers are near enough to the first one."""
    if len(numbers) == 0:
        return True
    low, high, first = int(numbers.min()), int(numbers.max()), int(numbers[0])
    return max(high - first, first - low) < LIMIT // 2
