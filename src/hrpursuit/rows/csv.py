"""CSV files, plain or packed, read in chunks: how the text is laid out, its stream, and numbers from it."""

import csv
import io
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
SUFFIXES = (".csv", ".csv.gz", ".csv.zst")
TEXT_BYTES = 4 << 20  # parsed at once
_MARKS = ";\t,"  # between cells; where a file can be read with several, the first of them
_LINES = 100  # that are looked at
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}  # by the first bytes of a file


@dataclass(frozen=True)
class Layout:
    """How the text is laid out: separated by commas, semicolons or tabs, with or without names in the first line."""

    delimiter: str
    decimal_point: str
    fields: list[str]
    has_names: bool
    counts_rows: bool  # the first column has no name and counts the rows: pandas writes its index like that
    newline: str = "\n"
    has_bom: bool = False
    comment: str = ""  # lines that begin so are left out

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


def look_at(path: Path, header: Header, comment: str = "") -> Layout:
    """The layout of a file by its first lines; the first one is a header unless it is all numbers or gaps."""
    try:
        with open_text(path, comment) as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as file:
            lines = list(islice(file, _LINES))
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error) from error
    except (OSError, EOFError) as error:
        raise _damaged(path, error) from error
    has_bom = bool(lines) and lines[0].startswith("\ufeff")
    if has_bom:
        lines[0] = lines[0].removeprefix("\ufeff")
    if not lines or not lines[0].strip():
        raise ValueError(f"{path} is empty or starts with an empty line.")
    delimiter = _delimiter(lines)
    record = next(csv.reader(lines, delimiter=delimiter))
    n_lines = 1 + sum(field.count("\n") for field in record)  # names may have line ends, in quotes
    first, others = "".join(lines[:n_lines]), [line.strip("\r\n") for line in lines[n_lines:]]
    fields = [field.strip() for field in record]
    unnamed = [field for field in fields if field]
    positions = len(unnamed) >= len(fields) - 1 and unnamed == [str(i) for i in range(len(unnamed))]
    has_names = header == "yes" or (header == "auto" and (positions or not all(is_cell(field) for field in fields)))
    decimal_point = "," if delimiter != "," and any("," in line for line in others or [first]) else "."
    starts = [line.split(delimiter)[0].strip('" ') for line in others if line.strip()]
    counts_rows = (
        has_names and len(fields) > 1 and fields[0] == "" and starts == [str(i) for i in range(len(starts))] != []
    )
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    return Layout(delimiter, decimal_point, fields, has_names, counts_rows, newline, has_bom, comment)


def _delimiter(lines: list[str]) -> str:
    """What stands between cells: the mark that gives every line as many of them as the first has.

    A semicolon in one name of a file with commas is no reason to take semicolons. If no mark does it, it is a semicolon
    or tab that is in the first line, and else a comma.
    """
    for mark in _MARKS:
        try:
            records = [len(cells) for cells in csv.reader(lines, delimiter=mark) if cells]
        except csv.Error:  # such as a cell of more than 128 KiB
            continue
        if len(lines) == _LINES:
            records = records[:-1] or records  # the last one may go on
        if records[0] > 1 and len(set(records)) == 1:
            return mark
    unquoted = re.sub(r'"[^"]*"', "", lines[0])
    return next((mark for mark in ";\t" if mark in unquoted), ",")


def open_text(path: Path, comment: str = "") -> io.BufferedReader:
    """The bytes of a text that may be packed by gzip or zstd, without lines that begin with the mark of a comment."""
    pa = needed("pyarrow", "CSV files", "files")
    with path.open("rb") as file:
        start = file.read(4)
    packed = next((name for mark, name in _PACKED.items() if start.startswith(mark)), None)
    stream = io.BufferedReader(pa.input_stream(str(path), compression=packed), 1 << 16)
    return io.BufferedReader(_WithoutComments(stream, comment.encode()), 1 << 16) if comment else stream


class _WithoutComments(io.RawIOBase):
    """Leaves out lines that begin with a mark; not within quotes."""

    def __init__(self, stream: io.BufferedReader, mark: bytes) -> None:
        self._stream, self._mark, self._rest, self._in_quotes = stream, mark, b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            line = self._stream.readline()
            if not line:
                return 0
            if not self._in_quotes and line.removeprefix(b"\xef\xbb\xbf").startswith(self._mark):
                continue
            self._in_quotes ^= line.count(b'"') % 2 == 1
            self._rest = line
        n_bytes = min(len(buffer), len(self._rest))
        buffer[:n_bytes], self._rest = self._rest[:n_bytes], self._rest[n_bytes:]
        return n_bytes

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_batches(path: Path, layout: Layout, fields: Sequence[str], convert: Any, on_bad_line: Any = None) -> Any:
    """A reader of record batches, to be used as a context: the columns `fields`, converted as Arrow is told."""
    module = needed("pyarrow.csv", "CSV files", "files")
    return module.open_csv(
        open_text(path, layout.comment),
        read_options=module.ReadOptions(
            column_names=fields,
            skip_rows_after_names=int(layout.has_names),
            block_size=TEXT_BYTES,
            use_threads=on_bad_line is None,
        ),
        parse_options=module.ParseOptions(
            delimiter=layout.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=on_bad_line is None or len(fields) > 1,  # else they are gaps
            invalid_row_handler=on_bad_line,
        ),
        convert_options=convert,
    )


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(f"{path} cannot be read: it is damaged, cut short or not a table ({error}).")


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
        convert = self._csv.ConvertOptions(
            decimal_point=self.layout.decimal_point,
            null_values=GAPS,
            include_columns=self.columns,
            column_types=dict.fromkeys(self.columns, self._arrow.float64()),
        )
        try:
            with open_batches(self.path, self.layout, self.fields, convert) as reader:
                for batch in reader:
                    yield arrow_to_array(batch, self.dtype)
        except (self._arrow.ArrowException, OSError, EOFError) as error:
            self.raise_at_fault(error)

    def raise_at_fault(self, error: Exception) -> NoReturn:
        """Find the first line that is not as it should be, since the parser does not tell where it is."""
        try:
            with open_text(self.path) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file, delimiter=self.layout.delimiter)
                n_row = -int(self.layout.has_names)
                for cells in lines:
                    n_row += bool(cells)
                    if cells and n_row > 0:
                        self._check_line(cells, n_row, error)
        except UnicodeDecodeError as undecodable:
            raise _not_utf8(self.path, undecodable) from error
        except (OSError, EOFError, csv.Error):  # a packed file that is cut, or a cell longer than any
            pass
        if "Empty CSV" in str(error):
            raise no_rows(self.name) from error
        raise _damaged(self.path, error) from error

    def _check_line(self, cells: list[str], n_row: int, error: Any) -> None:
        if len(cells) != len(self.fields):
            raise DataError(
                f"{self.path}: row {n_row} has {len(cells)} columns where the first has {len(self.fields)}; correct it."
            ) from error
        for name, place in zip(self.columns, self._places, strict=True):
            cell = cells[place]
            if not (_is_number(cell, self.layout.decimal_point) or cell in GAPS):
                shown = f"{name!r}" if self.feature_names else f"{int(name) + 1}"
                raise DataError(
                    f"{self.path}: column {shown} holds {cell!r} in row {n_row}, not a number; leave the column out by "
                    "naming the others (columns=, --columns), or correct it."
                ) from error


OPENER = file_opener(CSVSource, *SUFFIXES)
