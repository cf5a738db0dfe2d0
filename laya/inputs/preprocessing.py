"""A checked picture to what the model sees, to a tensor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from PIL import Image, ImageFilter, ImageOps
from torch import Tensor

from laya.errors import LayaError, unknown

MODEL_EDGE = 1024  # pixels; the longest edge of what a model may ask for
Recipe = Literal["plain", "garment"]


@dataclass(frozen=True)
class Preprocessing:
    """How a picture becomes the model's input. Travels with the checkpoint.

    Raises
    ------
    LayaError
        A value that no model could use.
    """

    size: tuple[int, int] = (28, 28)  # height, width in pixels
    channels: int = 1  # 1 grey, 3 RGB
    mean: tuple[float, ...] = (0.0,)  # a channel, on the scale 0..1
    std: tuple[float, ...] = (1.0,)
    interpolation: Literal["bilinear", "bicubic", "lanczos"] = "bilinear"
    recipe: Recipe = "plain"  # "garment": the preparation that Fashion-MNIST's pictures went through

    def __post_init__(self) -> None:
        numbers = all(isinstance(value, (int, float)) for value in (*self.mean, *self.std))
        if not numbers or not all(-1e6 <= m <= 1e6 for m in self.mean) or not all(1e-6 <= s <= 1e6 for s in self.std):
            raise LayaError("Preprocessing needs numbers from -1e6 to 1e6 as mean, and from 1e-6 to 1e6 as std.")
        if self.channels not in (1, 3) or not len(self.mean) == len(self.std) == self.channels:
            raise LayaError("Preprocessing needs 1 or 3 channels, with one mean and one std for each.")
        if len(self.size) != 2 or not all(type(edge) is int and 1 <= edge <= MODEL_EDGE for edge in self.size):
            raise LayaError(f"Preprocessing needs an input size of height and width between 1 and {MODEL_EDGE} pixels.")
        if self.recipe not in get_args(Recipe):
            raise unknown("preparation", self.recipe, get_args(Recipe))
        if self.interpolation not in _RESAMPLE:
            raise unknown("interpolation", self.interpolation, _RESAMPLE)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Preprocessing":
        """The reverse of ``dataclasses.asdict`` after a way through JSON, where tuples become lists."""
        if values.keys() != cls.__dataclass_fields__.keys():
            raise LayaError(f"The preprocessing must have the fields {', '.join(cls.__dataclass_fields__)}.")
        if type(values["channels"]) is not int or not all(
            isinstance(values[name], (list, tuple)) for name in ("size", "mean", "std")
        ):
            raise LayaError("The preprocessing needs a whole number of channels and lists as size, mean and std.")
        if not all(isinstance(values[name], str) for name in ("interpolation", "recipe")):
            raise LayaError("The preprocessing needs a word each as interpolation and recipe.")
        fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fields)


@dataclass(frozen=True)
class Prepared:
    """What the model sees of a picture.

    Attributes
    ----------
    image : mode L or RGB, exactly the model's input size.
    steps : what was done to get there, in words and in order.
    """

    image: Image.Image
    steps: tuple[str, ...] = ()


_RESAMPLE = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


def prepare(image: Image.Image, preprocessing: Preprocessing, *, recipe: bool = True) -> Prepared:
    """What the model sees of an RGB picture.

    Parameters
    ----------
    image : RGB or grey picture of any size.
    preprocessing : the checkpoint's.
    recipe : apply the data set's own preparation, if it has one; False only scales and crops to the centre.

    A grey picture of exactly the model's size is taken to be in the data set's form already and is left alone.
    """
    height, width = preprocessing.size
    grey = preprocessing.channels == 1
    if grey and image.size == (width, height) and _is_grey(image):
        return Prepared(image.convert("L"), ("already in the model's format: used as it is",))
    if recipe and preprocessing.recipe == "garment":
        return _garment(image, preprocessing)
    fitted = ImageOps.fit(image, (width, height), _RESAMPLE[preprocessing.interpolation])
    steps = [f"scaled and cropped at the centre to {width} x {height} pixels"]
    if grey:
        fitted = fitted.convert("L")
        steps.append("turned grey")
    return Prepared(fitted, tuple(steps))


def to_tensor(images: Sequence[Image.Image], preprocessing: Preprocessing) -> Tensor:
    """Prepared pictures to the model's input (B, C, H, W), float32, normalised by the checkpoint's mean and std."""
    return normalise(to_pixels(images, preprocessing), preprocessing)


def to_pixels(images: Sequence[Image.Image], preprocessing: Preprocessing) -> Tensor:
    """Prepared pictures to pixels (B, H, W, C), uint8."""
    mode = "L" if preprocessing.channels == 1 else "RGB"
    pixels = np.stack([np.asarray(image.convert(mode), dtype=np.uint8) for image in images])
    return torch.from_numpy(pixels.reshape(*pixels.shape[:3], preprocessing.channels))


def normalise(pixels: Tensor, preprocessing: Preprocessing) -> Tensor:
    """Pixels (B, H, W, C), uint8, to the model's input (B, C, H, W), float32."""
    x = pixels.permute(0, 3, 1, 2).float() / 255
    mean, std = (x.new_tensor(values).view(-1, 1, 1) for values in (preprocessing.mean, preprocessing.std))
    return (x - mean) / std


def _is_grey(image: Image.Image) -> bool:
    if image.mode == "L":
        return True
    red, green, blue = (np.asarray(band) for band in image.convert("RGB").split())
    return bool((red == green).all() and (green == blue).all())


def _garment(image: Image.Image, preprocessing: Preprocessing) -> Prepared:
    """The preparation of Fashion-MNIST for an ordinary picture of one thing on a plain ground.

    Crop to the object, longest edge to the box, grey, background to black (inverting a bright one), pad to a square.

    References
    ----------
    Xiao, Rasul, Vollgraf, "Fashion-MNIST", arXiv 1708.07747, section 2.1 and figure 1. Two things differ: the
    picture is scaled with a smoothing filter instead of subsampled and sharpened, and the ground is set to exact black.
    """
    height, width = preprocessing.size
    pixels = np.asarray(image.convert("RGB"), dtype=np.int16)
    ground = np.median(_border(pixels), axis=0)
    steps = []
    box = _object_box(pixels, ground)
    if box is None:
        steps.append("whole picture kept: no single object on a plain background was found")
        box = (0, 0, *image.size)
    else:
        steps.append("cropped to the object")
    grey = image.convert("RGB").crop(box).convert("L")
    level = float(np.dot(ground, (0.299, 0.587, 0.114)))  # the luma weights of ITU-R 601, as Pillow's mode L
    scale = min(width / grey.width, height / grey.height)
    size = (max(1, round(grey.width * scale)), max(1, round(grey.height * scale)))
    values = np.asarray(grey.resize(size, _RESAMPLE[preprocessing.interpolation]), dtype=np.float64)
    steps.append(f"longest edge scaled to {max(size)} pixels and turned grey")
    if level > 127.5:
        values, level = 255 - values, 255 - level
        steps.append("inverted, so that the background is dark")
    values = np.clip((values - level) / (255 - level), 0, 1) * 255
    canvas = Image.new("L", (width, height), 0)
    canvas.paste(Image.fromarray(values.round().astype(np.uint8)), ((width - size[0]) // 2, (height - size[1]) // 2))
    steps.append(f"padded to {width} x {height}")
    return Prepared(canvas, tuple(steps))


def _border(pixels: np.ndarray) -> np.ndarray:
    return np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])


def _object_box(pixels: np.ndarray, ground: np.ndarray, tolerance: int = 26) -> tuple[int, int, int, int] | None:
    """The box around what differs from a plain background by over ``tolerance`` of 255, or None without one."""
    border_far = np.abs(_border(pixels) - ground).max(axis=-1) > tolerance
    if border_far.mean() > 0.5:
        return None
    far = (np.abs(pixels - ground).max(axis=-1) > tolerance).astype(np.uint8) * 255
    return Image.fromarray(far).filter(ImageFilter.MedianFilter(3)).getbbox()
