"""Files of JSON or YAML that a prompt is kept in, in LangChain's form."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hocket._yaml import load_package, read_yaml
from hocket.errors import InvalidInput

__all__ = ["read_file", "write_file"]

_NEED = "a prompt in a file of YAML, and not of JSON,"


def read_file(path: Path, encoding: str | None = None) -> Any:
    """Return what a file holds.

    Raises:
        InvalidInput: it is neither JSON nor YAML, by its suffix or by what is in it.
        MissingDependency: it is YAML, and PyYAML is not installed.
        OSError: it cannot be read.
    """
    text = path.read_text(encoding=encoding or "utf-8")
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{path} is no JSON: {error}") from error
    if path.suffix in (".yaml", ".yml"):
        try:
            return read_yaml(text, _NEED)
        except InvalidInput as error:
            raise InvalidInput(f"{path} is no YAML: {error}") from error
    raise _refuse_suffix(path)


def write_file(path: Path, config: Mapping[str, object]) -> None:
    """Write a file, and the directories above it. Raises as `read_file`."""
    if path.suffix == ".json":
        text = json.dumps(config, indent=4, ensure_ascii=False)
    elif path.suffix in (".yaml", ".yml"):
        text = load_package(_NEED).safe_dump(config, default_flow_style=False, allow_unicode=True, sort_keys=False)
    else:
        raise _refuse_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _refuse_suffix(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} is no file of prompts: its suffix is .json, .yaml or .yml")
