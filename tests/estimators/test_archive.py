import contextlib
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from hrpursuit import HRP
from hrpursuit.datasets import make_sparse_coded
from hrpursuit.estimators import HRPOptions

X, _, W = make_sparse_coded(200, 8, sparsity=0.3, random_state=0)
FRAME = pd.DataFrame(X, columns=[f"sensor {i}" for i in range(8)])


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (HRP(n_nonzero_coefs=3, random_state=0), X),
        (HRP(dictionary="complete", random_state=np.random.RandomState(0)), X.astype("f4")),
        (HRP(dict_init=W, options=HRPOptions(look_every=np.int64(2)), callback=lambda it: None), FRAME),
        (HRP(scheme="paper", n_init=np.int64(2), tol=np.float32(1e-3), random_state=np.int32(4)), X),
    ],
)
def test_a_model_comes_back_as_it_went(model, data, tmp_path):
    model.fit(data)
    model.save(tmp_path / "model.npz")
    again = HRP.load(tmp_path / "model.npz")
    assert_array_equal(model.transform(data), again.transform(data))
    assert again.components_.dtype == model.components_.dtype
    assert bool(again.certificate_) == bool(model.certificate_)
    assert str(again.certificate_) == str(model.certificate_)
    assert again.stages_ == model.stages_
    assert (again.n_iter_, again.objective_, again.n_features_in_) == (model.n_iter_, model.objective_, 8)
    assert getattr(again, "feature_names_in_", None) is None or list(again.feature_names_in_) == list(FRAME.columns)
    for name in ("n_nonzero_coefs", "scheme", "dictionary", "n_init", "max_iter", "tol", "options"):
        assert getattr(again, name) == getattr(model, name)
    again.fit(data)


def test_the_file_holds_no_pickle(tmp_path):
    HRP(random_state=0).fit(FRAME).save(tmp_path / "m")
    with np.load(tmp_path / "m", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def rewrite(path, change):
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays["header"]))
    change(header, arrays)
    arrays["header"] = np.array(json.dumps(header))
    with path.open("wb") as file:
        np.savez(file, **arrays)


class TestDamagedFiles:
    @pytest.fixture
    def path(self, tmp_path):
        HRP(random_state=0).fit(X).save(tmp_path / "m.npz")
        return tmp_path / "m.npz"

    @pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.99])
    def test_cut_short(self, path, share):
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match=r"m.npz is not a readable hrpursuit model"):
            HRP.load(path)

    def test_flipped_byte(self, path):
        with zipfile.ZipFile(path) as archive:
            offset = archive.getinfo("components_.npy").header_offset + 300
        raw = bytearray(path.read_bytes())
        raw[offset] ^= 255
        path.write_bytes(bytes(raw))
        with pytest.raises(ValueError, match="not a readable"):
            HRP.load(path)

    def test_other_archive(self, path):
        np.savez(path, a=np.ones(3))
        with pytest.raises(ValueError, match="not a readable"):
            HRP.load(path)

    def test_other_version(self, path):
        rewrite(path, lambda header, arrays: header.update(version=99))
        with pytest.raises(ValueError, match=r"version 99.*version 1"):
            HRP.load(path)

    def test_other_class(self, path):
        rewrite(path, lambda header, arrays: header.update({"class": "KSVD"}))
        with pytest.raises(ValueError, match="KSVD"):
            HRP.load(path)

    @pytest.mark.parametrize(
        "change",
        [
            lambda header, arrays: arrays.update(components_=np.ones((3, 2))),
            lambda header, arrays: arrays.pop("components_"),
            lambda header, arrays: header.pop("version"),
            lambda header, arrays: header["parameters"].update(unknown=1),
            lambda header, arrays: header["parameters"].update(options={"look_every": 0}),
            lambda header, arrays: header["fitted"].pop("stages_"),
            lambda header, arrays: header["fitted"].update(n_iter_=True),
            lambda header, arrays: header["fitted"].update(objective_=float("inf")),
            lambda header, arrays: header["fitted"].update(more=1),
            lambda header, arrays: arrays.update(more=np.ones(3)),
            lambda header, arrays: arrays.update({"certificate_.unstationary": np.array([[0, 8]])}),
            lambda header, arrays: arrays.update({"certificate_.unstationary": np.array([0, 1])}),
            lambda header, arrays: header["parameters"].update(n_nonzero_coefs=9),
            lambda header, arrays: header["parameters"].update(fit_intercept="yes"),
        ],
    )
    def test_contents_that_do_not_fit(self, path, change):
        rewrite(path, change)
        with pytest.raises(ValueError, match="damaged"):
            HRP.load(path)

    def test_any_flipped_byte_is_a_clear_error_or_harmless(self, path):
        whole = path.read_bytes()
        for offset in range(0, len(whole), 37):
            raw = bytearray(whole)
            raw[offset] ^= 255
            path.write_bytes(bytes(raw))
            with contextlib.suppress(ValueError):  # any other error fails the test
                HRP.load(path)

    def test_archives_that_would_fill_the_memory(self, path):
        """A gigabyte of zeros, compressed, and one that is declared and not there."""
        with zipfile.ZipFile(path) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        zeros = np.zeros((8, 8))
        start = io.BytesIO()
        np.lib.format.write_array_header_1_0(start, {"descr": "<f8", "fortran_order": False, "shape": (2**27,)})
        for compression, forged in (
            (zipfile.ZIP_DEFLATED, start.getvalue() + bytes(2**30)),
            (zipfile.ZIP_STORED, start.getvalue() + zeros.tobytes()),
        ):
            with zipfile.ZipFile(path, "w", compression, compresslevel=1) as archive:
                for name, content in (held | {"components_.npy": forged}).items():
                    archive.writestr(name, content)
            del forged
            tracemalloc.start()
            with pytest.raises(ValueError, match="not a readable"):
                HRP.load(path)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 20e6

    def test_absent(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            HRP.load(tmp_path / "absent.npz")


def test_a_model_always_gives_the_same_bytes(tmp_path):
    model = HRP(dict_init=W, options=HRPOptions(), random_state=0).fit(FRAME)
    model.save(tmp_path / "a")
    model.__dict__ = dict(reversed(model.__dict__.items()))
    model.save(tmp_path / "b")
    HRP.load(tmp_path / "a").save(tmp_path / "c")
    code = "import sys; from hrpursuit import HRP; HRP.load(sys.argv[1]).save(sys.argv[2])"
    command = [sys.executable, "-c", code, str(tmp_path / "a"), str(tmp_path / "d")]
    subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}, check=True)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
    assert len(list(tmp_path.iterdir())) == 4


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    model = HRP(random_state=0).fit(X)
    with pytest.raises(ValueError, match="this HRP cannot be saved: n_init must be"):
        model.set_params(n_init="many").save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_where_it_cannot_be_written(tmp_path):
    model = HRP(random_state=0).fit(X)
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist"):
        model.save(tmp_path / "absent" / "m.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
