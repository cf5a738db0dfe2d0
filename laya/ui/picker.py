"""Choose an image: upload a file, take a photo, or pick a sample. The last choice counts."""

import base64
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from laya.images import ACCEPTED, MAX_BYTES, MAX_PIXELS


@dataclass(frozen=True)
class Choice:
    """The bytes that were chosen, and what to call them."""

    name: str
    data: bytes


def pick_image(samples: dict[str, Path]) -> Choice | None:
    """Draw the uploader, the camera and the samples; None while nothing is chosen.

    Parameters
    ----------
    samples : label to file.
    """
    limits = f"{ACCEPTED}; up to {MAX_BYTES >> 20} MB and {MAX_PIXELS // 10**6} million pixels."
    upload = st.file_uploader(
        "Upload an image",
        key="upload",
        on_change=_switch,
        args=("upload",),
        max_upload_size=MAX_BYTES >> 20,
        help=limits + " It stays in the memory of your session and is never stored.",
    )
    with st.popover("Take a photo", icon=":material/photo_camera:", width="stretch"):
        photo = st.camera_input(
            "Camera", key="camera", on_change=_switch, args=("camera",), label_visibility="collapsed"
        )
    if samples:
        st.markdown("**or try one of these**")
        with st.container(key="samples", horizontal=True, gap="small"):
            for label, file in samples.items():
                st.button(
                    f"![{label}]({_inline(str(file), file.stat().st_mtime)}) {label}",
                    key=f"sample-{label}",
                    on_click=_choose,
                    args=(label,),
                )
    source = st.session_state.get("source")
    if source == "upload" and upload is not None:
        return Choice(upload.name, upload.getvalue())
    if source == "camera" and photo is not None:
        return Choice("your photo", photo.getvalue())
    if source in samples:
        return Choice(f"sample “{source}”", samples[source].read_bytes())
    return None


def _switch(widget: str) -> None:
    """A file came into a widget, or left it; leaving matters only if that widget's image is shown."""
    if st.session_state.get(widget) is not None:
        st.session_state["source"] = widget
    elif st.session_state.get("source") == widget:
        del st.session_state["source"]


def _choose(label: str) -> None:
    st.session_state["source"] = label


@st.cache_data(max_entries=64)
def _inline(file: str, modified: float) -> str:  # noqa: ARG001  # a part of the cache key
    kind = "jpeg" if file.endswith("jpg") else Path(file).suffix[1:]
    return f"data:image/{kind};base64,{base64.b64encode(Path(file).read_bytes()).decode()}"
