"""The commands as a user calls them, on real files."""

import json
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.baselines import KSVD
from hrpursuit.cli.main import run
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators.learning import Task
from hrpursuit.metrics import dictionary_error, masked_rmse
from hrpursuit.rows import open_rows

X, CODES, W = make_sparse_coded(300, 8, sparsity=0.3, random_state=0)
NAMES = [f"s{i}" for i in range(8)]
FRAME = pd.DataFrame(X, columns=NAMES)


def write(path, data=X):
    if path.suffix == ".npy":
        np.save(path, data)
    elif path.suffix == ".csv":
        pd.DataFrame(data, columns=NAMES).to_csv(path, index=False)
    else:
        pd.DataFrame(data, columns=NAMES).to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
def test_fit_encode_decode(suffix, tmp_path, capsys):
    data, model, codes, back = (tmp_path / name for name in (f"x{suffix}", "m.npz", f"c{suffix}", f"b{suffix}"))
    write(data)
    assert run(["fit", str(data), "-o", str(model), "--seed", "0"]) == 0
    assert "exact: The samples are exactly sparse" in capsys.readouterr().out
    assert dictionary_error(HRP.load(model).components_, W) < 1e-12
    assert run(["encode", str(data), "-m", str(model), "-o", str(codes)]) == 0
    assert f"{np.mean(CODES == 0):.1%} of the codes are zero" in capsys.readouterr().out
    assert run(["decode", str(codes), "-m", str(model), "-o", str(back)]) == 0
    read = {".npy": np.load, ".csv": pd.read_csv, ".parquet": pd.read_parquet}[suffix]
    assert_allclose(np.asarray(read(back)), X, atol=1e-12)
    if suffix != ".npy":
        assert list(read(back).columns) == NAMES


def test_csv_without_a_header(tmp_path):
    np.savetxt(tmp_path / "x.csv", X, delimiter=",")
    assert run(["fit", str(tmp_path / "x.csv"), "-o", str(tmp_path / "m.npz")]) == 0
    assert HRP.load(tmp_path / "m.npz").n_features_in_ == 8


def test_columns_by_name_and_in_another_order(tmp_path):
    FRAME.assign(day="monday").to_csv(tmp_path / "x.csv", index=False)
    chosen = ",".join(NAMES)
    assert run(["fit", str(tmp_path / "x.csv"), "-o", str(tmp_path / "m.npz"), "--columns", chosen, "--seed", "0"]) == 0
    FRAME[NAMES[::-1]].to_csv(tmp_path / "y.csv", index=False)
    assert run(["encode", str(tmp_path / "y.csv"), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "c.npy")]) == 0
    assert_allclose(np.load(tmp_path / "c.npy"), X @ HRP.load(tmp_path / "m.npz").encoder_, atol=1e-10)


@pytest.mark.long
def test_settings_reach_the_fit(tmp_path, capsys):
    write(tmp_path / "x.npy")
    command = ["fit", str(tmp_path / "x.npy"), "-o", str(tmp_path / "m.npz"), "--n-nonzero", "2", "--scheme", "paper"]
    assert run([*command, "--dictionary", "complete", "--n-init", "2", "--jobs", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"model", "n_samples", "certified", "verdict", "relative_error", "stages", "seconds", "warnings"} <= set(
        report
    )
    model = HRP.load(tmp_path / "m.npz")
    assert (model.n_nonzero_coefs, model.scheme, model.dictionary, model.n_init) == (2, "paper", "complete", 2)


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_several_runs_share_the_threads(tmp_path, monkeypatch, on_terminal, suffix):
    dense = np.random.default_rng(0).laplace(size=(300, 8))
    write(tmp_path / f"x.{suffix}", dense)
    threads, task_run = set(), Task.run

    def watched(*arguments):
        threads.add(threading.current_thread())
        return task_run(*arguments)

    monkeypatch.setattr(Task, "run", watched)
    command = ["fit", tmp_path / f"x.{suffix}", "-o", tmp_path / "m.npz", "--n-init", "4", "--seed", "0"]
    code, shown = on_terminal(*command, "--jobs", "2")
    assert code == 0
    assert "4 runs, 2 threads" in shown
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    expected = HRP(n_init=4, random_state=0).fit(dense).components_
    assert_array_equal(HRP.load(tmp_path / "m.npz").components_, expected)


def test_runs_of_data_larger_than_memory_follow_each_other(tmp_path, monkeypatch):
    write(tmp_path / "x.npy", np.random.default_rng(0).laplace(size=(300, 8)))
    monkeypatch.setattr("hrpursuit.cli.data.os.sysconf", lambda name: 10)
    command = ["fit", tmp_path / "x.npy", "-o", tmp_path / "m.npz", "--n-init", "3", "--jobs", "2", "--seed", "0"]
    monkeypatch.setattr("hrpursuit.cli.data.in_memory", lambda rows: pytest.fail("was read as a whole"))
    assert run([str(part) for part in command]) == 0


def test_json_of_encode_and_decode(tmp_path, capsys):
    write(tmp_path / "x.npy")
    HRP(random_state=0).fit(X).save(tmp_path / "m.npz")
    assert (
        run(["encode", str(tmp_path / "x.npy"), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "c.npy"), "--json"])
        == 0
    )
    assert_allclose(json.loads(capsys.readouterr().out)["share_of_zeros"], 0.7, atol=0.02)
    assert (
        run(["decode", str(tmp_path / "c.npy"), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "b.npy"), "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["n_samples"] == 300


def test_models_of_the_online_estimator(tmp_path):
    write(tmp_path / "x.npy")
    model = MiniBatchHRP(random_state=0).partial_fit(X)
    model.save(tmp_path / "m.npz")
    arguments = ["-m", str(tmp_path / "m.npz"), "-o"]
    assert run(["encode", str(tmp_path / "x.npy"), *arguments, str(tmp_path / "c.zarr")]) == 0
    assert run(["decode", str(tmp_path / "c.zarr"), *arguments, str(tmp_path / "b.h5")]) == 0
    assert_allclose(next(open_rows(tmp_path / "b.h5").blocks()), X, atol=1e-12)


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_an_interrupt_that_a_library_drops_still_counts(tmp_path):
    """Raised inside a callback, as of a weak reference, an exception is printed and forgotten."""
    write(tmp_path / "x.npy", np.tile(X, (100, 1)))
    HRP(random_state=0).fit(X).save(tmp_path / "m.npz")
    code = """
import os, signal, sys, weakref
from hrpursuit.cli.main import run
import hrpursuit.cli.encode as encode
class Thing: pass
def drop(blocks, *more):
    for block in blocks:
        thing = Thing()
        kept = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.SIGINT))
        del thing  # the interrupt comes in here, and is dropped
        yield block
plain = encode.write_blocks
encode.write_blocks = lambda out, blocks, *more: plain(out, drop(blocks), *more)
sys.exit(run(["encode", "x.npy", "-m", "m.npz", "-o", "c.npy"]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.npz", "x.npy"]


@pytest.mark.long
def test_demo(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert run(["demo", "-o", str(picture), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    paper, exact = report["results"]
    assert not paper["success"]
    assert exact["success"]
    assert exact["certified"]
    assert exact["error"] < 1e-12
    for name in ("demo.png", "demo-readings.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    coded = {one["coding"]: one for one in report["compression"]}
    assert coded["rmse"]["rmse"] <= 0.05
    assert coded["max_error"]["max_error"] <= 1
    assert coded["lossless"]["max_error"] == 0
    assert coded["paper"]["bytes"] == 744 * (10 + 7) + 2 * 56 * 56
    assert coded["rmse"]["bytes"] < coded["lossless"]["bytes"] < coded["xz"]["bytes"] < coded["paper"]["bytes"]
    assert run(["demo", "-o", str(picture)]) == 0
    out = capsys.readouterr().out
    assert "recovered" in out
    assert "xz of the differences" in out


def test_installed_command():
    command = [sys.executable, "-c", "from hrpursuit.cli import main; main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "hrpursuit, version" in done.stdout


def test_gaps(tmp_path, capsys):
    """Empty cells: the table is read into memory, and what is there decides."""
    sparse = (CODES * (np.abs(CODES) >= np.sort(np.abs(CODES), axis=1)[:, [-2]])) @ W
    gappy = pd.DataFrame(sparse, columns=NAMES).mask(np.random.default_rng(0).random(X.shape) < 0.05)
    gappy.to_csv(tmp_path / "x.csv", index=False)
    data, model, codes = (str(tmp_path / name) for name in ("x.csv", "m.npz", "c.csv"))
    assert run(["fit", data, "-o", model, "--seed", "0", "--n-nonzero", "2"]) == 0
    note = f"{int(gappy.isna().sum().sum())} of 2400 values are missing: dictionary and codes are fitted to the others"
    assert note in capsys.readouterr().err
    assert dictionary_error(HRP.load(model).components_, W) < 1e-2
    assert run(["encode", data, "-m", model, "-o", codes]) == 0
    assert "coded by their observed values alone" in capsys.readouterr().err
    back = HRP.load(model).inverse_transform(pd.read_csv(codes))
    assert masked_rmse(gappy, back) < 1e-2
    assert run(["fit", data, "-o", model, "--seed", "0", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n_missing"] == gappy.isna().sum().sum()
    assert "filled with the mean of its row" in report["warnings"][0]


class TestTables:
    """Files as people have them."""

    def fitted(self, folder, *more):
        assert run(["fit", str(folder / "x.csv"), "-o", str(folder / "m.npz"), "--seed", "0", *more]) == 0
        return HRP.load(folder / "m.npz")

    def test_byte_order_mark(self, tmp_path, capsys):
        np.savetxt(tmp_path / "x.csv", X, delimiter=",", encoding="utf-8-sig")
        assert dictionary_error(self.fitted(tmp_path).components_, W) < 1e-12
        assert "300 samples of 8 features" in capsys.readouterr().out

    def test_header_of_positions_as_pandas_writes_it(self, tmp_path, capsys):
        pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False)
        self.fitted(tmp_path)
        assert "300 samples of 8 features" in capsys.readouterr().out

    def test_header_of_other_numbers(self, tmp_path, capsys):
        pd.DataFrame(X, columns=range(2000, 2008)).to_csv(tmp_path / "x.csv", index=False)
        assert list(self.fitted(tmp_path, "--header", "yes").feature_names_in_) == [str(y) for y in range(2000, 2008)]
        assert "300 samples" in capsys.readouterr().out

    @pytest.mark.parametrize(("separator", "decimal"), [(";", "."), (";", ","), ("\t", ".")])
    def test_other_separators(self, tmp_path, separator, decimal):
        FRAME.to_csv(tmp_path / "x.csv", index=False, sep=separator, decimal=decimal)
        assert dictionary_error(self.fitted(tmp_path).components_, W) < 1e-12

    @pytest.mark.parametrize("columns", [NAMES, range(8)])
    def test_index_as_pandas_writes_it(self, tmp_path, capsys, columns):
        FRAME.set_axis(list(columns), axis=1).to_csv(tmp_path / "x.csv")
        assert dictionary_error(self.fitted(tmp_path).components_, W) < 1e-12
        assert "left out" in capsys.readouterr().err

    @pytest.mark.parametrize("separator", [";", "\t"])
    def test_decimal_commas_without_a_header_and_whole_numbers_first(self, tmp_path, separator):
        data = np.vstack([np.zeros((3, 8)), np.round(X, 6)])
        pd.DataFrame(data).to_csv(tmp_path / "x.csv", index=False, header=False, sep=separator, decimal=",")
        assert dictionary_error(self.fitted(tmp_path).components_, W) < 1e-5

    def test_commas_in_quoted_names(self, tmp_path):
        names = [f"s{i}, of {i}" for i in range(8)]
        FRAME.set_axis(names, axis=1).to_csv(tmp_path / "x.csv", index=False, sep=";")
        assert list(self.fitted(tmp_path).feature_names_in_) == names

    def test_a_file_without_names_goes_by_position(self, tmp_path):
        write(tmp_path / "x.csv")
        model = self.fitted(tmp_path)
        np.savetxt(tmp_path / "bare.csv", X, delimiter=",")
        np.save(tmp_path / "bare.npy", X.astype(">f8"))
        for name in ("bare.csv", "bare.npy"):
            command = ["encode", str(tmp_path / name), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "c.npy")]
            assert run(command) == 0
            assert_allclose(np.load(tmp_path / "c.npy"), X @ model.encoder_, atol=1e-10)

    def test_encode_takes_the_columns_of_the_model(self, tmp_path):
        FRAME.assign(day="monday").to_csv(tmp_path / "x.csv", index=False)
        model = self.fitted(tmp_path, "--columns", ",".join(NAMES))
        assert (
            run(["encode", str(tmp_path / "x.csv"), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "c.npy")]) == 0
        )
        assert_allclose(np.load(tmp_path / "c.npy"), X @ model.encoder_, atol=1e-10)


class TestIndex:
    """A column of time is no feature, as for `hrpursuit compress`."""

    @pytest.mark.parametrize("suffix", [".csv", ".parquet"])
    @pytest.mark.parametrize("name", ["time", None])
    def test_time_stamps(self, suffix, name, tmp_path, capsys):
        frame = FRAME.set_index(pd.date_range("2024-01-01", periods=300, freq="h", name=name))
        data = tmp_path / f"x{suffix}"
        frame.to_csv(data) if suffix == ".csv" else frame.to_parquet(data)
        assert run(["fit", str(data), "-o", str(tmp_path / "m.npz"), "--seed", "0"]) == 0
        model = HRP.load(tmp_path / "m.npz")
        assert dictionary_error(model.components_, W) < 1e-12
        assert list(model.feature_names_in_) == NAMES
        if name is not None:
            assert "the column 'time' is the index, not a feature" in capsys.readouterr().err
        assert run(["encode", str(data), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "c.npy")]) == 0

    def test_growing_numbers_with_a_name_like_time(self, tmp_path, capsys):
        FRAME.rename_axis("hour").to_csv(tmp_path / "x.csv")
        command = ["fit", str(tmp_path / "x.csv"), "-o", str(tmp_path / "m.npz"), "--seed", "0", "--json"]
        assert run(command) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["n_features"], report["index_column"]) == (8, "hour")
        assert run([*command, "--no-index"]) == 0
        assert json.loads(capsys.readouterr().out)["n_features"] == 9

    def test_without_names_and_with_gaps(self, tmp_path, capsys):
        gappy = FRAME.mask(np.random.default_rng(0).random(X.shape) < 0.02)
        gappy.set_index(pd.date_range("2024-01-01", periods=300, freq="D")).to_csv(tmp_path / "x.csv", header=False)
        command = ["fit", str(tmp_path / "x.csv"), "-o", str(tmp_path / "m.npz"), "--n-nonzero", "4", "--json"]
        assert run(command) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["n_samples"], report["n_features"]) == (300, 8)
        assert report["n_missing"] == gappy.isna().sum().sum()

    def test_options_that_exclude_each_other(self, tmp_path, capsys):
        write(tmp_path / "x.csv")
        command = ["fit", str(tmp_path / "x.csv"), "-o", str(tmp_path / "m.npz"), "--columns", "s0,s1", "--no-index"]
        assert run(command) == 2
        assert "--columns names all that is read" in capsys.readouterr().err
        write(tmp_path / "x.npy")
        assert run(["fit", str(tmp_path / "x.npy"), "-o", str(tmp_path / "m.npz"), "--index-column", "hour"]) == 1
        assert "has no column names" in capsys.readouterr().err


class TestErrors:
    """One line on standard error, exit code 1 (2 for wrong usage), and nothing half-written."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path, capsys):
        self.folder, self.capsys = tmp_path, capsys

    def fails(self, arguments, *words, code=1):
        assert run([str(argument) for argument in arguments]) == code
        error = self.capsys.readouterr().err
        if code == 1:
            assert error.count("\n") == 1
            assert error.startswith("hrpursuit: error: ")
        for word in words:
            assert word in error
        assert not (self.folder / "m.npz").exists()
        assert not [path for path in self.folder.iterdir() if path.name.startswith(".")]

    def fit(self, name, *more):
        return ["fit", self.folder / name, "-o", self.folder / "m.npz", *more]

    def test_columns_of_the_same_name(self):
        FRAME.set_axis([*NAMES[:-1], "s0"], axis=1).to_csv(self.folder / "x.csv", index=False)
        self.fails(self.fit("x.csv"), "several columns named 's0'")
        write(self.folder / "y.csv")
        self.fails(self.fit("y.csv", "--columns", "s1,s1,s2"), "twice")

    def test_another_encoding_is_named_with_its_file(self):
        (self.folder / "x.csv").write_bytes("größe,b\n1,2\n".encode("latin-1"))
        self.fails(self.fit("x.csv"), "x.csv")

    def test_an_input_is_not_overwritten(self):
        HRP(random_state=0).fit(X).save(self.folder / "model.npz")
        data = write(self.folder / "x.npy")
        self.fails(["encode", data, "-m", self.folder / "model.npz", "-o", data], "also read")
        assert_allclose(np.load(data), X)

    def test_a_model_is_an_npz_file(self):
        write(self.folder / "x.npy")
        self.fails(["fit", self.folder / "x.npy", "-o", self.folder / "m.csv"], ".npz")

    def test_other_width_than_the_model(self):
        HRP(random_state=0).fit(FRAME).save(self.folder / "model.npz")
        np.save(self.folder / "x.npy", X[:, :5])
        self.fails(
            ["encode", self.folder / "x.npy", "-m", self.folder / "model.npz", "-o", self.folder / "c.npy"], "5", "8"
        )

    @pytest.mark.parametrize("kind", ["M8[s]", "U3", "c16"])
    def test_arrays_that_are_no_numbers(self, kind):
        np.save(self.folder / "x.npy", np.ones((20, 3)).astype(kind))
        self.fails(self.fit("x.npy"), "real numbers")

    def test_absent_file(self):
        self.fails(self.fit("absent.csv"), "absent.csv does not exist")

    def test_unknown_kind(self):
        (self.folder / "x.txt").write_text("1 2")
        self.fails(self.fit("x.txt"), ".npy, .parquet", "'.txt'")

    @pytest.mark.parametrize("suffix", [".npy", ".parquet"])
    def test_cut_short(self, suffix):
        path = write(self.folder / f"x{suffix}")
        path.write_bytes(path.read_bytes()[:200])
        self.fails(self.fit(path.name), "cannot be read")

    def test_empty(self):
        for name in ("x.csv", "x.npy", "x.parquet"):
            (self.folder / name).write_bytes(b"")
            self.fails(self.fit(name), name)

    def test_rows_of_different_length(self):
        (self.folder / "x.csv").write_text("1,2,3\n4,5\n")
        self.fails(self.fit("x.csv"), "x.csv", "3")

    def test_words_among_numbers(self):
        FRAME.assign(s3="word").to_csv(self.folder / "x.csv", index=False)
        self.fails(self.fit("x.csv"), "'s3'", "'word' in row 1, not a number", "--columns")

    def test_missing_values_where_the_model_takes_none(self):
        MiniBatchHRP(random_state=0).fit(FRAME).save(self.folder / "online.npz")
        FRAME.mask(FRAME > 2).to_csv(self.folder / "x.csv", index=False)
        row, column = np.argwhere(X > 2)[0]
        data, model, codes = (self.folder / name for name in ("x.csv", "online.npz", "c.csv"))
        self.fails(["encode", data, "-m", model, "-o", codes], "missing", f"row {row + 1}, column '{NAMES[column]}'")

    def test_missing_values_beyond_memory(self, monkeypatch):
        FRAME.mask(FRAME > 2).to_csv(self.folder / "x.csv", index=False)
        monkeypatch.setattr("hrpursuit.cli.data._COPIES", 1e12)
        self.fails(self.fit("x.csv"), "x.csv has gaps", "GiB are free", "Fill the gaps")

    def test_too_few_samples(self):
        write(self.folder / "x.npy", X[:5])
        self.fails(self.fit("x.npy"), "5 samples and 8 features")

    def test_unknown_column(self):
        write(self.folder / "x.csv")
        self.fails(self.fit("x.csv", "--columns", "s1,s9"), "no column s9")

    def test_columns_of_an_array(self):
        write(self.folder / "x.npy")
        self.fails(self.fit("x.npy", "--columns", "s1"), "no column names")

    def test_array_of_another_shape(self):
        np.save(self.folder / "x.npy", X[0])
        self.fails(self.fit("x.npy"), "two-dimensional")

    def test_output_folder_is_absent(self):
        write(self.folder / "x.npy")
        self.fails(["fit", self.folder / "x.npy", "-o", self.folder / "absent" / "m.npz"], "does not exist")

    def test_bad_setting(self):
        write(self.folder / "x.npy")
        self.fails(self.fit("x.npy", "--n-nonzero", "99"), "from 1 to 8", "99")
        self.fails(self.fit("x.npy", "--scheme", "fast"), "fast", code=2)
        self.fails(self.fit("x.npy", "--n-nonzero", "0"), "--n-nonzero", code=2)
        self.fails(["fit"], "DATA", code=2)

    def test_model_that_is_none(self):
        write(self.folder / "x.npy")
        self.fails(["encode", self.folder / "x.npy", "-m", self.folder / "x.npy", "-o", self.folder / "c.npy"], "model")
        assert not (self.folder / "c.npy").exists()

    def test_codes_of_another_width(self):
        HRP(random_state=0).fit(X).save(self.folder / "model.npz")
        np.save(self.folder / "c.npy", X[:, :3])
        self.fails(
            ["decode", self.folder / "c.npy", "-m", self.folder / "model.npz", "-o", self.folder / "b.npy"],
            "3 features",
            "expecting 8",
        )


def test_progress_bar_on_a_terminal_only(tmp_path, capsys, on_terminal):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).laplace(size=(3000, 40)))
    command = ["fit", str(tmp_path / "x.npy"), "-o", str(tmp_path / "m.npz")]
    assert run(command) == 0
    assert "search" not in capsys.readouterr().err
    code, shown = on_terminal(*command)
    assert code == 0
    assert "search" in shown
    assert "maximum likelihood" in shown


def test_without_pyarrow_it_says_what_reads_tables(tmp_path):
    write(tmp_path / "x.csv")
    code = "import sys; sys.modules['pyarrow'] = None\nfrom hrpursuit.cli import main; main()"
    command = [sys.executable, "-c", code, "fit", "x.csv", "-o", "m.npz"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert 'need pyarrow, which is not installed: pip install "hrpursuit[files]"' in done.stderr


@pytest.mark.parametrize("absent", ["click", "rich"])
def test_without_the_extra_it_says_what_to_install(absent):
    code = f"import sys; sys.modules[{absent!r}] = None\nfrom hrpursuit.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "demo"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.strip() == f'hrpursuit: the command line needs {absent}: pip install "hrpursuit[cli]"'


def test_without_matplotlib_it_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None\nfrom hrpursuit.plots import new_figure; new_figure(1, 1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "hrpursuit[plots]"' in done.stderr


def test_models_of_baselines_encode_too(tmp_path):
    np.save(tmp_path / "x.npy", X)
    model = KSVD(n_nonzero_coefs=2, n_components=10, max_iter=5, random_state=0).fit(X)
    model.save(tmp_path / "m.npz")
    assert run(["encode", str(tmp_path / "x.npy"), "-m", str(tmp_path / "m.npz"), "-o", str(tmp_path / "c.npy")]) == 0
    assert_allclose(np.load(tmp_path / "c.npy"), model.transform(X))
