"""The `hocket` command itself."""

import subprocess
import sys
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_version_help_and_misuse(hocket: Run) -> None:
    """The usual options are there; no command, or a wrong one, is misuse."""
    assert hocket("--version").stdout.startswith("hocket ")
    assert "chat" in hocket("--help").stdout
    assert hocket().returncode == 2
    assert hocket("setup", "nothing").returncode == 2


def test_help_is_quick() -> None:
    """The parser needs neither pydantic nor a provider."""
    code = "import sys; from hocket.cli import _build_parser; _build_parser(); print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
