"""What `create_agent` decided, what a call gives beside its input, and what a run goes by, which is made of both.

A test may put other parts in the place of an agent's.
"""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, TypeVar, cast

from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Sink
from hocket.agents.approval import ApprovalRules, Resume
from hocket.agents.context import ContextSchema
from hocket.agents.deferral import Deferral, ToolSearch, plan_deferral
from hocket.agents.events import AgentEvent
from hocket.agents.limits import AgentLimits, LimitPolicy
from hocket.agents.middleware import AgentMiddleware, OfferedTool, ToolLike
from hocket.agents.model_call import choose_text_format, leaves_cache_open, list_models
from hocket.agents.skills import SkillTool
from hocket.agents.structured import AnswerFormat, read_answer_format
from hocket.agents.text_format import TextFormat
from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint, near_name_hint
from hocket.language_models import BaseChatModel, init_chat_model
from hocket.language_models.options import PromptCache
from hocket.message_toolkit.repair import is_empty, repair_history
from hocket.messages import BaseMessage, HumanMessage, SystemMessage, ToolCall, convert_to_messages
from hocket.messages.base import copy_containers
from hocket.messages.content import FieldsView
from hocket.messages.convert import coerce_messages
from hocket.prompt_values import PromptValue
from hocket.runnables import Runnable
from hocket.stores import BaseStore
from hocket.tools import BaseTool
from hocket.tools.calls import index_by_name
from hocket.tools.runtime import Runtime

__all__ = [
    "AgentCall",
    "AgentInput",
    "AgentPlan",
    "Model",
    "Override",
    "Prompt",
    "PromptFunction",
    "RunOptions",
    "RunPlan",
    "Style",
    "bind_options",
    "check_answer_names",
    "check_kind",
    "check_list",
    "coerce_prompt",
    "coerce_question",
    "find_overrides",
    "index_tools",
]

T = TypeVar("T")

AgentInput = str | BaseMessage | Sequence[BaseMessage] | PromptValue | Mapping[str, Any] | Resume
"""A text, messages, what a prompt makes of its variables, LangChain's ``{"messages": [...]}``, or what goes on with the last
run of a history."""


Style = Literal["auto", "native", "react"] | TextFormat
"""How tools are called: as the model can, by its own calls, or in text."""

Model = Runnable[Any, Any]
"""From messages to an `AIMessage`, or to a text."""

Prompt = str | SystemMessage
"""What comes first in each call of the model."""

PromptFunction = Callable[[Runtime], Prompt | Awaitable[Prompt]]
"""Returns what comes first in a run."""


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
    """What one call was given, read: see `RunOptions`.

    Attributes:
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


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """What one run goes by.

    Attributes:
        model: is asked; nothing is bound to it for the agent.
        tools: that are run here, by name.
        hosted: that the provider runs.
        answer: the type of the answer; None: a text.
        format: how tools are called in text; None: natively.
        deferral: the tools that the model has to find; None: there are none.
    """

    agent: "AgentPlan"
    model: Model
    tools: Mapping[str, BaseTool]
    hosted: Sequence[FieldsView]
    answer: AnswerFormat | None
    format: TextFormat | None
    deferral: Deferral | None

    def is_approval_needed(self, call: ToolCall, look: Callable[[], Runtime]) -> bool:
        """Whether a call waits for a person: by a rule, or since a middleware says so; ``look`` returns what it is told."""
        rules = self.agent.approvals
        return (rules is not None and rules.is_needed(call)) or any(
            one.is_approval_needed(cast(ToolCall, copy_containers(call)), look())
            for one in self.agent.middleware
            if one.may_pause
        )

    def is_answer(self, name: str | None) -> bool:
        """Whether a call of this name gives the answer."""
        return self.answer is not None and name in self.answer.names

    @functools.cached_property
    def cache_options(self) -> Mapping[str, Any]:
        """What each call of the model says of prompt caches; nothing, if the model has no such option or says it itself."""
        wanted, model = self.agent.prompt_cache, self.model
        if wanted == "auto":
            return {"prompt_cache": True} if self.offered and leaves_cache_open(model) else {}
        return {"prompt_cache": wanted} if all(isinstance(one, BaseChatModel) for one in list_models(model)) else {}

    @functools.cached_property
    def offered(self) -> Sequence[OfferedTool]:
        """The tools that the model is shown first: those that are run here, those of the answer, the provider's."""
        hidden: Mapping[str, BaseTool] = self.deferral.tools if self.deferral else {}
        own = [tool for name, tool in self.tools.items() if name not in hidden]
        return [*own, *(self.answer.tools if self.answer else ()), *self.hosted]


@dataclass(frozen=True, kw_only=True)
class AgentPlan:
    """What all runs of an agent share: the arguments of `create_agent`, read."""

    model: Model | str
    tools: Mapping[str, BaseTool]
    hosted: Sequence[FieldsView]
    answer: AnswerFormat | None
    style: Style
    system: SystemMessage | PromptFunction | None
    context: ContextSchema | None
    middleware: Sequence[AgentMiddleware]
    approvals: ApprovalRules | None
    at_limit: LimitPolicy
    prompt_cache: PromptCache | Literal["auto"]
    offload: BaseStore[str, str] | None
    search: ToolSearch
    skills: SkillTool | None = None

    @functools.cached_property
    def own(self) -> RunPlan:
        """What a run goes by whose call gives nothing instead."""
        return self.adapt()

    async def prepare(self, parts: Mapping[str, Any], replaced: Mapping[str, BaseTool]) -> RunPlan:
        """Return what a run goes by.

        Args:
            parts: given for this run alone: "model", "tools", "response_format".
            replaced: tools that take the place of those of the same names.
        """
        given = {name: parts[name] for name in ("model", "tools", "response_format") if name in parts}
        if given.get("model") is None:
            given.pop("model", None)
        if self.skills is not None and not self.skills.is_read:
            await ASYNC.call_sync(self.skills.read)
        if given or replaced:
            plan = replace(self, tools={**self.tools, **replaced})
            make = functools.partial(plan.adapt, **given)
            is_slow = isinstance(given.get("model", plan.model), str)  # an import takes its time
        else:
            make = functools.partial(getattr, self, "own")
            is_slow = "own" not in vars(self)
        return await ASYNC.call_sync(make) if is_slow else make()

    def adapt(self, **parts: Any) -> RunPlan:
        """Return what a run goes by that has these parts of its own."""
        model: object = parts.get("model", self.model)
        more, hosted = index_tools(parts.get("tools", ()))
        answer = read_answer_format(parts["response_format"]) if "response_format" in parts else self.answer
        for name in more:
            if name in self.tools:
                raise InvalidInput(
                    f"the agent has a tool {name!r}, and so have tools= of this call; rename one of them"
                )
        tools = {**self.tools, **more}
        check_answer_names(answer, tools)
        made: Model = init_chat_model(model) if isinstance(model, str) else check_kind("model", model, Runnable)  # pyright: ignore[reportUnknownVariableType]  # `isinstance` forgets its types
        all_hosted = [*self.hosted, *hosted]
        offered: list[OfferedTool] = [*tools.values(), *(answer.tools if answer else ()), *all_hosted]
        chosen = choose_text_format(self.style, made, offered)
        deferral = plan_deferral(self.search, tools, all_hosted, made, is_text=chosen is not None)
        if deferral is not None:
            tools[deferral.finder.name] = deferral.finder
        return RunPlan(
            agent=self, model=made, tools=tools, hosted=all_hosted, answer=answer, format=chosen, deferral=deferral
        )


_KINDS: Mapping[str, tuple[type[object], str]] = {
    "history": (BaseChatMessageHistory, "a chat history: open_history(...), for example"),
    "limits": (AgentLimits, "an AgentLimits(...)"),
    **dict.fromkeys(("injected", "options"), (Mapping, "a mapping from names to values")),
}


def bind_options(options: RunOptions, limits: AgentLimits, agent: str, events: Sink[AgentEvent] | None) -> AgentCall:
    """Return what a call was given, each of its kind; its context is not read yet."""
    known = RunOptions.__annotations__
    for name in options:
        if name not in known:
            raise InvalidInput(
                f"an agent takes no {name!r}; {near_name_hint(name, known)}. "
                "Options of the model are given by options={...}, or bound to it"
            )
    for name, (kind, wanted) in _KINDS.items():
        value: object = options.get(name)
        if value is not None and not isinstance(value, kind):
            raise InvalidInput(f"{name} is {type(value).__name__}; it is {wanted}")
    return AgentCall(
        limits=options.get("limits") or limits,
        history=options.get("history"),
        injected=options.get("injected") or {},
        context=options.get("context"),
        options=options.get("options") or {},
        agent=agent,
        events=events,
    )


_overrides: ContextVar[tuple["Override", ...]] = ContextVar("hocket_agent_overrides", default=())


class Override:
    """A block in which the runs of one agent use other parts: in this task, and in what it starts. See `Agent.override`."""

    def __init__(self, plan: AgentPlan, parts: RunOptions) -> None:
        tools, hosted = index_tools(parts.get("tools", ()))
        for name in tools:
            if name not in plan.tools:
                raise InvalidInput(f"the agent has no tool {name!r} to override; {near_name_hint(name, plan.tools)}")
        if hosted:
            kind = hosted[0].get("type")
            raise InvalidInput(
                f"a tool of type {kind!r} is run by the provider, and cannot be overridden: give a function"
            )
        self.plan: AgentPlan = plan
        self.tools: Mapping[str, BaseTool] = tools
        self.options: RunOptions = cast(RunOptions, {key: value for key, value in parts.items() if key != "tools"})

    def __enter__(self) -> None:
        _overrides.set((*_overrides.get(), self))

    def __exit__(self, *exc: object) -> None:
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
    """Return the messages that an input stands for, or what is to be resumed."""
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
        raise InvalidInput("the question is empty; give a text, or messages that say something")
    return messages


def coerce_prompt(what: str, prompt: object) -> SystemMessage | None:
    """Return the message that a prompt is; None, where it is empty."""
    if prompt is None or isinstance(prompt, SystemMessage):
        return prompt
    if not isinstance(prompt, str):
        raise InvalidInput(f"{what} is {type(prompt).__name__}; it is a text or a SystemMessage")
    return SystemMessage(prompt) if prompt else None


def index_tools(tools: Sequence[ToolLike]) -> tuple[dict[str, BaseTool], list[FieldsView]]:
    """Return tools that are run here, by name, and those that the provider runs."""
    check_list("tools", tools, "a list of tools and functions")
    hosted = [_check_hosted(tool) for tool in tools if isinstance(tool, Mapping)]  # pyright: ignore[reportUnknownArgumentType]  # `isinstance` forgets its types
    return index_by_name([tool for tool in tools if not isinstance(tool, Mapping)]), hosted


def check_answer_names(answer: AnswerFormat | None, tools: Mapping[str, BaseTool]) -> None:
    """Refuse a tool that has the name of an answer."""
    for name in answer.names if answer else ():
        if name in tools:
            raise InvalidInput(f"a tool is called {name!r}, and so is the answer; give the tool another name")


def check_list(what: str, value: object, wanted: str) -> None:
    """Refuse what is no list."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{what} is {type(value).__name__}; it is {wanted}")


def check_kind(what: str, value: Any, kind: type[T]) -> T:
    """Return a value that is of its kind, or refuse it."""
    if not isinstance(value, kind):
        raise InvalidInput(f"{what} is {value!r}; it must be of the type {kind.__name__}{bridge_hint(value)}")
    return value


def _check_hosted(tool: FieldsView) -> FieldsView:
    if tool.get("type") == "function" or not isinstance(tool.get("type"), str):
        raise InvalidInput(
            f"{dict(tool)!r} has nothing to run: give the function itself, or a tool that the provider runs"
        )
    return tool
