"""What is coded is not longer than it need be, and odd tables take no odd amounts of time or memory."""

import tracemalloc

import numpy as np
import pytest

from hrpursuit.compression import DamagedFile, Encoder, compress, decompress
from hrpursuit.compression.chunks.apart import Apart, Numbers
from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.chunks.coding import decode_group, encode_group
from hrpursuit.compression.chunks.settings import CORRECTED, SAMPLES, TRANSFORM, GroupSettings
from hrpursuit.compression.encoding.chunk_coder import ChunkCoder
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup
from hrpursuit.compression.encoding.decimals import on_decimals
from hrpursuit.compression.encoding.search import _few
from hrpursuit.compression.kernels.compiled import as_integers, integers
from hrpursuit.compression.targets import Target
from hrpursuit.datasets import make_sensor_network


@pytest.mark.parametrize("n_values", [2, 3])
@pytest.mark.parametrize("rmse", [0.1, 0.3])
def test_an_rmse_costs_no_more_than_no_loss(rng, n_values, rmse):
    """Of few different values none are in between, which makes errors dearer than none."""
    X = rng.integers(0, n_values, (400, 5)).astype(float)
    assert len(compress(X, relative_rmse=rmse)) <= len(compress(X, lossless=True)) + 8


def test_a_choice_is_made_on_few_rows_of_a_tall_piece(rng):
    group = ChunkGroup([on_decimals(rng.standard_normal(10_000), np.inf)], Basis())
    assert [len(few.columns[0].given) for few in _few([group])] == [3000]


def test_a_stream_whose_scale_changes_searches_anew():
    months = [np.asarray(make_sensor_network(200, 8, silent=0, random_state=seed)) for seed in (0, 1)]
    X = np.vstack([months[0] * 1e-6, months[1]])
    encoder = Encoder(relative_rmse=0.05, chunk_rows=200)
    data = encoder.append(X) + encoder.finish()
    assert len(data) < 1.2 * sum(len(compress(month, relative_rmse=0.05)) for month in months)
    for part, back in zip((X[:200], X[200:]), np.split(decompress(data), 2), strict=True):
        assert np.nansum((part - back) ** 2) <= 0.05**2 * np.nansum(part**2)


@pytest.mark.long
def test_many_columns_are_grouped_in_little_memory(rng):
    X = rng.integers(0, 9, (3, 5000)).astype(np.int16)
    compress(X[:, :300], lossless=True)
    tracemalloc.start()
    data = compress(X, lossless=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6  # 5000 x 5000 distances, a few times over, would be more
    assert np.array_equal(decompress(data), X)


@pytest.mark.parametrize("mode", [SAMPLES, TRANSFORM, CORRECTED])
def test_coded_readings_that_end_too_early_are_damage(rng, mode):
    """Instead of decoding zeros for as many rows as the chunk claims to have."""
    values = as_integers(rng.integers(0, 5000, (40, 6)) << 6)
    apart = Apart(integers((40, 6), 1))
    settings = GroupSettings(mode, (0,), (64,), 6, bound=3, scales=(64,))
    data, _ = encode_group(settings, Basis(), apart, Numbers(values))
    assert decode_group(data, settings, Basis(), apart).whole.shape == (40, 6)
    with pytest.raises(DamagedFile, match="end too early"):
        decode_group(data[: len(data) // 2], settings, Basis(), apart)


def test_many_small_appends_are_joined():
    encoder = Encoder(lossless=True, chunk_rows=5000)
    X = np.arange(8000.0).reshape(4000, 2)
    data = b"".join(encoder.append(row[None]) for row in X)
    assert len(encoder._waiting._parts) <= 64
    assert np.array_equal(decompress(data + encoder.finish()), X)


def test_attributes_of_more_than_a_megabyte_are_refused():
    frame = make_sensor_network(5, 2, as_frame=True, random_state=0)
    frame.attrs["note"] = "x" * 2**20
    with pytest.raises(ValueError, match="keep less"):
        compress(frame, lossless=True)


def test_columns_that_a_network_could_not_code_are_not_tried_as_one(rng):
    """Doubles of all digits have no decimals: trying took a sixth of the time of a file."""
    coder = ChunkCoder(Target("lossless"))
    floats = [*rng.standard_normal((5, 100)), rng.integers(0, 9, 100) / 10]
    coder.prepare(floats)
    assert not coder._has_network(floats)
    decimals = list(rng.integers(0, 9, (4, 100)) / 10)
    coder.prepare(decimals)
    assert coder._has_network(decimals)


@pytest.mark.parametrize("n_columns", [1, 7, 120])
@pytest.mark.parametrize("kind", ["walks", "list", "counts"])
def test_more_effort_is_not_longer(rng, n_columns, kind):
    """Choices are made on some rows; 120 columns of walks were longer with effort best than with default."""
    n_rows = 600
    X = np.round(np.cumsum(rng.normal(0, 3, (n_rows, 1)), axis=0) + rng.normal(0, 1, (n_rows, n_columns)), 1)
    if kind == "list":
        X = rng.standard_normal(40)[rng.integers(0, 40, X.shape)]
    elif kind == "counts":
        X = np.cumsum(rng.poisson(2, X.shape), axis=0)
    sizes = [len(compress(X, lossless=True, effort=effort)) for effort in ("fast", "default", "best")]
    assert sizes == sorted(sizes, reverse=True)


def test_a_column_that_repeats_another_one_later_is_found(rng):
    """No row comes twice. A shorter look at the rows, to save time, made such files half as long again."""
    column = rng.integers(0, 1000, 20_000) / 1000
    alone = len(compress(column[:, None], lossless=True))
    assert len(compress(np.column_stack([column, np.roll(column, 1500)]), lossless=True)) < 1.4 * alone
