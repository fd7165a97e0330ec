"""Image files of all kinds, written by other tools, read and written again, and read by these tools."""

import io
import struct
import zlib

import imagecodecs
import numpy as np
import pytest
import tifffile
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, ImageCms, ImageOps, PngImagePlugin, TiffImagePlugin

from hrpursuit.cli.image_formats.picture import EXIF_MARK, Picture, orientation, upright
from hrpursuit.cli.images import read_image, write_image

PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
SHAPES = {"grey": (20, 31), "grey with alpha": (20, 31, 2), "RGB": (20, 31, 3), "RGB with alpha": (20, 31, 4)}


def some(shape, dtype="uint8", seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def turned(number):
    tags = Image.Exif()
    tags[274], tags[271] = number, "A camera"
    return tags.tobytes()


def again(path, out):
    write_image(out, read_image(path))
    return out


class TestPNG:
    @pytest.mark.parametrize("dtype", ["uint8", "uint16"])
    @pytest.mark.parametrize("layers", SHAPES)
    def test_every_bit_comes_back(self, tmp_path, layers, dtype):
        samples = some(SHAPES[layers], dtype)
        path = tmp_path / "x.png"
        path.write_bytes(imagecodecs.png_encode(samples))
        picture = read_image(path)
        assert picture.layers == f"{8 * np.dtype(dtype).itemsize}-bit {layers}"
        assert picture.pixels.shape == ((1, 20, 31, 3) if "RGB" in layers else (1, 20, 31))
        assert_array_equal(imagecodecs.png_decode(again(path, tmp_path / "y.png").read_bytes()), samples)

    def test_what_stands_beside_the_pixels(self, tmp_path):
        path = tmp_path / "x.png"
        text = PngImagePlugin.PngInfo()
        text.add_text("Title", "a test")
        Image.fromarray(some((20, 31, 3))).save(
            path, icc_profile=PROFILE, dpi=(300, 150), exif=turned(6), pnginfo=text, gamma=0.45
        )
        with Image.open(path) as before, Image.open(again(path, tmp_path / "y.png")) as after:
            before.load()
            after.load()
            assert after.info == before.info
            assert after.info["icc_profile"] == PROFILE
            assert after.getexif()[274] == 6

    def test_palette_becomes_rgb_and_transparency_alpha(self, tmp_path):
        image = Image.fromarray(some((20, 31, 3))).quantize(16)
        image.save(tmp_path / "x.png", transparency=3)
        with pytest.warns(UserWarning, match=r"x\.png has a palette; it is denoised and written as 8-bit RGB"):
            picture = read_image(tmp_path / "x.png")
        assert_array_equal(picture.pixels[0], np.asarray(image.convert("RGB")))
        assert_array_equal(picture.alpha[0], np.where(np.asarray(image) == 3, 0, 255))

    def test_four_bits_become_eight(self, tmp_path):
        rows = b"".join(b"\0" + bytes([16 * i + 15]) for i in range(3))  # levels i and 15, twice as many columns
        (tmp_path / "x.png").write_bytes(png(2, 3, 4, 0, rows))
        with pytest.warns(UserWarning, match="has 4 bits a pixel"):
            picture = read_image(tmp_path / "x.png")
        assert_array_equal(picture.pixels[0], [[17 * i, 255] for i in range(3)])


def png(width, height, depth, colours, rows, *chunks):
    header = struct.pack(">IIBBBBB", width, height, depth, colours, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


class TestJPEG:
    @pytest.mark.parametrize("shape", [(40, 48), (40, 48, 3)])
    def test_little_is_lost_and_nothing_beside_the_pixels(self, tmp_path, shape):
        y, x = np.mgrid[:40, :48]
        smooth = np.dstack([3 * x, 4 * y, 200 - 2 * x]).astype(np.uint8)
        image = Image.fromarray(smooth if len(shape) == 3 else smooth[..., 0])
        path = tmp_path / "x.jpeg"
        image.save(path, quality=100, dpi=(72, 72), icc_profile=PROFILE, exif=turned(8), comment="a test")
        with Image.open(path) as before, Image.open(again(path, tmp_path / "y.JPG")) as after:
            assert (before.mode, before.size) == (after.mode, after.size)
            difference = np.asarray(after, float) - np.asarray(before, float)
            assert np.sqrt(np.mean(difference**2)) < 1.2
            for key in ("dpi", "icc_profile", "exif", "comment"):
                assert after.info[key] == before.info[key]
            if len(shape) == 3:
                assert {sampling[1:3] for sampling in after.layer} == {(1, 1)}  # 4:4:4

    def test_opaque_alpha_may_go_and_other_may_not(self, tmp_path):
        samples = some((20, 31, 4))
        path = tmp_path / "x.png"
        Image.fromarray(samples).save(path)
        with pytest.raises(ValueError, match=r"y\.jpg: JPEG cannot hold alpha; .* ends in \.png or \.tif"):
            again(path, tmp_path / "y.jpg")
        samples[..., 3] = 255
        Image.fromarray(samples).save(path)
        with Image.open(again(path, tmp_path / "y.jpg")) as image:
            assert image.mode == "RGB"

    def test_exif_that_is_too_long_for_it(self, tmp_path):
        tags = Image.Exif()
        tags[274], tags[270] = 6, "long " * 20_000
        Image.fromarray(some((20, 31))).save(tmp_path / "x.png", exif=tags)
        with pytest.warns(UserWarning, match=r"y\.jpg: of the EXIF data only the orientation is kept in JPEG"):
            out = again(tmp_path / "x.png", tmp_path / "y.jpg")
        with Image.open(out) as image:
            assert dict(image.getexif()) == {274: 6}

    def test_the_first_of_several_pictures(self, tmp_path):
        images = [Image.fromarray(some((20, 31, 3), seed=seed)) for seed in (0, 1)]
        images[0].save(tmp_path / "x.jpg", "MPO", save_all=True, append_images=images[1:])
        with pytest.warns(UserWarning, match="holds 2 pictures; the first"):
            picture = read_image(tmp_path / "x.jpg")
        assert picture.pixels.shape == (1, 20, 31, 3)


class TestTIFF:
    @pytest.mark.parametrize("dtype", ["uint8", "uint16", "int16", "uint32", "float32", "float64"])
    @pytest.mark.parametrize("layers", ["grey", "RGB", "RGB with alpha"])
    @pytest.mark.parametrize("compression", ["none", "lzw", "zlib"])
    def test_every_bit_comes_back(self, tmp_path, layers, dtype, compression):
        samples = some(SHAPES[layers], dtype)
        kind = {"photometric": "rgb" if "RGB" in layers else "minisblack"}
        if "alpha" in layers:
            kind["extrasamples"] = ["assocalpha"]
        tifffile.imwrite(tmp_path / "x.tif", samples, compression=compression, **kind)
        with (
            tifffile.TiffFile(tmp_path / "x.tif") as before,
            tifffile.TiffFile(again(tmp_path / "x.tif", tmp_path / "y.tiff")) as after,
        ):
            assert after.pages[0].dtype == samples.dtype
            assert_array_equal(after.asarray(), samples)
            for name in ("photometric", "compression", "extrasamples", "planarconfig"):
                assert getattr(after.pages[0], name) == getattr(before.pages[0], name)

    def test_what_stands_beside_the_pixels(self, tmp_path):
        tifffile.imwrite(
            tmp_path / "x.tif", some((20, 31, 3)), photometric="rgb", iccprofile=PROFILE, resolution=(600, 300),
            resolutionunit="CENTIMETER", description="a test", metadata=None, extratags=[(274, "H", 1, 6, True),
            (315, "s", 0, "somebody", True)],
        )  # fmt: skip
        picture = read_image(tmp_path / "x.tif")
        assert_allclose(picture.dpi, (1524, 762))
        with tifffile.TiffFile(again(tmp_path / "x.tif", tmp_path / "y.tif")) as file:
            page = file.pages[0]
            assert page.iccprofile == PROFILE
            assert page.description == "a test"
            assert [page.tags[code].value for code in (274, 282, 283, 296, 315)] == [
                6, (600, 1), (300, 1), 3, "somebody"]  # fmt: skip

    def test_texts_beyond_ascii_and_the_place_on_earth(self, tmp_path):
        tags = [(33432, "s", 0, "\N{COPYRIGHT SIGN} Jörg".encode(), True), (700, "B", 6, b"<xmp/>", True)]
        tags += [(33550, "d", 3, (10.0, 10.0, 0.0), True), (34735, "H", 4, (1, 1, 0, 0), True)]
        tifffile.imwrite(tmp_path / "x.tif", some((20, 31)), description="µm".encode(), metadata=None, extratags=tags)
        with tifffile.TiffFile(again(tmp_path / "x.tif", tmp_path / "y.tif")) as file:
            page = file.pages[0]
            assert page.description == "µm"
            assert [page.tags[code].value for code in (33432, 700, 33550, 34735)] == [
                "\N{COPYRIGHT SIGN} Jörg", b"<xmp/>", (10.0, 10.0, 0.0), (1, 1, 0, 0)]  # fmt: skip

    def test_exif_that_is_lost_is_said(self, tmp_path):
        tags = TiffImagePlugin.ImageFileDirectory_v2()
        tags[34665] = {33434: 0.01}  # time of exposure
        Image.fromarray(some((20, 31))).save(tmp_path / "x.tif", tiffinfo=tags)
        with pytest.warns(UserWarning, match=r"x\.tif: of the EXIF data only the orientation is kept"):
            read_image(tmp_path / "x.tif")

    def test_four_bits_become_eight_and_twelve_keep_their_values(self, tmp_path):
        samples = some((20, 32))
        tifffile.imwrite(tmp_path / "x.tif", samples >> 4, bitspersample=4, photometric="minisblack")
        with pytest.warns(UserWarning, match="has 4 bits a pixel; it is denoised and written with 8"):
            assert_array_equal(read_image(tmp_path / "x.tif").pixels[0], (samples >> 4) * 17)
        deep = some((20, 32), "uint16") >> 4
        tifffile.imwrite(tmp_path / "x.tif", deep, bitspersample=12, photometric="minisblack")
        with pytest.warns(UserWarning, match="has 12 bits a pixel; it is written with 16, of the same values"):
            assert_array_equal(read_image(tmp_path / "x.tif").pixels[0], deep)

    @pytest.mark.parametrize(("name", "dots"), [("y.jpg", 254_000), ("y.png", 400_000_000)])
    def test_dots_of_a_microscope_are_left_out_where_they_do_not_fit(self, tmp_path, name, dots):
        tifffile.imwrite(tmp_path / "x.tif", some((20, 31)), resolution=(dots, dots), resolutionunit="INCH")
        with pytest.warns(UserWarning, match=f"cannot hold {dots:,} dots an inch"):
            out = again(tmp_path / "x.tif", tmp_path / name)
        with Image.open(out) as image:
            assert "dpi" not in image.info
        with tifffile.TiffFile(again(tmp_path / "x.tif", tmp_path / "y.tif")) as file:
            assert file.pages[0].tags[282].value == (dots, 1)

    @pytest.mark.parametrize("how", ["plain", "imagej", "planes", "rgb"])
    def test_stacks_keep_their_axes(self, tmp_path, how):
        samples = some({"plain": (5, 20, 31), "imagej": (2, 3, 20, 31)}.get(how, (4, 3, 20, 31)), "uint16")
        more = {"imagej": {"imagej": True}, "planes": {"photometric": "rgb", "planarconfig": "separate"}}
        if how == "rgb":
            samples = np.ascontiguousarray(np.moveaxis(samples, 1, -1))
            more["rgb"] = {"photometric": "rgb"}
        tifffile.imwrite(tmp_path / "x.tif", samples, **more.get(how, {}))
        picture = read_image(tmp_path / "x.tif")
        assert len(picture.pixels) == {"plain": 5, "imagej": 6}.get(how, 4)
        assert picture.has_colour == (how in ("planes", "rgb"))
        assert_array_equal(tifffile.imread(again(tmp_path / "x.tif", tmp_path / "y.tif")), samples)

    def test_big_endian_and_white_is_zero(self, tmp_path):
        samples = some((20, 31), "uint16")
        tifffile.imwrite(tmp_path / "x.tif", samples, byteorder=">", photometric="miniswhite")
        picture = read_image(tmp_path / "x.tif")
        assert picture.pixels.dtype.isnative
        assert_array_equal(picture.pixels[0], 65535 - samples)

    def test_palette_and_jpeg_inside(self, tmp_path):
        colours = some((3, 256), "uint16")
        samples = some((20, 31))
        tifffile.imwrite(tmp_path / "x.tif", samples, photometric="palette", colormap=colours)
        with pytest.warns(UserWarning, match="has a palette"):
            picture = read_image(tmp_path / "x.tif")
        assert_array_equal(picture.pixels[0], np.moveaxis(colours >> 8, 0, -1)[samples])

        y, x = np.mgrid[:32, :48]
        smooth = np.dstack([3 * x, 4 * y, 200 - 2 * x]).astype(np.uint8)
        Image.fromarray(smooth).save(tmp_path / "x.tif", compression="jpeg", quality=98)
        assert np.abs(read_image(tmp_path / "x.tif").pixels[0] - smooth.astype(float)).mean() < 3
        with tifffile.TiffFile(again(tmp_path / "x.tif", tmp_path / "y.tif")) as file:
            assert file.pages[0].compression == 8  # without loss from here on

    def test_smaller_copies_are_left_out(self, tmp_path):
        samples = some((64, 48))
        with tifffile.TiffWriter(tmp_path / "x.tif") as file:
            file.write(samples, metadata=None)
            file.write(samples[::2, ::2], subfiletype=1, metadata=None)
        with pytest.warns(UserWarning, match="smaller copies"):
            out = again(tmp_path / "x.tif", tmp_path / "y.tif")
        assert_array_equal(tifffile.imread(out), samples)

    def test_more_channels(self, tmp_path):
        samples = some((20, 31, 5), "uint16")
        tifffile.imwrite(tmp_path / "x.tif", samples, photometric="minisblack", planarconfig="contig")
        assert read_image(tmp_path / "x.tif").pixels.shape == (1, 20, 31, 5)
        assert_array_equal(tifffile.imread(again(tmp_path / "x.tif", tmp_path / "y.tif")), samples)


@pytest.mark.parametrize("first", [".png", ".jpg", ".tif"])
@pytest.mark.parametrize("second", [".png", ".jpg", ".tif"])
def test_another_format_takes_over_profile_orientation_and_dots(tmp_path, first, second):
    one, two = tmp_path / f"x{first}", tmp_path / f"y{second}"
    image = Image.fromarray(some((20, 31, 3)))
    tags = Image.Exif()
    tags[274] = 6
    more = {"tiffinfo": {274: 6}} if first == ".tif" else {"exif": tags}
    image.save(one, icc_profile=PROFILE, dpi=(300, 300), **more)
    with Image.open(again(one, two)) as image:
        assert image.info["icc_profile"] == PROFILE
        assert image.getexif()[274] == 6
        assert_allclose([float(dots) for dots in image.info["dpi"]], 300, rtol=1e-4)


@pytest.mark.parametrize("number", range(1, 9))
def test_upright_is_what_viewers_show(number):
    tags = Image.Exif()
    tags[274] = number
    image = Image.fromarray(some((5, 7)))
    image.getexif()[274] = number
    assert orientation(EXIF_MARK + tags.tobytes().removeprefix(EXIF_MARK)) == number
    assert_array_equal(upright(np.asarray(image), number), np.asarray(ImageOps.exif_transpose(image)))


def saved(image, kind, **more):
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


GOOD = {"PNG": saved(Image.fromarray(some((64, 64, 3))), "PNG"), "JPEG": saved(Image.fromarray(some((64, 64))), "JPEG")}
GOOD["TIFF"] = saved(Image.fromarray(some((64, 64))), "TIFF")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty; expected a PNG, JPEG, TIFF, PGM, PPM, BMP or WebP file"),
        (b"hello, world", "is no image of these kinds"),
        (GOOD["PNG"][:5000], "is cut: it ends after 5,000 bytes"),
        (GOOD["PNG"][:12], "is cut"),
        (GOOD["PNG"][:3000] + bytes(100) + GOOD["PNG"][3100:], "cannot be read as PNG"),
        (GOOD["JPEG"][:1000], "cannot be read as JPEG"),
        (GOOD["JPEG"][:20], "cannot be read as JPEG"),
        (GOOD["TIFF"][:1000], "cannot be read as TIFF"),
        (b"II*\0" + bytes(20), "x has no image in it|cannot be read as TIFF"),
        (saved(Image.new("1", (20, 20)), "PNG"), "has 1 bit a pixel"),
        (saved(Image.new("1", (20, 20)), "TIFF"), "has 1 bit a pixel"),
        (saved(Image.new("CMYK", (20, 20)), "JPEG"), "is a CMYK image; .* convert it to RGB first"),
        (saved(Image.new("CMYK", (20, 20)), "TIFF"), "is a SEPARATED image"),
        (saved(Image.new("LAB", (20, 20)), "TIFF"), "is a CIELAB image"),
        (
            saved(Image.new("L", (9, 9)), "PNG", save_all=True, append_images=[Image.new("L", (9, 9), 9)]),
            "is an animation",
        ),
    ],
)
def test_one_line_says_what_is_wrong(tmp_path, data, why):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ValueError, match=why) as raised:
        read_image(tmp_path / "x")
    assert str(raised.value).startswith(str(tmp_path / "x"))
    assert "\n" not in str(raised.value)


def test_pages_that_are_not_alike(tmp_path):
    with tifffile.TiffWriter(tmp_path / "x.tif") as file:
        file.write(some((20, 31)), metadata=None)
        file.write(some((31, 20)), metadata=None)
    with pytest.raises(ValueError, match=r"pages that are not alike \(20 x 31 uint8, 31 x 20 uint8\)"):
        read_image(tmp_path / "x.tif")


@pytest.mark.parametrize(
    ("samples", "name", "why"),
    [
        (some((20, 31), "uint16"), "y.jpg", r"JPEG cannot hold 16-bit grey images; .* ends in \.png or \.tif"),
        (some((20, 31), "float32"), "y.png", r"PNG cannot hold 32-bit float grey images; .* ends in \.tif"),
        (some((3, 20, 31), "uint8"), "y.png", "PNG holds one image, and there are 3 pages"),
        (some((20, 31), "uint8"), "y.gif", r"\.bmp, \.webp, \.tif or \.tiff; got '\.gif'"),
        (some((20, 31), "uint16"), "y.bmp", r"BMP cannot hold 16-bit grey images; .* ends in \.png or \.tif"),
    ],
)
def test_what_a_format_cannot_hold(tmp_path, samples, name, why):
    tifffile.imwrite(tmp_path / "x.tif", samples, photometric="minisblack")
    with pytest.raises(ValueError, match=why):
        again(tmp_path / "x.tif", tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["x.tif"]


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("largest", [100, 255, 4095, 65535])
def test_netpbm_binary_and_text(tmp_path, colour, largest):
    shape = (4, 5, 3) if colour else (4, 5)
    values = np.random.default_rng(largest).integers(0, largest + 1, shape)
    header = f"{{}} # made by hand\n5 4\n# another remark\n{largest}\n"
    binary = header.format("P6" if colour else "P5").encode()
    binary += values.astype(np.uint8 if largest < 256 else ">u2").tobytes()
    text = header.format("P3" if colour else "P2") + " ".join(map(str, values.ravel()))
    for data in (binary, text.encode()):
        (tmp_path / "x.pgm").write_bytes(data)
        found = read_image(tmp_path / "x.pgm")
        assert_array_equal(found.pixels[0], values)
        assert found.has_colour == colour
        write_image(tmp_path / "y.ppm", found)
        assert_array_equal(read_image(tmp_path / "y.ppm").pixels, found.pixels)
        if data is binary:
            (tmp_path / "x.pgm").write_bytes(data[:-1])
            with pytest.raises(ValueError, match="is cut"):
                read_image(tmp_path / "x.pgm")


@pytest.mark.parametrize("suffix", ["bmp", "webp"])
def test_bmp_and_webp_return_what_was_written(tmp_path, suffix):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 7, 3)).astype(np.uint8)
    write_image(tmp_path / f"x.{suffix}", Picture("PNG", pixels[None]))
    assert_array_equal(read_image(tmp_path / f"x.{suffix}").pixels[0], pixels)
    if suffix == "webp":
        alpha = pixels[None, ..., 0]
        write_image(tmp_path / "y.webp", Picture("PNG", pixels[None], alpha))
        found = read_image(tmp_path / "y.webp")
        assert_array_equal(found.pixels[0], pixels)
        assert_array_equal(found.alpha, alpha)
