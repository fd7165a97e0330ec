"""Estimates of the noise level, and noise of counting."""

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hrpursuit.images import denoise, estimate_sigma
from hrpursuit.images.poisson import Anscombe, mean_stabilised

skimage_data = pytest.importorskip("skimage.data", reason='needs scikit-image: pip install ".[experiments]"')


def psnr(image, clean, top=255):
    return 10 * np.log10(top**2 / np.mean((image.astype(float) - clean) ** 2))


@pytest.mark.parametrize(
    ("sigma", "bounds"), [(5, (0.97, 1.25)), (10, (0.97, 1.12)), (25, (0.96, 1.04)), (50, (0.96, 1.02))]
)
def test_noise_level_of_pictures(sigma, bounds):
    for name in ("moon", "chelsea", "brick", "rocket"):
        clean = np.asarray(getattr(skimage_data, name)()[:256, :256]).astype(float)
        noisy = clean + sigma * np.random.default_rng(0).standard_normal(clean.shape)
        found = estimate_sigma(noisy, average_sigmas=True, channel_axis=None if clean.ndim == 2 else -1)
        assert bounds[0] < found / sigma < bounds[1], name


def test_weak_noise_beside_structure():
    clean = skimage_data.coins()[:256, :256].astype(float)
    noisy = clean + 5 * np.random.default_rng(0).standard_normal(clean.shape)
    assert 0.97 < estimate_sigma(noisy) / 5 < 1.12  # 1.16 without the calmest squares of 8 x 8


def halved(name):
    """A grey photograph of scikit-image at half its size, up to 256 x 256 pixels."""
    picture = getattr(skimage_data, name)().astype(float)
    height, width = (n // 2 for n in picture.shape)
    return picture[: 2 * height, : 2 * width].reshape(height, 2, width, 2).mean(axis=(1, 3))[:256, :256]


def loss_by_estimate(name, sigma):
    clean = halved(name)
    noisy = clean + sigma * np.random.default_rng(1).standard_normal(clean.shape)
    return psnr(denoise(noisy, sigma, mode="fast"), clean) - psnr(denoise(noisy, mode="fast"), clean)


@pytest.mark.parametrize(("sigma", "loss"), [(10, 0.2), (50, 0.02)])
def test_not_knowing_the_noise_level_costs_little(sigma, loss):
    assert np.mean([loss_by_estimate(name, sigma) for name in ("camera", "coins", "moon", "brick")]) < loss


@pytest.mark.parametrize(("sigma", "loss"), [(10, 1.6), (50, 0.2)])
def test_fine_texture_passes_for_noise(sigma, loss):
    # nothing but texture as fine as the pixels: the estimate is too high, which costs more than in other pictures
    losses = [loss_by_estimate(name, sigma) for name in ("grass", "gravel")]
    assert np.mean(losses) > 0
    assert np.max(losses) < loss


def test_clean_pictures_have_next_to_no_noise():
    y, x = np.mgrid[:150, :200]
    assert estimate_sigma(np.full((40, 40), 3)) == 0
    assert estimate_sigma(x + 2.0 * y) < 1e-6
    assert estimate_sigma(np.where((x // 40 + y // 30) % 2, 0, 255)) == 0
    disc = np.where((x - 90) ** 2 + (y - 80) ** 2 < 2500, 40, 200) + np.where(x > 150, 30, 0)
    assert estimate_sigma(disc) == 0
    np.testing.assert_array_equal(denoise(disc, mode="fast"), disc)
    camera = skimage_data.camera()
    assert estimate_sigma(camera) < 1.5
    assert np.abs(denoise(camera[:200, :200], mode="fast").astype(int) - camera[:200, :200]).mean() < 1


@pytest.mark.parametrize(("subsampling", "bounds"), [(0, (22, 28)), (2, (22, 32))])
def test_colours_that_a_jpeg_file_has_coarser_do_not_hide_the_noise(subsampling, bounds):
    image = pytest.importorskip("PIL.Image", reason='needs Pillow: pip install ".[images]"')
    clean = skimage_data.chelsea()[:256, :256]
    noisy = np.clip(np.rint(clean + 25 * np.random.default_rng(0).standard_normal(clean.shape)), 0, 255)
    file = io.BytesIO()
    image.fromarray(noisy.astype(np.uint8)).save(file, "JPEG", quality=90, subsampling=subsampling)
    found = np.asarray(image.open(file))
    assert bounds[0] < estimate_sigma(found, average_sigmas=True, channel_axis=-1) < bounds[1]
    assert psnr(denoise(found, mode="fast", channel_axis=-1), clean) > psnr(found, clean) + 5


def test_each_channel_has_its_own_estimate_as_in_scikit_image():
    clean = skimage_data.astronaut()[:200, :200].astype(float)
    sigmas = np.array([5.0, 10.0, 30.0])
    noisy = clean + sigmas * np.random.default_rng(0).standard_normal(clean.shape)
    found = estimate_sigma(noisy, channel_axis=-1)
    np.testing.assert_allclose(found, sigmas, rtol=0.15)
    assert found == estimate_sigma(np.moveaxis(noisy, -1, 0), channel_axis=0)
    assert found == [estimate_sigma(noisy[..., channel]) for channel in range(3)]


def test_grey_images_saved_as_rgb():
    noisy = skimage_data.camera()[::2, ::2] + 10 * np.random.default_rng(0).standard_normal((256, 256))
    # of noise that is the same in three channels all is in their sum
    found = estimate_sigma(np.dstack([noisy] * 3), average_sigmas=True, channel_axis=-1)
    np.testing.assert_allclose(found, np.sqrt(3) * estimate_sigma(noisy))


def test_blank_and_clipped_areas_do_not_count():
    noise = 10 * np.random.default_rng(0).standard_normal((256, 256))
    image = skimage_data.camera()[::2, ::2] + noise
    image[:, :150] = 20
    assert 9.5 < estimate_sigma(image) < 11.5
    bright = np.clip(1.5 * skimage_data.camera()[::2, ::2] - 60.0 + noise, 0, 255).astype(np.uint8)
    assert np.mean((bright == 0) | (bright == 255)) > 0.3
    assert 9.5 < estimate_sigma(bright) < 11.5


@settings(max_examples=25)
@given(
    height=st.integers(12, 70),
    width=st.integers(12, 70),
    scale=st.sampled_from([1e-200, 1e-12, 1.0, 1e20, 1e200]),
    shift=st.floats(-100, 100),
)
def test_noise_alone_is_measured_at_any_size_and_scale(height, width, scale, shift):
    noise = np.random.default_rng(height * width).standard_normal((height, width))
    found = estimate_sigma((noise + shift) * scale)
    assert abs(found / scale - 1) < 0.45
    np.testing.assert_allclose(found / scale, estimate_sigma(noise), rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 2), (7, 5)])
def test_noise_of_a_few_pixels_is_finite(shape):
    assert 0 <= estimate_sigma(np.random.default_rng(0).standard_normal(shape)) < 3


@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0, 8.0, 20.0])
def test_anscombe_is_inverted_without_bias(spread):
    counts = np.concatenate([[0.0, 0.01, 0.1, 0.5, 1, 2, 5, 20, 399, 401], np.linspace(3, 900, 30)])
    found = Anscombe(2.0, 2 * spread).backward(mean_stabilised(counts, spread)) / 2
    np.testing.assert_allclose(found, counts, atol=2e-3)


@pytest.mark.parametrize("spread", [1e-3, 1e-8, 1e-12, 1e-15, 1e-300])
def test_next_to_no_noise_of_reading_is_as_none(spread):
    stabilised = 2 * np.sqrt(np.linspace(0, 500, 200) + 3 / 8)
    np.testing.assert_allclose(
        Anscombe(1.0, spread).backward(stabilised), Anscombe(1.0, 0).backward(stabilised), atol=1e-5
    )


def test_mean_of_the_stabilised_values_by_simulation():
    rng = np.random.default_rng(0)
    for counts, spread in [(0.2, 0.0), (3.0, 0.0), (0.5, 0.7), (10.0, 2.0)]:
        drawn = rng.poisson(counts, 400_000) + spread * rng.standard_normal(400_000)
        mean = Anscombe(1.0, spread).forward(drawn).mean()
        assert abs(mean - mean_stabilised(np.array([counts]), spread)[0]) < 0.008


def test_counts_keep_their_mean_and_get_better_than_with_gaussian_noise():
    shape = skimage_data.camera()[60:220, 100:260] / 255
    for peak, gain in [(1.0, 1.0), (5.0, 3.0), (40.0, 0.5)]:
        clean = (0.05 + shape) * peak * gain
        noisy = gain * np.random.default_rng(0).poisson(clean / gain)
        found = denoise(noisy.astype(float), noise="poisson", gain=gain, mode="fast")
        assert abs(found.mean() / clean.mean() - 1) < 0.02
        as_gaussian = denoise(noisy.astype(float), mode="fast")
        assert psnr(found, clean, clean.max()) > psnr(as_gaussian, clean, clean.max()) + 0.2
        assert found.min() >= 0


def test_reading_noise_of_counts():
    shape = skimage_data.camera()[60:188, 100:228] / 255
    rng = np.random.default_rng(0)
    clean = 2.0 * (1 + 20 * shape)
    noisy = 2.0 * rng.poisson(clean / 2) + 4 * rng.standard_normal(clean.shape)
    known = denoise(noisy, 4, noise="poisson", gain=2, mode="fast")
    assert psnr(known, clean, 42) > psnr(noisy, clean, 42) + 6
    with pytest.raises(ValueError, match="counts with readout noise of 0 do not"):
        denoise(noisy, noise="poisson", gain=2, mode="fast")


def test_colour_counts_and_whole_numbers():
    clean = skimage_data.coffee()[100:164, 200:264] // 8
    noisy = np.random.default_rng(0).poisson(clean).astype(np.uint16)
    found = denoise(noisy, noise="poisson", mode="fast", channel_axis=-1)
    assert found.dtype == np.uint16
    assert psnr(found, clean, 31) > psnr(noisy, clean, 31) + 5
