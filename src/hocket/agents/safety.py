"""What an agent's tools may be called with, checked before each call, and how long one may take.

It fails closed: what cannot be checked is not run. Patterns are a net for what must never be sent, not a wall: who can
write a text in two ways may pass them. What a tool may do at all is for the tool, and its rights, to say.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Literal, cast

from hocket._runtime.clock import Alarm
from hocket.agents.middleware import AgentMiddleware, ToolCallRequest
from hocket.errors import InvalidInput, ToolException
from hocket.errors.hints import LONGEST_NAME, excerpt
from hocket.messages import ToolMessage
from hocket.tools.result_messages import make_error_message

__all__ = ["SafetyManager"]

_MAX_DEPTH = 50
_MAX_VALUES = 10_000

_TEXTS = {
    "en": {
        "tool": "This tool is not allowed: {}. The call is not made.",
        "pattern": "The arguments hold what is not allowed. The call is not made; go on without it.",
        "unknown": "The arguments cannot be checked: {}. The call is not made.",
        "time": "{} took longer than {:g} s and was stopped. Try something smaller, or go on without it.",
    },
    "zh": {
        "tool": "未授权的工具: {}",
        "pattern": "参数包含禁止内容",
        "unknown": "参数无法检查: {}",
        "time": "工具执行超时: {} ({:g} 秒)",
    },
}


class SafetyManager(AgentMiddleware):
    """Lets an agent call some tools only, never with what a pattern finds, and not for long.

    A call that is refused is not made. The model is told so by a `ToolMessage` with ``status="error"``.

    Args:
        allowed_tools: the names of tools that may be called; None: all.
        blocked_patterns: regular expressions, as texts or compiled. A call is refused if one is found (`re.search`) in any
            text of its arguments: names and values at any depth, and numbers as they are written. A pattern has to be
            linear in time: nothing can stop Python's `re` in the middle.
        max_execution_time: seconds that one call may take, what waits further inside included; None: any time. A thread
            cannot be stopped: a sync tool is left behind.
        max_length: characters of the arguments of one call that are searched; a longer call is refused.
        language: of what the model is told, "en" or "zh".

    Raises:
        InvalidInput: one of these is none, or a pattern does not compile.

    Examples:
        >>> safety = SafetyManager(allowed_tools=["search"], blocked_patterns=[r"(?i)password"])
        >>> safety.validate_action("search", {"query": "weather"})
    """

    def __init__(
        self,
        allowed_tools: Iterable[str] | None = None,
        blocked_patterns: Iterable[str | re.Pattern[str]] = (),
        max_execution_time: float | None = None,
        *,
        max_length: int = 20_000,
        language: Literal["en", "zh"] = "en",
    ) -> None:
        self._allowed = None if allowed_tools is None else frozenset(_read_names(allowed_tools))
        self._patterns = tuple(_compile(blocked_patterns))
        if max_execution_time is not None and not _is_positive(max_execution_time):
            raise InvalidInput(f"max_execution_time is {max_execution_time!r}; it is seconds above 0, or None")
        if not _is_positive(max_length):
            raise InvalidInput(f"max_length is {max_length!r}; it is a number of characters above 0")
        if language not in _TEXTS:
            raise InvalidInput(f"language is {language!r}; it is 'en' or 'zh'")
        self._seconds = max_execution_time
        self._max_length = max_length
        self._texts = _TEXTS[language]

    def validate_action(self, name: object, params: object) -> None:
        """Return if a tool may be called with these arguments.

        Args:
            name: of the tool.
            params: its arguments by name, or a text, for a tool with one argument.

        Raises:
            ToolException: it may not; the text says why, and is for the model.
        """
        if self._allowed is not None and not (isinstance(name, str) and name in self._allowed):
            raise ToolException(self._texts["tool"].format(str(name)[:LONGEST_NAME]))
        if not self._patterns:
            return
        left = self._max_length
        for text in self._list_texts(params):
            left -= len(text)
            if left < 0:
                raise self._cannot_check(f"> {self._max_length:,} characters")
            if any(pattern.search(text) for pattern in self._patterns):
                raise ToolException(self._texts["pattern"])

    async def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> ToolMessage:
        """Make the call if it is allowed, and within its time; else return what the model is told."""
        call = request.tool_call
        name, call_id = str(call["name"])[:LONGEST_NAME], call["id"]
        try:
            self.validate_action(call["name"], call["args"])
            if request.tool is not None and request.tool.name != call["name"]:  # another middleware has put it there
                self.validate_action(request.tool.name, call["args"])
        except ToolException as error:
            return make_error_message(str(error), call_id, name, "blocked")
        if self._seconds is None:
            return cast(ToolMessage, await handler(request))
        with Alarm() as alarm:
            alarm.set(self._seconds)
            return cast(ToolMessage, await handler(request))
        return make_error_message(self._texts["time"].format(name, self._seconds), call_id, name, "timeout")

    def _list_texts(self, params: object) -> Iterator[str]:
        """Yield every text in ``params``.

        Raises:
            ToolException: it holds something else than JSON does, too much of it, or itself.
        """
        waiting: list[tuple[object, int]] = [(params, 0)]
        found = 1
        while waiting:
            value, depth = waiting.pop()
            if isinstance(value, dict | list | tuple):
                found += len(cast("Sized", value))
                if depth == _MAX_DEPTH or found > _MAX_VALUES:  # a list that holds itself ends here, too
                    raise self._cannot_check(f"> {_MAX_DEPTH} levels, > {_MAX_VALUES:,} values")
            if isinstance(value, str):
                yield value
            elif isinstance(value, bool) or value is None:
                continue
            elif isinstance(value, int | float):
                yield self._write_number(value)
            elif isinstance(value, dict):
                items = cast("dict[object, object]", value)
                if not all(isinstance(key, str) for key in items):
                    raise self._cannot_check("a key that is no text")
                yield from cast("Iterable[str]", items)
                waiting.extend((item, depth + 1) for item in items.values())
            elif isinstance(value, list | tuple):
                waiting.extend((item, depth + 1) for item in cast("Iterable[object]", value))
            else:
                raise self._cannot_check(type(value).__name__)

    def _write_number(self, number: float) -> str:
        try:
            return str(number)
        except ValueError:  # Python writes no integer of more than 4,300 digits
            raise self._cannot_check("a very long number") from None

    def _cannot_check(self, reason: str) -> ToolException:
        return ToolException(self._texts["unknown"].format(reason))


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf


def _read_names(names: Iterable[str]) -> Iterator[str]:
    if isinstance(names, str):
        raise InvalidInput(f"allowed_tools is the text {excerpt(names)}; it is a list of names")
    for name in cast("Iterable[object]", names):
        if not isinstance(name, str):
            raise InvalidInput(f"allowed_tools holds {excerpt(name)}; it is a list of the tools' names")
        yield name


def _compile(patterns: Iterable[str | re.Pattern[str]]) -> Iterator[re.Pattern[str]]:
    if isinstance(patterns, str | re.Pattern):
        raise InvalidInput(f"blocked_patterns is one pattern, {excerpt(patterns)}; it is a list of patterns")
    for pattern in patterns:
        try:
            compiled = re.compile(pattern)
            compiled.search("")  # one that was made of bytes finds nothing in a text
        except (re.error, TypeError, OverflowError, RecursionError) as error:
            raise InvalidInput(f"the blocked pattern {excerpt(pattern)} does not compile for texts: {error}") from error
        yield compiled
