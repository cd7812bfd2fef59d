"""What a LiteLLM proxy's file says: its YAML, the variables that it reads, and what of it is not done here.

A file may come from somebody else: its size has a limit. It may hold keys: no message repeats a line of it.
"""

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from hocket._secrets import is_sensitive, redact
from hocket._yaml import read_yaml
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name

__all__ = ["LiteLLMNotes", "read_list", "read_litellm_file", "read_mapping", "read_number"]

LARGEST_FILE = 1_000_000
"""Bytes of a file."""

_VARIABLE = "os.environ/"

_ALIKE = 0.9  # less, and what LiteLLM knows and we do not would pass for a slip

_CACHE = "`hocket serve --cache CACHE`, or `hocket.set_llm_cache(...)` in a program"

_INSTEAD = {
    "general_settings.master_key": "clients' keys are given with `hocket serve --key-file FILE`, or `openai_app(keys=...)`",
    **{
        f"{section}_settings.{kind}_fallbacks": "write them under fallbacks, which are asked after these errors, too"
        for section in ("litellm", "router")
        for kind in ("context_window", "content_policy")
    },
    **dict.fromkeys(("litellm_settings.cache", "router_settings.cache_responses"), _CACHE),
    "environment_variables": "set them where the process is started",
}


def read_litellm_file(path: str | Path) -> dict[str, object]:
    """Return what a file says, with its variables as they are named.

    Raises:
        InvalidInput: it cannot be read, is too large, is no plain YAML, has a key twice in one place, or is no mapping.
        MissingDependency: PyYAML is not installed.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise InvalidInput(f"it is larger than {LARGEST_FILE:,} bytes")
        return read_mapping(read_yaml(data.decode("utf-8-sig"), "a LiteLLM file"), "what it holds")
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is no text of plain YAML"
    except InvalidInput as error:
        reason = str(error)
    raise InvalidInput(f"{path}: {reason}")


def read_mapping(value: object, place: str) -> dict[str, Any]:
    """Return a copy of a mapping, with texts as its keys; of None an empty one.

    Raises:
        InvalidInput: it is no mapping.
    """
    if value is not None and not isinstance(value, Mapping):
        raise InvalidInput(f"{place} is {type(value).__name__}; it is a mapping")
    return {str(key): one for key, one in cast("Mapping[object, Any]", value or {}).items()}


def read_list(value: object, place: str) -> list[object]:
    """Return a list.

    Raises:
        InvalidInput: it is none.
    """
    if not isinstance(value, list):
        raise InvalidInput(f"{place} is {type(value).__name__}; it is a list")
    return [*cast("list[object]", value)]


def read_number(value: object, place: str, least: float = math.ulp(0.0)) -> float | None:
    """Return a number, which may be written as a text; None: there is none.

    Raises:
        InvalidInput: it is no number, or is less than ``least``. What it is may be secret, and is not said.
    """
    if value is None or value == "":
        return None
    try:
        number = math.nan if isinstance(value, bool) else float(cast(str, value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not least <= number < math.inf:
        raise InvalidInput(f"{place} is no number {'above 0' if least else 'of 0 or more'}")
    return number


class LiteLLMNotes:
    """What was found on the way through a file.

    Attributes:
        unsupported: what is set and not done here, each with its place.
    """

    def __init__(self) -> None:
        self.unsupported: list[str] = []
        self._missing: dict[str, None] = {}
        self._secrets: list[str] = []

    def fill(self, value: object, name: str = "") -> Any:
        """Return a value with variables of the environment in their places. What is secret in it is remembered."""
        if isinstance(value, Mapping):
            return {key: self.fill(one, str(key)) for key, one in cast("Mapping[object, object]", value).items()}
        if isinstance(value, list):
            return [self.fill(one, name) for one in cast("list[object]", value)]
        if not isinstance(value, str):
            return value
        variable = value.removeprefix(_VARIABLE)
        found = value if variable == value else os.environ.get(variable, "")
        if not found and variable != value:
            self._missing[variable] = None
        if variable != value or is_sensitive(name):
            self._secrets.append(found)
        return found

    def check_missing(self) -> None:
        """Refuse variables that are not there, or empty.

        Raises:
            InvalidInput: some are, by their names.
        """
        if self._missing:
            raise InvalidInput(f"the LiteLLM file reads variables that are not set: {', '.join(self._missing)}")

    def refuse(self, place: str, reason: str = "") -> None:
        """Note that what is set at a place is not done here."""
        reason = reason or _INSTEAD.get(place, "")
        self.unsupported.append(redact(f"{place} ({reason})" if reason else place, self._secrets))

    def refuse_all(self, place: str, rest: Mapping[str, object], known: Iterable[str] = ()) -> None:
        """Note what is set in a mapping of which the rest is understood, and what of ``known`` it may have meant."""
        for key, value in rest.items():
            if value not in (None, False, "", [], {}):
                near = None if key in known else near_name(key, known, _ALIKE)
                self.refuse(f"{place}{key}", f"did you mean {near!r}?" if near else "")
