"""Bytes of whole files of many kinds of table, without loss and within bounds: ours against other codecs at their best.

python benchmarks/compression_sizes.py                     # all tables (data: ../shared/data or HRPURSUIT_DATA)
python benchmarks/compression_sizes.py krakow gps_7dec     # some tables by name; odd and grids are names as well
python benchmarks/compression_sizes.py --quick             # 2,000 rows, one seed, fewer preparations
python benchmarks/compression_sizes.py --peer-sizes FILE   # keep sizes of the others there, and read them next time
The others come with pip install ".[rivals]" and, on Debian, apt install zpaq libjxl-tools. The whole run takes about an
hour, of which ours takes a few minutes.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import peers
from common import command_line, data_folder
from peers.tables import NotGivenBack, Table
from results import Results
from size_tables import GRID_BYTES, NAMES, SEEDS, Case, cases, counts, grids, odd_tables

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.parameters import EFFORTS

STRONGEST = EFFORTS[-1]
QUICK_ROWS = 2000
#: Ours over the best of the others: on networks of sensors that see the same, and on any other table.
NETWORKS, AT_MOST_ON_NETWORKS, AT_MOST = ("krakow",), 0.87, 1.0
#: Bytes of the October readings, by bound.
OCTOBER = {0: 13_300, 1: 7_850}
#: Whole numbers on a grid against the whole numbers themselves, the grid apart.
AT_MOST_ON_GRIDS = 1.03


def ours(frame: pd.DataFrame, bound: float, effort: str) -> int:
    """Size of our file; all that is in the table has to come back from it."""
    target = {"max_error": bound} if bound else {"lossless": True}
    data = compress(frame, **target, effort=effort)
    decoded = decompress(data)
    if not decoded.index.equals(frame.index) or not decoded.columns.equals(frame.columns):
        raise NotGivenBack("our file gave another index or other names back.")
    for before, after in zip(Table.of(frame, bound).columns, Table.of(decoded, bound).columns, strict=True):
        before.judge(after.values)
    return len(data)


class PeerSizes:
    """Sizes of the other codecs, kept in a file if there is one: they do not change with ours."""

    def __init__(self, path: Path | None, n_each: int):
        self.path, self.n_each = path, n_each
        self.kept = json.loads(path.read_text()) if path is not None and path.exists() else {}
        self.any_kept = False

    def of(self, table: Table, label: str) -> dict[str, peers.Found]:
        key = f"{label}, {digest(table)}, {self.n_each}"
        if key in self.kept:
            self.any_kept = True
            return {name: peers.Found(*found) for name, found in self.kept[key].items()}
        found = peers.sizes(table, self.n_each)
        if self.path is not None:
            self.kept[key] = {name: [one.n_bytes, one.how] for name, one in found.items()}
            self.path.write_text(json.dumps(self.kept, indent=1))
        return found


def digest(table: Table) -> str:
    """Of the numbers, the bounds and the codecs that are here."""
    state = hashlib.sha256(repr([name for name in peers.NAMES if peers.missing(name) is None]).encode())
    for column in table.columns:
        state.update(f"{column.values.dtype} {column.bound} {table.index_bytes}".encode())
        state.update(column.values.tobytes())
    return state.hexdigest()[:16]


def size_rows(
    results: Results, chosen: list[Case], kept: PeerSizes, n_rows: int | None, effort: str
) -> Iterator[list[object]]:
    """Table, target, ours, best of the others and its name, ours over it, whether that is reached, and all others."""
    for number, case in enumerate(chosen, start=1):
        label = f"{case.name}, {case.target}"
        tell(f"[{number}/{len(chosen)}] {label}")
        frame = case.frame(n_rows)
        found = kept.of(Table.of(frame, case.bound), label)
        best = min(found, key=lambda name: found[name].n_bytes)
        size = ours(frame, case.bound, effort)
        ratio = size / found[best].n_bytes
        most = AT_MOST_ON_NETWORKS if case.table in NETWORKS else AT_MOST
        reached = results.bar(f"{label}: ours over the best other", ratio, at_most=most)
        if case.table == "krakow" and case.bound in OCTOBER and n_rows is None:
            reached &= results.bar(f"{label}: bytes", size, at_most=OCTOBER[case.bound])
        others = [found[name].n_bytes if name in found else None for name in peers.NAMES]
        tell("")
        yield [case.name, case.target, size, found[best].n_bytes, best, ratio, reached, *others]


def odd_rows(results: Results, effort: str) -> Iterator[list[object]]:
    for odd in odd_tables():
        clean, size = ours(odd.clean, 0, effort), ours(odd.frame, 0, effort)
        reached = results.bar(f"{odd.name}: bytes more", size - clean, at_most=odd.limit)
        yield [odd.name, clean, size, size - clean, round(odd.limit), reached]


def grid_rows(results: Results, effort: str) -> Iterator[list[object]]:
    for changes, q in counts().items():
        whole, grid = ours(q, 0, effort), GRID_BYTES * q.shape[1]
        yield ["q", changes, whole, None, None]
        for name, frame in grids(q).items():
            size = ours(frame, 0, effort)
            ratio = (size - grid) / whole
            reached = results.bar(f"{name}, {changes}: bytes over q's", ratio, at_most=AT_MOST_ON_GRIDS)
            yield [name, changes, size, ratio, reached]


def tell(text: str) -> None:
    """Progress, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main():
    parser = command_line(__doc__)
    everything = (*NAMES, "odd", "grids")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"all unless told: {', '.join(everything)}")
    parser.add_argument("--peer-sizes", type=Path, metavar="FILE", help="sizes of the others, read and added to")
    parser.add_argument("--effort", choices=EFFORTS, default=STRONGEST, help="of ours; the bars are for the strongest")
    options = parser.parse_args()
    unknown = [name for name in options.tables if name not in everything]
    if unknown:
        parser.error(f"there is no table {', '.join(unknown)}; the tables are {', '.join(everything)}")
    names = options.tables or everything
    absent = [name for name in peers.NAMES if peers.missing(name) is not None]
    if absent:
        print(f'absent, left out: {", ".join(absent)}; pip install ".[rivals]", apt install zpaq libjxl-tools')
    has_data = (data_folder() / "make_tables.py").exists()
    if not has_data:
        print(
            f"data: no make_tables.py in {data_folder()} (set HRPURSUIT_DATA to its folder); only odd and grids are run"
        )
    chosen = list(cases(tuple(name for name in NAMES if name in names), SEEDS[:1] if options.quick else SEEDS))
    kept = PeerSizes(options.peer_sizes, 1 if options.quick else peers.SHORT_LIST)
    partial = options.quick or set(names) != set(everything) or bool(absent) or not has_data
    partial |= options.effort != STRONGEST
    with Results(__file__, partial=partial) as results:
        compress(np.zeros((10, 2)), lossless=True, effort=options.effort)  # compiles
        if chosen and has_data:
            versions = [[name, peers.version_of(name)] for name in peers.NAMES if name not in absent]
            results.figures("other codecs", ["codec", f"{'version':>13}"], versions)
            n_rows = QUICK_ROWS if options.quick else None
            heads = [f"{'table':>22}", f"{'target':>15}", "ours", "best other", "name", "ours/best", "reached"]
            results.figures(
                "bytes; every codec decodes to the table, or to within the bound",
                [*heads, *peers.NAMES],
                size_rows(results, chosen, kept, n_rows, options.effort),
            )
        if "odd" in names:
            heads = [f"{'odd values':>22}", "clean", "with them", "more", "at most", "reached"]
            results.figures("bytes with odd values in a table", heads, odd_rows(results, options.effort))
        if "grids" in names:
            heads = [f"{'values':>25}", f"{'of q':>13}", "bytes", "over q's", "reached"]
            results.figures(
                "bytes of whole numbers q on grids, the grid not counted in the ratio",
                heads,
                grid_rows(results, options.effort),
            )
        if kept.any_kept:  # a file of results is of one run
            results.file = None


if __name__ == "__main__":
    main()
