"""Rows that once led a fit astray; each docstring says how."""

import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.schemes.evidence import distinct_live


@pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
@pytest.mark.parametrize("repeated", ["a sample", "zeros"])
def test_offset_with_one_row_for_half_of_all(dictionary, repeated):
    """Differences are taken before copies are left out, and `offset_row` counts the copies."""
    X, _, A = make_sparse_coded(1000, 20, sparsity=0.2, dictionary=dictionary, random_state=0)
    rng = np.random.default_rng(0)
    offset = rng.uniform(1, 3, 20)
    X = X + offset
    X[rng.permutation(1000)[:500]] = X[3] if repeated == "a sample" else 0
    found = HRP(fit_intercept=True, dictionary=dictionary, random_state=0).fit(X)
    assert dictionary_error(found.components_, A) < 1e-11
    assert_allclose(found.intercept_, offset, atol=1e-12)


def test_atoms_are_ordered_by_the_codes_without_the_offset():
    """`canonical_order` in HRP._learn sees the sample with its offset."""
    X, _, _ = make_sparse_coded(600, 12, sparsity=0.2, random_state=0)
    offset = np.random.default_rng(0).uniform(2, 8, 12)
    plain, found = HRP(random_state=0).fit(X), HRP(fit_intercept=True, random_state=0).fit(X + offset)
    assert dictionary_error(found.components_, plain.components_) < 1e-12
    assert_allclose(found.components_, plain.components_, atol=1e-12)


@pytest.mark.parametrize("n_nonzero", [2, 6])
def test_offset_with_gaps_is_that_of_the_observed_entries(n_nonzero):
    """The orthogonal scheme takes the mean of the table filled with row means; free atoms do not."""
    X, _, _ = make_sparse_coded(600, 12, sparsity=0.2, random_state=1)
    rng = np.random.default_rng(1)
    X = X + rng.uniform(2, 8, 12)
    X[rng.random(X.shape) < 0.1] = np.nan
    found = HRP(n_nonzero_coefs=n_nonzero, fit_intercept=True, random_state=1).fit(X)
    assert np.abs(found.intercept_ - np.nanmean(X, axis=0)).max() < 0.15
    assert found.reconstruction_error(X) < HRP(n_nonzero_coefs=n_nonzero, random_state=1).fit(X).reconstruction_error(X)


@pytest.mark.parametrize("seed", [0, 2])
def test_two_atoms_that_always_go_together(seed):
    """The other eight atoms are exact at the first look, but the pair stays unstationary: after
    32000 steps (10 s) the finish by likelihood takes over, and most exact zeros are lost (70% of the codes, then 14%).
    """
    rng = np.random.default_rng(seed)
    W = random_orthogonal(10, rng)
    on = rng.random((2000, 10)) < 0.3
    on[:, 7] = on[:, 2]
    X = (rng.standard_normal((2000, 10)) * on * np.linspace(1, 4, 10)) @ W
    since = time.process_time()
    found = HRP(random_state=seed).fit(X)
    assert time.process_time() - since < 5
    zeros = (np.abs(found.transform(X)) < 1e-9).mean(axis=0)
    assert zeros.min() > 0.6
    exact = np.delete(W, [2, 7], axis=0)
    cosines = np.abs(exact @ found.components_.T).max(axis=1)
    assert_allclose(cosines, 1, atol=1e-12)


def test_sparsity_by_atom_and_an_orthogonal_dictionary():
    """Nothing is settled in 14000 steps: even at the truth `is_ordered` says no, as the shares of
    small codes differ too much for `is_even(0.4)`: .476 where .491 is needed. The finish by likelihood ends at 8e-7.
    """
    rng = np.random.default_rng(0)
    W = make_sparse_coded(1, 50, sparsity=0.2, random_state=0)[2]
    codes = rng.standard_normal((500, 50)) * (rng.random((500, 50)) < np.linspace(0.02, 0.6, 50))
    found = HRP(random_state=0).fit(codes @ W)
    assert dictionary_error(found.components_, W) < 1e-11


@pytest.mark.parametrize("constant", [0.0, 5.0, 3.7, -0.1])
def test_a_constant_feature_and_a_complete_dictionary_with_offset(constant):
    """A feature of zeros is refused; a constant one, of which nothing is left without the offset, is
    not, and the dictionary is singular (condition 3e16). `check_full_rank` sees the samples with their offset.
    """
    X = make_sparse_coded(400, 8, sparsity=0.2, dictionary="complete", random_state=0)[0] + np.arange(1, 9)
    X = np.insert(X, 3, constant, axis=1)
    with pytest.raises(ValueError, match=r"linearly dependent|rank|zero|constant"):
        HRP(dictionary="complete", fit_intercept=True, random_state=0).fit(X)


@pytest.mark.parametrize("n_rows", [10, 1001])
def test_copies_in_float32(n_rows):
    """The rounding of a float32 product exceeds _SAME = 1e-9: 1 to 2 copies are left in half of all
    cases.
    """
    for seed in range(20):
        row = np.random.default_rng(seed).standard_normal((1, 20)).astype(np.float32)
        assert_array_equal(distinct_live(np.tile(row, (n_rows, 1))), [0])


def test_rounded_rows_are_not_searched_for_long():
    """Data rounded to some 5 to 20 steps per rms is taken to have exact atoms: 1.8 s for 300 x 20
    instead of .1, and the advice to raise n_init.
    """
    X = make_sparse_coded(300, 20, sparsity=0.2, random_state=0)[0]
    found = HRP(random_state=0).fit(np.round(10 * X))
    assert sum(stage.n_iter for stage in found.stages_ if stage.name == "search") < 10_000


@pytest.mark.parametrize("settings", [{}, {"fit_intercept": True}, {"n_nonzero_coefs": 1}])
def test_rows_of_very_different_size_do_not_overflow(settings):
    """Squares of the small rows vanished: division by zero, and units of densities that overflowed."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = 10.0 ** rng.uniform(-150, 80, (8, 3)) * rng.choice([-1, 0, 1], (8, 3))
        found = HRP(random_state=0, **settings).fit(X)
        assert_allclose(found.components_ @ found.components_.T, np.eye(3), atol=1e-12)
