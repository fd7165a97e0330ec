"""The tables of the format."""

from hrpursuit.compression.kernels.constants import FILE
from hrpursuit.compression.kernels.make_constants import make


def test_the_tables_are_what_is_computed():
    assert FILE.read_bytes() == make()
