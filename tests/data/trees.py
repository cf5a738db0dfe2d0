"""Data sets for tests: grey pictures, no two alike, in folders and archives."""

from pathlib import Path

from PIL import Image

from tests.conftest import encode, pack


def picture(value: int) -> bytes:
    """A picture whose pixels are all ``value``."""
    return encode(Image.new("L", (9, 9), value % 256))


def plant(root: Path, *names: str) -> Path:
    """A folder with a picture of each name; the n-th is n grey, and those whose ending is none hold words."""
    for value, name in enumerate(names):
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture(value) if file.suffix == ".png" else b"words")
    return root


def packed(*names: str) -> bytes:
    """A zip archive with the same files."""
    return pack({name: picture(value) if name.endswith(".png") else b"words" for value, name in enumerate(names)})


def values(data) -> list[int]:
    """What is seen of every picture, in order."""
    return [data.load(index).getpixel((0, 0))[0] for index in range(len(data))]


def names(data) -> list[str]:
    """The class name of every picture, in order."""
    return [data.classes[label] for label in data.labels]
