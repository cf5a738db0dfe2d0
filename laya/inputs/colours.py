"""The colours of a picture as sRGB, whatever profile it was saved with."""

import struct
from functools import lru_cache
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image, ImageCms

PNG = b"\x89PNG\r\n\x1a\n"  # how such a file begins
HEAD = 2**16  # bytes; what a file says about its colours comes before the picture
SRGB = (0.3127, 0.329, 0.64, 0.33, 0.3, 0.6, 0.15, 0.06)  # x, y of white, red, green and blue


def has_other_colours(data: bytes, info: dict[Any, Any]) -> bool:
    """Whether a file tells without a profile that its colours are not those of sRGB.

    PNG has a gamma and coordinates for it, PNG and AVIF code points of ITU-T H.273, as for HDR. They are not applied:
    nobody agrees on PNG's gamma, and HDR has no one right look on a common screen.
    """
    mark, form = (b"cICP", ">BB") if data.startswith(PNG) else (b"colrnclx", ">HH")
    _, found, codes = data[:HEAD].partition(b"IDAT")[0].partition(mark)
    if found and len(codes) >= 4:
        primaries, transfer = struct.unpack_from(form, codes)
        # BT.709, sRGB and what differs little from them, or not said
        return primaries not in (1, 2, 5, 6) or transfer not in (1, 2, 4, 6, 13, 14, 15)
    if "srgb" in info:
        return False
    other = any(abs(x - y) > 0.01 for x, y in zip(info.get("chromaticity", SRGB), SRGB, strict=True))
    return other or abs(info.get("gamma", 1 / 2.2) * 2.2 - 1) > 0.05


def in_srgb(picture: Image.Image, info: dict[Any, Any], notes: list[str]) -> Image.Image:
    """A picture in sRGB, by the profile in what Pillow read beside it; what cannot be applied becomes a note."""
    if "icc_profile" in info and picture.mode in ("L", "RGB", "CMYK"):
        try:
            mode, transform = _to_srgb(info["icc_profile"] or b"", picture.mode)
        except (OSError, ValueError, ImageCms.PyCMSError):
            notes.append("The file's colour profile is damaged or made for another kind of picture; it is ignored.")
        else:
            if transform is not None:
                return transform.apply(picture.convert(mode))
    return picture.convert("RGB")


@lru_cache(maxsize=8)
def _to_srgb(profile: bytes, mode: str) -> tuple[str, ImageCms.ImageCmsTransform | None]:
    """What turns a picture of such a profile into sRGB, and the mode it works on; None where there is nothing to do.

    Raises
    ------
    OSError, ValueError, ImageCms.PyCMSError
        The profile is damaged, or for other pictures.
    """
    source = ImageCms.ImageCmsProfile(BytesIO(profile))
    space = source.profile.xcolor_space.strip()
    if (mode, space) not in (("L", "GRAY"), ("L", "RGB"), ("RGB", "RGB"), ("CMYK", "CMYK")):
        raise ValueError(f"a profile for {space}")
    mode = "L" if space == "GRAY" else space  # a grey picture is often saved with a profile for colour
    transform = ImageCms.buildTransform(
        source,
        ImageCms.createProfile("sRGB"),
        mode,
        "RGB",
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC,
        flags=ImageCms.Flags.BLACKPOINTCOMPENSATION,
    )
    if space != "CMYK":
        levels = np.linspace(0, 255, 18).astype(np.uint8)
        colours = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(18, -1, 3)
        probe = Image.fromarray(colours).convert(mode)
        before, after = (np.asarray(image, int) for image in (probe.convert("RGB"), transform.apply(probe)))
        if np.abs(after - before).max() <= 2:  # sRGB itself: profiles of it differ by one or two levels
            return mode, None
    return mode, transform
