"""Sensor readings as text: a table whose first column may be time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.cli.csv_text import ATTRIBUTE, NO_CELL, Style, time_pattern, time_texts
from hrpursuit.cli.layout import AIRLY_TIME, chosen_columns, looks_like_counter
from hrpursuit.rows.csv import GAPS, Header, is_cell, look_at
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import DataError

_TEXT_BYTES = 4 << 20  # parsed at once
_EXACT = 2**53  # whole numbers up to here are exact as floats


class CSVTable:
    """A CSV file of numbers, read piece by piece as DataFrames; arrays if it has neither names nor an index.

    An empty cell, NA, NaN and the like are gaps. The first column is the index if it holds ISO 8601 time stamps, if it
    has no name and counts the rows, or if it is named like time (hour, date, ...) and holds growing whole numbers.
    """

    n_rows: int | None = None

    def __init__(self, path: Path, *, name: str, quantity: str | None, index: str | bool, header: Header) -> None:
        self._arrow, self._csv = needed("pyarrow", "CSV files", "files"), needed("pyarrow.csv", "CSV files", "files")
        self._compute = needed("pyarrow.compute", "CSV files", "files")
        self._pandas = needed("pandas", "Tables with names", "cli")
        self.path, self.name = path, name
        self.n_bytes = path.stat().st_size
        self.memory = 2 * self.n_bytes
        layout = look_at(path, header)
        is_row = header == "auto" and time_pattern(layout.fields[0]) and all(map(is_cell, layout.fields[1:]))
        if is_row:
            layout = replace(layout, has_names=False, counts_rows=False)
        self.layout = layout
        self.fields = layout.fields if layout.has_names else [str(i) for i in range(len(layout.fields))]
        for field in self.fields:
            if self.fields.count(field) > 1:
                raise DataError(f"{name} has several columns named {field!r}; each needs a name of its own.")
        self.style = Style(layout.delimiter, layout.decimal_point, layout.has_names)
        self._has_text = False
        self.index = self._find_index(index)
        others = [field for field in self.fields if field != self.index]
        self.columns = chosen_columns(self.index, others, quantity, name)
        self.style.decimals = [NO_CELL] * len(self.columns)
        self.style.index = self.index == ""
        self._rows_before, self._zone = 0, None

    def read(self) -> Any:
        """The whole table."""
        pieces = list(self.pieces())
        if self._is_bare:
            return np.concatenate(pieces)
        table = pieces[0] if len(pieces) == 1 else self._pandas.concat(pieces)
        if self.index is None:
            table.index = self._pandas.RangeIndex(len(table))
        return self._with_style(table, self.style.as_attribute())

    def pieces(self) -> Iterator[Any]:
        """One after the other, all with the style of the text of the first."""
        self._rows_before, attribute = 0, None
        for batch in self._batches():
            piece = self._parsed(batch)
            self._rows_before += batch.num_rows
            if attribute is None:
                attribute = self.style.as_attribute()
            yield piece.to_numpy() if self._is_bare else self._with_style(piece, attribute)
        if self._rows_before == 0:
            raise DataError(f"{self.name} is empty: it has no rows.")

    @property
    def _is_bare(self) -> bool:
        return not self.layout.has_names and self.index is None

    @staticmethod
    def _with_style(table: Any, attribute: dict[str, Any]) -> Any:
        table.attrs = {ATTRIBUTE: attribute} if attribute else {}
        return table

    def _batches(self, n_bytes: int = _TEXT_BYTES) -> Iterator[Any]:
        faults: list[Any] = []

        def refuse(row: Any) -> str:
            faults.append(row)
            return "error"

        convert = self._csv.ConvertOptions(column_types=dict.fromkeys(self.fields, self._arrow.string()))
        try:
            with self._csv.open_csv(
                self.path,
                read_options=self._csv.ReadOptions(
                    column_names=self.fields,
                    skip_rows=int(self.layout.has_names),
                    block_size=n_bytes,
                    use_threads=False,
                ),
                parse_options=self._csv.ParseOptions(
                    delimiter=self.layout.delimiter,
                    ignore_empty_lines=len(self.fields) > 1,  # else they are gaps
                    invalid_row_handler=refuse,
                ),
                convert_options=convert,
            ) as reader:
                yield from reader
        except self._arrow.ArrowException as error:
            if "Empty CSV" in str(error):
                raise DataError(f"{self.name} is empty: it has no rows.") from error
            if faults and faults[0].number is not None:
                raise DataError(
                    f"{self.name}: line {faults[0].number} has {faults[0].actual_columns} cells where the first has "
                    f"{faults[0].expected_columns}; mend it."
                ) from error
            why = "its text is not UTF-8" if "UTF8" in str(error) else "it is damaged or not a table"
            raise DataError(f"{self.name} cannot be read: {why} ({error}).") from error

    def _find_index(self, asked: str | bool) -> str | None:
        if asked is False:
            return None
        if isinstance(asked, str) and asked not in self.fields:
            raise DataError(f"{self.name} has no column {asked!r}; it has {', '.join(self.fields[:10])}.")
        if self.layout.counts_rows and asked is True:
            return ""
        first_field = AIRLY_TIME if AIRLY_TIME in self.fields else self.fields[0]
        field = asked if isinstance(asked, str) else first_field
        first = next(self._batches(), None)
        if first is None or first.num_rows == 0:
            raise DataError(f"{self.name} is empty: it has no rows.")
        texts = self._compute.utf8_trim_whitespace(first.column(field))
        self.style.time = time_pattern(texts[0].as_py())
        if self.style.time is not None:
            return field
        is_whole = self._compute.all(self._compute.match_substring_regex(texts, r"^-?\d{1,18}$")).as_py()
        if isinstance(asked, str):
            self._has_text = not is_whole
            return field
        named = self.layout.has_names and looks_like_counter(field) and len(self.fields) > 1
        grows = is_whole and np.all(np.diff(texts.cast(self._arrow.int64()).to_numpy()) > 0)
        return field if named and grows else None

    def _parsed(self, batch: Any) -> Any:
        columns = [self._numbers(batch.column(name), place, name) for place, name in enumerate(self.columns)]
        if all(column.dtype == np.float64 for column in columns):
            table = self._pandas.DataFrame(np.column_stack(columns), columns=self.columns)
        else:
            table = self._pandas.DataFrame(dict(zip(self.columns, columns, strict=True)))
        if self.index is None:
            start = self._rows_before
            table.index = self._pandas.RangeIndex(start, start + len(table))
        else:
            name = self.index if self.layout.has_names and self.index else None
            table.index = self._labels(batch.column(self.index)).rename(name)
        return table

    def _labels(self, cells: Any) -> Any:
        pandas = self._pandas
        texts = self._compute.utf8_trim_whitespace(cells)
        if self._has_text:
            return pandas.Index(texts.to_pylist())
        if self.style.time is None:
            try:
                return pandas.Index(texts.cast(self._arrow.int64()).to_numpy())
            except self._arrow.ArrowException as error:
                raise self._fault(texts, self.index, "a whole number or an ISO 8601 time stamp", _is_whole) from error
        strings = texts.to_pandas().astype(object)
        try:
            try:
                labels = pandas.DatetimeIndex(pandas.to_datetime(strings, format="ISO8601"))
            except ValueError:  # summer and winter time
                labels = pandas.DatetimeIndex(pandas.to_datetime(strings, format="ISO8601", utc=True))
        except ValueError as error:
            raise self._fault(texts, self.index, "an ISO 8601 time stamp", time_pattern) from error
        if labels.hasnans:
            raise self._fault(texts, self.index, "an ISO 8601 time stamp", time_pattern)
        coarse = labels.as_unit("us")  # the same in every piece, if it can be
        labels = coarse if np.all(coarse == labels) else labels.as_unit("ns")
        if self._rows_before == 0:
            self._zone = labels.tz
        elif labels.tz != self._zone and self._zone is not None and labels.tz is not None:
            labels = labels.tz_convert(self._zone)
        if self.style.time and not np.array_equal(time_texts(labels, self.style.time), np.array(strings, dtype=str)):
            self.style.time = ""  # of several forms: they will have one
        return labels

    def _numbers(self, cells: Any, place: int, name: str) -> np.ndarray[Any, Any]:
        arrow, compute = self._arrow, self._compute
        texts = compute.utf8_trim_whitespace(cells)
        is_gap = compute.is_in(texts, value_set=arrow.array(GAPS))
        if self.layout.decimal_point == ",":
            if compute.any(compute.match_substring(texts, ".")).as_py():
                raise self._fault(texts, name, "a number with a decimal comma", lambda text: "." not in text)
            texts = compute.replace_substring(texts, ",", ".")
        numbers = compute.if_else(is_gap, None, texts)
        try:
            values = numbers.cast(arrow.float64())
        except arrow.ArrowException as error:
            raise self._fault(texts, name, "a number", _is_number) from error
        if values.null_count < len(values):
            decimals = self._decimals(numbers)
            self.style.decimals[place] = min(self.style.decimals[place], decimals)
            if decimals == 0 and values.null_count == 0 and compute.max(compute.abs(values)).as_py() >= _EXACT:
                try:
                    return numbers.cast(arrow.int64()).to_numpy()
                except arrow.ArrowException:
                    pass  # larger than any such number, or with an exponent
        if values.null_count and not self.style.gap:
            self.style.gap = cells[compute.index(is_gap, True).as_py()].as_py().strip()
        return values.to_numpy(zero_copy_only=False)

    def _decimals(self, numbers: Any) -> int:
        """The fewest decimals of any number."""
        compute = self._compute
        plain = numbers.filter(compute.invert(compute.match_substring_regex(numbers, "[a-zA-Z]")))
        plain = plain.drop_null()
        if len(plain) == 0:
            return NO_CELL
        places, lengths = compute.find_substring(plain, "."), compute.utf8_length(plain)
        after = compute.subtract(compute.subtract(lengths, places), 1)
        return min(compute.min(compute.if_else(compute.less(places, 0), 0, after)).as_py(), NO_CELL - 1)

    def _fault(self, texts: Any, name: str | None, what: str, is_good: Any) -> DataError:
        gaps = () if name == self.index else GAPS
        row, text = next(
            (i, text) for i, text in enumerate(texts.to_pylist()) if text not in gaps and not is_good(text)
        )
        shown = f"{name!r}" if self.layout.has_names else f"{int(name or 0) + 1}"
        return DataError(
            f"{self.name}: column {shown} holds {text!r} in row {self._rows_before + row + 1}, not {what}; mend it, or "
            "leave the column out."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text and not text.startswith("+")


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdigit()
