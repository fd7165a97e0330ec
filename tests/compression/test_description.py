"""The bytes of the parts add up to those of the file."""

import io

import numpy as np
import pandas as pd
import pytest

from hrpursuit.compression import DamagedFile, Target, compress, describe


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    out = pd.DataFrame(rng.normal(20, 5, (90, 4)).round(1), index=pd.date_range("2020", periods=90, freq="h"))
    out.iloc[5:9, 1] = np.nan
    out.attrs = {"unit": "µg/m³"}
    return out


@pytest.mark.parametrize(
    "given", [{"lossless": True}, {"relative_rmse": 0.05}, {"max_error": 1}, {"n_nonzero_coefs": 2}]
)
@pytest.mark.parametrize("plain", [True, False])
def test_parts_add_up(frame, given, plain, tmp_path):
    data = compress(frame.to_numpy() if plain else frame, chunk_rows=40, **given)
    found = describe(data)
    assert sum(found.parts.values()) == found.n_bytes == len(data)
    assert min(found.parts.values()) > 0
    assert (found.n_rows, found.n_columns, found.chunk_rows, found.version) == (90, 4, 40, 1)
    assert found.target.kind == next(iter(given))
    assert [chunk.n_rows for chunk in found.chunks] == [40, 40, 10]
    assert all(chunk.mode for chunk in found.chunks)
    assert found.types == {"float64": 4}
    assert found.index == ("none" if plain else "datetime")
    assert ("names and index" in found.parts) != plain
    path = tmp_path / "x.hrp"
    path.write_bytes(data)
    assert describe(path) == describe(io.BytesIO(data)) == found


def test_what_is_damaged_is_counted(frame):
    data = compress(frame, lossless=True, chunk_rows=40)
    cut = data[: describe(data).n_bytes // 2]
    with pytest.raises(DamagedFile):
        describe(cut)
    found = describe(cut, damaged="skip")
    assert sum(found.parts.values()) == len(cut)
    assert found.parts["damaged"] > 0
    assert found.damage
    assert found.n_rows == 40
    assert found.target == Target("lossless", 0.0)
