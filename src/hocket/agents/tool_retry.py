"""A call of a tool that failed for the moment is made again."""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from hocket._runtime.mode import ASYNC
from hocket.agents.middleware import AgentMiddleware, ToolCallRequest
from hocket.errors import InvalidInput, ToolTimeout
from hocket.errors.hints import explain_arguments
from hocket.messages import ToolMessage

__all__ = ["ToolRetryMiddleware"]


class ToolRetryMiddleware(AgentMiddleware):
    """Makes a call of a tool again that failed for the moment; the model is told of the last failure alone.

    Nobody knows how far a failed call had come: a tool that must not do its work twice says
    ``metadata={"idempotent": False}``, and is never called again. Each of the calls has the limit on time that one call
    has; that of the run, ``AgentLimits(seconds=)``, ends the waits, too.

    Args:
        max_retries: calls after the first one.
        tools: names of the tools that are called again; None: all.
        retry_on: the classes of the exceptions after which they are.
        initial_delay: seconds before the second call.
        backoff_factor: how many times longer each later wait is than the one before.
        max_delay: seconds of a wait at most.

    Raises:
        InvalidInput: a number is below 0, ``tools`` is no list of names, or ``retry_on`` no tuple of exceptions.
    """

    @explain_arguments(jitter="leave it out", on_failure="leave it out: the model is told of the failure")
    def __init__(
        self,
        max_retries: int = 2,
        *,
        tools: Sequence[str] | None = None,
        retry_on: tuple[type[Exception], ...] = (ToolTimeout, ConnectionError),
        initial_delay: float = 1.0,
        backoff_factor: float = 2.0,
        max_delay: float = 60.0,
    ) -> None:
        seconds = {"initial_delay": initial_delay, "backoff_factor": backoff_factor, "max_delay": max_delay}
        for name, value in {"max_retries": max_retries, **seconds}.items():
            wanted = (int,) if name == "max_retries" else (int, float)
            if type(value) not in wanted or not 0 <= value < math.inf:
                raise InvalidInput(f"{name} is {value!r}; it is a {'whole ' * (len(wanted) < 2)}number of at least 0")
        if isinstance(tools, str):
            raise InvalidInput(f"tools is {tools!r:.100}; it is a list of the names of tools, or None")
        try:
            isinstance(self, retry_on)
        except TypeError:
            raise InvalidInput(f"retry_on is {retry_on!r:.100}; it is a tuple of classes of exceptions") from None
        self._max_retries = max_retries
        self._tools = None if tools is None else frozenset(tools)
        self._retry_on = retry_on
        self._delays = float(initial_delay), backoff_factor, max_delay

    async def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> ToolMessage:
        """Make the call until it is answered, or may not be made again."""
        delay, factor, longest = self._delays
        tool = request.tool
        may_repeat = tool is not None and (tool.metadata or {}).get("idempotent") is not False
        is_meant = self._tools is None or (tool is not None and tool.name in self._tools)
        for _ in range(self._max_retries if may_repeat and is_meant else 0):
            seen = len(request.failures)
            result = cast(ToolMessage, await handler(request))
            failed = result.status == "error" and request.failures[seen:]
            if not failed or not isinstance(failed[-1], self._retry_on):
                return result
            await ASYNC.sleep(min(delay, longest))
            delay *= factor
        return cast(ToolMessage, await handler(request))
