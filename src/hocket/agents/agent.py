"""The agent: a model, its tools, and what it may do, as configuration. No run leaves anything on it."""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast

from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.stream import Producer, Sink
from hocket.agents.approval import Resume
from hocket.agents.events import AgentEvent, AgentStream, Backlog, EndEvent, SyncAgentStream
from hocket.agents.limits import AgentLimits
from hocket.agents.loop import AgentRun
from hocket.agents.plan import AgentPlan
from hocket.agents.result import AgentResult
from hocket.callbacks.run_facts import AGENT_NAME
from hocket.chat_history import BaseChatMessageHistory
from hocket.chat_history.turn import coerce_messages
from hocket.errors import InvalidInput, ToolException
from hocket.message_toolkit.repair import is_empty, repair_history
from hocket.messages import BaseMessage, HumanMessage, convert_to_messages
from hocket.prompt_values import PromptValue
from hocket.runnables import Runnable, RunnableConfig, ensure_config
from hocket.runnables.chain_run import ChainRun
from hocket.tools import BaseTool, StructuredTool
from hocket.tools.call_runner import CallRunner

if TYPE_CHECKING:
    from hocket.runnables.proxy import RunnableBinding

__all__ = ["Agent", "AgentInput", "RunOptions"]

Output = TypeVar("Output")
T = TypeVar("T")

AgentInput = str | BaseMessage | Sequence[BaseMessage] | PromptValue | Mapping[str, Any] | Resume
"""A text, messages, what a prompt makes of its variables, LangChain's ``{"messages": [...]}``, or what goes on with the last
run of a history."""


class RunOptions(TypedDict, total=False):
    """What each verb of an agent takes, by name, beside its input and its config.

    Attributes:
        history: what was said before is read from it, and each message of the run is stored in it before what the
            message causes. One run of a conversation at a time: others wait.
        limits: of this run, instead of the agent's.
        injected: values of the arguments that tools mark with `InjectedToolArg`, by name. The model never sees them.
    """

    history: BaseChatMessageHistory | None
    limits: AgentLimits | None
    injected: Mapping[str, object] | None


class Agent(Runnable[AgentInput, AgentResult[Output]], Generic[Output]):
    """A model that works with tools until it is done. Made by `create_agent`; the verbs are those of every runnable.

    Beside ``config``, each call takes `RunOptions`: ``history=``, where the conversation is kept, and others.

    Attributes:
        name: of its runs, for handlers.
        limits: of each run, unless a call has its own.
    """

    def __init__(self, plan: AgentPlan[Output], limits: AgentLimits, name: str | None) -> None:
        self.name: str | None = name
        self.limits: AgentLimits = limits
        self._plan = plan

    def __repr__(self) -> str:
        plan, name = self._plan, "" if self.name is None else f"{self.name!r}: "
        tools = ", ".join(plan.tools) or "no tools"
        return f"<Agent {name}{plan.model.get_name()} with {tools}>"

    @property
    def may_pause(self) -> bool:
        """Whether a run may end before it is done, since a call waits for a person."""
        return bool(self._plan.approvals)

    async def ainvoke(  # type: ignore[override]  # of the options of every runnable it takes its own
        self, input: AgentInput, config: RunnableConfig | None = None, **options: Unpack[RunOptions]
    ) -> AgentResult[Output]:
        """Run the agent to its end, or to its next pause.

        Args:
            input: see `AgentInput`.
            config: callbacks, tags, metadata of the run.
            options: see `RunOptions`; a name that is not known is refused.

        Raises:
            InvalidInput: the input is none of these, or says nothing; a tool needs what is not injected; or there is
                nothing to resume. Nothing was run.
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
        self, input: AgentInput, config: RunnableConfig | None = None, **options: Unpack[RunOptions]
    ) -> AgentStream[Output]:
        """Run the agent, and return what happens as it happens; the last event, "end", has the result.

        Leaving the stream cancels the run; what was finished is stored, and of an answer under way the text that was read,
        flagged ``"partial": True`` in its ``response_metadata``.
        """
        backlog = Backlog()
        return AgentStream(self._producer(input, config, options, backlog), backlog)

    def stream(  # type: ignore[override]
        self, input: AgentInput, config: RunnableConfig | None = None, **options: Unpack[RunOptions]
    ) -> SyncAgentStream[Output]:
        """Run the agent, and return what happens as it happens: the sync face of `astream`."""
        backlog = Backlog()
        return SyncAgentStream(self._producer(input, config, options, backlog), backlog)

    def as_tool(  # type: ignore[override]  # an agent takes a text, so that there is no schema to give
        self, name: str | None = None, description: str = "", **kwargs: Any
    ) -> BaseTool:
        """Return a tool that has this agent do something: it takes one text, and returns the agent's output.

        It shares the callbacks, the cancellation, the deadline and the bill of the run that calls it, whose limit on
        tokens holds for both together. A call of it may take as long as that run, unless a ``timeout`` is given.

        Args:
            name: of the tool; default: the agent's.
            description: tells the model when to call it.
            kwargs: further fields of the tool: ``timeout``, ``return_direct``.

        Raises:
            InvalidInput: there is no name, or no description; the agent may pause, for which a tool cannot wait; or a
                tool of it needs injected arguments, which nobody could give.
        """
        if self.may_pause:
            raise InvalidInput("an agent with interrupt_on cannot be a tool: nobody could be asked while the tool runs")
        CallRunner(self._plan.tools, {}).check_injected(self._plan.tools)
        name = name or self.name
        if not name or not description:
            raise InvalidInput("a tool needs a name and a description: as_tool('research', 'Finds out ...')")

        async def ask(question: str) -> Any:
            result = await self.ainvoke(question)  # inside the tool's run: with its callbacks
            if result.output is None:
                raise ToolException(f"it ended without an answer ({result.stop})")
            return result.output

        kwargs.setdefault("timeout", math.inf)  # each of its own calls has a limit, and the run that calls it has
        return StructuredTool.from_function(coroutine=ask, name=name, description=description, **kwargs)

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
            produce = self._producer(input, config, cast(RunOptions, kwargs))
            await produce(cast("Sink[AgentEvent]", sink))
        else:
            await super()._produce(mode, input, config, kwargs, sink)

    def _producer(
        self, input: AgentInput, config: RunnableConfig | None, options: RunOptions, backlog: Backlog | None = None
    ) -> Producer[AgentEvent]:
        config = ensure_config(config)

        async def produce(sink: Sink[AgentEvent]) -> None:
            result = await self._execute(input, config, options, sink, backlog)
            waiting = sink.put(EndEvent(result=result))
            if waiting is not None:
                await waiting

        return produce

    async def _execute(
        self,
        input: AgentInput,
        config: RunnableConfig | None,
        options: RunOptions,
        sink: Sink[AgentEvent] | None,
        backlog: Backlog | None = None,
    ) -> AgentResult[Output]:
        _check_options(options, self._plan)
        limits, history = options.get("limits") or self.limits, options.get("history")
        asked = _read_input(input, history)
        name = self.get_name()
        run = ChainRun(ASYNC, name, ensure_config(config), own_metadata={AGENT_NAME: name})
        inside = run.config_inside()
        agent_run = AgentRun(self._plan, limits, history, run, inside, sink, options.get("injected"), backlog)
        work = functools.partial(agent_run.execute, asked)
        return await run.execute(input, work, lambda: sink is not None and sink.closed)


if TYPE_CHECKING:

    class AgentBinding(RunnableBinding[AgentInput, AgentResult[Output]], Generic[Output]):
        """What `Agent.bind` and `Agent.with_config` return, for type checkers: what it streams is the agent's."""

        def astream(  # type: ignore[override]
            self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: object
        ) -> AgentStream[Output]: ...

        def stream(  # type: ignore[override]
            self, input: AgentInput, config: RunnableConfig | None = None, **kwargs: object
        ) -> SyncAgentStream[Output]: ...

        def bind(self, **kwargs: object) -> "AgentBinding[Output]": ...

        def with_config(self, config: RunnableConfig | None = None, **kwargs: object) -> "AgentBinding[Output]": ...


def _check_options(options: RunOptions, plan: AgentPlan[Any]) -> None:
    """Refuse what is no option, or not of its kind."""
    if others := options.keys() - RunOptions.__annotations__.keys():
        raise InvalidInput(
            f"an agent takes no {', '.join(map(repr, sorted(others)))}; beside config there are history, limits and "
            "injected. Options of the model are bound to it: create_agent(model.bind(...), ...)"
        )
    history = cast(object, options.get("history"))
    if history is not None and not isinstance(history, BaseChatMessageHistory):
        raise InvalidInput(f"history is {type(history).__name__}; it is a chat history: open_history(...), for example")
    limits = cast(object, options.get("limits"))
    if limits is None:
        return
    if not isinstance(limits, AgentLimits):
        raise InvalidInput(f"limits is {type(limits).__name__}; it is an AgentLimits(...)")
    limits.check_tools(plan.tools)


def _read_input(input: AgentInput, history: BaseChatMessageHistory | None) -> list[BaseMessage] | Resume:
    if isinstance(input, Resume):
        if history is None:
            raise InvalidInput("to resume takes the history of the run that paused: pass history=...")
        return input
    given: Any = input.to_messages() if isinstance(input, PromptValue) else input
    if isinstance(input, Mapping):
        unknown = set(input) - {"messages"}
        if "messages" not in input or unknown:
            raise InvalidInput(
                f"a mapping has the key 'messages', and no others; this one has {sorted(map(str, input))}"
            )
        given = convert_to_messages(input["messages"])
    messages = coerce_messages(given, HumanMessage, "what an agent is asked")
    if len(messages) > 1:
        messages = repair_history(messages)  # of a run that paused, say: each call needs its result
    if all(is_empty(message) for message in messages):
        raise InvalidInput("the question is empty")
    return messages
