"""Two images through one model."""

from collections.abc import Callable

import streamlit as st
from PIL import Image, ImageFilter, ImageOps

from laya import plots
from laya.ui import address, analysis, controls, pictures, theme
from laya.ui.analysis import Analysis
from laya.ui.compare.shift import shift_verdict
from laya.ui.picker import Choice
from laya.ui.workbench import Workbench

CHANGES: dict[str, Callable[[Image.Image], Image.Image]] = {
    "blurred": lambda image: image.filter(ImageFilter.GaussianBlur(max(image.size) / 60)),
    "turned by 90°": lambda image: image.transpose(Image.Transpose.ROTATE_90),
    "upside down": lambda image: image.transpose(Image.Transpose.ROTATE_180),
    "mirrored": ImageOps.mirror,
    "cropped to its middle": lambda image: ImageOps.crop(image, min(image.size) // 5),
    "grey": lambda image: image.convert("L").convert("RGB"),
}


def show(bench: Workbench, seen: Analysis) -> None:
    """The same model on this image and on another, or on a changed copy."""
    checkpoint = bench.checkpoint
    answer = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kinds = [*CHANGES, "another file"]
        asked = address.initial("change")
        change = st.selectbox("The other image", kinds, index=kinds.index(asked) if asked in kinds else 0, key="change")
        address.record("change", None if change == kinds[0] else change)
        target = controls.choose_target(checkpoint, analysis.predicted(checkpoint, seen), seen.key)
        settings = controls.choose_settings(checkpoint)
    if change == "another file":
        upload = st.file_uploader("Upload the other image", key="other-upload")
        if upload is None:
            st.info("Upload a second image to compare with.")
            return
        other = analysis.analyse(checkpoint, Choice(upload.name, upload.getvalue()), recipe=bench.recipe, slot="other")
    else:
        other = analysis.analyse_picture(
            checkpoint, CHANGES[change](seen.picture.image), f"{seen.key}-{change}", recipe=bench.recipe
        )
    results = [
        analysis.explanation_of(checkpoint, each, target, settings, slot=slot)
        for each, slot in ((seen, "explanation"), (other, "explanation-other"))
    ]
    with answer:
        shift_verdict(results, ("This image", "the other image"), "is taken for")
    for column, result, each, title in zip(
        st.columns(2, gap="large"), results, (seen, other), ("This image", change), strict=True
    ):
        with column:
            name, probability = result.predictions[0]
            picture, words = st.columns([1, 3], vertical_alignment="center", wrap=False)
            pictures.picture(picture, each.thumbnails[1], alt=title)
            words.markdown(f"**{title[0].upper() + title[1:]}**  \n{theme.plain(name)}, {probability:.1%}")
            st.plotly_chart(
                plots.depth_chart(result.layers, result.scores, result.measured, multiples=True),
                key=f"two-{title}",
                config=theme.CHART,
                alt=result.summary(),
            )
