"""The verdict on a stream: the right word, from the first sample on, and nothing that the state does not know."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from hrpursuit import MiniBatchHRP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded

ONES = ("orthogonal", "complete")


def feed(model, X, size=100):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


class TestTheRightWord:
    @pytest.mark.parametrize("dictionary", ONES)
    @pytest.mark.parametrize(
        ("kind", "word"), [({}, "exact"), ({"snr_db": 20}, "noisy"), ({"snr_db": 10}, "noisy")], ids=str
    )
    def test_of_sparse_codes(self, kind, word, dictionary):
        for seed in range(3):
            X = make_sparse_coded(5000, 15, sparsity=0.2, dictionary=dictionary, random_state=seed, **kind)[0]
            verdict = feed(MiniBatchHRP(dictionary=dictionary, random_state=seed), X).verdict_
            assert verdict.kind == word
            if word == "noisy":
                assert abs(verdict.snr_db - kind["snr_db"]) < 2
            assert abs(float(verdict.finding.split(" of 15 codes")[0].split()[-1]) - 3) < 0.4

    def test_of_dense_codes(self, rng):
        X = rng.laplace(size=(20_000, 10)) @ random_orthogonal(10, rng)
        assert feed(MiniBatchHRP(random_state=0), X).verdict_.kind == "compressible"

    def test_of_gaussian_samples(self, rng):
        """The samples in the window are too few to tell, and it says that a larger window would; then it tells."""
        X = rng.standard_normal((6000, 10)) @ rng.standard_normal((10, 10))
        few = feed(MiniBatchHRP(random_state=0), X).verdict_
        assert few.kind == "undetermined"
        assert "window" in few.advice
        assert feed(MiniBatchHRP(window=4000, random_state=0), X).verdict_.kind == "not sparse"

    def test_an_offset_that_nobody_asked_for_is_named(self):
        X = make_sparse_coded(4000, 10, sparsity=0.2, snr_db=20, random_state=0)[0] + 0.3
        assert "fit_intercept=True" in feed(MiniBatchHRP(random_state=0), X).verdict_.advice
        assert "fit_intercept" not in str(feed(MiniBatchHRP(fit_intercept=True, random_state=0), X).verdict_)

    def test_with_a_fixed_number_of_codes_it_says_what_they_leave(self):
        X = make_sparse_coded(4000, 10, sparsity=0.3, random_state=0)[0]
        model = feed(MiniBatchHRP(n_nonzero_coefs=1, random_state=0), X)
        said = float(str(model.verdict_).split("an error of ")[1].split("%")[0])
        assert abs(said / 100 - model.reconstruction_error(X[-400:])) < 1e-3


class TestOverTime:
    def test_before_there_are_enough_samples(self):
        X = make_sparse_coded(400, 20, sparsity=0.2, random_state=0)[0]
        model = MiniBatchHRP(random_state=0)
        with pytest.raises(NotFittedError):
            _ = model.verdict_
        assert "#" not in repr(model)
        for n_seen in (1, 19, 30):
            feed(model, X[getattr(model, "n_samples_seen_", 0) : n_seen])
            assert model.verdict_.kind == "undetermined"
            assert f"{n_seen} samples of 20 features are too few" in model.verdict_.finding
            assert ("no dictionary yet" in model.verdict_.confidence) == (n_seen < 20)
        assert feed(model, X[30:]).verdict_.kind == "exact"

    def test_after_a_change(self):
        X, Y = (make_sparse_coded(1000, 20, sparsity=0.2, random_state=seed)[0] for seed in range(2))
        model = feed(MiniBatchHRP(random_state=0), X)
        assert "changed" not in str(model.verdict_)
        seen = [model.partial_fit(batch).verdict_ for batch in np.split(Y, 10)]
        lost = [verdict for verdict in seen if verdict.kind == "undetermined"]
        assert lost
        assert all("do not fit the dictionary any more" in verdict.finding for verdict in lost)
        assert seen[-1].kind == "exact"
        assert "the dictionary has changed once so far" in seen[-1].finding

    def test_where_nothing_can_be_said(self):
        assert feed(MiniBatchHRP(random_state=0), np.zeros((500, 5))).verdict_.kind == "undetermined"
        X = make_sparse_coded(900, 5, sparsity=0.3, random_state=0)[0]
        X[:, 4] = X[:, 3]
        dependent = feed(MiniBatchHRP(dictionary="complete", random_state=0), X).verdict_
        assert dependent.kind == "undetermined"
        assert "linearly dependent" in dependent.finding

    def test_it_is_not_that_of_a_fit_before(self):
        X = make_sparse_coded(600, 10, sparsity=0.2, random_state=0)[0]
        model = MiniBatchHRP(random_state=0).fit(X)
        assert model.verdict_.kind == "exact"
        assert model.fit(X + 0.1 * np.random.default_rng(0).standard_normal(X.shape)).verdict_.kind == "noisy"


def test_shown_in_repr_and_the_same_when_loaded(tmp_path):
    for kind in ({}, {"snr_db": 20}):
        X = make_sparse_coded(3000, 10, sparsity=0.2, random_state=0, **kind)[0]
        model = feed(MiniBatchHRP(random_state=0), X)
        assert repr(model).endswith(f"\n# {model.verdict_}")
        model.save(tmp_path / "m.npz")
        again = MiniBatchHRP.load(tmp_path / "m.npz")
        assert again.verdict_ == model.verdict_
        assert again.score(X) == model.score(X)


def test_score_tells_the_right_dictionary_from_others():
    """The log-likelihood of fresh samples, as HRP has it."""
    X = make_sparse_coded(6000, 10, sparsity=0.2, snr_db=20, random_state=0)[0]
    scores = [
        feed(MiniBatchHRP(random_state=0, **settings), X[:5000]).score(X[5000:])
        for settings in ({}, {"dictionary": "complete"})
    ]
    other = feed(MiniBatchHRP(random_state=0), make_sparse_coded(5000, 10, sparsity=0.2, snr_db=20, random_state=1)[0])
    assert min(scores) > other.score(X[5000:]) + 1
