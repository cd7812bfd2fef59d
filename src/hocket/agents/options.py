"""What one call of an agent may give beside its input, and what a test puts in the place of an agent's parts."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypedDict, cast

from hocket._runtime.stream import Sink
from hocket.agents.approval import Resume
from hocket.agents.events import AgentEvent
from hocket.agents.limits import AgentLimits
from hocket.agents.middleware import ToolLike
from hocket.agents.plan import AgentPlan, Model, index_tools
from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint
from hocket.message_toolkit.repair import is_empty, repair_history
from hocket.messages import BaseMessage, HumanMessage, convert_to_messages
from hocket.messages.convert import coerce_messages
from hocket.prompt_values import PromptValue
from hocket.tools import BaseTool

__all__ = ["AgentCall", "AgentInput", "Override", "RunOptions", "bind_options", "coerce_question", "find_overrides"]

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
        context: for whom the run is: `Runtime.context` of its tools, hooks and sub-agents. With ``context_schema`` an
            instance of it, or a mapping of its fields. It is not stored, logged or shown to a model.
        model: instead of the agent's.
        options: further arguments of each call of the model, ``temperature`` for example.
        tools: beside the agent's, for this run.
        response_format: instead of the agent's; None: a text.
    """

    history: BaseChatMessageHistory | None
    limits: AgentLimits | None
    injected: Mapping[str, object] | None
    context: object
    model: Model | str | None
    options: Mapping[str, Any] | None
    tools: Sequence[ToolLike]
    response_format: Any


@dataclass(frozen=True, kw_only=True)
class AgentCall:
    """What one call was given, read.

    Attributes:
        limits: of the run.
        history: where the conversation is kept; None: nowhere.
        injected: arguments of tools that the application gives, by name.
        context: for whom the run is.
        options: of each call of the model.
        agent: the name of the agent.
        events: takes those of the agents inside the run; None: they are not shown.
    """

    limits: AgentLimits
    history: BaseChatMessageHistory | None = None
    injected: Mapping[str, object] = field(default_factory=dict[str, object])
    context: object = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    agent: str | None = None
    events: Sink[AgentEvent] | None = None


def bind_options(options: RunOptions, limits: AgentLimits, agent: str, events: Sink[AgentEvent] | None) -> AgentCall:
    """Return what a call was given; its context is not read yet.

    Raises:
        InvalidInput: an option is not known, or not of its kind.
    """
    known = RunOptions.__annotations__
    for name in options:
        if name not in known:
            raise InvalidInput(
                f"an agent takes no {name!r}; {near_name_hint(name, known)}. "
                "Options of the model are given by options={...}, or bound to it"
            )
    history = cast(object, options.get("history"))
    if history is not None and not isinstance(history, BaseChatMessageHistory):
        raise InvalidInput(f"history is {type(history).__name__}; it is a chat history: open_history(...), for example")
    own = cast(object, options.get("limits"))
    if own is not None and not isinstance(own, AgentLimits):
        raise InvalidInput(f"limits is {type(own).__name__}; it is an AgentLimits(...)")
    for name in ("injected", "options"):
        value: object = options.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise InvalidInput(f"{name} is {type(value).__name__}; it is a mapping from names to values")
    return AgentCall(
        limits=own or limits,
        history=history,
        injected=options.get("injected") or {},
        context=options.get("context"),
        options=options.get("options") or {},
        agent=agent,
        events=events,
    )


_overrides: ContextVar[tuple["Override", ...]] = ContextVar("hocket_agent_overrides", default=())


class Override:
    """A block in which the runs of one agent use other parts: in this task, and in what it starts.

    Args:
        plan: of the agent.
        parts: "model", "tools", "context"; others are refused.

    Raises:
        InvalidInput: a tool has another name than those of the agent.
    """

    def __init__(self, plan: AgentPlan, parts: RunOptions) -> None:
        tools, hosted = index_tools(parts.get("tools", ()))
        for name in tools:
            if name not in plan.tools:
                raise InvalidInput(f"the agent has no tool {name!r} to override; {near_name_hint(name, plan.tools)}")
        if hosted:
            raise InvalidInput("tools that the provider runs cannot be overridden: there is nothing to run")
        self.plan: AgentPlan = plan
        self.tools: Mapping[str, BaseTool] = tools
        self.options: RunOptions = cast(RunOptions, {key: value for key, value in parts.items() if key != "tools"})

    def __enter__(self) -> None:
        _overrides.set((*_overrides.get(), self))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # No token: a fixture of a test may end in another context than it began in.
        _overrides.set(tuple(one for one in _overrides.get() if one is not self))


def find_overrides(plan: AgentPlan, options: RunOptions) -> tuple[RunOptions, Mapping[str, BaseTool]]:
    """Return the options of a call, and the tools instead of the agent's, under the overrides that hold here."""
    tools: dict[str, BaseTool] = {}
    for one in _overrides.get():
        if one.plan is plan:
            options = cast(RunOptions, {**options, **one.options})
            tools |= one.tools
    return options, tools


def coerce_question(input: AgentInput, history: BaseChatMessageHistory | None) -> list[BaseMessage] | Resume:
    """Return the messages that an input stands for, or what is to be resumed.

    Raises:
        InvalidInput: it is none of these, or says nothing; or there is no history to resume.
    """
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
