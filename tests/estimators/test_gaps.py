"""Data with gaps: what is not observed has no say, and the dictionary is found all the same."""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit import HRP, MiniBatchHRP, recover_atom, sparse_code
from hrpursuit.baselines import KSVD, MSP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.core.masked_kernels import code_rows
from hrpursuit.estimators import HRPOptions
from hrpursuit.metrics import dictionary_error, masked_rmse
from hrpursuit.rows import open_rows
from hrpursuit.schemes.free import T0_FREE
from hrpursuit.schemes.gaps import T0_GAPS

N_NONZERO = 3


def make(n_samples=600, n_features=15, share=0.15, seed=0, noise=0.0):
    """Samples of exactly N_NONZERO codes with gaps at random places, the same without gaps, the dictionary."""
    rng = np.random.default_rng(seed)
    W = random_orthogonal(n_features, rng)
    order = rng.random((n_samples, n_features)).argsort(axis=1)
    whole = (rng.standard_normal(order.shape) * (order < N_NONZERO)) @ W + noise * rng.standard_normal(order.shape)
    return np.where(rng.random(whole.shape) < share, np.nan, whole), whole, W


X, WHOLE, W_TRUE = make()
OBSERVED = ~np.isnan(X)


@pytest.fixture(scope="module")
def model():
    return HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(X)


class TestLearning:
    @pytest.mark.parametrize("share", [0.1, 0.2])
    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_the_dictionary_is_recovered_through_gaps(self, share, dictionary):
        gappy, whole, W = make(share=share, seed=1)
        found = HRP(n_nonzero_coefs=N_NONZERO, dictionary=dictionary, random_state=0).fit(gappy)
        assert dictionary_error(found.components_, W) < 1e-8
        back = found.inverse_transform(found.transform(gappy))
        assert masked_rmse(gappy, back) < 1e-8
        filled_in = np.isclose(back, whole, atol=1e-6)[np.isnan(gappy)]
        assert filled_in.mean() > 0.9  # exactly sparse rows say what is missing, mostly

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    @pytest.mark.parametrize("seed", range(3))
    def test_the_error_on_what_is_observed_never_rises(self, dictionary, seed):
        gappy = make(200, 10, 0.3, seed, noise=0.3)[0]
        errors, orthogonal = [], []

        def look(iterate):
            if iterate.stage == (T0_GAPS if dictionary == "orthogonal" else T0_FREE):
                errors.append(iterate.value)
                W = iterate.components
                orthogonal.append(np.abs(W @ W.T - np.eye(len(W))).max())

        found = HRP(n_nonzero_coefs=2, dictionary=dictionary, random_state=seed, callback=look).fit(gappy)
        assert len(errors) >= 10
        assert (np.diff(errors) <= 1e-12).all()
        assert errors[-1] < 0.97 * found.stages_[-1].objective_before
        assert found.stages_[-1].objective_after == errors[-1]
        if dictionary == "orthogonal":
            assert max(orthogonal) < 1e-12
        assert found.reconstruction_error(gappy) < 1.02 * errors[-1]  # codes found anew are as good

    def test_better_than_with_the_gaps_filled(self):
        gappy = make(400, 12, 0.2, 3, noise=0.05)[0]
        filled = np.where(np.isnan(gappy), np.nanmean(gappy, axis=1, keepdims=True), gappy)
        ours, plain = (HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(data) for data in (gappy, filled))
        assert ours.reconstruction_error(gappy) < 0.9 * plain.reconstruction_error(gappy)

    def test_rounds_are_an_option_and_a_callback_stops(self):
        few = HRP(n_nonzero_coefs=2, options=HRPOptions(gap_rounds=2), random_state=0).fit(
            make(200, 8, 0.3, noise=0.3)[0]
        )
        assert few.stages_[-1].n_iter == 2
        seen = []

        def stop(iterate):
            seen.append(iterate.stage)
            return iterate.stage == T0_GAPS and iterate.n_iter == 3

        HRP(n_nonzero_coefs=2, random_state=0, callback=stop).fit(make(200, 8, 0.3, noise=0.3)[0])
        assert seen.count(T0_GAPS) == 3

    def test_the_same_seed_gives_the_same_dictionary(self, model):
        assert_array_equal(HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(X).components_, model.components_)

    def test_paper_scheme_fills_with_row_means(self):
        filled = np.where(OBSERVED, X, np.nanmean(X, axis=1, keepdims=True))
        for settings in ({"scheme": "paper"}, {"n_nonzero_coefs": 3, "scheme": "paper"}, {}):
            gappy, plain = (HRP(**settings, random_state=0).fit(data) for data in (X, filled))
            assert_allclose(gappy.components_, plain.components_, atol=1e-12)

    def test_whole_data_is_learned_from_as_ever(self):
        found = HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(WHOLE)
        assert T0_GAPS not in [stage.name for stage in found.stages_]
        assert found.certificate_


class TestCodes:
    @given(seed=st.integers(0, 2**31), share=st.floats(0, 0.9), n_nonzero=st.integers(1, 8))
    def test_codes_are_least_squares_on_the_observed_entries(self, seed, share, n_nonzero):
        rng = np.random.default_rng(seed)
        W, data = random_orthogonal(8, rng), rng.standard_normal((5, 8))
        data[rng.random(data.shape) < share] = np.nan
        for x, code in zip(data, sparse_code(data, W, n_nonzero), strict=True):
            seen, used = ~np.isnan(x), np.flatnonzero(code)
            assert len(used) <= n_nonzero
            residual = (x - code @ W)[seen]
            assert_allclose(W[np.ix_(used, seen)] @ residual, 0, atol=1e-9)
            if not seen.all():
                assert n_nonzero < seen.sum() or np.linalg.norm(residual) <= 1e-3 * np.linalg.norm(x[seen])

    @given(seed=st.integers(0, 2**31), n_nonzero=st.integers(1, 3))
    def test_no_exchange_of_two_atoms_is_better(self, seed, n_nonzero):
        rng = np.random.default_rng(seed)
        W, x = random_orthogonal(7, rng), rng.standard_normal(7)
        x[:2] = np.nan
        code = sparse_code(x[None], W, n_nonzero)[0]
        used, A = set(np.flatnonzero(code)), W[:, 2:]

        def error(atoms):
            return np.linalg.norm(x[2:] - A[atoms].T @ np.linalg.lstsq(A[atoms].T, x[2:], rcond=None)[0])

        found = error(sorted(used))
        for out in used:
            for new in set(range(7)) - used:
                if np.linalg.norm(A[new]) > 0.1:
                    assert found <= error(sorted(used - {out} | {new})) + 1e-6

    @given(seed=st.integers(0, 2**31), n_nonzero=st.integers(1, 6), unit=st.sampled_from([2.0**-700, 1.0, 2.0**500]))
    def test_rows_without_gaps_are_coded_as_ever_and_units_do_not_matter(self, seed, n_nonzero, unit):
        rng = np.random.default_rng(seed)
        W, data = random_orthogonal(6, rng), rng.standard_normal((6, 6))
        gappy = data.copy()
        gappy[::2, 1:3] = np.nan
        codes = sparse_code(gappy, W, n_nonzero)
        assert_array_equal(codes[1::2], sparse_code(data, W, n_nonzero)[1::2])
        assert_array_equal(sparse_code(unit * gappy, W, n_nonzero), unit * codes)

    @given(seed=st.integers(0, 2**31), hidden=st.floats(-1e6, 1e6), greedy=st.booleans())
    def test_what_is_under_the_mask_has_no_say(self, seed, hidden, greedy):
        rng = np.random.default_rng(seed)
        W, data, observed = random_orthogonal(6, rng), rng.standard_normal((4, 6)), rng.random((4, 6)) < 0.7
        found = []
        for values in (np.where(observed, data, 0.0), np.where(observed, data, hidden)):
            S, errors = np.zeros((4, 6)), np.full(4, np.inf)
            code_rows(values, observed, W, np.where(observed, data, 0.0) @ W.T, S, errors, 2, greedy, 10, 10, 0)
            found += [S, errors]
        assert_array_equal(found[0], found[2])
        assert_array_equal(found[1], found[3])
        assert_allclose(found[1], (((data - found[0] @ W) * observed) ** 2).sum(axis=1), atol=1e-12)

    def test_a_complete_dictionary_of_any_scale(self, rng):
        W = rng.standard_normal((6, 6)) + 2 * np.eye(6)
        codes = np.zeros((50, 6))
        codes[np.arange(50), rng.integers(0, 6, 50)] = rng.standard_normal(50)
        data = codes @ W
        data[rng.random(data.shape) < 0.2] = np.nan
        found = sparse_code(data, W, 1)
        rich = (~np.isnan(data)).sum(axis=1) > 2  # or one atom is as good as another
        assert_allclose(found[rich], codes[rich], atol=1e-9)
        assert_allclose(sparse_code(data, 100 * W, 1), found / 100, atol=1e-11)

    def test_without_a_number_gaps_are_the_mean_of_the_row(self, model):
        x = X[:1]
        filled = np.where(np.isnan(x), np.nanmean(x), x)
        assert np.isnan(x).any()
        assert_allclose(sparse_code(x, model.components_), filled @ model.components_.T, atol=1e-12)
        assert_allclose(
            sparse_code(x, model.components_, threshold=0.5),
            sparse_code(filled, model.components_, threshold=0.5), atol=1e-12
        )  # fmt: skip

    def test_a_threshold_is_kept_as_well(self, model):
        codes = sparse_code(X, model.components_, N_NONZERO, threshold=0.3)
        assert (np.abs(codes[codes != 0]) >= 0.3).all()
        assert (codes != 0).any()

    def test_score_counts_what_is_observed(self, model):
        noisy = np.where(OBSERVED, X + 0.1 * np.random.default_rng(0).standard_normal(X.shape), np.nan)
        back = model.inverse_transform(model.transform(noisy))
        assert_allclose(model.reconstruction_error(noisy), masked_rmse(noisy, back), rtol=1e-6)


class TestNothingObserved:
    def test_in_rows(self, model):
        blank = X.copy()
        blank[::7] = np.nan
        found = HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(blank)
        assert dictionary_error(found.components_, W_TRUE) < 1e-6
        codes = found.transform(blank)
        assert not codes[::7].any()
        assert np.count_nonzero(codes[1::7], axis=1).min() >= 1

    def test_in_columns(self):
        blank = make(400, 10, 0.1, noise=0.1)[0]
        blank[:, [2, 7]] = np.nan
        for n_nonzero in (None, 2):
            found = HRP(n_nonzero_coefs=n_nonzero, random_state=0).fit(blank)
            assert_allclose(found.components_ @ found.components_.T, np.eye(10), atol=1e-12)
            assert np.isfinite(found.transform(blank)).all()
        with pytest.raises(
            ValueError, match=r'"complete" needs features that are observed somewhere; columns.*: 3, 8\. Remove'
        ):
            HRP(dictionary="complete").fit(blank)
        free = HRP(n_nonzero_coefs=2, dictionary="complete", random_state=0).fit(blank)
        assert_array_equal(free.components_[:, [2, 7]], 0)
        assert_allclose(np.linalg.norm(free.components_, axis=1), 1, atol=1e-12)
        assert np.isfinite(free.encoder_).all()
        assert free.reconstruction_error(blank) < 0.98 * found.reconstruction_error(blank)

    def test_anywhere(self, model):
        with pytest.raises(ValueError, match="all entries of X are NaN"):
            HRP(n_nonzero_coefs=2).fit(np.full((20, 4), np.nan))
        assert not model.transform(np.full((2, 15), np.nan)).any()
        assert model.reconstruction_error(np.full((2, 15), np.nan)) == 0


class TestInterface:
    def test_tags(self):
        assert HRP().__sklearn_tags__().input_tags.allow_nan
        assert not MiniBatchHRP().__sklearn_tags__().input_tags.allow_nan
        assert not KSVD(n_nonzero_coefs=2).__sklearn_tags__().input_tags.allow_nan

    def test_pandas(self, model):
        frame = pd.DataFrame(X, columns=[f"s{i}" for i in range(15)], index=pd.date_range("2024", periods=len(X)))
        found = HRP(n_nonzero_coefs=N_NONZERO, random_state=0).set_output(transform="pandas").fit(frame)
        assert_allclose(found.components_, model.components_, atol=1e-10)
        codes = found.transform(frame)
        assert_allclose(codes.to_numpy(), model.transform(X), atol=1e-10)
        assert codes.index.equals(frame.index)
        assert_allclose(found.transform(frame.convert_dtypes()), codes, atol=1e-10)

    def test_float32(self, model):
        found = HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(X.astype(np.float32))
        assert found.components_.dtype == np.float32
        assert dictionary_error(found.components_, W_TRUE) < 1e-5
        codes = found.transform(X.astype(np.float32))
        assert codes.dtype == np.float32
        assert masked_rmse(X, found.inverse_transform(codes)) < 1e-4

    def test_saved_and_loaded(self, model, tmp_path):
        model.save(tmp_path / "m.npz")
        assert_array_equal(HRP.load(tmp_path / "m.npz").transform(X), model.transform(X))

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of K-SVD, which has two iterations
    @pytest.mark.parametrize(
        "other", [MiniBatchHRP(n_nonzero_coefs=2), MSP(n_nonzero_coefs=2), KSVD(n_nonzero_coefs=2, max_iter=1)]
    )
    def test_others_refuse_gaps_and_say_who_takes_them(self, other):
        words = r"X: \d+ values are NaN or missing, the first in row 1, column 3; fill .*of HRP take gaps"
        with pytest.raises(ValueError, match=words):
            other.fit(X)
        with pytest.raises(ValueError, match=words):
            other.fit(WHOLE).transform(X)

    def test_infinities_are_refused(self, model, tmp_path):
        spoiled = X.copy()
        spoiled[40, 3] = np.inf
        for use in (
            HRP(n_nonzero_coefs=2).fit,
            model.transform,
            model.reconstruction_error,
            lambda data: sparse_code(data, W_TRUE, 2),
        ):
            with pytest.raises(ValueError, match="X: 1 value is infinite, the first in row 41, column 4"):
                use(spoiled)
        np.save(tmp_path / "x.npy", spoiled)
        for use in (lambda path: list(model.transform(path)), model.reconstruction_error):
            with pytest.raises(ValueError, match="1 value is infinite, the first in row 41, column 4"):
                use(tmp_path / "x.npy")
        with pytest.raises(ValueError, match="row 41, column 4"):
            model.transform(da.from_array(spoiled, chunks=(100, -1))).compute()

    def test_the_certificate_needs_whole_rows(self, model):
        with pytest.raises(ValueError, match=r"fill the gaps or leave out such rows \(fit, transform and score of HRP"):
            model.certify(X)


def frames():
    """The table X with its gaps, in all forms that mark what is missing."""
    names = [f"s{i}" for i in range(15)]
    frame = pd.DataFrame(X, columns=names)
    columns = {name: [None if np.isnan(v) else v for v in column] for name, column in zip(names, X.T, strict=True)}
    yield "masked array", np.ma.masked_array(np.where(OBSERVED, X, 1e6), ~OBSERVED)
    yield "NA of pandas", frame.convert_dtypes()
    yield "pandas on Arrow", pd.DataFrame({name: pd.array(c, "double[pyarrow]") for name, c in columns.items()})
    yield "polars", pl.DataFrame(columns)
    yield "Arrow table", pa.table(columns)
    yield "Arrow batch", pa.record_batch(columns)


class TestFormsOfGaps:
    @pytest.mark.parametrize(("form", "data"), list(frames()), ids=[form for form, _ in frames()])
    def test_are_gaps_everywhere(self, form, data, model):
        found = HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(data)
        assert_allclose(found.components_, model.components_, atol=1e-12)
        assert hasattr(found, "feature_names_in_") == (form != "masked array")
        assert_allclose(found.transform(data), model.transform(X), atol=1e-10)
        assert found.reconstruction_error(data) == pytest.approx(model.reconstruction_error(X), abs=1e-10)
        assert_allclose(sparse_code(data, W_TRUE, 2), sparse_code(X, W_TRUE, 2), atol=1e-12)
        assert_array_equal(open_rows(data).X, X)
        for use in (MSP().fit, MiniBatchHRP().fit, MiniBatchHRP().partial_fit, found.certify, recover_atom):
            with pytest.raises(ValueError, match="NaN or missing, the first in row 1, column"):
                use(data)

    def test_whole_numbers_with_gaps(self):
        whole = np.round(10 * WHOLE)
        gappy = np.where(OBSERVED, whole, np.nan)
        columns = {f"s{i}": [None if np.isnan(v) else int(v) for v in column] for i, column in enumerate(gappy.T)}
        masked = np.ma.masked_array(whole.astype(int), ~OBSERVED)
        nullable = pd.DataFrame({name: pd.array(column, "Int64") for name, column in columns.items()})
        for data in (masked, nullable, pl.DataFrame(columns), pa.table(columns), pa.record_batch(columns)):
            assert_array_equal(sparse_code(data, W_TRUE), sparse_code(gappy, W_TRUE))
            assert_array_equal(open_rows(data).X, gappy)

    def test_truth_values_with_gaps(self):
        columns = {"a": [True, None, False], "b": [None, None, None]}
        for data in (pa.table(columns), pl.DataFrame(columns)):
            assert_array_equal(open_rows(data).X, [[1, np.nan], [np.nan, np.nan], [0, np.nan]])

    def test_single_precision_stays(self, model):
        masked = np.ma.masked_array(WHOLE.astype(np.float32), ~OBSERVED)
        assert model.transform(masked).dtype == open_rows(masked).dtype == np.float32

    def test_in_chunks_of_dask_and_blocks_of_functions(self, model):
        masked = np.ma.masked_array(np.where(OBSERVED, X, 1e6), ~OBSERVED)
        chunks = da.from_array(masked, chunks=(100, -1), asarray=False)
        assert_allclose(model.transform(chunks).compute(), model.transform(X), atol=1e-12)
        assert_array_equal(np.concatenate(list(model.transform(lambda: iter([masked])))), model.transform(X))
        with pytest.raises(ValueError, match="NaN or missing, the first in row 1, column 3"):
            MSP().fit(chunks)

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of K-SVD, which has two iterations
    @pytest.mark.parametrize("other", [KSVD(n_nonzero_coefs=2, max_iter=2), MSP(n_nonzero_coefs=2)])
    def test_codes_of_files_with_gaps_are_refused_however_rows_are_coded(self, other, tmp_path):
        """Orthogonal matching pursuit gave codes without a NaN for them."""
        np.save(tmp_path / "x.npy", X)
        other.fit(WHOLE)
        for use in (lambda path: list(other.transform(path)), other.reconstruction_error):
            with pytest.raises(ValueError, match=r"x.npy: \d+ values are NaN or missing, the first in row 1, column 3"):
                use(tmp_path / "x.npy")


class TestOutsideMemory:
    def test_learning_says_that_it_needs_memory(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        for data in (tmp_path / "x.npy", da.from_array(X, chunks=(100, -1))):
            with pytest.raises(ValueError, match=r"row 1, column \d+; fill the gaps.*HRP learns from gaps in memory"):
                HRP(n_nonzero_coefs=2).fit(data)

    def test_rows_of_an_array_are_in_memory(self, model):
        assert_array_equal(
            HRP(n_nonzero_coefs=N_NONZERO, random_state=0).fit(open_rows(X)).components_, model.components_
        )

    def test_codes_stream(self, model, tmp_path):
        np.save(tmp_path / "x.npy", X)
        expected = model.transform(X)
        assert_array_equal(np.concatenate(list(model.transform(tmp_path / "x.npy"))), expected)
        model.transform(tmp_path / "x.npy", out=tmp_path / "codes.npy")
        assert_array_equal(np.load(tmp_path / "codes.npy"), expected)
        assert_allclose(model.transform(da.from_array(X, chunks=(100, -1))).compute(), expected, atol=1e-12)
        assert model.reconstruction_error(tmp_path / "x.npy") == pytest.approx(model.reconstruction_error(X), abs=1e-10)
