"""The online learner below its estimator: its schedule, its window, what it notices, what it follows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core.manifolds import polar, random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.schemes.online.following import Dense, Fixed, Noisy
from hrpursuit.schemes.online.learner import new_state, take
from hrpursuit.schemes.online.modes import Exact
from hrpursuit.schemes.online.stream import OnlineSettings
from hrpursuit.schemes.online.turns import turn_to, turned, whiten
from hrpursuit.schemes.online.watch import row_norms, sparsity


def learner(n_features, complete=False, **changes):
    settings = {
        "offset": False,
        "n_nonzero": None,
        "forgetting": 0.9995,
        "window": 20 * n_features,
        "seed": 0,
    } | changes
    return new_state(OnlineSettings(n_features=n_features, complete=complete, **settings))


class TestSchedule:
    def test_steps_come_at_fixed_numbers_of_rows(self):
        settings = learner(50).settings
        seen, steps = 0, []
        while seen < 2500:
            seen += settings.rows_until_step(seen)
            steps.append(seen)
        assert steps == [50, 100, 200, 400, 500, 1000, 1500, 2000, 2500]

    @given(st.integers(1, 80), st.integers(0, 5000))
    def test_a_step_is_never_longer_than_its_buffer(self, n_features, n_seen):
        settings = learner(n_features).settings
        assert 1 <= settings.rows_until_step(n_seen) <= settings.step_rows

    def test_the_state_moves_only_there(self):
        X = make_sparse_coded(450, 20, sparsity=0.2, random_state=0)[0]
        state = learner(20)
        state = take(state, X[:399])
        assert (state.n_steps, state.n_pending) == (5, 199)
        state = take(state, X[399:400])
        assert (state.n_steps, state.n_pending) == (6, 0)


class TestWindow:
    @given(st.lists(st.integers(0, 60), max_size=8))
    def test_holds_the_most_recent_rows(self, sizes):
        state = learner(2, window=25)
        rows = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
        for part in np.split(rows, np.cumsum(sizes)[:-1]) if sizes else []:
            state.hold(part)
        assert_array_equal(state.held()[:, 0], rows[-25:, 0])


class TestSparsity:
    def test_of_known_codes(self):
        S = np.array([[3.0, 0, 0, 0], [1, -1, 1, 1], [1e-60, 1e-60, 0, 0]])
        found = sparsity(np.abs(S), row_norms(S))
        expected = [0.5, 1, np.sqrt(2) / 2]
        assert_allclose(found.mean, np.mean(expected))
        assert_allclose(found.error, np.std(expected) / np.sqrt(3))


class TestTurning:
    """The Newton step that stands for a polar factor has the same limit."""

    def test_repeated_turns_reach_the_polar_factor(self, rng):
        target = random_orthogonal(12, rng)
        G = target @ np.diag(rng.uniform(1, 3, 12)) + 0.1 * rng.standard_normal((12, 12))
        W = polar(G + 0.2 * rng.standard_normal((12, 12)))
        coder = W.T
        for _ in range(40):
            coder = turned(coder, turn_to(G, coder), complete=False)
        assert_allclose(coder.T, polar(G), atol=1e-9)

    def test_codes_stay_white(self, rng):
        X = rng.standard_normal((500, 8)) @ rng.standard_normal((8, 8))
        for distance in (1.0, 0.02):
            values, V = np.linalg.eigh(X.T @ X / 500)
            root = (V / np.sqrt(values)) @ V.T
            coder = root @ (random_orthogonal(8, rng) + distance * rng.standard_normal((8, 8)) / 8)
            S = X @ whiten(coder, X.T @ X / 500)
            assert_allclose(S.T @ S / 500, np.eye(8), atol=1e-5)

    def test_dead_directions_do_not_turn(self):
        assert_array_equal(turn_to(np.zeros((3, 3)), np.eye(3)), np.zeros((3, 3)))


class TestModes:
    """Which way the learner goes on follows from the data."""

    @pytest.mark.parametrize("complete", [False, True])
    @pytest.mark.parametrize(
        ("kind", "mode"), [({}, Exact), ({"snr_db": 20}, Noisy), ({"sparsity": 1.0}, Dense)], ids=str
    )
    def test_mode(self, kind, mode, complete):
        name = "complete" if complete else "orthogonal"
        X = make_sparse_coded(800, 10, **({"sparsity": 0.2} | kind), dictionary=name, random_state=0)[0]
        state = learner(10, complete)
        state = take(state, X)
        assert isinstance(state.mode, mode)
        atoms, encoder = state.dictionary()
        assert_allclose(atoms @ encoder, np.eye(10), atol=1e-9)
        assert_allclose(np.linalg.norm(atoms, axis=1), 1)

    def test_fixed_sparsity_only_where_codes_are_not_that_sparse(self):
        X = make_sparse_coded(800, 10, sparsity=0.2, random_state=0)[0]
        for n_nonzero, mode in ((1, Fixed), (10, Exact)):
            state = learner(10, n_nonzero=n_nonzero)
            state = take(state, X)
            assert isinstance(state.mode, mode)

    @pytest.mark.parametrize("complete", [False, True])
    def test_noise_that_ends_is_noticed(self, complete):
        name = "complete" if complete else "orthogonal"
        X, _, W = make_sparse_coded(40_000, 10, sparsity=0.2, dictionary=name, random_state=0)
        state = learner(10, complete)
        state = take(state, X[:2000] + 0.05 * np.random.default_rng(0).standard_normal((2000, 10)))
        assert isinstance(state.mode, Noisy)
        state = take(state, X[2000:])
        assert isinstance(state.mode, Exact)
        assert dictionary_error(state.dictionary()[0], W) < 1e-12

    def test_data_that_becomes_sparse_is_noticed(self, rng):
        state = learner(10)
        state = take(state, rng.standard_normal((3000, 10)))
        assert isinstance(state.mode, Dense)
        X, _, W = make_sparse_coded(30_000, 10, sparsity=0.2, random_state=0)
        state = take(state, X)
        assert isinstance(state.mode, Exact)
        assert dictionary_error(state.dictionary()[0], W) < 1e-12


class TestDoubt:
    """Fewer zeros are looked into; only another dictionary is a change."""

    def stream(self, sparsity, W, rng, n_rows=1000):
        return rng.standard_normal((n_rows, len(W))) * (rng.random((n_rows, len(W))) < sparsity) @ W

    def test_atoms_that_are_used_more_often_are_no_change(self, rng):
        for _ in range(3):
            W = random_orthogonal(12, rng)
            state = learner(12)
            state = take(state, self.stream(0.1, W, rng))
            state = take(state, self.stream(0.5, W, rng, 2000))
            assert (type(state.mode), state.n_changes) == (Exact, 0)
            assert dictionary_error(state.dictionary()[0], W) < 1e-12

    def test_a_few_mixed_atoms_are_a_change(self, rng):
        for _ in range(3):
            W = random_orthogonal(12, rng)
            mixed = W.copy()
            mixed[:2] = np.array([[1, 1], [-1, 1]]) @ W[:2] / np.sqrt(2)
            state = learner(12)
            state = take(state, self.stream(0.2, W, rng))
            state = take(state, self.stream(0.2, mixed, rng, 2000))
            assert dictionary_error(state.dictionary()[0], mixed) < 1e-12
            assert (type(state.mode), state.n_changes) == (Exact, 1)

    def test_a_few_mixed_atoms_in_noise(self, rng):
        W = random_orthogonal(20, rng)
        mixed = W.copy()
        mixed[:4] = random_orthogonal(4, rng) @ W[:4]
        state = learner(20)
        noise = 0.05 * rng.standard_normal((10_000, 20))
        state = take(state, self.stream(0.2, W, rng, 10_000) + noise)
        assert state.n_changes == 0
        state = take(state, self.stream(0.2, mixed, rng, 10_000) + noise)
        assert dictionary_error(state.dictionary()[0], mixed) < 0.02


def test_strong_and_weak_atoms_are_learned_side_by_side(rng):
    """On data that is not sparse, one direction a hundred times stronger than the others does not throw them about."""
    W = random_orthogonal(10, rng)
    widths = np.r_[100.0, np.ones(9)]
    X, fresh = (widths * rng.laplace(size=(n, 10)) @ W for n in (20_000, 5_000))
    state = learner(10)
    state = take(state, X)
    assert isinstance(state.mode, Dense)
    S = fresh @ state.coder
    assert np.abs(S).sum() < 1.02 * np.abs(fresh @ W.T).sum()
