"""The left column that the pages about an image share: model, image, preparation, and what the model sees."""

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from laya import checkpoints
from laya.checkpoints import Checkpoint
from laya.errors import LayaError
from laya.ui import analysis, cache, controls, picker, pictures, theme
from laya.ui.analysis import Analysis
from laya.ui.picker import Choice


@dataclass(frozen=True)
class Workbench:
    """What lies on the desk; ``seen`` is None while there is no image, or none that can be used."""

    checkpoint: Checkpoint
    choice: Choice | None
    recipe: bool
    seen: Analysis | None


def show(place: DeltaGenerator, teaching: str) -> Workbench:
    """Draw the column and run the model; stops the page where there is no usable model.

    Whoever comes first reads and chooses while the model is loaded.

    Parameters
    ----------
    place : where the teaching and the samples stand while no image is chosen.
    teaching : what the page is for, Markdown.
    """
    words, gallery = place.container(), place.container()
    summary = controls.choose_checkpoint()
    if summary is None:
        st.stop()
    choice = picker.pick_image(checkpoints.samples(str(summary.folder)), gallery)
    if choice is None:
        words.markdown(teaching)
    try:
        checkpoint = cache.checkpoint(summary)
    except LayaError as error:
        st.error(theme.plain(str(error)))
        st.stop()
    if choice is None:
        return Workbench(checkpoint, None, True, None)
    recipe = controls.choose_recipe(checkpoint)
    try:
        seen = analysis.analyse(checkpoint, choice, recipe=recipe)
    except LayaError as error:
        words.markdown(teaching)
        st.error(theme.plain(f"{choice.name}: {error}"), icon=":material/error:")
        return Workbench(checkpoint, choice, recipe, None)
    pictures.side_by_side(choice.name, seen)
    return Workbench(checkpoint, choice, recipe, seen)
