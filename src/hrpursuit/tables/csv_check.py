"""Checks whether a CSV file would be written again exactly as it is."""

from pathlib import Path
from typing import Any

from hrpursuit.rows.csv import open_text
from hrpursuit.tables.csv_writer import CSVWriter

_SHOWN = 60  # characters of a line


class TextComparison:
    """Writes a table as text, piece by piece, and compares that with the text of a file instead of keeping it.

    Parameters
    ----------
    path : Path
        The CSV file; it may be packed.
    names : list of str or None
        Of the columns.
    attrs : dict
        Of the table: the form of its text.
    n_columns : int

    Attributes
    ----------
    difference : str or None
        The first line that is another, in words; None if there is none so far.
    """

    def __init__(self, path: Path, names: list[str] | None, attrs: dict[str, Any], n_columns: int) -> None:
        self.difference: str | None = None
        self._stream, self._n_lines = open_text(path), 1
        self._writer = CSVWriter(_Sink(self._compare), names, attrs, n_columns)

    def add(self, table: Any) -> None:
        if self.difference is None:
            self._writer.write(table)

    def finish(self) -> None:
        """All of the table was added."""
        if self.difference is None and self._stream.read(1):
            self.difference = f"line {self._n_lines} and what follows it"
        self._stream.close()

    def _compare(self, data: bytes) -> None:
        if self.difference is not None:
            return
        given = self._stream.read(len(data))
        if given == data:
            self._n_lines += data.count(b"\n")
            return
        place = next(
            (i for i, (a, b) in enumerate(zip(given, data, strict=False)) if a != b), min(len(given), len(data))
        )
        line = self._n_lines + data.count(b"\n", 0, place)
        start = data.rfind(b"\n", 0, place) + 1
        ours, theirs = (part[start:].split(b"\n")[0].decode("utf-8", "replace") for part in (data, given))
        self.difference = f"line {line}: {_short(theirs, place - start)} becomes {_short(ours, place - start)}"


def _short(text: str, place: int) -> str:
    """The part of a line where it differs."""
    start = max(0, place - _SHOWN // 2)
    return repr(("..." if start else "") + text[start : start + _SHOWN] + ("..." if len(text) > start + _SHOWN else ""))


class _Sink:
    closed = False

    def __init__(self, take: Any) -> None:
        self._take = take

    def write(self, data: Any) -> int:
        self._take(bytes(data))
        return len(data)
