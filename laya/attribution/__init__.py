"""The methods that give every layer a score. A new one is one function and one record in :data:`METHODS`."""

from laya.attribution.intrinsic import alpha, contribution
from laya.attribution.measured import leave_one_out
from laya.attribution.method import Family, Method, Settings
from laya.attribution.posthoc import baseline_logits, grad_cam, integrated_gradients

ATTRIBUTIONS: dict[str, Method] = {
    method.id: method
    for method in (
        Method(
            id="alpha",
            label="Attention α",
            family="intrinsic",
            description="The weight that the model itself gives to the layer for this image; all layers sum to 1.",
            colour="#0072B2",
            unit="weight",
            compute=alpha,
            needs_weights=True,
        ),
        Method(
            id="contribution",
            label="Contribution",
            family="intrinsic",
            description="What the layer adds to the target's logit, exactly: its weight times its own vote; can be "
            "negative.",
            colour="#009E73",
            unit="logits",
            compute=contribution,
        ),
        Method(
            id="integrated_gradients",
            label="Integrated Gradients",
            family="post-hoc",
            description="Captum's Integrated Gradients from empty to actual hidden states, summed over the layer; can "
            "be negative.",
            colour="#E69F00",
            unit="logits",
            compute=integrated_gradients,
        ),
        Method(
            id="grad_cam",
            label="Grad-CAM",
            family="post-hoc",
            description="Gradient times activation, summed over the layer; negative evidence is cut off at 0.",
            colour="#CC79A7",
            unit="logits",
            compute=grad_cam,
        ),
    )
}

LEAVE_ONE_OUT = Method(
    id="leave_one_out",
    label="Measured effect",
    family="measured",
    description="How far the target's probability really falls when the layer is taken away; negative if it rises.",
    colour="#1F2430",
    unit="probability",
    compute=leave_one_out,
)

METHODS: dict[str, Method] = {**ATTRIBUTIONS, LEAVE_ONE_OUT.id: LEAVE_ONE_OUT}

__all__ = ["ATTRIBUTIONS", "LEAVE_ONE_OUT", "METHODS", "Family", "Method", "Settings", "baseline_logits"]
