"""The tables are those that can be computed, and what their names say."""

import numpy as np

from hrpursuit.compression.kernels import constants, make_constants
from hrpursuit.compression.kernels.constants import (
    COSINES,
    FIRST_GUESS,
    LOGISTIC,
    N_SCALES,
    RATE,
    SCALE,
    SHAPES,
    SQUASH,
    STRETCH,
    TURNS,
)


def logistic(x):
    return 1 / (1 + np.exp(-x))


def test_the_file_is_what_is_computed():
    assert constants.FILE.read_bytes() == make_constants.make()


def test_tables_fill_the_file_and_their_types():
    numbers = np.frombuffer(constants.FILE.read_bytes(), "<i4")
    assert len(numbers) == sum(int(np.prod(shape)) for shape in SHAPES.values())
    tables = [getattr(constants, name) for name in SHAPES]
    np.testing.assert_array_equal(numbers, np.concatenate([table.ravel().astype(np.int64) for table in tables]))


def test_squash_undoes_stretch():
    chances = (np.arange(4096) + 0.5) / 4096
    inside = (chances > 0.0005) & (chances < 0.9995)
    back = SQUASH[STRETCH.astype(np.int64) + 2048] / 65536
    np.testing.assert_allclose(back[inside], chances[inside], atol=6e-4)
    np.testing.assert_allclose(STRETCH, np.clip(256 * np.log(chances / (1 - chances)), -2047, 2047), atol=0.51)
    assert np.all(np.diff(SQUASH) >= 0)
    assert 0 < SQUASH.min() < 65536 - SQUASH.max() + 2 < 100


def test_distributions_are_logistic():
    np.testing.assert_allclose(LOGISTIC, 2**24 * logistic(np.arange(-4096, 4096) / 256), atol=0.51)
    np.testing.assert_allclose(SQUASH, 65536 * logistic(np.arange(-2048, 2048) / 256), atol=0.51)


def test_a_chance_learns_as_a_mean_does():
    np.testing.assert_allclose(RATE, 65536 / (np.arange(256) + 1.6), atol=1)


def test_classes_of_magnitudes_rise_by_a_third():
    steps = np.diff(SCALE.astype(int))
    assert np.all(steps >= 0)
    assert SCALE[0] == 0
    assert SCALE.max() < N_SCALES
    starts = np.flatnonzero(steps)[10:] + 1
    np.testing.assert_allclose(starts[1:] / starts[:-1], 1.35, rtol=0.02)


def test_the_guess_for_a_class_has_its_mean():
    assert np.all(np.diff(FIRST_GUESS[:, 0]) <= 0)  # zeros get rarer as magnitudes grow
    zero, stop = FIRST_GUESS[20, [0, 2]] / 65536
    assert np.isclose((1 - zero) / stop, 3 * 1.35**19.5 / 256, rtol=0.01)


def test_cosines_are_orthonormal():
    basis = COSINES / 4096
    np.testing.assert_allclose(basis @ basis.T, np.eye(8), atol=5e-4)


def test_turns_lie_on_the_circle_and_diagonalise():
    unit = TURNS / 2.0**24
    np.testing.assert_allclose((unit**2).sum(axis=2), 1, atol=2e-7)
    ratio = np.arange(1025) / 1024
    angles = np.arctan2(unit[..., 1], unit[..., 0])
    np.testing.assert_allclose(np.tan(2 * angles[0]), ratio, atol=1e-6)
    np.testing.assert_allclose(1 / np.tan(2 * angles[1]), ratio, atol=1e-6)
