import numpy as np
from numpy.testing import assert_array_equal

from hrpursuit.core.evaluate import gram_block, sum_block
from hrpursuit.rows import ArrayRows, KeptRows, MappedRows


def positive(X):
    return X[:, 0] > 0


def far(X):
    return np.abs(X[:, 1]) > 1


def test_rows_that_are_kept(rng):
    X = rng.standard_normal((5000, 3))
    chosen = X[positive(X)]
    rows = KeptRows(ArrayRows(X), positive, len(chosen))
    assert_array_equal(np.concatenate(list(rows.blocks())), chosen)
    assert rows.sum(sum_block)[1] == len(chosen)
    np.testing.assert_allclose(rows.sum(gram_block)[0], chosen.T @ chosen)
    assert_array_equal(np.concatenate(list(rows.map(np.negative))), -chosen)
    assert_array_equal(rows.sample(len(X), 0), chosen)
    assert_array_equal(rows.sample(len(X), 0, far), chosen[far(chosen)])


def test_rows_that_are_kept_can_be_mapped(rng):
    X, A = rng.standard_normal((500, 3)), rng.standard_normal((3, 2))
    chosen = X[positive(X)]
    rows = MappedRows(KeptRows(ArrayRows(X), positive, len(chosen)), A)
    np.testing.assert_allclose(rows.sum(gram_block)[0], (chosen @ A).T @ (chosen @ A))
    np.testing.assert_allclose(rows.sample(500, 0), chosen @ A)
