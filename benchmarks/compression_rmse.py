"""Bytes of readings of a network at the same relative RMSE: ours, its bases and T0 coding, and other codecs.

python benchmarks/compression_rmse.py                     (readings: ../shared/data or HRPURSUIT_DATA)
python benchmarks/compression_rmse.py --data simulated    # or october; both unless told
python benchmarks/compression_rmse.py --quick             # two errors
The other codecs come with pip install ".[rivals]".
"""

import time
from functools import cache

import numpy as np
import pandas as pd
from common import command_line, installed, october
from results import Results

from hrpursuit.compression import compress, decompress, describe
from hrpursuit.datasets import make_sensor_network
from hrpursuit.metrics import masked_rmse
from hrpursuit.rivals import RIVALS

#: Relative RMSE, largest size of our file of the October readings.
LIMITS = {0.094: 1560, 0.081: 2130, 0.062: 3350, 0.041: 5750, 0.021: 9500}
MORE_FOR_A_FRAME = 110
BASES = ("hrp", "pca", "dct")
NEEDS = {"zstd": "zstandard", "brotli": "brotli", "SZ3": "pysz", "zfp": "zfpy"}
SHORT = {"quantise + delta + ": "delta + ", "T0 coding, plain": "plain T0"}


def within(X, decoded, error):
    """Whether what came back is the table, gaps in place, within the relative RMSE."""
    decoded = np.asarray(decoded)
    same_gaps = decoded.shape == X.shape and np.array_equal(np.isnan(X), np.isnan(decoded))
    return same_gaps and masked_rmse(X, decoded) <= error


def ours(X, error, **settings):
    data = compress(X, relative_rmse=error, **settings)
    assert within(X, decompress(data), error), f"{error} {settings}: not within the error"
    return len(data)


def fewest_coefficients(X):
    """A function of an error to the size with the fewest coefficients per row that meet it, each number tried once."""

    @cache
    def coded(n_nonzero):
        data = compress(X, n_nonzero_coefs=n_nonzero)
        return len(data), decompress(data)

    def size(error):
        low, high = 0, X.shape[1]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if within(X, coded(middle)[1], error) else (middle, high)
        return coded(high)[0]

    return size


def rival(X, name, error):
    stored = RIVALS[name](X, rmse=error)
    if stored is None:
        return None
    assert within(X, stored.table, error), f"{name} {error}: not within the error"
    return stored.n_bytes


def shortened(name):
    for long, short in SHORT.items():
        name = name.replace(long, short)
    return name


def in_a_frame(X, error):
    """Size of our file of the same readings with hours and names, which have to come back."""
    hours = pd.date_range("2017-10-01", periods=len(X), freq="h")
    frame = pd.DataFrame(X, index=hours, columns=[f"s{i:02d}" for i in range(1, X.shape[1] + 1)])
    data = compress(frame, relative_rmse=error)
    decoded = decompress(data)
    assert decoded.index.equals(frame.index)
    assert decoded.columns.equals(frame.columns)
    assert within(X, decoded, error)
    return len(data)


def rows(results, X, errors, names, limited):
    """One per error, sizes of the others as multiples of ours."""
    t0_coding = fewest_coefficients(X)
    for error in errors:
        began = time.perf_counter()
        mine = ours(X, error)
        spent = time.perf_counter() - began
        bases = [ours(X, error, basis=basis) for basis in BASES]
        others = [*bases, t0_coding(error), *(rival(X, name, error) for name in names)]
        more = in_a_frame(X, error) - mine
        rest = [size for size in others[1:] if size is not None]  # a basis by HRP is a choice of ours, no other codec
        reached = None
        if limited:
            label = f"october, rmse {100 * error:.1f}%"
            reached = results.bar(f"{label}: bytes", mine, at_most=LIMITS[error])
            reached &= results.bar(f"{label}: bytes more with hours and names", more, at_most=MORE_FOR_A_FRAME)
            reached &= results.bar(f"{label}: smallest other over ours", min(rest) / mine, at_least=1)
        ratios = [None if size is None else size / mine for size in others]
        yield [f"{100 * error:.1f}%", mine, more, *ratios, spent, reached]


PARTS = {"relative_rmse": 0.05, "lossless": True, "n_nonzero_coefs": 5}


def part_rows():
    """Bytes of each part of the files of one table, towards three targets, and their relative RMSE."""
    table = make_sensor_network(random_state=0, as_frame=True)
    files = [compress(table, **{name: value}) for name, value in PARTS.items()]
    parts = [describe(data).parts for data in files]
    for name in dict.fromkeys(name for one in parts for name in one):
        yield [name, *(one.get(name, 0) for one in parts)]
    yield ["file", *map(len, files)]
    yield ["relative RMSE", *(masked_rmse(table.to_numpy(), decompress(data).to_numpy()) for data in files)]


def main():
    parser = command_line(__doc__)
    parser.add_argument("--data", choices=["october", "simulated"])
    options = parser.parse_args()
    missing = {name: package for name, package in NEEDS.items() if not installed(package)}
    if missing:
        print(f'not installed, left out: {", ".join(missing.values())}; pip install ".[rivals]"')
    names = [name for name in RIVALS if not any(part in name for part in missing)]
    tables = {"october": october(), "simulated": make_sensor_network(random_state=0)}
    partial = options.quick or options.data is not None or bool(missing) or tables["october"] is None
    errors = list(LIMITS)[1::2] if options.quick else LIMITS
    others = [*(f"ours, {basis}" for basis in BASES), "ours, T0", *map(shortened, names)]
    print(
        "T0: the fewest coefficients per row that meet the error; plain T0: the paper's, in float16 and without gaps."
    )
    with Results(__file__, partial=partial) as results:
        compress(make_sensor_network(40, 5, random_state=0), relative_rmse=0.05)  # compiles
        for name, X in tables.items():
            if X is not None and options.data in (None, name):
                what = f"{name}: {X.shape[0]} hours x {X.shape[1]} sensors; bytes of ours, others as multiples of them"
                heads = ["RMSE", "ours", "frame", *others, "seconds", "reached"]
                results.figures(what, heads, rows(results, X, errors, names, name == "october"))
        heads = ["part", *(f"{name}={value}" for name, value in PARTS.items())]
        results.figures("bytes of the parts of files of the simulated month", heads, part_rows())


if __name__ == "__main__":
    main()
