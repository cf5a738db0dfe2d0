"""The JSON of a checkpoint folder, checked; needs no torch."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from laya.checkpoints.layout import CONFIG, EVIDENCE, METRICS, PROFILES
from laya.errors import LayaError
from laya.intervals import Interval

FORMAT = 1
LABEL = 255  # most characters of a title or a class name, as of a folder
JSON_BYTES = 50 * 2**20  # most bytes of one of a checkpoint's JSON files


@dataclass(frozen=True)
class Card:
    """How far a checkpoint's explanations can be trusted, as its metrics.json says.

    Attributes
    ----------
    faithfulness : method id to the mean Spearman correlation of its layer scores with the measured effects, at the
        model's own temperature and the default meaning of "removed".
    split : what it was measured on: test, or validation where images were held back.
    """

    faithfulness: dict[str, Interval]
    split: str

    @property
    def images(self) -> str:
        """The images that it was measured on, in words."""
        return "test images" if self.split == "test" else "held-back images"


def read_config(folder: Path) -> dict[str, Any]:
    """The checked config.json of a checkpoint folder.

    Raises
    ------
    LayaError
        It is missing, unreadable, or lacks a part.
    """
    return checked_config(folder, read_file(folder, CONFIG))


def checked_config(folder: Path, config: bytes) -> dict[str, Any]:
    """The settings in the bytes of a config.json, which a message calls by its folder; see :func:`read_config`."""
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
    if not 2 <= len(classes) <= 65_536 or not all(map(is_label, classes)):
        raise LayaError(
            f"The config.json of {folder.name!r} needs at least 2 class names of 1 to {LABEL} printable characters."
        )
    if len(set(classes)) < len(classes):
        raise LayaError(f"The config.json of {folder.name!r} names a class twice.")
    return settings


def read_metrics(folder: Path) -> dict[str, Any]:
    """The metrics.json of a checkpoint folder; an empty dict where there is none, or one of other weights."""
    return _of_these_weights(folder, METRICS)


def read_card(folder: Path) -> Card | None:
    """What metrics.json says of the explanations; None where there is none, or one of other weights.

    Raises
    ------
    LayaError
        It is damaged.
    """
    metrics = read_metrics(folder)
    rows, split = metrics.get("faithfulness"), metrics.get("split", "test")
    if rows is None:
        return None
    try:
        known = {method: Interval(**row["spearman"]) for method, row in rows.items()}
        usable = isinstance(split, str) and all(map(_is_correlation, known.values()))
    except (AttributeError, KeyError, TypeError):
        usable = False
    if not usable:
        raise LayaError(f"The {METRICS} of {folder.name!r} has no usable 'faithfulness'.")
    return Card(known, split)


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


def read_file(folder: Path, name: str) -> bytes:
    """The bytes of one of a checkpoint's JSON files.

    Raises
    ------
    LayaError
        It is not there, cannot be read, or has more than :data:`JSON_BYTES`.
    """
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
    data = read_file(folder, name) if data is None else data
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise LayaError(f"The {name} of {folder.name!r} is not readable JSON.") from error
    if not isinstance(value, dict):
        raise LayaError(f"The {name} of {folder.name!r} is not a JSON object.")
    return value


def _is_correlation(value: Interval) -> bool:
    numbers = [each for each in (value.mean, value.low, value.high) if each is not None]
    return type(value.n) is int and all(type(each) in (int, float) and -1 <= each <= 1 for each in numbers)


def is_label(name: Any) -> bool:
    """Whether it can be shown as a title or the name of a class."""
    return isinstance(name, str) and 1 <= len(name) <= LABEL and name.isprintable()


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
