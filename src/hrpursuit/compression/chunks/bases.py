"""Which columns are coded together, and in which basis: what all chunks of a file share."""

from dataclasses import dataclass, field

import numpy as np

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.kernels.atoms import (
    code_atoms,
    code_order,
    cosine_atoms,
    new_atom_model,
    sent_basis,
)
from hrpursuit.compression.kernels.bits import POSITION, finish_encoding, new_coder, start_decoding
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.kernels.samples import code_low_bits
from hrpursuit.compression.layout import Cursor, shorter, unpacked, varint, varints

ADAPTIVE, SENT, DICTIONARY = range(3)
MOST_PRECISION = 14
#: Columns in a group.
MOST_TOGETHER = 256


@dataclass(frozen=True)
class Basis:
    """Of one group of columns: learned while decoding (ADAPTIVE), an order of the columns with some atoms (SENT), or a
    dictionary for sparse codes (DICTIONARY).
    """

    kind: int = ADAPTIVE
    order: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sent: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    dictionary: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))
    precision: int = 0
    n_nonzero: int = 0

    @property
    def is_adaptive(self) -> bool:
        return self.kind == ADAPTIVE

    def atoms(self, n: int) -> np.ndarray:
        """Atoms over the columns, one per row, in 1/2^24; where they are learned, those to begin with."""
        return sent_basis(self.order, self.sent) if self.kind == SENT else cosine_atoms(n)

    def to_bytes(self) -> bytes:
        head = bytes([self.kind])
        if self.kind == ADAPTIVE:
            return head
        head += (
            varint(len(self.sent))
            if self.kind == SENT
            else varints([self.precision, self.n_nonzero, len(self.dictionary)])
        )
        size, n_bytes = 4 * (self.sent.size + self.dictionary.size) + 4 * len(self.order) + 64, 0
        while True:
            coder, buffer = new_coder(), np.zeros(size, dtype=np.uint8)
            self._code(coder, buffer, False)
            finish_encoding(coder, buffer)
            n_bytes = int(coder[POSITION])
            if n_bytes <= size:
                return head + varint(n_bytes) + buffer[:n_bytes].tobytes()
            size = n_bytes

    @classmethod
    def from_cursor(cls, cursor: Cursor, n: int) -> "Basis":
        kind = cursor.byte()
        if n > MOST_TOGETHER:
            raise DamagedFile(f"{n} columns cannot be coded together")
        if kind == ADAPTIVE:
            return cls()
        if kind == SENT:
            n_atoms = cursor.varint(n)
            basis = cls(kind, order=integers(n), sent=integers((n_atoms, n)))
        elif kind == DICTIONARY:
            precision, n_nonzero, n_atoms = (
                cursor.varint(MOST_PRECISION),
                cursor.varint(n),
                cursor.varint(MOST_TOGETHER),
            )
            basis = cls(kind, dictionary=integers((n_atoms, n)), precision=precision, n_nonzero=n_nonzero)
        else:
            raise DamagedFile(f"a basis is of the unknown kind {kind}")
        buffer = np.frombuffer(cursor.take(cursor.varint()), dtype=np.uint8).copy()
        coder = new_coder()
        start_decoding(coder, buffer)
        basis._code(coder, buffer, True)
        return basis

    def _code(self, coder: np.ndarray, buffer: np.ndarray, decoding: bool) -> None:
        if self.kind == SENT:
            order = self.order if decoding else as_integers(self.order)
            sent = self.sent if decoding else as_integers(self.sent)
            code_order(coder, buffer, decoding, order, integers(len(order)))
            code_atoms(coder, buffer, decoding, sent, new_atom_model())
        else:
            n_low = max(self.precision - 6, 0)  # bits too fine to be worth a model
            high, low = as_integers(self.dictionary >> n_low), as_integers(self.dictionary & ((1 << n_low) - 1))
            code_atoms(coder, buffer, decoding, high, new_atom_model())
            code_low_bits(coder, buffer, decoding, low, integers(low.shape, 1), integers(low.shape[1], n_low))
            if decoding:
                self.dictionary[:] = (high << n_low) + low


@dataclass(frozen=True)
class Group:
    """Columns, by number, that are coded together."""

    columns: np.ndarray
    basis: Basis


def write_groups(groups: list[Group], n_columns: int) -> bytes:
    """The shared part of a file; nothing for a single adaptive group."""
    if len(groups) == 1 and groups[0].basis.is_adaptive:
        return b""
    number = np.zeros(n_columns, dtype=np.int64)
    for i, group in enumerate(groups):
        number[group.columns] = i
    out = varint(len(groups))
    if len(groups) > 1:
        numbers = shorter(varints(number.tolist()))
        out += varint(len(numbers)) + numbers
    return out + b"".join(group.basis.to_bytes() for group in groups)


def read_groups(shared: bytes, n_columns: int) -> list[Group]:
    """What `write_groups` has written."""
    cursor = Cursor(shared or b"\x01\x00")
    n_groups = cursor.varint(n_columns)
    if n_groups == 0:
        raise DamagedFile("the columns are in no group")
    number = np.zeros(n_columns, dtype=np.int64)
    if n_groups > 1:
        inner = Cursor(unpacked(cursor.take(cursor.varint()), 3 * n_columns))
        number = np.array([inner.varint(n_groups - 1) for _ in range(n_columns)], dtype=np.int64)
        inner.end()
    groups = []
    ends = np.cumsum(np.bincount(number, minlength=n_groups))
    for columns in np.split(np.argsort(number, kind="stable"), ends[:-1]):
        if len(columns) == 0:
            raise DamagedFile("a group has no columns")
        groups.append(Group(columns, Basis.from_cursor(cursor, len(columns))))
    cursor.end()
    return groups
