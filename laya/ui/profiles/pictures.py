"""The pictures that a report names: small ones for a gallery, and any of them as it is stored."""

import io

from PIL import Image

from laya.data import ImageSet
from laya.errors import LayaError
from laya.studies import profiles
from laya.ui import cache, picker
from laya.ui.picker import Choice
from laya.ui.profiles.source import Profile

EDGE = 192  # pixels of a small picture: sharp on a card, and light enough for the label of a button


def thumbnails(profile: Profile, most: int) -> list[str | None] | None:
    """The first ``most`` pictures unlike their class, as data addresses; this session's alone, and gone with it.

    Returns
    -------
    None where the data set is not at hand; None for a picture that is not surely the one that was profiled.
    """

    def build() -> list[str | None] | None:
        data = profile.pictures()
        if data is None:
            return None
        return [None if place is None else _small(data, place) for place in _places(profile, data)[:most]]

    names = tuple(each["image"] for each in profile.report["outliers"]["images"][:most])
    return cache.keep("outliers", (profile.key, names), build)


def original(profile: Profile, number: int) -> Choice:
    """The picture that is ``number``-th among those unlike their class, counted from 0.

    Raises
    ------
    LayaError
        It is no longer there.
    """
    data = profile.pictures()
    place = None if data is None else _places(profile, data)[number]
    if data is None or place is None:
        raise LayaError("The picture is no longer there; load the page again.")
    name, stored = data.sources[place], data.raw(place)
    if isinstance(stored, bytes):
        return Choice(name, stored)
    stream = io.BytesIO()
    Image.fromarray(stored).save(stream, "PNG")
    return Choice(name, stream.getvalue())


def _places(profile: Profile, data: ImageSet) -> list[int | None]:
    try:
        return profiles.places(profile.report, data)
    except LayaError:  # of other classes, so of other pictures
        return [None] * len(profile.report["outliers"]["images"])


def _small(data: ImageSet, place: int) -> str | None:
    try:
        image = data.load(place)
    except LayaError:
        return None
    if factor := EDGE // max(image.size):  # a tiny picture keeps its pixels square
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    return picker.inline(image, EDGE)
