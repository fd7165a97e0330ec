"""Long tables, with one reading per row, made wide: one row per time and one column per sensor."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from hrpursuit.rows.optional import needed
from hrpursuit.rows.source import DataError
from hrpursuit.tables.csv_style import ATTRIBUTE


class LongTable:
    """A table with columns for time, sensor and value, given as a wide one.

    Rows are in the order of their times, columns in the order in which their sensors come first.

    Parameters
    ----------
    table : table in a file
        Opened with the column of times as its index.
    columns : tuple of three str
        Time, sensor, value.
    """

    n_rows: int | None = None

    def __init__(self, table: Any, columns: tuple[str, str, str]) -> None:
        self._table, self._columns = table, columns
        self.name, self.n_bytes, self.memory = table.name, table.n_bytes, table.memory
        _, sensor, value = columns
        for column in (sensor, value):
            if column not in table.columns:
                raise DataError(f"{self.name} has no column {column!r}; it has {', '.join(table.columns[:10])}.")
        others = [column for column in table.columns if column not in columns]
        if others:
            raise DataError(
                f"{self.name} has columns beside those of the long format: {', '.join(others[:10])}; leave them out "
                "with --drop-column."
            )

    def read(self) -> Any:
        """The whole table."""
        pandas = needed("pandas", "Tables with names", "cli")
        _, sensor, value = self._columns
        frame = self._table.read()
        sensors, times = frame[sensor], frame.index
        if sensors.isna().any():
            row = int(np.flatnonzero(sensors.isna())[0])
            raise DataError(f"{self.name}: row {row + 1} has no {sensor!r}.")
        if sensors.dtype.kind == "f":  # numbers of sensors
            whole = sensors.to_numpy()
            sensors = pandas.Series(whole.astype(np.int64) if np.all(whole == np.rint(whole)) else whole, times)
        columns, names = pandas.factorize(sensors.astype(str).to_numpy(object))
        rows, moments = pandas.factorize(times, sort=True)
        if (rows < 0).any():
            raise DataError(f"{self.name}: row {int(np.flatnonzero(rows < 0)[0]) + 1} has no time.")
        places = rows * len(names) + columns
        order = np.argsort(places, kind="stable")
        twice = order[1:][np.diff(places[order]) == 0]
        if len(twice):
            row = int(twice.min())
            raise DataError(
                f"{self.name}: row {row + 1} has a second value of {names[columns[row]]!r} at {times[row]}; each "
                "sensor can have one at a time."
            )
        readings = frame[value]
        if readings.dtype.kind not in "biuf" and not str(readings.dtype).startswith(
            ("Int", "UInt", "Float", "boolean")
        ):
            raise DataError(f"{self.name}: column {value!r} holds {readings.dtype}, not numbers.")
        wide = np.full((len(moments), len(names)), np.nan)
        wide[rows, columns] = readings.to_numpy(np.float64, na_value=np.nan)
        index = pandas.Index(moments, name=times.name)
        table = pandas.DataFrame(wide, index=index, columns=list(names))
        style = dict(frame.attrs.get(ATTRIBUTE) or {})
        style.pop("odd", None)
        decimals = style.pop("decimals", 0)
        if isinstance(decimals, list):
            decimals = decimals[list(frame.columns).index(value)]
        style |= {"decimals": decimals} if decimals else {}
        table.attrs = {ATTRIBUTE: style} if style else {}
        return table

    def pieces(self) -> Iterator[Any]:
        """All of it: what comes last may belong to the first row."""
        yield self.read()
