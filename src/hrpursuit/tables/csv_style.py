"""The form of the text of a CSV file, kept so that it can be written again as it was."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from hrpursuit.rows.optional import needed

ATTRIBUTE = "csv"  # of a DataFrame: what of its text is not as `Style()` says
NO_CELL = 99  # decimals of a column that has no number yet
INDEX = "index"  # among the odd cells, in place of the number of a column
TRUTH = {"True": "False", "true": "false", "TRUE": "FALSE"}
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:([T ])\d\d:\d\d(?::\d\d(?:\.(\d{3}|\d{6}|\d{9}))?)?)?(Z|[+-]\d\d:?\d\d)?")
_UNITS = {10: "D", 16: "m", 19: "s", 23: "ms", 26: "us", 29: "ns"}  # by the length of the text
_ZONE = re.compile(r"(?:Z|[+-]\d\d:?\d\d)?$")
_PLAIN_TIME = "YYYY-MM-DD HH:MM:SS"


def time_pattern(text: str) -> str | None:
    """The form of an ISO 8601 time stamp, as YYYY-MM-DDTHH:MM:SSZ; None if the text is none."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    zone = found.group(3) or ""
    length = len(text) - len(zone)
    if length == 10 and zone:
        return None
    separator = found.group(1) or " "
    return f"YYYY-MM-DD{separator}HH:MM:SS.{'f' * 9}"[:length] + zone


def time_texts(index: Any, pattern: str | None) -> np.ndarray[Any, Any]:
    """Time stamps (a DatetimeIndex) in the form of a pattern; in a finer one if that would not say all."""
    zone = "" if index.tz is None else "+00:00"
    if pattern is None:
        pattern = _PLAIN_TIME
    else:
        zone = _ZONE.search(pattern).group()  # type: ignore[union-attr]
        pattern = pattern.removesuffix(zone)
    if len(index) == 0:
        return np.array([], dtype=str)
    if index.tz is not None:
        offset = datetime.strptime(zone or "Z", "%z").tzinfo
        index = index.tz_convert(offset).tz_localize(None)
    moments: Any = index.to_numpy()
    units = list(_UNITS.values())[list(_UNITS).index(len(pattern)) :]
    unit = next(unit for unit in units if unit == "ns" or np.all(moments == moments.astype(f"M8[{unit}]")))
    texts = np.datetime_as_string(moments, unit=unit)  # type: ignore[call-overload]
    if pattern[10:11] != "T":
        texts = np.char.replace(texts, "T", " ")
    return np.char.add(texts, zone) if zone else texts


@dataclass
class Style:
    """How a table is written: what stands between cells, the fewest decimals of each column, and so on."""

    delimiter: str = ","
    point: str = "."
    header: bool = True
    index: bool = False  # an index without a name is written as well
    gap: str = ""
    newline: str = "\n"
    bom: bool = False  # a byte order mark stands before everything
    end: bool = True  # the last line ends as the others do
    truth: str = "True"  # how True is written; False in the same letters
    time: str | None = None
    decimals: list[int] = field(default_factory=list)
    odd: dict[str, dict[str, str]] = field(default_factory=dict)  # texts that are not what the number gives

    @classmethod
    def of(cls, attrs: dict[str, Any], n_columns: int) -> "Style":
        """From the attributes of a table; what is not as it should be is taken as not given."""
        kept = attrs.get(ATTRIBUTE)
        kept = kept if isinstance(kept, dict) else {}
        style = cls()
        for name, value in kept.items():
            if name not in ("decimals", "odd") and type(value) is type(getattr(style, name, ())):
                setattr(style, name, value)
        style.newline = style.newline if style.newline in ("\n", "\r\n") else "\n"
        style.truth = style.truth if style.truth in TRUTH else "True"
        style.odd = _checked_odd(kept.get("odd"))
        style.delimiter = style.delimiter if style.delimiter in (",", ";", "\t") else ","
        style.point = "," if style.point == "," and style.delimiter != "," else "."
        time, decimals = kept.get("time"), kept.get("decimals", 0)
        style.time = time if isinstance(time, str) and time_pattern(re.sub("[YMDHSf]", "0", time)) == time else None
        decimals = decimals if isinstance(decimals, list) else [decimals] * n_columns
        good = len(decimals) == n_columns and all(isinstance(d, int) and 0 <= d < NO_CELL for d in decimals)
        style.decimals = decimals if good else [0] * n_columns
        return style

    def as_attribute(self) -> dict[str, Any]:
        """What differs from a plain file, as few bytes as may be: it is stored with the table."""
        kept = {
            name: getattr(self, name)
            for name in ("delimiter", "point", "header", "index", "gap", "newline", "bom", "end", "truth")
            if getattr(self, name) != getattr(Style, name)
        }
        if self.time and self.time != _PLAIN_TIME:
            kept["time"] = self.time
        known = [d for d in self.decimals if d != NO_CELL]
        if known and min(known) == max(known):
            kept |= {"decimals": known[0]} if known[0] else {}
        elif known:
            kept["decimals"] = [0 if d == NO_CELL else d for d in self.decimals]
        if self.odd:
            kept["odd"] = self.odd
        return kept


def _checked_odd(odd: Any) -> dict[str, dict[str, str]]:
    if not isinstance(odd, dict):
        return {}
    return {
        place: {row: text for row, text in cells.items() if row.isdecimal() and len(row) < 19 and isinstance(text, str)}
        for place, cells in odd.items()
        if isinstance(cells, dict)
    }


def style_of_part(attrs: dict[str, Any], places: Sequence[int], all_rows: bool) -> dict[str, Any]:
    """Attributes for some columns of the table: decimals and odd cells are kept by column, these by row as well."""
    kept = attrs.get(ATTRIBUTE)
    if not isinstance(kept, dict):
        return attrs
    kept = dict(kept)
    decimals, odd = kept.get("decimals"), kept.pop("odd", None)
    if isinstance(decimals, list):
        kept["decimals"] = [decimals[place] for place in places if place < len(decimals)]
    if isinstance(odd, dict) and all_rows:
        there = {str(i): odd[str(place)] for i, place in enumerate(places) if str(place) in odd}
        kept["odd"] = there | {INDEX: odd[INDEX]} if INDEX in odd else there
    return {**attrs, ATTRIBUTE: kept}


def decimals_of(numbers: Any, keep_text: bool) -> int:
    """The fewest decimals of any number; with `keep_text` those with which most are written as they were."""
    compute = needed("pyarrow.compute", "CSV files", "files")
    plain = numbers.filter(compute.invert(compute.match_substring_regex(numbers, "[a-zA-Z]")))
    plain = plain.drop_null()
    if len(plain) == 0:
        return NO_CELL
    places, lengths = compute.find_substring(plain, "."), compute.utf8_length(plain)
    after = compute.subtract(compute.subtract(lengths, places), 1)
    decimals = compute.if_else(compute.less(places, 0), 0, after).to_numpy(zero_copy_only=False)
    if not keep_text:
        return min(int(decimals.min()), NO_CELL - 1)
    has_zeros = compute.ends_with(plain, "0").to_numpy(zero_copy_only=False)
    n_all, n_zeros = (
        np.bincount(np.minimum(part, NO_CELL), minlength=NO_CELL + 1) for part in (decimals, decimals[has_zeros])
    )
    n_too_long = np.cumsum(n_all) - n_all  # fewer decimals than these, so that zeros would be added
    n_too_short = n_zeros.sum() - np.cumsum(n_zeros)  # more of them, and zeros at the end, which would be lost
    return int(np.argmin((n_too_long + n_too_short)[:NO_CELL]))
