"""Texts and categories: what stands for them in a chunk is a whole number, 0 where one is missing.

The texts of a chunk are listed in it, each one once. The categories of a column belong to its type, and are listed in
the header.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.layout import Cursor, shorter, unpacked, varint, varints
from hrpursuit.compression.tables.dtypes import TEXT
from hrpursuit.compression.tables.labels import LabelKind, labels_of
from hrpursuit.rows.optional import needed

MAX_TEXTS = 2**26  # bytes of the texts of a chunk
MAX_CATEGORIES = 2**20  # of a column

Columns = list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of a column: as an index has its labels, and whether their order means something."""

    kind: LabelKind
    labels: Any
    is_ordered: bool

    @classmethod
    def of(cls, dtype: Any, what: str) -> "Categories":
        """From a type of pandas; raises ValueError if they are not of a kind that an index can have."""
        if len(dtype.categories) > MAX_CATEGORIES:
            raise ValueError(f"{what} has {len(dtype.categories)} categories; at most {MAX_CATEGORIES} are possible.")
        try:
            kind, labels = labels_of(dtype.categories)
        except ValueError as error:
            raise ValueError(f"the categories of {what} cannot be stored, as if they were an index: {error}") from error
        return cls(kind, labels, bool(dtype.ordered))

    @cached_property
    def values(self) -> Any:
        """As an index of pandas."""
        return self.kind.index(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Categories) and self.to_bytes() == other.to_bytes()

    __hash__ = None  # type: ignore[assignment]

    def to_bytes(self) -> bytes:
        """As they stand in the header."""
        data = self.kind.encode(self.labels, 0)
        number = 2 * len(self.labels) + self.is_ordered
        return self.kind.to_bytes() + varint(number) + varint(len(data)) + data

    @classmethod
    def read(cls, cursor: Cursor) -> "Categories":
        """What `to_bytes` wrote; raises DamagedFile if pandas would not take them."""
        kind = LabelKind.read(cursor)
        number = cursor.varint(2 * MAX_CATEGORIES + 1)
        if kind.kind == "none":
            raise DamagedFile("categories are of no kind")
        labels = kind.decode(cursor.take(cursor.varint()), 0, number >> 1)
        found = cls(kind, labels, bool(number & 1))
        with damage("the categories of a column"):
            pandas = needed("pandas", "Tables with names", "cli")
            pandas.CategoricalDtype(found.values, found.is_ordered)
        return found


def numbers_alone(columns: Columns, kinds: Sequence[str]) -> Columns:
    """Columns as the coder takes them, of rows that are no chunk."""
    pandas = needed("pandas", "Tables with names", "cli") if any(kind in TEXT for kind in kinds) else None
    return [
        (pandas.factorize(column)[0] + 1).astype(np.int32) if pandas is not None and kind in TEXT else column
        for column, kind in zip(columns, kinds, strict=True)
    ]


def to_numbers(columns: Columns, kinds: Sequence[str]) -> tuple[Columns, bytes]:
    """Columns as the coder takes them, and the list of texts of this chunk; nothing if it has no columns of texts."""
    if not any(kind in TEXT for kind in kinds):
        return columns, b""
    out, data = [], []
    pandas = needed("pandas", "Tables with names", "cli")
    for column, kind in zip(columns, kinds, strict=True):
        if kind not in TEXT:
            out.append(column)
            continue
        numbers, texts = pandas.factorize(column)  # missing ones are -1, texts in the order in which they come
        out.append((numbers + 1).astype(np.int32))
        parts = [text.encode("utf-8", "surrogatepass") for text in texts]
        data += [varint(len(parts)), varints(map(len, parts)), *parts]
    packed = b"".join(data)
    if len(packed) > MAX_TEXTS:
        raise ValueError(
            f"the texts of {len(columns[0])} rows take {len(packed)} bytes, at most {MAX_TEXTS} are possible; give "
            "fewer chunk_rows."
        )
    listed = shorter(packed)
    again = from_numbers(out, kinds, {}, listed)
    if not all(np.array_equal(a, b) for a, b, kind in zip(columns, again, kinds, strict=True) if kind in TEXT):
        raise RuntimeError("internal error: the texts of a chunk read back as others; please report it.")
    return out, listed


def from_numbers(
    columns: Columns,
    kinds: Sequence[str],
    n_categories: dict[int, int],
    listed: bytes,
    take: Callable[[int], object] = lambda n_bytes: None,
) -> Columns:
    """Columns with their texts in place of numbers.

    Parameters
    ----------
    columns : list of arrays
        As they were decoded.
    kinds : sequence of str
        Their types.
    n_categories : dict of int to int
        How many categories there are, by place of a column; only checked.
    listed : bytes
        The list of texts.
    take : callable
        Told how many bytes of memory texts will take before they do, so that it can raise.

    Returns
    -------
    columns : list of arrays
        Texts as objects, None where one is missing.
    """
    for place, number in n_categories.items():
        _check_numbers(columns[place], number, "categories")
    if not any(kind in TEXT for kind in kinds):
        return columns
    with damage("the texts of a chunk"):
        cursor = Cursor(unpacked(listed, MAX_TEXTS))
        out = [
            _texts_of(column, cursor, take) if kind in TEXT else column
            for column, kind in zip(columns, kinds, strict=True)
        ]
        cursor.end()
    return out


def _texts_of(numbers: np.ndarray, cursor: Cursor, take: Callable[[int], object]) -> np.ndarray:
    lengths = cursor.varints(cursor.varint(len(numbers)))
    _check_numbers(numbers, len(lengths), "texts")
    if lengths.max(initial=0) > cursor.left:
        raise DamagedFile("a text is longer than its list")
    sizes = np.concatenate([[0], lengths.astype(np.int64)])
    take(int(sizes[numbers].sum()) + 8 * len(numbers))
    texts = np.empty(len(lengths) + 1, dtype=object)
    for place, length in enumerate(lengths.tolist()):
        texts[place + 1] = cursor.take(length).decode("utf-8", "surrogatepass")
    return texts[numbers]


def _check_numbers(numbers: np.ndarray, most: int, what: str) -> None:
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) <= most:
        raise DamagedFile(f"a column refers to {what} that are not there")
