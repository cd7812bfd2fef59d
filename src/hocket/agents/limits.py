"""Limits of one run of an agent: what it may use and has used, and whether it repeats itself.

A circle is the same calls, with the same results, one after another. Other results are polling, which is no circle.
Arguments are compared as JSON, so that their order does not matter, nor does the order of the calls in a message. A
reply that is no answer is like another one of the same text.

A run may be inside a run, where a tool asks an agent. With the history of the agent that called the tool the run inside
would wait until the run outside has ended, which waits for its tool. `exclusive` finds that out for one task, and a tool
may have a task, or a thread, of its own. But whatever a run starts has its context. And an agent that asks itself would
go on without end, at a bill for each level.
"""

import json
import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal

from hocket._runtime.callers import warn_caller
from hocket.callbacks import BaseCallbackManager, UsageMetadataCallbackHandler
from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import HocketWarning, InvalidInput
from hocket.errors.hints import near_name_hint
from hocket.messages import AIMessage, ToolCall, ToolMessage, UsageMetadata, add_usage
from hocket.outputs import ChatGeneration, LLMResult
from hocket.runnables import RunnableConfig
from hocket.runnables.config import current_config

__all__ = [
    "UNREADABLE_CHARS",
    "AgentLimits",
    "LimitPolicy",
    "NestedRunGuard",
    "RepeatCounter",
    "RunUsage",
    "StopReason",
    "find_usages",
    "warn_of_unread",
]

StopReason = Literal[
    "done", "direct", "stopped", "paused", "model_calls", "tool_calls", "tokens", "seconds", "loop", "budget"
]
"""Why a run has ended: the model is done; a tool with ``return_direct`` was called; a tool raised `StopRun`; a call waits
for a decision; or a limit was reached."""

LimitPolicy = Literal["answer", "stop", "raise"]
"""What happens at a limit: the model answers once more, without tools; the run ends; or `LimitReached` is raised."""

UNREADABLE_CHARS = 4_000
"""Characters that a model is shown again of a reply that could not be read: about 1,000 tokens, longer than most typed
answers. All of a reply that goes on and on would be in each prompt that follows."""

_WHOLE = ("model_calls", "tool_calls", "tokens", "result_chars", "unreadable_chars", "repeats", "max_concurrency")


@dataclass(frozen=True, kw_only=True)
class AgentLimits:
    """How much one run of an agent may use. Each limit is checked before the call that would go beyond it; None: no limit.

    Args:
        model_calls: calls of the model, those before a pause included.
        tool_calls: calls of tools; those beyond are not run, and the model gets an error.
        tokens: that the run uses: what was reported so far, an estimate of what is about to be sent, and the answer's
            ``max_tokens``, if the model has one set, come to no more.
        seconds: of the whole run, the wait for another run of the conversation included.
        tool_seconds: of one call of a tool that has no ``timeout`` of its own.
        per_tool_seconds: the same by the tool's name; goes before the tool's own.
        result_chars: characters of a result; a longer one is cut.
        unreadable_chars: characters of a reply that could not be read, as the model is shown it again; a longer one is cut.
        repeats: times that the model may make the same calls, with the same results, one after another: then it is warned;
            two times later the run ends. As many empty replies in a row end it, too: the model gets an error after each.
        max_concurrency: calls of one message that run at once.

    Raises:
        InvalidInput: a limit is no number, or not above 0.
    """

    model_calls: int | None = 25
    tool_calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    tool_seconds: float | None = 60
    per_tool_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    result_chars: int | None = 50_000
    unreadable_chars: int | None = UNREADABLE_CHARS
    repeats: int | None = 3
    max_concurrency: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.per_tool_seconds, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"per_tool_seconds is {self.per_tool_seconds!r}; it is a mapping from names of tools")
        for tool, seconds in self.per_tool_seconds.items():
            _check(f"per_tool_seconds[{tool!r}]", seconds, is_whole=False)
        for one in fields(self):
            value: object = getattr(self, one.name)
            if one.name != "per_tool_seconds" and (value is not None or one.name == "max_concurrency"):
                _check(one.name, value, is_whole=one.name in _WHOLE)

    def check_tools(self, names: Collection[str]) -> None:
        """Refuse a limit for a tool that is not there."""
        for name in self.per_tool_seconds:
            if name not in names:
                hint = near_name_hint(str(name), names)
                raise InvalidInput(f"per_tool_seconds names {name!r}, which is no tool; {hint}")


def _check(name: str, value: object, *, is_whole: bool) -> None:
    kinds = (int,) if is_whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0 or value == math.inf:
        what = "a whole number" if is_whole else "a number of seconds"
        raise InvalidInput(f"{name} is {value!r}; it is {what} above 0, or None for no limit")


class RunUsage(UsageMetadataCallbackHandler):
    """Hears of all models that are called inside a run, by tools and by other agents too, and sums their usage.

    An agent inside the run finds it among its handlers: so the run's limit holds there, too.

    Attributes:
        limit: tokens that the run may use; None: there is no limit.
        heard: replies of models.
        unknown: replies that reported no usage.
        earlier: tokens that the run has used before this call, by its history.
    """

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self.limit: int | None = limit
        self.heard: int = 0
        self.unknown: int = 0
        self.earlier: int = 0
        self._unheard: UsageMetadata = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}

    def on_llm_end(self, response: LLMResult, **kwargs: object) -> None:
        """Add the usage of a reply."""
        super().on_llm_end(response, **kwargs)
        is_priced = any(_has_priced_reply(one) for candidates in response.generations for one in candidates)
        with self._lock:  # tools ask their models in threads
            self.heard += 1
            self.unknown += not is_priced

    def add_reply(self, reply: AIMessage) -> None:
        """Add the usage of a reply that no model has given: a function's, which has no event for handlers."""
        if not _is_priced(reply):
            self.unknown += 1
        elif reply.usage_metadata is not None and not reply.response_metadata.get("cache_hit"):
            self._unheard = add_usage(self._unheard, reply.usage_metadata)

    def allows(self, tokens: int) -> bool:
        """Whether so many tokens more are within the limit."""
        return tokens <= self.left

    @property
    def left(self) -> float:
        """The tokens that the limit still allows, below 0 where it was passed; infinite without one."""
        return math.inf if self.limit is None else self.limit - self.earlier - self.total["total_tokens"]

    @property
    def total(self) -> UsageMetadata:
        """The tokens of all models together."""
        total = self._unheard
        for usage in [*self.usage_metadata.values()]:  # to which a thread may add
            total = add_usage(total, usage)
        return total


def find_usages(config: RunnableConfig) -> list[RunUsage]:
    """Return the handlers of a config: of the run that it is for, and of the runs around that."""
    callbacks = config.get("callbacks")
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or ()
    return [one for one in handlers if isinstance(one, RunUsage)]


def _has_priced_reply(candidate: object) -> bool:
    """Whether it is known what a candidate cost: it says so, or it came out of a cache."""
    message = candidate.message if isinstance(candidate, ChatGeneration) else None
    return isinstance(message, AIMessage) and _is_priced(message)


def _is_priced(reply: AIMessage) -> bool:
    return reply.usage_metadata is not None or bool(reply.response_metadata.get("cache_hit"))


class RepeatCounter:
    """Counts how often the last calls were made in a row with the same results, or the last reply was given."""

    PATIENCE: Final = 2
    """Repetitions that a model may still make after it was told."""

    def __init__(self) -> None:
        self._last: object = None
        self._count = 0

    def add(self, calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> int:
        """Add the calls of a message and their results; return how often in a row they were the same."""
        answers = {result.tool_call_id: result for result in results}
        return self._count_seen(sorted(_write_call(call, answers.get(call["id"] or "")) for call in calls))

    def add_reply(self, text: str) -> int:
        """Add a reply without calls that is no answer; return how often in a row it was the same."""
        return self._count_seen(text)

    def _count_seen(self, seen: object) -> int:
        self._count = self._count + 1 if seen == self._last else 1
        self._last = seen
        return self._count

    @staticmethod
    def describe(count: int) -> str:
        """Return what the model is told."""
        return (
            f"\n[You have made the same call {count} times, with the same result. Do something else, or answer with what "
            "you know.]"
        )


def _write_call(call: ToolCall, result: ToolMessage | None) -> str:
    content = None if result is None else result.content
    try:
        return json.dumps([call["name"], call["args"], content], sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # no JSON, or too deep: it is like no other
        return f"{call['name']} {id(call)}"


_DEEPEST = 16
"""Runs inside one another. Python itself would end at some 45, with a RecursionError; in threads, never."""


class NestedRunGuard:
    """Refuses a run inside a run of the same conversation, and one that is too deep."""

    def __init__(self, history: BaseChatMessageHistory | None) -> None:
        self._history = history
        self._key: Hashable = None if history is None else history.exclusive_key
        self._outer: NestedRunGuard | None = None
        self._is_running = False

    def __enter__(self) -> None:
        """Enter the run, or refuse it."""
        outer = self._outer = _innermost.get()
        depth = 0
        while outer is not None:
            depth += outer._is_running
            if outer._is_running and outer._key == self._key is not None:
                raise InvalidInput(
                    f"{self._history!r:.200}: a run of this conversation called the tool that this run is inside of, and "
                    "each would wait for the other; give the agent inside a history of its own, or none"
                )
            outer = outer._outer
        if depth >= _DEEPEST:
            raise InvalidInput(
                f"{depth} agents run inside one another, which is the most; one of them may have itself among its tools"
            )
        self._is_running = True
        _innermost.set(self)

    def __exit__(self, *exc: object) -> None:
        self._is_running = False  # for tasks that a tool has left behind, with a copy of the context
        _innermost.set(self._outer)


_innermost: ContextVar[NestedRunGuard | None] = ContextVar("hocket_agent_run", default=None)


# -- what users of LangGraph say in a config, which hocket's agents do not look at

_NO_THREADS = (
    "an agent does not look at the thread_id of its config: this run remembers nothing of the last one, and the next one "
    "nothing of it; give each run its conversation: agent.invoke(message, history=open_history(url, session_id=thread_id))"
)
_NO_STEPS = (
    "an agent does not look at the recursion_limit of its config, LangGraph's steps of the model and of tools: its model "
    "may be asked as often as create_agent(..., limits=AgentLimits(model_calls=...)) says, about half of these steps"
)


def warn_of_unread(config: Mapping[str, Any] | None, *, has_history: bool) -> None:
    """Warn the caller of a ``thread_id`` in place of a history, and of a ``recursion_limit``; but not inside of runs."""
    if not has_history and _read_thread(config) is not None and _read_thread(current_config.get()) is None:
        warn_caller(_NO_THREADS, HocketWarning)
    if type(config) is dict and "recursion_limit" in config:  # one that has gone through a run is that of functions
        warn_caller(_NO_STEPS, HocketWarning)


def _read_thread(config: Mapping[str, Any] | None) -> object:
    values: Mapping[str, object] = {} if config is None else config.get("configurable") or {}
    return values.get("thread_id")
