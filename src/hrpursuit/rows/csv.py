"""CSV files, read in chunks."""

import csv
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np

from hrpursuit.core.protocols import Array
from hrpursuit.rows.columns import arrow_to_array, check_no_columns, choose_columns
from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import DataError, Source, file_opener, no_rows, repacked

Header = Literal["auto", "yes", "no"]
_MISSING = {"", "na", "n/a", "nan", "null", "none", "-"}  # in a first line these are cells, not names
GAPS = ["", " ", "  ", *(form for word in sorted(_MISSING - {""}) for form in (word, word.upper(), word.title()))]
GAPS += ["NaN", "#N/A", "#NA", "-NaN", "-nan", "<NA>"]
_TEXT_BYTES = 4 << 20  # parsed at once


@dataclass(frozen=True)
class Layout:
    """How the text is laid out: separated by commas, semicolons or tabs, with or without names in the first line."""

    delimiter: str
    decimal_point: str
    fields: list[str]
    has_names: bool
    counts_rows: bool  # the first column has no name and counts the rows: pandas writes its index like that

    @property
    def is_bare(self) -> bool:
        """No names, or the positions that pandas writes for columns without names."""
        named = self.fields[1:] if self.counts_rows else self.fields
        return not self.has_names or named == [str(i) for i in range(len(named))]


def is_cell(text: str) -> bool:
    text = text.strip().strip('"').strip()
    try:
        float(text.replace(",", "."))
    except ValueError:
        return text.lower() in _MISSING
    return True


def _is_number(cell: str, decimal_point: str) -> bool:
    """As strict as the parser: one decimal point, no marks between thousands."""
    if "_" in cell or (decimal_point != "." and "." in cell):
        return False
    try:
        float(cell.replace(decimal_point, "."))
    except ValueError:
        return False
    return True


def look_at(path: Path, header: Header) -> Layout:
    """The layout of a file by its first lines; the first one is a header unless it is all numbers or gaps."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            first, *others = [line.strip("\r\n") for line in islice(file, 100)] or [""]
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    if not first.strip():
        raise ValueError(f"{path} is empty or starts with an empty line.")
    unquoted = re.sub(r'"[^"]*"', "", first)
    delimiter = next((mark for mark in ";\t" if mark in unquoted), ",")
    fields = [field.strip() for field in next(csv.reader([first], delimiter=delimiter))]
    unnamed = [field for field in fields if field]
    positions = len(unnamed) >= len(fields) - 1 and unnamed == [str(i) for i in range(len(unnamed))]
    has_names = header == "yes" or (header == "auto" and (positions or not all(is_cell(field) for field in fields)))
    decimal_point = "," if delimiter != "," and any("," in line for line in others or [first]) else "."
    starts = [line.split(delimiter)[0].strip('" ') for line in others if line.strip()]
    counts_rows = (
        has_names and len(fields) > 1 and fields[0] == "" and starts == [str(i) for i in range(len(starts))] != []
    )
    return Layout(delimiter, decimal_point, fields, has_names, counts_rows)


def _not_utf8(path: Path, error: UnicodeDecodeError) -> DataError:
    return DataError(f"{path} cannot be read: its text is not UTF-8 ({error}); save it as UTF-8.")


class CSVSource(Source):
    """Numbers as text; an empty cell is a gap. The number of rows is known after the first pass."""

    n_samples = None
    dtype = np.dtype(np.float64)

    def __init__(self, path: Path, columns: Sequence[str] | None = None, header: Header = "auto") -> None:
        self._arrow = needed("pyarrow", "CSV files", "files")
        self._csv = needed("pyarrow.csv", "CSV files", "files")
        self.path = path
        self.name = str(path)
        self.layout = look_at(path, header)
        fields = self.layout.fields if self.layout.has_names else [str(i) for i in range(len(self.layout.fields))]
        self.fields = fields
        if self.layout.counts_rows:
            warnings.warn(f"{path}: the first column has no name and counts the rows; it is left out.", stacklevel=3)
            fields = fields[1:]
        if self.layout.is_bare:
            check_no_columns(columns, self.name)
        self.columns = choose_columns(fields, columns, self.name)
        places = {name: place for place, name in enumerate(self.fields)}
        self._places = [places[name] for name in self.columns]
        self.feature_names = None if self.layout.is_bare else self.columns
        self.n_features = len(self.columns)

    def pieces(self, n_rows: int) -> Iterator[Array]:
        return repacked(self._batches(), n_rows, self.n_features, self.dtype)

    def _batches(self) -> Iterator[Array]:
        try:
            with self._csv.open_csv(
                self.path,
                read_options=self._csv.ReadOptions(
                    column_names=self.fields, skip_rows=int(self.layout.has_names), block_size=_TEXT_BYTES
                ),
                parse_options=self._csv.ParseOptions(delimiter=self.layout.delimiter),
                convert_options=self._csv.ConvertOptions(
                    decimal_point=self.layout.decimal_point,
                    null_values=GAPS,
                    include_columns=self.columns,
                    column_types=dict.fromkeys(self.columns, self._arrow.float64()),
                ),
            ) as reader:
                for batch in reader:
                    yield arrow_to_array(batch, self.dtype)
        except self._arrow.ArrowException as error:
            self.raise_at_fault(error)

    def raise_at_fault(self, error: Exception) -> NoReturn:
        """Find the first line that is not as it should be, since the parser does not tell where it is."""
        try:
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file, delimiter=self.layout.delimiter)
                n_row = -int(self.layout.has_names)
                for cells in lines:
                    n_row += bool(cells)
                    if cells and n_row > 0:
                        self._check_line(cells, n_row, error)
        except UnicodeDecodeError as undecodable:
            raise _not_utf8(self.path, undecodable) from error
        if "Empty CSV" in str(error):
            raise no_rows(self.name) from error
        raise DataError(f"{self.path} cannot be read: it is damaged or not a table ({error}).") from error

    def _check_line(self, cells: list[str], n_row: int, error: Any) -> None:
        if len(cells) != len(self.fields):
            raise DataError(
                f"{self.path}: row {n_row} has {len(cells)} columns where the first has {len(self.fields)}; mend it."
            ) from error
        for name, place in zip(self.columns, self._places, strict=True):
            cell = cells[place]
            if not (_is_number(cell, self.layout.decimal_point) or cell in GAPS):
                shown = f"{name!r}" if self.feature_names else f"{int(name) + 1}"
                raise DataError(
                    f"{self.path}: column {shown} holds {cell!r} in row {n_row}, not a number; leave the column out by "
                    "naming the others (columns=, --columns), or mend it."
                ) from error


OPENER = file_opener(CSVSource, ".csv")
