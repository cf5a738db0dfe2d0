"""The settings that a person can change, as widgets."""

import streamlit as st

from laya.attribution import Settings
from laya.checkpoints import Checkpoint, Summary
from laya.heads import REMOVALS
from laya.ui import address, models, theme
from laya.ui.glossary import TERMS

TEMPERATURES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
STEPS = Settings().steps


def choose_checkpoint() -> Summary | None:
    """A choice of the usable checkpoints; None, with what to do, where there is none. Broken ones are named."""
    entries = models.listed()
    usable = [entry for entry in entries if entry.problem is None]
    for entry in entries:
        if entry.problem is not None:
            st.warning(theme.plain(f"The model {entry.name} cannot be used. {entry.problem}"))
    if not usable:
        st.error("There is no model yet. Train one with `python -m laya train --help`.")
        return None
    titles = [entry.title for entry in usable]

    def shown(entry: Summary) -> str:
        title = entry.title if entry.title and titles.count(entry.title) == 1 else entry.name
        return title if entry.accuracy is None else f"{title} · {entry.accuracy:.1%} accuracy"

    named = {entry.name: entry for entry in usable}
    names = list(named)
    asked = address.initial("model")
    before = st.session_state.get("chosen-model", asked)  # a widget's own state does not outlive its page
    name = st.selectbox(
        "Model",
        names,
        index=names.index(before) if before in names else 0,
        format_func=lambda name: shown(named[name]),
        key="model",
    )
    st.session_state["chosen-model"] = name
    address.record("model", name)
    return named[name]


def choose_target(checkpoint: Checkpoint, predicted: str, key: str) -> str:
    """The class to explain; back to the predicted one whenever ``key`` changes."""
    asked = address.initial("target")
    target = st.selectbox(
        "Explained class",
        checkpoint.classes,
        index=checkpoint.classes.index(asked if asked in checkpoint.classes else predicted),
        key=f"target-{key}",
        help=TERMS["target"],
    )
    address.record("target", None if target == predicted else target)
    return target


def choose_settings(checkpoint: Checkpoint) -> Settings:
    """The meaning of "removed", and under "More" the temperature and the integration steps."""
    meanings = [mode for mode in REMOVALS if checkpoint.model.head.attends or mode != "renormalise"]
    asked = address.initial("removed")
    removal = st.segmented_control(
        "Removing a layer means",
        meanings,
        default=next((mode for mode in meanings if mode == asked), meanings[0]),
        required=True,
        key=f"removal-{checkpoint.name}",
        help="\n\n".join([TERMS["removal"], *(f"**{mode}** {TERMS[mode]}" for mode in meanings)]),
    )
    address.record("removed", None if removal == meanings[0] else removal)
    with st.popover("More", icon=":material/tune:"):
        own = checkpoint.model.head.tau
        tau = None
        if checkpoint.model.head.attends:
            temperatures = sorted({*TEMPERATURES, own})
            asked = address.initial("tau")
            tau = st.select_slider(
                f"Temperature τ (the model's own: {own:g})",
                temperatures,
                value=next((value for value in temperatures if f"{value:g}" == asked), own),
                key=f"tau-{checkpoint.name}",
                help=TERMS["tau"],
            )
        asked = address.initial("steps")
        steps = st.slider(
            "Steps of Integrated Gradients",
            *(10, 200),
            next((steps for steps in range(10, 201, 10) if str(steps) == asked), STEPS),
            10,
            key="steps",
            help=TERMS["steps"],
        )
    address.record("tau", None if tau == own or tau is None else f"{tau:g}")
    address.record("steps", None if steps == STEPS else str(steps))
    return Settings(tau=None if tau == own else tau, removal=removal or meanings[0], steps=steps)


def choose_recipe(checkpoint: Checkpoint) -> bool:
    """Whether to prepare the picture as the training pictures were, where there is such a preparation."""
    if checkpoint.preprocessing.recipe == "plain":
        return True
    return st.toggle("Prepare it like the training pictures", value=True, key="recipe", help=TERMS["preparation"])
