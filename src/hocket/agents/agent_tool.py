"""An agent as a tool of another: it works for the same person, on the same bill, and its events can be seen."""

import math
from collections.abc import Callable
from typing import Any, Protocol, cast

from pydantic import PrivateAttr

from hocket._runtime.stream import Sink
from hocket.agents.context import ContextSchema
from hocket.agents.events import AgentEvent, SubagentEvents
from hocket.agents.middleware import NO_RUNTIME
from hocket.agents.options import RunOptions
from hocket.agents.result import AgentResult
from hocket.errors import InvalidInput, ToolException
from hocket.tools import StructuredTool
from hocket.tools.runtime import Runtime

__all__ = ["AgentTool", "make_agent_tool"]

ContextMaker = Callable[[Runtime], object]


class _InnerAgent(Protocol):
    """What the tool needs of its agent; see `Agent`."""

    @property
    def context_schema(self) -> ContextSchema | None: ...

    @property
    def required_injected(self) -> frozenset[str]: ...

    def check_context(self, context: object) -> object: ...

    async def _execute(
        self,
        input: Any,
        config: None,
        options: RunOptions,
        sink: Sink[AgentEvent] | None,
        *,
        subagents: bool,
    ) -> AgentResult[Any]: ...


class AgentTool(StructuredTool):
    """A tool that asks an agent. Made by `Agent.as_tool`."""

    _agent: _InnerAgent = PrivateAttr()
    _is_context_made: bool = PrivateAttr(default=False)

    @property
    def required_injected(self) -> frozenset[str]:
        """The names of injected arguments that the run outside has to give."""
        return self._agent.required_injected

    def check_schema(self, outer: ContextSchema | None) -> None:
        """Refuse a class of contexts of the agent outside that are none of this agent's.

        Raises:
            InvalidInput: they are none.
        """
        inner = self._agent.context_schema
        if outer is not None and inner is not None and not self._is_context_made and not inner.accepts(outer):
            raise InvalidInput(
                f"the agent {self.name!r} works with a context of {inner.kind.__name__}, and the agent that has it as a "
                f"tool with one of {outer.kind.__name__}: as_tool(..., context=lambda runtime: {inner.kind.__name__}(...))"
            )

    def check_context(self, context: object) -> None:
        """Refuse a context of the run outside that is none of the agent's.

        Raises:
            InvalidInput: it is none.
        """
        if not self._is_context_made:
            self._agent.check_context(context)


def make_agent_tool(
    agent: _InnerAgent, name: str, description: str, make_context: ContextMaker | None, fields: dict[str, Any]
) -> AgentTool:
    """Return a tool that asks an agent.

    Args:
        agent: is asked.
        make_context: returns its context; None: it is that of the run that calls the tool.
        fields: of the tool.
    """

    async def ask(question: str, runtime: Runtime = NO_RUNTIME) -> Any:
        context = runtime.context if make_context is None else make_context(runtime)
        events = cast("Sink[AgentEvent] | None", runtime._events)  # pyright: ignore[reportPrivateUsage]  # for this tool
        sink = None if events is None else SubagentEvents(events, name, runtime.tool_call_id or "")
        options = RunOptions(injected=runtime.injected, context=context)
        # Inside the tool's run: with its callbacks.
        result = await agent._execute(question, None, options, sink, subagents=sink is not None)  # pyright: ignore[reportPrivateUsage]  # with a sink of its own
        if result.output is None:
            raise ToolException(f"it ended without an answer ({result.stop})")
        return result.output

    fields.setdefault("timeout", math.inf)  # each of its own calls has a limit, and the run that calls it has
    made = AgentTool.from_function(coroutine=ask, name=name, description=description, **fields)
    made._agent, made._is_context_made = agent, make_context is not None  # pyright: ignore[reportPrivateUsage]  # of the class above
    return made
