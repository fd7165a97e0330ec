import contextlib
import json
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
        (HRP(3, random_state=0), X),
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
    assert bool(again.certified_) == bool(model.certified_)
    assert str(again.certified_) == str(model.certified_)
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
            lambda header, arrays: header.pop("stages_"),
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

    def test_absent(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            HRP.load(tmp_path / "absent.npz")


def test_a_failed_write_leaves_nothing_and_keeps_what_was(tmp_path, monkeypatch):
    model = HRP(random_state=0).fit(X)
    target = tmp_path / "m.npz"
    target.write_text("what was")

    def fail(file, **arrays):
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(target)
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]
    assert target.read_text() == "what was"


def test_where_it_cannot_be_written(tmp_path):
    model = HRP(random_state=0).fit(X)
    with pytest.raises(FileNotFoundError, match=r"folder .* does not exist"):
        model.save(tmp_path / "absent" / "m.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        model.save(tmp_path)
