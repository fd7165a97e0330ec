"""Bytes of whole files at the same error: ours, its bases and T0 coding, and other codecs at their best.

python benchmarks/compression_sizes.py                     (readings: ../shared/data or HRPURSUIT_DATA)
python benchmarks/compression_sizes.py --data simulated    # or october; both unless told
The other codecs come with pip install ".[rivals]". Exits with 1 when a limit on the October readings is missed.
"""

import argparse
import sys
import time
from functools import cache

import numpy as np
import pandas as pd
from common import describe_machine, installed, october, table, verdict

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.rivals import RIVALS
from hrpursuit.datasets import make_sensor_network

#: target, largest size of our file of the October readings
TARGETS = [
    ({"rmse": 0.094}, 1560),
    ({"rmse": 0.081}, 2130),
    ({"rmse": 0.062}, 3350),
    ({"rmse": 0.041}, 5750),
    ({"rmse": 0.021}, 9500),
    ({"lossless": True}, 13_500),
    ({"max_error": 1}, 7950),
    ({"max_error": 2}, 5900),
    ({"max_error": 5}, 2700),
]
MORE_FOR_A_FRAME = 110
BASES = ("hrp", "pca", "dct")
NEEDS = {"zstd": "zstandard", "brotli": "brotli", "SZ3": "pysz", "zfp": "zfpy"}
SHORT = {"quantise + delta + ": "delta + ", "T0 coding, plain": "plain T0"}


def within(X, decoded, target):
    """Whether what came back is the table, gaps in place, within the target."""
    decoded = np.asarray(decoded)
    observed = ~np.isnan(X)
    if decoded.shape != X.shape or not np.array_equal(observed, ~np.isnan(decoded)):
        return False
    error = (decoded - X)[observed]
    if "rmse" in target:
        return np.linalg.norm(error) <= target["rmse"] * np.linalg.norm(X[observed])
    return np.abs(error).max() <= target.get("max_error", 0)


def ours(X, target, **settings):
    """Size of our file, None where the setting does not apply."""
    data = compress(X, **target, **settings)
    assert within(X, decompress(data), target), f"{target} {settings}: not within the target"
    return len(data)


def fewest_coefficients(X):
    """A function of a target to the size with the fewest coefficients a row that meet it. Each number is tried once."""

    @cache
    def coded(n_nonzero):
        data = compress(X, n_nonzero=n_nonzero)
        return len(data), decompress(data)

    def size(target):
        if "rmse" not in target:
            return None
        low, high = 0, X.shape[1]
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if within(X, coded(middle)[1], target) else (middle, high)
        return coded(high)[0]

    return size


def rival(X, name, target):
    stored = RIVALS[name](X, **target)
    if stored is None:
        return None
    assert within(X, stored.table, target), f"{name} {target}: not within the target"
    return stored.n_bytes


def rivals_here():
    """Names of the codecs whose packages are installed."""
    missing = {name: package for name, package in NEEDS.items() if not installed(package)}
    if missing:
        print(f'not installed, left out: {", ".join(missing.values())}; pip install ".[rivals]"')
    return [name for name in RIVALS if not any(part in name for part in missing)]


def shortened(name):
    for long, short in SHORT.items():
        name = name.replace(long, short)
    return name


def as_frame(X):
    hours = pd.date_range("2017-10-01", periods=len(X), freq="h")
    return pd.DataFrame(X, index=hours, columns=[f"s{i:02d}" for i in range(1, X.shape[1] + 1)])


def in_a_frame(X, target):
    """Size of our file of the same readings with hours and names, which have to come back."""
    frame = as_frame(X)
    data = compress(frame, **target)
    decoded = decompress(data)
    assert decoded.index.equals(frame.index)
    assert decoded.columns.equals(frame.columns)
    assert within(X, decoded, target)
    return len(data)


def label(target):
    (name, amount), *_ = target.items()
    return {"rmse": f"rmse {100 * amount:.1f}%", "lossless": "lossless", "max_error": f"max_error {amount}"}[name]


def rows(X, names, limited, missed):
    """One a target; what is missed is noted."""
    t0_coding = fewest_coefficients(X)
    for target, limit in TARGETS:
        began = time.perf_counter()
        mine = ours(X, target)
        spent = time.perf_counter() - began
        # the other modes of our coder do not depend on the basis, so a bound or no loss would only measure them again
        others = [ours(X, target, basis=basis) if "rmse" in target else None for basis in BASES]
        others += [t0_coding(target), *(rival(X, name, target) for name in names)]
        more = in_a_frame(X, target) - mine
        rest = others[1:]  # a basis by HRP is a choice of ours, not another codec
        smaller = all(mine < size for size in rest if size is not None)
        reached = (mine <= limit, more <= MORE_FOR_A_FRAME, smaller)
        if limited and not all(reached):
            missed.append(label(target))
        yield (
            label(target),
            *((limit, verdict(reached[0])) if limited else ("-", "-")),
            mine,
            f"+{more}",
            *("-" if size is None else f"{size} ({size / mine:.2f})" for size in others),
            verdict(smaller),
            f"{spent:.1f}",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=["october", "simulated"])
    chosen = parser.parse_args().data
    describe_machine()
    names = rivals_here()
    others = [*(f"ours, {basis}" for basis in BASES), "ours, T0", *map(shortened, names)]
    heads = ["target     ", "limit", "reached", "ours", "frame", *(f"{name:>14}" for name in others)]
    heads += ["smaller than all", "seconds"]
    print(f"""
Bytes (times ours); every error is measured on what was decoded.
frame: bytes more with hours and names, at most {MORE_FOR_A_FRAME} asked; seconds: ours, compress and decompress.
T0: the fewest coefficients a row that meet the target; plain T0 is the paper's: float16, bit masks, no gaps.""")
    missed = []
    compress(make_sensor_network(40, 5, random_state=0), rmse=0.05)  # compiles
    for name, X in (("october", october()), ("simulated", make_sensor_network(random_state=0))):
        if X is not None and chosen in (None, name):
            print(f"\n{name}: {X.shape[0]} hours x {X.shape[1]} sensors, {100 * np.isnan(X).mean():.1f}% gaps")
            table(heads, rows(X, names, name == "october", missed))
    if missed:
        sys.exit(f"missed on the October readings: {', '.join(missed)}")


if __name__ == "__main__":
    main()
