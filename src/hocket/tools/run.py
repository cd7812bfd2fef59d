"""One run of a tool: told to its handlers, its arguments read, its function called, its result made a message.

There is one path for sync and async, as for models: what may wait is asked of the runtime. A sync function runs in the
caller's thread under `invoke`, and in a worker thread under `ainvoke`; an async one on the caller's loop, or on hocket's
kept one.
"""

import contextlib
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hocket._runtime.alarm import Alarm
from hocket._runtime.runtime import Runtime
from hocket.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForToolRun,
    CallbackManager,
    CallbackManagerForToolRun,
)
from hocket.errors import InvalidHook, RetryTool, ToolException, ToolTimeout
from hocket.messages import BaseMessage, ToolMessage
from hocket.messages.base import copy_containers, copy_message
from hocket.runnables import RunnableConfig
from hocket.runnables.chain_run import child_config, is_watched
from hocket.runnables.config import mark_resolved, set_config_context
from hocket.tools.output import error_message, explained, result_message
from hocket.tools.signature import is_async, signature_of

if TYPE_CHECKING:
    from hocket.tools.base import BaseTool

__all__ = ["Job", "run_tool"]


@dataclass
class Job:
    """One call of a tool.

    Args:
        given: the arguments; a text stands for the only one.
        call_id: of the tool call that is answered; None: nobody asked for a message.
        config: of the call.
        verbose: whether to print.
        timeout: seconds that it may take; async runs only.
        explain: whether invalid arguments are explained, if the tool has no answer of its own.
        details: what handlers are told besides.
    """

    given: str | Mapping[str, Any]
    call_id: str | None
    config: RunnableConfig
    verbose: bool = False
    timeout: float | None = None
    explain: bool = False
    details: dict[str, Any] = field(default_factory=dict)


async def run_tool(tool: "BaseTool", runtime: Runtime, job: Job) -> Any:
    """Run a tool as a run of its own.

    Returns:
        what the tool returned; with a ``call_id``, as a `ToolMessage`.

    Raises:
        BaseException: what the tool raised and does not handle.
    """
    manager = _manager(tool, runtime, job)
    if manager is None:
        return await _in_time(tool, runtime, job, None)
    run: Any = manager.new_run(
        AsyncCallbackManagerForToolRun if runtime.is_async else CallbackManagerForToolRun, job.config.get("run_id")
    )
    shown = _shown(tool, job.given)
    details = {
        "name": job.config.get("run_name") or tool.name,
        "tool_call_id": job.call_id,
        "color": "green",
        **job.details,
    }
    try:
        asked = {"name": tool.name, "description": tool.description}, str(shown)
        inputs = shown if isinstance(shown, dict) else None
        await run._tell_start("on_tool_start", asked, {"inputs": inputs, **details})
        output = await _in_time(tool, runtime, job, run)
    except BaseException as error:
        with contextlib.suppress(Exception):  # of a handler: a run that has failed keeps its own error
            await AsyncCallbackManagerForToolRun.on_tool_error(run, error, tool_call_id=job.call_id)
        raise
    told = copy_message(output) if isinstance(output, BaseMessage) else copy_containers(output)
    await AsyncCallbackManagerForToolRun.on_tool_end(run, told, color=details["color"], name=tool.name)
    return output


def _manager(tool: "BaseTool", runtime: Runtime, job: Job) -> AsyncCallbackManager | CallbackManager | None:
    """Return the manager of the run, or None if nobody listens."""
    callbacks = job.config.get("callbacks")
    verbose = job.verbose or tool.verbose
    if not (tool.callbacks or verbose or is_watched(job.config)):
        return None
    cls = AsyncCallbackManager if runtime.is_async else CallbackManager
    return cls.configure(
        callbacks, tool.callbacks, verbose, job.config.get("tags"), tool.tags, job.config.get("metadata"), tool.metadata
    )


def _shown(tool: "BaseTool", given: str | Mapping[str, Any]) -> Any:
    """The arguments as handlers see them: copies, without what is injected."""
    if isinstance(given, str):
        return given
    hidden = tool.arguments.injected
    return {name: copy_containers(value) for name, value in given.items() if name not in hidden}


async def _in_time(tool: "BaseTool", runtime: Runtime, job: Job, run: Any) -> Any:
    if job.timeout is None:
        return await _output(tool, runtime, job, run)
    with Alarm() as alarm:
        alarm.set(job.timeout)
        return await _output(tool, runtime, job, run)
    raise ToolTimeout(f"it took longer than {job.timeout:g} s")


async def _output(tool: "BaseTool", runtime: Runtime, job: Job, run: Any) -> Any:
    """Run the tool, and give its result, or a failure that is handled, the form that was asked for."""
    try:
        values = tool._read(job.given, job.call_id)
    except ValidationError as error:
        return _invalid(tool, job, error)
    try:
        response = await _call(tool, runtime, job, run, values)
    except ToolException as error:
        return _handled(tool, job, error)
    artifact = None
    if tool.response_format == "content_and_artifact":
        if not isinstance(response, tuple) or len(response) != 2:
            raise InvalidHook(
                f"{tool.name} has response_format='content_and_artifact': it must return a tuple of two, content and "
                f"artifact, and returned {type(response).__name__}"
            )
        response, artifact = response
    if job.call_id is None or _is_messages(response):
        return response
    return result_message(response, artifact, job.call_id, tool.name)


async def _call(tool: "BaseTool", runtime: Runtime, job: Job, run: Any, values: dict[str, Any]) -> Any:
    """Call the tool's function; runs that start inside are this one's children."""
    function = tool._function(runtime.is_async)
    signature = signature_of(function)
    config = child_config(job.config)
    if run is not None:
        config = mark_resolved({**config, "callbacks": run.get_child()})
    if signature.config or signature.filled:
        values |= signature.fill(config, _seen_by(function, runtime, run))
    positional, named = signature.bind(values)
    with set_config_context(config):
        if is_async(function):
            return await runtime.call_async(function, *positional, **named)
        (response,) = await runtime.call_sync(_boxed, function, positional, named)
        if inspect.isawaitable(response):  # a sync function that calls an async one
            return await runtime.call_async(lambda: response)
        return response


def _boxed(function: Any, positional: list[Any], named: dict[str, Any]) -> tuple[Any]:
    """Call a sync function; trio lets no coroutine out of a thread, unless it is wrapped."""
    return (function(*positional, **named),)


def _seen_by(function: Any, runtime: Runtime, run: Any) -> Any:
    """The run as the function can use it: in sync or in async code."""
    if run is None:
        kind = AsyncCallbackManagerForToolRun if is_async(function) else CallbackManagerForToolRun
        return kind.get_noop_manager()
    return run if is_async(function) or not runtime.is_async else run.get_sync()


def _is_messages(response: Any) -> bool:
    """Whether a tool has answered with messages of its own."""
    if isinstance(response, list):
        return bool(response) and all(isinstance(item, ToolMessage) for item in response)
    return isinstance(response, ToolMessage)


def _invalid(tool: "BaseTool", job: Job, error: ValidationError) -> Any:
    """Answer arguments that do not fit the schema, if the tool wants that, or else raise the error."""
    flag = True if job.explain and not tool.handle_validation_error else tool.handle_validation_error
    if not flag:
        raise error
    content: Any
    if flag is True:
        arguments = tool.arguments
        said = explained(error, arguments.visible, arguments.injected)
        content = f"Tool input validation error:\n{said}\nCall {tool.name} again with arguments that fit."
    else:
        content = flag if isinstance(flag, str) else flag(error)
    return content if job.call_id is None else error_message(content, job.call_id, tool.name, "invalid_arguments")


def _handled(tool: "BaseTool", job: Job, error: ToolException) -> Any:
    """Answer a `ToolException`, if the tool wants that or the exception itself, or else raise it."""
    if isinstance(error, RetryTool) and job.call_id is not None:
        return error_message(str(error) or "Try again, differently.", job.call_id, tool.name, "retry")
    flag = tool.handle_tool_error
    if not flag:
        raise error
    content: Any
    if flag is True:
        content = error.args[0] if error.args else "Tool execution error"
    else:
        content = flag if isinstance(flag, str) else flag(error)
    return content if job.call_id is None else error_message(content, job.call_id, tool.name, "failed")
