"""The search on a fake problem that records what it is asked."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.core import search as search_module
from hrpursuit.core.certificate import Certificate, same_atoms, unchecked
from hrpursuit.core.manifolds import normalize_rows, random_orthogonal
from hrpursuit.core.options import HRPOptions
from hrpursuit.core.search import Descent, Outcome, search
from hrpursuit.datasets import make_sparse_coded

N = 10
PASSED = Certificate(100, N, 1e-9, 50, 50)
ENTANGLED = replace(PASSED, entangled=np.array([[0, 1]]))
UNSTATIONARY = replace(PASSED, unstationary=np.array([[0, 1]]))
NO_ZEROS = unchecked(N)


def unit_rows(X):
    return np.sqrt(X.shape[1]) * normalize_rows(X)


SPARSE, _, TRUTH = make_sparse_coded(400, N, sparsity=0.2, random_state=0)
SPARSE = unit_rows(SPARSE[SPARSE.any(axis=1)])
NOISY = unit_rows(make_sparse_coded(400, N, sparsity=0.2, snr_db=15, random_state=0)[0])
DENSE = unit_rows(np.random.default_rng(0).standard_normal((200, N)))


class FakeProblem:
    """Settles by a script: the k-th call gives the k-th certificate, the last one for ever; components are diagonal."""

    def __init__(self, X, certificates=(NO_ZEROS,), *, l1s=(1.0,), complete=False, exact_atom=False, adopts=0):
        self.X, self.complete = X, complete
        self._certificates, self._l1s, self._exact_atom, self._adopts = certificates, l1s, exact_atom, adopts
        self.draws, self.settled, self.tested, self.adopted = [], [], [], []

    def draw(self, rows_per_feature):
        self.draws.append(rows_per_feature)
        return False

    def settle(self, W):
        self.settled.append(W)
        k = len(self.settled)
        return k * np.eye(N), self._certificates[min(k, len(self._certificates)) - 1]

    def adopt(self, components):
        self.adopted.append(components)
        return len(self.adopted) <= self._adopts

    def has_exact_atom(self, w):
        self.tested.append(w)
        return self._exact_atom

    def l1(self, components):
        return self._l1s[(int(components[0, 0]) - 1) % len(self._l1s)]


def run(problem, W=None, *, patience=(150, 300, 600), look_every=None, **kwargs):
    W = random_orthogonal(N, np.random.default_rng(1)) if W is None else W
    return search(problem, W, HRPOptions(patience=patience, look_every=look_every), 7, **kwargs)


class TestSearch:
    def test_a_certificate_ends_it(self):
        problem = FakeProblem(SPARSE, [ENTANGLED, PASSED])
        found = run(problem)
        assert found.outcome is Outcome.CERTIFIED
        assert found.certificate is PASSED
        assert_array_equal(found.components, 2 * np.eye(N))
        assert len(problem.settled) == 2
        assert same_atoms(problem.settled[-1], TRUTH)
        assert 0 < found.n_steps < 300

    @pytest.mark.parametrize(("l1s", "sparsest"), [((3.0, 1.0, 2.0), 2), ((1.0, 2.0, 3.0), 1), ((2.0, 2.0, 2.0), 1)])
    def test_of_three_settled_answers_the_sparsest_is_kept(self, l1s, sparsest):
        problem = FakeProblem(SPARSE, [ENTANGLED], l1s=l1s)
        found = run(problem)
        assert found.outcome is Outcome.SETTLED
        assert len(problem.settled) == 3
        assert found.certificate is ENTANGLED
        assert_array_equal(found.components, sparsest * np.eye(N))

    def test_an_answer_that_is_not_stationary_is_no_answer(self):
        problem = FakeProblem(SPARSE, [UNSTATIONARY])
        found = run(problem)
        assert found.outcome is Outcome.LOST
        assert found.certificate is None
        assert len(problem.settled) > 3
        assert_allclose(found.components @ found.components.T, np.eye(N), atol=1e-12)

    def test_one_settled_answer_is_kept_when_time_is_over(self):
        problem = FakeProblem(SPARSE, [UNSTATIONARY, ENTANGLED, UNSTATIONARY])
        found = run(problem)
        assert found.outcome is Outcome.SETTLED
        assert_array_equal(found.components, 2 * np.eye(N))

    def test_ordered_twice_alike_without_an_exact_atom_is_noise(self):
        problem = FakeProblem(NOISY)
        found = run(problem)
        assert found.outcome is Outcome.NOISY
        assert found.certificate is None
        assert not found.has_exact_atom
        assert len(problem.settled) == 2
        assert same_atoms(*problem.settled)
        assert 1 <= len(problem.tested) <= 4
        assert same_atoms(found.components, TRUTH)
        assert_allclose(found.components @ found.components.T, np.eye(N), atol=1e-12)

    def test_ordered_with_an_exact_atom_goes_on(self):
        problem = FakeProblem(NOISY, exact_atom=True)
        found = run(problem)
        assert found.outcome is Outcome.LOST
        assert found.has_exact_atom
        assert found.n_steps == 600

    def test_an_exact_atom_that_is_known_is_not_looked_for(self):
        problem = FakeProblem(NOISY)
        found = run(problem, has_exact_atom=True)
        assert found.n_steps == 600
        assert problem.tested == []

    @pytest.mark.parametrize(("exact_atom", "n_steps", "n_tested"), [(False, 300, 4), (True, 600, 1)])
    def test_dense_rows_are_given_up_unless_an_atom_is_exact(self, exact_atom, n_steps, n_tested):
        problem = FakeProblem(DENSE, exact_atom=exact_atom)
        found = run(problem)
        assert found.outcome is Outcome.LOST
        assert (found.n_steps, len(problem.tested)) == (n_steps, n_tested)
        assert found.has_exact_atom is exact_atom

    def test_more_rows_are_asked_for_once_and_only_after_patience(self):
        class Growing(FakeProblem):
            def draw(self, rows_per_feature):
                super().draw(rows_per_feature)
                self.X = DENSE[: rows_per_feature * N]
                return True

        problem, sizes = Growing(DENSE), {}
        run(problem, callback=lambda it: sizes.update({it.n_iter: len(problem.X)}))
        assert problem.draws == [10, 20]
        first_look_after = min(step for step in sizes if step >= 150)
        assert all(size == (100 if step <= first_look_after else 200) for step, size in sizes.items())

    def test_the_callback_stops_it(self):
        problem, seen = FakeProblem(DENSE), []
        found = run(problem, callback=lambda it: seen.append(it) or len(seen) == 3)
        assert found.outcome is Outcome.STOPPED
        assert [it.n_iter for it in seen] == [16, 32, 48]
        assert found.n_steps == 48
        assert {it.stage for it in seen} == {"search"}
        assert_allclose(found.components @ found.components.T, np.eye(N), atol=1e-12)
        for it in seen:
            l1 = np.abs(DENSE @ it.components.T).sum() / len(DENSE)
            assert_allclose(it.value, l1, rtol=0.03)  # of the hot dictionary, which is only nearly orthogonal

    def test_a_warm_start_is_looked_at_before_any_step(self):
        problem = FakeProblem(SPARSE, [PASSED])
        found = run(problem, TRUTH, warm=True)
        assert (found.outcome, found.n_steps) == (Outcome.CERTIFIED, 0)
        assert_allclose(problem.settled[0], TRUTH, atol=1e-6)

    def test_a_warm_start_that_is_wrong_costs_one_look(self):
        problem = FakeProblem(SPARSE, [NO_ZEROS, PASSED])
        found = run(problem, random_orthogonal(N, np.random.default_rng(5)), warm=True)
        assert found.outcome is Outcome.CERTIFIED
        assert found.n_steps > 0
        assert same_atoms(problem.settled[-1], TRUTH)

    def test_adopted_coordinates_are_searched_from_the_identity(self, monkeypatch):
        starts = []

        class Recorded(Descent):
            def __init__(self, X, W, rng):
                starts.append(W.copy())
                super().__init__(X, W, rng)

        monkeypatch.setattr(search_module, "Descent", Recorded)
        problem = FakeProblem(SPARSE, [NO_ZEROS, PASSED], complete=True, adopts=1)
        found = run(problem)
        assert found.outcome is Outcome.CERTIFIED
        assert found.has_exact_atom
        assert len(starts) == 2
        assert_array_equal(starts[1], np.eye(N))
        assert_array_equal(problem.adopted[0], np.eye(N))  # the first settled components

    def test_nothing_is_adopted_where_all_columns_have_zeros(self):
        problem = FakeProblem(SPARSE, [ENTANGLED], complete=True, adopts=9)
        run(problem)
        assert problem.adopted == []

    def test_few_rows_of_few_features_go_over_to_sweeps_of_planes(self):
        steps = []
        run(FakeProblem(DENSE[:60]), patience=(150, 700, 700), callback=lambda it: steps.append(it.n_iter))
        later = [step for step in steps if step >= 500]
        assert_array_equal(np.diff(later), 32)
        steps.clear()
        run(FakeProblem(DENSE), patience=(150, 700, 700), callback=lambda it: steps.append(it.n_iter))
        assert 32 not in np.diff([step for step in steps if step >= 500])

    def test_the_seed_decides(self):
        W = random_orthogonal(N, np.random.default_rng(1))
        problem = FakeProblem(DENSE)
        one, two = (run(problem, W).components for _ in range(2))
        assert_array_equal(one, two)
        other = search(problem, W, HRPOptions(patience=(150, 300, 600)), 8).components
        assert np.abs(other - one).max() > 0.1
