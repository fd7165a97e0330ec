"""Whatever the table: a bound is never exceeded, no loss means bit for bit, an RMSE is kept, gaps stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hrpursuit.compression import compress, decompress

TYPES = ["f8", "f4", "f2", "i8", "u8", "i4", "i2", "u1", "?"]


@st.composite
def tables(draw):
    """Walks, noise, constants, spikes, decimals of every scale, odd floats; with gaps where there can be any."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_columns = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["walk", "noise", "constant", "spikes", "cycle", "wide", "any float", "integers"]))
    shape = n_rows, n_columns
    if kind == "any float":
        dtype = draw(st.sampled_from(["f8", "f4", "f2"]))
        floats = st.floats(width=8 * np.dtype(dtype).itemsize, allow_nan=True, allow_infinity=True)
        return draw(hnp.arrays(dtype, shape, elements=floats))
    if kind == "integers":
        return draw(hnp.arrays(draw(st.sampled_from(TYPES[3:])), shape))
    X = {
        "walk": lambda: rng.standard_normal(shape).cumsum(axis=0),
        "noise": lambda: rng.standard_normal(shape),
        "constant": lambda: np.full(shape, rng.standard_normal()),
        "spikes": lambda: (rng.random(shape) < 0.1) * rng.standard_cauchy(shape),
        "cycle": lambda: np.sin(np.arange(n_rows) / 4)[:, None] * rng.random(n_columns),
        "wide": lambda: 10.0 ** rng.uniform(-12, 12, shape),
    }[kind]()
    with np.errstate(over="ignore"):
        X = X * 10.0 ** draw(st.integers(-8, 8) | st.sampled_from([-320, -300, -150, 150, 290])) + draw(
            st.sampled_from([0.0, 0.0, 1013.0, -1e6])
        )
    decimals = draw(st.sampled_from([None, 0, 1, 2, 5]))
    if decimals is not None:
        X = np.round(X, decimals)
    X[rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 0.7, 1.0]))] = np.nan
    with np.errstate(over="ignore", under="ignore"):
        return X.astype(draw(st.sampled_from(["f8", "f8", "f4"])))


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def observed(X):
    return np.isfinite(X) if X.dtype.kind == "f" else np.ones(X.shape, bool)


def largest_error(X, Y):
    seen = observed(X)
    if X.dtype.kind in "iu":
        return max((abs(int(a) - int(b)) for a, b in zip(X.flat, Y.flat, strict=True)), default=0)
    if X.dtype.kind == "b":
        return float((X != Y).any())
    return np.abs(X[seen].astype(float) - Y[seen].astype(float)).max(initial=0.0)


def rounding(X):
    """Four units of the last place of the largest value; of doubles that are floats of single precision, of these."""
    if X.dtype.kind != "f":
        return 0
    largest = np.abs(X[observed(X)]).max(initial=0)
    with np.errstate(all="ignore"):
        unit = float(np.spacing(largest.astype("f4") if X.dtype == "f8" and largest < 1e38 else largest))
    return 4 * unit if np.isfinite(unit) else 0


@settings(max_examples=300)
@given(tables())
def test_no_loss_is_bit_for_bit(X):
    assert same_bits(decompress(compress(X, lossless=True)), X)


@settings(max_examples=1000)
@given(tables(), st.sampled_from([5e-324, 1e-300, 1e-6, 1e-3, 0.1, 0.3, 0.5, 1, 2, 5, 12.5, 1000, 1e308]))
def test_a_bound_is_never_exceeded(X, max_error):
    Y = decompress(compress(X, max_error=max_error, effort="fast"))
    assert Y.dtype == X.dtype
    assert np.array_equal(observed(Y), observed(X))
    np.testing.assert_array_equal(X[~observed(X)], Y[~observed(X)])
    assert largest_error(X, Y) <= max_error * (1 + 1e-9) + min(
        rounding(X), 1e-3 * max_error
    )  # decimals are judged as such


@pytest.mark.filterwarnings("ignore:relative_rmse counts")  # columns may be of any size
@settings(max_examples=150)
@given(tables(), st.sampled_from([1e-9, 1e-4, 0.01, 0.05, 0.3, 0.9]))
def test_an_rmse_is_kept(X, rmse):
    Y = decompress(compress(X, relative_rmse=rmse, effort="fast"))
    seen = observed(X)
    np.testing.assert_array_equal(X[~seen], Y[~seen])
    x, y = X[seen].astype(float), Y[seen].astype(float)
    unit = np.abs(x).max(initial=0.0) or 1.0
    assert np.linalg.norm((x - y) / unit) <= rmse * np.linalg.norm(x / unit) * (1 + 1e-9)


@settings(max_examples=40)
@given(tables(), st.integers(1, 4))
def test_sparse_codes_come_back_with_gaps_and_type(X, n_nonzero):
    Y = decompress(compress(X, n_nonzero_coefs=min(n_nonzero, X.shape[1])))
    assert Y.dtype == X.dtype
    np.testing.assert_array_equal(X[~observed(X)], Y[~observed(X)])


@pytest.mark.parametrize("n_nonzero", [2, 5])
def test_all_coefficients_leave_almost_nothing(rng, n_nonzero):
    codes = rng.standard_normal((200, 5)) * (np.argsort(rng.random((200, 5)), axis=1) < n_nonzero)
    X = codes @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    X[rng.random(X.shape) < 0.05] = np.nan
    Y = decompress(compress(X, n_nonzero_coefs=n_nonzero))
    assert np.nansum((X - Y) ** 2) < 1e-4 * np.nansum(X**2)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1.79e308])
@pytest.mark.parametrize("rmse", [0.001, 0.1, 0.5])
def test_an_rmse_at_the_ends_of_floats(rng, scale, rmse):
    X = rng.uniform(-1, 1, (100, 2)) * scale
    Y = decompress(compress(X, relative_rmse=rmse))
    assert np.linalg.norm(X / scale - Y / scale) <= rmse * np.linalg.norm(X / scale) * (1 + 1e-9)
