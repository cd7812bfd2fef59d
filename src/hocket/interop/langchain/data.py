"""Data in which messages, results and documents may stand anywhere, to LangChain's and back: what handlers are told."""

from collections.abc import Callable, Mapping
from typing import cast

import langchain_core.documents as lc_documents
import langchain_core.messages as lc_messages
import langchain_core.outputs as lc_outputs
import langchain_core.prompt_values as lc_prompt_values
from langchain_core import agents as lc_agents

from hocket import documents, messages, outputs, prompt_values
from hocket.agents.result import AgentAction, AgentFinish
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.interop.langchain.values import (
    chat_result_from_langchain,
    chat_result_to_langchain,
    document_from_langchain,
    document_to_langchain,
    generation_from_langchain,
    generation_to_langchain,
    llm_result_from_langchain,
    llm_result_to_langchain,
    prompt_value_from_langchain,
    prompt_value_to_langchain,
)

__all__ = [
    "FROM_LANGCHAIN",
    "TO_LANGCHAIN",
    "Conversions",
    "convert_within",
    "data_from_langchain",
    "data_to_langchain",
    "find_conversion",
]

Conversions = Mapping[type, Callable[..., object]]
"""For each class of one side, what makes the other side's object of its instances."""

TO_LANGCHAIN: Conversions = {
    messages.BaseMessage: message_to_langchain,
    prompt_values.PromptValue: prompt_value_to_langchain,
    outputs.Generation: generation_to_langchain,
    outputs.ChatResult: chat_result_to_langchain,
    outputs.LLMResult: llm_result_to_langchain,
    documents.Document: document_to_langchain,
}
"""What holds data, by class."""

FROM_LANGCHAIN: Conversions = {
    lc_messages.BaseMessage: message_from_langchain,
    lc_prompt_values.PromptValue: prompt_value_from_langchain,
    lc_outputs.Generation: generation_from_langchain,
    lc_outputs.ChatResult: chat_result_from_langchain,
    lc_outputs.LLMResult: llm_result_from_langchain,
    lc_documents.Document: document_from_langchain,
}
"""The same, the other way round."""


def find_conversion(cls: type, table: Conversions) -> Callable[..., object] | None:
    """Return what ``table`` has for ``cls``, or the nearest of its bases; None: nothing."""
    return next((table[base] for base in cls.__mro__ if base in table), None)


def data_to_langchain(value: object) -> object:
    """Return ``value`` with everything in it that is hocket's as LangChain's; what is neither stays as it is."""
    if isinstance(value, AgentAction):
        tool_input = value.tool_input if isinstance(value.tool_input, str) else dict(value.tool_input)
        return lc_agents.AgentAction(value.tool, tool_input, value.log)
    if isinstance(value, AgentFinish):
        return lc_agents.AgentFinish({**value.return_values}, value.log)
    return convert_within(value, data_to_langchain, TO_LANGCHAIN)


def data_from_langchain(value: object) -> object:
    """Return ``value`` with everything in it that is LangChain's as hocket's; what is neither stays as it is."""
    if isinstance(value, lc_agents.AgentAction):
        return AgentAction(value.tool, value.tool_input, value.log)
    if isinstance(value, lc_agents.AgentFinish):
        return AgentFinish({**value.return_values}, value.log)
    return convert_within(value, data_from_langchain, FROM_LANGCHAIN)


def convert_within(value: object, convert: Callable[[object], object], table: Conversions) -> object:
    """Return ``value``, or what it holds, converted as ``table`` says; what that does not know stays as it is.

    Args:
        value: a list, tuple or dict is looked into.
        convert: converts what it holds: who calls this.
        table: the conversions, by class.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {key: convert(one) for key, one in cast("dict[object, object]", value).items()}
    if isinstance(value, list):
        return [convert(one) for one in cast("list[object]", value)]
    if type(value) is tuple:
        return tuple(convert(one) for one in cast("tuple[object, ...]", value))
    made = find_conversion(type(value), table)
    return value if made is None else made(value)
