"""Damaged and hostile input: whatever comes in, out comes a usable result or one sentence, soon and in little memory.

By default a short run that is always the same. ``LAYA_FUZZ=100000 pytest tests/test_fuzz.py -s`` tries about so many
inputs in all, other ones every time, and prints what came of them.
"""

import hashlib
import io
import json
import os
import re
import resource
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from PIL import Image, features
from streamlit.testing.v1 import AppTest

from laya import checkpoints, cli
from laya.checkpoints import CONFIG, METRICS, WEIGHTS
from laya.data import batches
from laya.data.zips import open_zip
from laya.errors import LayaError
from laya.explanation import explain
from laya.files import write_json
from laya.inputs import images
from tests.conftest import CLASSES, PREPROCESSING, PROJECT, encode, make_model, only_checkpoints, pack

LONG = int(os.environ.get("LAYA_FUZZ", "0"))
SECONDS = 5.0  # of the processor, for one input; none takes 2 where nothing else runs
MEMORY = 16 * images.MAX_PIXELS  # bytes that a picture may add to the process; the largest takes as many
LINE = 2000  # most signs of a message

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # Pillow warns about odd metadata and reads on; Streamlit misses its server
    pytest.mark.timeout(0 if LONG else 300),
]


def fuzz(examples: int, share: float) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """So many examples by default, and that share of a long run."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        quiet = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)
        limited = settings(
            max_examples=round(LONG * share) if LONG else examples,
            derandomize=not LONG,
            database=None,
            deadline=None,
            suppress_health_check=(*quiet, HealthCheck.filter_too_much, HealthCheck.large_base_example),
        )(test)
        return seed(time.time_ns())(limited) if LONG else limited

    return decorate


# --- what is watched while a call runs --------------------------------------------------------------------------------


class Watch:
    """Holds every call against the promise, and counts."""

    def __init__(self) -> None:
        self.home: Path | None = None
        self.strays: list[str] = []
        self.counts: dict[str, list[float]] = {}

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        """An audit hook: what is written, made, moved or deleted outside the test's own folder."""
        if self.home is None:
            return
        if event == "open" and isinstance(args[0], (str, bytes)) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            paths = [args[0]]
        elif event in ("os.mkdir", "os.remove", "os.rename", "os.symlink", "os.link", "os.rmdir", "os.truncate"):
            paths = [path for path in args[:2] if isinstance(path, (str, bytes))]
        else:
            return
        for path in map(os.fsdecode, paths):
            if not os.path.abspath(path).startswith((f"{self.home}{os.sep}", os.devnull)):  # noqa: PTH100
                self.strays.append(f"{event} {path}")

    def __call__(self, target: str, home: Path, call: Callable[[], Any]) -> Any:
        """What the call gives, or None where it refuses with a sentence."""
        count = self.counts.setdefault(target, [0, 0, 0.0])
        self.home, self.strays, result = home, [], None
        begin = time.process_time()
        try:
            result = call()
            count[1] += 1
        except LayaError as error:
            check_sentence(str(error), home)
        finally:
            self.home = None
            spent = time.process_time() - begin
            count[0] += 1
            count[2] = max(count[2], spent)
        assert spent < SECONDS, f"{spent:.1f} s"
        assert self.strays == []
        return result


def check_sentence(text: str, home: Path) -> None:
    assert re.search(r"[.?!]$", text), text
    assert "\n" not in text
    assert len(text) < LINE, text[:200]
    assert "Traceback" not in text
    assert str(home) not in text
    assert str(PROJECT) not in text


watch = Watch()
sys.addaudithook(watch.hook)


@pytest.fixture(scope="module", autouse=True)
def counted() -> Iterator[None]:
    yield
    if LONG:
        for target, (inputs, used, longest) in watch.counts.items():
            print(f"\n{target}: {inputs:.0f} inputs, {used:.0f} usable, longest {longest:.2f} s", end="")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


# --- damage -----------------------------------------------------------------------------------------------------------

ODD = [0, 1, 2, 3, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF]


@st.composite
def damaged(draw: st.DrawFn, originals: list[bytes]) -> bytes:
    """A real file after one to four accidents."""
    data = draw(st.sampled_from(originals))
    for _ in range(draw(st.integers(1, 4))):
        if not data:
            break
        place = draw(st.one_of(st.integers(0, min(96, len(data) - 1)), st.integers(0, len(data) - 1)))
        until = min(len(data), place + draw(st.integers(1, 64)))
        accident = draw(
            st.sampled_from(["bytes", "bytes", "field", "field", "cut", "drop", "insert", "repeat", "splice"])
        )
        if accident == "bytes":
            data = data[:place] + draw(st.binary(min_size=1, max_size=4)) + data[until:][: len(data)]
        elif accident == "field":
            size, order = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from(["little", "big"]))
            number = draw(st.sampled_from(ODD)) % 256**size
            data = data[:place] + number.to_bytes(size, order) + data[place + size :]
        elif accident == "cut":
            data = data[:place]
        elif accident == "drop":
            data = data[:place] + data[until:]
        elif accident == "insert":
            data = data[:place] + draw(st.binary(min_size=1, max_size=16)) + data[place:]
        elif accident == "repeat":
            data = data[:until] + data[place:until] * draw(st.integers(1, 8)) + data[until:]
        else:
            other = draw(st.sampled_from(originals))
            data = data[:place] + other[min(place, len(other)) :]
    return data


def mended(data: bytes) -> bytes:
    """A PNG with the check sums of its chunks made right, so that damage is not found by them alone."""
    if not data.startswith(b"\x89PNG\r\n\x1a\n"):
        return data
    parts, rest = [data[:8]], data[8:]
    while len(rest) >= 12:
        length = int.from_bytes(rest[:4], "big")
        if length > len(rest) - 12:
            break
        parts += [rest[: 8 + length], zlib.crc32(rest[4 : 8 + length]).to_bytes(4, "big")]
        rest = rest[12 + length :]
    return b"".join([*parts, rest])


ODD_VALUES = st.one_of(
    st.sampled_from(
        [
            *(None, True, False, 0, -1, 1, 2, 3, 8, 0.5, 65536, 65537, 2**31, 2**63, 10**400, 1e300, 1e-300, 1e38),
            *(float("inf"), float("-inf"), float("nan"), "", "x", "\ud800", "\n", "../x", "x" * 5000, "bicubic", "mlp"),
            *("timm", "torchvision", "timm:resnet18", "laya", "concat", "resnet18", "garment"),
            *([], {}, [[]], {"a": {}}, [8, 8], [1024, 1024], [0.5] * 3, ["x", ["y"]], ["a", "b"], [65536] * 8),
        ]
    ),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
        max_leaves=6,
    ),
    st.integers(1, 200).map(lambda depth: _nest(depth)),
)


def _nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@st.composite
def changed(draw: st.DrawFn, originals: list[Any]) -> str:
    """A JSON text after one to three of its values were changed, taken out or put in."""
    value = json.loads(json.dumps(draw(st.sampled_from(originals))))
    for _ in range(draw(st.integers(1, 3))):
        spot, key = value, None
        while isinstance(spot, (dict, list)) and spot and (key is None or draw(st.booleans())):
            keys = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
            parent, key = spot, draw(st.sampled_from(keys))
            spot = parent[key]
        if key is None:
            value = deepcopy(draw(ODD_VALUES))
        elif draw(st.integers(0, 9)) == 0:
            del parent[key]
        elif draw(st.integers(0, 9)) == 0 and isinstance(parent, dict):
            names = [
                "weights",
                "model",
                "pretrained",
                "layers",
                "dropout",
                "scaled",
                "self",
                "units",
                "stages",
                "",
                "x",
            ]
            parent[draw(st.sampled_from(names))] = deepcopy(draw(ODD_VALUES))  # what is drawn stays as it is
        else:
            parent[key] = deepcopy(draw(ODD_VALUES))  # what is drawn stays as it is
        if not isinstance(value, (dict, list)):
            break
    text = json.dumps(value)
    return text.replace("Infinity", "1e999") if draw(st.booleans()) else text


# --- pictures ---------------------------------------------------------------------------------------------------------


def picture(mode: str = "RGB", size: tuple[int, int] = (16, 12)) -> Image.Image:
    """Always the same noise."""
    count = len(Image.new(mode, (1, 1)).getbands()) * size[0] * size[1]
    raw = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(256)) * 2
    return Image.frombytes(mode, size, raw[:count])


def pictures() -> list[bytes]:
    """A file of every accepted format and of the ways in which each can hold a picture."""
    frames = [picture(size=(16, 12)).rotate(angle) for angle in (0, 90, 180)]
    several: dict[str, Any] = {"save_all": True, "append_images": frames[1:]}
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "maker"
    palette = picture("L").convert("P")
    files = [
        encode(frames[0], "JPEG", quality=90),
        encode(frames[0], "JPEG", exif=exif, progressive=True, icc_profile=bytes(200), dpi=(72, 72), comment=b"x"),
        encode(picture("L"), "JPEG"),
        encode(picture("CMYK"), "JPEG"),
        encode(frames[0], "MPO", **several),
        encode(frames[0], "PNG", exif=exif, icc_profile=bytes(200), dpi=(72, 72)),
        encode(palette, "PNG", transparency=bytes([0, 255, 128])),
        encode(picture("L"), "PNG", transparency=7),
        encode(picture("RGBA"), "PNG"),
        encode(picture("LA"), "PNG"),
        encode(picture("1", (16, 1)).resize((16, 12)), "PNG"),
        encode(Image.frombytes("I;16", (8, 6), picture("L", (16, 6)).tobytes()), "PNG"),
        encode(frames[0], "PNG", **several, duration=50, disposal=2),
        encode(palette, "GIF", transparency=3),
        encode(frames[0], "GIF", **several, duration=50, disposal=2, comment=b"x" * 20),
        encode(picture("L"), "GIF", interlace=1),
        encode(frames[0], "WEBP", exif=exif),
        encode(picture("RGBA"), "WEBP", lossless=True, icc_profile=bytes(200)),
        encode(frames[0], "WEBP", **several, duration=50),
        encode(frames[0], "BMP"),
        encode(palette, "BMP"),
        encode(picture("1", (16, 1)).resize((16, 12)), "BMP"),
    ]
    if features.check("avif"):
        files += [encode(frames[0], "AVIF", exif=exif), encode(picture("RGBA"), "AVIF")]
    return files


PICTURES = pictures()


def resident() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def read_picture(data: bytes, home: Path) -> None:
    for each in {data, mended(data), data[: len(data) // 2]}:
        read_one(each, home)


def read_one(data: bytes, home: Path) -> None:
    before = resident()
    found = watch("pictures", home, lambda: images.read(data))
    assert resident() - before < MEMORY
    if found is not None:
        assert found.image.mode == "RGB"
        assert min(found.image.size) >= 1
        assert max(found.image.size) <= images.LONGEST


def test_the_originals_are_good(home):
    for data in PICTURES:
        assert images.read(data).image.size in ((16, 12), (12, 16), (8, 6))


@fuzz(300, 0.3)
@given(data=damaged(PICTURES))
def test_a_damaged_picture_is_read_or_refused(data, home):
    read_picture(data, home)


@fuzz(50, 0.05)
@given(data=st.tuples(st.sampled_from([data[:16] for data in PICTURES]), st.binary(max_size=200)).map(b"".join))
def test_what_only_begins_like_a_picture_is_refused(data, home):
    read_picture(data, home)


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folders(home: Path) -> list[Path]:
    """Good checkpoints to be damaged: one of each kind of head and of small backbone."""
    from laya.backbones import CNN
    from laya.heads import build_head
    from laya.inputs.preprocessing import Preprocessing
    from laya.model import LayaClassifier

    torch.manual_seed(0)
    backbone = CNN(stages=(4, 5))
    models = {
        "laya": (make_model("laya"), PREPROCESSING),
        "concat": (make_model("concat"), PREPROCESSING),
        "cnn": (
            LayaClassifier(backbone, build_head("laya", backbone.widths, 3, {"dim": 4, "scaled": True})),
            Preprocessing((16, 16), 3, (0.5,) * 3, (0.5,) * 3, "bicubic"),
        ),
    }
    for name, (model, preprocessing) in models.items():
        checkpoints.save(home / name, model, CLASSES, preprocessing, title=name, training={"data": "none"})
        digest = checkpoints.read_config(home / name)["weights_sha256"]
        write_json(home / name / METRICS, {"accuracy": 0.5, "weights_sha256": digest})
    import timm  # noqa: F401  # the first import takes longer than a call may

    assert checkpoints.load(str(home / "laya"), torch.device("cpu")).name == "laya"
    return [home / name for name in models]


def use(folder: Path) -> Any:
    """List it, load it, and explain a picture with it."""
    entry = checkpoints.summary(folder)
    if entry.problem is not None:
        check_sentence(entry.problem, folder.parent)
    loaded = checkpoints.load(str(folder), torch.device("cpu"))
    return explain(loaded, PICTURES[0]).to_json()


def put(folder: Path, weights: bytes, config: str, metrics: str = "{}") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / WEIGHTS).write_bytes(weights)
    (folder / CONFIG).write_text(config)
    (folder / METRICS).write_text(metrics)
    return folder


@fuzz(100, 0.04)
@given(data=st.data())
def test_damaged_weights_are_loaded_or_refused(data, home, folders):
    good = data.draw(st.sampled_from(folders))
    weights = data.draw(damaged([(good / WEIGHTS).read_bytes()]))
    config = json.loads((good / CONFIG).read_text()) | {"weights_sha256": hashlib.sha256(weights).hexdigest()}
    folder = put(home / "damaged", weights, json.dumps(config))
    watch("weights", home, lambda: use(folder))


@fuzz(100, 0.02)
@given(data=st.data())
def test_a_changed_header_of_the_weights_is_loaded_or_refused(data, home, folders):
    stored = (data.draw(st.sampled_from(folders)) / WEIGHTS).read_bytes()
    length = int.from_bytes(stored[:8], "little")
    header = data.draw(changed([json.loads(stored[8 : 8 + length])])).encode()
    weights = len(header).to_bytes(8, "little") + header + stored[8 + length :]
    config = json.loads((folders[0] / CONFIG).read_text()) | {"weights_sha256": hashlib.sha256(weights).hexdigest()}
    folder = put(home / "header", weights, json.dumps(config))
    watch("weights", home, lambda: use(folder))


@fuzz(150, 0.02)
@given(data=st.data())
def test_a_changed_config_is_used_or_refused(data, home, folders):
    good = data.draw(st.sampled_from(folders))
    config = data.draw(changed([json.loads((good / CONFIG).read_text())]))
    metrics = data.draw(st.one_of(st.just("{}"), changed([json.loads((good / METRICS).read_text())])))
    folder = put(home / "changed", (good / WEIGHTS).read_bytes(), config, metrics)
    watch("config", home, lambda: use(folder))


@fuzz(50, 0.01)
@given(data=st.data())
def test_a_config_of_damaged_bytes_is_used_or_refused(data, home, folders):
    good = data.draw(st.sampled_from(folders))
    folder = put(home / "bytes", (good / WEIGHTS).read_bytes(), "")
    (folder / CONFIG).write_bytes(data.draw(damaged([(good / CONFIG).read_bytes()])))
    watch("config", home, lambda: use(folder))


# --- archives ---------------------------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.sampled_from([WEIGHTS, CONFIG, METRICS, f"m/{WEIGHTS}", f"m/{CONFIG}", f"../{CONFIG}", f"/{CONFIG}", "a/x.png"]),
    st.sampled_from(["../../x", "/etc/x/y.png", "C:\\x\\y", "a/../../b/x.png", "/y.png", "//x.png", "a\\x.png", "."]),
    st.text(max_size=12),
)
METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@st.composite
def archives(draw: st.DrawFn, files: list[dict[str, bytes]]) -> bytes:
    """A zip with foreign names, links, bombs and files of one name among its files, and perhaps damaged."""
    content = list(draw(st.sampled_from(files)).items())
    bodies = [*(body for _, body in content), b"", bytes(10**6), pack({CONFIG: b"{}"}), b"../../x"]
    for _ in range(draw(st.integers(0, 3))):
        content.append((draw(NAMES), draw(st.sampled_from(bodies))))
    stream, method = io.BytesIO(), draw(st.sampled_from(METHODS))
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings(action="ignore"):
        for name, body in draw(st.permutations(content)):
            entry = zipfile.ZipInfo(name)
            entry.compress_type = method
            if draw(st.integers(0, 9)) == 0:
                entry.external_attr = 0o120777 << 16  # a symbolic link
            archive.writestr(entry, body)
    data = stream.getvalue()
    if not draw(st.booleans()):
        return data
    # Damage where it is read first: the directory at the end.
    middle = max(0, data.rfind(b"PK\1\2") - draw(st.sampled_from([0, 64, 4096])))
    return data[:middle] + draw(damaged([data[middle:]])) if draw(st.booleans()) else draw(damaged([data]))


@fuzz(40, 0.005)
@given(data=st.data())
def test_an_archive_becomes_a_checkpoint_or_is_refused(data, home, folders):
    files = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders]
    archive, name = data.draw(archives(files)), data.draw(st.one_of(st.just("model.zip"), st.text(max_size=12)))
    place = home / "place"
    folder = watch("archives", home, lambda: checkpoints.unpack(archive, name, place))
    if folder is not None:
        assert folder.parent == place
    for file in place.rglob("*"):
        assert file.is_dir() or file.name in (WEIGHTS, CONFIG, METRICS, checkpoints.CARD)
        assert not file.is_symlink()
    for each in sorted(place.rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() else each.unlink()


@fuzz(100, 0.05)
@given(archive=archives([{f"{name}/{i}.png": data for i, data in enumerate(PICTURES[:3])} for name in CLASSES]))
def test_an_archive_becomes_a_data_set_or_is_refused(archive, home):
    def read_all() -> Any:
        data = open_zip(archive, "pictures.zip")
        skipped: list[str] = []
        total = sum(len(indices) for indices, _ in batches(data, PREPROCESSING, 8, skipped.append))
        assert total + len(skipped) == len(data)
        return data

    data = watch("archives", home, read_all)
    if data is not None:
        assert all(data.classes)
        assert set(data.labels) <= set(range(len(data.classes)))
        assert not any(part in ("", "..", "/") for source in data.sources for part in source.split("/"))


# --- addresses and the command line -----------------------------------------------------------------------------------

WORDS = ("model", "sample", "target", "removed", "tau", "steps", "methods", "against", "change", "other", "view")
LIKELY = ["fashion-mnist-mlp", "Coat", "Shirt", "renormalise", "1.5", "nan", "-1", "alpha,x", "Methods", "Models", ""]
PAGES = ["pages/inspect.py", "pages/compare.py", "pages/profiles.py", "pages/evidence.py", "pages/models.py"]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def test_every_word_of_an_address_is_tried():
    sources = [*(PROJECT / "laya" / "ui").rglob("*.py"), *(PROJECT / "pages").glob("*.py")]
    read = {word for file in sources for word in re.findall(r'address\.initial\("(\w+)"\)', file.read_text())}
    assert read == set(WORDS)


@fuzz(6, 0.0005)
@given(
    query=st.dictionaries(
        st.one_of(st.sampled_from(WORDS), TEXT), st.one_of(st.sampled_from(LIKELY), TEXT), min_size=1, max_size=6
    ),
    sample=st.booleans(),
    page=st.sampled_from(PAGES),
)
def test_any_address_opens_a_page(query, sample, page):
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    for word, value in query.items():
        app.query_params[word] = value
    if sample:
        app.query_params["model"], app.query_params["sample"] = "fashion-mnist-mlp", "Coat"
    app.switch_page(page)
    app.run()
    count = watch.counts.setdefault("addresses", [0, 0, 0.0])
    count[0] += 1
    assert not app.exception
    count[1] += 1


ARGUMENTS = st.one_of(
    st.sampled_from(["list", "explain", "evaluate", "check", "profile", "verify", "evidence", "train"]),
    st.sampled_from(["--model", "--data", "--json", "--out", "--tau", "--removed", "--steps", "--target", "--limit"]),
    st.sampled_from(["--seed", "--row", "--config", "--epochs", "--head", "--backbone", "--no-recipe", "--help", "--"]),
    st.sampled_from(["small", "picture.png", "none.png", "out.json", "out.html", "nan", "inf", "0", "-1", "1e308"]),
    st.sampled_from(["9" * 40, "x" * 5000, "\udcff", "zero-state", "red", "damaged.toml", "damaged.parquet", "."]),
    st.text(st.characters(exclude_characters="\0/"), max_size=12).filter(lambda text: not text.startswith(".")),
)


@pytest.fixture
def desk(home: Path, folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a checkpoint, a picture and files that are damaged."""
    place = home / "desk"
    if not place.exists():
        place.mkdir()
        (place / "picture.png").write_bytes(PICTURES[5])
        (place / "damaged.toml").write_text(f"data = {'[' * 5000}")
        (place / "damaged.parquet").write_bytes(b"PAR1 and no more")
        checkpoints.save(home / "roots" / "small", make_model(), CLASSES, PREPROCESSING, title="Small", training={})
        import laya.plots
        import laya.recipe  # noqa: F401  # the first imports take longer than a call may
    monkeypatch.chdir(place)
    only_checkpoints(monkeypatch, home / "roots")
    monkeypatch.setenv("LAYA_DATA", str(place))
    monkeypatch.setenv("LAYA_CACHE", str(place / "cache"))
    return place


@fuzz(60, 0.005)
@given(arguments=st.lists(ARGUMENTS, max_size=7), model=st.booleans())
def test_any_command_line_works_or_is_one_line(arguments, model, desk, home, monkeypatch, capsys):
    if model:
        arguments = ["explain", "picture.png", "--model", "small", *arguments]
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["laya", *arguments])

    def run() -> Any:
        try:
            cli.main()
        except SystemExit as end:
            return end.code
        return 0

    status = watch("command lines", home, run)
    out, err = capsys.readouterr()
    assert status in (0, 2)
    assert str(home) not in err
    assert "Traceback" not in err + out
    if status == 2:
        line = err.splitlines()[-1]
        assert line.startswith("laya: ")
        assert len(err.splitlines()) == 1 or all("of" in each or "skipped" in each for each in err.splitlines()[:-1])
