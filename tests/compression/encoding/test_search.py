"""The encoder reaches its target narrowly, and takes the shorter way."""

import numpy as np
import pytest

from hrpursuit.compression import compress, decompress
from hrpursuit.compression.chunks.bases import Basis
from hrpursuit.compression.chunks.settings import CORRECTED, SAMPLES, TRANSFORM
from hrpursuit.compression.encoding.chunk_groups import ChunkGroup, is_within
from hrpursuit.compression.encoding.decimals import on_decimals
from hrpursuit.compression.encoding.search import Choice, RmseSearch, bounded, choose_bounded, encode_rmse, lossless
from hrpursuit.datasets import make_sensor_network


@pytest.fixture(scope="module")
def month():
    return make_sensor_network(744, 20, random_state=3)


def group_of(X, bound=np.inf):
    return ChunkGroup([on_decimals(column, bound) for column in X.T], Basis())


def relative_error(X, Y):
    return np.sqrt(np.nansum((X - Y) ** 2) / np.nansum(X**2))


@pytest.mark.parametrize(("rmse", "share"), [(0.09, 0.998), (0.04, 0.997), (0.015, 0.99)])
def test_an_rmse_is_met_narrowly(month, rmse, share):
    """The two smaller ones by samples, whose error jumps by a percent: steps are whole numbers of a unit, and what is
    predicted depends on how the values before were rounded.
    """
    error = relative_error(month, decompress(compress(month, relative_rmse=rmse)))
    assert share * rmse <= error <= rmse


def test_an_rmse_is_met_over_all_chunks_together(month):
    back = decompress(compress(month, relative_rmse=0.05, chunk_rows=200, effort="fast"))
    assert 0.96 * 0.05 <= relative_error(month, back) <= 0.05


@pytest.mark.parametrize("max_error", [1, 8])
def test_the_shorter_of_samples_and_transform_is_taken(month, max_error):
    live = month[:300, np.isfinite(month).any(axis=0)]
    group = group_of(live, max_error)
    best = choose_bounded([group], "default")
    size = len(bounded(group, max_error, best, "default").data)
    for other in (Choice(SAMPLES, 1.0, 0.0), Choice(CORRECTED, 1.65, 0.11)):
        assert size <= len(bounded(group, max_error, other, "default").data)
    assert best.mode == (CORRECTED if max_error == 8 else SAMPLES)


def test_all_choices_stay_within_the_bound(month):
    group = group_of(month[:120, :6] - 20)
    for choice in (Choice(SAMPLES, 1.0, 0.0), Choice(CORRECTED, 0.9, 0.0), Choice(CORRECTED, 3.0, 0.5)):
        assert all(is_within(bounded(group, 4, choice, "fast"), group, 4))


def test_fine_errors_are_coded_as_samples_rough_ones_by_transform(month):
    live = month[:400, np.isfinite(month).any(axis=0)]
    group, rms = group_of(live), np.sqrt(np.nanmean(live**2))
    modes = [RmseSearch([group], share * rms, "fast").best_choice(None).mode for share in (0.005, 0.1)]
    assert modes == [SAMPLES, TRANSFORM]


def test_errors_below_the_decimals_are_left_to_no_loss(month):
    group = group_of(month[:50, :4])
    assert encode_rmse(RmseSearch([group], 1e-6, "fast"), None) is None
    assert len(compress(month[:50], relative_rmse=1e-8)) <= len(compress(month[:50], lossless=True)) + 4


def test_haste_costs_little(month):
    group = group_of(month[:, np.isfinite(month).any(axis=0)])
    quick, slow = (len(lossless(group, effort).data) for effort in ("fast", "default"))
    assert slow <= quick <= 1.08 * slow
    assert len(compress(month, relative_rmse=0.06, effort="fast")) <= 1.08 * len(compress(month, relative_rmse=0.06))


@pytest.mark.parametrize("size", [1e-320, 1e-305, 1e-301, 1e-290, 1e300])
def test_an_rmse_is_kept_at_any_size(rng, size):
    X = size * rng.random((30, 3))
    assert relative_error(X / size, decompress(compress(X, relative_rmse=0.1)) / size) <= 0.1


def test_a_group_that_cannot_be_corrected_stays_within_the_bound_as_samples(month):
    """One column without decimals among columns with them has a step of its own."""
    X = month[:60, :4].copy()
    X[:, 1:] += 0.5
    group = group_of(X)
    assert all(is_within(bounded(group, 4, Choice(CORRECTED, 1.35, 0.11), "default"), group, 4))
    steady = np.vstack([X[:, 1:2].repeat(4, axis=1), X])
    assert len(compress(steady, max_error=4, chunk_rows=60)) < len(steady) * 4 // 2
