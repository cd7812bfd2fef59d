"""The tool calls of a message, run: all at once, each answered by exactly one message.

A call that fails, takes too long or is cancelled is answered with what the model can make use of, and disturbs no
other. So the conversation stays whole: providers refuse one in which a call has no answer.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from hocket._runtime.cancellation import is_stray
from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC
from hocket.errors import InvalidInput, StopRun, ToolException, ToolTimeout
from hocket.errors.hints import LONGEST_NAME, excerpt, near_name
from hocket.messages import AIMessage, InvalidToolCall, ToolCall, ToolMessage
from hocket.runnables import RunnableConfig, ensure_config
from hocket.runnables.batch import Batch
from hocket.tools.base import BaseTool
from hocket.tools.decorator import tool as make_tool
from hocket.tools.result_messages import make_error_message
from hocket.tools.run import Job, run_tool

__all__ = ["arun_tool_calls", "run_tool_calls"]

_LONGEST = 2_000  # characters of a failure that the model is told

Call = ToolCall | InvalidToolCall


async def arun_tool_calls(
    message: AIMessage | Sequence[ToolCall],
    tools: Sequence[BaseTool | Callable[..., object]],
    *,
    max_concurrency: int | None = None,
    timeout: float | None = None,  # noqa: ASYNC109  # of each call, not of this one
    config: RunnableConfig | None = None,
    injected: Mapping[str, object] | None = None,
) -> list[ToolMessage]:
    """Run the tool calls of a message, all at once, and return the messages that answer them.

    Nothing that a tool raises gets out, except a `StopRun`. A failure becomes a message with ``status="error"``, whose
    text tells the model what to do, and whose ``response_metadata["tool_error"]`` says what it was: "unknown_tool",
    "invalid_arguments", "retry", "timeout", "cancelled", "stopped" or "failed". The text of an exception goes to the model.

    Args:
        message: a model's answer; calls that could not be read (``invalid_tool_calls``) are answered, too. Or calls.
        tools: those that may be called; a function becomes one.
        max_concurrency: calls at once; default: that of the config, else 100.
        timeout: seconds that each call may take. A thread cannot be stopped: a sync tool is left behind.
        config: callbacks, tags and metadata for the run of each tool.
        injected: values of injected arguments, by name, for the tools that take them. A model cannot give these.

    Returns:
        one message for each call, in order; the unreadable ones come last.

    Raises:
        InvalidInput: two tools of a name; a tool is none; a limit is not above 0; or an injected argument of a tool is
            missing. Nothing was run.
        StopRun: a tool raised it, the first by position. The other calls have run to their end; ``results`` has all answers.
    """
    calls: list[Call] = (
        [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else [*message]
    )
    at_once = ensure_config(config).get("max_concurrency") if max_concurrency is None else max_concurrency
    if timeout is not None and not timeout > 0:
        raise InvalidInput(f"timeout is {timeout!r}; it is seconds above 0, or None")
    turn = _Turn(_index_by_name(tools), timeout, _copy_shared_config(config), injected or {})
    turn.check(calls)
    answers = await Batch(turn.answer, calls, {"max_concurrency": at_once}, return_exceptions=False).collect()
    stops = [error for _, error in answers if error is not None]
    results = [answer for answer, _ in answers]
    if stops:
        stops[0].results = results
        raise stops[0]
    return results


def run_tool_calls(
    message: AIMessage | Sequence[ToolCall],
    tools: Sequence[BaseTool | Callable[..., object]],
    *,
    max_concurrency: int | None = None,
    timeout: float | None = None,
    config: RunnableConfig | None = None,
    injected: Mapping[str, object] | None = None,
) -> list[ToolMessage]:
    """Run the tool calls of a message: the sync face of `arun_tool_calls`. Sync tools run in worker threads."""
    run = functools.partial(
        arun_tool_calls,
        message,
        tools,
        max_concurrency=max_concurrency,
        timeout=timeout,
        config=config,
        injected=injected,
    )
    return run_in_portal(run)


def _index_by_name(tools: Sequence[BaseTool | Callable[..., object]]) -> dict[str, BaseTool]:
    found: dict[str, BaseTool] = {}
    for one in tools:
        if not isinstance(one, BaseTool) and (isinstance(one, type) or not callable(one)):
            raise InvalidInput(f"{one!r} cannot be run: a tool is a BaseTool, or a function")
        made = one if isinstance(one, BaseTool) else make_tool(one)
        if made.name in found:
            raise InvalidInput(f"two tools are called {made.name!r}; give one of them another name")
        found[made.name] = made
    return found


def _copy_shared_config(config: RunnableConfig | None) -> RunnableConfig:
    """The config for each of several runs."""
    ours = ("run_id", "run_name", "max_concurrency")
    return cast(RunnableConfig, {key: value for key, value in ensure_config(config).items() if key not in ours})


@dataclass
class _Turn:
    """The calls of one message."""

    tools: dict[str, BaseTool]
    timeout: float | None
    config: RunnableConfig
    injected: Mapping[str, object]

    def check(self, calls: Sequence[Call]) -> None:
        """Refuse to start where a tool would lack what only the application can give.

        Raises:
            InvalidInput: an injected argument is missing.
        """
        for call in calls:
            tool = self.tools.get(call["name"] or "")
            missing = sorted(tool.arguments.required_injected - self.injected.keys()) if tool else []
            if missing:
                raise InvalidInput(f"{call['name']} needs what is injected: pass injected={{{missing[0]!r}: ...}}")

    async def answer(self, call: Call, _: RunnableConfig) -> tuple[ToolMessage, StopRun | None]:
        """Return the message that answers a call, and the request to stop, if it was one."""
        name, call_id = call["name"], call["id"] or ""
        tool = self.tools.get(name or "")
        if tool is None:
            shown = None if name is None else name[:LONGEST_NAME]  # a model may make up a megabyte of it
            return make_error_message(self._describe_unknown(name), call_id, shown, "unknown_tool"), None
        arguments = call["args"]
        if not isinstance(arguments, dict):
            reason = str(call.get("error") or "they are not a JSON object")[:_LONGEST]
            text = f"The arguments of {name} could not be read: {reason}. Call it again with valid JSON."
            return make_error_message(text, call_id, name, "invalid_arguments"), None
        try:
            return await self._run(tool, arguments, call_id), None
        except StopRun as stop:
            return make_error_message(str(stop) or "The run was stopped.", call_id, name, "stopped"), stop
        except Exception as error:
            return make_error_message(_describe_failure(tool, error), call_id, name, _get_error_kind(error)), None
        except BaseException as error:
            if not is_stray(error):
                raise
            return make_error_message(f"{name} was cancelled before it was done.", call_id, name, "cancelled"), None

    async def _run(self, tool: BaseTool, arguments: dict[str, object], call_id: str) -> ToolMessage:
        hidden = tool.arguments.injected
        given = {key: value for key, value in arguments.items() if key not in hidden}  # the model may have guessed
        given |= {key: self.injected[key] for key in hidden if key in self.injected}
        job = Job(given, call_id, self.config, timeout=self.timeout, explain=True)
        output = await run_tool(tool, ASYNC, job)
        if isinstance(output, list):
            count = len(cast("list[object]", output))
            raise ToolException(f"it returned {count} messages; a call is answered by one")
        result = cast(ToolMessage, output)
        return result if result.tool_call_id == call_id else result.model_copy(update={"tool_call_id": call_id})

    def _describe_unknown(self, name: str | None) -> str:
        near = near_name(name or "", self.tools)
        hint = f" Did you mean {near!r}?" if near else ""
        return f"There is no tool named {excerpt(name)}.{hint} The tools are: {', '.join(self.tools) or 'none'}."


def _describe_failure(tool: BaseTool, error: Exception) -> str:
    if isinstance(error, ToolTimeout):
        return f"{tool.name} failed: {error}. Try something smaller, or go on without it."
    text = str(error) if isinstance(error, ToolException) else f"{type(error).__name__}: {error}"
    return f"{tool.name} failed: {text}"[:_LONGEST]


def _get_error_kind(error: Exception) -> str:
    return "timeout" if isinstance(error, ToolTimeout) else "failed"
