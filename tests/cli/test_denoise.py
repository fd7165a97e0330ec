"""hrpursuit denoise as a user calls it, on real files."""

import json
import sys

import imagecodecs
import numpy as np
import pytest
import tifffile
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from skimage.data import astronaut, camera

from hrpursuit.cli.main import run
from hrpursuit.images import denoise, estimate_sigma
from hrpursuit.plots import plot_denoised

SIGMA = 20.0
GREY = camera()[90:170, 180:270]
COLOUR = astronaut()[60:120, 180:250]


def noisy(clean, sigma=SIGMA, seed=0):
    rounded = np.round(clean + np.random.default_rng(seed).normal(0, sigma, clean.shape))
    return np.clip(rounded, 0, 255).astype(np.uint8)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With a noisy grey.png and colour.png; commands run in it."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(noisy(GREY)).save("grey.png")
    Image.fromarray(noisy(COLOUR)).save("colour.png")
    return tmp_path


def command(*arguments):
    return run(["denoise", *(str(argument) for argument in arguments)])


def read(path):
    data = path.read_bytes()
    return imagecodecs.png_decode(data) if path.suffix == ".png" else tifffile.imread(path)


def error(clean, image):
    return np.sqrt(np.mean((clean.astype(float) - image) ** 2))


class TestResult:
    @pytest.mark.parametrize("mode", ["best", "fast", "paper"])
    def test_it_is_what_the_function_gives(self, folder, mode):
        assert command("colour.png", "-o", "out.png", "--sigma", SIGMA, "--mode", mode, "--patch-size", 7) == 0
        found = read(folder / "out.png")
        expected = denoise(noisy(COLOUR), SIGMA, mode=mode, patch_size=7, channel_axis=-1, random_state=0)
        assert_array_equal(found, expected)
        assert error(COLOUR, found) < 0.7 * error(COLOUR, noisy(COLOUR))

    @pytest.mark.parametrize("kind", ["uint8", "uint16", "float32"])
    @pytest.mark.parametrize("n_samples", [1, 3, 4])
    def test_types_channels_and_alpha(self, folder, kind, n_samples):
        scale = {"uint8": 1, "uint16": 257, "float32": 0.01}[kind]
        image = (scale * noisy(COLOUR).astype(float)).astype(kind)
        alpha = (scale * np.arange(COLOUR[..., 0].size).reshape(COLOUR.shape[:2]) % 256).astype(kind)
        samples = {1: image[..., 0].copy(), 3: image, 4: np.dstack([image, alpha])}[n_samples]
        if kind == "float32":
            extra = {"extrasamples": ["unassalpha"]} if n_samples == 4 else {}
            photometric = "minisblack" if n_samples == 1 else "rgb"
            tifffile.imwrite("x.tif", samples, photometric=photometric, **extra)
        else:
            (folder / "x.png").write_bytes(imagecodecs.png_encode(samples))
        name = "x.tif" if kind == "float32" else "x.png"
        out = folder / f"out{name[1:]}"
        assert command(name, "-o", out, "--sigma", scale * SIGMA, "--mode", "fast") == 0
        found = read(out)
        assert (found.dtype, found.shape) == (samples.dtype, samples.shape)
        settings = {"channel_axis": None if n_samples == 1 else -1, "mode": "fast"}
        expected = denoise(samples[..., :3] if n_samples > 1 else samples, scale * SIGMA, **settings)
        assert_array_equal(found[..., :3] if n_samples == 4 else found, expected)
        if n_samples == 4:
            assert_array_equal(found[..., 3], alpha)

    def test_pages_one_by_one(self, folder, capsys):
        pages = np.stack([noisy(GREY, sigma) for sigma in (10, 20, 30)])
        tifffile.imwrite("x.tif", pages, photometric="minisblack")
        assert command("x.tif", "-o", "y.tif", "--mode", "fast", "--json") == 0
        (report,) = json.loads(capsys.readouterr().out)["images"]
        assert report["n_pages"] == 3
        assert_allclose(report["sigma"], [estimate_sigma(page) for page in pages])
        assert report["estimated"] == ["sigma"]
        for page, found in zip(pages, tifffile.imread("y.tif"), strict=True):
            assert_array_equal(found, denoise(page, mode="fast"))

    def test_poisson(self, folder, capsys):
        counts = np.random.default_rng(0).poisson(GREY / 8.0)
        Image.fromarray((2 * counts).astype(np.uint8)).save("x.png")
        options = ["--noise", "poisson", "--gain", 2, "--sigma", 1.5, "--mode", "fast"]
        assert command("x.png", "-o", "y.png", *options) == 0
        assert "poisson noise, gain 2 (given), readout 1.5 (given), mode fast" in capsys.readouterr().out
        expected = denoise((2 * counts).astype(np.uint8), 1.5, noise="poisson", gain=2, mode="fast")
        assert_array_equal(read(folder / "y.png"), expected)

    def test_noise_that_is_estimated_and_pages_that_belong_together(self, folder, capsys):
        frames = np.stack([COLOUR[..., 0]] * 3) / 4.0
        counts = (2 * np.random.default_rng(0).poisson(frames)).astype(np.uint16)
        tifffile.imwrite("x.tif", counts, photometric="minisblack")
        options = ["--noise", "poisson-gaussian", "--planes", "--mode", "fast"]
        assert command("x.tif", "-o", "y.tif", *options) == 0
        expected, noise = denoise(
            tifffile.imread("x.tif"), noise="poisson-gaussian", plane_axis=0, mode="fast", return_noise=True
        )
        assert f"{noise}, mode fast" in capsys.readouterr().out
        assert noise.estimated[:2] == ("sigma", "gain")
        assert abs(noise.gain / 2 - 1) < 0.2
        assert_array_equal(tifffile.imread("y.tif"), expected)

    @pytest.mark.parametrize("suffix", ["pgm", "bmp", "webp"])
    def test_other_formats(self, folder, suffix):
        clean = COLOUR if suffix == "webp" else GREY
        pixels = noisy(clean)
        Image.fromarray(pixels).save(f"x.{suffix}", **({"lossless": True} if suffix == "webp" else {}))
        assert command(f"x.{suffix}", "-o", f"y.{suffix}", "--sigma", SIGMA, "--mode", "fast") == 0
        axis = -1 if clean.ndim == 3 else None
        with Image.open(f"y.{suffix}") as image:
            assert_array_equal(np.asarray(image), denoise(pixels, SIGMA, mode="fast", channel_axis=axis))

    def test_a_turned_photo_stays_as_it_was(self, folder):
        tags = Image.Exif()
        tags[274] = 6
        Image.fromarray(noisy(COLOUR)).save("x.jpg", quality=97, exif=tags, dpi=(300, 300))
        assert command("x.jpg", "-o", "y.jpg", "--mode", "fast") == 0
        with Image.open("x.jpg") as before, Image.open("y.jpg") as after:
            assert after.size == before.size
            assert after.getexif()[274] == 6
            assert after.info["dpi"] == (300, 300)

    def test_nothing_to_remove(self, folder, capsys):
        Image.fromarray(np.full((40, 50), 77, np.uint8)).save("flat.png")
        assert command("flat.png", "-o", "same.png") == 0
        assert "no noise was found, and nothing changed" in capsys.readouterr().out
        assert_array_equal(read(folder / "same.png"), read(folder / "flat.png"))


class TestWords:
    def test_one_line_tells_what_was_done(self, folder, capsys):
        assert command("colour.png", "-o", "out.tif", "--mode", "fast") == 0
        told = capsys.readouterr()
        sigma = estimate_sigma(noisy(COLOUR), average_sigmas=True, channel_axis=-1)
        assert told.out.startswith(
            f"out.tif: 70 x 60, 8-bit RGB; gaussian noise, sigma {sigma:.3g} (estimated), mode fast; "
        )
        assert told.out.count("\n") == 1
        assert command("colour.png", "-o", "out.tif", "--sigma", 12, "--mode", "fast") == 0
        assert "sigma 12 (given)" in capsys.readouterr().out

    def test_what_is_converted_is_said(self, folder, capsys):
        Image.fromarray(noisy(COLOUR)).quantize(64).save("palette.png")
        assert command("palette.png", "-o", "out.png", "--mode", "fast") == 0
        assert "note: palette.png has a palette; it is denoised and written as 8-bit RGB." in capsys.readouterr().err
        assert read(folder / "out.png").shape == COLOUR.shape

    def test_help_says_the_unit_of_sigma(self, capsys):
        assert command("--help") == 0
        told = " ".join(capsys.readouterr().out.split())
        for words in ("in levels of the file: of 255 with 8 bits, of 65535 with 16", "*.png -o clean/", "[cli,images]"):
            assert words in told

    @pytest.mark.parametrize(("absent", "name"), [("imagecodecs",) * 2, ("tifffile",) * 2, ("PIL.Image", "pillow")])
    def test_without_the_extra_it_says_what_to_install(self, folder, capsys, monkeypatch, absent, name):
        monkeypatch.setitem(sys.modules, absent, None)
        assert command("grey.png", "-o", "y.png") == 1
        assert f'need {name}, which is not installed: pip install "hrpursuit[images]", or {name}.' in (
            capsys.readouterr().err
        )


class TestSeveral:
    def test_they_go_into_a_folder(self, folder, capsys):
        assert command("grey.png", "colour.png", "-o", "clean/", "--mode", "fast") == 0
        assert sorted(path.name for path in (folder / "clean").iterdir()) == ["colour.png", "grey.png"]
        assert capsys.readouterr().out.count("\n") == 2
        assert_array_equal(read(folder / "clean" / "grey.png"), denoise(noisy(GREY), mode="fast"))

    def test_one_that_fails_does_not_stop_the_others(self, folder, capsys):
        (folder / "bad.png").write_bytes((folder / "grey.png").read_bytes()[:1000])
        assert command("bad.png", "grey.png", "-o", "clean/", "--mode", "fast") == 3
        assert "hrpursuit: error: bad.png is cut" in capsys.readouterr().err
        assert [path.name for path in (folder / "clean").iterdir()] == ["grey.png"]
        assert command("bad.png", "bad.png", "-o", "clean/") == 1

    def test_into_a_folder_that_is_there(self, folder):
        (folder / "clean").mkdir()
        assert command("grey.png", "-o", "clean", "--mode", "fast") == 0
        assert (folder / "clean" / "grey.png").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["nothing.png", "-o", "y.png"], 1, "nothing.png does not exist"),
        (["notes.txt", "-o", "y.png"], 1, "notes.txt is no image of these kinds; expected a PNG, JPEG, TIFF,"),
        (["sub", "-o", "y.png"], 1, "sub is a folder; give image files, as sub/*.png"),
        (["grey.png", "-o", "grey.png"], 1, "grey.png is also read; give another name for the output"),
        (["grey.png", "-o", "./"], 1, "grey.png is also read"),
        (["grey.png", "-o", "y.gif"], 1, ".webp, .tif or .tiff; got '.gif'"),
        (["grey.png", "-o", "nowhere/y.png"], 1, "the folder nowhere does not exist"),
        (["deep.tif", "-o", "y.jpg"], 1, "JPEG cannot hold 16-bit grey images"),
        (["grey.png", "sub/grey.png", "-o", "new/"], 1, "2 of the images are named grey.png"),
        (["grey.png", "colour.png", "-o", "notes"], 1, "notes is a file; give -o a folder"),
        (["sub/grey.png", "colour.png", "-o", "./"], 1, "is also read"),
        (["nothing.png", "-o", "new/sub/"], 1, "nothing.png does not exist"),
        (["grey.png", "-o", "new/", "--compare", "c.gif"], 1, "expected a name that ends in .png, .svg or .pdf"),
        (["grey.png", "colour.png", "-o", "y.png"], 2, "several images go into a folder"),
        (["grey.png", "colour.png", "-o", "sub", "--compare", "c.png"], 2, "--compare draws one image; got 2"),
        (["grey.png", "-o", "y.png", "--compare", "c.gif"], 1, "expected a name that ends in .png, .svg or .pdf"),
        (["grey.png", "-o", "y.png", "--compare", "y.png"], 1, "y.png is where the image itself goes"),
        (["grey.png", "-o", "y.png", "--gain", "2"], 2, "--gain is of --noise poisson"),
        (["grey.png", "-o", "y.png", "--sigma", "-1"], 2, "--sigma"),
        (["grey.png", "-o", "y.png", "--sigma", "nan"], 2, "'--sigma': nan is not a finite number"),
        (["grey.png", "-o", "y.png", "--sigma", "abc"], 2, "'--sigma': 'abc' is not a valid float"),
        (["grey.png", "-o", "y.png", "--noise", "poisson", "--gain", "inf"], 2, "'--gain': inf is not a finite number"),
        (["grey.png", "-o", "y.png", "--patch-size", "200"], 2, "--patch-size"),
        (["line.tif", "-o", "y.tif"], 1, "line.tif: image must have two rows and two columns"),
        (["gaps.tif", "-o", "y.tif"], 1, "gaps.tif: image must be finite"),
        (["grey.png"], 2, "--out"),
        (["-o", "y.png"], 2, "IMAGES"),
    ],
)
def test_one_line_says_what_is_wrong(folder, capsys, arguments, code, why):
    for name in ("notes", "notes.txt"):
        (folder / name).write_text("no image")
    (folder / "sub").mkdir()
    Image.fromarray(noisy(GREY)).save("sub/grey.png")
    tifffile.imwrite("deep.tif", GREY.astype(np.uint16))
    tifffile.imwrite("gaps.tif", np.where(GREY > 100, np.nan, GREY).astype(np.float32))
    tifffile.imwrite("line.tif", GREY[:1, :50])
    before = sorted(folder.rglob("*"))
    assert command(*arguments) == code
    told = capsys.readouterr().err
    assert why in told
    assert code == 2 or told.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


class TestPicture:
    @pytest.mark.parametrize("suffix", [".png", ".pdf"])
    def test_compare(self, folder, capsys, suffix):
        assert command("colour.png", "-o", "out.png", "--mode", "fast", "--compare", f"c{suffix}") == 0
        assert f"before and after: c{suffix}" in capsys.readouterr().out
        assert (folder / f"c{suffix}").read_bytes()[1:4] == {".png": b"PNG", ".pdf": b"PDF"}[suffix]

    def test_small_images_have_one_row_and_large_ones_a_detail(self):
        before, after = noisy(GREY), GREY
        figure = plot_denoised(before, after, "some title")
        axes = [axis for axis in figure.axes if axis.images and axis.get_label() != "<colorbar>"]
        assert [axis.get_title() for axis in axes] == ["before", "after", "removed"]
        assert figure.get_suptitle() == "some title"
        assert_allclose(axes[0].images[0].get_array(), before / 255, atol=1e-6)
        assert_allclose(axes[2].images[0].get_array(), before.astype(float) - after)
        low, high = axes[2].images[0].get_clim()
        assert low == -high
        assert [axis.get_ylabel() for axis in figure.axes[3:]] == ["before - after, levels"]

        large = np.zeros((1500, 400), np.uint8)
        large[700:720, 130:150] = 255 * (np.indices((20, 20)).sum(axis=0) % 2)  # all that there is to see
        shown = plot_denoised(large, large).axes
        assert len([axis for axis in shown if axis.images]) == 6
        assert shown[0].images[0].get_array().shape == (750, 200)  # means of 2 x 2
        detail = shown[3].images[0].get_array()
        assert detail.shape == (160, 160)
        assert detail.sum() == 200  # the white pixels

    def test_channels(self):
        before, after = noisy(COLOUR), COLOUR
        axes = plot_denoised(before, after).axes
        assert_allclose(axes[0].images[0].get_array(), before / 255, atol=1e-6)
        assert_allclose(axes[2].images[0].get_array(), (before.astype(float) - after).mean(axis=2), atol=1e-4)
        five = plot_denoised(np.dstack([before, before[..., :2]]), np.dstack([after, after[..., :2]])).axes
        assert five[0].images[0].get_array().shape == COLOUR.shape[:2]

    def test_shapes_that_differ(self):
        with pytest.raises(ValueError, match=r"must be images of one shape.* got \(80, 90\) and \(60, 70, 3\)"):
            plot_denoised(GREY, COLOUR)


class TestTerminal:
    def test_progress_there_only(self, folder, capsys, on_terminal):
        tifffile.imwrite("x.tif", np.stack([noisy(GREY)] * 4), photometric="minisblack")
        arguments = ["x.tif", "-o", "y.tif", "--mode", "fast"]
        assert command(*arguments) == 0
        assert "denoise x.tif" not in capsys.readouterr().err
        code, shown = on_terminal("denoise", *arguments)
        assert code == 0
        for words in ("denoise x.tif", "4/4", "left"):
            assert words in shown

    def test_interrupted_in_the_middle(self, folder, on_terminal):
        tifffile.imwrite("x.tif", np.stack([noisy(GREY)] * 60), photometric="minisblack")
        before = sorted(folder.iterdir())
        options = ["--mode", "fast", "--sigma", SIGMA, "--jobs", 1]
        code, shown = on_terminal("denoise", "x.tif", "-o", "y.tif", *options, interrupt_at="2/60")
        assert code == 130
        assert shown.endswith("hrpursuit: interrupted\r\n")
        assert sorted(folder.iterdir()) == before
