"""Tables of readings as files: CSV, Parquet, Arrow and NumPy; and tables of Arrow and polars as DataFrames."""

from hrpursuit.tables.arrow_frames import as_frame, as_given
from hrpursuit.tables.files import opened, read_table, write_table

__all__ = ["as_frame", "as_given", "opened", "read_table", "write_table"]
