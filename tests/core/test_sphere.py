import numpy as np
import pytest
from numpy.testing import assert_allclose

from hrpursuit import recover_atom
from hrpursuit.core.sphere import _normal_of, in_good_subset, polish_atom, random_on_sphere, two_stages_on_sphere
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.rows import ArrayRows


@pytest.mark.parametrize("n", [5, 20, 100, 500])
def test_half_of_all_starts_lie_in_a_good_subset(n, rng):
    """Section IV-D: with zeta = 1 / (5 log N) a uniform start is in a good subset at least half of the time."""
    starts = random_on_sphere(20_000, n, rng)
    share = in_good_subset(starts, 1 / (5 * np.log(n))).mean()
    assert share - 4 * 0.5 / np.sqrt(20_000) > 0.5
    assert share < 1  # and not always, so the test can fail


def test_good_subset_is_the_ratio_of_the_two_largest_squares():
    D = np.array([[0.8, 0.6, 0.0], [0.71, -0.70, 0.0]])
    assert in_good_subset(D, (0.8 / 0.6) ** 2 - 1 - 1e-9).tolist() == [True, False]


def test_power_iterates_stay_in_their_good_subset(rng):
    """With the identity as dictionary, a start that is largest at n ends at the atom n."""
    X = make_sparse_coded(50_000, 10, sparsity=0.1, random_state=0)[1]
    starts = random_on_sphere(200, 10, rng)
    good = in_good_subset(starts, 1 / (5 * np.log(10)))
    ends = two_stages_on_sphere(ArrayRows(X), starts)
    same = np.abs(starts).argmax(axis=1) == np.abs(ends).argmax(axis=1)
    assert same[good].mean() > 0.9 > same[~good].mean()


def test_recovered_atom_is_exact():
    X, _, W = make_sparse_coded(5000, 15, sparsity=0.2, random_state=1)
    found = recover_atom(X, n_init=10, random_state=0)
    cosines = W @ found.atom
    assert np.abs(np.abs(cosines).max() - 1) < 1e-13
    assert_allclose(np.linalg.norm(found.atom), 1)
    assert 1 <= found.n_agreed <= found.n_init == 10
    assert_allclose(found.objective, np.abs(X @ found.atom).mean())


@pytest.mark.parametrize("seed", [13, 17, 26, 28, 30, 33, 44, 47, 50, 55])
def test_recovered_atom_is_exact_where_many_rows_are_zero(seed):
    """A third of these rows are zeros, which say nothing: the atoms ended at an error of 4e-9 on their account."""
    X, _, W = make_sparse_coded(4000, 10, sparsity=0.1, random_state=seed)
    atom = recover_atom(X, random_state=seed).atom
    assert min(np.linalg.norm(W - atom, axis=1).min(), np.linalg.norm(W + atom, axis=1).min()) < 1e-12


def test_restarts_that_agree_are_counted():
    X = make_sparse_coded(3000, 2, sparsity=0.2, random_state=1)[0]
    assert recover_atom(X, n_init=40, random_state=0).n_agreed in range(8, 33)  # two atoms share the restarts


def test_recover_atom_keeps_float32_and_any_scale():
    X, _, W = make_sparse_coded(5000, 10, sparsity=0.2, random_state=1)
    found = recover_atom((1e3 * X).astype("f4"), random_state=0)
    assert found.atom.dtype == np.float32
    assert np.abs(np.abs(W @ found.atom).max() - 1) < 1e-6


def test_polish_does_not_leave_for_another_atom(rng):
    X, w = rng.standard_normal((300, 6)), np.eye(6)[0]
    assert abs(polish_atom(X, w, 1e-9) @ w) > 0.7


@pytest.mark.parametrize(
    ("X", "message"),
    [(np.zeros((30, 3)), "no entry other than zero"), (np.ones((3, 5)), "at least as many samples as features")],
)
def test_recover_atom_refuses_what_has_no_atom(X, message):
    with pytest.raises(ValueError, match=message):
        recover_atom(X)


@pytest.mark.parametrize(("second", "is_one"), [(1e-3, True), (5e-8, True), (5e-9, False), (0.0, False)])
def test_rows_leave_one_direction_open_by_their_second_eigenvalue_relative_to_the_largest(second, is_one):
    normal = _normal_of(np.diag(np.sqrt([1.0] * 8 + [second, 0.0])))  # the largest is 1, the trace 8
    assert (normal is not None) == is_one
    if is_one:
        assert_allclose(np.abs(normal), np.eye(10)[-1], atol=1e-8)
