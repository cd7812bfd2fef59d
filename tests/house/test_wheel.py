"""The wheel is what users install: it has the package and no more, and works where only its own dependencies are.

That environment is made without a network: it links to the installed packages that the wheel asks for, and to theirs.
"""

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Callable
from email.parser import Parser
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.kit.amount import RUNS_ALL
from tests.measures.source import FILES, ROOT, SRC

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

PROGRAM = """
import asyncio
from hocket import init_chat_model

async def main():
    async for chunk in init_chat_model("fake:It works.").astream("Does it?"):
        print(chunk.text, end="")

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build it as a release does."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=150)
    return next(out.glob("*.whl"))


def find_needed(names: list[str]) -> set[str]:
    """Return the packages that these need to be installed, with themselves."""
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in needed:
            needed.add(name)
            wanted = map(Requirement, distribution(name).requires or [])
            waiting += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return needed


@pytest.fixture(scope="module")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command of an environment that has the wheel and its four dependencies.

    At each change it has the sources in the wheel's place, which are compiled already.
    """
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False)
    site = next(home.glob("lib/python*/site-packages"))
    for name in find_needed([Requirement(line).name for line in PROJECT["project"]["dependencies"]]):
        found = distribution(name)
        for entry in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            (site / entry).symlink_to(Path(str(found.locate_file(entry))))
    if RUNS_ALL:
        pip = [sys.executable, "-m", "pip", "--python", str(home), "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=60)
    else:
        (site / "hocket").symlink_to(SRC / "hocket")

    def run(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        environ = {"PATH": os.defpath, "HOME": str(home)}
        whole = [str(home / "bin" / command), *arguments]
        return subprocess.run(whole, env=environ, cwd=home, capture_output=True, text=True, timeout=60, check=False)

    return run


def test_what_the_wheel_holds(wheel: Path) -> None:
    """The package with its types, and the files of its page; no test, no cache, no file of a tool."""
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"hocket"}
    page = {f"hocket/serving/console/static/{name}" for name in ("index.html", "page.css", "page.js")}
    assert {"hocket/py.typed", *page, *(str(path.relative_to(SRC)) for path in FILES)} <= set(names)
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


def test_what_the_wheel_asks_for(wheel: Path) -> None:
    """Four packages; the extras are those for users, and `all` has each of them but Ray and the clouds' libraries."""
    archive = zipfile.ZipFile(wheel)
    metadata = Parser().parsestr(archive.read(next(name for name in archive.namelist() if "METADATA" in name)).decode())
    required = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    assert {one.name for one in required if one.marker is None} == {"pydantic", "httpx", "anyio", "tenacity"}
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(metadata.get_all("Provides-Extra", [])) == set(extras)
    assert not set(extras) & set(PROJECT["dependency-groups"])
    assert Requirement(extras["all"][0]).extras == set(extras) - {"all", "ray", "clouds", "bedrock", "entra", "vertex"}
    assert metadata.get_all("Project-URL") and metadata["Author"]


@pytest.mark.nightly
def test_an_installed_wheel_answers(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """A program, and the command, with nothing but the four dependencies installed."""
    done = run("python", "-c", PROGRAM)
    assert (done.returncode, done.stdout, done.stderr) == (0, "It works.", "")
    done = run("hocket", "chat", "--model", "fake:It works.", "Does it?")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "It works.", "")
    assert run("hocket", "--version").stdout.split() == ["hocket", distribution("hocket").version]
    done = run("hocket", "models")
    assert done.returncode == 0 and "openai" in done.stdout


def test_every_public_module_is_imported(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """A module whose package is missing says so when it is used, not when it is imported."""
    rooms = sorted(path.parent.name for path in (ROOT / "src/hocket").glob("[a-z]*/__init__.py"))
    done = run("python", "-c", f"import importlib\nfor room in {rooms!r}: importlib.import_module('hocket.' + room)")
    assert (done.returncode, done.stderr) == (0, "")
