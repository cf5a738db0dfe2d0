"""Uploads: every way in which a picture file can surprise (CASES H01 to H06), and the preparation of Fashion-MNIST."""

import base64
import contextlib
import io
import struct
import threading
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms, ImageFile, features

from laya.errors import LayaError
from laya.inputs.images import MAX_BYTES, read, read_bytes, upright
from laya.inputs.preprocessing import Preprocessing, prepare, to_tensor
from tests.conftest import encode

GARMENT = Preprocessing(size=(28, 28), channels=1, recipe="garment")


def chunk(kind: bytes, body: bytes) -> bytes:
    """A piece of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(
    size: tuple[int, int], depth: int, colour_type: int, pixels: bytes, *extra: bytes, interlaced: int = 0
) -> bytes:
    """A PNG written by hand: ``pixels`` are its filtered rows, ``extra`` the chunks before them."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour_type, 0, 0, interlaced))
    body = chunk(b"IDAT", zlib.compress(pixels))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(extra) + body + chunk(b"IEND", b"")


def words(*values: int) -> bytes:
    """Numbers of 16 bits, as PNG stores them."""
    return struct.pack(f">{len(values)}H", *values)


def row(picture: Image.Image) -> list[tuple[int, ...]]:
    """The uppermost row's colours."""
    return [picture.getpixel((x, 0)) for x in range(picture.width)]


def png_header(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds next to nothing."""
    return png((width, height), 8, 2, b"\0" * 99)


# --- orientation and colour ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_photo_is_read_upright(orientation):
    upright = Image.new("RGB", (20, 12), "red")
    upright.paste("blue", (10, 0, 20, 12))
    upright.paste("lime", (0, 6, 10, 12))  # no symmetry
    undo = {  # what a camera did before it wrote the tag
        2: [Image.Transpose.FLIP_LEFT_RIGHT],
        3: [Image.Transpose.ROTATE_180],
        4: [Image.Transpose.FLIP_TOP_BOTTOM],
        5: [Image.Transpose.TRANSPOSE],
        6: [Image.Transpose.ROTATE_90],
        7: [Image.Transpose.TRANSVERSE],
        8: [Image.Transpose.ROTATE_270],
    }
    stored = upright
    for step in undo.get(orientation, []):
        stored = stored.transpose(step)
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kind in ("PNG", "WEBP"):
        picture = read(encode(stored, kind, exif=exif, **({"lossless": True} if kind == "WEBP" else {})))
        assert picture.image.tobytes() == upright.tobytes()
    jpeg = read(encode(stored, "JPEG", exif=exif, quality=100, subsampling=0)).image
    assert jpeg.size == upright.size
    assert np.abs(np.asarray(jpeg, int) - np.asarray(upright, int)).mean() < 12


def test_transparency_is_laid_on_white():
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.paste(1, (2, 2, 6, 6))
    by_hand = Image.new("RGB", (8, 8), "white")
    by_hand.paste("red", (2, 2, 6, 6))
    assert read(encode(palette, transparency=bytes([0, 255]))).image.tobytes() == by_hand.tobytes()
    rgba = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    rgba.paste((255, 0, 0, 255), (2, 2, 6, 6))
    assert read(encode(rgba)).image.tobytes() == by_hand.tobytes()
    assert read(encode(Image.new("LA", (1, 1), (0, 0)))).image.getpixel((0, 0)) == (255, 255, 255)
    half = read(encode(Image.new("RGBA", (1, 1), (0, 0, 0, 128)))).image.getpixel((0, 0))
    assert half == (127, 127, 127)


WHITE = (255, 255, 255)
INDEXED = chunk(b"PLTE", bytes([0, 0, 0, 255, 0, 0]))


@pytest.mark.parametrize(
    ("depth", "colour_type", "pixels", "key", "colours"),
    [
        # Grey with a colour that is transparent, at the depth of the file: exactly this one.
        (16, 0, words(0x1234, 0x1235, 0x8034), words(0x1234), [WHITE, (18,) * 3, (128,) * 3]),
        (16, 0, words(0, 1, 0xFFFF), words(0), [WHITE, (0,) * 3, WHITE]),
        (8, 0, bytes([5, 10, 200]), words(5), [WHITE, (10,) * 3, (200,) * 3]),
        (4, 0, b"\x5a\x10", words(5), [WHITE, (170,) * 3, (17,) * 3]),
        (2, 0, b"\x18", words(1), [(0,) * 3, WHITE, (170,) * 3]),
        (1, 0, b"\x40", words(0), [WHITE, WHITE, WHITE]),
        (1, 0, b"\x40", words(1), [(0,) * 3, WHITE, (0,) * 3]),
        # Colour with one that is transparent.
        (
            16,
            2,
            words(0x1234, 0, 0xFFFF, 0x1235, 0, 0xFFFF, 0x1234, 0, 0xFF00),
            words(0x1234, 0, 0xFFFF),
            [WHITE, (18, 0, 255), (18, 0, 255)],
        ),
        (16, 2, words(0, 0, 0, 0, 1, 0, 0, 0, 0x100), words(0, 0, 0), [WHITE, (0, 0, 0), (0, 0, 1)]),
        (8, 2, bytes([1, 2, 3, 1, 2, 4, 0, 0, 0]), words(1, 2, 3), [WHITE, (1, 2, 4), (0, 0, 0)]),
        # An alpha for every pixel.
        (16, 4, words(0, 0, 0, 0x8000, 0, 0xFFFF), None, [WHITE, (127,) * 3, (0,) * 3]),
        (8, 4, bytes([0, 0, 0, 128, 0, 255]), None, [WHITE, (127,) * 3, (0,) * 3]),
        (
            16,
            6,
            words(0, 0, 0, 0, 0, 0xFFFF, 0, 0x8000, 0xFFFF, 0, 0, 0xFFFF),
            None,
            [WHITE, (127, 255, 127), (255, 0, 0)],
        ),
        (8, 6, bytes([0, 0, 0, 0, 0, 255, 0, 128, 255, 0, 0, 255]), None, [WHITE, (127, 255, 127), (255, 0, 0)]),
        # An alpha for every colour of a palette.
        (8, 3, b"\0\1\1", b"\0", [WHITE, (255, 0, 0), (255, 0, 0)]),
        (8, 3, b"\0\1\1", b"\x80\x80", [(127,) * 3, (255, 127, 127), (255, 127, 127)]),
        (2, 3, b"\x14", b"\xff\0", [(0, 0, 0), WHITE, WHITE]),
    ],
)
def test_whatever_is_transparent_in_a_png_of_any_depth_is_white(depth, colour_type, pixels, key, colours):
    extra = ([INDEXED] if colour_type == 3 else []) + ([chunk(b"tRNS", key)] if key else [])
    assert row(read(png((3, 1), depth, colour_type, b"\0" + pixels, *extra)).image) == colours


def test_the_transparent_colour_of_an_interlaced_png_is_found_in_all_passes():
    passes = b"\0" + words(1, 2, 3) + b"\0" + words(1, 2, 0x104)  # the first and the sixth, a pixel each
    data = png((2, 1), 16, 2, passes, chunk(b"tRNS", words(1, 2, 3)), interlaced=1)
    assert row(read(data).image) == [WHITE, (0, 0, 1)]


def test_an_image_that_was_opened_elsewhere_is_laid_on_white_as_well():
    key = chunk(b"tRNS", words(0x1234, 0, 0xFFFF))
    opened = Image.open(io.BytesIO(png((2, 1), 16, 2, b"\0" + words(0x1234, 0, 0xFFFF, 0x2234, 0, 0xFFFF), key)))
    for _ in range(2):  # the image is as it was
        assert row(upright(opened)) == [WHITE, (34, 0, 255)]
    opened = Image.open(io.BytesIO(png((2, 1), 16, 0, b"\0" + words(7, 0x8000), chunk(b"tRNS", words(7)))))
    assert row(upright(opened)) == [WHITE, (128,) * 3]
    for mode in ("I;16", "I;16L", "I;16B"):
        assert upright(Image.new(mode, (1, 1), 0x8000)).getpixel((0, 0)) == (128,) * 3
    for mode in ("RGBA", "LA", "PA", "RGBa", "La"):
        assert upright(Image.new(mode, (1, 1))).getpixel((0, 0)) == WHITE


@pytest.mark.parametrize("kind", ["WEBP", "AVIF", "GIF"])
def test_transparency_in_other_formats_is_laid_on_white(kind):
    if kind == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow was built without AVIF")
    picture = Image.new("RGBA", (16, 8), (0, 0, 0, 0))
    picture.paste((255, 0, 0, 255), (8, 0, 16, 8))
    image = read(encode(picture, kind, **({"lossless": True} if kind == "WEBP" else {}))).image
    assert image.getpixel((2, 4)) == WHITE
    assert np.abs(np.subtract(image.getpixel((13, 4)), (255, 0, 0))).max() <= 2


def gif(frame: bytes, box: tuple[int, int, int, int], transparent: int | None = None) -> bytes:
    """A GIF of 4 x 4 pixels in blue (0) and red (1), whose one frame fills ``box`` (x, y, width, height)."""
    control = b"" if transparent is None else bytes([0x21, 0xF9, 4, 1, 0, 0, transparent, 0])
    codes = [4, *(code for value in frame for code in (value, 4)), 5]  # cleared after each, they keep 3 bits
    bits = sum(code << 3 * place for place, code in enumerate(codes))
    packed = bits.to_bytes((3 * len(codes) + 7) // 8, "little")
    screen = b"GIF89a" + struct.pack("<HHBBB", 4, 4, 0x80, 0, 0) + bytes([0, 0, 255, 255, 0, 0])
    return screen + control + b"," + struct.pack("<HHHHB", *box, 0) + bytes([2, len(packed)]) + packed + b"\0;"


def test_around_a_small_first_frame_of_a_gif_is_white():
    small = read(gif(bytes([1, 1, 1, 0]), (2, 2, 2, 2))).image
    assert [small.getpixel(at) for at in ((0, 0), (2, 2), (3, 3), (1, 3))] == [WHITE, (255, 0, 0), (0, 0, 255), WHITE]
    keyed = read(gif(bytes([1, 1, 1, 0]), (2, 2, 2, 2), transparent=0)).image
    assert [keyed.getpixel(at) for at in ((0, 0), (2, 2), (3, 3))] == [WHITE, (255, 0, 0), WHITE]
    assert read(gif(bytes(16), (0, 0, 4, 4))).image.getpixel((0, 0)) == (0, 0, 255)


def bmp(pixels: bytes, *, alpha: int | None) -> bytes:
    """A BMP of 32 bits a pixel; ``alpha`` is its mask of a version 5 header, None the old header without masks."""
    masks = b"" if alpha is None else struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, alpha).ljust(84, b"\0")
    width, compression = len(pixels) // 4, 0 if alpha is None else 3
    header = struct.pack("<IiiHHIIiiII", 40 + len(masks), width, 1, 1, 32, compression, len(pixels), 2835, 2835, 0, 0)
    start = 14 + len(header + masks)
    return b"BM" + struct.pack("<IHHI", start + len(pixels), 0, 0, start) + header + masks + pixels


def test_the_fourth_byte_of_a_bmp_counts_where_it_says_something():
    red = bytes([0, 0, 255])
    assert row(read(bmp(red + b"\x80" + red + b"\0", alpha=0xFF000000)).image) == [(255, 127, 127), WHITE]
    for alpha in (0xFF000000, 0, None):  # left empty everywhere, it means nothing
        picture = read(bmp((red + b"\0") * 2, alpha=alpha))
        assert (row(picture.image), picture.notes) == ([(255, 0, 0)] * 2, ())


def test_a_picture_of_which_nothing_is_seen_says_so():
    note = "Every pixel is fully transparent; only the white behind the picture is left."
    assert read(encode(Image.new("RGBA", (4, 4), (255, 0, 0, 0)))).notes == (note,)
    assert read(encode(Image.new("RGBA", (4, 4), (255, 0, 0, 1)))).notes == ()


# --- the colours of a profile ----------------------------------------------------------------------------------------

# Chromaticities x, y of red, green and blue (IEC 61966-2-1, Adobe RGB 1998, SMPTE EG 432-1), and the white D65 of all.
SRGB = ((0.64, 0.33), (0.3, 0.6), (0.15, 0.06))
ADOBE = ((0.64, 0.33), (0.21, 0.71), (0.15, 0.06))
P3 = ((0.68, 0.32), (0.265, 0.69), (0.15, 0.06))
D65 = (0.3127, 0.329)
D50 = np.array([0.9642, 1, 0.8249])  # XYZ, the white of every profile
BRADFORD = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])


def xyz(x: float, y: float) -> np.ndarray:
    return np.array([x / y, 1, (1 - x - y) / y])


def to_xyz(primaries: tuple[tuple[float, float], ...]) -> np.ndarray:
    """The matrix (3, 3) from linear red, green and blue to XYZ with the white D65."""
    columns = np.stack([xyz(*each) for each in primaries], axis=1)
    return columns * np.linalg.solve(columns, xyz(*D65))


def adapt(white: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The matrix (3, 3) that turns XYZ seen under one white into XYZ under another."""
    return np.linalg.inv(BRADFORD) @ np.diag((BRADFORD @ other) / (BRADFORD @ white)) @ BRADFORD


def srgb_levels(linear: np.ndarray) -> np.ndarray:
    """Linear values of sRGB (..., 3) to levels 0..255."""
    clipped = np.clip(linear, 0, 1)
    return 255 * np.where(clipped <= 0.0031308, 12.92 * clipped, 1.055 * clipped ** (1 / 2.4) - 0.055)


def profile(space: bytes, tags: dict[bytes, bytes], *, connection: bytes = b"XYZ ", kind: bytes = b"mntr") -> bytes:
    """An ICC profile (version 2.4) with these tags."""
    at, table, body = 128 + 4 + 12 * len(tags), struct.pack(">I", len(tags)), b""
    for name, content in tags.items():
        table += name + struct.pack(">II", at + len(body), len(content))
        body += content + b"\0" * (-len(content) % 4)
    white = struct.pack(">3i", *(round(value * 65536) for value in D50))
    header = struct.pack(">I4sI4s4s4s12s4s", at + len(body), b"", 0x02400000, kind, space, connection, b"", b"acsp")
    return header.ljust(68, b"\0") + white.ljust(60, b"\0") + table + body


def curve(*entries: float) -> bytes:
    """A tone curve: one gamma, or the samples 0..1 of a table."""
    scale = 256 if len(entries) == 1 else 65535
    return b"curv\0\0\0\0" + struct.pack(f">I{len(entries)}H", len(entries), *(round(v * scale) for v in entries))


def colour_profile(primaries: tuple[tuple[float, float], ...], *tone: float, name: bytes = b"by hand") -> bytes:
    columns = (adapt(xyz(*D65), D50) @ to_xyz(primaries)).T
    tags = {b"desc": b"desc\0\0\0\0" + struct.pack(">I", len(name) + 1) + name.ljust(len(name) + 79, b"\0")}
    for band, column in zip("rgb", columns, strict=True):
        tags[f"{band}XYZ".encode()] = b"XYZ \0\0\0\0" + struct.pack(">3i", *(round(v * 65536) for v in column))
        tags[f"{band}TRC".encode()] = curve(*tone)
    return profile(b"RGB ", tags)


def by_formula(levels: np.ndarray, primaries: tuple[tuple[float, float], ...], gamma: float) -> np.ndarray:
    """Levels (..., 3) in a space of these primaries to levels of sRGB, the white being the same."""
    linear = (levels / 255) ** (round(gamma * 256) / 256)  # as a profile stores it
    return srgb_levels(linear @ (np.linalg.inv(to_xyz(SRGB)) @ to_xyz(primaries)).T)


GREYS = profile(b"GRAY", {b"kTRC": curve(1.8)})
WIDE = colour_profile(ADOBE, 2.2)
LEVELS = np.stack(np.meshgrid(*[[0, 40, 128, 200, 255]] * 3), axis=-1).reshape(5, 25, 3).astype(np.uint8)


@pytest.mark.parametrize(("primaries", "gamma"), [(ADOBE, 2.2), (P3, 2.2), (SRGB, 1.8), (P3, 1.0)])
@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_colours_of_a_wide_profile_become_those_of_srgb(primaries, gamma, kind):
    data = encode(
        Image.fromarray(LEVELS),
        kind,
        icc_profile=colour_profile(primaries, gamma),
        **({"lossless": True} if kind == "WEBP" else {}),
    )
    picture = read(data)
    expected = by_formula(LEVELS, primaries, gamma)
    assert np.abs(np.asarray(picture.image, float) - expected).max() <= 2
    assert np.abs(LEVELS - expected).max() > 15  # there was something to do
    assert picture.notes == ()
    assert upright(Image.open(io.BytesIO(data))).tobytes() == picture.image.tobytes()


@pytest.mark.parametrize("kind", ["JPEG", "AVIF"])
def test_a_photo_with_a_wide_profile_is_read_in_srgb(kind):
    if kind == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow was built without AVIF")
    data = encode(Image.new("RGB", (16, 16), (60, 180, 90)), kind, icc_profile=WIDE, quality=95)
    expected = by_formula(np.array([60, 180, 90]), ADOBE, 2.2)
    assert np.abs(np.subtract(read(data).image.getpixel((8, 8)), expected)).max() <= 3


def test_transparency_is_kept_where_a_profile_is_applied():
    colour = by_formula(np.array([60, 180, 90]), ADOBE, 2.2)
    picture = Image.new("RGBA", (3000, 6), (60, 180, 90, 255))
    picture.paste((60, 180, 90, 128), (1000, 0, 2000, 6))
    picture.paste((60, 180, 90, 0), (2000, 0, 3000, 6))
    image = read(encode(picture, icc_profile=WIDE)).image
    half = colour * 128 / 255 + 255 * 127 / 255
    for x, expected in ((300, colour), (1024, half), (1700, WHITE)):
        assert np.abs(np.subtract(image.getpixel((x, 2)), expected)).max() <= 2
    indexed = Image.new("P", (2, 1), 1)
    indexed.putpalette([0, 0, 0, 60, 180, 90])
    indexed.putpixel((0, 0), 0)
    seen = row(read(encode(indexed, icc_profile=WIDE, transparency=bytes([0, 255]))).image)
    assert seen[0] == WHITE
    assert np.abs(np.subtract(seen[1], colour)).max() <= 2


@pytest.mark.parametrize(
    ("depth", "colour_type", "pixels", "key"),
    [
        (8, 0, bytes([60, 180, 7]), words(7)),
        (16, 0, words(60 << 8, 180 << 8, 7), words(7)),
        (8, 4, bytes([60, 255, 180, 255, 7, 0]), None),
        (16, 4, words(60 << 8, 0xFFFF, 180 << 8, 0xFFFF, 7, 0), None),
    ],
)
def test_a_grey_picture_is_read_by_a_profile_for_grey_or_for_colour(depth, colour_type, pixels, key):
    greys = np.array([60, 180])[:, None].repeat(3, axis=1)
    for icc, gamma in ((GREYS, 1.8), (WIDE, 2.2)):
        extra = [chunk(b"iCCP", b"grey\0\0" + zlib.compress(icc)), *([chunk(b"tRNS", key)] if key else [])]
        picture = read(png((3, 1), depth, colour_type, b"\0" + pixels, *extra))
        seen = np.array(row(picture.image))
        assert np.abs(seen[:2] - by_formula(greys, SRGB, gamma)).max() <= 2  # grey stays grey, whatever the primaries
        assert (seen[2].tolist(), picture.notes) == ([255] * 3, ())


# What an imagined press prints: L*, a*, b* of paper, the inks and their mixtures; black hides all.
PRINTED = {
    (0, 0, 0): (100, 0, 0),
    (0, 0, 1): (90, -5, 80),
    (0, 1, 0): (50, 60, 0),
    (0, 1, 1): (50, 60, 40),
    (1, 0, 0): (60, -20, -40),
    (1, 0, 1): (50, -50, 30),
    (1, 1, 0): (30, 20, -40),
    (1, 1, 1): (20, 0, 0),
}


def press_profile() -> bytes:
    corners = [(c, m, y, k) for c in (0, 1) for m in (0, 1) for y in (0, 1) for k in (0, 1)]
    lab = [(0, 0, 0) if ink[3] else PRINTED[ink[:3]] for ink in corners]
    table = b"".join(bytes([round(light * 2.55), a + 128, b + 128]) for light, a, b in lab)
    straight = bytes(range(256))
    identity = struct.pack(">9i", *(65536 * (i % 4 == 0) for i in range(9)))
    content = b"mft1\0\0\0\0" + bytes([4, 3, 2, 0]) + identity + straight * 4 + table + straight * 3
    return profile(b"CMYK", {b"A2B0": content}, connection=b"Lab ", kind=b"prtr")


def lab_levels(light: float, a: float, b: float) -> np.ndarray:
    """L*, a*, b* under D50 to levels of sRGB."""
    f = np.array([(light + 16) / 116 + a / 500, (light + 16) / 116, (light + 16) / 116 - b / 200])
    linear = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * D50
    return srgb_levels(np.linalg.inv(to_xyz(SRGB)) @ adapt(D50, xyz(*D65)) @ linear)


@pytest.mark.parametrize("inks", PRINTED)
def test_cmyk_is_read_by_its_profile_and_without_one_as_plain_inks(inks):
    picture = Image.new("CMYK", (16, 16), (*(255 * ink for ink in inks), 0))
    seen = read(encode(picture, "JPEG", quality=100, icc_profile=press_profile()))
    expected = lab_levels(*PRINTED[inks])
    assert np.abs(np.subtract(seen.image.getpixel((8, 8)), expected)).max() <= 3
    assert seen.notes == ()
    plain = read(encode(picture, "JPEG", quality=100)).image.getpixel((8, 8))
    assert np.abs(np.subtract(plain, [255 * (1 - ink) for ink in inks])).max() <= 3


def test_cmyk_is_stored_inverted_whether_adobes_mark_is_there_or_not():
    data = encode(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG", quality=100)
    at = data.index(b"Adobe") - 4
    for jpeg in (data, data[:at] + data[at + 16 :]):
        assert np.abs(np.subtract(read(jpeg).image.getpixel((8, 8)), (255, 0, 0))).max() <= 3


def test_ycck_is_turned_to_rgb():
    """The inks of red (0, 255, 255, 0) by ITU-R 601: Y 179, Cb 171, Cr 1; all stored inverted, as Adobe does."""
    data = bytearray(encode(Image.new("CMYK", (16, 16), (255 - 179, 255 - 171, 255 - 1, 0)), "JPEG", quality=100))
    data[data.index(b"Adobe") + 11] = 2  # the mark that says YCCK
    assert np.abs(np.subtract(read(bytes(data)).image.getpixel((8, 8)), (255, 0, 0))).max() <= 3


def test_a_profile_that_is_srgb_changes_no_pixel(noise):
    levels = np.linspace(0, 1, 1024)
    tone = np.where(levels <= 0.04045, levels / 12.92, ((levels + 0.055) / 1.055) ** 2.4)
    by_hand = colour_profile(SRGB, *tone)
    for icc in (ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(), by_hand):
        for mode, kind in (("RGB", "PNG"), ("RGB", "JPEG"), ("L", "JPEG"), ("RGBA", "PNG"), ("LA", "PNG")):
            with_it, without = (read(encode(noise(mode), kind, **more)) for more in ({"icc_profile": icc}, {}))
            assert with_it.image.tobytes() == without.image.tobytes()
            assert with_it.notes == ()


def test_a_profile_is_judged_by_what_it_does_and_not_by_its_name():
    named = colour_profile(P3, 2.2, name=b"sRGB IEC61966-2.1")
    seen = read(encode(Image.new("RGB", (1, 1), (60, 180, 90)), icc_profile=named)).image.getpixel((0, 0))
    assert np.abs(np.subtract(seen, by_formula(np.array([60, 180, 90]), P3, 2.2))).max() <= 2


@pytest.mark.parametrize(
    ("mode", "icc"),
    [
        ("RGB", b"no profile"),
        ("RGB", WIDE[:200]),
        ("RGB", profile(b"RGB ", {})),  # it says nothing
        ("RGB", GREYS),
        ("RGB", press_profile()),
        ("L", press_profile()),
        ("CMYK", WIDE),
        ("RGB", profile(b"Lab ", {})),
    ],
)
def test_a_profile_that_is_broken_or_for_other_pictures_is_ignored_with_a_note(mode, icc):
    picture = Image.new(mode, (16, 16), 90 if mode == "L" else (90,) * len(mode))
    with_it, without = (read(encode(picture, "JPEG", **more)) for more in ({"icc_profile": icc}, {}))
    assert with_it.image.tobytes() == without.image.tobytes()
    note = "The file's colour profile is damaged or made for another kind of picture; it is ignored."
    assert (with_it.notes, without.notes) == ((note,), ())


def test_no_more_than_the_scaled_picture_goes_through_a_profile(monkeypatch):
    sizes: list[tuple[int, int]] = []
    apply = ImageCms.ImageCmsTransform.apply
    monkeypatch.setattr(ImageCms.ImageCmsTransform, "apply", lambda self, im: sizes.append(im.size) or apply(self, im))
    picture = read(encode(Image.new("RGB", (5000, 1000), (60, 180, 90)), icc_profile=WIDE)).image
    assert picture.size == (2048, 410)
    assert np.prod(max(sizes)) <= 2048 * 410
    assert np.abs(np.subtract(picture.getpixel((9, 9)), by_formula(np.array([60, 180, 90]), ADOBE, 2.2))).max() <= 2


def test_pictures_with_one_profile_may_be_read_at_the_same_time(noise):
    data = encode(noise(size=(200, 200)), icc_profile=WIDE)
    right = read(data).image.tobytes()
    wrong: list[int] = []

    def work() -> None:
        wrong.extend(number for number in range(10) if read(data).image.tobytes() != right)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_other_statements_about_colours_are_told_and_not_applied():
    told = "The file says without a profile that its colours are not those of sRGB; they are read as sRGB."
    p3 = struct.pack(">8I", 31270, 32900, 68000, 32000, 26500, 69000, 15000, 6000)
    srgb = struct.pack(">8I", 31270, 32900, 64000, 33000, 30000, 60000, 15000, 6000)
    for extra, notes in (
        ([chunk(b"gAMA", struct.pack(">I", 100_000))], (told,)),
        ([chunk(b"gAMA", struct.pack(">I", 0))], (told,)),
        ([chunk(b"gAMA", struct.pack(">I", 45_455)), chunk(b"cHRM", srgb)], ()),
        ([chunk(b"cHRM", p3)], (told,)),
        ([chunk(b"sRGB", b"\0"), chunk(b"gAMA", struct.pack(">I", 100_000))], ()),
        ([chunk(b"cICP", bytes([9, 16, 0, 1]))], (told,)),  # BT.2020 and PQ: for HDR
        ([chunk(b"cICP", bytes([1, 13, 0, 1]))], ()),  # sRGB
    ):
        picture = read(png((1, 1), 8, 2, b"\0\x80\x40\x20", *extra))
        assert (row(picture.image), picture.notes) == ([(128, 64, 32)], notes)


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow was built without AVIF")
def test_an_avif_for_hdr_is_told():
    data = encode(Image.new("RGB", (16, 16), "red"), "AVIF")
    at = data.index(b"colrnclx") + 8
    assert read(data).notes == ()
    notes = read(data[:at] + struct.pack(">HH", 9, 16) + data[at + 4 :]).notes
    assert len(notes) == 1
    assert "not those of sRGB" in notes[0]


# --- what surrounds a picture in its file -----------------------------------------------------------------------------


def exif(*entries: tuple[int, int, int, int]) -> bytes:
    """EXIF data of (tag, type, count, value), of which Pillow's own writer would refuse some."""
    packed = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + packed + bytes(64)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize(
    "odd",
    [
        (0x0132, 5, 1, 26),  # a date that is a fraction
        (0x011A, 7, 1, 8),  # a resolution that is bytes
        (0x8825, 9, 1, 0xFFFFFFFF),  # a place before the file's beginning
    ],
)
@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
def test_a_turned_photo_is_upright_whatever_else_its_exif_says(odd, kind):
    stored = Image.new("RGB", (20, 12), "blue")
    stored.paste("red", (0, 0, 20, 6))
    data = encode(stored, kind, exif=exif((0x0112, 3, 1, 6), odd))
    picture = read(data)
    assert (picture.image.size, picture.notes) == ((12, 20), ())
    assert picture.image.getpixel((9, 10))[0] > 230  # what was above is on the right
    assert picture.image.getpixel((2, 10))[2] > 230


def test_a_picture_whose_exif_is_no_exif_is_read_as_it_is_stored():
    note = "Which way is up cannot be read from the file; the picture is left as it is stored."
    webp = read(encode(Image.new("RGB", (20, 12), "red"), "WEBP", exif=b"Exif\0\0no such thing"))
    assert (webp.image.size, webp.notes) == ((20, 12), (note,))
    picture = read(png((3, 1), 8, 0, b"\0\1\2\3", chunk(b"eXIf", b"no such thing")))
    assert (row(picture.image), picture.notes) == ([(1,) * 3, (2,) * 3, (3,) * 3], (note,))
    for orientation in (0, 9, 40000):
        jpeg = read(encode(Image.new("RGB", (20, 12)), "JPEG", exif=exif((0x0112, 3, 1, orientation))))
        assert (jpeg.image.size, jpeg.notes) == ((20, 12), ())


def test_other_places_that_tell_which_way_is_up_are_read():
    turned = Image.Exif()
    turned[0x0112] = 6
    old = f"\nexif\n{len(turned.tobytes()):8}\n{turned.tobytes().hex()}\n".encode()
    for extra in (
        chunk(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(old)),  # as ImageMagick writes it
        chunk(b"iTXt", b'XML:com.adobe.xmp\0\0\0\0\0<rdf tiff:Orientation="6"/>'),
        chunk(b"eXIf", turned.tobytes()[6:]),
    ):
        assert read(png((3, 1), 8, 0, b"\0\1\2\3", extra)).image.size == (1, 3)


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow was built without AVIF")
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_avif_is_turned_once(orientation):
    stored = Image.new("RGB", (40, 24), "red")
    stored.paste("blue", (20, 0, 40, 24))
    stored.paste("lime", (0, 12, 20, 24))
    jpeg, avif = (
        read(encode(stored, kind, exif=exif((0x0112, 3, 1, orientation)), quality=95)).image
        for kind in ("JPEG", "AVIF")
    )
    assert jpeg.size == avif.size
    assert np.abs(np.asarray(jpeg, int) - np.asarray(avif, int)).mean() < 5


LONG = zlib.compress(b"x" * 3_000_000)


@pytest.mark.parametrize(
    "extra",
    [
        chunk(b"zTXt", b"Comment\0\0" + LONG),
        chunk(b"iTXt", b"Comment\0\1\0\0\0" + LONG),
        chunk(b"iCCP", b"large\0\0" + LONG),
        chunk(b"iCCP", b"packed\0\1" + zlib.compress(WIDE)),
        chunk(b"iCCP", b""),
        chunk(b"gAMA", b"\0"),
        chunk(b"pHYs", bytes(9))[:-1] + b"?",  # a wrong checksum
        chunk(b"tEXt", b"a\0b")[:-1] + b"?",
    ],
)
def test_a_png_whose_additions_are_damaged_or_too_long_is_read_without_them(extra):
    note = "Texts, a colour profile or other additions in the file are damaged or too long; they are left out."
    whole = png((3, 1), 16, 0, b"\0" + words(0x100, 0x200, 7), chunk(b"tRNS", words(7)))
    at = whole.index(b"IDAT") - 4
    picture = read(whole[:at] + extra + whole[at:])
    assert (row(picture.image), picture.notes) == ([(1,) * 3, (2,) * 3, WHITE], (note,))
    end = whole.index(b"IEND") - 4
    assert read(whole[:end] + extra + whole[end:]).image.tobytes() == picture.image.tobytes()  # or after the picture
    with pytest.raises(LayaError, match="incomplete or damaged"):
        read(whole[:at] + extra + whole[at : at + 12])


def test_a_png_whose_header_or_pixels_are_damaged_is_refused():
    whole = png((3, 1), 8, 3, b"\0\1\0\1", INDEXED)
    for damaged in (
        whole[:29] + b"????" + whole[33:],  # the header's checksum
        whole.replace(INDEXED, b""),
        whole.replace(INDEXED, INDEXED[:-1] + b"?"),
        whole.replace(zlib.compress(b"\0\1\0\1"), zlib.compress(b"\0\1\0\1")[:-1] + b"?"),
    ):
        with pytest.raises(LayaError, match="incomplete or damaged"):
            read(damaged)


def test_a_jpeg_may_be_of_any_kind_and_hold_much_else():
    red = Image.new("RGB", (32, 16), "red")
    plain = encode(red, "JPEG")
    comments = (b"\xff\xfe\xff\xff" + b"c" * 65533) * 100
    arithmetic = base64.b64decode(
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAIBAQEBAQIBAQECAgICAgQDAgICAgUEBAMEBgUGBgYFBgYGBwkIBgcJBwYGCAsICQoKCgoKBggLDAsKDAkK"
        "Cgr/2wBDAQICAgICAgUDAwUKBwYHCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgr/yQARCAAIAAgDASIAAhEB"
        "AxEB/8wACgAQEAUBEBEF/9oADAMBAAIRAxEAPwD/AMiXZyQNG43/2Q=="
    )  # 8 x 8 pixels of (200, 60, 20), by "cjpeg -arithmetic -quality 95"
    for data, colour in (
        (plain, (255, 0, 0)),
        (plain + b"a film that a phone hangs on" * 999, (255, 0, 0)),
        (plain[:2] + comments + plain[2:], (255, 0, 0)),
        (encode(red, "JPEG", progressive=True), (255, 0, 0)),
        (encode(red.convert("L"), "JPEG"), (76, 76, 76)),
        (arithmetic, (200, 60, 20)),
    ):
        picture = read(data)
        assert np.abs(np.subtract(picture.image.getpixel((4, 4)), colour)).max() <= 3
        assert picture.notes == ()


def test_the_map_for_hdr_in_a_phones_photo_is_not_taken_for_a_second_picture():
    photo, gains = Image.new("RGB", (32, 16), "red"), Image.new("L", (8, 4))
    mark = b'<x:xmpmeta><rdf hdrgm:Version="1.0"/></x:xmpmeta>'
    picture = read(encode(photo, "MPO", save_all=True, append_images=[gains], xmp=mark))
    assert (picture.image.size, picture.notes) == ((32, 16), ())


@pytest.mark.parametrize("size", [(1, 1), (1, 20_000), (20_000, 1), (3, 60_000)])
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_the_narrowest_pictures_keep_a_pixel(size, kind):
    picture = read(encode(Image.new("RGB", size, "red"), kind)).image
    assert max(picture.size) == min(max(size), 2048)
    assert min(picture.size) == 1
    assert np.abs(np.subtract(picture.getpixel((0, 0)), (255, 0, 0))).max() <= 3


# --- modes -----------------------------------------------------------------------------------------------------------


def test_cmyk_and_other_modes_become_rgb():
    red, green, blue = read(encode(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG")).image.getpixel((8, 8))
    assert (red > 200, green < 60, blue < 60) == (True, True, True)
    assert read(encode(Image.new("1", (4, 4), 1))).image.getpixel((0, 0)) == (255, 255, 255)
    deep = Image.fromarray(np.full((4, 4), 0x80FF, np.uint16))
    assert read(encode(deep)).image.getpixel((0, 0)) == (128, 128, 128)


# --- several pictures in one file ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_is_used(kind):
    frames = [Image.new("RGB", (16, 8), colour) for colour in ("red", "blue", "lime", "black")]
    picture = read(encode(frames[0], kind, save_all=True, append_images=frames[1:], duration=50, loop=0))
    red, green, blue = picture.image.getpixel((4, 4))
    assert (red > 230, green < 30, blue < 30) == (True, True, True)
    assert picture.notes == ("Only the first of the file's pictures is used.",)


def test_a_phones_mpo_counts_as_jpeg():
    first, second = Image.new("RGB", (64, 32), "red"), Image.new("RGB", (16, 8), "blue")
    picture = read(encode(first, "MPO", save_all=True, append_images=[second]))
    assert picture.image.size == (64, 32)
    assert picture.image.getpixel((5, 5))[0] > 230
    assert picture.notes == ("Only the first of the file's pictures is used.",)


# --- damaged, too large, not a picture -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_cut_file_is_refused_and_the_next_good_one_works(kind, share, noise):
    data = encode(noise(), kind)
    with pytest.raises(LayaError, match=r"^The file is incomplete or damaged; save or send it again\.$"):
        read(data[: int(len(data) * share)])
    assert read(data).image.size == (64, 64)
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])
def test_an_animation_cut_anywhere_is_a_sentence_or_its_whole_first_frame(kind, noise):
    frames = [noise(size=(16, 16), seed=seed) for seed in range(3)]
    data = encode(frames[0], kind, save_all=True, append_images=frames[1:])
    whole = read(data).image.tobytes()
    for length in range(len(data)):
        with contextlib.suppress(LayaError):
            assert read(data[:length]).image.tobytes() == whole


def test_an_empty_file_is_refused():
    with pytest.raises(LayaError, match="The file is empty"):
        read(b"")


def test_a_large_file_is_refused_by_its_bytes():
    with pytest.raises(LayaError, match=r"has 10\.0 MB, more than the limit of 10 MB"):
        read(b"x" * (MAX_BYTES + 1))


def test_a_bomb_is_refused_by_its_header_before_it_is_decoded():
    small = encode(Image.new("RGB", (12000, 12000)), optimize=True)
    assert len(small) < 2**20
    tracemalloc.start()
    with pytest.raises(LayaError, match=r"12000 x 12000 pixels, more than the limit of 40 million"):
        read(small)
    with pytest.raises(LayaError, match=r"50000 x 50000 pixels, more than the limit of 40 million"):
        read(png_header(50000, 50000))
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    tracemalloc.stop()
    assert Image.MAX_IMAGE_PIXELS == 89478485  # Pillow's own default, never touched


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\0\0\0\x18ftypheic\0\0\0\0", "a HEIC photo"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", "a HEIC photo"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1miaf", "a HEIC photo"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "a video"),
        (b"\0\0\0\x18ftypcrx \0\0\0\0", "not a picture in a known format"),
        (b"\xff\x0a and more", "a JPEG XL picture"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "a JPEG XL picture"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000 picture"),
        (b"\xff\x4f\xff\x51 and more", "a JPEG 2000 picture"),
        (b"8BPS\0\1 and more", "a Photoshop document"),
        (b"\n<!DOCTYPE html><html>not found</html>", "a web page"),
        (b"data:image/png;base64,iVBORw0KGgo=", "a data URL, a picture written as text"),
        (b"%PDF-1.7 and more", "a PDF"),
        (b"PK\3\4 and more", "a zip archive"),
        (b"<svg xmlns='...'>", "an SVG drawing"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><svg>", "an SVG drawing"),
        (b"just some text in a file", "not a picture in a known format"),
        (b"\xff", "not a picture in a known format"),
        (encode(Image.new("RGB", (4, 4)), "TIFF"), "a TIFF picture"),
        (encode(Image.new("RGB", (4, 4)), "ICO"), "not a picture in a known format"),
    ],
)
def test_what_is_not_accepted_is_named_with_what_is(data, what):
    with pytest.raises(LayaError) as caught:
        read(data)
    assert str(caught.value) == f"The file is {what}, which cannot be read here; use JPEG, PNG, WebP, GIF, BMP or AVIF."


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow was built without AVIF")
def test_avif_is_read():
    data = encode(Image.new("RGB", (32, 32), "red"), "AVIF")
    for brand in (b"avif", b"mif1"):  # the second is the container's, and HEIC's as well
        assert read(data[:8] + brand + data[12:]).image.getpixel((9, 9))[0] > 230


def test_random_damage_never_ends_in_anything_but_a_sentence(noise):
    rng = np.random.default_rng(0)
    for kind in ("JPEG", "PNG", "GIF", "WEBP", "BMP"):
        data = np.frombuffer(encode(noise(size=(16, 16)), kind), np.uint8)
        for _ in range(150):
            broken = data.copy()
            broken[rng.integers(0, len(data), 6)] = rng.integers(0, 256, 6)
            with contextlib.suppress(LayaError):
                read(broken.tobytes())


def test_a_gif_of_very_many_pictures_is_not_counted(monkeypatch):
    small = encode(Image.new("P", (1, 1)), "GIF")
    frame = small[small.index(b",", 13) : -1]
    monkeypatch.setattr("PIL.GifImagePlugin.GifImageFile.n_frames", property(lambda self: pytest.fail("it counts")))
    picture = read(small[:-1] + frame * 1000 + b";")
    assert picture.notes == ("Only the first of the file's pictures is used.",)


def test_a_name_that_is_no_path_is_a_sentence():
    with pytest.raises(LayaError, match="cannot be read"):
        read_bytes(Path("a\0b"))


def test_a_large_transparent_picture_is_the_small_one_scaled():
    small = Image.new("P", (30, 10), 0)
    small.putpalette([0, 0, 0, 255, 0, 0])
    small.paste(1, (0, 0, 15, 10))
    large = small.resize((3000, 1000), Image.Resampling.NEAREST)
    picture = read(encode(large, transparency=bytes([0, 255]))).image
    assert picture.size == (2048, 683)
    assert (picture.getpixel((500, 300)), picture.getpixel((1500, 300))) == ((255, 0, 0), (255, 255, 255))
    assert read(encode(Image.new("RGB", (3000, 9)), transparency=(0, 0, 0))).image.getpixel((9, 3)) == (255, 255, 255)


def test_a_large_picture_is_scaled_down_once():
    picture = read(encode(Image.new("RGB", (5000, 1000), "red"))).image
    assert picture.size == (2048, 410)
    assert picture.getpixel((5, 5)) == (255, 0, 0)


# --- preparation -----------------------------------------------------------------------------------------------------


def garment_picture() -> tuple[Image.Image, np.ndarray]:
    """A 28 x 28 drawing in the data set's form: touches the box above and below, bright on black."""
    values = np.zeros((28, 28), np.uint8)
    values[0:28, 9:19] = 120
    values[4:10, 4:24] = 200
    return Image.fromarray(values), values


def assert_same_but_for_smoothing(image: Image.Image, values: np.ndarray) -> None:
    """Equal but for the scaling filter: 1/8 of an edge pixel is its neighbour, at a corner 1 - (7/8)^2 < 1/4."""
    difference = np.abs(np.asarray(image, int) - values)
    assert np.median(difference) == 0
    assert difference.max() <= 200 / 4


def test_a_picture_in_the_data_sets_form_is_left_alone():
    picture, values = garment_picture()
    for same in (picture, picture.convert("RGB")):
        prepared = prepare(same, GARMENT)
        assert np.array_equal(np.asarray(prepared.image), values)
        assert prepared.steps == ("already in the model's format: used as it is",)


@pytest.mark.parametrize("ground", [255, 235])
def test_a_photograph_comes_back_in_the_data_sets_form(ground):
    """A data-set picture made a photograph (dark object, bright wall, ten times as large, off centre), and back."""
    _, values = garment_picture()
    photo = np.full((400, 500, 3), ground, np.uint8)
    large = np.kron(values, np.ones((10, 10)))
    # The object's brightness runs from the ground (0) down to black (255).
    photo[60:340, 130:410] = (ground - large / 255 * ground).round()[..., None]
    prepared = prepare(Image.fromarray(photo), GARMENT)
    assert_same_but_for_smoothing(prepared.image, values)
    assert prepared.steps == (
        "cropped to the object",
        "longest edge scaled to 28 pixels and turned grey",
        "inverted, so that the background is dark",
        "padded to 28 x 28",
    )


def test_a_dark_background_is_not_inverted():
    picture, values = garment_picture()
    large = picture.resize((280, 280), Image.Resampling.NEAREST).convert("RGB")
    prepared = prepare(large, GARMENT)
    assert_same_but_for_smoothing(prepared.image, values)
    assert not any("inverted" in step for step in prepared.steps)


def test_a_busy_background_is_kept_whole(noise):
    prepared = prepare(noise(size=(90, 60)), GARMENT)
    assert prepared.steps[0].startswith("whole picture kept")
    assert prepared.image.size == (28, 28)
    assert np.asarray(prepared.image)[[0, -1]].max() == 0  # 90 x 60 is padded above and below


@pytest.mark.parametrize("colour", ["white", "black", "grey"])
def test_a_picture_of_nothing_is_prepared_to_nothing(colour):
    assert np.asarray(prepare(Image.new("RGB", (50, 70), colour), GARMENT).image).max() == 0


def test_the_preparation_can_be_left_out():
    photo = Image.new("RGB", (60, 40), "white")
    prepared = prepare(photo, GARMENT, recipe=False)
    assert np.asarray(prepared.image).min() == 255
    assert prepared.steps == ("scaled and cropped at the centre to 28 x 28 pixels", "turned grey")


def test_extreme_shapes_are_prepared():
    for size in ((1, 1), (3000, 1), (1, 3000)):
        assert prepare(Image.new("RGB", size, "red"), GARMENT).image.size == (28, 28)
        assert prepare(Image.new("RGB", size, "red"), GARMENT, recipe=False).image.size == (28, 28)


def test_the_tensor_is_normalised_by_mean_and_std():
    image = Image.new("RGB", (2, 1), (255, 0, 51))
    rgb = Preprocessing(size=(1, 2), channels=3, mean=(0.5, 0.5, 0.2), std=(0.5, 0.25, 0.1))
    x = to_tensor([image], rgb)
    assert x.shape == (1, 3, 1, 2)
    torch.testing.assert_close(x[0, :, 0, 0], torch.tensor([1.0, -2.0, 0.0]), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    "values",
    [
        {"channels": 2},
        {"channels": 3},
        {"std": [0.0]},
        {"size": [0, 28]},
        {"size": [9999, 28]},
        {"recipe": "cubism"},
        {"interpolation": "magic"},
        {"crop": 1},
    ],
)
def test_bad_preprocessing_is_refused(values):
    import dataclasses

    with pytest.raises(LayaError):
        Preprocessing.from_dict(dataclasses.asdict(Preprocessing()) | values)


def test_preprocessing_survives_json():
    import dataclasses
    import json

    rgb = Preprocessing(size=(3, 4), channels=3, mean=(0.1, 0.2, 0.3), std=(1.0, 2.0, 3.0), interpolation="bicubic")
    assert Preprocessing.from_dict(json.loads(json.dumps(dataclasses.asdict(rgb)))) == rgb


def test_reading_leaves_no_file(tmp_path: Path, monkeypatch, noise):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    read(encode(noise(), "WEBP"))
    assert list(tmp_path.iterdir()) == []
