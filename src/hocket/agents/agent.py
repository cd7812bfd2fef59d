"""The agent: a model, its tools, and what it may do, as configuration. No run leaves anything on it."""

import functools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast

from pydantic import PrivateAttr

from hocket._runtime.journal import current_journal
from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.stream import Producer, Sink
from hocket.agents.approval import Continue, Resume
from hocket.agents.calls import SelfResumingTool, may_rerun
from hocket.agents.context import ContextSchema
from hocket.agents.events import AgentEvent, AgentStream, EndEvent, SubagentEvents, SyncAgentStream
from hocket.agents.influence import UNTRUSTED, note_reading
from hocket.agents.limits import AgentLimits, warn_of_unread
from hocket.agents.loop import AgentRun
from hocket.agents.middleware import NO_RUNTIME
from hocket.agents.plan import (
    AgentInput,
    AgentPlan,
    Override,
    RunOptions,
    bind_options,
    coerce_question,
    find_overrides,
)
from hocket.agents.result import AgentResult
from hocket.agents.turn import deliver
from hocket.callbacks.run_facts import AGENT_NAME
from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import InvalidInput, ToolException
from hocket.messages import BaseMessage, HumanMessage
from hocket.runnables import Runnable, RunnableConfig, ensure_config
from hocket.runnables.chain_run import ChainRun
from hocket.tools import BaseTool
from hocket.tools.runtime import Runtime

if TYPE_CHECKING:
    from hocket.runnables.proxy import RunnableBinding

__all__ = ["Agent", "AgentInput", "AgentTool", "RunOptions"]

Output = TypeVar("Output")
T = TypeVar("T")


class Agent(Runnable[AgentInput, AgentResult[Output]], Generic[Output]):
    """A model that works with tools until it is done. Made by `create_agent`; the verbs are those of every runnable.

    Beside ``config``, each call takes `RunOptions`: ``history=``, where the conversation is kept, and others.

    Attributes:
        name: of its runs, for handlers.
        limits: of each run, unless a call has its own.
    """

    def __init__(self, plan: AgentPlan, limits: AgentLimits, name: str | None) -> None:
        self.name: str | None = name
        self.limits: AgentLimits = limits
        self._plan = plan
        self._agents_inside = [tool for tool in plan.tools.values() if isinstance(tool, AgentTool)]
        for tool in self._agents_inside:
            tool.check_schema(plan.context)

    def __repr__(self) -> str:
        plan, name = self._plan, "" if self.name is None else f"{self.name!r}: "
        tools = ", ".join(plan.tools) or "no tools"
        model = plan.model if isinstance(plan.model, str) else plan.model.get_name()
        return f"<Agent {name}{model} with {tools}>"

    @property
    def may_pause(self) -> bool:
        """Whether a run may end before it is done, since a call waits for a person."""
        return bool(self._plan.approvals) or any(one.may_pause for one in self._plan.middleware)

    @property
    def has_typed_output(self) -> bool:
        """Whether a run ends with an object, and not with a text."""
        return self._plan.answer is not None

    @property
    def context_schema(self) -> ContextSchema | None:
        """The class of the contexts; None: any object is one."""
        return self._plan.context

    @property
    def required_injected(self) -> frozenset[str]:
        """The names of the injected arguments that a call has to give, for its tools and those of agents among them."""
        return frozenset[str]().union(*(tool.required_injected for tool in self._plan.tools.values()))

    @property
    def idempotent_tools(self) -> frozenset[str]:
        """The names of the tools whose calls may be made again where their end is unknown."""
        return frozenset(name for name, tool in self._plan.tools.items() if may_rerun(tool, Continue()))

    def read_output(self, written: object) -> Any:
        """Return the output of a run of which this is the JSON.

        Raises:
            OutputParserException: it is none of this agent's.
        """
        return written if self._plan.answer is None else self._plan.answer.read_text(json.dumps(written))

    def check_context(self, context: object) -> object:
        """Return the context of a call as the agent's ``context_schema`` has it; agents among its tools accept it, too.

        Raises:
            InvalidInput: it is none.
        """
        read = context if self._plan.context is None else self._plan.context.read(context)
        for tool in self._agents_inside:
            tool.check_context(read)
        return read

    async def ainvoke(  # type: ignore[override]  # of the options of every runnable it takes its own
        self, input: AgentInput, config: RunnableConfig | None = None, **options: Unpack[RunOptions]
    ) -> AgentResult[Output]:
        """Run the agent to its end, or to its next pause.

        Args:
            input: see `AgentInput`.
            config: callbacks, tags, metadata of the run.
            options: see `RunOptions`; a name that is not known is refused.

        Raises:
            InvalidInput: the input or the context is none of these, or is empty; a tool needs what is not injected;
                an option is not of its kind; or there is nothing to resume. Nothing was run.
            ContentFiltered: the model refuses, and says nothing, or ``response_format`` asks for an object.
            LimitReached: a limit was reached, and ``at_limit`` is "raise".
            Exception: what the model, or the history, raises.
        """
        return await self._execute(input, config, options, None)

    def invoke(  # type: ignore[override]  # as above
        self, input: AgentInput, config: RunnableConfig | None = None, **options: Unpack[RunOptions]
    ) -> AgentResult[Output]:
        """Run the agent: the sync face of `ainvoke`. It runs on hocket's own event loop."""
        return super().invoke(input, config, **options)

    def astream(  # type: ignore[override]
        self,
        input: AgentInput,
        config: RunnableConfig | None = None,
        *,
        subagents: bool = False,
        **options: Unpack[RunOptions],
    ) -> AgentStream[Output]:
        """Run the agent, and return what happens as it happens; the last event, "end", has the result.

        With ``subagents`` the events of the agents among its tools are there, too, those further inside included: they
        have the ``agent``'s name and the ``path`` of calls that led to it.

        Leaving the stream cancels the run; finished steps are stored, and of an answer under way the text that was read,
        flagged ``"partial": True`` in its ``response_metadata``, and ``"closed": True``, which one that broke off has not.
        """
        return AgentStream(self._producer(input, config, options, subagents=subagents))

    def stream(  # type: ignore[override]
        self,
        input: AgentInput,
        config: RunnableConfig | None = None,
        *,
        subagents: bool = False,
        **options: Unpack[RunOptions],
    ) -> SyncAgentStream[Output]:
        """Run the agent, and return what happens as it happens: the sync face of `astream`."""
        return SyncAgentStream(self._producer(input, config, options, subagents=subagents))

    def override(self, **parts: Unpack["_OverriddenParts"]) -> Override:
        """Return a block, ``with agent.override(model=...):``, in which the agent's runs use other parts: for tests.

        It holds in this task and in what it starts; other tasks do not see it. Agents among the tools keep theirs.

        Args:
            parts: ``model``; ``tools``, in the place of the agent's tools of the same names; ``context``.

        Raises:
            InvalidInput: a tool has another name than those of the agent, or the agent has no such part.
        """
        if others := parts.keys() - _OverriddenParts.__annotations__.keys():
            raise InvalidInput(f"override takes no {sorted(others)[0]!r}; there are model, tools and context")
        return Override(self._plan, cast(RunOptions, parts))

    def as_tool(  # type: ignore[override]  # an agent takes a text, so that there is no schema to give
        self,
        name: str | None = None,
        description: str = "",
        *,
        context: Callable[[Runtime], object] | None = None,
        **kwargs: Any,
    ) -> BaseTool:
        """Return a tool that has this agent do something: it takes one text, and returns the agent's output.

        It shares the callbacks, the cancellation, the deadline, the bill and the injected arguments of the run that calls
        it, whose limit on tokens holds for both together. A call of it may take as long as that run, unless a ``timeout``
        is given.

        Args:
            name: of the tool; default: the agent's.
            description: tells the model when to call it.
            context: returns this agent's context, of the runtime of the run that calls it. Default: that run's context.
            kwargs: further fields of the tool: ``timeout``, ``return_direct``.

        Raises:
            InvalidInput: there is no name, or no description; or the agent may pause, for which a tool cannot wait.
        """
        if self.may_pause:
            raise InvalidInput(
                "an agent whose calls may wait for a person cannot be a tool: no person can be asked while it runs; make it "
                "without interrupt_on, and name the tool in interrupt_on of the agent that has it"
            )
        name = name or self.name
        if not name or not description:
            raise InvalidInput(
                f"name is {name!r} and description {description!r}; a tool needs both: as_tool('research', 'Finds out ...')"
            )
        return _make_agent_tool(self, name, description, context, kwargs)

    if TYPE_CHECKING:

        def bind(self, **kwargs: object) -> "AgentBinding[Output]": ...

        def with_config(self, config: RunnableConfig | None = None, **kwargs: object) -> "AgentBinding[Output]": ...

    # -- one run

    async def _produce(
        self,
        mode: Mode,
        input: AgentInput,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[AgentResult[Output]],
    ) -> None:
        """Push the events into a chain's sink, which says whether the chain was left; to read a stream would not."""
        if mode.is_async:
            await self._execute(input, config, cast(RunOptions, kwargs), cast("Sink[AgentEvent]", sink))
        else:
            await super()._produce(mode, input, config, kwargs, sink)

    def _producer(
        self, input: AgentInput, config: RunnableConfig | None, options: RunOptions, *, subagents: bool = False
    ) -> Producer[AgentEvent]:
        config = ensure_config(config)

        async def produce(sink: Sink[AgentEvent]) -> None:
            await self._execute(input, config, options, sink, subagents=subagents)

        return produce

    async def _execute(
        self,
        input: AgentInput,
        config: RunnableConfig | None,
        options: RunOptions,
        sink: Sink[AgentEvent] | None,
        *,
        subagents: bool = False,
        call_id: str | None = None,
    ) -> AgentResult[Output]:
        journal, given = current_journal.get(), options.get("history")
        is_refused = isinstance(input, Resume) if given is None else not isinstance(given, BaseChatMessageHistory)  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        if journal is None or is_refused:
            result = await self._run(input, config, options, sink, subagents)
        else:  # inside a durable run it goes on after a crash, by a history of the run's or by the one that was given

            async def run(asked: object, history: object) -> AgentResult[Output]:
                kept = cast(RunOptions, {**options, "history": history})
                return await self._run(cast(AgentInput, asked), config, kept, sink, subagents)

            result = await journal.run_agent(self, input, call_id, given, run)
        await deliver(sink, EndEvent(result=result))
        return result

    async def _run(
        self,
        input: AgentInput,
        config: RunnableConfig | None,
        options: RunOptions,
        sink: Sink[AgentEvent] | None,
        subagents: bool,
    ) -> AgentResult[Output]:
        options, replaced = find_overrides(self._plan, options)
        name = self.get_name()
        call = bind_options(options, self.limits, name, sink if subagents else None)
        asked = coerce_question(input, call.history)
        if (context := self.check_context(call.context)) is not call.context:
            call = replace(call, context=context)
        plan = await self._plan.prepare(options, replaced)
        call.limits.check_tools(plan.tools)
        for one in self._plan.middleware:
            if one.may_pause and call.history is None:
                raise InvalidInput(f"{type(one).__name__} has calls wait, which takes a history: pass history=...")
            one.check_tools(plan.tools)
        warn_of_unread(config, has_history=call.history is not None)
        run = ChainRun(ASYNC, name, ensure_config(config), own_metadata={AGENT_NAME: name})
        agent_run = AgentRun[Output](plan, call, run, sink)
        work = functools.partial(agent_run.execute, asked)
        return await run.execute(input, work, lambda: sink is not None and sink.closed)


class _OverriddenParts(TypedDict, total=False):
    """The parts of an agent that `Agent.override` takes."""

    model: Any
    tools: Any
    context: object


class AgentTool(SelfResumingTool):
    """A tool that asks an agent. Made by `Agent.as_tool`."""

    _agent: Agent[Any] = PrivateAttr()
    _is_context_made: bool = PrivateAttr(default=False)

    @property
    def required_injected(self) -> frozenset[str]:
        """The names of injected arguments that the run outside has to give."""
        return self._agent.required_injected

    def check_schema(self, outer: ContextSchema | None) -> None:
        """Refuse the class of contexts of an agent outside whose contexts are none of this agent's."""
        inner = self._agent.context_schema
        if outer is not None and inner is not None and not self._is_context_made and not inner.accepts(outer):
            raise InvalidInput(
                f"the agent {self.name!r} works with a context of {inner.kind.__name__}, and the agent that has it as a "
                f"tool with one of {outer.kind.__name__}: as_tool(..., context=lambda runtime: {inner.kind.__name__}(...))"
            )

    def check_context(self, context: object) -> None:
        """Refuse a context of the run outside that is none of the agent's."""
        if not self._is_context_made:
            self._agent.check_context(context)


def _make_agent_tool(
    agent: Agent[Any],
    name: str,
    description: str,
    make_context: Callable[[Runtime], object] | None,
    fields: dict[str, Any],
) -> AgentTool:
    async def ask(question: str, runtime: Runtime = NO_RUNTIME) -> Any:
        context = runtime.context if make_context is None else make_context(runtime)
        events = cast("Sink[AgentEvent] | None", runtime._events)  # pyright: ignore[reportPrivateUsage]  # for this tool
        sink = None if events is None else SubagentEvents(events, name, runtime.tool_call_id or "")
        options = RunOptions(injected=runtime.injected, context=context)
        is_tainted = note_reading(runtime.messages, runtime._tools)  # pyright: ignore[reportPrivateUsage]  # as above
        asked = HumanMessage(question, response_metadata={**UNTRUSTED}) if is_tainted else question
        read: Sequence[BaseMessage] = [HumanMessage("", response_metadata={**UNTRUSTED})]  # where nobody can tell
        ask = functools.partial(agent._execute, subagents=sink is not None, call_id=runtime.tool_call_id)  # pyright: ignore[reportPrivateUsage]  # with a sink of its own
        try:  # inside the tool's run: with its callbacks
            result = await ask(asked, None, options, sink)
            read = result.messages
        finally:
            note_reading(read, agent._plan.tools)  # pyright: ignore[reportPrivateUsage]  # what it has run
        if result.output is None:
            raise ToolException(f"it ended without an answer ({result.stop}); ask for less, or go on without it")
        return result.output

    fields.setdefault("timeout", math.inf)  # each of its own calls has a limit, and the run that calls it has
    made = AgentTool.from_function(coroutine=ask, name=name, description=description, **fields)
    made._agent, made._is_context_made = agent, make_context is not None  # pyright: ignore[reportPrivateUsage]  # of the class above
    return made


if TYPE_CHECKING:

    class AgentBinding(RunnableBinding[AgentInput, AgentResult[Output]], Generic[Output]):
        """What `Agent.bind` and `Agent.with_config` return, for type checkers: it streams the agent's events."""

        def astream(  # type: ignore[override]
            self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: object
        ) -> AgentStream[Output]: ...

        def stream(  # type: ignore[override]
            self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: object
        ) -> SyncAgentStream[Output]: ...

        def bind(self, **kwargs: object) -> "AgentBinding[Output]": ...

        def with_config(self, config: RunnableConfig | None = None, **kwargs: object) -> "AgentBinding[Output]": ...
