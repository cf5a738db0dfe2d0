"""Image bytes to a checked RGB picture. Every upload rule lives here."""

import struct
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import ExifTags, Image, ImageChops, ImageFile

from laya.errors import LayaError
from laya.inputs.colours import PNG, has_other_colours, in_srgb

MAX_BYTES = 10 * 2**20
MAX_PIXELS = 40_000_000
LONGEST = 2048  # pixels; a longer edge is scaled down once, far above what any model sees

# Pillow's name of each accepted format to the name for people; an MPO is what some phones save as .jpg.
FORMATS = {"JPEG": "JPEG", "MPO": "JPEG", "PNG": "PNG", "WEBP": "WebP", "GIF": "GIF", "BMP": "BMP", "AVIF": "AVIF"}
_NAMES = list(dict.fromkeys(FORMATS.values()))
ACCEPTED = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"

# All that Pillow's decoders raise on a file that is cut off or damaged.
BROKEN = (
    *(OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, TypeError, RuntimeError, OverflowError),
    *(AssertionError, AttributeError, struct.error, Image.DecompressionBombError),
)

BACKGROUND = (255, 255, 255)  # what shines through where a picture is transparent
_HEIC = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_VIDEOS = (b"ftypiso", b"ftypmp4", b"ftypM4V", b"ftypqt ")

# How files begin that people take for pictures, and what they are.
_SIGNATURES = {
    **dict.fromkeys((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), "a TIFF picture"),
    **dict.fromkeys((b"\xff\x0a", b"\0\0\0\x0cJXL "), "a JPEG XL picture"),
    **dict.fromkeys((b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP  "), "a JPEG 2000 picture"),
    b"8BPS": "a Photoshop document",
    b"%PDF": "a PDF",
    b"PK\3\4": "a zip archive",
}

_TEXTS = {
    **dict.fromkeys((b"<svg", b"<?xml"), "an SVG drawing"),
    **dict.fromkeys((b"<!doctype html", b"<html"), "a web page"),
    b"data:": "a data URL, a picture written as text",
}

# What undoes each EXIF orientation.
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

_DAMAGED = "The file is incomplete or damaged; save or send it again."
_ADDITIONS = "Texts, a colour profile or other additions in the file are damaged or too long; they are left out."


@dataclass(frozen=True)
class Picture:
    """A checked picture: upright, sRGB, one frame, on white where it was transparent.

    Attributes
    ----------
    image : mode RGB, in the colours of sRGB.
    notes : what a person should know about the reading, one sentence each ("Only the first of 4 frames is used.").
    """

    image: Image.Image
    notes: tuple[str, ...] = ()


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises
    ------
    LayaError
        There is no such file, or it cannot be read.
    """
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:  # a name with a null sign is no path
        reason = getattr(error, "strerror", None) or "unknown reason"
        raise LayaError(f"The file {path.name!r} cannot be read: {reason}.") from error


def read(data: bytes) -> Picture:
    """Decode an image file.

    The content decides, never a name: the format must be one of :data:`FORMATS`; the size is read from the header and
    held against :data:`MAX_PIXELS` before anything is decoded; the EXIF orientation is applied; an embedded colour
    profile is applied, so that the colours are those of sRGB; transparency is laid on white; of an animation exactly
    the first frame is decoded. What surrounds the picture in its file, such as texts or a profile, may be damaged:
    then it is left out, and a note says so.

    Raises
    ------
    LayaError
        Empty, too large, not an accepted format, incomplete, or a colour mode that has no meaning as a photograph.
    """
    if not data:
        raise LayaError("The file is empty; choose a file that holds a picture.")
    if len(data) > MAX_BYTES:
        raise LayaError(
            f"The file has {len(data) / 2**20:.1f} MB, more than the limit of {MAX_BYTES >> 20} MB; save it smaller."
        )
    try:
        return _decode(data)
    except BROKEN as error:
        if not data.startswith(PNG):
            raise LayaError(_DAMAGED) from error
    try:
        picture = _decode(_without_additions(data))
    except BROKEN as error:
        raise LayaError(_DAMAGED) from error
    return replace(picture, notes=(*picture.notes, _ADDITIONS))


def upright(image: Image.Image) -> Image.Image:
    """An opened picture as :func:`read` gives it: turned as its EXIF tag says, sRGB, on white where it is transparent.

    Raises
    ------
    LayaError
        The colour mode has no fixed range.
    """
    image.load()
    return _finish(_averageable(_turned(image, [])), image.info, [])


def _decode(data: bytes) -> Picture:
    image = _open(data)
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise LayaError(
            f"The picture has {width} x {height} pixels, more than the limit of {MAX_PIXELS // 10**6} million; "
            "scale it down first."
        )
    notes: list[str] = []
    if getattr(image, "is_animated", False):  # how many there are takes seconds to count in a long GIF
        notes.append("Only the first of the file's pictures is used.")
    image.seek(0)
    loaded, info = _load(image, data), image.info
    if not info.get("icc_profile") and has_other_colours(data, info):
        notes.append("The file says without a profile that its colours are not those of sRGB; they are read as sRGB.")
    picture = _averageable(_turned(loaded, notes))
    picture.thumbnail((LONGEST, LONGEST))  # before anything is copied that may be large
    return Picture(_finish(picture, info, notes), tuple(notes))


def _open(data: bytes) -> ImageFile.ImageFile:
    # Image.open() would check for a bomb before the size can be told to the person, so its loop over the registered
    # formats is repeated here for the allowed ones alone. Only the header is parsed.
    Image.init()
    for name in FORMATS:
        factory, accept = Image.OPEN.get(name, (None, None))
        if factory is None or (accept is not None and not accept(data[:16])) or _is_heic(data):
            continue
        try:
            return factory(BytesIO(data), "")
        except BROKEN:
            if accept is not None and name != "MPO":
                raise
    raise LayaError(f"The file is {_kind(data)}, which cannot be read here; use {ACCEPTED}.")


def _without_additions(data: bytes) -> bytes:
    """A PNG of the chunks that make the picture and say which way is up, without its texts and whatever else it has.

    Pillow gives a whole file up for a checksum in them, or for a text or profile of over 1 MB.
    """
    kept, at = [data[:8]], 8
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind[:1].isupper() or kind in (b"tRNS", b"eXIf"):  # an upper case letter marks what no reader may skip
            kept.append(data[at : at + 12 + length])
        at += 12 + length
    return b"".join(kept)


def _is_heic(data: bytes) -> bool:
    """Whether it is HEIC, which comes in the same container as AVIF and may carry the container's name."""
    if data[4:8] != b"ftyp" or data[8:12] not in _HEIC:
        return False
    brands = data[8 : int.from_bytes(data[:4], "big")]
    return b"avif" not in brands and b"avis" not in brands


def _kind(data: bytes) -> str:
    if _is_heic(data):
        return "a HEIC photo"
    if data[4:11] in _VIDEOS:
        return "a video"
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            return kind
    text = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for beginning, kind in _TEXTS.items():
        if text.startswith(beginning):
            return kind
    return "not a picture in a known format"


def _turned(image: Image.Image, notes: list[str]) -> Image.Image:
    """The picture as its EXIF tag says; ImageOps.exif_transpose would fail on any other tag that is odd."""
    try:
        turn = _TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    except BROKEN:
        notes.append("Which way is up cannot be read from the file; the picture is left as it is stored.")
        turn = None
    return image if turn is None else image.transpose(turn)


def _load(image: ImageFile.ImageFile, data: bytes) -> Image.Image:
    """Decode, and mend what Pillow makes of the transparency of some files."""
    drawn = image.tile[0].extents if image.format == "GIF" else None
    image.load()
    if image.format == "PNG":
        return _mended(image, data)
    if image.format == "BMP" and image.mode == "RGBA" and image.getextrema()[-1] == (0, 0):
        return image.convert("RGB")  # many programs leave the fourth byte empty, and mean nothing by it
    if drawn is not None and drawn != (0, 0, *image.size) and not image.has_transparency_data:
        opaque = Image.new("L", image.size)
        opaque.paste(255, drawn)
        framed = image.convert("RGB")
        framed.putalpha(opaque)  # Pillow puts a colour of the palette around a small first frame, browsers nothing
        return framed
    return image


def _mended(image: Image.Image, data: bytes) -> Image.Image:
    """A PNG's pixels with all that its file says of transparency and grey.

    The file gives a transparent colour at its own depth. Pillow spreads 2 and 4 bits over 0..255 and of 16 bits a
    colour keeps the upper 8, but leaves the transparent colour as it is. It makes colour of 16-bit grey with an alpha.
    """
    depth, colour_type = data[24:26]  # their places in the header are fixed
    if depth == 16 and colour_type == 4:
        return image.convert("LA")
    key = image.info.get("transparency")
    if key is None:
        return image
    if image.mode == "L":
        most = 2**depth - 1
        image.info["transparency"] = (key & most) * (255 // most)
    elif image.mode == "RGB" and depth == 8:
        image.info["transparency"] = tuple(value & 255 for value in key)
    elif image.mode == "RGB":
        low = _open(data)
        low.tile = [low.tile[0]._replace(args="RGB;16L")]  # the other order of bytes: decodes the lower 8 bits
        opaque = Image.new("L", image.size)
        for part, shift in ((image, 8), (low, 0)):
            for band, value in zip(part.split(), key, strict=True):
                same = value >> shift & 255
                opaque = ImageChops.lighter(opaque, band.point([255 * (level != same) for level in range(256)]))
        del image.info["transparency"]
        image.putalpha(opaque)
    return image


def _averageable(image: Image.Image) -> Image.Image:
    """The same picture with 8 bits a band and its transparency as a band, so that it can be scaled."""
    key = image.info.get("transparency")
    if image.mode.startswith("I;16"):
        values = np.asarray(image).astype(np.uint16)
        grey = Image.fromarray((values >> 8).astype(np.uint8))
        if key is not None:
            grey.putalpha(Image.fromarray((values != key).astype(np.uint8) * 255))
        return grey
    if image.mode in ("I", "F"):
        raise LayaError("The picture's brightness has no fixed range; save it as 8-bit grey or colour.")
    if image.mode == "RGB" and key is not None and max(key) > 255:  # opened elsewhere: the lower 8 of 16 bits are gone
        image = image.copy()
        image.info["transparency"] = tuple(value >> 8 for value in key)
    if image.mode in ("1", "P", "PA") or key is not None:
        mode = "L" if image.mode in ("1", "L") else "RGB"
        return image.convert(mode + "A" if image.has_transparency_data else mode)
    return image


def _finish(picture: Image.Image, info: dict[Any, Any], notes: list[str]) -> Image.Image:
    """RGB in the colours of sRGB, on white; ``info`` is what the file says about the picture."""
    alpha = None
    if picture.has_transparency_data:
        picture = picture.convert("LA" if picture.mode in ("LA", "La") else "RGBA")
        alpha = picture.getchannel("A")
        picture = picture.convert(picture.mode.removesuffix("A"))
        if alpha.getextrema() == (0, 0):
            notes.append("Every pixel is fully transparent; only the white behind the picture is left.")
    picture = in_srgb(picture, info, notes)
    if alpha is not None:
        ground = Image.new("RGB", picture.size, BACKGROUND)
        picture = Image.composite(picture, ground, alpha)
    return picture
