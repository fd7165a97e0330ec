"""Values of declared types as JSON and arrays, and back with every check: a file may hold anything.

A type is written as for a type checker: int, float, bool, str, `Literal[...]`, `np.dtype`, `list[...]`, `tuple[...]`,
`... | None`, a dataclass (its fields by their own annotations; several classes with `|`), or an array:
`Annotated[NDArray[np.floating], "n_atoms", 2, None]` with its sizes, where a name is one number wherever it stands and
None is any. `NDArray[np.object_]` are strings. Arrays of integers are indices of features or atoms. All numbers are
finite; a dataclass with a method `check` is asked as well.
"""

import dataclasses
import math
from collections.abc import Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

N_FEATURES = "n_features_in_"  # the size below which indices are
_CLASS = "class"  # the key that tells of which dataclass an object is
_DTYPES = {np.floating: ("<f4", "<f8"), np.float64: ("<f8",), np.integer: ("<i8",), np.object_: ()}
Arrays = dict[str, np.ndarray]


def to_plain(kind: Any, value: Any, name: str, arrays: Arrays) -> Any:
    """The value as JSON has it; arrays go to `arrays`, and their names stand for them."""
    if value is None:
        return None
    kinds = _alternatives(kind)
    held = next((one for one in kinds if get_origin(_bare(one)) is np.ndarray), None)
    if held is not None and _scalar(held) is not np.object_:
        dtypes, array = _DTYPES[_scalar(held)], np.asarray(value)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        arrays[name] = array if array.dtype.str in dtypes else array.astype(dtypes[-1])
        return name
    if dataclasses.is_dataclass(value):
        hints = get_type_hints(type(value), include_extras=True)
        fields = {f.name: (hints[f.name], getattr(value, f.name)) for f in dataclasses.fields(value)}
        plain = {field: to_plain(hint, one, f"{name}.{field}", arrays) for field, (hint, one) in fields.items()}
        return {_CLASS: type(value).__name__} | plain
    if isinstance(value, list | tuple | np.ndarray):
        of = next((_items(one, len(value)) for one in kinds if get_origin(one) in (list, tuple)), (str,) * len(value))
        items = zip((*of, *[None] * len(value)), value, strict=False)  # a wrong length is found when it is read
        return [to_plain(item, one, f"{name}.{i}", arrays) for i, (item, one) in enumerate(items)]
    if isinstance(value, np.dtype):
        return value.name
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, bool) and bool not in kinds else value  # verbose=True


def from_plain(kind: Any, value: Any, name: str, arrays: Arrays, sizes: dict[str, int]) -> Any:
    """The value that `to_plain` made this of; its arrays are taken out of `arrays`, `sizes` are those known so far.

    ValueError says what does not fit.
    """
    kinds = _alternatives(kind)
    if len(kinds) > 1:
        for one in kinds:
            try:
                return from_plain(one, value, name, arrays, sizes)
            except ValueError as error:
                why = error
        raise why
    kind = _bare(kind)
    if kind is NoneType and value is None:
        return None
    if kind is str and type(value) is str:
        value.encode()  # ValueError for half a character, which no other library would take
        return value
    if kind in (int, bool) and type(value) is kind and -(2**63) <= value < 2**63:
        return value
    if kind is float and type(value) is float and math.isfinite(value):
        return value
    if kind is float and type(value) is int and abs(value) <= 2**53:
        return value
    if kind is np.dtype and value in ("float32", "float64"):
        return np.dtype(value)
    origin = get_origin(kind)
    if origin is Literal and type(value) is str and value in get_args(kind):
        return value
    if origin in (list, tuple) and type(value) is list and len(_items(kind, len(value))) == len(value):
        items = enumerate(zip(_items(kind, len(value)), value, strict=True))
        return origin([from_plain(item, one, f"{name}.{i}", arrays, sizes) for i, (item, one) in items])
    if origin is np.ndarray:
        return _array(kinds[0], value, name, arrays, sizes)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and type(value) is dict:
        return _dataclass(kind, value, name, arrays, sizes)
    raise ValueError(f"{name} must be {kind}; got {value!r:.100}.")


def check_names(found: Any, expected: Sequence[str], name: str) -> None:
    """Refuse anything but an object with exactly these names."""
    if type(found) is not dict or set(found) != set(expected):
        raise ValueError(f"{name} must have {', '.join(expected)}; got {found!r:.100}.")


def _dataclass(kind: Any, value: dict[str, Any], name: str, arrays: Arrays, sizes: dict[str, int]) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in dataclasses.fields(kind)]
    check_names(value, [_CLASS, *names], name)
    if value[_CLASS] != kind.__name__:
        raise ValueError(f"{name} must be a {kind.__name__}; got {value[_CLASS]!r:.100}.")
    made = kind(**{one: from_plain(hints[one], value[one], f"{name}.{one}", arrays, sizes) for one in names})
    if hasattr(made, "check"):
        made.check()
    return made


def _array(kind: Any, value: Any, name: str, arrays: Arrays, sizes: dict[str, int]) -> np.ndarray:
    scalar = _scalar(kind)
    if scalar is np.object_:
        array = np.array(from_plain(list[str], value, name, arrays, sizes), dtype=object)
    elif value != name or name not in arrays or arrays[name].dtype.str not in _DTYPES[scalar]:
        raise ValueError(f"{name} must be an array of {' or '.join(_DTYPES[scalar])}; got {value!r:.100}.")
    else:
        array = arrays.pop(name)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite.")
    if scalar is np.integer and array.size and not 0 <= array.min() <= array.max() < sizes[N_FEATURES]:
        raise ValueError(f"{name} must be indices below {sizes[N_FEATURES]}.")
    wanted = kind.__metadata__ if get_origin(kind) is Annotated else (None,) * array.ndim
    if len(wanted) != array.ndim:
        raise ValueError(f"{name} must have {len(wanted)} dimensions; got {array.ndim}.")
    for size, found in zip(wanted, array.shape, strict=True):
        expected = sizes.setdefault(size, max(1, found)) if isinstance(size, str) else size
        if expected not in (None, found):
            raise ValueError(f"{name} must have shape {wanted}; got {array.shape} where sizes are {sizes}.")
    return array


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _items(kind: Any, n: int) -> tuple[Any, ...]:
    """Types of the items of a list or tuple of n."""
    of = get_args(kind)
    return (of[0],) * n if get_origin(kind) is list or of[-1] is ... else of


def _scalar(kind: Any) -> Any:
    """Floats of either precision, doubles, integers or strings; an array that does not say is one of doubles."""
    scalar = get_args(get_args(_bare(kind))[1])[0]
    return np.integer if scalar is np.intp else scalar if scalar in _DTYPES else np.float64
