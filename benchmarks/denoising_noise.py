"""Noise as it is: correlated, counted, and in volumes and films.

python benchmarks/denoising_noise.py          # or --quick: three images

Correlated noise is white noise smoothed by a box of 3 x 3 pixels, σ = 25 after it, removed with a spectrum that is
estimated and with the true one, against the white assumption with the true σ and, if installed, BM3D with the true
spectrum (pip install ".[peers]"). White noise, σ = 10 and 20, of images that were then stored as JPEG is removed as
white noise, of estimated strength and of the true rms error, and as correlated noise; asked is a warning wherever
the first of these removes next to nothing. Counted noise has a gain and readout noise that are estimated, against a run
that knows them. All on the centres, 256 x 256 pixels, of the images of Set12 in the folder set12 of HRPURSUIT_DATA, on
which no setting was chosen. A volume of 64 x 128 x 128, a smoothed random field and thirty ellipsoids, and a film of
8 frames that moves by two pixels a frame, both with σ = 25, are denoised plane by plane and together.
"""

import io
import warnings
from time import process_time

import numpy as np
from common import command_line, data_folder
from PIL import Image
from results import Results
from scipy.fft import fft2
from scipy.ndimage import gaussian_filter, uniform_filter
from skimage.data import coffee

from hrpursuit.experiments.denoisers import psnr
from hrpursuit.images import denoise

try:
    from bm3d import bm3d
except ImportError:
    bm3d = None

SIGMA = 25.0
COUNTED = ((5.0, 10.0), (1.0, 2.0))  # gain, readout noise
JPEG = ((10.0, 90), (10.0, 75), (20.0, 75), (20.0, 50))  # σ before, quality
LITTLE = 1.0  # dB
SIDE = 256


def photographs(n_most):
    folder = data_folder() / "set12"
    for path in sorted(folder.glob("*.png"))[:n_most]:
        image = np.asarray(Image.open(path), float)
        top, left = ((n - SIDE) // 2 for n in image.shape)
        yield path.stem, image[top : top + SIDE, left : left + SIDE]


def smoothed_noise(shape, seed):
    return 3 * SIGMA * uniform_filter(np.random.default_rng(seed).standard_normal(shape), 3, mode="wrap")


def spectrum(shape):
    box = np.zeros(shape)
    box[:3, :3] = 1 / 9
    return 9 * SIGMA**2 * np.abs(fft2(box)) ** 2


def by_bm3d(noisy):
    if bm3d is None:
        return None
    if not hasattr(np, "trapz"):  # its name until numpy 2.4, which bm3d uses
        setattr(np, "trapz", np.trapezoid)  # noqa: B010
    return bm3d(noisy, spectrum(noisy.shape) * noisy.size)


def correlated_rows(results, n_most):
    found = []
    for i, (name, clean) in enumerate(photographs(n_most)):
        noisy = clean + smoothed_noise(clean.shape, i)
        peer = by_bm3d(noisy)
        row = [
            psnr(denoise(noisy, SIGMA), clean),
            psnr(denoise(noisy, noise="correlated"), clean),
            psnr(denoise(noisy, noise="correlated", psd=spectrum(clean.shape)), clean),
            np.nan if peer is None else psnr(peer, clean),
        ]
        found.append(row)
        yield name, *row, None
    mean = np.mean(found, axis=0)
    reached = results.bar("correlated: estimated spectrum over the white assumption, dB", mean[1] - mean[0], at_least=1)
    yield "mean", *map(float, mean), reached


def stored_as_jpeg(image, quality):
    with io.BytesIO() as file:
        Image.fromarray(np.clip(np.rint(image), 0, 255).astype(np.uint8)).save(file, "JPEG", quality=quality)
        return np.asarray(Image.open(file)).astype(float)


def jpeg_rows(results, n_most):
    """Means over the images."""
    n_missed = 0
    for sigma, quality in JPEG:
        found, n_warned, n_little = [], 0, 0
        for i, (_, clean) in enumerate(photographs(n_most)):
            noise = np.random.default_rng(i).standard_normal(clean.shape)
            stored = stored_as_jpeg(clean + sigma * noise, quality)
            rms = float(np.sqrt(np.mean((stored - clean) ** 2)))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                as_white = psnr(denoise(stored), clean)
            is_warned = any("the noise looks" in str(each.message) for each in caught)
            is_little = as_white < psnr(stored, clean) + LITTLE
            n_warned, n_little = n_warned + is_warned, n_little + is_little
            n_missed += is_little and not is_warned
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                others = psnr(denoise(stored, rms), clean), psnr(denoise(stored, noise="correlated"), clean)
            found.append((psnr(stored, clean), as_white, *others))
        yield sigma, quality, *map(float, np.mean(found, axis=0)), n_little, n_warned, None
    reached = results.bar("JPEG: images of which little noise is removed without a warning", n_missed, at_most=0)
    yield "all", *(None,) * 7, reached


def counted_rows(results, n_most):
    losses = []
    for i, (name, clean) in enumerate(photographs(n_most)):
        for gain, readout in COUNTED:
            rng = np.random.default_rng(i)
            noisy = gain * rng.poisson(clean / gain) + readout * rng.standard_normal(clean.shape)
            known = psnr(denoise(noisy, readout, noise="poisson", gain=gain), clean)
            image, noise = denoise(noisy, noise="poisson-gaussian", return_noise=True)
            losses.append(known - psnr(image, clean))
            yield name, gain, readout, noise.gain, noise.sigma, known, -losses[-1], None
    reached = results.bar("counted: largest loss by unknown parameters, dB", float(np.max(losses)), at_most=0.3)
    yield "mean", None, None, None, None, None, -float(np.mean(losses)), None
    yield "worst", None, None, None, None, None, -float(np.max(losses)), reached


def volume():
    shape, rng = (64, 128, 128), np.random.default_rng(0)
    field = gaussian_filter(rng.standard_normal(shape), 4)
    values = 128 + 30 * field / field.std()
    places = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    for _ in range(30):
        centre, radii, step = rng.random(3) * shape, rng.uniform(4, 16, 3), rng.uniform(-60, 60)
        values[(((places - centre) / radii) ** 2).sum(axis=-1) < 1] += step
    return np.clip(values, 0, 255)


def film():
    grey = coffee().astype(float).mean(axis=2)
    return np.stack([grey[100:292, 100 + 2 * t : 292 + 2 * t] for t in range(8)])


def plane_rows(results, is_quick):
    for name, clean in (("volume", volume()[:16] if is_quick else volume()), ("film", film())):
        noisy = clean + SIGMA * np.random.default_rng(1).standard_normal(clean.shape)
        for mode in ("best", "fast"):
            start = process_time()
            alone = psnr(denoise(noisy, SIGMA, mode=mode), clean)
            between = process_time()
            together = psnr(denoise(noisy, SIGMA, mode=mode, plane_axis=0), clean)
            ratio = (process_time() - between) / (between - start)
            reached = None
            if mode == "best":
                reached = results.bar(f"{name}: together over plane by plane, dB", together - alone, at_least=1)
            yield name, mode, alone, together, together - alone, ratio, reached


def main():
    quick = command_line(__doc__).parse_args().quick
    n_most = 3 if quick else None
    with Results(__file__, partial=quick or bm3d is None) as results:
        results.figures(
            "correlated noise: PSNR in dB",
            ["image", "white", "estimated", "true spectrum", "BM3D, true spectrum", "reached"],
            correlated_rows(results, n_most),
        )
        results.figures(
            f"noise, then JPEG: mean PSNR in dB, and images that gain less than {LITTLE:g} dB as white noise",
            ["σ", "quality", "stored", "white", "white, true rms", "correlated", "little gain", "warned", "reached"],
            jpeg_rows(results, n_most),
        )
        results.figures(
            "counted noise: what was estimated, and PSNR in dB",
            ["image", "gain", "readout", "found gain", "found readout", "known", "more if unknown", "reached"],
            counted_rows(results, n_most),
        )
        results.figures(
            "planes and frames: PSNR in dB, and CPU time together as a ratio to plane by plane",
            ["data", "mode", "alone", "together", "more", "time ratio", "reached"],
            plane_rows(results, quick),
        )


if __name__ == "__main__":
    main()
