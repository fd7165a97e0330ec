"""A codec for Zarr and numcodecs: real stores, by names that are found through entry points."""

import importlib
import json
import sys

import numcodecs
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from numpy.testing import assert_array_equal

from hrpursuit.compression.numcodecs import HRPCodec as ForNumcodecs
from hrpursuit.compression.zarr import HRPCodec


def weather():
    rng = np.random.default_rng(0)
    levels = rng.normal(size=(200, 4, 5)).cumsum(axis=0).round(2)
    levels[3, 2, 1] = np.nan
    counts = rng.integers(0, 9, (200, 4, 5)).astype("i2")
    time = pd.date_range("2024-01-01", periods=200, freq="h")
    coords = {"time": time, "y": range(4), "x": np.arange(5) * 0.5}
    return xr.Dataset({"level": (("time", "y", "x"), levels), "count": (("time", "y", "x"), counts)}, coords)


def stored_bytes(folder, name):
    return sum(path.stat().st_size for path in (folder / name / "c").rglob("*") if path.is_file())


def test_xarray_with_a_bound_and_without_loss(tmp_path):
    data = weather()
    encoding = {
        "level": {"serializer": HRPCodec(max_error=0.05), "compressors": None, "chunks": (100, 4, 5)},
        "count": {"serializer": HRPCodec(), "compressors": None, "chunks": (200, 2, 5)},
    }
    folder = tmp_path / "weather.zarr"
    data.to_zarr(folder, zarr_format=3, encoding=encoding, consolidated=False)
    again = xr.open_zarr(folder, consolidated=False).load()
    assert_array_equal(again["count"], data["count"])
    assert_array_equal(np.isnan(again["level"]), np.isnan(data["level"]))
    assert 0.01 < float(np.abs(again["level"] - data["level"]).max()) <= 0.05 + 1e-12
    metadata = json.loads((folder / "level" / "zarr.json").read_text())
    named = {"name": "hrpursuit", "configuration": {"max_error": 0.05, "effort": "default"}}
    assert metadata["codecs"] == [named]
    data.to_zarr(tmp_path / "plain.zarr", zarr_format=3, consolidated=False)
    for name in data:
        assert stored_bytes(folder, name) < stored_bytes(tmp_path / "plain.zarr", name)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", ">f8", "<i4"])
@pytest.mark.parametrize("shape", [(7,), (6, 5), (5, 4, 3)], ids=str)
def test_any_array_without_loss(dtype, shape):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    array = zarr.create_array({}, shape=shape, chunks=tuple(min(n, 4) for n in shape), dtype=values.dtype,
                              serializer=HRPCodec(effort="fast"), compressors=None)  # fmt: skip
    array[...] = values
    assert_array_equal(array[...], values)
    assert array.dtype == values.dtype


def test_many_columns_and_a_compressor_behind():
    values = np.arange(2 * 3 * 5000, dtype="i4").reshape(2, 3, 5000)
    array = zarr.create_array(
        {}, shape=values.shape, chunks=values.shape, dtype="i4", serializer=HRPCodec(effort="fast")
    )
    array[...] = values
    assert_array_equal(array[...], values)


def test_numcodecs_and_zarr_2(tmp_path):
    codec = numcodecs.get_codec({"id": "hrpursuit", "max_error": 0.5})
    assert isinstance(codec, ForNumcodecs)
    assert codec.get_config() == {"id": "hrpursuit", "max_error": 0.5, "effort": "default"}
    values = np.random.default_rng(0).normal(0, 9, (50, 4))
    assert np.abs(codec.decode(codec.encode(values)).reshape(50, 4) - values).max() <= 0.5
    out = np.empty(200)
    assert np.abs(codec.decode(codec.encode(values), out).reshape(50, 4) - values).max() <= 0.5
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(50, 4), chunks=(20, 4), dtype="f8", zarr_format=2,
                              compressors=ForNumcodecs(), filters=None)  # fmt: skip
    array[...] = values
    assert_array_equal(zarr.open_array(str(tmp_path / "x.zarr"), mode="r")[...], values)


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_of_memory_in_zarr_2(tmp_path, order):
    values = np.arange(105.0).reshape(7, 5, 3)
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=values.shape, chunks=(4, 5, 2), dtype="f8",
                              zarr_format=2, order=order, compressors=ForNumcodecs(), filters=None)  # fmt: skip
    array[...] = values
    assert_array_equal(zarr.open_array(str(tmp_path / "x.zarr"), mode="r")[...], values)
    chunk = np.asarray(values, order=order)
    assert ForNumcodecs().decode(ForNumcodecs().encode(chunk)).tobytes() == chunk.tobytes("A")
    out = np.empty_like(chunk)
    ForNumcodecs().decode(ForNumcodecs().encode(chunk), out)
    assert_array_equal(out, values)


def test_numcodecs_refuses_the_other_byte_order(tmp_path):
    values = np.arange(6, dtype=">i4").reshape(2, 3)  # Zarr 2 would take the bytes of 1 for 16777216
    with pytest.raises(TypeError, match="lowest byte comes first; got >i4"):
        ForNumcodecs().encode(values)
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(2, 3), dtype=">i4", zarr_format=2,
                              compressors=ForNumcodecs(), filters=None)  # fmt: skip
    with pytest.raises(TypeError, match="lowest byte comes first; got >i4"):
        array[...] = values


def test_what_is_refused():
    for bad in (0, -1, float("nan"), float("inf"), "0.5", True):
        with pytest.raises(ValueError, match="max_error"):
            HRPCodec(max_error=bad)
        with pytest.raises(ValueError, match="max_error"):
            ForNumcodecs(max_error=bad)
    with pytest.raises(ValueError, match="effort must be one of"):
        HRPCodec(effort="much")
    with pytest.raises(ValueError, match="takes numbers up to 64 bits; got complex128"):
        zarr.create_array({}, shape=(3,), dtype="complex128", serializer=HRPCodec())
    with pytest.raises(TypeError, match="takes truth values, whole numbers and floats"):
        ForNumcodecs().encode(np.array(["a"]))


def test_a_chunk_that_is_another(tmp_path):
    array = zarr.create_array(str(tmp_path / "x.zarr"), shape=(4, 2), chunks=(4, 2), dtype="f8",
                              serializer=HRPCodec(), compressors=None)  # fmt: skip
    array[...] = np.ones((4, 2))
    (tmp_path / "x.zarr" / "c" / "0" / "0").write_bytes(ForNumcodecs().encode(np.ones((4, 3))))
    with pytest.raises(ValueError, match="12 numbers of type float64 where 8"):
        array[...]


@pytest.mark.parametrize("library", ["zarr", "numcodecs"])
def test_a_missing_library_is_named_with_the_extra_that_installs_it(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"hrpursuit.compression.{library}")
    with pytest.raises(ImportError, match=rf'need {library}, which is not installed: pip install "hrpursuit\[files\]"'):
        importlib.import_module(f"hrpursuit.compression.{library}")
