"""What denoise() promises: better pictures, and the same whatever the unit, the dtype, the axes and the threads."""

import importlib
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hrpursuit.images import denoise
from hrpursuit.images.grouped.pilot import threshold_patches
from hrpursuit.images.learning import dct_atoms
from hrpursuit.images.tiles import spans, tiles

MODES = ["best", "fast", "paper"]
#: Images made at random, and crops of a few pixels, look like correlated noise; what is told apart is tested elsewhere.
pytestmark = pytest.mark.filterwarnings("ignore:the noise looks correlated", "ignore:sigma=.* next to nothing of it")


def psnr(image, clean):
    return 10 * np.log10(255**2 / np.mean((image.astype(float) - clean) ** 2))


def noise_like(image, sigma, seed=0):
    return sigma * np.random.default_rng(seed).standard_normal(image.shape)


@pytest.fixture(scope="module")
def skimage_data():
    return pytest.importorskip("skimage.data", reason='needs scikit-image: pip install ".[experiments]"')


@pytest.fixture(scope="module")
def camera(skimage_data):
    return skimage_data.camera()[100:228, 180:308].astype(float)


@pytest.fixture(scope="module")
def coffee(skimage_data):
    return skimage_data.coffee()[100:196, 200:296].astype(float)


@st.composite
def small_images(draw, channels=False):
    shape = [draw(st.integers(8, 24)), draw(st.integers(8, 24))]
    if channels:
        shape.append(draw(st.integers(1, 5)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    steps = np.cumsum(rng.standard_normal(shape), axis=0) * 20
    return 100 + steps + 5 * rng.standard_normal(shape)


@pytest.mark.parametrize(("mode", "gains"), [("best", (4, 7)), ("fast", (5, 9)), ("paper", (4, 6))])
def test_noise_goes(camera, mode, gains):
    for sigma, gain in zip((10, 40), gains, strict=True):
        noisy = camera + noise_like(camera, sigma)
        assert psnr(denoise(noisy, sigma, mode=mode), camera) > psnr(noisy, camera) + gain


def test_fast_is_better_than_a_fixed_dictionary_and_a_threshold(camera):
    noisy = camera + noise_like(camera, 20)
    plain = threshold_patches(noisy.astype(np.float32), dct_atoms(8), 2.7 * 20)
    assert psnr(denoise(noisy, 20, mode="fast"), camera) > psnr(plain, camera) + 0.4


@pytest.mark.parametrize("mode", ["best", "fast"])
def test_a_hot_pixel_costs_nothing_far_from_it(camera, mode):
    noisy = camera + noise_like(camera, 10)
    hot = noisy.copy()
    hot[110, 110] = 1e4
    far = np.s_[:90]
    expected, found = (psnr(denoise(image, 10, mode=mode)[far], camera[far]) for image in (noisy, hot))
    assert found > expected - 0.1


@pytest.mark.parametrize("mode", ["best", "fast"])
def test_colours_help_each_other(coffee, mode):
    noisy = coffee + noise_like(coffee, 25)
    together = denoise(noisy, 25, mode=mode, channel_axis=-1)
    alone = np.stack([denoise(noisy[..., c], 25, mode=mode) for c in range(3)], axis=-1)
    assert psnr(together, coffee) > psnr(alone, coffee) + 0.5


@pytest.mark.parametrize("mode", MODES)
def test_the_unit_does_not_matter_to_a_picture(camera, mode):
    noisy = camera + noise_like(camera, 20)
    expected = denoise(noisy, 20, mode=mode)
    for scale, shift in [(1e-12, 0), (1e30, 100), (1 / 255, -300)]:
        found = denoise(scale * (noisy + shift), scale * 20, mode=mode) / scale - shift
        assert np.sqrt(np.mean((found - expected) ** 2)) < 0.2  # a code at the threshold may go either way


@settings(max_examples=15)
@given(image=small_images(), scale=st.sampled_from([1e-12, 1 / 255, 257.0, 1e30]), shift=st.floats(-3, 3))
def test_the_unit_does_not_matter(image, scale, shift):
    expected = denoise(image, 5, mode="fast")
    found = denoise(scale * (image + 100 * shift), scale * 5, mode="fast") / scale - 100 * shift
    assert_allclose(found, expected, atol=5)
    assert np.mean(np.abs(found - expected) < 1e-3) > 0.9


@settings(max_examples=15)
@given(image=small_images())
def test_sixteen_bits_are_as_good_as_eight(image):
    narrow = np.clip(np.rint(image), 0, 255).astype(np.uint8)
    wide = narrow.astype(np.uint16) * 257
    assert_allclose(denoise(wide, 5 * 257, mode="fast") / 257, denoise(narrow, 5, mode="fast"), atol=0.51)


@settings(max_examples=8)
@given(image=small_images(channels=True), axis=st.integers(-3, 2), mode=st.sampled_from(MODES))
def test_channels_may_be_on_any_axis(image, axis, mode):
    expected = denoise(image, 5, mode=mode, channel_axis=-1)
    moved = denoise(np.moveaxis(image, -1, axis), 5, mode=mode, channel_axis=axis)
    assert_array_equal(np.moveaxis(moved, axis, -1), expected)


@settings(max_examples=4)
@given(image=small_images(channels=True), mode=st.sampled_from(["best", "fast"]), n_jobs=st.sampled_from([1, 3]))
def test_images_of_a_stack_are_denoised_alone(image, mode, n_jobs):
    stack = np.stack([image, 300 - image, image[::-1] / 7])
    expected = np.stack([denoise(one, mode=mode, channel_axis=-1) for one in stack])
    assert_array_equal(denoise(stack, mode=mode, channel_axis=-1, n_jobs=n_jobs), expected)
    deep = np.stack([stack, stack])
    found = denoise(np.moveaxis(deep, -1, 1), mode=mode, channel_axis=1)
    assert_array_equal(np.moveaxis(found, 1, -1), np.stack([expected, expected]))


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", ">u2", "u4", "i4", "i8", "f2", "f4", ">f4", "f8"])
def test_dtype_shape_and_range_are_kept(dtype):
    rng = np.random.default_rng(0)
    top = 127 if dtype == "i1" else 255
    image = np.clip(np.where(np.arange(20) < 9, 0, top) + rng.normal(0, 20, (17, 20)), 0, top).astype(dtype)
    before = image.copy()
    found = denoise(image, 20, mode="fast")
    assert found.dtype == image.dtype
    assert found.shape == image.shape
    assert_array_equal(image, before)
    assert found.max() > top - 20  # not wrapped around
    assert np.std(found[:, :6].astype(float)) < np.std(image[:, :6].astype(float))


def test_whole_numbers_are_clipped_and_rounded():
    y, x = np.mgrid[:40, :40]
    image = np.where((x - 19) ** 2 + (y - 17) ** 2 < 150, 255, 0).astype(np.uint8)
    exact = denoise(image.astype(float), 30, mode="fast")
    assert exact.max() > 256  # so that there is something to clip
    assert exact.min() < -1
    assert_array_equal(denoise(image, 30, mode="fast"), np.clip(np.rint(exact), 0, 255))


@settings(max_examples=20)
@given(image=small_images(), mode=st.sampled_from(MODES), dtype=st.sampled_from(["u1", "f4", "f8"]))
def test_without_noise_the_image_comes_back(image, mode, dtype):
    image = np.clip(image, 0, 255).astype(dtype)
    found = denoise(image, 0, mode=mode)
    assert_array_equal(found, image)
    assert not np.shares_memory(found, image)
    constant = np.full_like(image, 7)
    assert_array_equal(denoise(constant, mode=mode), constant)


@pytest.mark.parametrize("mode", MODES)
def test_noise_below_single_precision_is_left(camera, mode):
    image = 1e9 + camera
    with pytest.warns(UserWarning, match="returned as it is"):
        assert_array_equal(denoise(image, 1e-9, mode=mode), image)
    assert np.abs(denoise(image, 1e-3, mode=mode) - image).max() < 0.05  # and hardly anything is added to faint noise


@pytest.mark.parametrize("mode", MODES)
def test_images_wider_than_the_filters_are_exact_for_come_back_as_they_are(camera, mode):
    image = camera[:48, :48] / np.ptp(camera[:48, :48])
    with pytest.warns(
        UserWarning, match=r"returned as it is: its values go from .* to .*, over 262,144 times the noise"
    ):
        assert_array_equal(denoise(image, 2.0**-19, mode=mode), image)
    assert not np.array_equal(denoise(image, 2.0**-17, mode=mode), image)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sigma", [None, 10])
def test_a_pixel_that_is_too_far_off_is_told(camera, sigma, dtype):
    image = (camera[:48, :48] + noise_like(camera[:48, :48], 10)).astype(dtype)
    image[5, 7] = 1e8
    with pytest.warns(UserWarning, match=r"If only a few pixels are far .*inpaint\(image, mask\)"):
        assert_array_equal(denoise(image, sigma, mode="fast"), image)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
def test_images_without_noise_come_back_without_a_word(dtype):
    image = np.add.outer(np.arange(64), 2 * np.arange(64)).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.ptp(denoise(image, mode="fast") - image) <= 1e-4
        denoise(np.full_like(image, 7), 10, mode="fast")


@pytest.mark.parametrize("unit", [1e-200, 1e-20, 1e20, 1e300])
@pytest.mark.parametrize("sigma", [None, 10])
def test_units_of_any_size_without_a_warning(camera, unit, sigma):
    image = camera[:48, :48] + noise_like(camera[:48, :48], 10)
    expected = denoise(image, sigma, mode="fast")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = denoise(image * unit, None if sigma is None else sigma * unit, mode="fast")
    assert_allclose(found / unit, expected, atol=0.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [2, 5, 8])
def test_images_of_one_patch_and_long_strips(mode, size):
    rng = np.random.default_rng(0)
    for shape in [(size, size), (size, 700), (size + 1, size)]:
        found = denoise(rng.normal(100, 10, shape), 10, mode=mode, patch_size=size)
        assert np.isfinite(found).all()
        assert abs(found.mean() - 100) < 10
        assert found.std() < 11


@pytest.mark.parametrize("mode", ["best", "fast"])
def test_numbers_of_numpy_are_numbers(camera, mode):
    image = camera[:48, :48] + noise_like(camera[:48, :48], 20)
    expected = denoise(image, 20, mode=mode, patch_size=16)
    assert_array_equal(denoise(image, np.float32(20), mode=mode, patch_size=np.uint8(16)), expected)


@pytest.mark.parametrize("mode", MODES)
def test_noise_may_be_stronger_than_anything(camera, mode):
    image = camera[:48, :48]
    with pytest.warns(UserWarning, match="next to nothing of it will be left"):
        strong = denoise(image, 1e9, mode=mode)
    assert strong.std() < 0.95 * image.std()
    for sigma in (1e15, 1e50, 1e300):
        with pytest.warns(UserWarning, match="next to nothing of it will be left"):
            assert_allclose(denoise(image, sigma, mode=mode), strong, atol=1e-3)


def test_the_result_is_the_same_every_time_and_follows_the_seed(skimage_data):
    image = skimage_data.camera()[:160, :160] + noise_like(np.zeros((160, 160)), 20)
    first = denoise(image, 20, mode="fast")
    assert_array_equal(denoise(image, 20, mode="fast"), first)
    other = denoise(image, 20, mode="fast", random_state=1)
    assert not np.array_equal(other, first)
    assert np.std(other - first) < 2
    assert_array_equal(denoise(image, 20, mode="fast", random_state=np.random.RandomState(1)), other)


@settings(max_examples=60)
@given(length=st.integers(2, 5000), core=st.integers(64, 600))
def test_tiles_cover_every_pixel_once_in_sum(length, core):
    total = np.zeros(length)
    for span in spans(length, core):
        assert span.stop - span.start <= core + 97
        total[span.pixels] += span.weights
    assert_array_equal(total, 1)
    assert len(spans(length, core)) == 1 or length > core + 64


def test_tiles_side_by_side_and_one_below_the_other(camera, monkeypatch):
    clean = np.tile(camera, (2, 2))[:150, :200]
    stack = np.stack([clean, 255 - clean]) + noise_like(np.zeros((2, 150, 200)), 20)
    whole = denoise(stack, 20, mode="fast")
    module = importlib.import_module("hrpursuit.images.denoise")
    monkeypatch.setattr(module, "tiles", lambda height, width: tiles(height, width, core=64))
    seen = []
    tiled = denoise(stack, 20, mode="fast", n_jobs=3, progress=lambda done, n: seen.append((done, n)))
    assert seen == [(i, 12) for i in range(1, 13)]  # two times three tiles for each of both
    assert 0 < np.std(tiled - whole) < 3
    assert np.abs(tiled - whole).max() < 40


@pytest.fixture(scope="module")
def large(skimage_data):
    clean = skimage_data.retina()[300:1000, 600:720].mean(axis=2)
    return clean, clean + noise_like(clean, 20)


@pytest.mark.parametrize("mode", MODES)
def test_tiles_leave_no_seams(large, mode, monkeypatch):
    clean, noisy = large
    seen = []
    tiled = denoise(noisy, 20, mode=mode, n_jobs=2, progress=lambda done, n: seen.append((done, n)))
    assert seen == [(1, 2), (2, 2)]
    assert_array_equal(denoise(noisy, 20, mode=mode), tiled)
    module = importlib.import_module("hrpursuit.images.denoise")
    monkeypatch.setattr(module, "tiles", lambda height, width: tiles(height, width, core=10_000))
    whole = denoise(noisy, 20, mode=mode)
    difference = np.abs(tiled - whole)
    seam = np.zeros(clean.shape, bool)
    seam[318:382] = True
    assert np.sqrt(np.mean(difference[seam] ** 2)) < 1.2 * np.sqrt(np.mean(difference[~seam] ** 2)) + 0.02
    assert difference[seam].max() < 20
    assert abs(psnr(tiled, clean) - psnr(whole, clean)) < 0.15
    # steps across the lines where tiles meet are no larger than those beside them
    steps = np.abs(np.diff(tiled - clean, axis=0)).mean(axis=1)
    assert steps[318:382].max() < 1.5 * steps[200:500].mean()
