"""Noise that differs between pixels, is correlated, or counted: removed, estimated, and told."""

import io
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter, uniform_filter

from hrpursuit.images import denoise, estimate_sigma
from hrpursuit.images.channels import across_channels
from hrpursuit.images.spectrum import Whitener, estimated_spectrum, resampled

skimage_data = pytest.importorskip("skimage.data", reason='needs scikit-image: pip install ".[experiments]"')


def psnr(image, clean, top=255):
    return 10 * np.log10(top**2 / np.mean((image.astype(float) - clean) ** 2))


def smoothed_noise(shape, sigma, seed=0):
    """White noise smoothed by a box of 3 x 3 pixels, as strong as `sigma` after it."""
    return 3 * sigma * uniform_filter(np.random.default_rng(seed).standard_normal(shape), 3, mode="wrap")


def white(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.fixture(scope="module")
def camera():
    return skimage_data.camera()[::2, ::2].astype(float)[40:200, 60:220]


def stored_as_jpeg(image, quality):
    pillow = pytest.importorskip("PIL.Image", reason='needs Pillow: pip install ".[images]"')
    with io.BytesIO() as file:
        pillow.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8)).save(file, "JPEG", quality=quality)
        return np.asarray(pillow.open(file)).astype(float)


BOX = np.outer(*[(1 + 2 * np.cos(2 * np.pi * np.fft.fftfreq(64))) ** 2] * 2) / 9  # spectrum of smoothed noise


class TestPixelsAndChannels:
    @pytest.mark.parametrize("kind", ["slow", "half", "single pixels"])
    def test_a_map_is_better_than_one_number(self, camera, kind):
        x = np.arange(camera.shape[1]) + 0.0 * camera
        few = np.random.default_rng(1).random(camera.shape) < 0.1
        sigma = {"slow": 5 + x / 4, "half": np.where(x < 80, 5, 40), "single pixels": np.where(few, 80, 10)}[kind]
        noisy = camera + sigma * white(camera.shape)
        mean = float(np.sqrt(np.mean(sigma**2)))
        assert psnr(denoise(noisy, sigma, mode="fast"), camera) > psnr(denoise(noisy, mean, mode="fast"), camera) + 2

    def test_a_map_of_one_value_is_that_number(self, camera):
        noisy = camera + 20 * white(camera.shape)
        assert_allclose(denoise(noisy, np.full(camera.shape, 20), mode="fast"), denoise(noisy, 20, mode="fast"))

    def test_maps_of_any_shape_that_fits(self, camera):
        colour = np.stack([camera, 0.5 * camera, 255 - camera])[:, :40, :50]
        sigma = np.linspace(5, 20, 40 * 50).reshape(40, 50)
        noisy = colour + sigma * white(colour.shape)
        expected = denoise(noisy, sigma, mode="fast", channel_axis=0)
        assert_array_equal(denoise(noisy, np.stack([sigma] * 3), mode="fast", channel_axis=0), expected)
        stack = np.stack([noisy, noisy[:, ::-1]])
        found = denoise(stack, np.stack([sigma, sigma[::-1]]), mode="fast", channel_axis=1)
        assert_array_equal(found[0], expected)

    def test_pixels_without_noise_stay_as_they_are(self, camera):
        sigma = np.where(np.random.default_rng(0).random(camera.shape) < 0.5, 20.0, 0)
        noisy = camera + sigma * white(camera.shape)
        found = denoise(noisy, sigma, mode="fast")
        assert_array_equal(found[sigma == 0], noisy[sigma == 0])
        assert psnr(found, camera) > psnr(noisy, camera) + 1

    @pytest.mark.parametrize("value", [0.0, 65535.0, 1e6])
    @pytest.mark.parametrize("dead", ["column", "pixels"])
    def test_dead_pixels_of_a_map_are_filled(self, camera, value, dead):
        is_dead = (
            np.random.default_rng(0).random(camera.shape) < 0.001 if dead == "pixels" else np.zeros_like(camera, bool)
        )
        is_dead[:, 70] |= dead == "column"
        noisy = camera + 20 * white(camera.shape)
        expected = psnr(denoise(noisy, 20, mode="fast"), camera)
        found = denoise(np.where(is_dead, value, noisy), np.where(is_dead, 1e6, 20), mode="fast")
        assert psnr(found, camera) > expected - 0.8

    def test_a_map_of_zeros_leaves_the_image_without_a_warning(self, camera):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(denoise(camera, np.zeros(camera.shape), mode="fast"), camera)

    @pytest.mark.parametrize("is_told", [True, False])
    def test_clean_channels_gain_beside_a_noisy_one(self, is_told):
        clean = skimage_data.coffee()[100:228, 200:328].astype(float)
        sigma = np.array([2.0, 2.0, 30.0])
        noisy = clean + sigma * white(clean.shape)
        found, noise = denoise(noisy, sigma if is_told else None, channel_axis=-1, return_noise=True)
        for channel in range(3):
            assert psnr(found[..., channel], clean[..., channel]) > psnr(noisy[..., channel], clean[..., channel])
        assert noise.estimated == (() if is_told else ("sigma",))
        assert_allclose(noise.sigma, sigma, rtol=0.5)

    def test_unlike_channels_are_turned_orthogonally_with_grey_first(self):
        sigmas = np.array([1.0, 3.0, 20.0, 2.0])
        turn = across_channels(np.eye(4), sigmas=sigmas)
        assert_allclose(turn @ turn.T, np.eye(4), atol=1e-12)
        assert_allclose(turn[1:] @ (1 / sigmas), 0, atol=1e-12)
        assert_allclose(across_channels(np.eye(4), sigmas=np.ones(4)), across_channels(np.eye(4)), atol=1e-12)


class TestCorrelated:
    @pytest.mark.parametrize("mode", ["best", "fast"])
    def test_a_decibel_above_the_white_assumption(self, camera, mode):
        noisy = camera + smoothed_noise(camera.shape, 25)
        with pytest.warns(UserWarning, match="noise looks correlated"):
            as_white = psnr(denoise(noisy, 25, mode=mode), camera)
        found, noise = denoise(noisy, noise="correlated", mode=mode, return_noise=True)
        assert psnr(found, camera) > as_white + 1
        assert psnr(denoise(noisy, noise="correlated", psd=625 * BOX, mode=mode), camera) > as_white + 1
        assert noise.estimated == ("sigma", "psd")
        assert 0.8 < noise.sigma / 25 < 1.2
        assert_allclose(noise.psd.mean(), noise.sigma**2)

    def test_with_sigma_only_the_form_of_the_spectrum_counts(self, camera):
        noisy = camera + smoothed_noise(camera.shape, 25)
        expected = denoise(noisy, noise="correlated", psd=625 * BOX, mode="fast")
        assert_allclose(denoise(noisy, 25, noise="correlated", psd=7 * BOX, mode="fast"), expected, atol=0.1)

    def test_a_flat_spectrum_is_white_noise(self, camera):
        noisy = camera + 20 * white(camera.shape)
        found = denoise(noisy, noise="correlated", psd=np.full((5, 7), 400.0), mode="fast")
        assert np.std(found - denoise(noisy, 20, mode="fast")) < 0.2

    def test_what_is_returned_can_be_given(self):
        clean = skimage_data.coffee()[100:180, 200:280].astype(float)
        noisy = clean + smoothed_noise(clean.shape, 15)
        found, noise = denoise(noisy, noise="correlated", mode="fast", channel_axis=-1, return_noise=True)
        assert noise.psd.shape[0] == 3
        assert_allclose(
            denoise(noisy, noise="correlated", psd=noise.psd, mode="fast", channel_axis=-1), found, atol=0.1
        )

    def test_spectrum_of_noise_alone(self):
        found = estimated_spectrum(smoothed_noise((256, 256), 10))
        expected = 100 * resampled(BOX, found.shape)
        assert abs(np.corrcoef(found.ravel(), expected.ravel())[0, 1]) > 0.95
        assert 0.75 < found.mean() / 100 < 1.25

    def test_whitening_is_undone(self):
        planes = white((2, 60, 50)).astype(np.float32)
        whitener = Whitener.of(np.stack([BOX, np.ones_like(BOX)]), (60, 50))
        assert_allclose(whitener.backward(whitener.forward(planes)), planes, atol=0.05)

    def test_white_assumption_is_warned_of(self, camera):
        noisy = camera + smoothed_noise(camera.shape, 20)
        for sigma in (None, 20):
            with pytest.warns(UserWarning, match=r'neighbouring pixels by 0\.[4-7].*noise="correlated"'):
                denoise(noisy, sigma, mode="fast")

    @pytest.mark.parametrize(("sigma", "quality"), [(10, 75), (20, 50), (10, 50), (20, 30)])
    @pytest.mark.parametrize("name", ["camera", "astronaut"])
    def test_noise_of_which_jpeg_left_the_coarse_part_is_told(self, name, sigma, quality):
        clean = getattr(skimage_data, name)()[60:316, 100:356].astype(float)
        clean = clean if clean.ndim == 2 else clean.mean(axis=-1)
        stored = stored_as_jpeg(clean + sigma * white(clean.shape), quality)
        with pytest.warns(UserWarning, match=r'taken for texture and stay.*noise="correlated"'):
            as_white = denoise(stored, mode="fast")
        as_correlated = denoise(stored, noise="correlated", mode="fast")
        assert psnr(as_correlated, clean) > psnr(as_white, clean) + 2

    @pytest.mark.parametrize(("sigma", "quality"), [(5, 90), (20, 60), (20, 65)])
    @pytest.mark.parametrize("name", ["camera", "coffee", "astronaut", "moon"])
    def test_noise_of_which_jpeg_cut_the_fine_part_is_told(self, name, sigma, quality):
        clean = getattr(skimage_data, name)()[60:316, 100:356].astype(float)
        clean = clean if clean.ndim == 2 else clean.mean(axis=-1)
        stored = stored_as_jpeg(clean + sigma * white(clean.shape), quality)
        with pytest.warns(UserWarning, match=r'JPEG.*give sigma=.*noise="correlated"|taken for texture') as told:
            blind = denoise(stored, mode="fast")
        hint = re.search(r"sigma=([\d.]+)", str(told[0].message))
        better = denoise(stored, mode="fast", **({"sigma": float(hint[1])} if hint else {"noise": "correlated"}))
        assert psnr(better, clean) > psnr(blind, clean) + 1

    @pytest.mark.parametrize(("sigma", "quality"), [(10, 95), (20, 85)])
    @pytest.mark.parametrize("name", ["camera", "moon", "grass", "gravel"])
    def test_noise_that_jpeg_left_as_it_was_is_not(self, name, sigma, quality):
        clean = getattr(skimage_data, name)()[60:316, 100:356].astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            denoise(stored_as_jpeg(clean + sigma * white(clean.shape), quality), mode="fast")

    @pytest.mark.parametrize("quality", [95, 75, 50, 30])
    @pytest.mark.parametrize("name", ["camera", "coffee", "astronaut"])
    def test_jpeg_without_noise_is_not(self, name, quality):
        clean = getattr(skimage_data, name)()[:256, :256].astype(float)
        stored = stored_as_jpeg(clean if clean.ndim == 2 else clean.mean(axis=-1), quality)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            denoise(stored, mode="fast")

    @pytest.mark.parametrize("name", ["camera", "coins", "moon", "page", "brick"])
    @pytest.mark.parametrize("sigma", [0, 5, 25])
    def test_white_noise_is_not(self, name, sigma):
        clean = getattr(skimage_data, name)().astype(float)[:180, :180]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            denoise(clean + sigma * white(clean.shape), mode="fast")


class TestCounting:
    @pytest.mark.parametrize(("peak", "gain", "readout"), [(30, 2.0, 8.0), (100, 5.0, 0.0), (10, 1.0, 0.5)])
    def test_unknown_parameters_cost_little(self, camera, peak, gain, readout):
        clean = camera / 255 * peak * gain
        rng = np.random.default_rng(0)
        noisy = gain * rng.poisson(clean / gain) + readout * rng.standard_normal(clean.shape)
        known = denoise(noisy, readout, noise="poisson", gain=gain)
        found, noise = denoise(noisy, noise="poisson-gaussian", return_noise=True)
        assert psnr(found, clean) > psnr(known, clean) - 0.3
        assert set(noise.estimated) >= {"sigma", "gain"}
        assert 0.7 < noise.gain / gain < 1.4

    def test_texture_in_dark_parts_is_not_taken_for_readout_noise(self):
        photo = pytest.importorskip("sklearn.datasets").load_sample_image("china.jpg").mean(axis=-1)
        clean = photo[117:309, 224:416] / 255 * 100
        rng = np.random.default_rng(0)
        noisy = 0.5 * rng.poisson(2 * clean) + rng.standard_normal(clean.shape)
        known = denoise(noisy, 1.0, noise="poisson", gain=0.5, mode="fast")
        found, noise = denoise(noisy, noise="poisson-gaussian", mode="fast", return_noise=True)
        assert noise.gain > 0.33
        assert psnr(found, clean) > psnr(known, clean) - 0.3

    def test_what_is_given_is_kept(self, camera):
        rng = np.random.default_rng(0)
        noisy = 2.0 * rng.poisson(camera / 4) + 6 * rng.standard_normal(camera.shape)
        for given, estimated in (({"gain": 2.0}, ("sigma",)), ({"sigma": 6.0}, ("gain",))):
            _, noise = denoise(noisy, **given, noise="poisson-gaussian", mode="fast", return_noise=True)
            assert noise.estimated == estimated
            assert_allclose([noise.gain, noise.sigma], [2, 6], rtol=0.25)
        assert "gain 2 (given), readout 6 (given)" in str(
            denoise(noisy, 6, gain=2.0, noise="poisson-gaussian", mode="fast", return_noise=True)[1]
        )

    def test_a_black_level_is_found(self, camera):
        clean = 300 + 3.0 * camera
        noisy = 300 + 3.0 * np.random.default_rng(0).poisson(camera)
        found, noise = denoise(noisy, noise="poisson-gaussian", mode="fast", return_noise=True)
        assert "offset" in noise.estimated
        assert 200 < noise.offset < 400
        as_gaussian = denoise(noisy, mode="fast")
        assert psnr(found, clean) > psnr(as_gaussian, clean)

    @pytest.mark.parametrize("black", [-1000.0, -100.0, 20.0])
    def test_zero_counts_may_have_any_value(self, camera, black):
        rng = np.random.default_rng(0)
        counts = 2.5 * rng.poisson(camera / 2.5) + 4 * rng.standard_normal(camera.shape)
        expected = psnr(denoise(counts, noise="poisson-gaussian", mode="fast"), camera)
        found = denoise(counts + black, noise="poisson-gaussian", mode="fast")
        assert abs(psnr(found - black, camera) - expected) < 0.1

    @pytest.mark.parametrize("unit", [1e-200, 1e-12, 1e-5, 1e5, 1e200])
    def test_the_unit_does_not_matter_to_counts(self, camera, unit):
        rng = np.random.default_rng(0)
        noisy = 2.5 * rng.poisson(camera / 2.5) + 4 * rng.standard_normal(camera.shape)
        expected, noise = denoise(noisy, noise="poisson-gaussian", mode="fast", return_noise=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found, same = denoise(noisy * unit, noise="poisson-gaussian", mode="fast", return_noise=True)
        assert_allclose([same.gain / unit, same.offset / unit], [noise.gain, noise.offset], rtol=0.01)
        assert_allclose(found / unit, expected, atol=0.5)

    def test_images_without_a_block_have_noise_of_one_strength(self):
        noisy = 100 + 10 * white((6, 200))
        found, noise = denoise(noisy, noise="poisson-gaussian", mode="fast", return_noise=True)
        assert noise.gain == 0
        assert 8 < noise.sigma < 13
        assert found.std() < 5

    def test_constant_images_are_not_called_clipped(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_array_equal(denoise(np.full((40, 40), 3.0), noise="poisson-gaussian"), 3.0)

    def test_gaussian_noise_has_no_gain(self):
        x = np.arange(128) + np.zeros((128, 1))
        noisy = 200 - x + 10 * white(x.shape)
        found, noise = denoise(noisy, noise="poisson-gaussian", mode="fast", return_noise=True)
        assert noise.gain < 0.15
        assert psnr(found, 200 - x) > psnr(noisy, 200 - x) + 10

    def test_clipping_is_told(self, camera):
        bright = np.minimum(3 * np.random.default_rng(0).poisson(camera), 400)
        with pytest.warns(UserWarning, match="of the pixels have the brightest value, 400"):
            denoise(bright, noise="poisson-gaussian", mode="fast")

    def test_negative_values_are_no_counts(self, camera):
        with pytest.raises(ValueError, match=r"negative values, down to -98.*Subtract the value of zero counts"):
            denoise(camera - 100, noise="poisson", mode="fast")

    def test_a_wrong_gain_is_told(self, camera):
        noisy = np.random.default_rng(0).poisson(camera).astype(float)
        with pytest.warns(UserWarning, match=r"gain may be wrong; about (0\.9|1\.)"):
            denoise(noisy, noise="poisson", gain=10.0, mode="fast")

    def test_gain_without_counting(self, camera):
        with pytest.raises(ValueError, match='gain is of noise="poisson"'):
            denoise(camera, 10, gain=2.0)


class TestUnits:
    def test_sigma_of_255_for_an_image_from_0_to_1(self, camera):
        image = camera / 255 + 0.05 * white(camera.shape)
        with pytest.warns(UserWarning, match=r"sigma = 15 of 255 is 0\.0588"):
            denoise(image, 15, mode="fast")

    @pytest.mark.parametrize("function", [denoise, estimate_sigma])
    def test_colours_without_channel_axis(self, function):
        with pytest.raises(ValueError, match="channel_axis=-1"):
            function(skimage_data.coffee()[:50, :60])

    @pytest.mark.parametrize("mode", ["best", "fast", "paper"])
    @pytest.mark.parametrize("shape", [(5, 5), (2, 30), (3, 3)])
    def test_images_smaller_than_a_patch(self, mode, shape):
        clean = 100 + 10.0 * np.arange(shape[1])
        found = denoise(clean + 5 * white(shape), 5, mode=mode)
        assert np.isfinite(found).all()
        assert np.abs(found - clean).max() < 25

    def test_one_row_is_no_image(self):
        with pytest.raises(ValueError, match=r"two rows and two columns.*signal of one row"):
            denoise(white((1, 50)), 1)


class TestPlanes:
    @staticmethod
    def film(camera, n_frames=5):
        return np.stack([camera[:90, 2 * t : 90 + 2 * t] for t in range(n_frames)])

    def test_frames_help_each_other(self, camera):
        clean = self.film(camera)
        noisy = clean + 25 * white(clean.shape)
        together = denoise(noisy, 25, plane_axis=0)
        assert psnr(together, clean) > psnr(denoise(noisy, 25), clean) + 0.8

    def test_planes_of_a_volume_help_each_other(self):
        field = gaussian_filter(white((8, 64, 64)), 3)
        clean = 128 + 40 * field / field.std()
        noisy = clean + 25 * white(clean.shape, 1)
        assert psnr(denoise(noisy, 25, plane_axis=0), clean) > psnr(denoise(noisy, 25), clean) + 1

    def test_axes_may_stand_anywhere(self, camera):
        film = np.stack([self.film(camera, 3)[:, :40, :44], 255 - self.film(camera, 3)[:, :40, :44]])
        noisy = film + 20 * white(film.shape)  # channels, frames, height, width
        expected = denoise(noisy, 20, plane_axis=1, channel_axis=0, mode="fast")
        moved = denoise(noisy.transpose(2, 3, 1, 0), 20, plane_axis=2, channel_axis=-1, mode="fast")
        assert_array_equal(moved.transpose(3, 2, 0, 1), expected)
        stack = denoise(np.stack([noisy, noisy[:, ::-1]]), 20, plane_axis=2, channel_axis=1, mode="fast")
        assert_array_equal(stack[0], expected)

    def test_one_plane_is_an_image(self, camera):
        noisy = camera[:60, :60] + 20 * white((60, 60))
        assert_allclose(denoise(noisy[None], 20, plane_axis=0)[0], denoise(noisy, 20), atol=1e-3)

    def test_long_films_are_worked_on_in_parts(self, camera):
        clean = np.stack([np.roll(camera[:32, :32], t, axis=1) for t in range(30)])
        noisy = clean + 20 * white(clean.shape)
        seen = []
        found = denoise(noisy, 20, plane_axis=0, mode="fast", progress=lambda done, n: seen.append((done, n)))
        assert seen == [(1, 3), (2, 3), (3, 3)]
        errors = [psnr(one, other) for one, other in zip(found, clean, strict=True)]
        assert min(errors) > psnr(noisy, clean) + 4

    def test_a_map_of_a_film(self, camera):
        clean = self.film(camera, 3)[:, :40, :40]
        sigma = np.array([5.0, 10.0, 30.0])[:, None, None] * np.ones_like(clean)
        noisy = clean + sigma * white(clean.shape)
        assert psnr(denoise(noisy, sigma, plane_axis=0, mode="fast"), clean) > psnr(noisy, clean) + 3

    def test_errors(self, camera):
        with pytest.raises(ValueError, match="3 axes or more"):
            denoise(camera, plane_axis=0)
        with pytest.raises(ValueError, match="must be two"):
            denoise(np.zeros((3, 20, 20, 3)), plane_axis=-1, channel_axis=3)
        with pytest.raises(ValueError, match='mode="paper"'):
            denoise(np.zeros((3, 20, 20)), plane_axis=0, mode="paper")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"noise": "pink"}, "noise must be"),
        ({"sigma": np.ones(3)}, r"array of shape \(40, 50\)"),
        ({"sigma": -np.ones((40, 50))}, "not negative"),
        ({"sigma": np.ones((40, 50)), "noise": "poisson"}, "must be one number"),
        ({"psd": np.ones((8, 8))}, "psd is the spectrum of"),
        ({"psd": np.zeros((8, 8)), "noise": "correlated"}, "not zero everywhere"),
        ({"psd": np.ones((2, 8, 8)), "noise": "correlated"}, "one spectrum for each channel"),
        ({"noise": "correlated", "mode": "paper"}, "is for white noise"),
    ],
)
def test_what_does_not_go_together(settings, why):
    with pytest.raises(ValueError, match=why):
        denoise(white((40, 50)), **settings)
