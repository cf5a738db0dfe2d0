"""The project's own rules: one version, one list of dependencies, nothing unpickled, one set of limits."""

import ast
import html
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version

import pytest
from streamlit.testing.v1 import AppTest

import laya
from laya import checkpoints
from laya.checkpoints import ARCHIVE_BYTES
from laya.data.zips import ZIP_BYTES
from laya.inputs.images import MAX_BYTES
from tests.conftest import PREPROCESSING, PROJECT, encode, make_model, only_checkpoints

SOURCES = [*(PROJECT / "laya").rglob("*.py"), *(PROJECT / "pages").glob("*.py"), PROJECT / "app.py"]


def test_there_is_one_version():
    assert version("laya") == laya.__version__
    assert "version" in tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_every_import_is_a_declared_dependency():
    lines = [line.partition("#")[0].strip() for line in (PROJECT / "requirements.txt").read_text().splitlines()]
    declared = {re.split(r"[<>=]", line)[0].lower() for line in lines if line}
    distribution = {"PIL": "pillow", "sklearn": "scikit-learn"}
    imported = set()
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.split(".")[0])
    third_party = {distribution.get(name, name) for name in imported - sys.stdlib_module_names - {"laya"}}
    assert third_party == declared
    assert next(line for line in lines if line.startswith("torch>=")) >= "torch>=2.6"  # safe loading, CASES H16


FORBIDDEN_MODULES = {"cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve", "subprocess", "yaml"}
FORBIDDEN_CALLS = {
    *(
        "__import__",
        "compile",
        "eval",
        "exec",
        "os.popen",
        "os.system",
        "torch.hub.load",
        "torch.jit.load",
        "torch.load",
    ),
    *("st.components.v1.html", "components.html", "st.iframe", "webbrowser.open"),
}
FORBIDDEN_OPTIONS = {"allow_pickle", "shell", "unsafe_allow_html", "unsafe_allow_javascript", "weights_only"}


def forbidden(source: str) -> list[str]:
    """What a program does that can run foreign code or show foreign markup."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}"] if (node.module or "").split(".")[0] in FORBIDDEN_MODULES else []
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            options = {word.arg for word in node.keywords if ast.unparse(word.value) != "False"}
            found += sorted(options & FORBIDDEN_OPTIONS)
            found += [name] if name in FORBIDDEN_CALLS else []
            if name in ("np.load", "numpy.load") and "allow_pickle=False" not in ast.unparse(node):
                found.append(name)
    return found


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PROJECT)))
def test_nothing_is_unpickled_executed_or_shown_raw(file):
    assert forbidden(file.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        *(
            "import pickle",
            "from pickle import loads",
            "import os.path, yaml",
            "torch.load(f)",
            "np.load(f)",
            "eval(x)",
        ),
        *(
            "np.load(f, allow_pickle=True)",
            "os.system(x)",
            "st.markdown(x, unsafe_allow_html=True)",
            "import subprocess",
        ),
    ],
)
def test_the_guard_sees_what_is_forbidden(source):
    assert len(forbidden(source)) >= 1


def test_html_is_made_in_few_places():
    """Where ``st.html`` is called, somebody has to think of escaping; elsewhere the helpers of theme do."""
    calling = {file.name for file in SOURCES if re.search(r"\bst\.html\(", file.read_text())}
    assert calling == {"evidence.py", "theme.py"}


MARKUP = "<img src=x onerror=alert(1)>"


@pytest.mark.filterwarnings("ignore")  # Streamlit warns about running outside its server
@pytest.mark.parametrize("page", ["inspect", "compare", "profiles", "evidence", "models"])
def test_markup_in_a_checkpoint_is_shown_as_text(page, tmp_path, monkeypatch, noise):
    """Names of classes, of the model and of the image come from others; none of them is ever HTML."""
    classes = tuple(f"{MARKUP}{i}" for i in range(3))
    checkpoints.save(tmp_path / "small", make_model(), classes, PREPROCESSING, title=MARKUP, training={"data": MARKUP})
    only_checkpoints(monkeypatch, tmp_path)
    app = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60).run()
    app.file_uploader(key="upload").upload(f"{MARKUP}.png", encode(noise())).run()
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    blocks = [block.proto.body for block in app.get("html")]
    assert [block for block in blocks if "<img" in block] == []
    if page in ("inspect", "compare"):
        assert html.escape(MARKUP) in " ".join(blocks)


def test_the_limits_and_the_protection_are_on():
    config = tomllib.loads((PROJECT / ".streamlit" / "config.toml").read_text())
    assert config["server"]["maxUploadSize"] * 2**20 == max(MAX_BYTES, ZIP_BYTES, ARCHIVE_BYTES)
    assert config["server"]["enableXsrfProtection"] is True
    assert config["server"]["enableCORS"] is True
    assert config["server"]["enableStaticServing"] is False
    assert config["browser"]["gatherUsageStats"] is False
    assert config["client"]["showErrorDetails"] == "none"


def test_the_security_page_states_the_limits():
    text = (PROJECT / "SECURITY.md").read_text()
    for most in (MAX_BYTES, ZIP_BYTES, ARCHIVE_BYTES):
        assert f"{most >> 20} MB" in text


def test_the_whole_way_needs_no_network():
    """In a process of its own, so that imports are included, with every outside address refused."""
    sample = PROJECT / "checkpoints" / "fashion-mnist-mlp" / "samples" / "05_coat.png"
    command = ["tests.unplugged", "laya", "explain", str(sample), "--model", "fashion-mnist-mlp", "--json"]
    done = subprocess.run([sys.executable, "-m", *command], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert '"target": "Coat"' in done.stdout


def test_the_network_guard_works():
    code = "from tests.unplugged import unplug; unplug(); import urllib.request as u; u.urlopen('http://example.com')"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True)
    assert "UNPLUGGED: something tried to reach example.com" in done.stderr


def test_every_link_of_the_documents_leads_somewhere():
    for document in (
        PROJECT / "README.md",
        PROJECT / "SECURITY.md",
        *(PROJECT / "checkpoints").rglob("*.md"),
        *(PROJECT / "docs").glob("*.md"),
    ):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.slow
def test_no_installed_package_has_a_known_fault():
    """An advisory without a fix goes to ``accepted``, with the reason."""
    accepted: dict[str, str] = {}
    command = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner=off", "--timeout=10"]
    found = subprocess.run([*command, "--format=json"], capture_output=True, text=True, timeout=600, cwd=PROJECT)
    packages = json.loads(found.stdout)["dependencies"] if found.stdout else []
    if not any("vulns" in package for package in packages):
        pytest.skip("no advisory service answers here: " + (found.stderr.strip().splitlines() or ["?"])[-1])
    faults = {fault["id"]: package["name"] for package in packages for fault in package.get("vulns", [])}
    assert {name: where for name, where in faults.items() if name not in accepted} == {}
