"""The checkpoints that are there, from their JSON alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from laya.checkpoints.layout import CONFIG, WEIGHTS, roots
from laya.checkpoints.metadata import is_label, read_config, read_metrics
from laya.checkpoints.weights import no_weights
from laya.errors import LayaError, unknown


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
            raise LayaError(no_weights(folder))
        title, metrics = settings.get("title", ""), read_metrics(folder)
        accuracy, split = metrics.get("accuracy"), metrics.get("split", "test")
        if title != "" and not is_label(title):
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


def samples(name: str) -> dict[str, Path]:
    """The pictures that a checkpoint ships to be tried: label to file, in the order of their file names.

    ``10_ankle_boot.png`` has the label "Ankle boot".
    """
    folder = find(name) / "samples"
    files = sorted(file for file in folder.glob("*.*") if file.suffix.lower() in (".png", ".jpg", ".webp"))
    return {file.stem.partition("_")[2].replace("_", " ").capitalize(): file for file in files}
