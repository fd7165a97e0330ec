"""The codecs that ours is measured against, each in the best of its preparations, decoded and judged.

`sizes(table)` gives bytes and how they were reached, by name. Numbers, gaps and index are counted. What a file would
have besides (names, types, shape, decimals, which preparation) is not counted for these codecs, but is for ours.
"""

import os
import platform
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec

import numpy as np

from hrpursuit.rivals.packers import mask_bytes

from .fields import smallest_of_rival, smallest_sperr
from .images import mask_image_bytes, smallest_image
from .packers import PACKERS, counted
from .pco import smallest_pco
from .preparations import IN_PLACE, LAYOUTS, Preparation, preparations, prepare
from .tables import Table

#: Preparations of each layout that the real compressors are given: those that zlib makes smallest. Of large tables they
#: are fewer, so that together they have at most this many bytes: a compressor takes seconds for each.
SHORT_LIST = 4
SHORT_LIST_BYTES = 1_500_000


@dataclass(frozen=True)
class Found:
    """Bytes of a table, and the way that they were reached."""

    n_bytes: int
    how: str


def gap_bytes(table: Table) -> int:
    """What the mask of the gaps costs: the least that any compressor makes of it."""
    if not table.has_gaps:
        return 0
    observed = table.observed[:, table.observed.any(axis=0)]
    found = mask_bytes(observed)
    return found if missing("JPEG XL") else min(found, mask_image_bytes(observed))


def short_list(table: Table, gaps: int, n_each: int) -> list[Preparation]:
    """A few of each layout, as zlib likes them: what it likes best is not what others like best."""
    tried: dict[tuple[int, int], tuple[int, Preparation]] = {}  # by length and checksum: many are the same
    for preparation in preparations(table):
        data = prepare(table, preparation)[0]
        size = len(zlib.compress(data, 6)) + (0 if preparation.gaps == IN_PLACE else gaps)
        tried.setdefault((len(data), zlib.crc32(data)), (size, preparation))
    chosen = []
    for layout in LAYOUTS:
        ways = [(size, key[0], way) for key, (size, way) in tried.items() if way.layout == layout]
        ways.sort(key=lambda way: way[0])
        n_fit = int(np.searchsorted(np.cumsum([n_bytes for _, n_bytes, _ in ways]), SHORT_LIST_BYTES, side="right"))
        chosen += [way for _, _, way in ways[: min(n_each, max(n_fit, 1))]]
    return chosen


def packed_sizes(table: Table, gaps: int, names: list[str], n_each: int) -> dict[str, Found]:
    """Of the compressors of bytes; the smallest is unpacked and judged."""
    ways = [(way, *prepare(table, way)) for way in short_list(table, gaps, n_each)]

    def attempt(job: tuple[str, Preparation, bytes, Callable]) -> tuple[int, str, Preparation, bytes, Callable]:
        name, way, data, undo = job
        packed = PACKERS[name].pack(data)
        return counted(name, packed) + (0 if way.gaps == IN_PLACE else gaps), name, way, packed, undo

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # they compress without holding the interpreter
        tried = list(pool.map(attempt, [(name, *way) for name in names for way in ways]))
    found = {}
    for name in names:
        n_bytes, _, way, packed, undo = min((one for one in tried if one[1] == name), key=lambda one: one[0])
        table.judge(undo(PACKERS[name].unpack(packed)))
        found[name] = Found(n_bytes, str(way))
    return found


#: Those that are no compressors of bytes; of fields only with a bound.
NUMERIC = {"pco": smallest_pco, "JPEG XL": smallest_image}
FIELDS = {
    "SZ3": partial(smallest_of_rival, name="SZ3"),
    "zfp": partial(smallest_of_rival, name="zfp"),
    "SPERR": smallest_sperr,
}
NAMES = [*PACKERS, *NUMERIC, *FIELDS]
MODULES = {
    "zstd": "zstandard",
    "brotli": "brotli",
    "blosc2": "blosc2",
    "pco": "pcodec",
    "SZ3": "pysz",
    "zfp": "zfpy",
    "SPERR": "hdf5plugin",
}
PROGRAMS = {"zpaq": "zpaq", "JPEG XL": "cjxl"}


def missing(name: str) -> str | None:
    """The package or program that a codec needs and that is not here; None if all is."""
    if name in PROGRAMS:
        return None if shutil.which(PROGRAMS[name]) else PROGRAMS[name]
    return None if name not in MODULES or find_spec(MODULES[name]) else MODULES[name]


def version_of(name: str) -> str:
    """Of the package or program of a codec that is here; xz is the standard library's."""
    if name in PROGRAMS:
        shown = subprocess.run([PROGRAMS[name], "--version"], check=False, capture_output=True, text=True)
        return re.search(r"v\d[\d.]*", shown.stdout + shown.stderr)[0]
    return version(MODULES[name]) if name in MODULES else f"Python {platform.python_version()}"


def sizes(table: Table, n_each: int = SHORT_LIST) -> dict[str, Found]:
    """Of every codec that is here, index and gaps included."""
    gaps = gap_bytes(table)
    here = [name for name in NAMES if missing(name) is None]
    found = packed_sizes(table, gaps, [name for name in here if name in PACKERS], n_each)
    numeric = NUMERIC if table.is_lossless else NUMERIC | FIELDS
    for name in [name for name in here if name in numeric]:
        size = numeric[name](table)
        if size is not None:
            found[name] = Found(size[0] + gaps, size[1])
    return {name: Found(one.n_bytes + table.index_bytes, one.how) for name, one in found.items()}
