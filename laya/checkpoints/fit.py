"""Whether tensors fit a model, what is wrong where they do not, and weights of others made to fit a backbone."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from laya.errors import LayaError, shown

if TYPE_CHECKING:
    import torch

    from laya.backbones import Backbone

Tensors = dict[str, "torch.Tensor"]

PREFIXES = 32  # most prefixes that are tried, the shortest first; a file of anybody's may suggest any number
COUNTER = ".num_batches_tracked"  # of a BatchNorm; old files are without it, and torch puts 0 in its place as well
CLASSIFIERS = frozenset(  # what timm, torchvision and transformers call a classifier; more may follow after a dot
    {"head", "heads", "head_dist", "heads_dist", "aux_head", "fc", "classifier", "classif", "last_linear"}
)
STYLES = {  # parts of names by which a library is told
    "Hugging Face transformers": ("embeddings.", "embedder.", "encoder.layer.", "vision_model."),
    "timm": ("patch_embed.", "conv_stem.", ".attn.qkv."),
    "torchvision": ("conv_proj.", "encoder.layers.encoder_layer_", "features.0."),
}


@dataclass(frozen=True)
class Difference:
    """What keeps tensors from fitting those that a model expects; false if nothing does.

    Attributes
    ----------
    expected : how many the model expects.
    missing : names that it expects and that are not given.
    surplus : names that are given and that it does not expect.
    misshapen : name, given shape and expected shape of those that differ in it.
    """

    expected: int
    missing: list[str]
    surplus: list[str]
    misshapen: list[tuple[str, tuple[int, ...], tuple[int, ...]]]

    @classmethod
    def between(cls, given: Tensors, expected: Tensors) -> "Difference":
        """Hold tensors against those that a model expects."""
        shapes = (
            (name, tuple(given[name].shape), tuple(expected[name].shape)) for name in expected.keys() & given.keys()
        )
        return cls(
            len(expected),
            sorted(expected.keys() - given.keys()),
            sorted(given.keys() - expected.keys()),
            sorted(shape for shape in shapes if shape[1] != shape[2]),
        )

    @property
    def fitting(self) -> int:
        """How many of the expected are given in the right shape."""
        return self.expected - len(self.missing) - len(self.misshapen)

    def __bool__(self) -> bool:
        return bool(self.missing or self.surplus or self.misshapen)

    def __str__(self) -> str:
        """Counts, and a few of the names: "52 of 174 tensors fit, 122 are missing, such as 'norm.bias'"."""
        parts = [f"{self.fitting} of {self.expected} tensors fit"]
        for names, what in ((self.missing, "missing"), (self.surplus, "too many")):
            if names:
                parts.append(f"{len(names)} {'is' if len(names) == 1 else 'are'} {what}{_some(names)}")
        if self.misshapen:
            name, given, expected = self.misshapen[0]
            has, such = ("has", "") if len(self.misshapen) == 1 else ("have", "such as ")
            parts.append(f"{len(self.misshapen)} {has} another shape ({such}{shown(name)}: {given}, not {expected})")
        return ", ".join(parts)


def fit(
    tensors: Tensors, expected: Tensors, file: str, backbone: "Backbone | None" = None
) -> tuple[Tensors, list[str]]:
    """A backbone's own tensors out of a file of anybody's, with notes on what was done to get them.

    What stands before all of the backbone's names, such as ``module.`` or ``backbone.model.``, is taken off. A
    classifier and what the backbone does not read are left aside. Weights that still do not fit are converted, where
    the backbone knows how.

    Parameters
    ----------
    tensors : all tensors of the file.
    expected : those that the backbone has.
    file : what messages call the file.
    backbone : the backbone, where it is known.

    Raises
    ------
    LayaError
        They do not fit, or more than one part of the file does.
    """
    candidates = {prefix: _under(prefix, tensors, expected) for prefix in _prefixes(tensors, expected)}
    found = _fitting(candidates.items(), expected, backbone)
    if not found and backbone is not None:
        converted = ((prefix, backbone.converted(_floats(own))) for prefix, own in candidates.items())
        found = _fitting(converted, expected, backbone)
    if len(found) > 1:
        raise LayaError(
            f"{file!r} holds more than one backbone that fits, under {' and '.join(map(shown, list(found)[:2]))}; save "
            "the one that is meant into a file of its own."
        )
    if not found:
        raise LayaError(_refusal(candidates, expected, file, backbone))
    [(prefix, own)] = found.items()
    return {name: own[name] for name in expected}, _notes(own, candidates[prefix], expected, file)


def wrapper(names: Iterable[str]) -> str:
    """What stands before every name, up to a dot; empty if nothing does."""
    places = zip(*(name.split(".")[:-1] for name in names), strict=False)
    return "".join(f"{parts[0]}." for parts in takewhile(lambda parts: len(set(parts)) == 1, places))


def _prefixes(tensors: Tensors, expected: Tensors) -> list[str]:
    """What may stand before the backbone's names: nothing, what wraps all names, what stands before its first name."""
    first = next(iter(expected))
    wraps = wrapper(tensors)
    found = {wraps[: at + 1] for at, sign in enumerate(wraps) if sign == "."}
    found |= {name.removesuffix(first) for name in tensors if name.endswith(f".{first}")}
    return ["", *sorted(found, key=lambda prefix: (len(prefix), prefix))[:PREFIXES]]


def _under(prefix: str, tensors: Tensors, expected: Tensors) -> Tensors:
    """The tensors under a prefix, without it; with the counters that old files lack."""
    import torch

    own = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    missing = expected.keys() - own.keys()
    if all(name.endswith(COUNTER) for name in missing):
        own |= {name: torch.zeros((), dtype=torch.int64) for name in missing}
    return own


def _fitting(
    candidates: Iterable[tuple[str, Tensors]], expected: Tensors, backbone: "Backbone | None"
) -> dict[str, Tensors]:
    """Those candidates that give all that is expected and nothing else that matters, by prefix."""
    found = {prefix: own for prefix, own in candidates if not _difference(own, expected, backbone)}
    # A backbone may take a prefix off when it converts: of prefixes that begin alike the longest.
    found = {one: own for one, own in found.items() if not any(two != one and two.startswith(one) for two in found)}
    whole = {prefix: own for prefix, own in found.items() if prefix.startswith("backbone.")}  # the file of a LAYA model
    return whole or found


def _difference(own: Tensors, expected: Tensors, backbone: "Backbone | None") -> Difference:
    """The difference but for what may be too many: a classifier, and what the backbone does not read."""
    unread = frozenset() if backbone is None else backbone.unread
    difference = Difference.between(own, expected)
    surplus = [name for name in difference.surplus if name not in unread and name.partition(".")[0] not in CLASSIFIERS]
    return replace(difference, surplus=surplus)


def _floats(tensors: Tensors) -> Tensors:
    """In single precision, so that what is resampled is not rounded twice."""
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}


def _notes(own: Tensors, before: Tensors, expected: Tensors, file: str) -> list[str]:
    """What was done to the tensors of a file, in sentences for the person whose file it is."""
    notes = []
    if changed := Difference.between(own, {name: before[name] for name in own if name in before}).misshapen:
        name, new, old = changed[0]
        more = f", and {len(changed) - 1} more like it" if len(changed) > 1 else ""
        notes.append(f"{name!r} in {file!r} was converted from the shape {old} to {new}{more}.")
    if spare := sorted(own.keys() - expected.keys()):
        notes.append(f"No layer of the backbone needs {len(spare)} of the tensors in {file!r}{_some(spare)}.")
    return notes


def _refusal(candidates: dict[str, Tensors], expected: Tensors, file: str, backbone: "Backbone | None") -> str:
    """Why a file does not fit, by the prefix under which it comes closest if that takes it at least half the way."""
    differences = {prefix: _difference(own, expected, backbone) for prefix, own in candidates.items()}
    prefix = max(differences, key=lambda each: differences[each].fitting)
    if differences[prefix].fitting * 2 < len(expected):
        prefix = ""
    closest = differences[prefix]
    label, hint = "its backbone", ""
    if backbone is not None:
        label = ":".join(("the backbone " + backbone.name, *filter(None, [backbone.options.get("model")])))
        foreign = [style for style in STYLES if _is_of(style, closest.surplus) and not _is_of(style, expected)]
        if foreign:
            hint = f"; the names look like those of {foreign[0]}: convert them to those of {backbone.name}"
        elif closest.misshapen and all("pos_embed" in name for name, *_ in closest.misshapen):
            size = " x ".join(map(str, backbone.preprocessing.size))
            hint = f"; the position embedding is of another picture or patch size: give weights for {size} pixels"
    where = f" (under {shown(prefix)})" if prefix else ""
    return f"The weights in {file!r}{where} do not fit {label}: {closest}{hint}."


def _is_of(style: str, names: Iterable[str]) -> bool:
    return any(part in name for name in names for part in STYLES[style])


def _some(names: list[str]) -> str:
    """The first names of a list as a part of a sentence."""
    such = ", such as " if len(names) > 2 else ", "
    return such + " and ".join(map(shown, names[:2]))
