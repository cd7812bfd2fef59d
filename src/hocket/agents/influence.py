"""Calls that act do not run by themselves once the model has read what a stranger wrote.

A model follows orders in a text that it reads, and no filter finds all of them. So nothing is looked for in the text: what
counts is that the conversation has one. A label in the history says so, which holds in later runs, forks and short windows.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal, cast

from hocket.agents.middleware import AgentMiddleware, ToolCallRequest
from hocket.agents.offload import read_result
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, near_name_hint
from hocket.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from hocket.messages.content import FieldsView
from hocket.messages.roles import calls_of, role_of
from hocket.tools import BaseTool
from hocket.tools.call_runner import Call
from hocket.tools.found_tools import FIND_TOOLS
from hocket.tools.result_messages import ERROR_KIND, make_error_message
from hocket.tools.runtime import Runtime

__all__ = ["UNTRUSTED", "InfluencePolicy", "note_reading"]

UNTRUSTED: Mapping[str, str] = {"trust": "untrusted"}
"""What a message in which a stranger speaks has in its ``response_metadata``."""

_REFUSAL = "{} is not run now: a text that was read here, and is not to be trusted, may be why. Go on without it."
_GAPS = re.compile(r"[\s\"'`“”«»()\[\]{}<>|;*=]+|,(?!\d)")  # between words: an address, a number, a time is one

Names = Collection[str]


class InfluencePolicy(AgentMiddleware):
    """Has calls that act wait for a person, or be refused, once the model has read what a stranger wrote.

    Results of untrusted tools are labelled and stored as `UNTRUSTED`; so are those of an agent among the tools that has
    read such a text, and what `read_result` reads then. What the provider's own tools found counts, too. From the model's
    next answer on, in all of the conversation, no call of an acting tool is made by itself. Calls beside that of the
    untrusted tool are: they were written before it was answered. Put this first in ``middleware=``.

    Args:
        acting: names of tools that act; or, for each, names of arguments: its call is made if each value of these stands,
            as whole words, in the system prompt, the person's words, or a trusted result whose call does not have it.
        untrusted: names of the tools whose results strangers write; "mcp": those of MCP servers.
        on_influence: "pause": the call waits, as with ``interrupt_on``, so that each run needs ``history=``; "refuse": it
            is answered by an error of the kind "untrusted_influence".

    Raises:
        InvalidInput: an argument is none of these; or, before a run: no tool, or no argument of it, has a name.
    """

    def __init__(
        self,
        acting: Names | Mapping[str, Names],
        untrusted: Literal["mcp"] | Names = "mcp",
        on_influence: Literal["pause", "refuse"] = "pause",
    ) -> None:
        if on_influence not in ("pause", "refuse"):
            raise InvalidInput(f"on_influence is {excerpt(on_influence)}; it is 'pause' or 'refuse'")
        names = _read_names(acting)
        arguments = cast("Mapping[str, object]", acting if isinstance(acting, Mapping) else dict.fromkeys(names, ()))
        self._acting = {name: _read_names(arguments[name], least=0) for name in names}
        self._untrusted = None if untrusted == "mcp" else _read_names(untrusted)
        self.may_pause: bool = on_influence == "pause"

    def check_tools(self, tools: Mapping[str, BaseTool]) -> None:
        """Refuse a name that no tool, or no argument, has: a typing mistake would guard nothing."""
        for name in [*self._acting, *(self._untrusted or ())]:
            _check_known(name, tools)
            for argument in self._acting.get(name, ()):
                _check_known(argument, tools[name].arguments.visible)

    def is_approval_needed(self, call: ToolCall, runtime: Runtime) -> bool:
        """Whether a call acts, and a stranger's text may have caused it. What fails is a yes."""
        try:
            return call["name"] in self._acting and not self._is_own(call, runtime)
        except Exception:  # of arguments that are nested a thousand deep, for example
            return True

    async def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> ToolMessage:
        """Make the call, if it may be made, and label what strangers wrote."""
        call, name, runtime = request.tool_call, request.tool_call["name"], request.runtime
        if not self.may_pause and self.is_approval_needed(call, runtime):
            return make_error_message(_REFUSAL.format(name), call["id"], name, "untrusted_influence")
        tools = runtime._tools  # pyright: ignore[reportPrivateUsage]  # for this room
        seen = [name == read_result.name and self.has_read(runtime.messages, tools)]  # whatever it reads
        token = _readers.set((*_readers.get(), (self, seen)))
        try:
            result = cast(ToolMessage, await handler(request))
        finally:
            _readers.reset(token)
        if any(seen) or self._is_foreign(name, request.tool):
            return result.model_copy(update={"response_metadata": {**result.response_metadata, **UNTRUSTED}})
        return result

    def has_read(self, messages: Sequence[BaseMessage], tools: Mapping[str, object]) -> bool:
        """Whether a stranger speaks in messages, of a run with these tools."""
        return len(self._list_trusted(messages, tools)) < len(messages)

    def _list_trusted(
        self, messages: Sequence[BaseMessage], tools: Mapping[str, object]
    ) -> list[tuple[BaseMessage, Call | None]]:
        """Return the messages in which no stranger speaks, each with the call that it answers."""
        made = {call["id"]: call for message in messages for call in calls_of(message)}
        pairs = [(one, made.get(one.tool_call_id) if isinstance(one, ToolMessage) else None) for one in messages]
        return [(one, call) for one, call in pairs if not self._is_untrusted(one, call, tools)]

    def _is_untrusted(self, message: BaseMessage, call: Call | None, tools: Mapping[str, object]) -> bool:
        if message.response_metadata.items() >= UNTRUSTED.items():
            return True
        if call is None:
            return isinstance(message, AIMessage) and any(map(_is_from_outside, message.content_blocks))
        if message.response_metadata.get(ERROR_KIND) not in (None, "failed", "retry", "stopped"):
            return False  # hocket's own words
        # From before there was a policy, say.
        return any(self._is_foreign(name, tools.get(name)) for name in (message.name, call["name"]) if name)

    def _is_foreign(self, name: str, tool: object) -> bool:
        if self._untrusted is None:
            return "mcp_name" in (getattr(tool, "metadata", None) or ())
        return name in self._untrusted

    def _is_own(self, call: ToolCall, runtime: Runtime) -> bool:
        """Whether the model has read no stranger's text, or each value of the named arguments stands in other words."""
        system, tools = runtime._system, runtime._tools  # pyright: ignore[reportPrivateUsage]  # for this room
        trusted = self._list_trusted(runtime.messages, tools)
        if len(trusted) == len(runtime.messages):
            return True
        said = [_read_words(*one) for one in (trusted if system is None else [(system, None), *trusted])]
        values = [one for name in self._acting[call["name"]] for one in _list_values(call["args"].get(name))]
        return bool(values) and all(
            value.strip() and any(value in words and value not in echo for words, echo in said) for value in values
        )


_readers: ContextVar[tuple[tuple[InfluencePolicy, list[bool]], ...]] = ContextVar("hocket_influence", default=())


def note_reading(messages: Sequence[BaseMessage], tools: Mapping[str, object]) -> bool:
    """Tell the policies around an agent's run what its model reads, and return whether a stranger speaks in it."""
    for policy, seen in _readers.get():
        seen.append(policy.has_read(messages, tools))
    return any(any(seen) for _, seen in _readers.get())


def _is_from_outside(block: FieldsView) -> bool:
    """Whether a block is a call that the provider has run, or cites a page."""
    return block["type"] == "server_tool_call" or any("url" in one for one in block.get("annotations") or ())


def _read_words(message: BaseMessage, call: Call | None) -> tuple[str, str]:
    """Return the words of a trusted message, and those of the call that it answers: an echo proves nothing."""
    if role_of(message) in ("system", "human"):
        return _fold(message.text), ""
    if call is None or call["name"] == FIND_TOOLS or ERROR_KIND in message.response_metadata:
        return "", ""
    return _fold(message.text), _fold(json.dumps(call["args"], ensure_ascii=False))


def _list_values(value: object) -> list[str]:
    """Return the words of an argument: those of each of its items, where it is a list."""
    items = cast("list[object]", value) if isinstance(value, list) else [] if value is None else [value]
    return [_fold(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) for one in items]


def _fold(text: str) -> str:
    """Return the words of a text, each between spaces, without their case and the signs around them."""
    words = (word.strip(".:!?$€£%#") for word in _GAPS.split(text.casefold()))
    return f" {' '.join(filter(None, words))} "


def _check_known(name: str, known: Names) -> None:
    if name not in known:
        raise InvalidInput(f"InfluencePolicy names {name!r}, which is not there; {near_name_hint(name, known)}")


def _read_names(names: object, *, least: int = 1) -> tuple[str, ...]:
    wrong = InvalidInput(f"InfluencePolicy is given {excerpt(names)}; it takes a list of {least} or more names")
    given = tuple(cast("Collection[object]", names)) if isinstance(names, Collection) else (None,)
    if isinstance(names, str) or len(given) < least or not all(isinstance(one, str) for one in given):
        raise wrong
    return cast("tuple[str, ...]", given)
