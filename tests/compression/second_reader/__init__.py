"""A second reader of .hrp files, written from docs/reference/format.md alone: the standard library, no code of ours. It
is slow, and trusts its files; what it is for is to hold the document true.
"""

from .container import annotated, members
from .payload import read_file
from .words import constants

__all__ = ["annotated", "constants", "members", "read_file"]
