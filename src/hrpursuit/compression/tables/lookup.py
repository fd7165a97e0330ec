"""Columns by name, by number, or by a pattern of names."""

from collections.abc import Hashable, Sequence
from fnmatch import fnmatchcase
from typing import Any

_MOST_NAMED = 5  # columns in an error message
_WILDCARDS = "*?["


class Lookup:
    """Finds columns by their names; the columns of an array have numbers in place of names."""

    def __init__(self, names: Sequence[str | int]) -> None:
        self.names = names
        self._places: dict[str | int, list[int]] = {}
        for place, name in enumerate(names):
            self._places.setdefault(name, []).append(place)

    def exactly(self, key: Any) -> list[int]:
        """Places of the columns with this name; several if they share it."""
        if not isinstance(key, Hashable) or isinstance(key, bool):  # True would be column 1
            return []
        return self._places.get(key, [])  # type: ignore[call-overload]

    def fitting(self, key: Any) -> list[int]:
        """The same; if there is none and the name is a text, columns which it fits as a pattern (`temp*`). The number
        of a column may be given as a text.
        """
        found = self.exactly(key)
        if found or not isinstance(key, str):
            return found
        return [place for place, name in enumerate(self.names) if fnmatchcase(str(name), key)]

    def missing(self, key: Any, parameter: str) -> ValueError:
        """The error for a name or pattern without a column."""
        has = listed(self.names) if len(self.names) else "no columns"
        if isinstance(key, str) and any(sign in key for sign in _WILDCARDS):
            return ValueError(f"{parameter}: the pattern {key!r} fits no column; the table has {has}.")
        return ValueError(f"{parameter}: there is no column {key!r}; the table has {has}.")


def listed(names: Sequence[str | int]) -> str:
    """Names for a message, not too many."""
    word = "the column" if len(names) == 1 else "the columns"
    if isinstance(names, range) and len(names) > 1:
        return f"{word} {names[0]} to {names[-1]}"
    more = f", ... ({len(names)} in all)" if len(names) > _MOST_NAMED else ""
    return f"{word} {', '.join(repr(name) for name in names[:_MOST_NAMED])}{more}"
