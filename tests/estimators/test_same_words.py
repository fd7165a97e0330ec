"""The same bad table gets the same error wherever it is: apart from the name of the source and the name of a column."""

import re

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hrpursuit import MiniBatchHRP
from hrpursuit.baselines import MSP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.rows import write_blocks
from hrpursuit.rows.source import DataError

X = make_sparse_coded(60, 6, sparsity=0.3, random_state=0)[0]
NAMES = list("abcdef")


def with_entries(*values):
    spoiled = X.copy()
    spoiled[range(3, 3 + len(values)), 2] = values
    return spoiled


def on_disk(suffix):
    def put(data, folder):
        write_blocks(folder / f"x{suffix}", iter([data]), NAMES, data.dtype)
        return folder / f"x{suffix}"

    return put


def as_columns(data):
    return dict(zip(NAMES, data.T, strict=True))


PLACES = {
    "array": lambda data, folder: data,
    "list": lambda data, folder: data.tolist(),
    "pandas": lambda data, folder: pd.DataFrame(data, columns=NAMES),
    "polars": lambda data, folder: pl.DataFrame(as_columns(data)),
    "LazyFrame": lambda data, folder: pl.LazyFrame(as_columns(data)),
    "Arrow": lambda data, folder: pa.table(as_columns(data)),
    "function": lambda data, folder: lambda: iter([data]),
    "Dask array": lambda data, folder: da.from_array(data, chunks=(20, -1)),
    "Dask frame": lambda data, folder: dd.from_pandas(pd.DataFrame(data, columns=NAMES), npartitions=3),
    **{suffix: on_disk(suffix) for suffix in (".npy", ".csv", ".parquet", ".h5", ".zarr")},
}
BAD = {
    "NaN": (with_entries(np.nan), "1 value is NaN or missing, the first in row 4, column C; fill the gaps"),
    "two gaps": (with_entries(np.nan, np.nan), "2 values are NaN or missing, the first in row 4, column C; fill the"),
    "infinite": (with_entries(np.nan, -np.inf), "1 value is infinite, the first in row 5, column C; replace them or"),
    "large": (with_entries(1e95, 1e91), "2 values are 1e+90 or larger in magnitude, too large to compute with in"),
    "single, large": (with_entries(1e11).astype("f4"), "1 value is 1e+10 or larger in magnitude, too large to compute"),
    "small": (1e-200 * X, "X: no value is larger than 1e-90 in magnitude, too small to compute with in float64"),
    "single, small": ((1e-15 * X).astype("f4"), "X: no value is larger than 1e-10 in magnitude, too small to compute"),
    "few": (X[:5], "needs at least as many samples as features, and 2: X has 5 samples and 6 features. Give at least"),
    "one": (X[:1], "needs at least as many samples as features, and 2: X has 1 samples and 6 features. Give at least"),
    "none": (X[:0], "is empty: it has no rows."),
}
OF_A_STREAM = {"small", "single, small", "few", "one"}  # a part of a stream may be small and short


def words(use, data):
    """The message without the name of the source, and with one name for the column."""
    with pytest.raises(DataError if "X has" not in BAD[data[0]][1] else ValueError) as caught:
        use(data[1])
    return re.sub(r"column ('c'|3)", "column C", str(caught.value))


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("place", PLACES)
def test_the_same_words_wherever_the_table_is(place, kind, tmp_path):
    table, expected = BAD[kind]
    if kind.startswith("single") and place in ("list", ".csv"):
        pytest.skip("text and lists have no single precision")
    if kind == "none" and place in ("list", "function"):
        pytest.skip("without rows there are no columns either")
    given = PLACES[place](table, tmp_path)
    uses = [MiniBatchHRP().fit, MSP().fit] + [MiniBatchHRP().partial_fit] * (kind not in OF_A_STREAM)
    for use in uses:
        assert expected in words(use, (kind, given))


@pytest.mark.parametrize("place", PLACES)
def test_a_stream_may_go_on_with_few_and_small_samples(place, tmp_path):
    model = MiniBatchHRP(random_state=0).partial_fit(PLACES[place](X, tmp_path))
    assert model.partial_fit(PLACES[place](1e-200 * X[:1], tmp_path)).n_samples_seen_ == 61


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["NaN", "infinite"])
def test_the_same_words_for_codes_and_certificates(place, kind, tmp_path):
    table, expected = BAD[kind]
    model = MSP(random_state=0).fit(X if place in ("array", "list") else pd.DataFrame(X, columns=NAMES))
    given = PLACES[place](table, tmp_path)
    uses = [model.reconstruction_error, model.certify, lambda data: np.concatenate(list(model.transform(data)))]
    for use in uses[: 2 if place.startswith("Dask") else 3]:  # codes of Dask's chunks are computed later
        assert expected in words(use, (kind, given))


def test_a_large_value_beyond_the_working_sample_is_found_in_memory_too():
    table = np.tile(X, (500, 1))
    table[29_000, 2] = 1e160
    with pytest.raises(DataError, match=r"X: 1 value is 1e\+90 or larger"):
        MSP().fit(table)
