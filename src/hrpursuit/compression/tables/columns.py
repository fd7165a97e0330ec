"""A table as columns and a description of everything else, and back."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from hrpursuit.compression.errors import damage
from hrpursuit.compression.layout import Cursor, shorter, text, unpacked
from hrpursuit.compression.tables.dtypes import (
    CATEGORY,
    NUMPY,
    TEXT,
    check_type,
    coded_type,
    from_coded,
    is_exact,
    is_time,
    rounded_between,
    to_coded,
    with_zone,
    zone_of,
)
from hrpursuit.compression.tables.labels import LabelKind, Labels, check_zone, labels_of
from hrpursuit.compression.tables.names import Names
from hrpursuit.compression.tables.texts import Categories, from_numbers, to_numbers
from hrpursuit.rows.optional import needed
from hrpursuit.tables.arrow_frames import as_frame, as_given

MAX_COLUMNS = 2**20
MAX_DESCRIPTION = 2**26
MAX_ATTRS = 2**20
MAX_DEPTH = 64  # dictionaries and lists of attrs within each other: pandas copies them by recursion
_PLAIN_JSON = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Schema:
    """What a table is, apart from its readings: types, names, kind of labels, attributes."""

    kinds: list[str]
    names: Names | None = None
    labels: LabelKind = field(default_factory=LabelKind)
    attrs: dict[str, Any] = field(default_factory=dict)
    categories: dict[int, Categories] = field(default_factory=dict)  # by place of the column
    kind_if_empty: str = "float64"  # an array without columns has a type all the same
    n_bytes: int = 0  # of names, labels and attributes, as they were read

    @property
    def is_frame(self) -> bool:
        return self.names is not None

    @property
    def columns(self) -> Sequence[str | int]:
        """Names of the columns; numbers for an array."""
        return range(len(self.kinds)) if self.names is None else self.names.values

    def take(self, places: Sequence[int]) -> "Schema":
        """What a table of some of the columns is, in this order."""
        names = None if self.names is None else self.names.take(places)
        categories = {i: self.categories[place] for i, place in enumerate(places) if place in self.categories}
        return replace(self, kinds=[self.kinds[place] for place in places], names=names, categories=categories)

    @cached_property
    def has_texts(self) -> bool:
        """Whether chunks have a list of texts."""
        return any(kind in TEXT for kind in self.kinds)

    @cached_property
    def exact(self) -> list[int]:
        """Places of the columns that are lossless whatever the target."""
        return [place for place, kind in enumerate(self.kinds) if is_exact(kind)]

    def with_texts(
        self, columns: list[np.ndarray], listed: bytes, take: Callable[[int], object] = lambda n_bytes: None
    ) -> list[np.ndarray]:
        """Decoded columns with texts in place of their numbers; `take` is told of the memory before it is taken."""
        known = {place: len(found.labels) for place, found in self.categories.items()}
        return from_numbers(columns, self.kinds, known, listed, take)

    @property
    def coded_types(self) -> list[np.dtype]:
        types = {kind: coded_type(kind) for kind in set(self.kinds)}
        return [types[kind] for kind in self.kinds]

    @property
    def limits(self) -> list[tuple[float, float] | None]:
        """Of each column that is rounded after decoding, the least and the largest number it can have."""
        return [rounded_between(kind) for kind in self.kinds]

    def to_bytes(self) -> bytes:
        """Names, labels and attributes; nothing for a plain array."""
        if self.names is None:
            return b""
        attrs = json.dumps(self.attrs, separators=(",", ":")) if self.attrs else ""
        if len(attrs) > MAX_ATTRS:
            raise ValueError(
                f"attrs take {len(attrs)} characters as JSON, at most {MAX_ATTRS} are possible; keep less."
            )
        data = self.names.to_bytes() + self.labels.to_bytes() + text(attrs) + self._types_to_bytes()
        if len(data) > MAX_DESCRIPTION:
            raise ValueError(f"names and attrs take {len(data)} bytes, at most {MAX_DESCRIPTION} are possible.")
        return shorter(data)

    def described(self, data: bytes, known: tuple[bytes, Names] | None = None) -> tuple["Schema", bytes]:
        """With names, labels and attributes from what `to_bytes` gave; and the bytes of the names.

        Names that are `known`, by the very same bytes, are not read again. Raises DamagedFile at what cannot be, among
        it names, a time zone or a frequency that pandas does not take.
        """
        with damage("the description of the table"):
            cursor = Cursor(unpacked(data, MAX_DESCRIPTION))
            if known is not None and cursor.passes(known[0]):
                names = known[1]
            else:
                names = Names.read(cursor, len(self.kinds))
                names.index()
            names_data = cursor.data[: cursor.at]
            labels, attrs = LabelKind.read(cursor), cursor.text()
            kinds, categories = self._read_types(cursor)
            cursor.end()
            found = json.loads(attrs or "{}") if len(attrs) <= MAX_ATTRS else None
            if not isinstance(found, dict) or _depth(found) > MAX_DEPTH:
                raise ValueError(
                    f"the attributes are no dictionary, have more than {MAX_ATTRS} characters, or are nested more than "
                    f"{MAX_DEPTH} times"
                )
        read = replace(self, names=names, labels=labels, attrs=found, kinds=kinds, categories=categories)
        return replace(read, n_bytes=len(cursor.data)), names_data

    def _types_to_bytes(self) -> bytes:
        """What there is to say about the type of a column beside its code: a time zone, or its categories."""
        out = []
        for place, kind in enumerate(self.kinds):
            if kind == CATEGORY:
                out.append(self.categories[place].to_bytes())
            elif kind.startswith("datetime64"):
                out.append(text(zone_of(kind)))
        return b"".join(out)

    def _read_types(self, cursor: Cursor) -> tuple[list[str], dict[int, Categories]]:
        if not any(kind == CATEGORY or kind.startswith("datetime64") for kind in self.kinds):
            return self.kinds, {}
        kinds, categories, zones = list(self.kinds), {}, {""}
        for place, kind in enumerate(kinds):
            if kind == CATEGORY:
                categories[place] = Categories.read(cursor)
            elif kind.startswith("datetime64"):
                zone = cursor.text()
                if zone not in zones:
                    check_zone(zone)
                    zones.add(zone)
                kinds[place] = with_zone(kind, zone)
        return kinds, categories

    def build(self, columns: list[np.ndarray], labels: Labels, n_rows: int) -> Any:
        """A table of these columns: an array, a DataFrame, or a table of polars or Arrow if it was one."""
        same = len(set(self.kinds)) <= 1 and all(kind in NUMPY for kind in self.kinds)
        if self.names is None:
            dtype = columns[0].dtype if columns else np.dtype(self.kind_if_empty)
            out = np.empty((n_rows, len(columns)), dtype)
            for place, column in enumerate(columns):
                out[:, place] = column
            return out
        pandas = needed("pandas", "Tables with names", "cli")
        index = self.labels.index(labels)
        if same and columns:
            frame = pandas.DataFrame(np.array(columns).T, index=index, copy=False)
        else:
            parts = {
                i: from_coded(column, kind, pandas, self.categories.get(i))
                for i, (column, kind) in enumerate(zip(columns, self.kinds, strict=True))
            }
            for i, part in parts.items():
                if part.dtype == object:  # otherwise it would be taken for the texts of newer pandas
                    parts[i] = pandas.Series(part, index=index, dtype=object)
            frame = pandas.DataFrame(parts, index=index)
        frame.columns = self.names.index()
        frame.attrs = json.loads(json.dumps(self.attrs))
        return as_given(frame)


@dataclass(frozen=True)
class Table:
    """A table taken apart."""

    schema: Schema
    columns: list[np.ndarray]
    labels: Labels
    n_rows: int

    def rows(self, start: int, stop: int) -> "Table":
        """Some of the rows, as views."""
        labels = None if self.labels is None else self.labels[start:stop]
        stop = min(stop, self.n_rows)
        return replace(self, columns=[c[start:stop] for c in self.columns], labels=labels, n_rows=stop - start)

    def numbers(self) -> tuple[list[np.ndarray], bytes]:
        """The columns as the coder of chunks takes them, and the list of their texts."""
        return to_numbers(self.columns, self.schema.kinds)


def take_apart(table: Any) -> Table:
    """Columns, labels and description of an array-like, or of a table of pandas, polars or Arrow.

    Raises ValueError at what cannot be stored.
    """
    table = as_frame(table)
    pandas = sys.modules.get("pandas")  # whoever has a DataFrame has imported it
    if pandas is not None and isinstance(table, pandas.DataFrame):
        return _take_frame_apart(table)
    if pandas is not None and isinstance(table, pandas.Series):
        raise ValueError("a table has rows and columns; got a Series: give series.to_frame().")
    if isinstance(table, np.ma.MaskedArray):
        raise ValueError("got a masked array; give its gaps as NaN: table.astype(float).filled(numpy.nan).")
    try:
        values = np.asarray(table)
    except ValueError as error:
        raise ValueError(f"a table must have rows of equal length: {error}") from error
    if values.ndim != 2:
        hint = (
            " For one sensor give table.reshape(-1, 1), for one row table.reshape(1, -1)." if values.ndim == 1 else ""
        )
        raise ValueError(f"a table must have 2 dimensions, rows and columns; got {values.ndim}.{hint}")
    _check_columns(values.shape[1])
    kind = check_type(values.dtype, "the array")
    values = values.astype(kind, copy=False)
    return Table(Schema([kind] * values.shape[1], kind_if_empty=kind), list(values.T), None, len(values))


def _take_frame_apart(frame: Any) -> Table:
    _check_columns(frame.shape[1])
    names = Names.of(frame.columns)
    dtypes = list(frame.dtypes)
    what = [f"column {name!r}" for name in names.values]
    kinds = [check_type(dtype, name, in_frame=True) for dtype, name in zip(dtypes, what, strict=True)]
    for name, kind in zip(what, kinds, strict=True):
        if is_time(kind) and zone_of(kind):
            check_zone(zone_of(kind), name)
    categories = {i: Categories.of(dtypes[i], what[i]) for i, kind in enumerate(kinds) if kind == CATEGORY}
    if len(set(kinds)) == 1 and kinds[0] in NUMPY:
        columns = list(frame.to_numpy().astype(kinds[0], copy=False).T)
    else:
        columns = [to_coded(frame.iloc[:, i], kind, what[i]) for i, kind in enumerate(kinds)]
    kind, labels = labels_of(frame.index)
    schema = Schema(kinds, names, kind, _checked_attrs(frame.attrs), categories)
    return Table(schema, columns, labels, len(frame))


def _check_columns(n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise ValueError(f"a table can have {MAX_COLUMNS} columns; got {n_columns}: turn it, or give parts of it.")


def _checked_attrs(attrs: Any) -> dict[str, Any]:
    _check_json(dict(attrs), "attrs")
    return json.loads(json.dumps(dict(attrs)))


def _depth(value: Any) -> int:
    """How many dictionaries and lists are within each other."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, (dict, list))]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def _check_json(value: Any, where: str, depth: int = 1) -> None:
    """JSON would turn a tuple into a list and a number as key into a text; what does not survive is refused."""
    if type(value) in (dict, list) and depth > MAX_DEPTH:
        raise ValueError(f"attrs are nested more than {MAX_DEPTH} times: {where[:80]}...; keep them flatter.")
    if type(value) is dict:
        for key, inner in value.items():
            if type(key) is not str:
                raise ValueError(f"{where} has the key {key!r}; keys must be texts, as in JSON.")
            _check_json(inner, f"{where}[{key!r}]", depth + 1)
    elif type(value) is list:
        for place, inner in enumerate(value):
            _check_json(inner, f"{where}[{place}]", depth + 1)
    elif type(value) not in _PLAIN_JSON:
        raise ValueError(
            f"{where} is of type {type(value).__name__}, which JSON does not keep; "
            "use dictionaries, lists, texts, numbers, True, False and None."
        )
