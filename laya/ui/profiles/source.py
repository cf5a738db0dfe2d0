"""Whose profile: the test set's, or that of a person's own pictures."""

import hashlib
import html
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial

import streamlit as st

from laya import checkpoints
from laya.checkpoints import Checkpoint, Summary
from laya.data import ImageSet, at_hand, offered, open_dataset
from laya.data.zips import ZIP_BYTES, ZIP_FILES, open_zip
from laya.studies import profiles
from laya.ui import cache, picker, theme
from laya.ui.profiles.rows import Report
from laya.ui.queue import SLOW


@dataclass(frozen=True)
class Profile:
    """A report, and the way back to the pictures that it is about.

    Attributes
    ----------
    key : tells this report from any other.
    pictures : opens their data set; None where it is not at hand.
    """

    report: Report
    key: Hashable
    pictures: Callable[[], ImageSet | None]


def choose_profile(summary: Summary) -> Profile | None:
    """The profile of the test set, or of a person's own pictures; None while there is none to show."""
    shipped = checkpoints.read_profiles(summary.folder)
    own = st.segmented_control(
        "Pictures",
        ["Test set", "My pictures"],
        default="Test set",
        required=True,
        key="profile-source",
        label_visibility="collapsed",
    )
    if own == "My pictures":
        return _own_profile(summary)
    if not shipped:
        st.info(
            theme.plain(
                f"There is no profile of {summary.name} yet. Make it with: python -m laya profile --model "
                f"{summary.name} --data DATA --out checkpoints/{summary.name}/{checkpoints.PROFILES}"
            )
        )
        return None
    pictures = partial(at_hand, str(shipped.get("data")), shipped.get("split") or "test")
    return Profile(shipped, ("test set", summary.name, shipped["weights_sha256"]), pictures)


def _own_profile(summary: Summary) -> Profile | None:
    checkpoint = cache.checkpoint(summary)
    folders = offered()
    most = picker.megabytes(ZIP_BYTES)
    upload = st.file_uploader(
        "A zip of pictures, a folder for each class",
        key="profile-zip",
        max_upload_size=most,
        help=f"Up to {most} MB and {ZIP_FILES:,} files. It is read in memory, is never "
        "stored, and goes with your session.",
    )
    folder = None
    if folders:
        folder = st.selectbox("Or a folder on the server", list(folders), index=None, key="profile-folder")
    if upload is not None:
        pictures = partial(open_zip, upload.getvalue(), upload.name)
        key = (hashlib.sha256(upload.getvalue()).hexdigest(), checkpoint.identity)
    elif folder is not None:
        pictures = partial(open_dataset, str(folders[folder]))
        key = (folder, checkpoint.identity)
    else:
        names = ", ".join(checkpoint.classes[:4])
        theme.note(
            html.escape(
                f"The folders must bear the names of the model’s {len(checkpoint.classes)} classes ({names}, …); "
                "classes may be missing."
            )
        )
        return None
    kept = st.session_state.get("kept-profile")
    if kept is None or kept[0] != key:
        data = pictures()
        data.matched_to(checkpoint.classes, partly=True)  # refuses unknown classes before anything is computed
        st.markdown(f"{len(data):,} pictures in {len(data.classes)} folders.")
        for note in data.notes:
            theme.note(html.escape(note))
        if not st.button("Build the profile", icon=":material/play_arrow:", type="primary"):
            return None
        _build(checkpoint, data, key)
        st.rerun()
    report: Report = kept[1]
    if report["skipped"]:
        count, files = report["skipped"], "; ".join(report["unreadable"][:5])
        what = "1 file could not be read and was" if count == 1 else f"{count} files could not be read and were"
        st.warning(theme.plain(f"{what} left out: {files}{' …' if count > 5 else ''}"))
    return Profile(report, key, pictures)


def _build(checkpoint: Checkpoint, data: ImageSet, key: Hashable) -> None:
    bar = st.progress(0.0, "starting")
    st.button("Stop", icon=":material/stop:")  # any click ends the run at the next batch
    begin = time.monotonic()

    def tell(what: str, done: int, total: int) -> None:
        left = (time.monotonic() - begin) * (total - done) / done
        bar.progress(done / total, f"{what}: {done:,} of {total:,}, about {left:.0f} s left")

    def build() -> Report:
        unreadable: list[str] = []
        report = profiles.build(checkpoint, data, kept=False, on_progress=tell, on_skip=unreadable.append)
        return report | {"data": data.name, "unreadable": unreadable}

    cache.keep("profile", key, build, queue=SLOW)
