"""Tables of Arrow and polars as DataFrames of pandas, and back, with all that a DataFrame does not say by itself.

What is not said is kept in `attrs["arrow"]`: the library that a table is of, the place of the column that is the index,
and types that pandas has no name for, by name of the column.
"""

import warnings
from collections import Counter
from collections.abc import Collection
from importlib import import_module
from typing import Any

from hrpursuit.rows.optional import is_a, needed
from hrpursuit.rows.source import DataError

ATTRIBUTE = "arrow"
LIBRARIES = ("polars", "pyarrow")
#: Types that become another one in a DataFrame, and what stands for them there.
_STORED = {
    "date32": "timestamp[s]",
    "date64": "timestamp[ms]",
    "time32[s]": "int32",
    "time32[ms]": "int32",
    "time64[us]": "int64",
    "time64[ns]": "int64",
    "string": "large_string",
    "string_view": "large_string",
    "null": "float64",
}
_INDICES = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))  # of dictionaries


def is_foreign(table: Any) -> bool:
    """Whether it is a table of Arrow or of polars."""
    return is_a(table, "pyarrow", "Table", "RecordBatch") or is_a(table, "polars", "DataFrame", "LazyFrame")


def as_frame(table: Any) -> Any:
    """A table of Arrow or polars as a DataFrame; everything else as it is."""
    if not is_foreign(table):
        return table
    library = "polars" if type(table).__module__.startswith("polars") else "pyarrow"
    if is_a(table, "polars", "LazyFrame"):
        table = table.collect()
    if is_a(table, "pyarrow", "RecordBatch"):
        table = import_module("pyarrow").Table.from_batches([table])
    extra = {}
    if library == "polars":
        extra = {name: "Enum" for name, kind in table.schema.items() if str(kind).startswith("Enum")}
        try:
            table = table.to_arrow()
        except Exception as error:  # objects, and what else Arrow has no type for
            raise DataError(f"the DataFrame of polars cannot be stored: {error}; convert these columns.") from error
    first = table.schema.types[0] if table.num_columns else None
    types = needed("pyarrow", "Arrow tables", "files").types
    is_time = first is not None and (types.is_timestamp(first) or types.is_date(first))
    frame = to_frame(table, "the table", 0 if is_time and table.num_columns > 1 else None)
    kept = frame.attrs.setdefault(ATTRIBUTE, {})
    kept["library"] = library
    if extra:
        kept["types"] = {**kept.get("types", {}), **extra}
    return frame


def as_given(frame: Any) -> Any:
    """A DataFrame in the library that its attributes name; where that is not installed it stays, with a warning."""
    library = kept_types(frame.attrs).get("library")
    if library is None:
        return frame
    try:
        arrow = import_module("pyarrow")
        polars = import_module("polars") if library == "polars" else None
    except ImportError as error:
        warnings.warn(
            f"the table was one of {library}, which is not installed ({error}): it is one of pandas now.", stacklevel=4
        )
        return frame
    try:
        table = from_frame(frame)
    except arrow.ArrowException as error:
        raise ValueError(f"attrs[{ATTRIBUTE!r}] does not fit the columns: {error}") from error
    if polars is None:
        return table
    found = polars.from_arrow(table)
    kinds = kept_types(frame.attrs)["types"]
    enums = [name for name, kind in zip(frame.columns, map(str, frame.dtypes), strict=True)
             if kind == "category" and kinds.get(name) == "Enum"]  # fmt: skip
    casts = [polars.col(name).cast(polars.Enum(list(frame[name].cat.categories))) for name in enums]
    return found.with_columns(casts) if casts else found


def kept_types(attrs: dict[str, Any]) -> dict[str, Any]:
    """`attrs["arrow"]` with what is not as it should be left out."""
    kept = attrs.get(ATTRIBUTE)
    kept = kept if isinstance(kept, dict) else {}
    types = kept.get("types")
    good: dict[str, Any] = {"types": types if isinstance(types, dict) else {}}
    if kept.get("library") in LIBRARIES:
        good["library"] = kept["library"]
    if type(kept.get("index")) is int and kept["index"] >= 0:
        good["index"] = kept["index"]
    return good


def to_frame(
    table: Any,
    name: str,
    index: int | None = None,
    nullable: Collection[str] | None = None,
    floats: Collection[str] = (),
) -> Any:
    """A table of Arrow as a DataFrame.

    Parameters
    ----------
    table : pyarrow.Table
        Numbers, truth values, texts, dictionaries, dates and times.
    name : str
        Of the table, for messages.
    index : int or None, default=None
        Place of the column that becomes the index.
    nullable : collection of str or None, default=None
        Columns that are of a type that knows missing values; None: those that have some.
    floats : collection of str, default=()
        Columns of floats whose nulls are NaN.

    Returns
    -------
    frame : DataFrame
    """
    pandas = needed("pandas", "Tables with names", "cli")
    parts, kinds = [], {}
    repeated = {column for column, count in Counter(table.schema.names).items() if count > 1}
    for field, column in zip(table.schema, table.columns, strict=True):
        gaps = column.null_count > 0 if nullable is None else field.name in nullable
        if field.name in floats:
            gaps, column = False, import_module("pyarrow.compute").fill_null(column, float("nan"))
        what = f"{name}: column {field.name!r}"
        try:
            values, kind = _to_pandas(column, gaps, what)
        except DataError:
            raise
        except ValueError as error:  # an unknown time zone, two categories that are equal
            raise DataError(f"{what} ({field.type}) cannot be kept: {error}; convert it, or leave it out.") from error
        parts.append(values)
        if kind is not None:
            if field.name in repeated:
                raise DataError(f"{name} has several columns named {field.name!r}; each needs a name of its own.")
            kinds[field.name] = kind
    names = list(table.schema.names)
    labels = pandas.RangeIndex(table.num_rows)
    if index is not None:
        labels, label = pandas.Index(parts.pop(index)), names.pop(index)
        labels = labels.rename(label)
    frame = pandas.DataFrame(dict(enumerate(parts)), index=pandas.RangeIndex(table.num_rows))
    frame.columns = names
    frame.index = labels
    kept = ({} if index is None else {"index": index}) | ({"types": kinds} if kinds else {})
    frame.attrs = {ATTRIBUTE: kept} if kept else {}
    return frame


def _to_pandas(column: Any, gaps: bool, what: str) -> tuple[Any, Any]:
    """Values for pandas, and the type to go back to if pandas has no name for it."""
    pa, pandas = needed("pyarrow", "Arrow tables", "files"), needed("pandas", "Tables with names", "cli")
    compute, kind = needed("pyarrow.compute", "Arrow tables", "files"), column.type
    tag: Any = None
    short = {"date32[day]": "date32", "date64[ms]": "date64"}.get(str(kind), str(kind))
    if short in _STORED:
        tag = short
        column = column.cast(_type_of(_STORED[short]))
        gaps, kind = gaps or short == "null", column.type
    if pa.types.is_boolean(kind):
        return (column.to_pandas(types_mapper=lambda _: pandas.BooleanDtype()) if gaps else column.to_numpy()), tag
    if pa.types.is_integer(kind):
        nullable = str(kind).replace("int", "Int").replace("uI", "UI")
        if not gaps:
            return column.to_numpy(), tag
        return column.to_pandas(types_mapper=lambda _: pandas.api.types.pandas_dtype(nullable)).array, tag
    if pa.types.is_floating(kind):
        if not gaps:
            return column.to_numpy(), tag
        if compute.any(compute.is_nan(column)).as_py():
            raise DataError(f"{what} has both NaN and null, and one kind of gap can be kept; fill one of them.")
        if pa.types.is_float16(kind):
            raise DataError(f"{what} is of half precision and has nulls; make it float32, or its nulls NaN.")
        nullable = "Float32" if pa.types.is_float32(kind) else "Float64"
        return column.to_pandas(types_mapper=lambda _: pandas.api.types.pandas_dtype(nullable)).array, tag
    if pa.types.is_large_string(kind):
        return pandas.array(column.to_pandas(), dtype="str" if pandas.__version__ >= "3" else "object"), tag
    if pa.types.is_dictionary(kind):
        values = str(kind.value_type)
        tag = ["dictionary", str(kind.index_type), values]
        if values in ("string", "string_view"):
            column = column.cast(pa.dictionary(kind.index_type, pa.large_string(), kind.ordered))
        return column.unify_dictionaries().combine_chunks().to_pandas().array, tag
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return column.to_pandas().array, tag
    raise DataError(
        f"{what} holds {kind}; numbers up to 64 bits, truth values, texts, categories, dates and times can be kept: "
        "convert it, or leave it out."
    )


def _type_of(name: str) -> Any:
    pa = needed("pyarrow", "Arrow tables", "files")
    units = {f"timestamp[{unit}]": pa.timestamp(unit) for unit in ("s", "ms")}
    times = {"time32[s]": pa.time32("s"), "time32[ms]": pa.time32("ms"), "time64[us]": pa.time64("us")}
    return {**units, **times, "time64[ns]": pa.time64("ns")}.get(name) or getattr(pa, name)()


def from_frame(frame: Any) -> Any:
    """The table of Arrow that `to_frame` was given, or one with the columns of another DataFrame."""
    pa = needed("pyarrow", "Arrow tables", "files")
    kept = kept_types(frame.attrs)
    names = [str(name) for name in frame.columns]
    arrays = [_to_arrow(frame.iloc[:, i], kept["types"].get(name)) for i, name in enumerate(names)]
    if "index" in kept and frame.index.name is not None:
        place, name = min(kept["index"], len(names)), str(frame.index.name)
        names.insert(place, name)
        arrays.insert(place, _to_arrow(frame.index.to_series(), kept["types"].get(name)))
    return pa.table(arrays, names=names) if arrays else pa.table({})


def _to_arrow(column: Any, tag: Any) -> Any:
    pa = needed("pyarrow", "Arrow tables", "files")
    if column.dtype.kind == "f" and not hasattr(column.dtype, "na_value"):
        values = pa.array(column.to_numpy(), from_pandas=False)  # NaN is no null
    else:
        values = pa.array(column.array, from_pandas=True)
    if pa.types.is_string(values.type) and tag is None:
        values = values.cast(pa.large_string())
    if isinstance(tag, str) and tag in _STORED:
        if tag == "null" and values.null_count == len(values):
            return pa.nulls(len(values))
        stored = _type_of(_STORED[tag])
        return values.cast(stored).cast(_type_of(tag)) if tag != "null" else values
    if isinstance(tag, list) and tag[:1] == ["dictionary"] and pa.types.is_dictionary(values.type):
        index, kind = tag[1] if tag[1:2] and tag[1] in _INDICES else "int32", values.type.value_type
        if tag[-1] in ("string", "string_view", "large_string"):
            kind = _type_of(tag[-1])
        return values.cast(pa.dictionary(_type_of(index), kind, values.type.ordered))
    return values
