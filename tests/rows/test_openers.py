"""How data finds its way to rows: openers, rows of one's own, LazyFrames and Arrow's datasets."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows, BlockError, Opener, Rows, Source, open_rows
from hrpursuit.rows.open import OPENERS
from hrpursuit.rows.source import file_opener, repacked

X, _, W = make_sparse_coded(3000, 6, sparsity=0.3, random_state=0)
NAMES = list("abcdef")
COLUMNS = dict(zip(NAMES, X.T, strict=True))


def everything(rows):
    return np.concatenate([block.copy() for block in rows.blocks()])


class Readings:
    """A kind of data that nobody knows."""

    def __init__(self, days):
        self.days = days


class ReadingsSource(Source):
    name = "the readings"
    n_samples = None
    dtype = np.dtype(float)

    def __init__(self, readings, columns=None):
        self.readings = readings
        self.feature_names = list(columns or NAMES)
        self.n_features = len(self.feature_names)

    def pieces(self, n_rows):
        places = [NAMES.index(name) for name in self.feature_names]
        return repacked((day[:, places] for day in self.readings.days), n_rows, self.n_features, self.dtype)


class TestANewKindOfSource:
    """One class and one line in the list is all that it takes."""

    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch):
        openers = [Opener(lambda data: isinstance(data, Readings), ReadingsSource), *OPENERS]
        monkeypatch.setattr("hrpursuit.rows.open.OPENERS", openers)

    def test_is_learned_from_and_coded(self, tmp_path):
        readings = Readings(np.array_split(X, 7))
        model = HRP(random_state=0).fit(readings)
        assert dictionary_error(model.components_, W) < 1e-12
        assert list(model.feature_names_in_) == NAMES
        assert_allclose(np.concatenate(list(model.transform(readings))), X @ model.encoder_, atol=1e-12)
        assert bool(model.certify(readings))
        assert np.load(model.transform(readings, out=tmp_path / "codes.npy")).shape == X.shape

    def test_gets_the_options_that_it_takes(self):
        rows = open_rows(Readings([X]), columns=["c", "a"], block_size=100)
        assert_array_equal(everything(rows), X[:, [2, 0]])
        assert {len(block) for block in rows.blocks()} == {100}
        with pytest.raises(ValueError, match="the readings has no datasets; leave out 'x'"):
            open_rows(Readings([X]), dataset="x")

    def test_a_kind_of_file(self, monkeypatch, tmp_path):
        opener = file_opener(lambda path: ReadingsSource(Readings([np.loadtxt(path)])), ".readings")
        monkeypatch.setattr("hrpursuit.rows.open.OPENERS", [opener, *OPENERS])
        with pytest.raises(FileNotFoundError, match=r"x.readings does not exist"):
            open_rows(tmp_path / "x.readings")
        np.savetxt(tmp_path / "x.readings", X)
        assert_allclose(everything(open_rows(str(tmp_path / "x.readings"))), X)
        (tmp_path / "x.mat").touch()
        with pytest.raises(ValueError, match=r"ends in .readings, .csv, .csv.gz.*; got '.mat'"):
            open_rows(tmp_path / "x.mat")


class OwnRows(Rows):
    """With the attributes that have no default, and the methods."""

    def __init__(self, X):
        self.rows = ArrayRows(X)
        self.n_samples, self.n_features, self.dtype = None, X.shape[1], X.dtype
        self.blocks, self.sum, self.map, self.sample = (
            getattr(self.rows, name) for name in ("blocks", "sum", "map", "sample")
        )


class TestRowsOfOnesOwn:
    def test_are_taken_as_they_are(self):
        model = HRP(random_state=0, verbose=2).fit(OwnRows(X))
        assert dictionary_error(model.components_, W) < 1e-12
        assert_allclose(np.concatenate(list(model.transform(OwnRows(X)))), X @ model.encoder_, atol=1e-12)
        assert not hasattr(model, "feature_names_in_")
        spoiled = X.copy()
        spoiled[7, 1] = np.nan
        with pytest.raises(ValueError, match="X: 1 value is NaN or missing, the first in row 8, column 2"):
            MiniBatchHRP().fit(OwnRows(spoiled))

    def test_that_lack_something_are_told_what(self):
        class Duck:
            n_samples, n_features, dtype = 3000, 6, X.dtype
            blocks = sum = map = sample = lambda self: None

        with pytest.raises(ValueError, match=r"Duck .* lacks name, feature_names, is_checked, watcher; derive it from"):
            HRP().fit(Duck())

    def test_names_are_compared(self):
        model = HRP(random_state=0).fit(pd.DataFrame(COLUMNS))
        rows = open_rows(pd.DataFrame(COLUMNS), columns=NAMES[::-1])
        with pytest.raises(ValueError, match=r"has the columns f, e, .*; expected a, b, .*Open them with columns="):
            model.transform(rows)
        assert_allclose(model.transform(open_rows(X)), model.transform(pd.DataFrame(COLUMNS)), atol=1e-12)


def lazy(columns):
    return pl.LazyFrame(columns)


def dataset(columns):
    return pyarrow.dataset.dataset(pa.table(columns))


def batches(columns):
    return pa.table(columns).to_reader


@pytest.mark.parametrize("make", [lazy, dataset, batches])
class TestTablesInBatches:
    def test_all_methods(self, make, tmp_path):
        model = HRP(n_nonzero_coefs=2, random_state=0).fit(make(COLUMNS))
        expected = HRP(n_nonzero_coefs=2, random_state=0).fit(pd.DataFrame(COLUMNS))
        assert_allclose(model.components_, expected.components_, atol=1e-12)
        assert list(model.feature_names_in_) == NAMES
        other = make({"day": X[:, 0], **{name: COLUMNS[name] for name in NAMES[::-1]}})  # columns are found by name
        assert_allclose(
            np.concatenate(list(model.transform(other))), expected.transform(pd.DataFrame(COLUMNS)), atol=1e-12
        )
        assert model.score(other) == pytest.approx(expected.score(pd.DataFrame(COLUMNS)))
        assert str(model.certify(other)) == str(expected.certify(pd.DataFrame(COLUMNS)))
        online = MiniBatchHRP(random_state=0).partial_fit(make(COLUMNS))
        assert online.n_samples_seen_ == 3000

    def test_gaps_types_and_columns(self, make):
        columns = {"a": [1, None, 3], "b": [True, None, False], "c": [None, 0.5, 1.5]}
        expected = [[1, 1, np.nan], [np.nan, np.nan, 0.5], [3, 0, 1.5]]
        assert_array_equal(everything(open_rows(make(columns))), expected)
        assert_array_equal(everything(open_rows(make(columns), columns=["c", "a"])), np.array(expected)[:, [2, 0]])
        assert open_rows(make({"a": pa.array([1.0, 2.0], pa.float32())} if make != lazy else
                              {"a": pl.Series([1.0, 2.0], dtype=pl.Float32)})).dtype == np.float32  # fmt: skip
        with pytest.raises(ValueError, match="NaN or missing, the first in row 1, column 'c'"):
            MiniBatchHRP().fit(make(columns))
        with pytest.raises(ValueError, match=r"has no column z; it has a, b, c"):
            open_rows(make(columns), columns=["z"])
        with pytest.raises(ValueError, match=r"column 'd' holds \w+, not numbers; leave it out"):
            open_rows(make(columns | {"d": ["x", "y", "z"]}))


def test_a_query_that_fails_is_named():
    frame = pl.LazyFrame({"a": ["1", "x"]}).select(pl.col("a").cast(pl.Float64))
    with pytest.raises(BlockError, match=r"the LazyFrame: block 1, from row 1 on, could not be read: .*conversion"):
        HRP().fit(frame)


def test_a_pass_over_a_query_that_is_given_up(tmp_path):
    pl.DataFrame(X, schema=NAMES).write_parquet(tmp_path / "x.parquet", row_group_size=100)
    rows = open_rows(pl.scan_parquet(tmp_path / "x.parquet"), block_size=10)
    for _ in range(3):
        blocks = rows.blocks()
        assert_array_equal(next(blocks), X[:10])
        blocks.close()
    assert_array_equal(everything(rows), X)


def test_a_reader_is_read_once():
    with pytest.raises(ValueError, match=r"can be read only once.*give the function that makes it"):
        HRP().fit(pa.table(COLUMNS).to_reader())


def test_libraries_are_imported_when_their_data_comes(tmp_path):
    code = "import sys, numpy as np\nfrom hrpursuit import HRP\nfrom hrpursuit.rows import open_rows\n"
    code += "x = np.random.default_rng(0).standard_normal((50, 3)); np.save('x.npy', x)\n"
    code += "open_rows(x), open_rows('x.npy'), open_rows(lambda: iter([x]))\n"
    code += "heavy = {'pyarrow.csv', 'pyarrow.parquet', 'pyarrow.dataset', 'h5py', 'zarr', 'dask', 'polars'}\n"
    code += "print(sorted(heavy & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
