"""What denoise() refuses, and what it says."""

import numpy as np
import pytest

from hrpursuit.images import denoise, estimate_sigma

GREY = np.arange(400.0).reshape(20, 20)


@pytest.mark.parametrize(
    ("image", "error", "message"),
    [
        (np.where(GREY == 45, np.nan, GREY), ValueError, r"1 values .* nan at \(2, 5\).*inpaint"),
        (np.where(GREY > 397, np.inf, GREY), ValueError, r"2 values .* inf at \(19, 18\)"),
        (np.ma.masked_greater(GREY, 300), ValueError, "masked pixels.*inpaint"),
        (np.arange(9.0), ValueError, r"two axes.*\(9,\)"),
        (3.0, ValueError, "two axes"),
        (np.zeros((0, 20)), ValueError, "must have pixels"),
        (np.zeros((3, 0, 20, 20)), ValueError, "must have pixels"),
        (np.zeros((20, 20, 3)), ValueError, "pass channel_axis=-1"),
        (np.zeros((5, 20, 20, 4)), ValueError, "pass channel_axis=-1"),
        (np.zeros((20, 1)), ValueError, "got 20 x 1"),
        (np.zeros((7, 20, 1, 20)), ValueError, "got 1 x 20"),
        (GREY > 5, TypeError, "bool"),
        (GREY + 1j, TypeError, r"image\.real"),
        (GREY.astype(object), TypeError, "object"),
        (GREY.astype(str), TypeError, "integers or floats"),
        (np.full((9, 9), 2**60), ValueError, r"2\*\*53"),
    ],
)
def test_images_that_are_refused(image, error, message):
    with pytest.raises(error, match=message):
        denoise(image, 1.0)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sigma": -1}, ValueError, "not negative; got -1"),
        ({"sigma": np.nan}, ValueError, "sigma must be finite"),
        ({"sigma": np.inf}, ValueError, "sigma must be finite"),
        ({"sigma": "10"}, TypeError, "sigma must be a number"),
        ({"sigma": [1, 2]}, ValueError, r"sigma must be a number or an array of shape \(20, 20\).*got \(2,\)"),
        ({"mode": "good"}, ValueError, '"best", "fast" or "paper"; got \'good\''),
        ({"noise": "salt"}, ValueError, "poisson"),
        ({"gain": 0}, ValueError, "gain must be positive"),
        ({"gain": np.nan}, ValueError, "gain must be positive"),
        ({"gain": "2", "noise": "poisson"}, TypeError, "gain must be a number"),
        ({"gain": 2}, ValueError, 'noise="poisson'),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"n_jobs": 1.5}, TypeError, "n_jobs must be a whole number"),
        ({"patch_size": 1}, ValueError, "2 to 32"),
        ({"patch_size": 33}, ValueError, "2 to 32"),
        ({"patch_size": 8.0}, TypeError, "whole number"),
        ({"channel_axis": 0}, ValueError, "Leave channel_axis out"),
        ({"channel_axis": "last"}, TypeError, "channel_axis must be an axis"),
        ({"progress": 3}, TypeError, "callable"),
        ({"random_state": "x"}, ValueError, "seed"),
    ],
)
def test_options_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        denoise(GREY, **{"sigma": 1.0, **options})


def test_axes_that_are_not_there():
    with pytest.raises(ValueError, match="between -3 and 2"):
        denoise(np.zeros((20, 20, 3)), 1.0, channel_axis=3)


def test_estimate_sigma_refuses_the_same():
    with pytest.raises(ValueError, match="inpaint"):
        estimate_sigma(np.where(GREY == 45, np.nan, GREY))
    with pytest.raises(TypeError, match="bool"):
        estimate_sigma(GREY > 3)


def test_an_exception_in_progress_ends_it():
    def stop(done, n):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        denoise(np.stack([GREY] * 6), 1.0, mode="fast", n_jobs=2, progress=stop)
