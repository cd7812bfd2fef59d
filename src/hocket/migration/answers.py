"""Names of LangChain's that have no place in hocket: why, and the way out. They stand in ``answers.toml``."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

__all__ = ["OTHER_MEANINGS", "Absence", "read_answers"]

OTHER_MEANINGS: frozenset[str] = frozenset({"langchain_core.exceptions.ErrorCode"})
"""Names that hocket's room offers for something else."""


@dataclass(frozen=True)
class Absence:
    """Why a name has no place.

    Args:
        reason: why, as the beginning of a sentence.
        way_out: what to write or do instead.
        is_bridged: whether it works as LangChain's own through `hocket.interop.langchain.from_langchain`.
    """

    reason: str
    way_out: str
    is_bridged: bool = False

    def __str__(self) -> str:
        return f"{self.reason}; {self.way_out}"


class _Answer(TypedDict):
    why: str
    instead: str
    is_bridged: NotRequired[bool]
    names: dict[str, str]


_FILE = TypeAdapter(dict[str, list[_Answer]])


@functools.cache
def read_answers() -> Mapping[str, Mapping[str, Absence]]:
    """Return LangChain's module → name → why it has no place; ``*``: the rest of a module, and any other module.

    What stays of langchain_core is parts of it, which no bridge makes hocket's.
    """
    found: dict[str, dict[str, Absence]] = {}
    text = Path(__file__).with_name("answers.toml").read_text("utf-8")
    for answer in _FILE.validate_python(tomllib.loads(text))["answer"]:
        for module, names in answer["names"].items():
            is_bridged = answer.get("is_bridged", True) and not module.startswith("langchain_core")
            absence = Absence(answer["why"], answer["instead"], is_bridged)
            found.setdefault(module, {}).update(dict.fromkeys(names.split(), absence))
    return found
