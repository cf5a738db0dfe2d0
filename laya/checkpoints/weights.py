"""The tensors of a checkpoint, read strictly from safetensors; nothing is ever unpickled."""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laya.checkpoints.layout import BACKBONES, WEIGHTS, roots
from laya.errors import LayaError

if TYPE_CHECKING:
    import torch

    from laya.backbones import Backbone


def backbone_file(name: str) -> Path:
    """A file of backbone weights from its name under ``backbones/``, or its own path."""
    shared = (root / BACKBONES / name for root in roots())
    return next((file for file in shared if file.is_file()), Path(name))


def is_shared(file: Path) -> bool:
    """Whether a file of backbone weights lies where checkpoints may share it."""
    return file.resolve().parent in [(root / BACKBONES).resolve() for root in roots()]


def read_backbone_weights(file: Path, expected: "dict[str, torch.Tensor]") -> "tuple[dict[str, torch.Tensor], str]":
    """A backbone's weights from a safetensors file, in the number type of ``expected``, with the file's SHA-256.

    The file of a whole model gives its backbone's.

    Raises
    ------
    LayaError
        It cannot be read, is damaged, or does not fit.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise LayaError(
            f"The file of backbone weights {file.name!r} cannot be read: {error.strerror or 'unknown reason'}."
        ) from error
    tensors = parse_tensors(data, file.name)
    first = next(iter(expected))
    whole = (name for name in tensors if name.startswith("backbone.") and name.endswith(f".{first}"))
    prefix = next(whole, first).removesuffix(first)
    tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    tensors = {
        name: tensor.to(expected[name].dtype) if name in expected and tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
    check_fit(file.name, expected, tensors)
    return tensors, hashlib.sha256(data).hexdigest()


def shared_tensors(folder: Path, named: Any, backbone: "Backbone") -> "dict[str, torch.Tensor]":
    """The tensors of the shared file that a config names, under the names that the whole model has for them."""
    name, digest = (named.get("file"), named.get("sha256")) if isinstance(named, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(digest, str) or Path(name).name != name or not name.isprintable():
        raise LayaError(f"The config.json of {folder.name!r} has no usable 'weights' for its backbone.")
    places = (folder / name, *(root / BACKBONES / name for root in (folder.parent, *roots())))
    file = next((place for place in places if os.path.isfile(place)), None)  # noqa: PTH113  # see find
    if file is None:
        raise LayaError(f"{folder.name!r} needs the backbone weights {name!r}; put them into checkpoints/{BACKBONES}.")
    module = backbone.weights_module
    tensors, found = read_backbone_weights(file, module.state_dict())
    if found != digest:
        raise LayaError(f"The backbone weights {name!r} are not the ones that {folder.name!r} was trained on.")
    path = next(path for path, each in backbone.named_modules(prefix="backbone") if each is module)
    return {f"{path}.{key}": tensor for key, tensor in tensors.items()}


def read_weights(folder: Path) -> bytes:
    """The bytes of a checkpoint's own weights file.

    Raises
    ------
    LayaError
        It is not there or cannot be read.
    """
    try:
        return (folder / WEIGHTS).read_bytes()
    except FileNotFoundError as error:
        raise LayaError(no_weights(folder)) from error
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise LayaError(f"The weights of {folder.name!r} cannot be read: {reason}.") from error


def parse_tensors(data: bytes, name: str) -> "dict[str, torch.Tensor]":
    """The tensors of a safetensors file; ``name`` is what messages call it.

    Raises
    ------
    LayaError
        It is damaged or something else; the message says what.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load as parse

    try:
        return parse(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise LayaError(f"The weights of {name!r} are {_damage(data)}.") from error


def no_weights(folder: Path) -> str:
    """Why a folder without a safetensors file cannot be loaded."""
    pickles = [file for file in folder.glob("*.*") if file.suffix in (".pt", ".pth", ".bin", ".pkl", ".ckpt")]
    if pickles:
        return (
            f"The weights of {folder.name!r} are in a pickle file, which can run code and is never opened; "
            f"convert them to {WEIGHTS}."
        )
    return f"{folder.name!r} has no {WEIGHTS}."


def _damage(data: bytes) -> str:
    """What is wrong with bytes that do not parse as safetensors."""
    if not data:
        return "an empty file; copy it again"
    if data.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer and not the file itself; run git lfs pull"
    if data[:2] == b"PK" or data[:1] == b"\x80":
        return "a pickle under another name, which can run code and is never opened; convert it to safetensors"
    if len(data) < 8:
        return "cut off; copy the file again"
    header = int.from_bytes(data[:8], "little")
    if header > len(data) - 8:
        return "cut off or not a safetensors file; copy it again"
    return "damaged or cut off; copy the file again"


def check_fit(name: str, expected: dict[str, "torch.Tensor"], given: dict[str, "torch.Tensor"]) -> None:
    """Hold tensors against those that a model expects: names, shapes, number types, and that all are finite.

    Raises
    ------
    LayaError
        They do not fit.
    """
    import torch

    missing, surplus = sorted(expected.keys() - given.keys()), sorted(given.keys() - expected.keys())
    if missing or surplus:
        lacks = f"lack {missing[0]!r}" if missing else f"have {surplus[0]!r} too many"
        raise LayaError(f"The weights of {name!r} do not fit its config.json: they {lacks}.")
    for key, tensor in sorted(given.items()):
        if tensor.shape != expected[key].shape:
            raise LayaError(
                f"The weights of {name!r} do not fit its config.json: {key!r} has the shape {tuple(tensor.shape)}, "
                f"not {tuple(expected[key].shape)}."
            )
        if tensor.dtype != expected[key].dtype:
            raise LayaError(f"The weights of {name!r} have the number type {tensor.dtype}, not {expected[key].dtype}.")
        if not torch.isfinite(tensor).all():
            raise LayaError(f"The weights of {name!r} are damaged: {key!r} holds values that are not numbers.")
