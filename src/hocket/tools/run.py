"""One run of a tool: told to its handlers, its arguments read, its function called, its result made a message.

There is one path for sync and async, as for models: what may wait is asked of the mode. A sync function runs in the
caller's thread under `invoke`, and in a worker thread under `ainvoke`; an async one on the caller's loop, or on hocket's
kept one.
"""

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from pydantic import ValidationError

from hocket._runtime.clock import Alarm
from hocket._runtime.mode import Mode
from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForToolRun,
    CallbackManager,
    CallbackManagerForToolRun,
)
from hocket.callbacks.base_manager import Callbacks
from hocket.errors import InvalidHook, RetryTool, ToolException, ToolTimeout
from hocket.messages import BaseMessage, ToolMessage
from hocket.messages.base import copy_containers, copy_message
from hocket.runnables import RunnableConfig
from hocket.runnables.chain_run import child_config, is_watched
from hocket.runnables.config import mark_resolved, set_config_context
from hocket.tools.arguments import Arguments
from hocket.tools.result_messages import explain_validation_error, make_error_message, make_result_message
from hocket.tools.signature import is_async, read_signature

__all__ = ["Job", "RunTool", "run_tool"]

R = TypeVar("R")

Content = str | Sequence[str | dict[str, Any]]
"""What a tool says of a failure: text, or content blocks."""


class RunTool(Protocol):
    """What running needs of a tool; see `hocket.tools.BaseTool` for the fields."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def verbose(self) -> bool: ...
    @property
    def callbacks(self) -> Callbacks: ...
    @property
    def tags(self) -> list[str] | None: ...
    @property
    def metadata(self) -> dict[str, Any] | None: ...
    @property
    def timeout(self) -> float | None: ...
    @property
    def response_format(self) -> str: ...
    @property
    def handle_tool_error(self) -> bool | str | Callable[[ToolException], Content] | None: ...
    @property
    def handle_validation_error(self) -> bool | str | Callable[[ValidationError], str] | None: ...
    @property
    def arguments(self) -> Arguments: ...

    def read_arguments(self, given: object, call_id: str | None) -> dict[str, object]:
        """Return the arguments of the tool's function, by name."""
        ...

    def choose_function(self, prefer_async: bool) -> Callable[..., object]:
        """Return what is called: of the kind that is preferred, if there is one."""
        ...


@dataclass
class Job:
    """One call of a tool.

    Args:
        given: the arguments; a text stands for the only one.
        call_id: of the tool call that is answered; None: nobody asked for a message.
        config: of the call.
        verbose: whether to print.
        timeout: seconds that it may take, async runs only; None: as the tool says.
        explain: whether invalid arguments are answered with an explanation, if the tool has no answer of its own.
        details: what handlers are told besides.

    Attributes:
        output: what the tool returned, once it has: a run that is cancelled while that is told to its handlers returns
            nothing.
    """

    given: str | Mapping[str, object]
    call_id: str | None
    config: RunnableConfig
    verbose: bool = False
    timeout: float | None = None
    explain: bool = False
    details: dict[str, object] = field(default_factory=dict[str, object])
    output: object = field(default=None, init=False)


async def run_tool(tool: RunTool, mode: Mode, job: Job) -> object:
    """Run a tool as a run of its own.

    Returns:
        what the tool returned; with a ``call_id``, as a `ToolMessage`.

    Raises:
        BaseException: what the tool raised and does not handle.
    """
    manager = _configure_manager(tool, mode, job)
    if manager is None:
        return await _run_in_time(tool, mode, job, None)
    kind = AsyncCallbackManagerForToolRun if mode.is_async else CallbackManagerForToolRun
    # The events of a sync run are sent by the async methods too, which then wait for nothing.
    run = cast("AsyncCallbackManagerForToolRun", manager.new_run(kind, job.config.get("run_id")))
    shown = _copy_visible(tool, job.given)
    details = {
        "name": job.config.get("run_name") or tool.name,
        "tool_call_id": job.call_id,
        "color": "green",
        **job.details,
    }
    try:
        tool_and_input = {"name": tool.name, "description": tool.description}, str(shown)
        inputs = shown if isinstance(shown, dict) else None
        await run.emit_start("on_tool_start", tool_and_input, {"inputs": inputs, **details})
        job.output = output = await _run_in_time(tool, mode, job, run)
    except BaseException as error:
        with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
            await AsyncCallbackManagerForToolRun.on_tool_error(run, error, tool_call_id=job.call_id)
        raise
    copy = copy_message(output) if isinstance(output, BaseMessage) else copy_containers(output)
    await AsyncCallbackManagerForToolRun.on_tool_end(run, copy, color=details["color"], name=tool.name)
    return output


def _configure_manager(tool: RunTool, mode: Mode, job: Job) -> AsyncCallbackManager | CallbackManager | None:
    """Return the manager of the run, or None if nobody listens."""
    callbacks = job.config.get("callbacks")
    verbose = job.verbose or tool.verbose
    if not (tool.callbacks or verbose or is_watched(job.config)):
        return None
    cls = AsyncCallbackManager if mode.is_async else CallbackManager
    return cls.configure(
        callbacks, tool.callbacks, verbose, job.config.get("tags"), tool.tags, job.config.get("metadata"), tool.metadata
    )


def _copy_visible(tool: RunTool, given: str | Mapping[str, object]) -> str | dict[str, object]:
    """Return the arguments as handlers see them: copies, without injected ones."""
    if isinstance(given, str):
        return given
    hidden = tool.arguments.injected
    return {name: copy_containers(value) for name, value in given.items() if name not in hidden}


async def _run_in_time(tool: RunTool, mode: Mode, job: Job, run: AsyncCallbackManagerForToolRun | None) -> object:
    seconds = tool.timeout if job.timeout is None else job.timeout
    if seconds is None or not mode.is_async:
        return await _answer(tool, mode, job, run)
    with Alarm() as alarm:
        alarm.set(seconds)
        return await _answer(tool, mode, job, run)
    raise ToolTimeout(f"it took longer than {seconds:g} s")


async def _answer(tool: RunTool, mode: Mode, job: Job, run: AsyncCallbackManagerForToolRun | None) -> object:
    """Run the tool, and give its result, or a failure that is handled, the form that was asked for."""
    try:
        values = tool.read_arguments(job.given, job.call_id)
    except ValidationError as error:
        return _answer_invalid(tool, job, error)
    try:
        response = await _call(tool, mode, job, run, values)
    except ToolException as error:
        return _answer_failure(tool, job, error)
    artifact: object = None
    if tool.response_format == "content_and_artifact":
        response, artifact = _unpack_artifact(tool, response)
    if job.call_id is None or _is_messages(response):
        return response
    return make_result_message(response, artifact, job.call_id, tool.name)


def _unpack_artifact(tool: RunTool, response: object) -> tuple[object, object]:
    result = response
    if isinstance(result, tuple) and len(pair := cast("tuple[object, ...]", result)) == 2:
        return pair[0], pair[1]
    raise InvalidHook(
        f"{tool.name} has response_format='content_and_artifact': it must return a tuple of two, content and artifact, "
        f"and returned {type(response).__name__}"
    )


async def _call(
    tool: RunTool, mode: Mode, job: Job, run: AsyncCallbackManagerForToolRun | None, values: dict[str, object]
) -> object:
    """Call the tool's function; runs that start inside are this one's children."""
    function = tool.choose_function(mode.is_async)
    signature = read_signature(function)
    config = child_config(job.config)
    if run is not None:
        config = mark_resolved({**config, "callbacks": run.get_child()})
    if signature.config or signature.filled:
        values |= signature.fill(config, _adapt_run(function, mode, run))
    positional, named = signature.bind(values)
    with set_config_context(config):
        if is_async(function):
            return await mode.call_async(function, *positional, **named)
        (response,) = await mode.call_sync(_call_boxed, function, positional, named)
        if inspect.isawaitable(response):  # a sync function that calls an async one
            return await mode.call_async(lambda: response)
        return response


def _call_boxed(function: Callable[..., R], positional: list[object], named: dict[str, object]) -> tuple[R]:
    """Call a sync function; trio lets no coroutine out of a thread, unless it is wrapped."""
    return (function(*positional, **named),)


def _adapt_run(
    function: Callable[..., object], mode: Mode, run: AsyncCallbackManagerForToolRun | None
) -> AsyncCallbackManagerForToolRun | CallbackManagerForToolRun:
    """Return the run as the function can use it: in sync or in async code."""
    if run is None:
        kind = AsyncCallbackManagerForToolRun if is_async(function) else CallbackManagerForToolRun
        return kind.get_noop_manager()
    return run if is_async(function) or not mode.is_async else run.get_sync()


def _is_messages(response: object) -> bool:
    """Whether a tool has answered with messages of its own."""
    if isinstance(response, list):
        items = cast("list[object]", response)
        return bool(items) and all(isinstance(item, ToolMessage) for item in items)
    return isinstance(response, ToolMessage)


def _answer_invalid(tool: RunTool, job: Job, error: ValidationError) -> object:
    """Answer arguments that do not fit the schema, if the tool wants that, or else raise the error."""
    flag = True if job.explain and not tool.handle_validation_error else tool.handle_validation_error
    if not flag:
        raise error
    content: object
    if flag is True:
        arguments = tool.arguments
        problems = explain_validation_error(error, arguments.visible, arguments.injected)
        content = f"Tool input validation error:\n{problems}\nCall {tool.name} again with arguments that fit."
    else:
        content = flag if isinstance(flag, str) else flag(error)
    return content if job.call_id is None else make_error_message(content, job.call_id, tool.name, "invalid_arguments")


def _answer_failure(tool: RunTool, job: Job, error: ToolException) -> object:
    """Answer a `ToolException`, if the tool wants that or the exception itself, or else raise it."""
    if isinstance(error, RetryTool) and job.call_id is not None:
        return make_error_message(str(error) or "Try again, differently.", job.call_id, tool.name, "retry")
    flag = tool.handle_tool_error
    if not flag:
        raise error
    content: object
    if flag is True:
        content = error.args[0] if error.args else "Tool execution error"
    else:
        content = flag if isinstance(flag, str) else flag(error)
    return content if job.call_id is None else make_error_message(content, job.call_id, tool.name, "failed")
