"""Other codecs of readings, which reports and benchmarks compare ours with (extra `rivals`)."""

from hrpursuit.rivals.codecs import RIVALS, plain_t0
from hrpursuit.rivals.tables import Stored

__all__ = ["RIVALS", "Stored", "plain_t0"]
