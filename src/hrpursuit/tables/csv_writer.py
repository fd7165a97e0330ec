"""Tables as CSV text, in the form that their attributes say."""

import csv
import io
from typing import Any

import numpy as np

from hrpursuit.rows.optional import needed
from hrpursuit.tables.csv_style import INDEX, TRUTH, Style, time_texts


class CSVWriter:
    """Writes the pieces of a table one after the other to a binary file."""

    def __init__(self, file: Any, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> None:
        self._arrow, self._csv = needed("pyarrow", "CSV files", "files"), needed("pyarrow.csv", "CSV files", "files")
        self._compute = needed("pyarrow.compute", "CSV files", "files")
        self._names, self._is_first, self._n_rows = names, True, 0
        self._style = Style.of(attrs, n_columns)
        self._file: Any = file if self._style.end else _WithoutLastLineEnd(file)
        odd = {place: {int(row): text for row, text in cells.items()} for place, cells in self._style.odd.items()}
        self._odd = {place: sorted(cells.items()) for place, cells in odd.items()}

    def write(self, table: Any) -> None:
        """A DataFrame, or an array: then without a header."""
        style, columns = self._style, []
        if hasattr(table, "iloc"):
            if table.index.name is not None or style.index or type(table.index).__name__ != "RangeIndex":
                columns.append(self._with_odd(label_cells(table.index, style.time), INDEX))
            readings = [table.iloc[:, i] for i in range(table.shape[1])]
        else:
            readings = list(np.asarray(table).T)
        has_index = bool(columns)
        gap = style.gap or ("NaN" if len(readings) == 1 and not has_index else "")  # an empty line is no row
        for place, (values, decimals) in enumerate(zip(readings, style.decimals, strict=True)):
            columns.append(self._with_odd(cells_of(values, decimals, gap, style), str(place)))
        if self._is_first and style.bom:
            self._file.write(b"\xef\xbb\xbf")
        if self._is_first and self._names is not None and style.header:
            label = [str(table.index.name) if table.index.name is not None else ""] if has_index else []
            self._write_lines([[*label, *self._names]])
        self._is_first = False
        self._n_rows += len(table)
        texts = self._arrow.table(columns, names=[str(i) for i in range(len(columns))])
        options = self._csv.WriteOptions(include_header=False, delimiter=style.delimiter, quoting_style="none")
        if style.newline == "\n":
            sink = self._arrow.BufferOutputStream()
            try:
                self._csv.write_csv(texts, sink, options)
            except self._arrow.ArrowException:  # texts that need quotes
                pass
            else:
                self._file.write(sink.getvalue())
                return
        self._write_lines(zip(*(column.to_pylist() for column in texts.columns), strict=True))

    def _write_lines(self, lines: Any) -> None:
        out = io.StringIO()
        csv.writer(out, delimiter=self._style.delimiter, lineterminator=self._style.newline).writerows(lines)
        self._file.write(out.getvalue().encode("utf-8", "surrogatepass"))

    def _with_odd(self, texts: Any, place: str) -> Any:
        """With cells in place of what their numbers would give."""
        here = [(row - self._n_rows, text) for row, text in self._odd.get(place, []) if row >= self._n_rows]
        here = [(row, text) for row, text in here if row < len(texts)]
        if not here:
            return texts
        changed = texts.to_pylist()
        for row, text in here:
            changed[row] = text
        return self._arrow.array(changed, texts.type)


class _WithoutLastLineEnd:
    """Holds the line end of the last line back until more follows."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file, self._held = file, b""

    def write(self, data: Any) -> int:
        whole = self._held + bytes(data)
        held = next((end for end in (b"\r\n", b"\n", b"\r") if whole.endswith(end)), b"")
        self._file.write(whole.removesuffix(held))
        self._held = held
        return len(data)

    def flush(self) -> None:
        self._file.flush()


def label_cells(index: Any, time: str | None) -> Any:
    """Labels of rows as texts."""
    arrow = needed("pyarrow", "CSV files", "files")
    if hasattr(index, "tz"):
        return arrow.array(time_texts(index, time), arrow.large_string())
    if index.dtype.kind == "m":
        return arrow.array(index.astype(str).tolist(), arrow.large_string())
    return arrow.array(index.to_numpy()).cast(arrow.large_string())


def cells_of(column: Any, decimals: int, gap: str, style: Style) -> Any:
    """A column as texts: numbers as the shortest ones that give the same number back, with no fewer decimals than the
    column had; a missing text is an empty cell.
    """
    arrow, compute = needed("pyarrow", "CSV files", "files"), needed("pyarrow.compute", "CSV files", "files")
    dtype = column.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind in "OMm":
        name = str(dtype)
        missing = np.asarray(column.isna())
        if name == "boolean":
            return _with_gaps(_truth(column.to_numpy(bool, na_value=False), style), missing, gap)
        if name.startswith(("Int", "UInt")):
            return _with_gaps(arrow.array(column.to_numpy(name.lower(), na_value=0)), missing, gap)
        if not name.startswith("Float"):
            return _with_gaps(_other_texts(column, name), missing, "")
        column = column.to_numpy(name.lower(), na_value=np.nan)
    values = np.asarray(column)
    if values.dtype == bool:
        return _truth(values, style)
    if values.dtype.kind != "f":
        return arrow.array(values).cast(arrow.large_string())
    wide = values if values.dtype == np.float32 else values.astype(np.float64)
    texts = arrow.array(wide).cast(arrow.large_string())
    if decimals:
        places = compute.find_substring(texts, ".").to_numpy(zero_copy_only=False)
        lengths = compute.utf8_length(texts).to_numpy(zero_copy_only=False)
        missing_places = np.maximum(0, decimals - np.where(places < 0, 0, lengths - places - 1))
        plain = ~compute.match_substring_regex(texts, "[a-z]").to_numpy(zero_copy_only=False)  # 1e+300, nan
        endings = np.array(["0" * n for n in range(decimals + 1)])[missing_places]
        endings = np.where(plain, np.where(places < 0, np.char.add(".", endings), endings), "")
        texts = compute.binary_join_element_wise(texts, arrow.array(endings, texts.type), arrow.scalar("", texts.type))
    if style.point != ".":
        texts = compute.replace_substring(texts, ".", style.point)
    return _with_gaps(texts, np.isnan(values), gap)


def _with_gaps(texts: Any, missing: np.ndarray, gap: str) -> Any:
    arrow, compute = needed("pyarrow", "CSV files", "files"), needed("pyarrow.compute", "CSV files", "files")
    texts = texts.cast(arrow.large_string())
    return compute.if_else(arrow.array(missing), arrow.scalar(gap, arrow.large_string()), texts)


def _truth(values: np.ndarray, style: Style) -> Any:
    arrow, compute = needed("pyarrow", "CSV files", "files"), needed("pyarrow.compute", "CSV files", "files")
    words = [arrow.scalar(word, arrow.large_string()) for word in (style.truth, TRUTH[style.truth])]
    return compute.if_else(arrow.array(values), *words)


def _other_texts(column: Any, name: str) -> Any:
    """Texts, categories and times; what is missing is any text."""
    arrow = needed("pyarrow", "CSV files", "files")
    if name.startswith("datetime64"):
        pandas = needed("pandas", "Tables with names", "cli")
        return arrow.array(time_texts(pandas.DatetimeIndex(column.array), None), arrow.large_string())
    if name == "category":
        texts = label_cells(column.cat.categories, None)
        codes = np.maximum(column.cat.codes.to_numpy(), 0)
        return texts.take(arrow.array(codes)) if len(texts) else arrow.array([""] * len(column), arrow.large_string())
    if name.startswith("timedelta64"):
        return arrow.array(column.astype(str).tolist(), arrow.large_string())
    return arrow.array([text if isinstance(text, str) else "" for text in column.tolist()], arrow.large_string())
