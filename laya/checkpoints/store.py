"""Load a checkpoint strictly, or save one."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from laya.checkpoints.layout import CONFIG, WEIGHTS
from laya.checkpoints.listing import find
from laya.checkpoints.metadata import FORMAT, Card, checked_config, read_card, read_file
from laya.checkpoints.weights import check_fit, parse_tensors, read_weights, shared_tensors
from laya.errors import LayaError
from laya.files import write, write_json

if TYPE_CHECKING:
    import torch

    from laya.inputs.preprocessing import Preprocessing
    from laya.model import LayaClassifier


@dataclass(frozen=True)
class Checkpoint:
    """A loaded checkpoint, ready to explain.

    Attributes
    ----------
    name : the folder's name.
    model : in evaluation mode, without gradients, on ``device``.
    classes : K names in label order; this order stands nowhere else.
    preprocessing : how a picture becomes the model's input.
    weights : SHA-256 of the weights file, hexadecimal.
    identity : SHA-256 of config.json, which names the weights' hash: equal only if everything is equal.
    device : where the model lies.
    folder : where it was loaded from.
    card : what its metrics.json says of its explanations, if there is one of these weights.
    """

    name: str
    model: "LayaClassifier"
    classes: tuple[str, ...]
    preprocessing: "Preprocessing"
    weights: str
    identity: str
    device: "torch.device"
    folder: Path
    card: Card | None = None


def load(name: str, device: "torch.device | None" = None) -> Checkpoint:
    """Load a checkpoint strictly: every tensor must be there, fit, and be finite, and the file must be the one named.

    Parameters
    ----------
    name : a folder's name under :func:`roots`, or the path of a checkpoint folder.
    device : None chooses CUDA when available, else the CPU.

    Raises
    ------
    LayaError
        Unknown, damaged or foreign; the message gives the cause.
    """
    import torch

    from laya.backbones import build_backbone
    from laya.heads import build_head
    from laya.inputs.preprocessing import Preprocessing
    from laya.model import LayaClassifier

    folder = find(name)
    config = read_file(folder, CONFIG)
    settings = checked_config(folder, config)
    data = read_weights(folder)
    digest = hashlib.sha256(data).hexdigest()
    tensors = parse_tensors(data, folder.name)
    classes = tuple(settings["classes"])

    def build() -> LayaClassifier:
        backbone = build_backbone(settings["backbone"]["name"], settings["backbone"]["options"])
        head = build_head(settings["head"]["name"], backbone.widths, len(classes), settings["head"]["options"])
        return LayaClassifier(backbone, head)

    # On the meta device a size from a hostile config costs no memory; the file's own tensors are put in its place.
    with torch.device("meta"):
        model = build()
    backbone = model.backbone
    shared = settings["backbone"].get("weights")
    if shared is not None:
        tensors |= shared_tensors(folder, shared, backbone)
    preprocessing = Preprocessing.from_dict(settings["preprocessing"])
    if not backbone.accepts(preprocessing.channels, preprocessing.size):
        raise LayaError(f"The preprocessing of {folder.name!r} gives pictures that its backbone cannot read.")
    check_fit(folder.name, model.state_dict(), tensors)
    if digest != settings["weights_sha256"]:
        raise LayaError(f"The weights of {folder.name!r} are not the ones that its config.json names; copy both again.")
    if any(name not in tensors for name, _ in model.named_buffers()):
        model = build()  # some buffers are computed and in no file; by now the sizes are known to be those of the file
    model.load_state_dict(tensors, strict=True, assign=True)
    model, device = _placed(model.eval().requires_grad_(False), device)
    identity = hashlib.sha256(config).hexdigest()
    return Checkpoint(folder.name, model, classes, preprocessing, digest, identity, device, folder, read_card(folder))


def _placed(model: "LayaClassifier", device: "torch.device | None") -> "tuple[LayaClassifier, torch.device]":
    """The model on the device that was asked for; on the best one with room for it, where none was."""
    import torch

    from laya.device import pick_device, within_memory

    if device is not None:
        with within_memory():
            return model.to(device), device
    device = pick_device()
    try:
        return model.to(device), device
    except torch.OutOfMemoryError:
        device = torch.device("cpu")
        return model.to(device), device


def save(
    folder: Path,
    model: "LayaClassifier",
    classes: tuple[str, ...],
    preprocessing: "Preprocessing",
    *,
    title: str,
    training: dict[str, Any],
    shared: Path | None = None,
) -> None:
    """Write weights and config.json; each file replaces its predecessor in one step, the config last.

    The config names the weights' hash, so a folder that was caught between the two is refused when it is loaded.

    Parameters
    ----------
    title : the checkpoint for people, such as "Fashion-MNIST, MLP".
    training : the recipe, as JSON values.
    shared : a file of ``backbones/`` with the frozen backbone's weights, which then are not written again.
    """
    from safetensors.torch import save as serialise

    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    backbone: dict[str, Any] = {"name": model.backbone.name, "options": model.backbone.options}
    if shared is not None:
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith("backbone.")}
        digest = hashlib.sha256(shared.read_bytes()).hexdigest()
        backbone["weights"] = {"file": shared.name, "sha256": digest}
    data = serialise(tensors, metadata={"format": "pt"})
    settings = {
        "laya_format": FORMAT,
        "title": title,
        "backbone": backbone,
        "head": {"name": model.head.name, "options": model.head.options},
        "preprocessing": asdict(preprocessing),
        "classes": list(classes),
        "training": training,
        "weights_sha256": hashlib.sha256(data).hexdigest(),
    }
    write(folder / WEIGHTS, data)
    write_json(folder / CONFIG, settings)
