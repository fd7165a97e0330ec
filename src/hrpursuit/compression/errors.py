"""What is raised and warned of when a file is not whole."""

import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager


class DamagedFile(ValueError):
    """The file is cut, changed, of a newer format, or no compressed table at all."""


class DamagedFileWarning(UserWarning):
    """Parts of the file were skipped; what was given back is whole."""


#: What parsers raise on bytes that nobody wrote on purpose.
_SIGNS = (ValueError, LookupError, ArithmeticError, EOFError, RecursionError, lzma.LZMAError, zlib.error)


@contextmanager
def damage(what: str) -> Iterator[None]:
    """Turn whatever a parser raises on bytes that make no sense into DamagedFile."""
    try:
        yield
    except DamagedFile:
        raise
    except _SIGNS as error:
        raise DamagedFile(f"{what} is damaged: {error}") from error
