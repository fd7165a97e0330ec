"""Codecs of fields with a bound on the error: SZ3, zfp and SPERR.

They are given the readings divided by the error that each column may have, so that one bound of 1 serves all columns.
Readings with decimals may come back almost half a step further off: they are rounded to their decimals afterwards.
"""

import numpy as np

from hrpursuit.rivals import RIVALS
from hrpursuit.rivals.tables import hold

from .preparations import put_gaps
from .tables import Table

#: Of a step: what rounding to decimals takes away again. Not a half, for codecs that exceed their bound by a little.
ALMOST_HALF = 0.49


def scaled(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Rows x live columns in units of the error allowed, NaN in gaps, and these units."""
    columns, units = [], []
    for column in table.live:
        if column.whole is not None:
            values, unit = column.whole.astype(np.float64), column.largest_step + ALMOST_HALF
        else:
            values, unit = column.values.astype(np.float64), column.bound_of_floats
        columns.append(np.where(column.observed, values / unit, np.nan))
        units.append(unit)
    return np.column_stack(columns), np.array(units)


def from_scaled(table: Table, decoded: np.ndarray, units: np.ndarray) -> list[np.ndarray]:
    values = []
    for column, numbers, unit in zip(table.live, decoded.T, units, strict=True):
        numbers = np.where(column.observed, numbers, 0) * unit
        if column.whole is not None:
            values.append(column.from_whole(np.rint(numbers).astype(np.int64)))
        else:
            values.append(numbers.astype(column.values.dtype))
    return put_gaps(table, values)


def smallest_of_rival(table: Table, name: str) -> tuple[int, str] | None:
    """Bytes and how, decoded and judged."""
    field, units = scaled(table)
    stored = RIVALS[name](field, max_error=1.0)
    if stored is None:
        return None
    table.judge(from_scaled(table, stored.table, units))
    return stored.n_bytes, stored.how


def smallest_sperr(table: Table) -> tuple[int, str] | None:
    """SPERR as a filter of HDF5; it takes fields of two dimensions."""
    import h5py  # noqa: PLC0415 - an optional peer
    import hdf5plugin  # noqa: PLC0415 - an optional peer

    field, units = scaled(table)
    if field.shape[1] < 2:
        return None
    found = []
    for turned in (False, True):
        numbers = np.ascontiguousarray(hold(field).T if turned else hold(field))
        with h5py.File("sperr.h5", "w", driver="core", backing_store=False) as file:
            filters = hdf5plugin.Sperr(absolute=1.0)
            stored = file.create_dataset("t", data=numbers, chunks=numbers.shape, **filters)
            n_bytes, decoded = stored.id.get_storage_size(), stored[:]
        found.append((n_bytes, decoded.T if turned else decoded, "columns" if turned else "rows"))
    n_bytes, decoded, how = min(found, key=lambda one: one[0])
    table.judge(from_scaled(table, decoded, units))
    return n_bytes, how
