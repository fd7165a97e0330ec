"""What a file, or anything else that is read from its start in pieces, has to offer to be a source of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from hrpursuit.core.protocols import Array


class DataError(ValueError):
    """Rows that are not what they should be; the message says where and why."""


class GapsError(DataError):
    """Gaps where only data in memory may have some."""


class BlockError(OSError):
    """A block of rows could not be read; the message says which."""


class Source(ABC):
    """A table of numbers that is read from its start, a piece at a time, as often as needed.

    Attributes
    ----------
    name : str
        For messages.
    n_samples : int or None
        None where this is known only at the end.
    n_features : int
    dtype : dtype
        float32 or float64: what the pieces are.
    feature_names : list of str or None
    """

    name: str
    n_samples: int | None
    n_features: int
    dtype: np.dtype[Any]
    feature_names: list[str] | None = None

    @abstractmethod
    def pieces(self, n_rows: int) -> Iterator[Array]:
        """Yield arrays of n_rows rows, the last may be shorter. Two buffers take turns: a piece is valid until the one
        after the next is asked for.
        """

    def take(self, chosen: np.ndarray[Any, np.dtype[np.int64]]) -> Array | None:
        """The rows with these sorted indices, where they can be had faster than by a pass over all."""
        return None


@dataclass(frozen=True)
class Opener:
    """How one kind of data becomes rows; `OPENERS` in `rows/open.py` lists all of them.

    Attributes
    ----------
    matches : callable
        Whether the data is of this kind; asked about whatever a user gives.
    open : callable
        Makes a `Source` or `Rows` of such data. Of the options of `open_rows` it is given those that it has parameters
        for; others are refused.
    suffixes : tuple of str
        How the names of such files end; then `open` is given a path that exists.
    in_memory : bool
        Whether estimators validate such data as an array, and give arrays back.
    """

    matches: Callable[[Any], bool]
    open: Callable[..., Any]
    suffixes: tuple[str, ...] = ()
    in_memory: bool = False


def is_path(data: Any) -> bool:
    return isinstance(data, str | PathLike)


def file_opener(open_file: Callable[..., Source], *suffixes: str) -> Opener:
    """For files whose names end like this."""
    return Opener(lambda data: is_path(data) and Path(data).name.lower().endswith(suffixes), open_file, suffixes)


class RangeSource(Source):
    """A source whose rows can be read from anywhere."""

    slab: int  # rows that are best read together

    @abstractmethod
    def span(self, start: int, stop: int) -> Array:
        """Rows from start to stop, in an array of their own."""


def no_rows(name: str) -> DataError:
    return DataError(f"{name} is empty: it has no rows.")


def float_type(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The type that numbers of this type are handed over in: float32 stays, other real numbers become float64."""
    if dtype.kind not in "buif":
        raise DataError(f"{name} must hold real numbers; got {dtype}.")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64)


def check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        raise DataError(f"{name} must be two-dimensional, one sample per row; got {len(shape)} dimensions, {shape}.")


def repacked(parts: Iterable[Array], n_rows: int, n_features: int, dtype: np.dtype[Any]) -> Iterator[Array]:
    """Parts of any length as pieces of n_rows rows, in two buffers that take turns."""
    buffers = np.empty((2, n_rows, n_features), dtype)
    turn, filled = 0, 0
    for part in parts:
        taken = 0
        while taken < len(part):
            more = min(n_rows - filled, len(part) - taken)
            buffers[turn, filled : filled + more] = part[taken : taken + more]
            taken, filled = taken + more, filled + more
            if filled == n_rows:
                yield buffers[turn]
                turn, filled = 1 - turn, 0
    if filled:
        yield buffers[turn, :filled]
