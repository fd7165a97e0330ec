"""The online estimator: what it promises to those who feed it a stream."""

import dataclasses
import json
import pickle
import subprocess
import sys

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from sklearn import clone
from sklearn.exceptions import NotFittedError

from hrpursuit import HRP, MiniBatchHRP
from hrpursuit.core.manifolds import random_orthogonal
from hrpursuit.datasets import make_sensor_network, make_sparse_coded
from hrpursuit.metrics import dictionary_error
from hrpursuit.rows import open_rows

ONES = ("orthogonal", "complete")


def codes(n_rows, n, rng, sparsity=0.2):
    return rng.standard_normal((n_rows, n)) * (rng.random((n_rows, n)) < sparsity)


def feed(model, X, size=100):
    for start in range(0, len(X), size):
        model.partial_fit(X[start : start + size])
    return model


def changing_stream(n=6, seed=0):
    """Exactly sparse, then of another dictionary, then noisy: the learner goes through most of its modes."""
    rng = np.random.default_rng(seed)
    first, second = random_orthogonal(n, rng), random_orthogonal(n, rng)
    parts = [codes(700, n, rng) @ first, codes(1000, n, rng) @ second]
    parts.append(codes(1000, n, rng) @ second + 0.05 * rng.standard_normal((1000, n)))
    return np.concatenate([*parts, rng.laplace(size=(800, n))])


def same(a, b):
    """Whether two models are alike, bit for bit."""
    assert_array_equal(a.components_, b.components_)
    assert_array_equal(a.encoder_, b.encoder_)
    assert (a.drift_, a.n_changes_, a.n_steps_, a.n_samples_seen_) == (
        b.drift_,
        b.n_changes_,
        b.n_steps_,
        b.n_samples_seen_,
    )
    assert str(a.certificate_) == str(b.certificate_)
    assert_same_state(a._state.joined(), b._state.joined())


def assert_same_state(a, b):
    """Of arrays, numbers, and objects that hold them: each bit."""
    assert type(a) is type(b)
    if dataclasses.is_dataclass(a):
        a, b = vars(a), vars(b)
    if isinstance(a, np.ndarray):
        assert_array_equal(a, b)
    elif isinstance(a, dict | list):
        assert len(a) == len(b)
        for key in a if isinstance(a, dict) else range(len(a)):
            assert_same_state(a[key], b[key])
    else:
        assert a == b


class TestHowTheStreamIsCut:
    X = changing_stream()

    @pytest.mark.parametrize("settings_", [{}, {"dictionary": "complete"}, {"n_nonzero_coefs": 1}], ids=str)
    @settings(max_examples=8)
    @given(cuts=st.lists(st.integers(0, len(X)), max_size=30))
    def test_does_not_matter(self, settings_, cuts):
        whole = MiniBatchHRP(random_state=0, **settings_).partial_fit(self.X)
        parts = MiniBatchHRP(random_state=0, **settings_)
        for part in np.split(self.X, sorted(cuts)):
            if len(part):
                parts.partial_fit(part)
        same(whole, parts)

    def test_rows_one_by_one(self):
        whole = MiniBatchHRP(random_state=0).partial_fit(self.X[:1300])
        same(whole, feed(MiniBatchHRP(random_state=0), self.X[:1300], size=1))
        assert whole.n_changes_ == 1

    def test_fit_is_a_stream_that_forgets_what_was_before(self):
        fitted = MiniBatchHRP(random_state=0).partial_fit(self.X[:900]).fit(self.X)
        same(fitted, MiniBatchHRP(random_state=0).partial_fit(self.X))

    def test_layout_in_memory(self):
        same(MiniBatchHRP(random_state=0).fit(self.X), MiniBatchHRP(random_state=0).fit(np.asfortranarray(self.X)[::1]))


class TestInterruption:
    X = changing_stream(seed=1)

    @pytest.mark.parametrize("settings_", [{}, {"dictionary": "complete"}, {"n_nonzero_coefs": 1}], ids=str)
    @pytest.mark.parametrize("share", [0.0005, 0.01, 0.3, 0.62, 0.9])
    def test_saved_and_restored_it_goes_on_alike(self, settings_, share, tmp_path):
        stop = max(1, round(share * len(self.X)))
        model = MiniBatchHRP(random_state=np.random.RandomState(5), **settings_)
        whole = clone(model).set_params(random_state=np.random.RandomState(5)).partial_fit(self.X)
        model.partial_fit(self.X[:stop]).save(tmp_path / "state.npz")
        restored = MiniBatchHRP.load(tmp_path / "state.npz")
        assert restored.n_samples_seen_ == stop
        same(whole, restored.partial_fit(self.X[stop:]))

    def test_in_another_process(self, tmp_path):
        np.save(tmp_path / "rest.npy", self.X[1234:])
        MiniBatchHRP(random_state=3).partial_fit(self.X[:1234]).save(tmp_path / "state.npz")
        code = """if True:
            import sys, numpy as np
            from hrpursuit import MiniBatchHRP
            folder = sys.argv[1]
            model = MiniBatchHRP.load(folder + "/state.npz").partial_fit(np.load(folder + "/rest.npy"))
            model.save(folder + "/end.npz")"""
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
        same(MiniBatchHRP(random_state=3).partial_fit(self.X), MiniBatchHRP.load(tmp_path / "end.npz"))

    def test_pickled(self):
        model = MiniBatchHRP(random_state=3).partial_fit(self.X[:1234])
        again = pickle.loads(pickle.dumps(model))
        same(model.partial_fit(self.X[1234:]), again.partial_fit(self.X[1234:]))


class TestFiles:
    @pytest.fixture
    def path(self, tmp_path):
        frame = pd.DataFrame(changing_stream()[:500], columns=list("abcdef"))
        MiniBatchHRP(n_nonzero_coefs=2, dictionary="complete", window=300, random_state=0).partial_fit(frame).save(
            tmp_path / "m.npz"
        )
        return tmp_path / "m.npz"

    def rewrite(self, path, change):
        with np.load(path) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays["header"]))
        change(header, arrays)
        with path.open("wb") as file:
            np.savez(file, **(arrays | {"header": np.array(json.dumps(header))}))

    def test_settings_and_names_come_back(self, path):
        model = MiniBatchHRP.load(path)
        expected = {
            "n_nonzero_coefs": 2,
            "dictionary": "complete",
            "window": 300,
            "forgetting": None,
            "fit_intercept": False,
        }
        assert model.get_params() == expected | {"random_state": 0}
        assert list(model.feature_names_in_) == list("abcdef")
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(pd.DataFrame(np.ones((3, 6)), columns=list("abcdeg")))

    def test_holds_no_pickle(self, path):
        with np.load(path, allow_pickle=False) as archive:
            assert all(archive[name].dtype != object for name in archive.files)

    def test_before_there_is_a_dictionary(self, tmp_path):
        MiniBatchHRP(random_state=0).partial_fit(np.eye(6)[:3]).save(tmp_path / "m.npz")
        model = MiniBatchHRP.load(tmp_path / "m.npz")
        with pytest.raises(NotFittedError):
            model.transform(np.eye(6))
        assert (model.n_samples_seen_, model.n_features_in_) == (3, 6)
        with pytest.raises(NotFittedError):
            MiniBatchHRP().save(tmp_path / "none.npz")

    def test_other_class(self, path, tmp_path):
        with pytest.raises(ValueError, match=r"holds a MiniBatchHRP, not a HRP; load it with MiniBatchHRP.load"):
            HRP.load(path)
        HRP(random_state=0).fit(changing_stream()).save(tmp_path / "hrp.npz")
        with pytest.raises(ValueError, match=r"load it with HRP.load"):
            MiniBatchHRP.load(tmp_path / "hrp.npz")

    def test_other_version(self, path):
        self.rewrite(path, lambda header, arrays: header.update(version=2))
        with pytest.raises(ValueError, match=r"version 2; this hrpursuit reads .* version 1"):
            MiniBatchHRP.load(path)

    @pytest.mark.parametrize(
        "change",
        [
            lambda header, arrays: arrays.pop("_state.coder"),
            lambda header, arrays: arrays.update({"_state.coder": np.full((6, 6), np.nan)}),
            lambda header, arrays: arrays.update({"_state.coder": np.ones((6, 6), dtype=np.float32)}),
            lambda header, arrays: arrays.update({"_state.window.0": np.ones((3, 6))}),
            lambda header, arrays: arrays.update(components_=np.eye(5), encoder_=np.eye(5)),
            lambda header, arrays: header["fitted"]["_state"].update(mode="lucky"),
            lambda header, arrays: header["fitted"]["_state"].update(n_seen=-1),
            lambda header, arrays: arrays.update({"_state.pending.0": np.ones((200, 6))}),
            lambda header, arrays: header["fitted"]["_state"].update(n_fresh=2.5),
            lambda header, arrays: header["fitted"]["_state"]["mode"]["level"].update(mean=float("inf")),
            lambda header, arrays: header["fitted"]["_state"]["mode"]["level"].update(mean=-1.0),
            lambda header, arrays: header["fitted"]["_state"]["mode"].update({"class": "Exact"}),
            lambda header, arrays: header["fitted"]["_state"].pop("wait"),
            lambda header, arrays: header["fitted"]["_state"]["settings"].update(n_features=7),
            lambda header, arrays: header["fitted"]["_state"]["settings"].update(forgetting=2.0),
            lambda header, arrays: header["fitted"].update(_dtype="object"),
            lambda header, arrays: header["fitted"]["_state"]["settings"].update(n_nonzero=2.5),
            lambda header, arrays: header["fitted"]["_state"]["settings"].update(n_nonzero=7),
            lambda header, arrays: header["fitted"]["_state"]["settings"].update(seed=-1),
            lambda header, arrays: header["fitted"]["_state"]["settings"].update(seed=None),
            lambda header, arrays: header["fitted"]["_state"].update(n_seen=10**9),
            lambda header, arrays: header["parameters"].update(n_nonzero_coefs="x"),
            lambda header, arrays: arrays.update({"_state.coder": np.zeros((6, 6))}),
            lambda header, arrays: arrays.update({"_state.mode.trial": np.zeros((6, 6))}),
            lambda header, arrays: arrays.update(components_=np.full((6, 6), np.nan)),
            lambda header, arrays: arrays.update(encoder_=np.full((6, 6), "x")),
            lambda header, arrays: header["fitted"].update(feature_names_in_=["a", "b"]),
        ],
    )
    def test_contents_that_do_not_fit(self, path, change):
        self.rewrite(path, change)
        with pytest.raises(ValueError, match="damaged"):
            MiniBatchHRP.load(path)

    def test_cut_short(self, path):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ValueError, match="not a readable hrpursuit model"):
            MiniBatchHRP.load(path)


class TestFirstRows:
    def test_no_dictionary_before_there_are_as_many_rows_as_features(self):
        X = make_sparse_coded(40, 20, sparsity=0.2, random_state=0)[0]
        model = feed(MiniBatchHRP(random_state=0), X[:19], size=1)
        for method in (model.transform, model.reconstruction_error, model.inverse_transform, model.certify):
            with pytest.raises(NotFittedError, match=r"19 samples of 20 features.* call partial_fit with more"):
                method(X)
        assert model.n_samples_seen_ == 19
        model.partial_fit(X[19:20])
        assert_allclose(model.transform(X) @ model.components_, X, atol=1e-12)

    def test_too_few_rows_for_fit(self):
        with pytest.raises(ValueError, match="4 samples and 6 features"):
            MiniBatchHRP().fit(np.ones((4, 6)))

    def test_few_rows_are_enough_where_the_data_is_sparse(self):
        for seed in range(5):
            X, _, W = make_sparse_coded(80, 20, sparsity=0.1, random_state=seed)
            model = feed(MiniBatchHRP(random_state=seed), X, size=8)
            assert bool(model.certificate_) == (dictionary_error(model.components_, W) < 1e-9)

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ({"forgetting": 0}, "forgetting"),
            ({"forgetting": 1.1}, "forgetting"),
            ({"window": 0}, "window"),
            ({"window": 5}, "window must be at least 6, the number of features; got 5"),
            ({"n_nonzero_coefs": 7}, "from 1 to 6.*got 7"),
            ({"n_nonzero_coefs": True}, "from 1 to 6.*got True"),
            ({"dictionary": "square"}, "dictionary"),
        ],
    )
    def test_settings_that_cannot_be_used(self, bad, message):
        with pytest.raises(ValueError, match=message):
            MiniBatchHRP(**bad).partial_fit(np.eye(6))

    def test_rows_of_another_width_change_nothing(self):
        model = MiniBatchHRP(random_state=0).partial_fit(np.eye(6))
        with pytest.raises(ValueError, match="5 features"):
            model.partial_fit(np.eye(5))
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(np.full((2, 6), np.nan))
        with pytest.raises(ValueError, match="another unit"):
            model.partial_fit(np.full((2, 6), 1e200))
        assert model.n_samples_seen_ == 6


class TestSuddenChange:
    @pytest.mark.parametrize("dictionary", ONES)
    def test_right_again_within_20_batches(self, dictionary):
        kind = {"sparsity": 0.2, "dictionary": dictionary}
        for seed in range(6):
            before = make_sparse_coded(1500 + 70 * seed, 20, random_state=seed, **kind)[0]
            after, _, W = make_sparse_coded(2000, 20, random_state=100 + seed, **kind)
            model = feed(MiniBatchHRP(dictionary=dictionary, random_state=seed), before)
            assert model.certificate_
            assert abs(model.drift_) < 0.05
            seen = []
            for batch in np.split(after, 20):
                model.partial_fit(batch)
                seen.append((dictionary_error(model.components_, W), model.drift_, bool(model.certificate_)))
            errors, drifts, certified = zip(*seen, strict=True)
            assert max(errors[10:]) < 1e-12
            if max(errors[2:]) > 0.01:  # or it was right again before the drift could show
                assert max(drifts) > 0.4
                assert not all(certified)
            assert abs(drifts[-1]) < 0.05
            assert certified[-1]
            assert model.n_changes_ == 1

    def test_in_noise(self):
        for seed in range(4):
            before = make_sparse_coded(3000, 20, sparsity=0.2, snr_db=20, random_state=seed)[0]
            after, _, W = make_sparse_coded(2000, 20, sparsity=0.2, snr_db=20, random_state=50 + seed)
            model = feed(MiniBatchHRP(random_state=seed), before)
            assert model.n_changes_ == 0
            assert dictionary_error(feed(model, after).components_, W) < 0.02
            assert model.n_changes_ == 1

    def test_atoms_that_stay_keep_their_places(self, rng):
        W = random_orthogonal(20, rng)
        changed = W.copy()
        changed[10:] = random_orthogonal(10, rng) @ W[10:]
        model = feed(MiniBatchHRP(random_state=0), codes(1000, 20, rng) @ W)
        before = model.components_
        after = feed(model, codes(1500, 20, rng) @ changed).components_
        assert dictionary_error(after, changed) < 1e-12
        kept = np.isclose(np.sum(before * after, axis=1), 1, atol=1e-9)  # same place, same sign
        assert kept.sum() == 10


class TestSlowDrift:
    @pytest.mark.parametrize("dictionary", ONES)
    @pytest.mark.parametrize("noise", [0, 0.05])
    @pytest.mark.parametrize("rest", [0, 4000])
    def test_is_followed(self, noise, rest, dictionary):
        """In 4000 rows the dictionary moves by 0.4; the estimate stays within a few hundredths, also where the drift
        sets in after a long rest.
        """
        rng = np.random.default_rng(0)
        W, K = random_orthogonal(10, rng), rng.standard_normal((10, 10))
        K = 1e-4 * np.sqrt(10) * (K - K.T) / np.linalg.norm(K - K.T)
        turn = expm(10 * K)
        model, errors, drifts = MiniBatchHRP(dictionary=dictionary, random_state=0), [], []
        for row in range(0, rest + 5000, 10):
            X = codes(10, 10, rng) @ W
            model.partial_fit(X + noise * rng.standard_normal(X.shape))
            if row >= rest:
                W = W @ turn
            if row == rest + 1000:
                still = model.components_
            if row > rest + 1000:
                errors.append(dictionary_error(model.components_, W))
                drifts.append(model.drift_)
        assert dictionary_error(still, W) > 0.3
        assert max(errors) < (0.1 if dictionary == "orthogonal" else 0.2)
        assert np.mean(errors) < (0.05 if dictionary == "orthogonal" else 0.11)
        assert max(np.abs(drifts)) < 0.15

    def test_atoms_keep_their_places_while_followed(self):
        X = make_sparse_coded(6000, 10, sparsity=0.2, snr_db=20, random_state=0)[0]
        model = feed(MiniBatchHRP(random_state=0), X[:1000])
        before = model.components_
        assert np.sum(before * feed(model, X[1000:]).components_, axis=1).min() > 0.99


class TestStationaryStream:
    """A loop of partial_fit ends where the batch fit ends."""

    @pytest.mark.parametrize("dictionary", ONES)
    def test_exact(self, dictionary):
        for seed in range(3):
            X = make_sparse_coded(3000, 15, sparsity=0.3, dictionary=dictionary, random_state=seed)[0]
            online = feed(MiniBatchHRP(dictionary=dictionary, random_state=seed), X)
            batch = HRP(dictionary=dictionary, random_state=seed).fit(X)
            assert dictionary_error(online.components_, batch.components_) < 1e-9
            assert online.n_changes_ == 0

    @pytest.mark.long
    @pytest.mark.parametrize(("dictionary", "room"), [("orthogonal", 1.6), ("complete", 1.8)])
    def test_noisy(self, dictionary, room):
        """Without forgetting nearly as near to the truth as the batch fit; with it, as near as its memory allows."""
        kind = {"sparsity": 0.2, "snr_db": 20, "dictionary": dictionary}
        for seed in range(3):
            X, _, W = make_sparse_coded(6000, 15, random_state=seed, **kind)
            # the batch fit of a complete dictionary models the noise, which the online one does not
            scheme = "exact" if dictionary == "orthogonal" else "paper"
            batch = dictionary_error(HRP(dictionary=dictionary, scheme=scheme, random_state=seed).fit(X).components_, W)
            for forgetting, factor in ((1, 1.25), (None, room)):
                model = MiniBatchHRP(dictionary=dictionary, forgetting=forgetting, random_state=seed)
                assert dictionary_error(feed(model, X).components_, W) < factor * batch

    @pytest.mark.parametrize("dictionary", ONES)
    def test_not_sparse(self, dictionary, rng):
        W = random_orthogonal(10, rng)
        X, fresh = (rng.laplace(size=(n, 10)) @ W for n in (20_000, 20_000))
        sparse = lambda model: np.abs(fresh @ model.encoder_).sum()  # noqa: E731
        batch = sparse(HRP(dictionary=dictionary, random_state=0).fit(X))
        for forgetting in (1, None):
            online = MiniBatchHRP(dictionary=dictionary, forgetting=forgetting, random_state=0)
            assert sparse(feed(online, X, size=500)) < 1.03 * batch

    @pytest.mark.long
    def test_fixed_sparsity(self, rng):
        to_plain = []
        for _ in range(5):
            X = rng.laplace(size=(12_000, 10))
            batch, plain = HRP(n_nonzero_coefs=2, random_state=0).fit(X), HRP(scheme="paper", random_state=0).fit(X)
            plain.set_params(n_nonzero_coefs=2)
            online = feed(MiniBatchHRP(n_nonzero_coefs=2, random_state=0), X, size=500)
            assert online.reconstruction_error(X) < 1.02 * batch.reconstruction_error(X)
            to_plain.append(online.reconstruction_error(X) / plain.reconstruction_error(X))
            assert np.count_nonzero(online.transform(X), axis=1).max() == 2
        assert np.median(to_plain) < 1.002  # Laplace codes suit both

    def test_drift_is_about_zero(self):
        kinds = (
            {"sparsity": 0.2},
            {"sparsity": 0.3, "snr_db": 15},
            {"sparsity": 1.0},
            {"sparsity": 0.2, "outliers": 0.05},
        )
        for kind in kinds:
            X = make_sparse_coded(8000, 10, random_state=0, **kind)[0]
            model, drifts = MiniBatchHRP(random_state=0), []
            for batch in np.split(X, 40):
                drifts.append(model.partial_fit(batch).drift_)
            assert np.abs(drifts).max() < 0.08
            assert model.n_changes_ == 0


class TestOddData:
    @pytest.mark.parametrize("dictionary", ONES)
    @pytest.mark.parametrize("n_nonzero", [None, 2])
    def test_zeros(self, dictionary, n_nonzero):
        model = MiniBatchHRP(n_nonzero_coefs=n_nonzero, dictionary=dictionary, random_state=0).partial_fit(
            np.zeros((500, 6))
        )
        assert_allclose(
            model.transform(np.eye(6)) @ model.components_ if n_nonzero is None else 1,
            1 if n_nonzero else np.eye(6),
            atol=1e-9,
        )
        X, _, W = make_sparse_coded(1000, 6, sparsity=0.2, dictionary=dictionary, random_state=0)
        X[::3] = 0
        model.partial_fit(X)
        if n_nonzero is None:
            assert dictionary_error(model.components_, W) < 1e-12

    def test_dead_features(self):
        X, _, W = make_sparse_coded(2000, 8, sparsity=0.2, random_state=0)
        X = np.insert(X, [2, 5], 0, axis=1)
        model = feed(MiniBatchHRP(random_state=0), X)
        assert_allclose(model.components_ @ model.components_.T, np.eye(10), atol=1e-12)
        alive = np.abs(model.components_[:, [0, 1, 3, 4, 5, 7, 8, 9]]).max(axis=1) > 1e-9
        assert dictionary_error(model.components_[alive][:, [0, 1, 3, 4, 5, 7, 8, 9]], W) < 1e-9
        with_noise = feed(
            MiniBatchHRP(random_state=0), X + 0.05 * (X.any(axis=0) * np.random.default_rng(0).standard_normal(X.shape))
        )
        assert np.abs(with_noise.components_ @ with_noise.components_.T - np.eye(10)).max() < 1e-12

    def test_features_that_come_alive_late(self):
        X, _, W = make_sparse_coded(4000, 10, sparsity=0.2, random_state=0)
        S = X @ W.T
        S[:1500, 4:7] = 0
        model = feed(MiniBatchHRP(random_state=0), S @ W)
        assert dictionary_error(model.components_, W) < 1e-9

    def test_a_complete_dictionary_waits_for_full_rank(self):
        X, _, W = make_sparse_coded(3000, 8, sparsity=0.2, dictionary="complete", random_state=0)
        early = X[:400].copy()
        early[:, 3] = 0
        model = feed(MiniBatchHRP(dictionary="complete", random_state=0), early)
        assert np.isfinite(model.encoder_).all()
        with pytest.raises(ValueError, match="always zero: 4"):
            clone(model).fit(early)
        assert dictionary_error(feed(model, X).components_, W) < 1e-9

    @pytest.mark.parametrize("scale", [1e-80, 1e80])
    def test_units(self, scale):
        for kind in ({"sparsity": 0.2}, {"sparsity": 0.2, "snr_db": 20}, {"sparsity": 1.0}):
            X = make_sparse_coded(1500, 8, random_state=0, **kind)[0]
            plain, scaled = (feed(MiniBatchHRP(random_state=0), data) for data in (X, scale * X))
            assert_allclose(plain.components_, scaled.components_, atol=1e-6)
            assert_allclose(plain.drift_, scaled.drift_, atol=1e-6)

    def test_type_of_the_first_batch_is_kept(self):
        X, _, W = make_sparse_coded(1000, 8, sparsity=0.2, random_state=0)
        model = MiniBatchHRP(random_state=0).partial_fit(X[:3].astype(np.float32)).partial_fit(X[3:].astype(np.float32))
        assert model.components_.dtype == model.transform(X[:3].astype(np.float32)).dtype == np.float32
        assert model.certificate_
        assert dictionary_error(model.components_, W) < 1e-6

    def test_a_window_smaller_than_a_step(self):
        X, _, W = make_sparse_coded(3000, 8, sparsity=0.2, random_state=0)
        assert dictionary_error(feed(MiniBatchHRP(window=60, random_state=0), X).components_, W) < 1e-9


class TestRowsOutsideMemory:
    X = make_sparse_coded(3000, 8, sparsity=0.3, random_state=0)[0]

    @pytest.mark.parametrize("dictionary", ["orthogonal", "complete"])
    def test_a_file_is_learned_as_an_array_is(self, dictionary, tmp_path):
        np.save(tmp_path / "x.npy", self.X)
        expected = MiniBatchHRP(dictionary=dictionary, random_state=0).fit(self.X)
        for data in (tmp_path / "x.npy", da.from_array(self.X, chunks=(700, -1)), lambda: iter([self.X])):
            model = MiniBatchHRP(dictionary=dictionary, random_state=0).fit(data)
            assert_array_equal(model.components_, expected.components_)
            model = MiniBatchHRP(dictionary=dictionary, random_state=0).partial_fit(self.X[:500])
            model.partial_fit(open_rows(lambda: iter([self.X[500:]])))
            assert_array_equal(model.components_, expected.components_)
            assert model.n_samples_seen_ == 3000

    def test_the_type_is_that_of_the_first_rows(self):
        model = MiniBatchHRP(random_state=0).partial_fit(self.X[:1000].astype(np.float32))
        model.partial_fit(self.X[1000:])
        assert model.components_.dtype == model.encoder_.dtype == np.float32
        model.partial_fit(lambda: iter([self.X]))
        assert model.components_.dtype == np.float32

    def test_names_of_a_file_are_kept(self, tmp_path):
        frame = pd.DataFrame(self.X, columns=[f"s{i}" for i in range(8)])
        frame.to_parquet(tmp_path / "x.parquet")
        model = MiniBatchHRP(random_state=0).partial_fit(tmp_path / "x.parquet")
        assert list(model.feature_names_in_) == list(frame.columns)
        model.partial_fit(frame)

    def test_a_stream_that_breaks_leaves_everything_as_it_was(self, monkeypatch):
        monkeypatch.setattr("hrpursuit.rows.stream.PIECE_BYTES", 1)  # so that rows before the break are learned from
        model = MiniBatchHRP(random_state=0).partial_fit(self.X)
        before, drift = model.components_.copy(), model.drift_
        for go_on in (model.partial_fit, model.fit):
            n_calls = iter(range(100))

            def breaking(n_calls=n_calls):
                yield self.X[:1000]
                if next(n_calls) == 2:  # not in the survey, nor in the sample: while the learner is at it
                    raise OSError("the line is dead")
                yield self.X[1000:]

            with pytest.raises(OSError, match=r"block 2 .*the line is dead"):
                go_on(open_rows(breaking, block_size=100))
            assert_array_equal(model.components_, before)
            assert (model.n_samples_seen_, model.drift_, model._state.n_seen) == (3000, drift, 3000)


@pytest.mark.parametrize("dictionary", ONES)
def test_no_certificate_where_codes_are_cut(dictionary):
    """The alternation for a fixed number of codes moves the dictionary; its certificate once stayed."""
    for seed in range(4):
        X = make_sparse_coded(1200, 20, sparsity=0.1, dictionary=dictionary, random_state=seed)[0]
        model = feed(MiniBatchHRP(n_nonzero_coefs=4, dictionary=dictionary, random_state=seed), X, size=100)
        assert not model.certificate_ or model.certify(X)


@pytest.mark.long
def test_codes_that_depend_on_each_other():
    """Readings of sensors rise and fall together. A start by likelihood, which takes codes for independent, doubled the
    error of the readings of a city.
    """
    table = make_sensor_network(as_frame=True, random_state=2).dropna(axis=1, how="all")
    X = table.interpolate(limit_direction="both").to_numpy()
    X = np.vstack([X, X])
    stream = MiniBatchHRP(n_nonzero_coefs=4, random_state=0)
    for start in range(0, len(X), 100):
        stream.partial_fit(X[start : start + 100])
    batch = HRP(n_nonzero_coefs=4, random_state=0).fit(X)
    assert stream.reconstruction_error(X) < 1.5 * batch.reconstruction_error(X)  # it was 1.87 times, and is 1.22
