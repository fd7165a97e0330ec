"""The paper's scheme live: T0 codes per slot in a dictionary that `MiniBatchHRP` learns from the history."""

import math
import struct
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from hrpursuit.compression.chunks.bases import DICTIONARY, MOST_PRECISION, MOST_TOGETHER, Basis
from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.sparse import LIMIT, code_sparse, new_sparse, new_sparse_models
from hrpursuit.compression.layout import Cursor, shorter, text, unpacked, varint
from hrpursuit.core.masked import masked_codes
from hrpursuit.estimators import MiniBatchHRP
from hrpursuit.live.slot_coder import FACTOR, Bits, Wanted

MOST_SPARSE_COLUMNS = MOST_TOGETHER
_MOST_BYTES = 1 << 20  # of names and dictionary
_MOST_STEP = 1 << 20
_LEAST_PRECISION = 5
_SHARE = 0.02  # of the squared error that quantised coefficients may add; atoms as much
_WINDOW = 200  # slots by which dictionaries are compared and steps chosen
_BETTER = 0.8  # a new dictionary is sent when it leaves less than this share of the squared error of the one in use
_ENOUGH = 10  # samples per column after which the first dictionary is used in any case
_GOOD = 0.2  # relative error of T0 codes below which it is used before that
_LARGEST = 1e100  # readings beyond are not learned from: their squares would be no floats
_ROOM = 4  # readings may be so many times as large as they have been


class UnknownDictionary(DamagedFile):
    """A keyframe refers to a dictionary that has not come."""


@dataclass(frozen=True)
class Dictionary:
    """Atoms as they are sent, one per row, in 1/2^precision."""

    basis: Basis
    data: bytes

    @classmethod
    def of(cls, basis: Basis) -> "Dictionary":
        return cls(basis, basis.to_bytes())

    @property
    def check(self) -> int:
        return zlib.crc32(self.data)

    @property
    def atoms(self) -> np.ndarray:
        return np.asarray(self.basis.dictionary, dtype=np.float64) / 2.0**self.basis.precision


@dataclass(frozen=True)
class SparsePlan:
    """All columns together, in a dictionary.

    Attributes
    ----------
    names : tuple of str
    dictionary : Dictionary
    factor : float
        A reading is a whole number times this.
    step : int
        Of the codes, in these units.
    positive : bool
        Readings below zero become zero.
    sends_dictionary : bool
        Whether the keyframe carries the dictionary, or only its check.
    """

    names: tuple[str, ...]
    dictionary: Dictionary
    factor: float
    step: int
    positive: bool
    sends_dictionary: bool = True

    @property
    def kinds(self) -> np.ndarray:
        return np.full(len(self.names), FACTOR)

    def new_readings(self) -> "SparseReadings":
        return SparseReadings(self)

    def holds(self, values: np.ndarray) -> bool:
        """Whether all finite readings have room."""
        finite = values[np.isfinite(values)]
        return bool(np.abs(finite).max(initial=0.0) <= LIMIT * self.factor)

    def prepare(self, time: int, values: np.ndarray, forced: np.ndarray | None = None) -> Wanted:
        """What the coder takes of a slot: levels of its codes; infinities are sent as floats."""
        seen, odd = ~np.isnan(values), np.isinf(values)
        if forced is not None:
            odd |= forced & seen
        row = np.where(seen & ~odd, values, np.nan)[None]
        levels = np.zeros(len(self.dictionary.basis.dictionary), np.int64)
        if np.isfinite(row).any():
            codes = masked_codes(row, self.dictionary.atoms, self.dictionary.basis.n_nonzero)[0]
            levels = np.clip(np.rint(codes / (self.step * self.factor)), -LIMIT, LIMIT).astype(np.int64)
        return Wanted(time, seen, levels, np.flatnonzero(odd), values)

    def to_bytes(self) -> bytes:
        out = varint(len(self.names)) + b"".join(map(text, self.names)) + struct.pack("<d", self.factor)
        out += varint(self.step) + bytes([self.positive | 2 * self.sends_dictionary])
        return shorter(
            out + (self.dictionary.data if self.sends_dictionary else struct.pack("<I", self.dictionary.check))
        )

    @classmethod
    def from_bytes(cls, data: bytes, known: Mapping[int, Dictionary]) -> "SparsePlan":
        cursor = Cursor(unpacked(data, _MOST_BYTES))
        n = cursor.varint(MOST_SPARSE_COLUMNS)
        names = tuple(cursor.text() for _ in range(n))
        (factor,) = struct.unpack("<d", cursor.take(8))
        step, flags = cursor.varint(_MOST_STEP), cursor.byte()
        if n == 0 or len(set(names)) < n or not 0 < factor < np.inf or step == 0 or flags > 3:
            raise DamagedFile("the columns have impossible settings")
        if flags & 2:
            dictionary = Dictionary(Basis.from_cursor(cursor, n), cursor.data[cursor.at :])
            if dictionary.basis.kind != DICTIONARY or dictionary.basis.n_nonzero == 0:
                raise DamagedFile("a dictionary is none")
            dictionary = Dictionary.of(dictionary.basis)
        else:
            (check,) = struct.unpack("<I", cursor.take(4))
            if check not in known or known[check].basis.dictionary.shape[1] != n:
                raise UnknownDictionary(f"the keyframe names the dictionary {check:08x}, which has not come")
            dictionary = known[check]
        cursor.end()
        return cls(names, dictionary, factor, step, bool(flags & 1), bool(flags & 2))


class SparseReadings:
    """The coder of sparse codes of the codec."""

    def __init__(self, plan: SparsePlan) -> None:
        self._plan = plan
        self._state, self._models = new_sparse(plan.dictionary.basis.dictionary), new_sparse_models()

    def code(self, bits: Bits, numbers: np.ndarray | None, seen: np.ndarray, values: np.ndarray) -> None:
        """Write the levels, or read them; put what the decoder gets in `values` where there are readings."""
        basis, out = self._plan.dictionary.basis, integers((1, len(seen)))
        levels = integers((0, len(basis.dictionary))) if numbers is None else as_integers(numbers[None])
        code_sparse(
            bits.coder, bits.buffer, bits.decoding, levels, as_integers(seen[None]), out, self._state, *self._models,
            self._plan.step, basis.precision, basis.n_nonzero, self._plan.positive,
        )  # fmt: skip
        values[seen] = (np.asarray(out[0], dtype=np.int64) * self._plan.factor)[seen]


class Learner:
    """Learns the dictionary of a stream, and says when another one is worth sending.

    Parameters
    ----------
    n_columns : int
    n_nonzero : int
        T0.
    """

    def __init__(self, n_columns: int, n_nonzero: int) -> None:
        if n_columns > MOST_SPARSE_COLUMNS:
            raise ValueError(f"n_nonzero_coefs is for up to {MOST_SPARSE_COLUMNS} columns; got {n_columns}.")
        self._n_nonzero = min(n_nonzero, n_columns)
        self._model = MiniBatchHRP(n_nonzero_coefs=self._n_nonzero, random_state=0)
        self._last = np.zeros(n_columns)
        self._window: deque[np.ndarray] = deque(maxlen=_WINDOW)
        self._n_steps = 0
        self.n_changes = 0
        self.dictionary: Dictionary | None = None

    @property
    def components(self) -> np.ndarray | None:
        """Atoms that are in use, as the decoder has them."""
        return None if self.dictionary is None else self.dictionary.atoms

    def learn(self, values: np.ndarray) -> bool:
        """Take a slot; whether `dictionary` is another one now. Gaps are filled with the last reading."""
        finite = np.abs(np.where(np.isnan(values), np.inf, values)) < _LARGEST
        self._last = np.where(finite, values, self._last)
        self._window.append(np.where(finite, values, np.nan))
        if not self._last.any():
            return False
        self._model.partial_fit(self._last[None])
        if self._model.n_steps_ == self._n_steps:
            return False
        self._n_steps = self._model.n_steps_
        atoms = np.asarray(self._model.components_, dtype=np.float64)
        table = self._table()
        left, size = _squares(table, atoms, self._n_nonzero)
        if self.dictionary is not None:
            before = _squares(table, self.dictionary.atoms, self._n_nonzero)[0]
        else:  # a dictionary from few samples is worse than none
            has_many = self._model.n_samples_seen_ >= _ENOUGH * len(atoms)
            before = math.inf if has_many else _GOOD**2 * size / _BETTER
        has_changed = self._model.n_changes_ > self.n_changes
        self.n_changes = self._model.n_changes_
        if not (has_changed or left < _BETTER * before):
            return False
        relative = max(math.sqrt(left / size), 1e-4) if size > 0 else 1.0
        precision = math.ceil(math.log2(math.sqrt(len(atoms) / 12 / _SHARE) / relative))
        precision = min(max(precision, _LEAST_PRECISION), MOST_PRECISION)
        whole = np.rint(atoms * 2.0**precision).astype(np.int64)
        self.dictionary = Dictionary.of(
            Basis(DICTIONARY, dictionary=as_integers(whole), precision=precision, n_nonzero=self._n_nonzero)
        )
        return True

    def plan(self, names: tuple[str, ...], sends_dictionary: bool) -> SparsePlan:
        """Units and steps for the next slots, from the last ones."""
        assert self.dictionary is not None
        table = self._table()
        largest = float(np.nanmax(np.abs(table), initial=0.0)) or 1.0
        factor = 2.0 ** math.ceil(math.log2(_ROOM * max(largest, 1e-290) / LIMIT))
        left, _ = _squares(table, self.dictionary.atoms, self._n_nonzero)
        step = math.sqrt(12 * _SHARE * left / max(1, len(table) * self._n_nonzero)) / factor
        positive = not bool((table < 0).any())
        return SparsePlan(
            names, self.dictionary, factor, int(min(max(step, 1), _MOST_STEP)), positive, sends_dictionary
        )

    def _table(self) -> np.ndarray:
        table = np.array(self._window)
        return table[np.isfinite(table).any(axis=1)]


def _squares(table: np.ndarray, atoms: np.ndarray, n_nonzero: int) -> tuple[float, float]:
    """Squared norms over what is observed: of what codes leave, and of all."""
    residual = table - masked_codes(table, atoms, n_nonzero) @ atoms
    return float(np.nansum(residual**2)), float(np.nansum(table**2))
