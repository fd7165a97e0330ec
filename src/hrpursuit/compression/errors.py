"""What is raised and warned of when a file cannot be read, or not all of it."""

import lzma
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = str(Path(__file__).parent)


class DamagedFile(ValueError):
    """The file is cut, changed, or no compressed table at all."""


class DamagedFileWarning(UserWarning):
    """Parts of the file were left out; what was given back is whole."""


class UnsupportedVersion(ValueError):
    """The file is whole, but of a newer format than this package reads.

    Attributes
    ----------
    found : int
        Version of the format that the file has.
    known : int
        Newest version that this package reads.
    """

    def __init__(self, message: str, found: int, known: int) -> None:
        super().__init__(message)
        self.found, self.known = found, known

    def __reduce__(self) -> tuple[type, tuple[str, int, int]]:
        return type(self), (str(self), self.found, self.known)


class LimitExceeded(ValueError):
    """The table would take more memory than the parameter `limit` allows."""


def stack_level() -> int:
    """What `warnings.warn` needs to point at the line outside of this package that called it."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    return level


#: What parsers raise on bytes that nobody wrote on purpose.
#: The last is of pandas, for times with a zone beyond the years that Python knows.
_SIGNS = (
    ValueError, LookupError, ArithmeticError, EOFError, RecursionError, lzma.LZMAError, zlib.error, NotImplementedError,
)  # fmt: skip


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Turn whatever a parser raises on bytes that make no sense into DamagedFile."""
    try:
        yield
    except (DamagedFile, UnsupportedVersion, LimitExceeded):
        raise
    except _SIGNS as error:
        raise DamagedFile(f"{what} is damaged: {error}") from error
