"""The form of the text of a CSV file, kept so that it can be written again as it was."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from hrpursuit.rows.optional import needed

ATTRIBUTE = "csv"  # of a DataFrame: what of its text is not as `Style()` says
NO_CELL = 99  # decimals of a column that has no number yet
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
    time: str | None = None
    decimals: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, attrs: dict[str, Any], n_columns: int) -> "Style":
        """From the attributes of a table; what is not as it should be is taken as not given."""
        kept = attrs.get(ATTRIBUTE)
        kept = kept if isinstance(kept, dict) else {}
        style = cls()
        for name, value in kept.items():
            if name != "decimals" and type(value) is type(getattr(style, name, ())):
                setattr(style, name, value)
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
            for name in ("delimiter", "point", "header", "index", "gap")
            if getattr(self, name) != getattr(Style, name)
        }
        if self.time and self.time != _PLAIN_TIME:
            kept["time"] = self.time
        known = [d for d in self.decimals if d != NO_CELL]
        if known and min(known) == max(known):
            kept |= {"decimals": known[0]} if known[0] else {}
        elif known:
            kept["decimals"] = [0 if d == NO_CELL else d for d in self.decimals]
        return kept


def style_of_columns(attrs: dict[str, Any], places: Sequence[int]) -> dict[str, Any]:
    """Attributes for some columns of the table: decimals are kept by column."""
    kept = attrs.get(ATTRIBUTE)
    decimals = kept.get("decimals") if isinstance(kept, dict) else None
    if not isinstance(decimals, list):
        return attrs
    decimals = [decimals[place] for place in places if place < len(decimals)]
    return {**attrs, ATTRIBUTE: {**attrs[ATTRIBUTE], "decimals": decimals}}


class CSVWriter:
    """Writes the pieces of a table one after the other to a binary file."""

    def __init__(self, file: Any, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> None:
        self._arrow, self._csv = needed("pyarrow", "CSV files", "files"), needed("pyarrow.csv", "CSV files", "files")
        self._compute = needed("pyarrow.compute", "CSV files", "files")
        self._file, self._names, self._is_first = file, names, True
        self._style = Style.of(attrs, n_columns)

    def write(self, table: Any) -> None:
        """A DataFrame, or an array: then without a header."""
        arrow, style = self._arrow, self._style
        columns = []
        if hasattr(table, "iloc"):
            if table.index.name is not None or style.index or not _counts_rows(table.index):
                columns.append(self._labels(table.index))
            readings = [table.iloc[:, i].to_numpy() for i in range(table.shape[1])]
        else:
            readings = list(np.asarray(table).T)
        has_index = bool(columns)
        gap = style.gap or ("NaN" if len(readings) == 1 and not has_index else "")  # an empty line is no row
        columns += [self._cells(*pair, gap) for pair in zip(readings, style.decimals, strict=True)]
        if self._is_first and self._names is not None and style.header:
            label = [str(table.index.name) if table.index.name is not None else ""] if has_index else []
            line = io.StringIO()
            csv.writer(line, delimiter=style.delimiter, lineterminator="\n").writerow([*label, *self._names])
            self._file.write(line.getvalue().encode())
        self._is_first = False
        texts = arrow.table(columns, names=[str(i) for i in range(len(columns))])
        options = self._csv.WriteOptions(include_header=False, delimiter=style.delimiter, quoting_style="none")
        try:
            self._csv.write_csv(texts, self._file, options)
        except arrow.ArrowException:  # labels that need quotes
            lines = io.StringIO()
            csv.writer(lines, delimiter=style.delimiter, lineterminator="\n").writerows(
                zip(*texts.to_pydict().values(), strict=True)
            )
            self._file.write(lines.getvalue().encode())

    def _labels(self, index: Any) -> Any:
        if hasattr(index, "tz"):
            return self._arrow.array(time_texts(index, self._style.time), self._arrow.string())
        return self._arrow.array(index.to_numpy()).cast(self._arrow.string())

    def _cells(self, values: np.ndarray[Any, Any], decimals: int, gap: str) -> Any:
        """Shortest text that gives the same number back, with no fewer decimals than the column had."""
        arrow, compute = self._arrow, self._compute
        if values.dtype == bool:
            values = values.astype(np.uint8)
        if values.dtype.kind != "f":
            return arrow.array(values).cast(arrow.string())
        wide = values if values.dtype == np.float32 else values.astype(np.float64)
        texts = arrow.array(wide).cast(arrow.string())
        if decimals:
            places = compute.find_substring(texts, ".").to_numpy(zero_copy_only=False)
            lengths = compute.utf8_length(texts).to_numpy(zero_copy_only=False)
            missing = np.maximum(0, decimals - np.where(places < 0, 0, lengths - places - 1))
            plain = ~compute.match_substring_regex(texts, "[a-z]").to_numpy(zero_copy_only=False)  # 1e+300, nan
            endings = np.array(["0" * n for n in range(decimals + 1)])[missing]
            endings = np.where(plain, np.where(places < 0, np.char.add(".", endings), endings), "")
            texts = compute.binary_join_element_wise(texts, arrow.array(endings, arrow.string()), "")
        if self._style.point != ".":
            texts = compute.replace_substring(texts, ".", self._style.point)
        return compute.if_else(arrow.array(np.isnan(values)), gap, texts)


def _counts_rows(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex"
