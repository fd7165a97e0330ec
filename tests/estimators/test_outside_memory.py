"""Estimators on rows that are not in memory: codes as streams, files and Dask arrays, and a bounded peak of memory."""

import io
import subprocess
import sys
import time
import tracemalloc
import warnings

import dask.array as da
import dask.dataframe as dd
import nbclient
import nbformat
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP
from hrpursuit.baselines import MSP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.progress import in_short
from hrpursuit.rows import open_rows, write_blocks

X, _, W = make_sparse_coded(3000, 8, sparsity=0.3, random_state=0)
NAMES = [f"s{i}" for i in range(8)]
FRAME = pd.DataFrame(X, columns=NAMES)
SUFFIXES = [".npy", ".csv", ".parquet", ".h5", ".zarr"]
MODELS = [
    HRP(random_state=0),
    HRP(n_nonzero_coefs=2, random_state=0),
    HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0),
]


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "x.npy", X)
    return tmp_path / "x.npy"


@pytest.mark.parametrize("model", MODELS)
class TestCodes:
    def test_as_an_iterator_of_blocks(self, model, path):
        model.fit(X)
        blocks = list(model.transform(open_rows(path, block_size=100)))
        assert len(blocks) == 30
        assert_allclose(np.concatenate(blocks), model.transform(X), atol=1e-12)
        again = model.inverse_transform(lambda: iter(blocks))
        assert_allclose(np.concatenate(list(again)), model.inverse_transform(model.transform(X)), atol=1e-12)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_into_a_file_and_back(self, model, suffix, path, tmp_path):
        model.fit(FRAME)
        codes = model.transform(path, out=tmp_path / f"codes{suffix}")
        found = np.concatenate([block.copy() for block in open_rows(codes).blocks()])
        assert_allclose(found, model.transform(FRAME), atol=1e-12)
        back = open_rows(model.inverse_transform(codes, out=tmp_path / f"back{suffix}"))
        found = np.concatenate([block.copy() for block in back.blocks()])
        assert_allclose(found, model.inverse_transform(model.transform(FRAME)), atol=1e-12)
        if suffix in (".csv", ".parquet"):
            assert open_rows(codes).feature_names == [f"hrp{i}" for i in range(8)]
            assert back.feature_names == NAMES

    def test_of_arrays_into_a_file(self, model, tmp_path):
        model.fit(X).transform(X, out=tmp_path / "codes.npy")
        assert_allclose(np.load(tmp_path / "codes.npy"), model.transform(X), atol=1e-12)

    def test_as_a_dask_array(self, model):
        model.fit(X)
        array = da.from_array(X, chunks=(700, -1))
        codes = model.transform(array)
        assert codes.chunks == array.chunks
        assert_allclose(codes.compute(), model.transform(X), atol=1e-12)
        assert_allclose(model.inverse_transform(codes), model.inverse_transform(model.transform(X)), atol=1e-12)
        frame = model.fit(FRAME).transform(dd.from_pandas(FRAME, npartitions=3))
        assert_allclose(frame.compute(), model.transform(FRAME), atol=1e-12)

    def test_score_and_certificate(self, model, path):
        model.fit(X)
        for data in (path, da.from_array(X, chunks=(700, -1))):
            assert_allclose(model.reconstruction_error(data), model.reconstruction_error(X), atol=1e-12)
            assert str(model.certify(data)) == str(model.certify(X))

    def test_memory_maps_give_arrays(self, model, path):
        model.fit(X)
        codes = model.transform(np.load(path, mmap_mode="r"))
        assert isinstance(codes, np.ndarray)
        assert_array_equal(codes, model.transform(X))


def test_containers_are_for_arrays(path, tmp_path):
    model = HRP(random_state=0).fit(X).set_output(transform="pandas")
    assert isinstance(model.transform(X), pd.DataFrame)
    assert isinstance(model.transform(np.load(path, mmap_mode="r")), pd.DataFrame)
    assert_allclose(np.concatenate(list(model.transform(path))), model.transform(X), atol=1e-12)
    assert_allclose(np.load(model.transform(X, out=tmp_path / "c.npy")), model.transform(X), atol=1e-12)
    assert_allclose(model.transform(da.from_array(X)).compute(), model.transform(X), atol=1e-12)
    assert isinstance(HRP(random_state=0).set_output(transform="pandas").fit_transform(X), pd.DataFrame)


class TestNames:
    def test_are_kept_and_found_in_any_order(self, tmp_path):
        FRAME.to_parquet(tmp_path / "x.parquet")
        model = HRP(random_state=0).fit(tmp_path / "x.parquet")
        assert list(model.feature_names_in_) == NAMES
        FRAME[NAMES[::-1]].assign(day="monday").to_csv(tmp_path / "y.csv", index=False)
        expected = model.transform(FRAME)
        assert_allclose(np.concatenate(list(model.transform(tmp_path / "y.csv"))), expected, atol=1e-12)
        frame = dd.from_pandas(FRAME[NAMES[::-1]], npartitions=2)
        assert_allclose(model.transform(frame).compute(), expected, atol=1e-12)

    def test_other_columns_may_stand_beside_them(self, tmp_path):
        model = HRP(random_state=0).fit(FRAME)
        FRAME.assign(day=pd.Timestamp("2024-01-01"), site="north").to_parquet(tmp_path / "x.parquet")
        expected = model.transform(FRAME)
        assert_allclose(np.concatenate(list(model.transform(tmp_path / "x.parquet"))), expected, atol=1e-12)
        frame = dd.read_parquet(tmp_path / "x.parquet")
        assert_allclose(model.transform(frame).compute(), expected, atol=1e-12)

    def test_of_codes_are_checked(self, tmp_path):
        model = HRP(random_state=0).fit(FRAME)
        FRAME.to_csv(tmp_path / "x.csv", index=False)
        with pytest.raises(ValueError, match="has no column hrp0"):
            model.inverse_transform(tmp_path / "x.csv")
        names = list(model.get_feature_names_out())
        pd.DataFrame(model.transform(FRAME), columns=names)[names[::-1]].to_csv(tmp_path / "c.csv", index=False)
        assert_allclose(np.concatenate(list(model.inverse_transform(tmp_path / "c.csv"))), X, atol=1e-12)

    def test_that_are_missing_are_named(self, tmp_path):
        model = HRP(random_state=0).fit(FRAME)
        FRAME.rename(columns={"s3": "t3"}).to_parquet(tmp_path / "x.parquet")
        with pytest.raises(ValueError, match=r"x.parquet has no column s3; it has s0, s1, s2, t3"):
            model.transform(tmp_path / "x.parquet")

    def test_are_forgotten_by_a_fit_without(self, path):
        model = HRP(random_state=0).fit(FRAME).fit(path)
        assert not hasattr(model, "feature_names_in_")
        assert model.n_features_in_ == 8


def test_another_number_of_columns(path, tmp_path):
    model = HRP(random_state=0).fit(X[:, :5])
    with pytest.raises(ValueError, match=r"x.npy has 8 features, but HRP is expecting 5 features"):
        model.transform(path)
    with pytest.raises(ValueError, match="8 features, but HRP is expecting 5"):
        model.inverse_transform(path)


def test_a_gap_is_found_while_codes_are_streamed(tmp_path):
    model = MSP(random_state=0).fit(X)  # HRP takes gaps
    spoiled = X.copy()
    spoiled[2222, 3] = np.nan
    np.save(tmp_path / "x.npy", spoiled)
    for use in (lambda path: list(model.transform(path)), model.reconstruction_error, model.certify):
        with pytest.raises(ValueError, match="row 2223, column 4"):
            use(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="row 2223, column 4"):
        model.transform(tmp_path / "x.npy", out=tmp_path / "codes.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_gap_in_a_dask_array_is_found_when_its_codes_are_computed():
    model = MSP(random_state=0).fit(X)
    spoiled = X.copy()
    spoiled[2222, 3] = np.nan
    codes = model.transform(da.from_array(spoiled, chunks=(1000, -1)))
    with pytest.raises(ValueError, match=r"chunk 3 of the Dask collection: 1 value is NaN .* in row 223, column 4"):
        codes.compute()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_to_code(suffix, tmp_path):
    model = HRP(random_state=0).fit(X)
    names = list(model.get_feature_names_out())  # so that it could be codes, too
    write_blocks(tmp_path / f"x{suffix}", iter([]), names, X.dtype)
    for use in (
        lambda path: list(model.transform(path)),
        model.reconstruction_error,
        model.certify,
        model.inverse_transform,
    ):
        with pytest.raises(ValueError, match="is empty"):
            list(use(tmp_path / f"x{suffix}"))
    with pytest.raises(ValueError, match="is empty"):
        model.transform(tmp_path / f"x{suffix}", out=tmp_path / "codes.npy")
    assert not (tmp_path / "codes.npy").exists()


@pytest.mark.parametrize("scale", [1e-200, 1, 1e200])
def test_scores_do_not_overflow(scale, tmp_path):
    model = HRP(n_nonzero_coefs=2, random_state=0).fit(X)
    np.save(tmp_path / "x.npy", scale * X)
    assert model.reconstruction_error(tmp_path / "x.npy") == pytest.approx(model.reconstruction_error(X))
    assert model.reconstruction_error(scale * X) == pytest.approx(model.reconstruction_error(X))


def test_an_iterator_that_is_dropped_says_nothing(tmp_path, path):
    code = "from hrpursuit import HRP\nimport numpy as np\nmodel = HRP(random_state=0).fit(np.load('x.npy'))\n"
    code += "codes = model.transform('x.npy')\nnext(codes)\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr == ""


@pytest.mark.parametrize("given", ["array", "file"])
@pytest.mark.long
def test_bars_are_not_needed_to_fit(given, path):
    code = "import sys; sys.modules['rich'] = None\nfrom hrpursuit import HRP\nimport numpy as np\n"
    code += f"HRP(random_state=0, verbose=2).fit({'np.load(' if given == 'array' else '('}'x.npy'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=path.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ("Progress bars need rich" in done.stderr) == (given == "file")


def test_features_are_named_by_the_data_at_hand(tmp_path):
    model = HRP(dictionary="complete", random_state=0).fit(FRAME)
    np.save(tmp_path / "z.npy", FRAME.assign(s7=2 * FRAME.s1).to_numpy())
    with pytest.raises(ValueError, match="linearly dependent on one another: 2, 8"):
        model.fit(tmp_path / "z.npy")


def test_an_input_is_not_overwritten(path):
    model = HRP(random_state=0).fit(X)
    with pytest.raises(ValueError, match="also read"):
        model.transform(path, out=path)
    assert_array_equal(np.load(path), X)


def test_too_few_rows(tmp_path):
    np.save(tmp_path / "x.npy", X[:5])
    with pytest.raises(ValueError, match="5 samples and 8 features"):
        HRP().fit(tmp_path / "x.npy")


def test_features_that_depend_on_one_another_are_named(tmp_path):
    FRAME.assign(s7=2 * FRAME.s1).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="linearly dependent on one another: 's1', 's7'"):
        HRP(dictionary="complete").fit(tmp_path / "x.parquet")


@pytest.mark.parametrize("noise", [0, 0.05])
@pytest.mark.parametrize("suffix", [".npy", ".h5", ".parquet"])
@pytest.mark.long
def test_memory_does_not_grow_with_the_data(noise, suffix, tmp_path, monkeypatch):
    """Memory of a fit and of coding, as Python's allocator sees it, at 10 and at 40 MB; pieces of 1 MB."""
    monkeypatch.setattr("hrpursuit.rows.writers._GROUP_BYTES", 1 << 20)
    monkeypatch.setattr("hrpursuit.rows.chunked._SLAB_BYTES", 1 << 20)
    monkeypatch.setattr("hrpursuit.rows.stream.PIECE_BYTES", 1 << 20)
    rng = np.random.default_rng(0)

    def peak(n_samples):
        data = make_sparse_coded(n_samples, 20, sparsity=0.2, random_state=0)[0]
        data = data + noise * rng.standard_normal(data.shape)
        model = HRP(random_state=0).fit(data[:1000])
        source = tmp_path / f"{n_samples}{suffix}"
        model.inverse_transform(data, out=source)
        del data
        rows = open_rows(source)
        model.fit(rows)  # compiles what it needs
        tracemalloc.start()
        model.fit(rows)
        model.transform(rows, out=tmp_path / f"codes{suffix}")
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    small, large = peak(60_000), peak(240_000)
    assert large < 1.1 * small + 1e6
    assert large < 15e6


class TestProgress:
    @pytest.fixture
    def terminal(self, monkeypatch):
        class Terminal(io.StringIO):
            def isatty(self):
                return True

        monkeypatch.setenv("COLUMNS", "120")
        monkeypatch.setenv("TERM", "xterm")
        shown = Terminal()

        def fit(data):
            monkeypatch.setattr("sys.stderr", shown)  # here, since pytest sets its own between set-up and test
            HRP(random_state=0, verbose=2).fit(data)
            return shown.getvalue()

        return fit

    def test_a_bar_for_each_pass(self, terminal, monkeypatch):
        monkeypatch.setattr("hrpursuit.rows.stream.PIECE_BYTES", 1)

        def blocks():
            for start in range(0, 3000, 300):  # a piece each, since pieces are what is waited for
                time.sleep(0.1)
                yield X[start : start + 300]

        shown = terminal(open_rows(blocks, block_size=300))
        for words in ("pass 1: survey", "/? rows", "pass 2: sample", "/3000 rows, ", " rows/s", "0:00:01"):
            assert words in shown

    def test_a_bar_for_each_pass_over_chunks(self, terminal):
        def wait(block):
            time.sleep(0.05)
            return block

        shown = terminal(da.from_array(X, chunks=(150, -1)).map_blocks(wait, meta=np.empty((0, 0))))
        for words in ("pass 1: survey", "/3000 rows, ", " rows/s"):
            assert words in shown

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
    def test_nothing_without_a_terminal(self, path, capsys):
        HRP(scheme="paper", random_state=0, verbose=2, max_iter=3).fit(path)
        assert "rows/s" not in "".join(capsys.readouterr())

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the paper's scheme
    def test_all_rows_are_reported(self, path):
        class Counter:
            def __init__(self):
                self.passes = []

            def begin(self, name, n_rows):
                self.passes.append([name, n_rows, 0, False])

            def advance(self, n_rows):
                self.passes[-1][2] += n_rows

            def end(self):
                self.passes[-1][3] = True

        for data in (path, da.from_array(X, chunks=(700, -1))):
            rows = open_rows(data)
            rows.watcher = counter = Counter()
            HRP(scheme="paper", random_state=0, max_iter=2).fit(rows)
            whole = [one for one in counter.passes if one[0] != "sample"]
            assert {"survey", "value and grad", "value"} == {name for name, *_ in whole}
            assert all(one[1:] == [3000, 3000, True] for one in whole)

    def test_bars_let_go_of_the_rows(self, path):
        rows = open_rows(path)
        HRP(random_state=0, verbose=2).fit(rows)
        assert rows.watcher is None

    def test_numbers_in_short(self):
        assert [in_short(n) for n in (0, 9999, 12_345, 1_234_567, 2e9, 3e12)] == [
            "0",
            "9999",
            "12.3k",
            "1.23M",
            "2G",
            "3T",
        ]

    def test_a_notebook_has_no_terminal_but_shows_bars(self, tmp_path):
        """A real one: a kernel runs the cell, and the bars are a widget in its output."""
        np.save(tmp_path / "x.npy", X)
        code = "from hrpursuit import HRP\nHRP(random_state=0, verbose=2).fit('x.npy').score('x.npy')"
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the machinery around the kernel
            nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
        kinds = [kind for output in notebook.cells[0].outputs for kind in output.get("data", {})]
        assert "application/vnd.jupyter.widget-view+json" in kinds
        assert "warn" not in str([output.get("text") for output in notebook.cells[0].outputs]).lower()


class TestOutputThatIsRead:
    """The samples must not be replaced by their codes, however they were given."""

    X = np.random.default_rng(0).laplace(size=(60, 4))

    def given(self, kind, tmp_path):
        path = tmp_path / f"x.{kind}"
        if kind == "npy":
            np.save(path, self.X)
            return path, np.load(path, mmap_mode="r")
        if kind == "h5":
            with pytest.importorskip("h5py").File(path, "w") as file:
                file["X"] = self.X
            return path, pytest.importorskip("h5py").File(path, "r")["X"]
        array = pytest.importorskip("zarr").create_array(path, data=self.X)
        return path, array

    @pytest.mark.parametrize("kind", ["npy", "h5", "zarr"])
    def test_is_refused(self, kind, tmp_path):
        path, data = self.given(kind, tmp_path)
        model = HRP(random_state=0).fit(self.X)
        with pytest.raises(ValueError, match="is also read"):
            model.transform(data, out=path)
        assert_array_equal(data[:], self.X)

    def test_a_view_of_a_memory_map(self, tmp_path):
        path, data = self.given("npy", tmp_path)
        with pytest.raises(ValueError, match="is also read"):
            HRP(random_state=0).fit(self.X).transform(np.asarray(data)[5:], out=path)
