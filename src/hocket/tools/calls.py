"""The tool calls of a message, run: all at once, each answered by exactly one message, none disturbed by another."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, cast

from hocket._runtime.sync_twin import sync_function
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.messages import AIMessage, ToolCall, ToolMessage
from hocket.runnables import RunnableConfig, ensure_config
from hocket.runnables.batch import Batch
from hocket.tools.base import BaseTool
from hocket.tools.call_runner import Call, CallRunner
from hocket.tools.decorator import tool as make_tool
from hocket.tools.runtime import Runtime

__all__ = ["arun_tool_calls", "index_by_name", "run_tool_calls"]

OnResult = Callable[[ToolMessage], Awaitable[None] | None]


async def arun_tool_calls(
    message: AIMessage | Sequence[ToolCall],
    tools: Sequence[BaseTool | Callable[..., object]],
    *,
    max_concurrency: int | None = None,
    timeout: float | None = None,  # noqa: ASYNC109  # of each call, not of this one
    max_result_chars: int | None = None,
    on_result: OnResult | None = None,
    config: RunnableConfig | None = None,
    injected: Mapping[str, object] | None = None,
    context: object = None,
) -> list[ToolMessage]:
    """Run the tool calls of a message, all at once, and return the messages that answer them.

    Nothing that a tool raises gets out, except a `StopRun`. A failure becomes a message with ``status="error"``, whose
    text tells the model what to do, and whose ``response_metadata["tool_error"]`` says what it was: "unknown_tool",
    "invalid_arguments", "retry", "timeout", "cancelled", "stopped" or "failed". The text of an exception goes to the model.

    Args:
        message: a model's answer; calls that could not be read (``invalid_tool_calls``) are answered, too. Or calls.
        tools: those that may be called; a function becomes one.
        max_concurrency: calls at once; default: that of the config, else 100.
        timeout: seconds that each call may take, unless its tool has a ``timeout`` of its own. A thread cannot be
            stopped: a sync tool is left behind.
        max_result_chars: how long the text of a result may be. Of a longer one the beginning is kept, and a note says how
            much is left out; the artifact stays whole.
        on_result: is called with each message as soon as it is there, in the order in which the calls end; if it returns
            an awaitable, that is awaited. So a caller that is cancelled has what was finished.
        config: callbacks, tags and metadata for the run of each tool.
        injected: values of injected arguments, by name, for the tools that take them. A model cannot give these.
        context: of the `Runtime` that tools take which have a parameter of this type; None: there is none.

    Returns:
        one message for each call, in order; the unreadable ones come last.

    Raises:
        InvalidInput: two tools of a name; a tool is none; a limit is not above 0; or an injected argument of a tool, or
            its context, is missing. Nothing was run.
        StopRun: a tool raised it, the first by position. The other calls have run to their end; ``results`` has all answers.

    Examples:
        >>> import asyncio
        >>> from hocket import arun_tool_calls
        >>> def add(a: int, b: int) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> call = {"type": "tool_call", "name": "add", "args": {"a": 2, "b": 3}, "id": "1"}
        >>> [message.content for message in asyncio.run(arun_tool_calls([call], [add]))]
        ['5']
    """
    calls: list[Call] = (
        [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else [*message]
    )
    at_once = ensure_config(config).get("max_concurrency") if max_concurrency is None else max_concurrency
    shared = _copy_shared_config(config)

    def make_runtime(call_id: str) -> Runtime[object]:
        said = [message] if isinstance(message, AIMessage) else []
        return Runtime(
            context=context, injected=injected or {}, messages=said, tool_call_id=call_id or None, config=shared
        )

    runner = CallRunner(
        index_by_name(tools),
        shared,
        timeout=timeout,
        max_result_chars=max_result_chars,
        injected=injected,
        make_runtime=None if context is None else make_runtime,
    )
    runner.check_injected(call["name"] for call in calls)

    async def answer(call: Call, _: RunnableConfig) -> ToolMessage:
        result = await runner.answer(call)
        if on_result is not None and (waiting := on_result(result)) is not None:
            await waiting
        return result

    results = await Batch(answer, calls, {"max_concurrency": at_once}, return_exceptions=False).collect()
    stop = runner.find_stop(calls)
    if stop is not None:
        stop.results = results
        raise stop
    return results


run_tool_calls: Final = sync_function(arun_tool_calls)
"""Run the tool calls of a message: the sync twin of `arun_tool_calls`. Sync tools run in worker threads."""


def index_by_name(tools: Sequence[BaseTool | Callable[..., object]]) -> dict[str, BaseTool]:
    """Return tools by their names; a function becomes one.

    Raises:
        InvalidInput: one is none, or two have the same name.
    """
    found: dict[str, BaseTool] = {}
    for one in tools:
        if not isinstance(one, BaseTool) and (isinstance(one, type) or not callable(one)):
            raise InvalidInput(
                f"{one!r} cannot be run: a tool is a BaseTool, or a function{bridge_hint(one)}",
                page="tools.md#make-a-tool",
            )
        made = one if isinstance(one, BaseTool) else make_tool(one)
        if made.name in found:
            raise InvalidInput(f"two tools are called {made.name!r}; give one of them another name")
        found[made.name] = made
    return found


def _copy_shared_config(config: RunnableConfig | None) -> RunnableConfig:
    """The config for each of several runs."""
    ours = ("run_id", "run_name", "max_concurrency")
    return cast(RunnableConfig, {key: value for key, value in ensure_config(config).items() if key not in ours})
