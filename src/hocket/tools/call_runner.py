"""One tool call of a model, run: it is answered by exactly one message, whatever happens.

A call that fails, takes too long or is cancelled is answered with what the model can make use of. So the conversation
stays whole: providers refuse one in which a call has no answer.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import cast

from hocket._runtime.cancellation import is_stray
from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput, StopRun, ToolException, ToolTimeout
from hocket.errors.hints import LONGEST_NAME, excerpt, near_name
from hocket.messages import InvalidToolCall, ToolCall, ToolMessage
from hocket.runnables import RunnableConfig
from hocket.tools.base import BaseTool
from hocket.tools.result_messages import cut_result, make_error_message
from hocket.tools.run import Job, run_tool
from hocket.tools.runtime import Runtime

__all__ = ["Call", "CallRunner"]

_LONGEST = 2_000  # characters of a failure that the model is told

Call = ToolCall | InvalidToolCall
"""A call of a tool as a model wrote it, with arguments that can be read or not."""

_Failures = list[Exception] | None


class CallRunner:
    """Runs the tool calls of a message, one by one, or many at once.

    Args:
        tools: those that may be called, by name.
        timeout: seconds that a call may take, where its tool has no limit of its own.
        timeouts: the same for single tools, by name; they go before the tools' own.
        max_result_chars: of a result; what is longer is cut.
        shorten: makes a result short enough instead.
        config: for the run of each tool.
        injected: values of injected arguments, by name.
        make_runtime: returns what a tool is told of the run, for the id of its call; None: nobody knows.

    Attributes:
        tools: those that may be called now.
        config: the same.

    Raises:
        InvalidInput: a limit is not above 0.
    """

    def __init__(
        self,
        tools: Mapping[str, BaseTool],
        config: RunnableConfig,
        *,
        timeout: float | None = None,
        timeouts: Mapping[str, float] | None = None,
        max_result_chars: int | None = None,
        injected: Mapping[str, object] | None = None,
        shorten: Callable[[ToolMessage], Awaitable[ToolMessage]] | None = None,
        make_runtime: Callable[[str], Runtime] | None = None,
    ) -> None:
        if timeout is not None and not (isinstance(cast(object, timeout), int | float) and timeout > 0):
            raise InvalidInput(f"timeout is {timeout!r}; it is seconds above 0, or None")
        if max_result_chars is not None and not (
            isinstance(cast(object, max_result_chars), int) and max_result_chars > 0
        ):
            raise InvalidInput(f"max_result_chars is {max_result_chars!r}; it is a whole number above 0, or None")
        self.tools: Mapping[str, BaseTool] = tools
        self._timeout = timeout
        self._timeouts = timeouts or {}
        self._max_result_chars = max_result_chars
        self.config: RunnableConfig = config
        self._injected = injected or {}
        self._shorten = shorten
        self._make_runtime = make_runtime
        self._stops: list[tuple[Call, StopRun]] = []
        self._unreturned: dict[str, ToolMessage] = {}  # by the ids of the calls

    def get_tool(self, name: str | None) -> BaseTool | None:
        """Return the tool of a name, if there is one."""
        return self.tools.get(name or "")

    def check_injected(self, names: Iterable[str | None]) -> None:
        """Refuse to start where a tool of one of these names would lack what only the application can give.

        Raises:
            InvalidInput: an injected argument, or the context of a `Runtime`, is missing.
        """
        for name in names:
            tool = self.get_tool(name)
            if tool is None:
                continue
            if self._make_runtime is None and tool.arguments.required_runtimes:
                raise InvalidInput(f"{name} takes a Runtime: pass context=..., which is its context")
            missing = sorted(tool.required_injected - self._injected.keys())
            if missing:
                raise InvalidInput(f"{name} needs injected arguments: pass injected={{{missing[0]!r}: ...}}")

    def find_stop(self, calls: Sequence[Call]) -> StopRun | None:
        """Return what a tool raised to stop the run: that of the first of ``calls``, if there are several."""
        return next((stop for call in calls for other, stop in self._stops if _is_same(other, call)), None)

    def find_result(self, call: Call) -> ToolMessage | None:
        """Return the result of a call that was cancelled after its tool had ended, while handlers were told so."""
        result = self._unreturned.get(call["id"] or "")
        return None if result is None else self._fit(result, call["id"] or "")

    async def answer(self, call: Call) -> ToolMessage:
        """Run a call, and return the message that answers it. Only a cancellation gets out."""
        return await self.answer_by(self.get_tool(call["name"]), call)

    async def answer_by(self, tool: BaseTool | None, call: Call, failures: _Failures = None) -> ToolMessage:
        """Run a call by a tool, which need not be the one that it names, and return its answer; see `guard`."""
        name, call_id = call["name"], call["id"] or ""
        if tool is None:
            shown = None if name is None else name[:LONGEST_NAME]  # a model may make up a megabyte of it
            return make_error_message(self._describe_unknown(name), call_id, shown, "unknown_tool")
        arguments = call["args"]
        if not isinstance(arguments, dict):
            reason = str(call.get("error") or "they are not a JSON object")[:_LONGEST]
            text = f"The arguments of {name} could not be read: {reason}. Call it again with valid JSON."
            return make_error_message(text, call_id, name, "invalid_arguments")
        return await self.guard(call, lambda: self._run(tool, arguments, call_id), failures)

    async def guard(
        self, call: Call, work: Callable[[], Awaitable[ToolMessage]], failures: _Failures = None
    ) -> ToolMessage:
        """Return what ``work`` returns, or the message that says how it failed, and add the failure to ``failures``.

        Only a cancellation gets out.
        """
        name, call_id = call["name"] or "", call["id"] or ""
        try:
            result = await work()
        except StopRun as stop:
            self._stops.append((call, stop))
            return make_error_message(str(stop) or "The run was stopped.", call_id, name, "stopped")
        except Exception as error:
            if failures is not None:
                failures.append(error)
            return make_error_message(_describe_failure(name, error), call_id, name, _get_error_kind(error))
        except BaseException as error:
            if not is_stray(error):
                raise
            return make_error_message(f"{name} was cancelled before it was done.", call_id, name, "cancelled")
        if self._shorten is None:
            return self._fit(result, call_id)
        self._unreturned[call_id] = result  # what is cancelled from here on has a result
        return await self._shorten(_name(result, call_id))

    def _fit(self, result: ToolMessage, call_id: str) -> ToolMessage:
        """Return a result as it answers its call: with its id, and not too long."""
        result = _name(result, call_id)
        return result if self._max_result_chars is None else cut_result(result, self._max_result_chars)

    async def _run(self, tool: BaseTool, arguments: dict[str, object], call_id: str) -> ToolMessage:
        declared = tool.arguments
        hidden = declared.injected
        given = {key: value for key, value in arguments.items() if key not in hidden}  # the model may have guessed
        given |= {key: self._injected[key] for key in hidden if key in self._injected}
        if self._make_runtime is not None and declared.runtimes:
            given |= dict.fromkeys(declared.runtimes, self._make_runtime(call_id))
        seconds = self._timeouts.get(tool.name, self._timeout if tool.timeout is None else tool.timeout)
        job = Job(given, call_id, self.config, timeout=seconds, explain=True)
        try:
            output = await run_tool(tool, ASYNC, job)
        except BaseException:
            if isinstance(job.output, ToolMessage):
                self._unreturned[call_id] = job.output
            raise
        if isinstance(output, list):
            count = len(cast("list[object]", output))
            raise ToolException(f"it returned {count} messages; a call is answered by one")
        return cast(ToolMessage, output)

    def _describe_unknown(self, name: str | None) -> str:
        near = near_name(name or "", self.tools)
        hint = f" Did you mean {near!r}?" if near else ""
        return f"There is no tool named {excerpt(name)}.{hint} The tools are: {', '.join(self.tools) or 'none'}."


def _name(result: ToolMessage, call_id: str) -> ToolMessage:
    return result if result.tool_call_id == call_id else result.model_copy(update={"tool_call_id": call_id})


def _is_same(one: Call, other: Call) -> bool:
    """Whether both are one call: a middleware may have changed all of it but its id."""
    return one is other or (one["id"] is not None and one["id"] == other["id"])


def _describe_failure(name: str, error: Exception) -> str:
    if isinstance(error, ToolTimeout):
        return f"{name} failed: {error}. Try something smaller, or go on without it."
    try:
        text = str(error)
    except Exception:  # a class of the tool's own, whose text fails in its turn
        text = "its text cannot be written"
    kind = "" if isinstance(error, ToolException) else f"{type(error).__name__}: "
    return f"{name} failed: {kind}{text}"[:_LONGEST]


def _get_error_kind(error: Exception) -> str:
    return "timeout" if isinstance(error, ToolTimeout) else "failed"
