"""The project's own rules: one version, one list of dependencies, nothing unpickled, one set of limits."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version

import laya
from laya.images import MAX_BYTES
from tests.conftest import PROJECT

SOURCES = [*(PROJECT / "laya").rglob("*.py"), *(PROJECT / "pages").glob("*.py"), PROJECT / "app.py"]


def test_there_is_one_version():
    assert version("laya") == laya.__version__
    assert "version" in tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_every_import_is_a_declared_dependency():
    lines = (PROJECT / "requirements.txt").read_text().splitlines()
    declared = {re.split(r"[<>=]", line)[0].lower() for line in lines if line and not line.startswith("#")}
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


def test_nothing_is_ever_unpickled():
    for file in SOURCES:
        assert not re.search(r"torch\.load\(|import pickle|joblib|weights_only", file.read_text()), file.name


def test_the_upload_limit_is_stated_once_in_effect():
    config = tomllib.loads((PROJECT / ".streamlit" / "config.toml").read_text())
    assert config["server"]["maxUploadSize"] * 2**20 == MAX_BYTES
    assert config["browser"]["gatherUsageStats"] is False
    assert config["client"]["showErrorDetails"] == "none"
    assert config["server"].get("enableXsrfProtection", True) is True


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
    for document in (PROJECT / "README.md", *(PROJECT / "checkpoints").rglob("*.md"), *(PROJECT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"
