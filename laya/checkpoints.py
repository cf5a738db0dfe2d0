"""Checkpoints: a folder with weights (safetensors) and readable JSON. Nothing is ever unpickled.

    <name>/model.safetensors   weights; those of the head alone where config.json names a file of backbone weights
    <name>/config.json         architecture, preprocessing, class names, recipe, the weights' SHA-256
    <name>/metrics.json        what ``evaluate`` measured on the test set
    <name>/profiles.json       class-average depth profiles over the test set
    <name>/evidence.json       all heads on the same task, several seeds each, if that was measured
    <name>/data.json           what a look at every training picture found, for one's own data
    <name>/README.md           the model card
    <name>/samples/            pictures to try, if there are any
    backbones/<file>           weights of frozen backbones, shared by the checkpoints that name them

Listing reads JSON alone; torch is imported only when a model is loaded or saved.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from laya.archives import Archive
from laya.errors import LayaError, unknown

if TYPE_CHECKING:
    import torch

    from laya.backbones import Backbone
    from laya.images import Preprocessing
    from laya.model import LayaClassifier

WEIGHTS, CONFIG, METRICS, CARD = "model.safetensors", "config.json", "metrics.json", "README.md"
EVIDENCE, PROFILES, DATA = "evidence.json", "profiles.json", "data.json"
BACKBONES = "backbones"
SHIPPED = Path(__file__).parent.parent / "checkpoints"
FORMAT = 1
LABEL = 255  # most characters of a title or a class name, as of a folder


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
    """

    name: str
    model: "LayaClassifier"
    classes: tuple[str, ...]
    preprocessing: "Preprocessing"
    weights: str
    identity: str
    device: "torch.device"
    folder: Path


@dataclass(frozen=True)
class Summary:
    """A checkpoint as a list shows it; ``problem`` says why it cannot be used, if it cannot."""

    name: str
    folder: Path
    title: str = ""
    backbone: str = ""
    head: str = ""
    classes: int = 0
    accuracy: float | None = None  # from metrics.json
    split: str = ""  # what it was measured on: test, or validation where images were held back
    megabytes: float = 0.0  # of the weights file
    problem: str | None = None


def roots() -> list[Path]:
    """The folders that hold checkpoints: those in LAYA_CHECKPOINTS (more than one as in PATH), then ours."""
    given = os.environ.get("LAYA_CHECKPOINTS", "").split(os.pathsep)
    return [*(Path(each) for each in given if each), SHIPPED]


def available() -> list[Summary]:
    """All checkpoints under :func:`roots`, by name; a broken one is listed with its problem. Of one name the first."""
    found: dict[str, Path] = {}
    for root in roots():
        try:
            folders = list(root.iterdir())
        except OSError:  # it is not there, or may not be looked into
            continue
        for folder in folders:
            if os.path.isfile(folder / CONFIG):  # noqa: PTH113  # see find
                found.setdefault(folder.name, folder)
    return [summary(found[name]) for name in sorted(found)]


def summary(folder: Path) -> Summary:
    """What a list shows of one checkpoint, from its JSON alone."""
    try:
        settings = read_config(folder)
        weights = folder / WEIGHTS
        if not weights.is_file():
            raise LayaError(_no_weights(folder))
        title, metrics = settings.get("title", ""), read_metrics(folder)
        accuracy, split = metrics.get("accuracy"), metrics.get("split", "test")
        if title != "" and not _is_label(title):
            raise LayaError(f"The config.json of {folder.name!r} has no usable 'title'.")
        if accuracy is not None and not (isinstance(accuracy, (int, float)) and 0 <= accuracy <= 1):
            raise LayaError(f"The metrics.json of {folder.name!r} has no usable 'accuracy'.")
        if not isinstance(split, str) or not split.isprintable():
            raise LayaError(f"The metrics.json of {folder.name!r} has no usable 'split'.")
        return Summary(
            name=folder.name,
            folder=folder,
            title=title,
            backbone=settings["backbone"]["name"],
            head=settings["head"]["name"],
            classes=len(settings["classes"]),
            accuracy=accuracy,
            split="" if accuracy is None else split,
            megabytes=weights.stat().st_size / 1e6,
        )
    except LayaError as error:
        return Summary(folder.name, folder, problem=str(error))
    except OSError as error:
        return Summary(folder.name, folder, problem=f"Its files cannot be read: {error.strerror or 'unknown reason'}.")


def find(name: str) -> Path:
    """The folder of a checkpoint, from its name under :func:`roots` or its own path.

    Raises
    ------
    LayaError
        There is no such checkpoint; the message lists those that exist.
    """
    # os.path instead of Path: a name that is too long for a path is simply not there.
    for root in roots():
        if name and "/" not in name and os.path.isfile(root / name / CONFIG):  # noqa: PTH113
            return root / name
    if name and os.path.isdir(name):  # noqa: PTH112
        return Path(name).resolve()
    raise unknown("checkpoint", name, (entry.name for entry in available()))


def read_config(folder: Path) -> dict[str, Any]:
    """The checked config.json of a checkpoint folder.

    Raises
    ------
    LayaError
        It is missing, unreadable, or lacks a part.
    """
    return _checked(folder, _read(folder, CONFIG))


def _checked(folder: Path, config: bytes) -> dict[str, Any]:
    settings = _json(folder, CONFIG, config)
    if settings.get("laya_format") != FORMAT:
        raise LayaError(f"The config.json of {folder.name!r} is not that of a LAYA checkpoint of format {FORMAT}.")
    kinds = {"backbone": dict, "head": dict, "preprocessing": dict, "classes": list, "weights_sha256": str}
    broken = [part for part, kind in kinds.items() if not isinstance(settings.get(part), kind)]
    broken += [
        part
        for part in ("backbone", "head")
        if part not in broken
        and not (isinstance(settings[part].get("name"), str) and isinstance(settings[part].get("options"), dict))
    ]
    if broken:
        raise LayaError(f"The config.json of {folder.name!r} has no usable {broken[0]!r}.")
    if settings["backbone"]["options"].get("pretrained"):
        raise LayaError(f"The config.json of {folder.name!r} asks for a download; a checkpoint brings its own weights.")
    classes = settings["classes"]
    if not 2 <= len(classes) <= 65_536 or not all(map(_is_label, classes)):
        raise LayaError(
            f"The config.json of {folder.name!r} needs at least 2 class names of 1 to {LABEL} printable characters."
        )
    if len(set(classes)) < len(classes):
        raise LayaError(f"The config.json of {folder.name!r} names a class twice.")
    return settings


def read_metrics(folder: Path) -> dict[str, Any]:
    """The metrics.json of a checkpoint folder; an empty dict where there is none, or one of other weights."""
    return _of_these_weights(folder, METRICS)


def read_profiles(folder: Path) -> dict[str, Any]:
    """The profiles.json of a checkpoint folder; an empty dict where there is none, or one of other weights.

    Raises
    ------
    LayaError
        It is damaged, or was not written by ``python -m laya profile``.
    """
    report = _of_these_weights(folder, PROFILES)
    kinds = {"layers": list, "overall": dict, "classes": dict, "predicted": dict, "n": int}
    broken = [part for part, kind in kinds.items() if report and not isinstance(report.get(part), kind)]
    if broken:
        raise LayaError(f"The {PROFILES} of {folder.name!r} has no usable {broken[0]!r}; make it again.")
    return report


def _of_these_weights(folder: Path, name: str) -> dict[str, Any]:
    measured = _json(folder, name) if os.path.isfile(folder / name) else {}  # noqa: PTH113
    return measured if measured.get("weights_sha256") == read_config(folder)["weights_sha256"] else {}


def read_evidence(folder: Path) -> dict[str, Any]:
    """The evidence.json of a checkpoint folder; an empty dict where there is none."""
    return _json(folder, EVIDENCE) if os.path.isfile(folder / EVIDENCE) else {}  # noqa: PTH113


def samples(name: str) -> dict[str, Path]:
    """The pictures that a checkpoint ships to be tried: label to file, in the order of their file names.

    ``10_ankle_boot.png`` has the label "Ankle boot".
    """
    folder = find(name) / "samples"
    files = sorted(file for file in folder.glob("*.*") if file.suffix.lower() in (".png", ".jpg", ".webp"))
    return {file.stem.partition("_")[2].replace("_", " ").capitalize(): file for file in files}


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
    from laya.images import Preprocessing
    from laya.model import LayaClassifier

    folder = find(name)
    config = _read(folder, CONFIG)
    settings = _checked(folder, config)
    data = _weights(folder)
    digest = hashlib.sha256(data).hexdigest()
    tensors = _parse(data, folder.name)
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
        tensors |= _shared(folder, shared, backbone)
    preprocessing = Preprocessing.from_dict(settings["preprocessing"])
    if not backbone.accepts(preprocessing.channels, preprocessing.size):
        raise LayaError(f"The preprocessing of {folder.name!r} gives pictures that its backbone cannot read.")
    _check_fit(folder.name, model.state_dict(), tensors)
    if digest != settings["weights_sha256"]:
        raise LayaError(f"The weights of {folder.name!r} are not the ones that its config.json names; copy both again.")
    if any(name not in tensors for name, _ in model.named_buffers()):
        model = build()  # some buffers are computed and in no file; by now the sizes are known to be those of the file
    model.load_state_dict(tensors, strict=True, assign=True)
    model, device = _placed(model.eval().requires_grad_(False), device)
    identity = hashlib.sha256(config).hexdigest()
    return Checkpoint(folder.name, model, classes, preprocessing, digest, identity, device, folder)


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


ARCHIVE_BYTES = 500 * 2**20  # most bytes of a checkpoint's files together
JSON_BYTES = 50 * 2**20  # most bytes of one of a checkpoint's JSON files
_WELCOME = (WEIGHTS, CONFIG, METRICS, CARD)


def unpack(data: bytes, name: str, place: Path) -> Path:
    """A checkpoint folder from a zip archive, its files checked before anything is written, and the model after.

    Parameters
    ----------
    data : the archive: the files of one checkpoint, perhaps inside one folder. Samples and what else is in it is left.
    name : what the archive is called.
    place : an empty folder to write into.

    Raises
    ------
    LayaError
        No zip, no checkpoint in it, more than :data:`ARCHIVE_BYTES` unpacked, or see :func:`load`.
    """
    archive = Archive(data, name)
    entries = {
        PurePosixPath(entry.filename).name: entry
        for entry in archive.entries
        if len(PurePosixPath(entry.filename).parts) <= 2 and PurePosixPath(entry.filename).name in _WELCOME
    }
    if not {WEIGHTS, CONFIG} <= entries.keys():
        raise LayaError(f"{name!r} holds no checkpoint: pack {WEIGHTS} and {CONFIG}, which training writes.")
    archive.check_open(list(entries.values()))
    files, left = {}, ARCHIVE_BYTES
    for file, entry in entries.items():
        most = left if file == WEIGHTS else min(left, JSON_BYTES)
        try:
            files[file] = archive.read(entry, most + 1)
        except LayaError as error:
            raise LayaError(f"The {file} in {name!r} is damaged; pack it again.") from error
        left -= len(files[file])
        if len(files[file]) > most:
            raise LayaError(
                f"{name!r} unpacks to more than the limit: {ARCHIVE_BYTES >> 20} MB in all, of which "
                f"{JSON_BYTES >> 20} MB for a file of text."
            )
    stem = "".join(sign for sign in PurePosixPath(name).stem if sign.isalnum() or sign in "-_") or "model"
    folder = place / stem
    for file, content in files.items():
        write(folder / file, content)
    load(str(folder))
    return folder


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
    tensors = _parse(data, file.name)
    first = next(iter(expected))
    whole = (name for name in tensors if name.startswith("backbone.") and name.endswith(f".{first}"))
    prefix = next(whole, first).removesuffix(first)
    tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    tensors = {
        name: tensor.to(expected[name].dtype) if name in expected and tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }
    _check_fit(file.name, expected, tensors)
    return tensors, hashlib.sha256(data).hexdigest()


def _shared(folder: Path, named: Any, backbone: "Backbone") -> "dict[str, torch.Tensor]":
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


def write_json(file: Path, value: Any, *, indent: int | None = 2) -> None:
    """Write JSON atomically; NaN and infinity are refused."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    write(file, (text + "\n").encode())


def write(file: Path, data: bytes) -> None:
    """Replace a file in one step: a reader sees the old one or the new one, never a part.

    Raises
    ------
    LayaError
        It cannot be written there.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise LayaError(f"{file.name!r} cannot be written there: {error.strerror or error}.") from error


def _read(folder: Path, name: str) -> bytes:
    try:
        with (folder / name).open("rb") as stream:
            data = stream.read(JSON_BYTES + 1)
    except FileNotFoundError as error:
        raise LayaError(f"{folder.name!r} has no {name}, so it is not a checkpoint.") from error
    except OSError as error:
        raise LayaError(
            f"The {name} of {folder.name!r} cannot be read: {error.strerror or 'unknown reason'}."
        ) from error
    if len(data) > JSON_BYTES:
        raise LayaError(f"The {name} of {folder.name!r} has more than {JSON_BYTES >> 20} MB, the limit.")
    return data


def _json(folder: Path, name: str, data: bytes | None = None) -> dict[str, Any]:
    data = _read(folder, name) if data is None else data
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LayaError(f"The {name} of {folder.name!r} is not readable JSON.") from error
    if not isinstance(value, dict):
        raise LayaError(f"The {name} of {folder.name!r} is not a JSON object.")
    return value


def _is_label(name: Any) -> bool:
    return isinstance(name, str) and 1 <= len(name) <= LABEL and name.isprintable()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _weights(folder: Path) -> bytes:
    try:
        return (folder / WEIGHTS).read_bytes()
    except FileNotFoundError as error:
        raise LayaError(_no_weights(folder)) from error
    except OSError as error:
        reason = error.strerror or "unknown reason"
        raise LayaError(f"The weights of {folder.name!r} cannot be read: {reason}.") from error


def _parse(data: bytes, name: str) -> "dict[str, torch.Tensor]":
    from safetensors import SafetensorError
    from safetensors.torch import load as parse

    try:
        return parse(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise LayaError(f"The weights of {name!r} are {_damage(data)}.") from error


def _no_weights(folder: Path) -> str:
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


def _check_fit(name: str, expected: dict[str, "torch.Tensor"], given: dict[str, "torch.Tensor"]) -> None:
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
