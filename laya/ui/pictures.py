"""The image, as it was given and as the model sees it."""

import html
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from laya.ui import theme
from laya.ui.analysis import Analysis


def side_by_side(name: str, seen: Analysis) -> None:
    """The image as it was chosen and as the model sees it, side by side."""
    with st.container(key="pictures"):
        given, model = st.columns(2, wrap=False)
    picture(given, seen.thumbnails[0], caption="as given", alt=f"The image {name}")
    picture(model, seen.thumbnails[1], caption="as the model sees it", alt="The model's input")
    steps = "; ".join(seen.prepared.steps)
    theme.note(html.escape(f"{name}: {steps}. " + " ".join(seen.picture.notes)))


def picture(place: DeltaGenerator, data: bytes, *, alt: str, caption: str | None = None) -> None:
    """A PNG or JPEG as it is: left to itself, Streamlit makes every picture a JPEG, and again at every rerun."""
    kind: Literal["PNG", "JPEG"] = "PNG" if data.startswith(b"\x89PNG") else "JPEG"
    place.image(data, caption=caption, width="stretch", output_format=kind, alt=alt)
