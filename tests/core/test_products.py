"""Products of kernels against those of numpy."""

import numpy as np
import pytest
from numba import TypingError, njit
from numpy.testing import assert_allclose

from hrpursuit.core.products import _plain, product, product_of_transposed, product_with_transposed


@njit
def _run(A, first, B, C):
    product(A, first, B, C)


@njit
def _run_with_transposed(A, first, B, C):
    product_with_transposed(A, first, B, C)


@njit
def _run_of_transposed(A, first, B, C):
    product_of_transposed(A, first, B, C)


PLAIN = {"run": _plain(False, False), "with": _plain(False, True), "of": _plain(True, False)}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("run", [_run, PLAIN["run"]])
def test_product_from_a_row_on(run, dtype, rng):
    A, B, C = (rng.standard_normal(shape).astype(dtype) for shape in ((9, 4), (4, 3), (5, 3)))
    run(A, 2, B, C)
    assert_allclose(C, A[2:7] @ B, rtol=1e-5)


@pytest.mark.parametrize("run", [_run_with_transposed, PLAIN["with"]])
def test_product_with_a_transposed_matrix(run, rng):
    A, B, C = (rng.standard_normal(shape) for shape in ((9, 4), (3, 4), (5, 3)))
    run(A, 4, B, C)
    assert_allclose(C, A[4:] @ B.T, rtol=1e-12)


@pytest.mark.parametrize("run", [_run_of_transposed, PLAIN["of"]])
def test_product_of_a_transposed_matrix(run, rng):
    A, B, C = (rng.standard_normal(shape) for shape in ((9, 4), (9, 3), (4, 3)))
    run(A, 0, B, C)
    assert_allclose(C, A.T @ B, rtol=1e-12)


def test_matrices_that_blas_would_misread_are_refused(rng):
    A, B, C = rng.standard_normal((3, 4, 4))
    for wrong in (A.T, A.astype(np.float32), A[:, ::2]):
        with pytest.raises(TypingError, match="expected matrices in C order of one dtype"):
            _run(wrong, 0, B, C)
