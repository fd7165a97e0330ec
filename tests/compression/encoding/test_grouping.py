"""Columns that read alike are coded together; bases are learned from what there is."""

import numpy as np
import pytest

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.chunks.bases import ADAPTIVE, DICTIONARY, SENT
from hrpursuit.compression.encoding.grouping import make_groups
from hrpursuit.compression.targets import Target

LOSSLESS = Target("lossless", 0.0)


def test_two_families_end_in_different_groups(rng):
    walks = rng.standard_normal((200, 2)).cumsum(axis=0)
    X = walks[:, np.arange(258) % 2] * rng.uniform(0.5, 2, 258) + 0.05 * rng.standard_normal((200, 258))
    X[rng.random(X.shape) < 0.05] = np.nan
    groups = make_groups(list(X.T), LOSSLESS, "adaptive")
    assert np.array_equal(np.sort(np.concatenate([group.columns for group in groups])), np.arange(258))
    assert max(len(group.columns) for group in groups) <= 128
    parities = [set((group.columns % 2).tolist()) for group in groups]
    assert sum(len(parity) == 1 for parity in parities) >= 2  # at most the middle one is mixed


def test_256_columns_are_one_group(rng):
    (group,) = make_groups(list(rng.standard_normal((3, 256)).T), LOSSLESS, "adaptive")
    assert len(group.columns) == 256
    assert group.basis.kind == ADAPTIVE


@pytest.mark.parametrize(
    "target", [{"lossless": True}, {"max_error": 0.5}, {"relative_rmse": 0.05}, {"n_nonzero_coefs": 2}]
)
def test_many_columns_come_back(rng, target):
    X = np.round(rng.standard_normal((12, 3)) @ rng.standard_normal((3, 300)) * 10 + 30, 1)
    X[:, 7] = np.nan
    X[rng.random(X.shape) < 0.02] = np.nan
    Y = decompress(compress(X, effort="fast", **target))
    np.testing.assert_array_equal(np.isnan(Y), np.isnan(X))
    error = np.abs(Y - X)
    if "lossless" in target:
        np.testing.assert_array_equal(X, Y)
    if "max_error" in target:
        assert np.nanmax(error) <= 0.5 + 1e-12  # decimals are judged as such
    assert np.sqrt(np.nansum(error**2) / np.nansum(X**2)) <= (0.3 if "n_nonzero_coefs" in target else 0.05)


@pytest.mark.parametrize(("basis", "n_atoms"), [("dct", [0]), ("pca", [8, 12]), ("hrp", [8, 12])])
def test_bases_are_sent_without_dead_columns(rng, basis, n_atoms):
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 14))
    X[:, [2, 9]] = np.nan
    dead, live = make_groups(list(X.T), Target("relative_rmse", 0.1), basis)
    assert dead.columns.tolist() == [2, 9]
    assert (dead.basis.kind, live.basis.kind) == (ADAPTIVE, SENT)
    assert sorted(live.basis.order.tolist()) == list(range(12))
    assert n_atoms[0] <= len(live.basis.sent) <= n_atoms[-1]


def test_principal_atoms_span_what_the_readings_span(rng):
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 12))
    (group,) = make_groups(list(X.T), Target("relative_rmse", 0.1), "pca")
    leading = group.basis.atoms(12)[:3] / 2.0**24
    left = X - X @ leading.T @ leading
    assert np.linalg.norm(left) < 0.15 * np.linalg.norm(X)  # entries of atoms are ninths


def test_dictionaries_have_unit_atoms_and_as_many_codes_as_asked_for(rng):
    X = rng.standard_normal((100, 6))
    X[:, 4] = np.nan
    dead, live = make_groups(list(X.T), Target("n_nonzero_coefs", 3), "adaptive")
    assert (dead.basis.kind, live.basis.kind) == (ADAPTIVE, DICTIONARY)
    assert live.basis.n_nonzero == 3
    norms = np.linalg.norm(live.basis.dictionary / 2.0**live.basis.precision, axis=1)
    np.testing.assert_allclose(norms, 1, atol=0.05)


@pytest.mark.parametrize("basis", ["adaptive", "hrp", "pca", "dct"])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2), (3, 7), (40, 1)])
def test_tables_of_any_shape_have_a_basis(rng, basis, shape):
    X = rng.standard_normal(shape)
    Y = decompress(compress(X, max_error=0.25, basis=basis))
    assert np.abs(X - Y).max() <= 0.25
