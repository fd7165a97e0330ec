import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator

from hrpursuit.images import inpaint
from hrpursuit.images.filling import Filler
from hrpursuit.images.masked_groups import add_fills
from hrpursuit.images.matching import nearest


def picture(height=72, width=80):
    """Edges, stripes and a slope, 0 to 255."""
    y, x = np.mgrid[:height, :width]
    image = 60 + x + 40 * np.sin(0.5 * x + 0.3 * y) * (y > 30)
    return np.clip(np.where(x + 2 * y < 90, image, 230 - y), 0, 255)


def at_random(shape, share, seed=0):
    return np.random.default_rng(seed).random(shape) < share


def linear(image, mask):
    filled = image.copy()
    filled[mask] = LinearNDInterpolator(np.argwhere(~mask), image[~mask])(np.argwhere(mask))
    outside = np.isnan(filled)
    filled[outside] = NearestNDInterpolator(np.argwhere(~mask), image[~mask])(np.argwhere(outside))
    return filled


def rmse(image, filled, mask):
    return float(np.sqrt(np.mean(np.square(np.asarray(filled, float) - image)[mask])))


@pytest.mark.parametrize(("share", "ratio"), [(0.25, 0.5), (0.5, 0.5), (0.8, 0.75)])
def test_is_much_better_than_linear_interpolation(share, ratio):
    image = picture()
    mask = at_random(image.shape, share)
    filled = inpaint(np.where(mask, -1e9, image), mask)
    assert rmse(image, filled, mask) < ratio * rmse(image, linear(image, mask), mask)
    assert_array_equal(filled[~mask], image[~mask])


def test_holes_larger_than_a_patch_go_on_with_what_surrounds_them():
    image = np.tile(128 + 100 * np.sin(np.arange(96) / 3.0), (96, 1))
    mask = np.zeros(image.shape, bool)
    mask[36:56, 40:60] = True
    filled = inpaint(image, mask)
    assert rmse(image, filled, mask) < 0.25 * image.std()
    assert rmse(image, linear(image, mask), mask) > 0.5 * image.std()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float16, np.float32, np.float64])
def test_dtype_and_observed_pixels_are_kept(dtype):
    image = picture(40, 41).astype(dtype)
    before = image.copy()
    mask = at_random(image.shape, 0.4)
    filled = inpaint(image, mask)
    assert filled.dtype == dtype
    assert_array_equal(image, before)
    assert filled[~mask].tobytes() == image[~mask].tobytes()
    assert rmse(before.astype(float), filled, mask) < 12


def test_whole_numbers_stay_in_their_range():
    image = np.where(np.add.outer(np.arange(40), np.arange(40)) < 40, 0, 255).astype(np.uint8)
    mask = at_random(image.shape, 0.5)
    assert np.abs(inpaint(image, mask).astype(int) - image)[mask].mean() < 15  # overflow would be 255


@pytest.mark.parametrize(("scale", "shift"), [(1e-200, 0.0), (1e-6, 0.0), (1e7, -3e8), (-2.0, 10.0), (1e200, 0.0)])
def test_unit_does_not_matter(scale, shift):
    image = picture(40, 44)
    mask = at_random(image.shape, 0.5)
    expected = scale * inpaint(image, mask) + shift
    assert_allclose(inpaint(scale * image + shift, mask), expected, atol=abs(scale))


def test_nan_masked_arrays_and_masks_say_the_same():
    image = picture(40, 44)
    mask = at_random(image.shape, 0.3)
    gappy = np.where(mask, np.nan, image)
    expected = inpaint(image, mask)
    assert_array_equal(inpaint(gappy), expected)
    assert_array_equal(inpaint(np.ma.masked_array(image, mask)), expected)
    half = mask & (np.arange(44) < 20)
    assert_array_equal(inpaint(np.where(half, np.nan, image), mask & ~half), expected)


def test_channels_may_be_anywhere_and_are_filled_together():
    image = np.stack([picture(40, 44), 255 - picture(40, 44), 0.5 * picture(40, 44) + 30])
    mask = at_random(image.shape[1:], 0.5)
    filled = inpaint(image, mask, channel_axis=0)
    last = inpaint(np.moveaxis(image, 0, -1), mask, channel_axis=-1)
    assert_array_equal(np.moveaxis(last, -1, 0), filled)
    # where each channel misses pixels of its own, the others tell of them
    own = at_random(image.shape, 0.5, seed=1)
    together = inpaint(image, own, channel_axis=0)
    alone = np.stack([inpaint(channel, gaps) for channel, gaps in zip(image, own, strict=True)])
    assert rmse(image, together, own) < 0.7 * rmse(image, alone, own)
    assert_array_equal(together[~own], image[~own])


def test_patches_may_be_smaller_than_the_steps_between_them():
    image = picture()
    mask = at_random(image.shape, 0.5)
    assert rmse(image, inpaint(image, mask, patch_size=2), mask) < 1.5 * rmse(image, linear(image, mask), mask)
    cube = picture(40, 40) + 5 * np.arange(12)[:, None, None]  # of so many channels patches are cut down to 2 x 2
    gaps = at_random(cube.shape, 0.5)
    assert rmse(cube, inpaint(cube, gaps, channel_axis=0), gaps) < 5


def test_many_channels_with_gaps_of_their_own():
    image = picture(24, 24) + 5 * np.arange(30)[:, None, None]
    mask = at_random(image.shape, 0.3)
    assert rmse(image, inpaint(image, mask, channel_axis=0), mask) < 0.3 * image.std()


def test_stacks_are_filled_image_by_image():
    stack = np.stack([picture(32, 36), 255 - picture(32, 36)])[:, None]
    mask = at_random(stack.shape, 0.4)
    filled = inpaint(stack, mask)
    for image, gaps, expected in zip(stack[:, 0], mask[:, 0], filled[:, 0], strict=True):
        assert_array_equal(inpaint(image, gaps), expected)
    colours = np.stack([stack[:, 0]] * 3, axis=-1)
    shared = inpaint(colours, mask[:, 0], channel_axis=-1)
    assert_array_equal(shared[0], inpaint(colours[0], mask[0, 0], channel_axis=-1))
    assert_array_equal(inpaint(colours, mask[0, 0], channel_axis=-1)[0], shared[0])


def test_tiles_leave_no_seam_and_threads_no_trace():
    image = np.tile(picture(72, 80), 9)[20:50, :700]
    mask = at_random(image.shape, 0.5)
    filled = inpaint(image, mask)
    seen = []
    assert_array_equal(inpaint(image, mask, n_jobs=2, progress=lambda *done: seen.append(done)), filled)
    assert seen == [(1, 2), (2, 2)]
    error = np.where(mask, np.square(filled - image), np.nan)
    where_tiles_meet = np.nanmean(error[:, 318:382])
    assert where_tiles_meet < 1.5 * np.nanmean(error)


def test_noise_is_removed_on_request():
    image = picture(64, 64)
    noisy = image + 15 * np.random.default_rng(0).standard_normal(image.shape)
    mask = at_random(image.shape, 0.4)
    filled = inpaint(noisy, mask, sigma=15)
    assert rmse(image, filled, ~mask) < 0.6 * 15
    assert rmse(image, filled, mask) < rmse(image, inpaint(noisy, mask), mask)


def test_nothing_missing_and_nothing_varying():
    image = picture(20, 20)
    assert_array_equal(inpaint(image, np.zeros(image.shape, bool)), image)
    constant = np.full((12, 15), 7, np.uint8)
    mask = at_random(constant.shape, 0.9)
    assert_array_equal(inpaint(np.where(mask, 200, constant).astype(np.uint8), mask), constant)


def test_smallest_images_and_a_single_observed_pixel():
    mask = np.ones((8, 8), bool)
    mask[3, 4] = False
    assert_allclose(inpaint(np.full((8, 8), 5.0), mask), 5.0)
    image = picture(8, 9)
    mask = at_random(image.shape, 0.5)
    assert np.isfinite(inpaint(image, mask)).all()


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.2, 0.8])
def test_fill_is_the_mean_given_the_observed_pixels(noise, share):
    rng = np.random.default_rng(0)
    patch, atoms = rng.standard_normal(9), np.linalg.qr(rng.standard_normal((9, 9)))[0]
    codes = rng.standard_normal((5, 9)).astype(np.float32)
    missing = np.arange(9) < round(9 * share)
    total, weight = np.zeros(9), np.zeros(9)
    groups, corners = np.arange(5, dtype=np.int32)[None], np.zeros(1, np.int64)
    pixels = patch.astype(np.float32)
    add_fills(pixels, missing, codes, atoms, groups, corners, np.arange(9), 0.1, noise**2, total, weight)

    covariance = atoms.T @ np.diag(codes.var(axis=0) + 0.1) @ atoms
    mean = codes.mean(axis=0) @ atoms
    seen = covariance[~missing][:, ~missing] + noise**2 * np.eye(np.sum(~missing))
    expected = mean[missing] + covariance[missing][:, ~missing] @ np.linalg.solve(seen, (pixels - mean)[~missing])
    assert_allclose(total[missing], expected, atol=1e-5)
    assert_array_equal(weight, missing)


def test_similar_patches_are_the_nearest_in_the_window():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((3, 12, 14)).astype(np.float32)
    corners = np.array([0, 5 * 14 + 6, 12 * 14 - 1])
    groups = nearest(features, corners, 6, 4, np.float32(0), np.zeros((9, 9), np.float32))
    y, x = np.divmod(np.arange(12 * 14), 14)
    for corner, group in zip(corners, groups, strict=True):
        distance = np.square(features.reshape(3, -1) - features.reshape(3, -1)[:, [corner]]).sum(axis=0)
        distance[(np.abs(y - y[corner]) > 4) | (np.abs(x - x[corner]) > 4)] = np.inf
        assert_array_equal(group, np.argsort(distance)[:6])


def test_another_seed_draws_other_patches():
    image = picture(64, 64).astype(np.float32)[None] / 60
    mask = at_random(image.shape, 0.5)
    first, again, other = (Filler(5, True, 0.0, seed, 1).fill(np.where(mask, 0, image), mask) for seed in (0, 0, 1))
    assert_array_equal(first, again)
    assert 0 < np.abs(first - other).max() < 1


@pytest.mark.parametrize(
    ("image", "mask", "options", "message"),
    [
        (np.ones((9, 9)), np.zeros((9, 8), bool), {}, r"mask must have shape \(9, 9\).*got \(9, 8\)"),
        (np.ones((9, 9, 3)), np.zeros((9, 3), bool), {"channel_axis": 2}, r"\(9, 9, 3\) or \(9, 9\)"),
        (np.ones((9, 9)), np.ones((9, 9), bool), {}, "all pixels of image are missing"),
        (np.full((2, 9, 9), np.nan), None, {}, "all pixels of image 0 of the stack"),
        (np.ones((9, 9)), np.ones((9, 9)), {}, "mask must be bool.*float64"),
        (np.ones((1, 9)), np.zeros((1, 9), bool), {}, "two rows and two columns"),
        (np.full((9, 9), np.inf), np.zeros((9, 9), bool), {}, "finite"),
        (np.ones((9, 9), bool), np.zeros((9, 9), bool), {}, "bool"),
        (np.ones((9, 9)), None, {"patch_size": 40}, "patch_size must be 2 to 16"),
        (np.ones((9, 9)), None, {"patch_size": 4.0}, "whole number"),
        (np.ones((9, 9)), None, {"sigma": -1}, "sigma must be finite and not negative"),
        (np.ones((9, 9)), None, {"sigma": "1"}, "sigma must be one number"),
        (np.ones((9, 9)), None, {"n_jobs": 0}, "n_jobs"),
        (np.ones((9, 9)), None, {"channel_axis": 2}, "channel"),
        (np.ones((9, 9)), None, {"progress": 3}, "callable"),
    ],
)
def test_bad_input_gets_a_clear_error(image, mask, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        inpaint(image, mask, **options)


def test_a_channel_without_any_pixel_is_refused():
    image = np.ones((9, 9, 3))
    mask = np.zeros(image.shape, bool)
    mask[..., 1] = True
    with pytest.raises(ValueError, match="channel 1 of image has no observed pixel"):
        inpaint(image, mask, channel_axis=-1)


@pytest.mark.parametrize("shape", [(2, 2), (3, 5), (5, 5), (2, 40)])
def test_images_smaller_than_a_patch(shape):
    image = 100 + 3.0 * np.arange(shape[0])[:, None] + np.zeros(shape)
    mask = np.zeros(shape, bool)
    mask[1, 1] = True
    assert abs(inpaint(np.where(mask, 0, image), mask)[1, 1] - 103) < 5


@pytest.mark.parametrize("value", [1e3, 1e9])
def test_a_hot_pixel_costs_little_far_from_it(value):
    skimage_data = pytest.importorskip("skimage.data", reason='needs scikit-image: pip install ".[experiments]"')
    image = skimage_data.camera()[100:196, 150:246].astype(float)
    mask = np.random.default_rng(0).random(image.shape) < 0.4
    mask[45, 45] = False
    y, x = np.indices(image.shape)
    far = mask & (np.hypot(y - 45, x - 45) > 24)
    hot = image.copy()
    hot[45, 45] = value
    errors = [np.sqrt(np.mean((inpaint(one, mask) - image)[far] ** 2)) for one in (image, hot)]
    assert errors[1] < 1.08 * errors[0]
