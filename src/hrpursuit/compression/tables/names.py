"""Names of columns as few bytes: those of a network are a text, a number and a text, and the number counts on.

`s01` to `s56` is one group: text `s`, two digits, from 1, 56 times, step 1. So is `171_pm25`, `172_pm25`, ...
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby, pairwise
from numbers import Integral
from typing import Any

from hrpursuit.compression.errors import DamagedFile
from hrpursuit.compression.layout import Cursor, scaled, signed, text, varint, varints
from hrpursuit.rows.optional import needed

#: Types of an index of names, by code. Zero is a RangeIndex.
TYPES = ("range", "object", "str", "string", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
MAX_CHARACTERS = 2**25
MAX_STEP = 2**62  # between two numbers of a group, so that all steps are numbers of 64 bits
MAX_GROUPS = 2**16  # so that a header cannot ask for more work than its names are worth
_IS_INT, _HAS_NUMBER, _EVEN_STEPS, _IS_LIST = 1, 2, 4, 8
_LAST_NUMBER = re.compile(r"(?s)(.*?)([0-9]{1,18})([^0-9]*)\Z")
_FIRST_NUMBER = re.compile(r"(?s)([^0-9]*)([0-9]{1,18})(.*)\Z")


@dataclass(frozen=True)
class Names:
    """The names of the columns, the type of their index, and its own name."""

    values: Sequence[Any]
    dtype: str = "object"
    name: str | int | None = None

    @classmethod
    def of(cls, columns: Any) -> "Names":
        """From the columns of a DataFrame."""
        what = "the columns"
        if getattr(columns, "nlevels", 1) > 1:
            raise ValueError(
                "the columns have several levels; give each column one name, for example by joining levels."
            )
        name = check_label(columns.name, f"the name of {what}")
        if type(columns).__name__ == "RangeIndex":
            return cls(range(columns.start, columns.stop, columns.step), "range", name)
        values = [check_name(value) for value in columns]
        if sum(len(value) for value in values if isinstance(value, str)) > MAX_CHARACTERS:
            raise ValueError(f"names of columns may have {MAX_CHARACTERS} characters in all; give shorter ones.")
        dtype = str(columns.dtype)
        if dtype not in TYPES:
            raise ValueError(
                f"names of columns must be texts or whole numbers; these are {dtype}: columns.astype(str)."
            )
        return cls(values, dtype, name)

    def index(self) -> Any:
        """The names as an index of pandas, of which the caller may change the name."""
        return self._index.view()

    @cached_property
    def _index(self) -> Any:
        pandas = needed("pandas", "Tables with names", "cli")
        if self.dtype == "range":
            return pandas.RangeIndex(self.values.start, self.values.stop, self.values.step, name=self.name)  # type: ignore[attr-defined]
        return pandas.Index(list(self.values), dtype=self.dtype, name=self.name)

    def take(self, places: Sequence[int]) -> "Names":
        """The names of some columns, in this order."""
        values = [self.values[place] for place in places]
        return Names(values, "int64" if self.dtype == "range" else self.dtype, self.name)

    def to_bytes(self) -> bytes:
        """As they stand in the header."""
        out = bytes([TYPES.index(self.dtype)]) + label_bytes(self.name)
        if self.dtype == "range":
            return out + signed(self.values.start) + signed(self.values.step)  # type: ignore[attr-defined]
        ways = [_groups(self.values, way) for way in (_LAST_NUMBER, _FIRST_NUMBER)] + [_lists(self.values)]
        shortest = min((b"".join(groups) for groups in ways if len(groups) <= MAX_GROUPS), key=len, default=None)
        if shortest is None:
            raise ValueError("names of columns change between texts and numbers too often; make all of them texts.")
        return out + shortest

    @classmethod
    def read(cls, cursor: Cursor, n_columns: int) -> "Names":
        """What `to_bytes` wrote."""
        code = cursor.byte()
        if code >= len(TYPES):
            raise DamagedFile(f"names are of the unknown type {code}")
        name = read_label(cursor)
        if TYPES[code] == "range":
            start, step = cursor.signed(2**62), cursor.signed(2**40)
            if step == 0:
                raise DamagedFile("numbers of columns do not count on")
            return cls(range(start, start + n_columns * step, step), "range", name)
        values: list[str | int] = []
        room = 2 * MAX_CHARACTERS
        for _ in range(MAX_GROUPS):
            if len(values) == n_columns:
                break
            room -= _read_group(cursor, n_columns - len(values), room, values)
        if len(values) < n_columns:
            raise DamagedFile(f"names are in more than {MAX_GROUPS} groups")
        return cls(values, TYPES[code], name)


def check_name(value: object) -> str | int:
    """A name that can be stored, or ValueError."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**64:
        return int(value)
    raise ValueError(f"names of columns must be texts or whole numbers of 64 bits; got {value!r}: rename that column.")


def check_label(value: object, what: str) -> str | int | None:
    """The name of an index: a text, a whole number or none, or ValueError."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool) and -(2**63) <= int(value) < 2**64:
        return int(value)
    raise ValueError(f"{what} must be a text, a whole number or None; got {value!r}.")


def label_bytes(label: str | int | None) -> bytes:
    if label is None:
        return b"\x00"
    return b"\x01" + text(label) if isinstance(label, str) else b"\x02" + signed(label)


def read_label(cursor: Cursor) -> str | int | None:
    kind = cursor.byte()
    if kind > 2:
        raise DamagedFile(f"the name of an index is of the unknown kind {kind}")
    return None if kind == 0 else cursor.text() if kind == 1 else cursor.signed()


def _split(value: str | int, way: re.Pattern[str]) -> tuple[int, str, str, int, int]:
    """Kind, text before, text after, digits (0: as many as needed), number."""
    if isinstance(value, int):
        return _IS_INT | _HAS_NUMBER, "", "", 0, value
    found = way.match(value)
    if found is None:
        return 0, value, "", 0, 0
    before, digits, after = found.groups()
    width = len(digits) if digits[0] == "0" and digits != "0" else 0
    return _HAS_NUMBER, before, after, width, int(digits)


def _groups(values: Sequence[str | int], way: re.Pattern[str]) -> list[bytes]:
    """Groups of names that count on."""
    groups: list[tuple[tuple[int, str, str, int], list[int]]] = []
    for value in values:
        *key, number = _split(value, way)
        if groups and _continues(groups[-1][0], tuple(key), number - groups[-1][1][-1], number):
            groups[-1][1].append(number)
        else:
            groups.append((tuple(key), [number]))  # type: ignore[arg-type]
    return [_one_group(key, numbers) for key, numbers in groups]


def _lists(values: Sequence[str | int]) -> list[bytes]:
    """Texts as they are; numbers in groups."""
    out = []
    for is_text, part in groupby(values, lambda value: isinstance(value, str)):
        if is_text:
            texts = [str(value).encode("utf-8", "surrogatepass") for value in part]
            out.append(b"".join([bytes([_IS_LIST]), varint(len(texts)), varints(map(len, texts)), *texts]))
        else:
            out += _groups(list(part), _LAST_NUMBER)
    return out


def _continues(group: tuple, key: tuple, step: int, number: int) -> bool:
    """`s10` goes with `s09`: with two digits asked for, it needs no zero in front."""
    if abs(step) >= MAX_STEP:
        return False
    if group == key:
        return True
    return group[:3] == key[:3] and key[3] == 0 and len(str(number)) >= group[3] > 0


def _one_group(key: tuple[int, str, str, int], numbers: list[int]) -> bytes:
    kind, before, after, width = key
    steps = [b - a for a, b in pairwise(numbers)]
    even = len(set(steps)) <= 1
    out = bytes([kind | _EVEN_STEPS * even])
    if not kind & _IS_INT:
        out += text(before)
    if kind & _HAS_NUMBER and not kind & _IS_INT:
        out += text(after) + bytes([width])
    out += varint(len(numbers))
    if kind & _HAS_NUMBER:
        out += scaled(numbers[0]) + (signed(steps[0] if steps else 0) if even else b"".join(map(signed, steps)))
    return out


def _read_group(cursor: Cursor, most: int, room: int, values: list[str | int]) -> int:
    """Add the names of a group; gives about how many characters they are, no more than there is room for."""
    kind = cursor.byte()
    if kind == _IS_LIST:
        lengths = cursor.varints(cursor.varint(most)).tolist()
        texts = [cursor.take(length).decode("utf-8", "surrogatepass") for length in lengths]
        taken = sum(map(len, texts)) + len(texts)
        if not texts or taken > room:
            raise DamagedFile("a list of names is empty, or takes too much memory")
        values += texts
        return taken
    if kind > 7:
        raise DamagedFile(f"a group of names is of the unknown kind {kind}")
    before = "" if kind & _IS_INT else cursor.text()
    after, width = (cursor.text(), cursor.byte()) if kind & _HAS_NUMBER and not kind & _IS_INT else ("", 0)
    count = cursor.varint(most)
    if count == 0 or width > 18:
        raise DamagedFile("a group of names is empty, or its numbers have too many digits")
    taken = (len(before) + len(after) + width + 1) * count
    if taken > room:
        raise DamagedFile("names take too much memory")
    if not kind & _HAS_NUMBER:
        values += [before] * count
        return taken
    first = cursor.scaled()
    if kind & _EVEN_STEPS:
        step = cursor.signed(MAX_STEP)
        numbers = [first] if count == 1 else [first + i * step for i in range(count)]
    else:
        steps = (
            cursor.signeds(count - 1).tolist() if count > 16 else [cursor.signed(MAX_STEP) for _ in range(count - 1)]
        )
        numbers = list(accumulate(steps, initial=first))
    if min(numbers) < -(2**63) or max(numbers) >= 2**64:
        raise DamagedFile("the number of a name is too large")
    values += numbers if kind & _IS_INT else [f"{before}{number:0{width}d}{after}" for number in numbers]
    return taken
