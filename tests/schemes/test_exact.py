"""The exact scheme: what it says of data that it does not fit, and that it never makes a start worse."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP
from hrpursuit.core.likelihood import log_likelihoods
from hrpursuit.core.manifolds import normalize_rows, polar, random_orthogonal
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.team import Team
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import ArrayRows
from hrpursuit.schemes.diagnosis import diagnose
from hrpursuit.schemes.exact import exact_scheme
from hrpursuit.schemes.setup import Setup, random_start
from hrpursuit.schemes.stages import StageLog, Stopper
from hrpursuit.schemes.working_sample import WorkingSample

COMPLETE, INTERCEPT = 'dictionary="complete"', "fit_intercept=True"


def setup(seed=0, callback=None):
    return Setup(HRPOptions(), seed, Team(), Stopper(callback), StageLog())


def data(kind, seed, n_samples=800, n_features=12):
    """Samples that are sparse in an orthogonal or a complete dictionary, around an offset or not, and the atoms."""
    dictionary = {"dictionary": "complete", "condition": 5} if "complete" in kind else {}
    X, _, A = make_sparse_coded(n_samples, n_features, sparsity=0.2, random_state=seed, **dictionary)
    offset = np.random.default_rng(seed).uniform(1, 3, n_features) if "offset" in kind else 0
    return X + offset, A


def advice_of(X, **settings):
    """The model and the messages of its fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = HRP(**settings).fit(X)
    return model, [str(item.message) for item in caught]


class TestAdvice:
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize(
        ("kind", "given", "named"),
        [
            ("complete", {}, [COMPLETE]),
            ("offset", {}, [INTERCEPT]),
            ("complete, offset", {}, [COMPLETE, INTERCEPT]),
            ("complete, offset", {"dictionary": "complete"}, [INTERCEPT]),
            ("complete, offset", {"fit_intercept": True}, [COMPLETE]),
        ],
    )
    def test_what_helps_is_named_and_helps(self, kind, given, named, seed):
        X, A = data(kind, seed)
        model, messages = advice_of(X, random_state=seed, **given)
        assert not model.certificate_
        assert len(messages) == 1
        assert [name for name in (COMPLETE, INTERCEPT) if name in messages[0]] == named
        better = dict(given)
        if COMPLETE in named:
            better["dictionary"] = "complete"
        if INTERCEPT in named:
            better["fit_intercept"] = True
        model, messages = advice_of(X, random_state=seed, **better)
        assert model.certificate_
        assert messages == []
        assert dictionary_error(model.components_, A) < 1e-11

    @pytest.mark.parametrize("n_features", [5, 20])
    @pytest.mark.parametrize("source", ["standard_normal", "laplace", "uniform"])
    def test_dense_data_gets_none(self, source, n_features):
        rng = np.random.default_rng(0)
        X = getattr(rng, source)(size=(800, n_features)) @ rng.standard_normal((n_features, n_features)) + 2
        _, messages = advice_of(X, random_state=0)
        assert not any(COMPLETE in message or INTERCEPT in message for message in messages)

    @pytest.mark.parametrize("snr_db", [10, 30])
    def test_noisy_data_gets_none(self, snr_db):
        X = make_sparse_coded(800, 12, sparsity=0.2, snr_db=snr_db, random_state=0)[0]
        assert advice_of(X, random_state=0)[1] == []

    def test_an_exact_fit_gets_none(self):
        X, _ = data("orthogonal", 0)
        assert advice_of(X, random_state=0)[1] == []


class TestDiagnosis:
    @pytest.mark.parametrize("seed", range(3))
    def test_it_is_an_answer_or_an_advice(self, seed):
        for kind, named in (("orthogonal", None), ("complete", COMPLETE), ("offset", INTERCEPT)):
            X, A = data(kind, seed)
            rows = ArrayRows(X)
            sample = WorkingSample(rows, seed)
            sample.draw(10)
            answer, advice = diagnose(rows, sample, setup(seed))
            if named is None:
                assert advice is None
                assert dictionary_error(sample.dictionary(answer)[0], A) < 1e-11
                assert sample.check(answer)
            else:
                assert answer is None
                assert named in advice

    def test_the_callback_ends_it(self):
        X, _ = data("complete", 0)
        sample = WorkingSample(ArrayRows(X), 0)
        sample.draw(10)
        assert diagnose(ArrayRows(X), sample, setup(callback=lambda iterate: True)) == (None, None)

    def test_dependent_features_are_not_tried_as_complete(self, rng):
        """No complete dictionary has lower rank than features."""
        X = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 8))
        sample = WorkingSample(ArrayRows(X), 0)
        sample.draw(10)
        assert diagnose(ArrayRows(X), sample, setup()) == (None, None)

    def test_a_start_depends_on_seed_and_rank_alone(self):
        samples = [WorkingSample(ArrayRows(data("orthogonal", seed)[0]), 0) for seed in range(2)]
        starts = [random_start(sample, 5) for sample in samples]
        assert_array_equal(*starts)
        assert np.abs(random_start(samples[0], 6) - starts[0]).max() > 0.1


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ratio", [10, 100, 1000])
def test_atoms_of_very_different_energy(ratio, seed):
    _, codes, W = make_sparse_coded(800, 12, sparsity=0.2, random_state=seed)
    energies = np.random.default_rng(seed).permutation(np.geomspace(1, ratio, 12))
    found, messages = advice_of((codes * np.sqrt(energies)) @ W, random_state=seed)
    assert found.certificate_
    assert dictionary_error(found.components_, W) < 1e-11
    assert messages == []


class TestNeverWorseThanTheStart:
    """By what the finish maximises, or the l1 norm where it minimises that."""

    def sources(self):
        rng = np.random.default_rng(3)
        yield rng.laplace(size=(900, 6))
        yield rng.uniform(-1, 1, (900, 6))
        yield rng.standard_t(4, size=(900, 6))
        yield rng.standard_normal((900, 6)) * (rng.random((900, 6)) < 0.3) + 0.1 * rng.standard_normal((900, 6))
        yield rng.laplace(size=(900, 6)) * np.exp(rng.standard_normal((900, 1)))  # dependent: greedy planes

    @pytest.mark.parametrize("start", ["truth", "near", "random"])
    @pytest.mark.parametrize("complete", [False, True])
    def test_it(self, complete, start):
        rng = np.random.default_rng(5)
        A = random_orthogonal(6, rng)
        if complete:
            A = normalize_rows(A + 0.3 * rng.standard_normal((6, 6)))
        W = {"truth": A, "near": A + 0.1 * rng.standard_normal((6, 6)), "random": random_orthogonal(6, rng)}[start]
        W = normalize_rows(W) if complete else polar(W)
        methods = set()
        for S in self.sources():
            X = S @ A
            model = HRP(dict_init=W, dictionary="complete" if complete else "orthogonal", random_state=0).fit(X)
            assert not model.certificate_
            method = model.stages_[-1].name
            methods.add(method)
            if method == "maximum likelihood":
                before, after = log_likelihoods(ArrayRows(X), X, [np.linalg.inv(W).T, model.encoder_.T])
                assert after >= before - 1e-6
            if method == "greedy planes" and not complete:
                assert np.abs(X @ model.encoder_).sum() <= np.abs(X @ W.T).sum() * (1 + 1e-9)
            assert model.stages_[-1].objective_after <= model.stages_[-1].objective_before + 1e-9
        assert "maximum likelihood" in methods

    def test_an_exact_start_stays(self):
        X, A = data("orthogonal", 0)
        model = HRP(dict_init=A, random_state=0).fit(X)
        assert model.certificate_
        assert model.n_iter_ == 0
        assert dictionary_error(model.components_, A) < 1e-13


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("complete", [False, True])
def test_a_stopped_fit_still_returns_a_dictionary(complete, offset):
    X, _ = data("complete" if complete else "orthogonal", 0)
    learned = exact_scheme(
        ArrayRows(X), None, complete=complete, offset=offset, n_nonzero=None, setup=setup(callback=lambda it: True)
    )
    assert_allclose(np.linalg.norm(learned.components, axis=1), 1)
    assert_allclose(learned.components @ learned.encoder, np.eye(12), atol=1e-10)
    assert not learned.certificate
    assert (learned.intercept is not None) is offset


def test_rows_that_are_all_zero_or_all_equal():
    nothing = exact_scheme(
        ArrayRows(np.zeros((30, 3))), None, complete=False, offset=False, n_nonzero=None, setup=setup()
    )
    assert_array_equal(nothing.components, np.eye(3))
    assert nothing.intercept is None
    row = np.array([1.0, 2.0, 3.0])
    same = exact_scheme(
        ArrayRows(np.tile(row, (30, 1))), None, complete=False, offset=True, n_nonzero=None, setup=setup()
    )
    assert_allclose(same.intercept, row)


@pytest.mark.parametrize("seed", [4, 19, 21])
def test_rank_deficient_rows_are_settled_on_more_rows_within_their_span(seed, monkeypatch):
    """Atoms that are used seldom ask for more rows. A start with the atoms outside of the span made the polish write
    behind its arrays.
    """
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(3, 8))
    rank = int(rng.integers(2, n_features))
    A = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0][:rank]
    shares = 10.0 ** -rng.uniform(0.3, 3.5, rank)
    X = (rng.standard_normal((4000, rank)) * (rng.random((4000, rank)) < shares)) @ A
    settle_encoding, n_settled = WorkingSample.settle_encoding, []

    def recorded(self, start, n_rows=None):
        n_settled.append(len(self.X))
        assert start.shape == (rank, rank)
        return settle_encoding(self, start, n_rows)

    monkeypatch.setattr(WorkingSample, "settle_encoding", recorded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        W = HRP(random_state=0).fit(X).components_
    assert len(set(n_settled)) > 1  # on more rows, too
    assert_allclose(W @ W.T, np.eye(n_features), atol=1e-12)
    assert_allclose(np.abs(A @ W.T).max(axis=1), 1.0, atol=1e-9)
