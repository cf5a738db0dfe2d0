"""Choose an image: upload a file, take a photo, or pick a sample. The last choice counts."""

import base64
import io
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from PIL import Image
from streamlit.delta_generator import DeltaGenerator

from laya.errors import LayaError
from laya.inputs import images
from laya.inputs.images import ACCEPTED, MAX_BYTES, MAX_PIXELS
from laya.ui import address, theme

THUMBNAIL = 144  # longest edge of a sample in the gallery, in pixels: twice what a phone shows


@dataclass(frozen=True)
class Choice:
    """The bytes that were chosen, and what to call them."""

    name: str
    data: bytes


def pick_image(samples: dict[str, Path], gallery: DeltaGenerator) -> Choice | None:
    """Draw the uploader, the camera and the samples; None while nothing is chosen.

    Parameters
    ----------
    samples : label to file.
    gallery : where the samples stand while nothing is chosen; afterwards they are folded away here.
    """
    limits = f"{ACCEPTED}; up to {megabytes(MAX_BYTES)} MB and {MAX_PIXELS // 10**6} million pixels."
    upload = st.file_uploader(
        "Upload an image",
        key="upload",
        on_change=_switch,
        args=("upload",),
        max_upload_size=megabytes(MAX_BYTES),
        help=limits + " It stays in the memory of your session and is never stored.",
    )
    with st.popover(
        "Take a photo", icon=":material/photo_camera:", width="stretch", key="camera-open", on_change="rerun"
    ):
        photo = st.camera_input(
            "Camera", key="camera", on_change=_switch, args=("camera",), label_visibility="collapsed"
        )
    asked = address.initial("sample")
    if "source" not in st.session_state and asked in samples:
        st.session_state["source"] = asked
    source = st.session_state.get("source")
    address.record("sample", source if source in samples else None)
    choice = None
    if source == "upload" and upload is not None:
        choice = Choice(upload.name, upload.getvalue())
    elif source == "camera" and photo is not None:
        choice = Choice("your photo", photo.getvalue())
    elif source in ("upload", "camera"):  # another page has its own widgets, which hold nothing; the image stays
        choice = st.session_state.get("given")
    elif source in samples:
        with suppress(OSError):  # it went away since it was listed
            choice = Choice(f"sample “{source}”", samples[source].read_bytes())
    if source in ("upload", "camera"):
        st.session_state["given"] = choice
    if samples:
        if choice is None:
            gallery.markdown("**Upload your own, or try one of these:**")
        with gallery if choice is None else st.expander("Try a sample", icon=":material/apps:"):
            _gallery(samples, "samples-large" if choice is None else "samples")
    return choice


def megabytes(most: int) -> int:
    """What an uploader for ``most`` bytes takes: less where the server itself takes less."""
    return min(most >> 20, int(st.get_option("server.maxUploadSize")))


def _gallery(samples: dict[str, Path], key: str) -> None:
    with st.container(key=key, horizontal=True, gap="small"):
        for label, file in samples.items():
            picture = ""
            with suppress(LayaError):  # a damaged sample keeps its name; the click says what is wrong with it
                picture = f"![]({_inline(str(file), file.stat().st_mtime)}) "
            st.button(picture + theme.plain(label), key=f"sample-{label}", on_click=_choose, args=(label,))


def _switch(widget: str) -> None:
    """A file came into a widget, or left it; leaving matters only if that widget's image is shown."""
    if st.session_state.get(widget) is not None:
        st.session_state["source"] = widget
        st.session_state["camera-open"] = False  # the photo is taken: make room for what it shows
    elif st.session_state.get("source") == widget:
        del st.session_state["source"]
        st.session_state.pop("given", None)


def _choose(label: str) -> None:
    st.session_state["source"] = label
    st.session_state.pop("given", None)


@st.cache_data(max_entries=64)
def _inline(file: str, modified: float) -> str:  # noqa: ARG001  # a part of the cache key
    """A small copy for the inside of a label, whose every letter the browser reads again at every rerun."""
    return inline(images.read(Path(file).read_bytes()).image, THUMBNAIL)


def inline(image: Image.Image, edge: int) -> str:
    """A small copy as a data address; ``edge`` is what its longest may have, in pixels."""
    small = image.convert("RGB")
    small.thumbnail((edge, edge))
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=85)
    return f"data:image/webp;base64,{base64.b64encode(stream.getvalue()).decode()}"
