"""The tensors of a checkpoint, read strictly from safetensors; nothing is ever unpickled."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laya.checkpoints.fit import Difference, fit, wrapper
from laya.checkpoints.layout import BACKBONES, WEIGHTS, roots
from laya.errors import LayaError, shown

if TYPE_CHECKING:
    import torch

    from laya.backbones import Backbone

PICKLES = (".pt", ".pth", ".bin", ".pkl", ".ckpt")
CONVERT = f"safetensors.torch.save_file(torch.load(FILE, map_location='cpu', weights_only=True), '{WEIGHTS}')"
JOIN = "join them with safetensors.torch: load_file on each, save_file on all their tensors"


def backbone_file(name: str) -> Path:
    """A file of backbone weights from its name under ``backbones/``, or its own path or that of its folder."""
    # os.path instead of Path: a name that is too long for a path is simply not there.
    shared = (root / BACKBONES / name for root in roots())
    file = next((file for file in shared if os.path.isfile(file)), Path(name))  # noqa: PTH113
    return file / WEIGHTS if os.path.isfile(file / WEIGHTS) else file  # noqa: PTH113


def is_shared(file: Path) -> bool:
    """Whether a file of backbone weights lies where checkpoints may share it."""
    return file.resolve().parent in [(root / BACKBONES).resolve() for root in roots()]


def read_backbone_weights(
    file: Path,
    expected: "dict[str, torch.Tensor]",
    backbone: "Backbone | None" = None,
    on_note: Callable[[str], None] = lambda _: None,
) -> "tuple[dict[str, torch.Tensor], str]":
    """A backbone's weights from a safetensors file, in the number type of ``expected``, with the file's SHA-256.

    The file of a whole model gives its backbone's, and prefixes and names of others are understood; see
    :func:`laya.checkpoints.fit.fit`.

    Parameters
    ----------
    expected : the tensors of the backbone's ``weights_module``.
    backbone : whose weights they are; with it more files are understood, and messages name it.
    on_note : told what was done to the weights besides.

    Raises
    ------
    LayaError
        It cannot be read, is damaged, or does not fit.
    """
    try:
        data = file.read_bytes()
    except IsADirectoryError as error:
        raise LayaError(no_weights(file)) from error
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        reason = (error.strerror if isinstance(error, OSError) else None) or "unknown reason"
        raise LayaError(f"The file of backbone weights {shown(file.name)} cannot be read: {reason}.") from error
    tensors = parse_tensors(data, file.name)
    try:
        tensors, notes = fit(tensors, expected, file.name, backbone)
    except LayaError as error:
        if re.search(r"-\d+-of-\d+", file.name):
            raise LayaError(f"{file.name!r} is one part of weights that are cut into several files; {JOIN}.") from error
        raise
    for note in notes:
        on_note(note)
    for name, tensor in tensors.items():
        if tensor.is_floating_point() or not (expected[name].is_floating_point() or tensor.is_complex()):
            tensors[name] = tensor.to(expected[name].dtype)
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
        raise LayaError(
            f"{folder.name!r} needs the backbone weights {name!r}; put them into checkpoints/{BACKBONES}, or beside "
            f"its own {WEIGHTS}."
        )
    module = backbone.weights_module
    tensors, found = read_backbone_weights(file, module.state_dict(), backbone)
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
    except KeyError as error:
        raise LayaError(
            f"The weights of {name!r} hold numbers of the type {error.args[0]}, which torch cannot read; save them as "
            "float32."
        ) from error
    except (SafetensorError, ValueError) as error:
        raise LayaError(f"The weights of {name!r} are {_damage(data, name)}.") from error


def no_weights(folder: Path) -> str:
    """Why a folder without a safetensors file of that name cannot be loaded."""
    files = sorted(file.name for file in folder.glob("*.*"))
    if any(re.search(r"-\d+-of-\d+\.safetensors$", file) for file in files):
        return f"The weights of {folder.name!r} are cut into several files; {JOIN}, as {WEIGHTS}."
    if others := [file for file in files if file.endswith(".safetensors")]:
        return f"{folder.name!r} has no {WEIGHTS}; is it {shown(others[0])}?"
    if any(file.endswith(PICKLES) for file in files):
        return (
            f"The weights of {folder.name!r} are in a pickle file, which can run code and is never opened; "
            f"convert them to {WEIGHTS}: {CONVERT}."
        )
    return f"{folder.name!r} has no {WEIGHTS}."


def _damage(data: bytes, name: str) -> str:
    """What is wrong with bytes that do not parse as safetensors."""
    if not data:
        return "an empty file; copy it again"
    if data.startswith(b"version https://git-lfs"):
        return "a Git LFS pointer and not the file itself; run git lfs pull"
    begins = int.from_bytes(data[:8], "little") <= len(data) - 8  # as a safetensors file does: with its header's length
    if not begins and data.startswith(b"<"):
        return "a web page and not the file itself; download it again"
    if not begins and data.startswith(b"{"):
        return f"a JSON file; if it is the index of weights that are cut into several files, {JOIN}"
    if data.startswith(b"PK") and b".pkl" not in data and b".npy" in data:
        return "an archive of NumPy arrays; save them with safetensors.numpy.save_file"
    if data.startswith(b"PK") and b".pkl" not in data and b".safetensors" in data:
        return "in a zip archive; unpack it first"
    if not begins and (data.startswith((b"PK", b"\x80")) or name.endswith(PICKLES)):
        other = "" if name.endswith(PICKLES) else " under another name"
        return f"a pickle{other}, which can run code and is never opened; convert it to safetensors: {CONVERT}"
    if len(data) < 8:
        return "cut off; copy the file again"
    return "damaged or cut off; copy the file again" if begins else "cut off or not a safetensors file; copy it again"


def check_fit(name: str, expected: dict[str, "torch.Tensor"], given: dict[str, "torch.Tensor"]) -> None:
    """Hold a checkpoint's tensors against those that its model expects: names, shapes, number types, and all finite.

    Raises
    ------
    LayaError
        They do not fit.
    """
    import torch

    if difference := Difference.between(given, expected):
        wrap = wrapper(given)
        if wrap and {key.removeprefix(wrap) for key in given} == expected.keys():
            hint = f"; every name begins with {shown(wrap)}: save the model itself and not what is around it"
        else:
            hint = ""
        raise LayaError(f"The weights of {name!r} do not fit its config.json: {difference}{hint}.")
    for key, tensor in sorted(given.items()):
        kind = expected[key].dtype
        if tensor.dtype != kind:
            advice = "give weights that are not quantised"
            if tensor.is_floating_point():
                advice = f"save them as {str(kind).removeprefix('torch.')}"
            raise LayaError(
                f"The weights of {name!r} have the number type {tensor.dtype}, not {kind}, in {key!r}; {advice}."
            )
        if not torch.isfinite(tensor).all():
            raise LayaError(f"The weights of {name!r} are damaged: {key!r} holds values that are not numbers.")
