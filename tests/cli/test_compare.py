"""hrpursuit compare: methods on the user's own file."""

import json

import numpy as np
import pandas as pd
import pytest

from hrpursuit.cli.main import run
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.experiments.methods import COMPARED, installed


@pytest.fixture
def data(tmp_path):
    X = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)[0]
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    return tmp_path / "X.csv"


def test_every_installed_method_in_one_table_with_a_picture(data, tmp_path, capsys):
    assert run(["compare", str(data), "--methods", "all", "--n-nonzero", "2", "-o", str(tmp_path / "c.png")]) == 0
    printed = capsys.readouterr().out
    for name in installed(COMPARED):
        assert COMPARED[name].label in printed
    assert "T0 = 2 nonzero codes per sample, as asked for." in printed
    assert (tmp_path / "c.png").stat().st_size > 5000


def results(arguments, capsys):
    assert run(["compare", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_figures_are_those_of_the_estimators(data, capsys):
    arguments = [str(data), "--methods", "ours,l3-s1", "--n-nonzero", "2", "--seed", "3"]
    found = results(arguments, capsys)
    X = np.loadtxt(data, delimiter=",", skiprows=1)
    assert [one["method"] for one in found] == ["ours", "l3-s1"]
    for one in found:
        model = COMPARED[one["method"]].estimator(2, 3).fit(X)
        left = X - model.inverse_transform(model.transform(X))
        np.testing.assert_allclose(one["error"], np.linalg.norm(left) / np.linalg.norm(X), rtol=1e-5)
        assert one["n_nonzero"] <= 2
        assert one["seconds"] > 0


PEERS = [name for name in ("fastica", "picard", "dictionary-learning") if name in installed(COMPARED)]


@pytest.mark.parametrize("name", PEERS)
def test_methods_of_other_libraries_find_a_dictionary_that_is_there(name, tmp_path, capsys):
    """An offset costs them nothing: they centre."""
    X = make_sparse_coded(1000, 6, sparsity=0.1, random_state=0)[0]
    np.save(tmp_path / "X.npy", X + 5)
    (found,) = results([str(tmp_path / "X.npy"), "--methods", name, "--n-nonzero", "2"], capsys)
    assert found["error"] < 0.03
    assert found["n_nonzero"] <= 2


def test_ica_of_samples_in_a_subspace():
    X = make_sparse_coded(500, 5, sparsity=0.3, random_state=0)[0]
    X = np.column_stack([X, X.mean(axis=1)])
    model = COMPARED["fastica"].estimator(6, 0).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, atol=1e-8)


def test_dictionary_learning_takes_batches_where_it_would_take_minutes(monkeypatch):
    X = make_sparse_coded(300, 4, sparsity=0.3, random_state=0)[0]
    assert COMPARED["dictionary-learning"].estimator(2, 0).fit(X).label == "DictionaryLearning"
    monkeypatch.setattr("hrpursuit.experiments.peers._PATIENCE", 0.1)
    assert COMPARED["dictionary-learning"].estimator(2, 0).fit(X).label == "MiniBatchDictionaryLearning"


@pytest.mark.long
def test_no_method_depends_on_the_unit_of_the_data(tmp_path, capsys):
    X = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)[0]
    errors = []
    for unit in (2.0**-20, 1.0, 2.0**20):
        np.save(tmp_path / "X.npy", unit * X)
        found = results([str(tmp_path / "X.npy"), "--n-nonzero", "2", "-o", str(tmp_path / "c.png")], capsys)
        errors.append([one["error"] for one in found])
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-6)
    np.testing.assert_allclose(errors[2], errors[1], rtol=1e-6)


def test_without_a_number_the_fewest_codes_that_leave_a_tenth_are_taken_and_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, codes, _ = make_sparse_coded(300, 20, sparsity=0.2, random_state=0)
    np.save("X.npy", X)
    assert run(["compare", "X.npy", "--methods", "ours,l4-msp", "--json"]) == 0
    n_nonzero = json.loads(capsys.readouterr().out)["n_nonzero_coefs"]
    small = np.sort(np.abs(codes), axis=1)
    left = [np.linalg.norm(small[:, : 20 - n]) / np.linalg.norm(codes) for n in (n_nonzero - 1, n_nonzero)]
    assert left[0] > 0.1 >= left[1]
    assert run(["compare", "X.npy", "--methods", "l4-msp"]) == 0
    said = (
        f"T0 = {n_nonzero} nonzero codes per sample, the fewest with which a dictionary of hrpursuit leaves at most 10%"
    )
    assert said in " ".join(capsys.readouterr().out.split())
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]  # no picture unasked


def test_a_method_that_fails_leaves_the_others(data, tmp_path, monkeypatch, capsys):
    class Broken:
        def fit(self, X):
            raise ValueError("no luck")

        def transform(self, X):
            return X

    monkeypatch.setattr("hrpursuit.experiments.comparison.warm_up", lambda name: None)
    broken = COMPARED | {"l3-s1": type(COMPARED["l3-s1"])("l3-s1", lambda k, seed: Broken())}
    monkeypatch.setattr("hrpursuit.experiments.comparison.COMPARED", broken)
    assert run(["compare", str(data), "--methods", "l4-msp,l3-s1", "-o", str(tmp_path / "c.png")]) == 3
    printed = capsys.readouterr()
    assert "l3-s1 failed: no luck" in printed.err
    assert "l4-MSP" in printed.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--methods", "pca"], "there is no method 'pca'; the methods are ours, proposed"),
        (["-o", "c.txt"], "expected a name that ends in .png"),
        (["--columns", "a,z"], "z"),
        (["--n-nonzero", "7"], "n_nonzero_coefs must be from 1 to 6"),
    ],
)
def test_bad_input(data, arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["compare", str(data), *arguments]) == 1
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob("*.png"))


def test_a_time_column_is_no_feature_and_gaps_are_gaps(tmp_path, capsys):
    X, codes, W = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)
    X = (codes * (np.abs(codes) >= np.sort(np.abs(codes), axis=1)[:, [-2]])) @ W
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    index = pd.date_range("2024-01-01", periods=300, freq="h", name="time")
    pd.DataFrame(X, index, columns=list("abcdef")).to_csv(tmp_path / "X.csv")
    command = ["compare", str(tmp_path / "X.csv"), "--methods", "ours,fastica", "--n-nonzero", "2"]
    assert run([*command, "--json"]) == 0
    printed = capsys.readouterr()
    assert "the column 'time' is the index, not a feature" in printed.err
    report = json.loads(printed.out)
    assert (report["n_features"], report["index_column"], report["n_missing"]) == (6, "time", np.isnan(X).sum())
    ours, ica = report["results"]
    assert (ours["is_filled"], ica["is_filled"]) == (False, True)
    assert ours["error"] < 0.01 < ica["error"]
    assert run(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "They stay gaps for hrpursuit. Each is filled with the mean of its row for FastICA." in said


def test_too_few_samples_and_zeros_are_refused_before_the_work(tmp_path, capsys):
    for X, said in ((np.ones((3, 5)), "at least as many samples as features"), (np.zeros((9, 3)), "other than zero")):
        np.save(tmp_path / "X.npy", X)
        assert run(["compare", str(tmp_path / "X.npy"), "-o", str(tmp_path / "c.png")]) == 1
        assert said in capsys.readouterr().err


def test_notes_name_their_method_and_come_from_the_data_alone(data, tmp_path, capsys):
    assert run(["compare", str(data), "--methods", "ours,ksvd", "--n-nonzero", "2", "-o", str(tmp_path / "c.png")]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "did not reach" in line]
    assert all(note.startswith("note: K-SVD: ") for note in notes)
    assert len(notes) <= 1
