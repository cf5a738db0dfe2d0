"""The model card of a trained checkpoint, from the figures of the run and nothing else."""

import json
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from laya.data import KNOWN
from laya.intervals import Interval

CARD = """---
{metadata}
---

# {title}

The backbone `{backbone}` with the output head `{head}` over its {layers} hidden layers, for {classes} classes:
{class_names}.{weights}

The heads come from LAYA (G. Vessio, [arXiv 2511.12723](https://arxiv.org/abs/2511.12723)), in which the attention over
the layers tells how much each of them counts for an image.

## Figures

On {n:,} {split}, by

    {evaluate}

Accuracy **{accuracy:.4f}**, macro-F1 {macro_f1:.4f}.

| layer scores | faithfulness (Spearman) | images with a rank | Deletion@1 |
| --- | --- | --- | --- |
{faithfulness}

Brackets are 95 % bootstrap intervals of the mean. Removing a layer means dropping its term and keeping the other
weights (zero-term); the target is the predicted class. uniform, random and last_layer are controls; uniform has no
ranking, so its faithfulness is not defined.
{attention}
## Training

    {command}

{epochs} epochs in {minutes:.1f} minutes on {machine}. The weights are those of epoch {best_epoch}, which had the
highest accuracy on {held:,} images that were held back from the training ({validation_accuracy:.4f}).{search}

```json
{training}
```

## Data

{origin}.

## Licence

{license}

## Known limits

{limits}
- Attention says how the head weighs the layers, not what they compute, and not where in the picture.
"""

ATTENTION = """
| layer | mean attention |
| --- | --- |
{rows}

Mutual information between image and layer: {mi:.3f} nats (0 would mean the same attention for every image).
"""


def model_card(
    name: str,
    title: str,
    config: dict[str, Any],
    metrics: dict[str, Any],
    *,
    command: str,
    machine: str,
    search: str = "",
) -> str:
    """A model card (Markdown with Hugging Face's metadata block).

    Parameters
    ----------
    name, title : the checkpoint, for programs and for people.
    config : its config.json.
    metrics : its metrics.json, with ``split`` and ``training`` (epochs, best_epoch, validation_accuracy, seconds).
    command : what trained it, exactly.
    machine : what it was trained on, in words.
    search : how the recipe was chosen, Markdown, where that needs saying.
    """
    training = config["training"]
    known = KNOWN.get(training["data"])
    tested = metrics["split"] == "test"
    limits = known.limits if known else ()
    shared = config["backbone"].get("weights")
    metadata = ModelCardData(
        model_name=title,
        language="en",
        license=known.license if known else None,
        library_name="laya",
        pipeline_tag="image-classification",
        tags=["interpretability", "layer-attention", "laya"],
        datasets=[training["data"]] if known else None,
        eval_results=[
            EvalResult(
                task_type="image-classification",
                dataset_type=training["data"],
                dataset_name=known.title if known else training["data"],
                dataset_split=metrics["split"],
                metric_type=key,
                metric_value=round(metrics[key], 4),
            )
            for key in ("accuracy", "macro_f1")
        ],
    )
    return CARD.format(
        metadata=metadata.to_yaml(),
        title=title,
        backbone=config["backbone"]["name"],
        head=config["head"]["name"],
        layers=len(metrics["layers"]),
        classes=len(config["classes"]),
        class_names=", ".join(config["classes"]),
        n=metrics["n"],
        split="test images" if tested else "images held back for validation (there are no test images)",
        evaluate=f"python -m laya evaluate --model {name} --data {training['data']} --json"
        if tested
        else "python -m laya train, at its end",
        accuracy=metrics["accuracy"],
        macro_f1=metrics["macro_f1"],
        faithfulness="\n".join(
            f"| {method} | {Interval(**row['spearman'])} | {row['spearman']['n']:,} "
            f"| {Interval(**row['deletion_at_1'], n=metrics['n'])} |"
            for method, row in metrics["faithfulness"].items()
        ),
        attention=_attention(metrics),
        command=command,
        epochs=metrics["training"]["epochs"],
        minutes=metrics["training"]["seconds"] / 60,
        machine=machine,
        best_epoch=metrics["training"]["best_epoch"],
        held=metrics["training"]["held_back"],
        search=f"\n\n{search}" if search else "",
        weights=f" Its weights are those of [{shared['file']}](../backbones/README.md); they are frozen, and only the "
        "head was trained."
        if shared
        else "",
        validation_accuracy=metrics["training"]["validation_accuracy"],
        training=json.dumps(training, indent=2),
        origin=known.origin if known else f"The image folder `{training['data']}`",
        license=known.terms if known else "Not stated.",
        limits="\n".join(f"- {limit}" for limit in limits),
    ).replace("\n\n\n", "\n\n")


def _attention(metrics: dict[str, Any]) -> str:
    if metrics["alpha_mean"] is None:
        return ""
    rows = [f"| {name} | {mean:.3f} |" for name, mean in zip(metrics["layers"], metrics["alpha_mean"], strict=True)]
    return ATTENTION.format(rows="\n".join(rows), mi=metrics["alpha_mutual_information"])
