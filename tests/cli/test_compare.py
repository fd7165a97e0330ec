"""hrpursuit compare: methods on the user's own file."""

import json

import numpy as np
import pytest

from hrpursuit.cli.main import run
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.experiments.methods import METHODS, installed


@pytest.fixture
def data(tmp_path):
    X = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)[0]
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", header="a,b,c,d,e,f", comments="")
    return tmp_path / "X.csv"


def test_every_installed_method_in_one_table_with_a_picture(data, tmp_path, capsys):
    assert run(["compare", str(data), "--methods", "all", "--n-nonzero", "2", "-o", str(tmp_path / "c.png")]) == 0
    printed = capsys.readouterr().out
    for name in installed():
        assert METHODS[name].label in printed
    assert (tmp_path / "c.png").stat().st_size > 5000


def results(arguments, capsys):
    assert run(["compare", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_figures_are_those_of_the_estimators(data, tmp_path, capsys):
    arguments = [str(data), "--methods", "ours,l3-s1", "--n-nonzero", "2", "--seed", "3", "-o", str(tmp_path / "c.svg")]
    found = results(arguments, capsys)
    X = np.loadtxt(data, delimiter=",", skiprows=1)
    assert [one["method"] for one in found] == ["ours", "l3-s1"]
    for one in found:
        model = METHODS[one["method"]].estimator(2, 3).fit(X)
        np.testing.assert_allclose(one["error"], -model.score(X), rtol=1e-5)
        assert one["n_nonzero"] <= 2
        assert one["seconds"] > 0


def test_no_method_depends_on_the_unit_of_the_data(tmp_path, capsys):
    X = make_sparse_coded(300, 6, sparsity=0.3, random_state=0)[0]
    errors = []
    for unit in (2.0**-20, 1.0, 2.0**20):
        np.save(tmp_path / "X.npy", unit * X)
        found = results([str(tmp_path / "X.npy"), "--n-nonzero", "2", "-o", str(tmp_path / "c.png")], capsys)
        errors.append([one["error"] for one in found])
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-6)
    np.testing.assert_allclose(errors[2], errors[1], rtol=1e-6)


def test_without_a_number_all_methods_get_the_same(tmp_path, capsys):
    np.save(tmp_path / "X.npy", make_sparse_coded(300, 20, sparsity=0.2, random_state=0)[0])
    arguments = [str(tmp_path / "X.npy"), "--methods", "ours,ksvd,l4-msp", "-o", str(tmp_path / "c.png")]
    for one in results(arguments, capsys):
        assert 1.5 < one["n_nonzero"] <= 2


def test_a_method_that_fails_leaves_the_others(data, tmp_path, monkeypatch, capsys):
    class Broken:
        def fit(self, X):
            raise ValueError("no luck")

        def transform(self, X):
            return X

    monkeypatch.setattr("hrpursuit.experiments.comparison.warm_up", lambda name: None)
    broken = METHODS | {"l3-s1": type(METHODS["l3-s1"])("l3-s1", lambda k, seed: Broken())}
    monkeypatch.setattr("hrpursuit.experiments.comparison.METHODS", broken)
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


def test_gaps_are_refused_by_row_and_column(tmp_path, capsys):
    (tmp_path / "X.csv").write_text("a,b\n1,2\n3,\n5,6\n")
    assert run(["compare", str(tmp_path / "X.csv"), "-o", str(tmp_path / "c.png")]) == 1
    assert "'b'" in capsys.readouterr().err


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
