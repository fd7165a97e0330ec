"""The trust region method on the sphere, rounding by a linear programme, and both with deflation."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import null_space
from scipy.optimize import linprog

import hrpursuit.baselines.logcosh_rtr as module
from hrpursuit.baselines import LogCoshRTR, lp_rounding
from hrpursuit.baselines.lp_rounding import round_by_lp
from hrpursuit.baselines.trust_region import MeanLogCosh, exponential, truncated_cg, trust_region
from hrpursuit.core.sphere import random_on_sphere
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error

SEEDS = st.integers(0, 10_000)


def problem(seed, n_samples=200, n_features=6, sparsity=0.3, mu=0.1):
    """Function, a point of the sphere, and a tangent vector of unit length there."""
    rng = np.random.default_rng(seed)
    X = make_sparse_coded(n_samples, n_features, sparsity=sparsity, random_state=seed)[0]
    q, v = random_on_sphere(2, n_features, rng)
    v -= (v @ q) * q
    return MeanLogCosh(X, mu), q, v / np.linalg.norm(v)


def hessian_matrix(f, q):
    """On a basis of the tangent space."""
    B = null_space(q[None])
    return np.array([B.T @ f.derivatives(q)[1](b) for b in B.T])


class TestDerivatives:
    @given(SEEDS)
    def test_gradient_and_hessian_are_those_of_the_function_along_great_circles(self, seed):
        f, q, v = problem(seed)
        gradient, hessian = f.derivatives(q)
        h = 1e-4
        there, here, back = (f.value(exponential(q, t * v)) for t in (h, 0, -h))
        assert abs(gradient @ q) < 1e-12
        assert_allclose(gradient @ v, (there - back) / (2 * h), atol=1e-6)
        assert_allclose(v @ hessian(v), (there - 2 * here + back) / h**2, atol=1e-4)

    @given(SEEDS)
    def test_the_hessian_is_symmetric_and_tangent(self, seed):
        f, q, v = problem(seed)
        assert abs(f.derivatives(q)[1](v) @ q) < 1e-12
        H = hessian_matrix(f, q)
        assert_allclose(H, H.T, atol=1e-12)


class TestTruncatedCG:
    @given(SEEDS, st.floats(1e-3, 10))
    def test_lowers_the_model_at_least_as_far_as_steepest_descent_within_the_radius(self, seed, radius):
        rng = np.random.default_rng(seed)
        A, g = rng.standard_normal((5, 5)), rng.standard_normal(5)
        H = A + A.T  # with negative curvature, most times
        v, decrease = truncated_cg(g, lambda d: H @ d, radius)
        assert np.linalg.norm(v) <= radius * (1 + 1e-9)
        assert_allclose(decrease, -(g @ v + v @ H @ v / 2), rtol=1e-9, atol=1e-12)
        down = -g / np.linalg.norm(g)
        cauchy = max(-(t * (g @ down) + t**2 * (down @ H @ down) / 2) for t in np.linspace(0, radius, 200))
        assert decrease >= cauchy - 1e-9 * abs(cauchy)

    def test_is_newtons_step_where_that_is_inside(self, rng):
        A, g = rng.standard_normal((5, 5)), 1e-9 * rng.standard_normal(5)
        H = A @ A.T + np.eye(5)
        assert_allclose(truncated_cg(g, lambda d: H @ d, 1.0)[0], -np.linalg.solve(H, g), atol=1e-14)


class TestTrustRegion:
    @pytest.mark.parametrize("seed", range(5))
    def test_ends_where_the_gradient_vanishes_and_no_curvature_is_negative(self, seed):
        f, q, _ = problem(seed, mu=0.02)
        values = []
        end = trust_region(f, q, max_iter=300, tol=1e-9, watch=lambda n, q, value, size: values.append(value))
        assert_allclose(np.linalg.norm(end.q), 1, atol=1e-12)
        assert end.gradient_norm <= 1e-9
        assert np.linalg.norm(f.derivatives(end.q)[0]) == end.gradient_norm
        assert np.linalg.eigvalsh(hessian_matrix(f, end.q))[0] > 0
        assert (np.diff(values) <= 1e-15).all()

    @pytest.mark.parametrize("seed", range(5))
    def test_converges_quadratically_down_to_rounding(self, seed):
        f, q, _ = problem(seed, mu=0.05)
        sizes = []
        trust_region(f, q, max_iter=300, tol=1e-13, watch=lambda n, q, value, size: sizes.append(size))
        assert sizes[-1] <= 1e-13
        assert sizes[-1] < 1e-3 * sizes[-2] < 1e-5 * sizes[-3]

    def test_ends_where_pymanopt_ends(self):
        pymanopt = pytest.importorskip("pymanopt", reason="pymanopt is not installed (extra 'peers')")
        f, q, _ = problem(1, mu=0.05)
        X, mu = f.X, f.mu
        sphere = pymanopt.manifolds.Sphere(6)
        wrap = pymanopt.function.numpy(sphere)

        def weights(q):
            return (1 - np.tanh(X @ q / mu) ** 2) / mu

        peer = pymanopt.Problem(
            sphere,
            wrap(lambda q: np.mean(mu * np.log(np.cosh(X @ q / mu)))),
            euclidean_gradient=wrap(lambda q: X.T @ np.tanh(X @ q / mu) / len(X)),
            euclidean_hessian=wrap(lambda q, v: X.T @ (weights(q) * (X @ v)) / len(X)),
        )
        optimizer = pymanopt.optimizers.TrustRegions(min_gradient_norm=1e-10, verbosity=0)
        start = trust_region(f, q, max_iter=8, tol=0).q  # from the same basin: another radius may cross to the next
        theirs = optimizer.run(peer, initial_point=start).point
        ours = trust_region(f, start, max_iter=300, tol=1e-10).q
        assert_allclose(ours, theirs, atol=1e-8)
        assert np.linalg.norm(ours - q) > 0.3


class TestRounding:
    @given(SEEDS)
    def test_solves_the_primal_programme(self, seed):
        """Min sum(u) with -u <= X q <= u and r.q = 1, as it is written."""
        f, r, _ = problem(seed, n_samples=40, n_features=4)
        X = f.X
        n, k = X.shape
        inequalities = np.block([[X, -np.eye(n)], [-X, -np.eye(n)]])
        primal = linprog(
            np.r_[np.zeros(k), np.ones(n)],
            A_ub=inequalities,
            b_ub=np.zeros(2 * n),
            A_eq=np.r_[r, np.zeros(n)][None],
            b_eq=[1.0],
            bounds=[(None, None)] * k + [(0, None)] * n,
        )
        q = round_by_lp(X, r)
        assert_allclose(np.linalg.norm(q), 1)
        assert_allclose(np.abs(X @ q).sum() / (r @ q), primal.fun, rtol=1e-9)

    @given(SEEDS, st.sampled_from([1e-12, 1.0, 1e12]))
    def test_never_raises_the_l1_norm_whatever_the_unit(self, seed, unit):
        f, r, _ = problem(seed, n_samples=40, n_features=4)
        q = round_by_lp(unit * f.X, r)
        assert np.abs(f.X @ q).sum() / (r @ q) <= np.abs(f.X @ r).sum() * (1 + 1e-12)

    def test_finds_the_atom_from_nearby(self, rng):
        X, _, W = make_sparse_coded(400, 10, sparsity=0.2, random_state=0)
        r = W[3] + 0.05 * rng.standard_normal(10)
        assert_allclose(round_by_lp(X, r / np.linalg.norm(r)), W[3], atol=1e-12)

    @pytest.mark.parametrize(
        ("status", "q"),
        [(4, [1.0, 0.0]), (0, [np.nan, 0.0]), (0, [0.5, 0.0]), (0, [1.0, -5.0])],
        ids=["failed", "undefined", "off the plane", "worse than the start"],
    )
    def test_gives_none_where_the_solver_has_no_usable_answer(self, monkeypatch, status, q):
        answer = SimpleNamespace(status=status, eqlin=SimpleNamespace(marginals=np.array(q)))
        monkeypatch.setattr(lp_rounding, "linprog", lambda *args, **options: answer)
        assert round_by_lp(np.array([[0.1, 0.0], [0.0, 2.0], [0.0, 3.0]]), np.array([1.0, 0.0])) is None

    def test_a_direction_without_data_is_found(self):
        X = np.array([[1.0, 0.0], [2.0, 0.0]])
        assert_allclose(round_by_lp(X, np.array([0.6, 0.8])), [0, 1], atol=1e-12)


class TestLogCoshRTR:
    @pytest.mark.parametrize("sparsity", [0.1, 0.3, 0.5])
    def test_recovers_a_dictionary_exactly(self, sparsity):
        X, _, W = make_sparse_coded(800, 12, sparsity=sparsity, random_state=3)
        model = LogCoshRTR(random_state=0).fit(X)
        assert dictionary_error(model.components_, W) < 1e-10
        assert_allclose(model.components_ @ model.components_.T, np.eye(12), atol=1e-12)
        assert model.n_unrounded_ == 0

    def test_more_starts_recover_where_one_does_not(self):
        X, _, W = make_sparse_coded(240, 14, sparsity=0.5, random_state=3)
        assert dictionary_error(LogCoshRTR(random_state=0).fit(X).components_, W) > 0.1
        assert dictionary_error(LogCoshRTR(n_init=10, random_state=0).fit(X).components_, W) < 1e-10

    def test_without_rounding_the_atoms_are_near(self, monkeypatch):
        """The fall back is the trust region's end, off by about mu."""
        monkeypatch.setattr(module, "round_by_lp", lambda X, r: None)
        X, _, W = make_sparse_coded(800, 8, sparsity=0.2, random_state=3)
        model = LogCoshRTR(random_state=0).fit(X)
        assert 1e-6 < dictionary_error(model.components_, W) < 0.05
        assert model.n_unrounded_ == 7

    def test_the_count_of_unrounded_atoms_is_saved(self, monkeypatch, tmp_path):
        monkeypatch.setattr(module, "round_by_lp", lambda X, r: None)
        LogCoshRTR(random_state=0).fit(make_sparse_coded(100, 4, sparsity=0.3, random_state=0)[0]).save(tmp_path / "m")
        assert LogCoshRTR.load(tmp_path / "m").n_unrounded_ == 3

    def test_single_precision_recovers_too(self):
        X, _, W = make_sparse_coded(500, 8, sparsity=0.2, random_state=0)
        model = LogCoshRTR(random_state=0).fit(X.astype(np.float32))
        assert model.components_.dtype == np.float32
        assert dictionary_error(model.components_, W) < 1e-4

    def test_a_callback_sees_the_point_and_stops_the_fit(self):
        X, _, W = make_sparse_coded(400, 6, sparsity=0.2, random_state=0)
        seen = []

        def two_atoms(iterate):
            seen.append(iterate)
            return iterate.stage == "rounding" and iterate.n_iter == 2

        model = LogCoshRTR(callback=two_atoms, random_state=0).fit(X)
        assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)
        assert np.sum(np.abs(model.components_ @ W.T).max(axis=1) > 1 - 1e-9) == 2  # two atoms, and a random rest
        for iterate in seen:
            assert_allclose(np.linalg.norm(iterate.components, axis=1), 1)
        assert [len(iterate.components) for iterate in seen if iterate.stage == "rounding"] == [1, 2]
        assert model.n_iter_ == sum(iterate.stage == "trust region" for iterate in seen)

    def test_stopping_within_an_atom_leaves_an_orthonormal_dictionary(self):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=0)[0]
        model = LogCoshRTR(callback=lambda iterate: iterate.n_iter == 3, random_state=0).fit(X)
        assert model.n_iter_ == 3
        assert_allclose(model.components_ @ model.components_.T, np.eye(6), atol=1e-12)

    def test_warns_when_iterations_run_out(self):
        X = make_sparse_coded(200, 6, sparsity=0.3, random_state=0)[0]
        with pytest.warns(match="LogCoshRTR did not reach tol=1e-06"):
            LogCoshRTR(max_iter=2, random_state=0).fit(X)

    @pytest.mark.parametrize(
        ("wrong", "named"), [({"mu": 0}, "mu"), ({"n_init": 0}, "n_init"), ({"max_iter": 0}, "max_iter")]
    )
    def test_bad_parameters_are_named(self, wrong, named):
        with pytest.raises(ValueError, match=f"The '{named}' parameter of LogCoshRTR"):
            LogCoshRTR(**wrong).fit(np.eye(4))

    def test_few_samples_are_refused(self):
        with pytest.raises(ValueError, match="needs at least as many samples as features"):
            LogCoshRTR().fit(np.ones((3, 5)))
