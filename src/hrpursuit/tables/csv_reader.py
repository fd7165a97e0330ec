"""CSV text as a table of readings: numbers, truth values and texts, with an index that may be time."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.rows.csv import GAPS, TEXT_BYTES, is_cell, look_at, open_batches, open_text
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import DataError
from hrpursuit.tables.choosing import AIRLY_TIME, chosen_columns, looks_like_counter, matching, without
from hrpursuit.tables.csv_style import ATTRIBUTE, INDEX, NO_CELL, TRUTH, Style, decimals_of, time_pattern, time_texts
from hrpursuit.tables.csv_writer import cells_of, label_cells
from hrpursuit.tables.reading import Reading

_EXACT = 2**53  # whole numbers up to here are exact as floats
_MOST_ODD = 4096  # cells whose text is kept beside their number
_MOST_COUNTED = 1 << 29  # bytes of a packed file that are counted before it is read: beyond it is read in pieces
_COMMENTS = "#", "%", "//"  # marks that a first line is looked at for, to say what may be wrong
_ZONE = r"(Z|[+-]\d\d:?\d\d)$"
_NUMBER = r"(?i)^[+-]?(([0-9]+[.,]?[0-9]*|[.,][0-9]+)(e[+-]?[0-9]+)?|inf|infinity)$"


class CSVTable:
    """A CSV file, read as a whole or piece by piece as DataFrames; arrays if it has neither names nor an index.

    An empty cell, NA, NaN and the like are gaps. A column none of whose cells is a number is one of texts, where only
    an empty cell is a gap; one of true and false is one of truth values. The first column is the index if it holds ISO
    8601 time stamps, if it has no name and counts the rows, or if it is named like time (hour, date, ...) and holds
    growing whole numbers.
    """

    n_rows: int | None = None

    def __init__(self, path: Path, *, name: str, reading: Reading) -> None:
        self._arrow, self._csv = needed("pyarrow", "CSV files", "files"), needed("pyarrow.csv", "CSV files", "files")
        self._compute = needed("pyarrow.compute", "CSV files", "files")
        self._pandas = needed("pandas", "Tables with names", "cli")
        self.path, self.name, self._reading = path, name, reading
        self.n_bytes = path.stat().st_size
        layout = look_at(path, reading.header, reading.comment)
        starts_with_time = time_pattern(layout.fields[0]) and all(map(is_cell, layout.fields[1:]))
        if reading.header == "auto" and starts_with_time:
            layout = replace(layout, has_names=False, counts_rows=False)
        if reading.thousands in (",", "."):
            layout = replace(layout, decimal_point="." if reading.thousands == "," else ",")
        self.layout = layout
        self.fields = layout.fields if layout.has_names else [str(i) for i in range(len(layout.fields))]
        seen: set[str] = set()
        for field in self.fields:
            if field in seen:
                raise DataError(f"{name} has several columns named {field!r}; each needs a name of its own.")
            seen.add(field)
        self.style = Style(layout.delimiter, layout.decimal_point, layout.has_names)
        self.style.newline, self.style.bom = layout.newline, layout.has_bom
        self._n_text_bytes, self.style.end = self._measured()
        self.memory = 2 * self._n_text_bytes
        self._has_text = False
        self._rows_before, self._zone = 0, None
        self.index = self._find_index(reading.index)
        others = without([field for field in self.fields if field != self.index], reading.drop, name)
        self.columns = chosen_columns(self.index, others, reading.quantity, name)
        self._texts = set(matching(self.columns, reading.texts, name))
        self._kinds: dict[str, str] = dict.fromkeys(self._texts, "texts")
        self.style.decimals = [NO_CELL] * len(self.columns)
        self.style.index = self.index == ""

    def _measured(self) -> tuple[int, bool]:
        """Bytes of the text, and whether its last line ends as the others do."""
        n_bytes, last, self._n_quotes = 0, b"\n", 0
        try:
            with open_text(self.path) as stream:
                while data := stream.read(1 << 20):
                    n_bytes, last = n_bytes + len(data), data[-1:]
                    self._n_quotes += data.count(b'"')
                    if n_bytes > max(self.n_bytes, _MOST_COUNTED):
                        return n_bytes, True
        except (OSError, EOFError) as error:
            raise self._unreadable(error) from error
        return n_bytes, last == b"\n"

    def read(self) -> Any:
        """The whole table. With `keep_text` the attributes have all cells whose text is not what their number gives."""
        self._begin()
        batches = list(self._batches())
        if not batches or not any(batch.num_rows for batch in batches):
            raise self._empty()
        whole = self._arrow.Table.from_batches(batches).combine_chunks()
        table = self._parsed(whole)
        if self._reading.keep_text:
            self.style.odd = self._odd(whole, table)
        attribute = self.style.as_attribute()
        if self._is_bare and (not self._reading.keep_text or set(attribute) <= {"header"}):
            return table.to_numpy()
        return self._with_style(table, attribute)

    def pieces(self) -> Iterator[Any]:
        """One after the other, all with the style of the text of the first."""
        attribute = None
        self._begin(in_pieces=True)
        for batch in self._batches():
            piece = self._parsed(batch)
            self._rows_before += batch.num_rows
            if attribute is None:
                attribute = self.style.as_attribute()
            yield piece.to_numpy() if self._is_bare else self._with_style(piece, attribute)
        if self._rows_before == 0:
            raise self._empty()

    def _begin(self, in_pieces: bool = False) -> None:
        self._rows_before, self._in_pieces = 0, in_pieces
        self._kinds = dict.fromkeys(self._texts, "texts")

    @property
    def is_part(self) -> bool:
        """Whether columns are left out."""
        return len(self.columns) + (self.index is not None) < len(self.fields)

    @property
    def _is_bare(self) -> bool:
        has_texts = any(kind != "numbers" for kind in self._kinds.values())
        return not self.layout.has_names and self.index is None and not has_texts

    @staticmethod
    def _with_style(table: Any, attribute: dict[str, Any]) -> Any:
        table.attrs = {ATTRIBUTE: attribute} if attribute else {}
        return table

    def _empty(self) -> DataError:
        return DataError(f"{self.name} is empty: it has no rows.")

    def _unreadable(self, error: Exception) -> DataError:
        why = "its text is not UTF-8" if "UTF8" in str(error) else "it is damaged, cut short or not a table"
        return DataError(f"{self.name} cannot be read: {why} ({error}).")

    def _batches(self) -> Iterator[Any]:
        faults: list[Any] = []

        def refuse(row: Any) -> str:
            faults.append(row)
            return "error"

        convert = self._csv.ConvertOptions(column_types=dict.fromkeys(self.fields, self._arrow.large_string()))
        try:
            with open_batches(self.path, self.layout, self.fields, convert, refuse) as reader:
                for batch in reader:
                    last = batch.column(batch.num_columns - 1)
                    if self._n_quotes % 2 and len(last) and "\n" in last[-1].as_py():
                        last_row = self._rows_before + batch.num_rows
                        raise DataError(f"{self.name} cannot be read: quotes that begin in row {last_row} do not end.")
                    yield batch
        except (self._arrow.ArrowException, OSError, EOFError) as error:
            if "Empty CSV" in str(error):
                raise self._empty() from error
            if faults and faults[0].number is not None:
                raise DataError(
                    f"{self.name}: line {faults[0].number} has {faults[0].actual_columns} cells where the first has "
                    f"{faults[0].expected_columns}; {self._how_to_mend()}."
                ) from error
            if "straddling object straddles" in str(error):
                if self._n_text_bytes < TEXT_BYTES and self._n_quotes % 2 == 0:
                    raise self._empty() from error  # names alone, without a line end
                raise DataError(
                    f"{self.name} cannot be read: a cell has more than {TEXT_BYTES >> 20} MiB, or its quotes "
                    "do not end."
                ) from error
            raise self._unreadable(error) from error

    def _how_to_mend(self) -> str:
        first = self.layout.fields[0].strip() if self.layout.fields else ""
        mark = next((mark for mark in _COMMENTS if first.startswith(mark)), None)
        if mark is None or self.layout.comment:
            return "correct it"
        return f"if the first line is a comment, --comment {shlex.quote(mark)} leaves such lines out"

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
            raise self._empty()
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

    def _column(self, batch: Any, name: str) -> Any:
        column = batch.column(name)
        return column if isinstance(column, self._arrow.Array) else column.combine_chunks()

    def _parsed(self, batch: Any) -> Any:
        columns = {
            place: self._values(self._column(batch, name), place, name) for place, name in enumerate(self.columns)
        }
        if all(getattr(column, "dtype", None) == np.float64 for column in columns.values()):
            table = self._pandas.DataFrame(np.column_stack(list(columns.values())))
        else:
            table = self._pandas.DataFrame(columns)
        table.columns = self.columns
        if self.index is None:
            table.index = self._pandas.RangeIndex(self._rows_before, self._rows_before + len(table))
        else:
            name = self.index if self.layout.has_names and self.index else None
            table.index = self._labels(self._column(batch, self.index)).rename(name)
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
        has_zone = self._compute.match_substring_regex(texts, _ZONE)
        if has_zone[0].as_py() != self._compute.all(has_zone).as_py() or (
            not has_zone[0].as_py() and self._compute.any(has_zone).as_py()
        ):
            first = has_zone[0].as_py()
            what = f"a time stamp with{'' if first else 'out'} a zone, as the first"
            raise self._fault(texts, self.index, what, lambda text: bool(re.search(_ZONE, text)) == first)
        strings = texts.to_pandas().astype(object)
        try:
            try:
                labels = pandas.DatetimeIndex(pandas.to_datetime(strings, format="ISO8601"))
            except ValueError:  # summer and winter time
                labels = pandas.DatetimeIndex(pandas.to_datetime(strings, format="ISO8601", utc=True))
        except ValueError as error:
            raise self._no_time(texts, strings) from error
        if labels.hasnans:
            raise self._no_time(texts, strings)
        coarse = labels.as_unit("us")  # the same in every piece, if it can be
        labels = coarse if np.all(coarse == labels) else labels.as_unit("ns")
        if self._rows_before == 0:
            self._zone = labels.tz
        elif labels.tz != self._zone and self._zone is not None and labels.tz is not None:
            labels = labels.tz_convert(self._zone)
        if self.style.time and not np.array_equal(time_texts(labels, self.style.time), np.array(strings, dtype=str)):
            self.style.time = self.style.time if self._reading.keep_text else ""  # of several forms: they will have one
        return labels

    def _values(self, cells: Any, place: int, name: str) -> Any:
        """A column as numbers, truth values or texts. Which of them it is, its first piece with a value decides."""
        compute, kind = self._compute, self._kinds.get(name)
        if kind == "texts":
            return self._as_texts(cells)
        texts = compute.utf8_trim_whitespace(cells)
        is_gap = compute.is_in(texts, value_set=self._arrow.array(GAPS, texts.type))
        if kind is None:
            values = texts.filter(compute.invert(is_gap))
            if len(values) == 0:
                return np.full(len(texts), np.nan)
            kind = self._kinds[name] = self._kind_of(values)
        if kind == "texts":
            return self._as_texts(cells)
        if kind == "truth":
            return self._as_truth(texts, is_gap, name)
        return self._numbers(cells, texts, is_gap, place, name)

    def _kind_of(self, values: Any) -> str:
        compute = self._compute
        for true, false in TRUTH.items():
            if compute.all(compute.is_in(values, value_set=self._arrow.array([true, false], values.type))).as_py():
                self.style.truth = true
                return "truth"
        if self._reading.thousands:
            values = compute.replace_substring(values, self._reading.thousands, "")
        return "numbers" if compute.any(compute.match_substring_regex(values, _NUMBER)).as_py() else "texts"

    def _as_texts(self, cells: Any) -> Any:
        """Cells as they are; an empty one is missing."""
        none = self._arrow.scalar(None, cells.type)
        texts = self._compute.if_else(self._compute.equal(cells, ""), none, cells)
        kind = "str" if self._pandas.__version__ >= "3" else "object"
        return self._pandas.Series(texts.to_pandas(), dtype=kind).array

    def _as_truth(self, texts: Any, is_gap: Any, name: str) -> Any:
        words = [self.style.truth, TRUTH[self.style.truth]]
        known = self._compute.or_(is_gap, self._compute.is_in(texts, value_set=self._arrow.array(words, texts.type)))
        if not self._compute.all(known).as_py():
            raise self._fault(texts, name, f"{words[0]} or {words[1]}", words.__contains__)
        missing = is_gap.to_numpy(zero_copy_only=False)
        values = self._compute.equal(texts, words[0]).to_numpy(zero_copy_only=False)
        if not missing.any() and not self._in_pieces:  # another piece may have gaps
            return values
        if missing.any():
            self._note_gap(texts, is_gap)
        return self._pandas.arrays.BooleanArray(values, missing)

    def _note_gap(self, cells: Any, is_gap: Any) -> None:
        if not self.style.gap:
            self.style.gap = cells[self._compute.index(is_gap, True).as_py()].as_py().strip()

    def _numbers(self, cells: Any, texts: Any, is_gap: Any, place: int, name: str) -> np.ndarray[Any, Any]:
        arrow, compute, reading = self._arrow, self._compute, self._reading
        plain = texts
        if reading.thousands:
            plain = self._without_thousands(texts, is_gap, name)
        if self.layout.decimal_point == ",":
            if compute.any(compute.match_substring(plain, ".")).as_py():
                raise self._fault(texts, name, "a number with a decimal comma", lambda text: "." not in text)
            plain = compute.replace_substring(plain, ",", ".")
        numbers = compute.if_else(is_gap, arrow.scalar(None, plain.type), plain)
        try:
            values = numbers.cast(arrow.float64())
        except arrow.ArrowException as error:
            what = "a number, as others in it are" if not reading.thousands else "a number"
            raise self._fault(texts, name, what, self._is_number) from error
        if values.null_count < len(values):
            decimals = decimals_of(numbers, self._reading.keep_text)
            self.style.decimals[place] = min(self.style.decimals[place], decimals)
            if decimals == 0 and values.null_count == 0 and compute.max(compute.abs(values)).as_py() >= _EXACT:
                try:
                    return numbers.cast(arrow.int64()).to_numpy()
                except arrow.ArrowException:
                    pass  # larger than any such number, or with an exponent
        if values.null_count:
            self._note_gap(cells, is_gap)
        return values.to_numpy(zero_copy_only=False)

    def _without_thousands(self, texts: Any, is_gap: Any, name: str) -> Any:
        """Without the marks between thousands, where they stand before three digits each."""
        compute, mark, point = self._compute, self._reading.thousands, re.escape(self.layout.decimal_point)
        grouped = rf"^[+-]?[0-9]{{1,3}}({re.escape(mark)}[0-9]{{3}})+({point}[0-9]*)?$"
        marked = compute.match_substring(texts, mark)
        bad = compute.and_(
            compute.and_not(marked, is_gap), compute.invert(compute.match_substring_regex(texts, grouped))
        )
        if compute.any(bad).as_py():
            what = f"a number with {mark!r} between thousands"
            raise self._fault(texts, name, what, lambda text: mark not in text or re.match(grouped, text))
        return compute.if_else(marked, compute.replace_substring(texts, mark, ""), texts)

    def _odd(self, batch: Any, table: Any) -> dict[str, dict[str, str]]:
        """Cells whose text is not what will be written for them; none if there are too many."""
        style, odd, n_odd = Style.of({ATTRIBUTE: self.style.as_attribute()}, len(self.columns)), {}, 0
        gap = style.gap or ("NaN" if len(self.columns) == 1 and self.index is None else "")
        written = {str(i): cells_of(table.iloc[:, i], style.decimals[i], gap, style) for i in range(len(self.columns))}
        names = dict(zip(written, self.columns, strict=True))
        if self.index is not None:
            written[INDEX], names[INDEX] = label_cells(table.index, style.time), self.index
        for place, texts in written.items():
            given = self._column(batch, names[place])
            rows = np.flatnonzero(self._compute.not_equal(given, texts).to_numpy(zero_copy_only=False))
            n_odd += len(rows)
            if n_odd > _MOST_ODD:
                return {}
            if len(rows):
                odd[place] = {str(row): given[row].as_py() for row in rows.tolist()}
        return odd

    def _is_number(self, text: str) -> bool:
        try:
            float(text.replace(self.layout.decimal_point, "."))
        except ValueError:
            return False
        return "_" not in text and not text.startswith("+")

    def _no_time(self, texts: Any, strings: Any) -> DataError:
        """The first cell that is no time stamp, or names a day or an hour that no calendar has."""
        times = self._pandas.to_datetime(strings, format="ISO8601", utc=True, errors="coerce")
        bad, what = set(strings[times.isna()]), "an ISO 8601 time stamp"
        return self._fault(texts, self.index, what, lambda text: time_pattern(text) and text not in bad)

    def _fault(self, texts: Any, name: str | None, what: str, is_good: Any) -> DataError:
        gaps = () if name == self.index else GAPS
        row, text = next(
            ((i, text) for i, text in enumerate(texts.to_pylist()) if text not in gaps and not is_good(text)),
            (0, texts[0].as_py()),
        )
        shown = f"{name!r}" if self.layout.has_names else f"{int(name or 0) + 1}"
        text = text if len(text) <= 80 else f"{text[:80]}..."
        keep = "" if name == self.index else "; --text-column keeps it as text"
        return DataError(
            f"{self.name}: column {shown} holds {text!r} in row {self._rows_before + row + 1}, not {what}; "
            f"correct it, or leave the column out (--drop-column){keep}."
        )


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdigit()
