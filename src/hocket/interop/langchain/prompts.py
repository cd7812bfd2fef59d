"""Prompts, to LangChain's and back: they are data, and become a prompt of the same class.

Code that takes a prompt asks for its variables and its messages, which a runnable around it would not have. What is no plain
prompt (a class of the user's, a template that selects its examples) is bridged as a runnable.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import cast

import langchain_core.messages as lc_messages
import langchain_core.prompts as lc
from pydantic import BaseModel

from hocket import messages, prompts
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.interop.langchain.runnables import runnable_from_langchain, runnable_to_langchain

__all__ = ["prompt_from_langchain", "prompt_to_langchain"]

_NAMES = (
    *("PromptTemplate", "ChatPromptTemplate", "MessagesPlaceholder", "FewShotPromptTemplate"),
    *("HumanMessagePromptTemplate", "AIMessagePromptTemplate", "SystemMessagePromptTemplate"),
    *("ChatMessagePromptTemplate", "FewShotChatMessagePromptTemplate"),
)


def prompt_to_langchain(prompt: prompts.BasePromptTemplate[object]) -> object:
    """Return a prompt as LangChain's of the same class, or as a runnable."""
    return _rebuild(prompt, lc) or runnable_to_langchain(prompt)


def prompt_from_langchain(prompt: lc.BasePromptTemplate[object]) -> object:
    """Return LangChain's prompt as hocket's of the same class, or as a runnable."""
    return _rebuild(prompt, prompts) or runnable_from_langchain(prompt)


class _Foreign(Exception):
    """A part of a prompt has no equal."""


def _rebuild(prompt: BaseModel, library: ModuleType) -> object | None:
    try:
        return _convert(prompt, library)
    except _Foreign:
        return None


def _convert(value: object, library: ModuleType) -> object:
    """Return a part of a prompt as the other library's."""
    if isinstance(value, messages.BaseMessage):
        return message_to_langchain(value)
    if isinstance(value, lc_messages.BaseMessage):
        return message_from_langchain(value)
    if isinstance(value, list):
        return [_convert(one, library) for one in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return {key: _convert(one, library) for key, one in cast("Mapping[str, object]", value).items()}
    if not isinstance(value, BaseModel):
        return value
    name = type(value).__name__
    source = lc if library is prompts else prompts
    if name not in _NAMES or type(value) is not getattr(source, name):
        raise _Foreign
    target = cast("type[BaseModel]", getattr(library, name))
    fields = {name: one for name, one in value if one not in (None, {}) and name in target.model_fields}
    if "example_selector" in fields:
        raise _Foreign
    optional = fields.pop("optional_variables", ())  # the target finds them out by itself, and what they are by default
    if partial := fields.get("partial_variables"):
        fields["partial_variables"] = {name: one for name, one in partial.items() if name not in optional}
    return target(**{field: _convert(one, library) for field, one in fields.items()})
