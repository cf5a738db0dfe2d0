"""The models of this app: those on the server, and those that a person has brought for this session."""

import re
import shutil
import tempfile
import weakref
from pathlib import Path

import streamlit as st

from laya import checkpoints
from laya.checkpoints import Summary
from laya.errors import LayaError
from laya.ui import picker, theme

OWN = "own-models"  # name to summary, in this session alone


def listed() -> list[Summary]:
    """All models, a person's own last; of one name the person's own."""
    own: dict[str, Summary] = st.session_state.get(OWN, {})
    return [entry for entry in checkpoints.available() if entry.name not in own] + list(own.values())


def bring() -> None:
    """Take a checkpoint as a zip; it is checked before it can be used, and goes with the session."""
    most = picker.megabytes(checkpoints.ARCHIVE_BYTES)
    upload = st.file_uploader(
        "Bring a model: the zip of a checkpoint folder",
        key="model-zip",
        max_upload_size=most,
        help=f"{checkpoints.WEIGHTS} and {checkpoints.CONFIG}, as `python -m laya train` writes them; up to "
        f"{most} MB. Weights are read as safetensors and JSON alone, so nothing in it can "
        "run. You alone see it, and it goes with your session.",
    )
    if upload is None:
        return
    if st.session_state.get("model-zip-taken") != upload.file_id:
        place = tempfile.mkdtemp(prefix="laya-model-")
        try:
            with st.spinner("Checking the model …"):
                folder = checkpoints.unpack(upload.getvalue(), upload.name, Path(place))
        except LayaError as error:
            shutil.rmtree(place, ignore_errors=True)
            st.error(theme.plain(str(error)), icon=":material/error:")
            return
        own = st.session_state.setdefault(OWN, {})
        own[folder.name] = checkpoints.summary(folder)
        weakref.finalize(own[folder.name], shutil.rmtree, place, ignore_errors=True)  # when the session lets go of it
        st.session_state["model-zip-taken"] = upload.file_id
        st.session_state["chosen-model"] = folder.name
    st.success("The model is ready: choose it on any page.", icon=":material/check:")


def overview() -> None:
    """Every model with its figures and its card; a broken one with what is wrong with it."""
    own = st.session_state.get(OWN, {})
    for entry in listed():
        if entry.problem is not None:
            st.warning(theme.plain(f"{entry.name} cannot be used. {entry.problem}"))
            continue
        with st.container(border=True):
            brought = " · yours, for this session" if entry.name in own else ""
            accuracy = "not measured" if entry.accuracy is None else f"{entry.accuracy:.1%} ({entry.split})"
            st.markdown(f"#### {theme.plain(entry.title or entry.name)}")
            facts = (
                f"{entry.name}{brought} · {entry.backbone} with the head {entry.head} · {entry.classes} classes · "
                f"{entry.megabytes:.1f} MB · accuracy {accuracy}"
            )
            st.markdown(theme.plain(facts))
            card = _card(entry.folder)
            if card:
                with st.expander("Model card", icon=":material/description:"):
                    st.markdown(card)


def _card(folder: Path) -> str:
    """The model card without metadata, title, pictures and links into the folder; the text may be anybody's."""
    file = folder / checkpoints.CARD
    if not file.is_file():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    if text.startswith("---"):
        text = text.partition("---")[2].partition("\n---")[2]
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)  # a picture would be fetched from wherever it is
    text = re.sub(r"\[([^\]]+)\]\((?!https?://)[^)]*\)", r"\1", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("# ")).strip()
