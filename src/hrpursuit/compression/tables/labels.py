"""Labels of rows: how an index is described in the header, and what a chunk needs to give its labels back.

A chunk whose labels count on evenly from the header's start and step takes no byte for them. Any other has its first
whole number and their differences, by the coder of tables or deflated; its texts one after the other, deflated; its
floats bit for bit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from hrpursuit.compression.chunks import verbatim
from hrpursuit.compression.chunks.tabular import decode_table
from hrpursuit.compression.encoding.table_columns import on_grids
from hrpursuit.compression.encoding.tabular import encode_columns
from hrpursuit.compression.errors import DamagedFile, damage
from hrpursuit.compression.layout import (
    Cursor,
    scaled,
    shorter,
    signed,
    signeds,
    text,
    unpacked,
    varints,
)
from hrpursuit.compression.tables.names import check_label, label_bytes, read_label
from hrpursuit.rows.optional import needed

KINDS = ("none", "range", "integer", "float", "text", "datetime", "timedelta")
#: By kind, what an index of it can be made of.
TYPES = {
    "none": ("",),
    "range": ("int64",),
    "integer": ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"),
    "float": ("float64", "float32"),
    "text": ("object", "str", "string"),
    "datetime": ("s", "ms", "us", "ns"),
    "timedelta": ("s", "ms", "us", "ns"),
}
EVEN = ("none", "range", "integer", "datetime", "timedelta")
#: Names of zones as in the IANA database, or offsets as UTC+05:30; of frequencies as "15min", "W-SUN", "WOM-2TUE".
_ZONE = re.compile(r"[A-Za-z0-9+-][A-Za-z0-9_+:/-]{0,63}")
_FREQUENCY = re.compile(r"-?[0-9]{0,15}[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,4}")
_FIXED_SPAN = re.compile(r"-?[0-9]*(D|h|min|s|ms|us|ns)")
_MAX_BYTES = 2**26
_WRAP = 2**64
_TABLED = b"\x02"  # before differences by the coder of tables; 0 and 1 are plain and deflated ones

#: Labels as they are stored: whole numbers as int64 (unsigned ones by their bits), floats, or a list of texts.
Labels = Any


@dataclass(frozen=True)
class LabelKind:
    """Everything of an index but the labels that do not count on evenly."""

    kind: str = "none"
    dtype: str = ""
    name: str | int | None = None
    start: int = 0
    step: int = 1
    tz: str = ""
    freq: str = ""

    def to_bytes(self) -> bytes:
        """As it stands in the header."""
        times = self.kind in ("datetime", "timedelta")
        code = (
            KINDS.index(self.kind) | TYPES[self.kind].index(self.dtype) << 3 | bool(self.tz) << 6 | bool(self.freq) << 7
        )
        out = bytes([code]) + label_bytes(self.name)
        if self.kind in EVEN and self.kind != "none":
            out += scaled(self.start) + scaled(self.step)
        for part in (self.tz, self.freq) if times else ():
            out += text(part) if part else b""
        return out

    @classmethod
    def read(cls, cursor: Cursor) -> "LabelKind":
        """What `to_bytes` wrote."""
        code = cursor.byte()
        if code & 7 >= len(KINDS) or code >> 3 & 7 >= len(TYPES[KINDS[code & 7]]):
            raise DamagedFile(f"labels of rows are of the unknown kind {code}")
        kind = KINDS[code & 7]
        name = read_label(cursor)
        start, step = (cursor.scaled(), cursor.scaled()) if kind in EVEN and kind != "none" else (0, 1)
        times = kind in ("datetime", "timedelta")
        tz = cursor.text() if times and code & 64 else ""
        freq = cursor.text() if times and code & 128 else ""
        most = 2**63 if kind == "range" else _WRAP
        if max(abs(start), abs(step)) >= most or (kind == "range" and step == 0):
            raise DamagedFile("labels of rows do not count on")
        found = cls(kind, TYPES[kind][code >> 3 & 7], name, start, step, tz, freq)
        with damage("the kind of labels"):
            found._check()
        return found

    def _check(self) -> None:
        """Raise DamagedFile if pandas does not know the time zone or the frequency, or takes no such index."""
        if self.kind == "none":
            return
        pandas = needed("pandas", "Tables with an index", "cli")
        if self.tz:
            check_zone(self.tz)
        if self.freq and not _is_frequency(pandas, self.freq):
            raise DamagedFile(f"the frequency {self.freq[:80]!r} is not known here")
        self.index(self.decode(b"", 0, 0))

    def counting_as(self, labels: Labels) -> "LabelKind":
        """With start and step of these labels, where those are not the index's own."""
        if self.kind in ("integer", "datetime", "timedelta"):
            start, step = _start_and_step(labels)
            return replace(self, start=start, step=step)
        return self

    @property
    def counts_from_zero(self) -> bool:
        """Whether it is the index that a table has if nobody gave it one."""
        return self.kind == "range" and (self.start, self.step) == (0, 1)

    def joins(self, other: "LabelKind") -> bool:
        """Whether labels of both can stand in one index."""
        both_count = {self.kind, other.kind} == {"range", "integer"}
        return (self.kind == other.kind or both_count) and (self.dtype, self.tz) == (other.dtype, other.tz)

    def in_words(self) -> str:
        return " ".join(part for part in (self.kind, self.dtype, self.tz) if part)

    @property
    def is_even(self) -> bool:
        """Whether labels can count on at all."""
        return self.kind in EVEN

    def even(self, first_row: int, n_rows: int) -> np.ndarray:
        """The labels of these rows if they count on."""
        return self.even_at(np.arange(first_row, first_row + n_rows))

    def even_at(self, rows: Any) -> np.ndarray:
        """The same for any rows."""
        steps = np.asarray(rows, np.uint64)
        return (np.uint64(self.start % _WRAP) + np.uint64(self.step % _WRAP) * steps).view(np.int64)

    def encode(self, labels: Labels, first_row: int) -> bytes:
        """The labels of a chunk; nothing if they count on."""
        if self.kind == "none" or (self.is_even and np.array_equal(labels, self.even(first_row, len(labels)))):
            return b""
        if self.kind == "text":
            parts = [label.encode("utf-8", "surrogatepass") for label in labels]
            data = varints(map(len, parts)) + b"".join(parts)
            if len(data) > _MAX_BYTES:
                raise ValueError(f"the labels of {len(labels)} rows take {len(data)} bytes; give fewer chunk_rows.")
            return shorter(data)
        if self.kind == "float":
            return verbatim.pack([labels])
        changes = np.diff(labels)
        plain = shorter(signeds(np.diff(changes, prepend=labels.dtype.type(0))))
        column = on_grids(changes, 0.0)
        if len(changes) and column.ways:
            data, is_same = encode_columns([column], "default")
            if all(is_same) and len(data) + 1 < len(plain):
                plain = _TABLED + data
        return signed(int(labels[0])) + plain

    def decode(self, data: bytes, first_row: int, n_rows: int) -> Labels:
        """The labels of a chunk, from what `encode` gave."""
        if not data and (self.is_even or n_rows == 0):
            return [] if self.kind == "text" else self.even(first_row, n_rows).astype(self.stored_type)
        if self.kind == "none":
            raise DamagedFile("a chunk of a plain array has labels")
        if self.kind == "float":
            return verbatim.unpack(data, n_rows, [np.dtype(self.dtype)])[0]
        if self.kind == "text":
            cursor = Cursor(unpacked(data, _MAX_BYTES))
            texts = [cursor.take(number).decode("utf-8", "surrogatepass") for number in cursor.varints(n_rows).tolist()]
            cursor.end()
            return texts
        outer = Cursor(data)
        first, rest = outer.signed(2**63), outer.rest()
        if rest[:1] == _TABLED:
            (changes,) = decode_table(rest[1:], n_rows - 1, [np.dtype(np.int64)])
        else:
            cursor = Cursor(unpacked(rest, _MAX_BYTES))
            changes = np.cumsum(cursor.signeds(n_rows - 1), dtype=np.int64)
            cursor.end()
        return np.cumsum(np.concatenate([np.array([first], dtype=np.int64), changes]), dtype=np.int64)

    @property
    def n_bytes(self) -> int:
        """Memory of a label; more where it takes longer to make an index of them."""
        if self.kind == "none":
            return 0
        if self.freq and not _FIXED_SPAN.fullmatch(self.freq):  # pandas may count business days one by one
            return 1024
        return 64 if self.kind == "text" else 8

    @property
    def stored_type(self) -> str:
        """Type of stored labels that are no texts."""
        return self.dtype if self.kind == "float" else "int64"

    def index(self, labels: Labels) -> Any:
        """The labels as an index of pandas."""
        pandas = needed("pandas", "Tables with an index", "cli")
        if self.kind == "range" and np.all(np.diff(labels) == self.step):
            first = int(labels[0]) if len(labels) else self.start
            return pandas.RangeIndex(first, first + len(labels) * self.step, self.step, name=self.name)
        if self.kind == "text":
            return pandas.Index(labels, dtype=self.dtype, name=self.name)
        if self.kind in ("range", "integer"):
            bits = labels.view(np.uint64) if self.dtype == "uint64" else labels
            return pandas.Index(bits.astype(self.dtype), name=self.name)
        if self.kind == "float":
            return pandas.Index(labels, name=self.name)
        if self.kind == "timedelta":
            return _with_freq(pandas.TimedeltaIndex(labels.view(f"m8[{self.dtype}]"), name=self.name), self.freq)
        times = pandas.DatetimeIndex(labels.view(f"M8[{self.dtype}]"), name=self.name)
        return _with_freq(times.tz_localize("UTC").tz_convert(self.tz) if self.tz else times, self.freq)

    def values(self, labels: Labels) -> Any:
        """The labels as an index, or as a list of texts: to show and to compare."""
        return labels if self.kind == "text" else replace(self, freq="").index(np.asarray(labels, self.stored_type))

    def in_order(self, labels: Labels) -> bool:
        """Whether no label is less than the one before; missing ones are in no order."""
        if self.kind == "text":
            return all(a <= b for a, b in pairwise(labels))
        if self.dtype == "uint64":
            labels = labels.view(np.uint64)
        elif self.kind != "float" and len(labels) and labels.min() == np.iinfo(np.int64).min:
            return False
        return bool(np.all(labels[1:] >= labels[:-1])) and not (self.kind == "float" and np.isnan(labels).any())

    def ends_to_bytes(self, flat: Sequence[Any]) -> bytes:
        """First and last label of each chunk, one after the other, for the index of the file."""
        if self.kind == "text":
            return b"".join(map(text, flat))
        if self.kind == "float":
            return np.array(flat, "<f8").tobytes()
        return b"".join(signed(b - a) for a, b in pairwise([0, *map(int, flat)]))

    def read_ends(self, cursor: Cursor, n_chunks: int) -> Labels:
        """What `ends_to_bytes` wrote: first, last, first, last, ..."""
        if self.kind == "text":
            return [cursor.text() for _ in range(2 * n_chunks)]
        if self.kind == "float":
            with np.errstate(over="ignore"):  # where it is no float32, somebody forged it
                return np.frombuffer(cursor.take(16 * n_chunks), "<f8").astype(self.dtype)
        return np.array(list(accumulate(cursor.signed() for _ in range(2 * n_chunks))), np.int64)


def _with_freq(index: Any, freq: str) -> Any:
    if freq:
        try:
            index.freq = freq
        except Exception:  # rows are missing, another part of the stream had another step, or times are out of range
            index.freq = None
    return index


def labels_of(index: Any) -> tuple[LabelKind, Labels]:
    """Kind and stored labels of an index of pandas. Raises ValueError with what to do if it cannot be stored."""
    pandas = needed("pandas", "Tables with an index", "cli")
    if index.nlevels > 1:
        raise ValueError("the index has several levels; make columns of them: table.reset_index().")
    name = check_label(index.name, "the name of the index")
    if isinstance(index, pandas.RangeIndex):
        kind = LabelKind("range", "int64", name, index.start, index.step)
        return kind, kind.even(0, len(index))
    if isinstance(index, pandas.PeriodIndex):
        raise ValueError("the index has periods; give the time each begins: index.to_timestamp().")
    if isinstance(index, pandas.CategoricalIndex):
        raise ValueError("the index has categories; give their values: index.astype(index.categories.dtype).")
    dtype = str(index.dtype)
    if isinstance(index, (pandas.DatetimeIndex, pandas.TimedeltaIndex)):
        return _times(index, name)
    if dtype in TYPES["integer"]:
        wide = np.uint64 if dtype == "uint64" else np.int64
        labels = index.to_numpy().astype(wide).view(np.int64)
        return LabelKind("integer", dtype, name).counting_as(labels), labels
    if dtype in TYPES["float"]:
        return LabelKind("float", dtype, name), index.to_numpy()
    if dtype in TYPES["text"]:
        labels = index.tolist()
        for label in labels:
            if not isinstance(label, str):
                raise ValueError(
                    f"the index holds {label!r} among texts; labels must be texts, whole numbers, floats or time "
                    "stamps, all of one type: convert the index, or drop it with reset_index(drop=True)."
                )
        return LabelKind("text", dtype, name), labels
    raise ValueError(
        f"an index of type {dtype} cannot be stored; whole numbers, floats, texts, time stamps and time differences "
        "can: convert the index, or drop it with reset_index(drop=True)."
    )


def _times(index: Any, name: str | int | None) -> tuple[LabelKind, Labels]:
    pandas = needed("pandas", "Tables with an index", "cli")
    kind = "timedelta" if isinstance(index, pandas.TimedeltaIndex) else "datetime"
    tz, freq = getattr(index, "tz", None), index.freqstr or ""
    if tz is not None and not _same_zone(pandas, tz):
        raise ValueError(
            f"the time zone {tz!r} has no name that can be stored; give a named one: index.tz_convert('UTC')."
        )
    if freq and not _is_frequency(pandas, freq):
        raise ValueError(f"the frequency {freq!r} of the index has no name that can be stored; set index.freq = None.")
    known = index.dropna() if tz is not None else index[:0]
    try:
        list(known[[known.argmin(), known.argmax()]] if len(known) else ())
    except NotImplementedError as error:
        raise ValueError(
            "time stamps with a zone have to lie within the years 1 to 9999; give others without a zone: "
            "index.tz_localize(None)."
        ) from error
    labels = index.asi8
    found = LabelKind(kind, index.unit, name, tz="" if tz is None else str(tz), freq=freq)
    return found.counting_as(labels), labels


def check_zone(name: str, what: str = "") -> None:
    """Raise an error if pandas does not know a time zone by this name: ValueError if it is that of a column."""
    if _is_zone(needed("pandas", "Tables with names", "cli"), name):
        return
    if what:
        raise ValueError(
            f"{what}: the time zone {name!r} has no name that can be stored; give a named one: dt.tz_convert('UTC')."
        )
    raise DamagedFile(f"the time zone {name[:80]!r} is not known here")


def _same_zone(pandas: Any, tz: Any) -> bool:
    return _is_zone(pandas, str(tz)) and pandas.DatetimeTZDtype("ns", str(tz)) == pandas.DatetimeTZDtype("ns", tz)


def _is_zone(pandas: Any, name: str) -> bool:
    """Whether it is the name of a time zone that this machine knows; "dateutil/..." and "tz..." would open a path."""
    if not _ZONE.fullmatch(name) or name.startswith(("dateutil", "tz")):
        return False
    try:
        return pandas.DatetimeTZDtype("ns", name) is not None
    except Exception:  # it depends on the library of time zones, and on the files that it finds
        return False


def _is_frequency(pandas: Any, name: str) -> bool:
    if not _FREQUENCY.fullmatch(name):
        return False
    try:
        return pandas.tseries.frequencies.to_offset(name) is not None
    except Exception:  # some names are looked up in tables, others computed with
        return False


def _start_and_step(labels: np.ndarray) -> tuple[int, int]:
    first = labels[:2].tolist()
    return (first[0] if first else 0), next((b - a for a, b in pairwise(first)), 0)
