"""What `create_agent` decided, and what a run goes by: the same, but for the parts that a call gives instead."""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, cast

from hocket._runtime.mode import ASYNC
from hocket.agents.approval import ApprovalRules
from hocket.agents.context import ContextSchema
from hocket.agents.deferral import Deferral, ToolSearch, plan_deferral
from hocket.agents.limits import LimitPolicy
from hocket.agents.middleware import AgentMiddleware, OfferedTool, ToolLike
from hocket.agents.model_call import bind_tools, leaves_cache_open, list_models, refuse_hosted
from hocket.agents.structured import AnswerFormat, read_answer_format
from hocket.agents.text_format import TextFormat
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.language_models import BaseChatModel, BaseLLM, init_chat_model
from hocket.language_models.options import PromptCache
from hocket.messages import SystemMessage, ToolCall
from hocket.messages.content import FieldsView
from hocket.runnables import Runnable
from hocket.stores import BaseStore
from hocket.tools import BaseTool
from hocket.tools.calls import index_by_name
from hocket.tools.runtime import Runtime

__all__ = [
    "AgentPlan",
    "Model",
    "Prompt",
    "PromptFunction",
    "RunPlan",
    "Style",
    "check_answer_names",
    "check_kind",
    "check_list",
    "coerce_prompt",
    "index_tools",
]

T = TypeVar("T")

Style = Literal["auto", "native", "react"] | TextFormat
"""How tools are called: as the model can, by its own calls, or in text."""

Model = Runnable[Any, Any]
"""From messages to an `AIMessage`, or to a text."""

Prompt = str | SystemMessage
"""What comes first in each call of the model."""

PromptFunction = Callable[[Runtime], Prompt | Awaitable[Prompt]]
"""Returns what comes first in a run."""


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

    def is_approval_needed(self, call: ToolCall) -> bool:
        """Whether a call waits for a person."""
        rules = self.agent.approvals
        return rules is not None and rules.is_needed(call)

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
    """What all runs of an agent share.

    Attributes:
        model: of its runs; a name stands for a model that is made at the first run.
        tools: that are run here, by name.
        hosted: that the provider runs.
        answer: the type of the answer; None: a text.
        style: how tools are called.
        system: comes first, or returns what does.
        context: the class of the contexts; None: any object is one.
        middleware: around the calls, the outermost first.
        approvals: which calls wait for a person; None: none does.
        at_limit: what happens at a limit.
        prompt_cache: whether the model's provider is to keep prompts, or how long; "auto": if there are tools.
        offload: keeps results that are too long; None: nothing does.
        search: how tools are found that the model is not shown.
    """

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

    @functools.cached_property
    def own(self) -> RunPlan:
        """What a run goes by whose call gives nothing instead."""
        return self.adapt()

    async def prepare(self, parts: Mapping[str, Any], replaced: Mapping[str, BaseTool]) -> RunPlan:
        """Return what a run goes by.

        Args:
            parts: given for this run alone: "model", "tools", "response_format".
            replaced: tools that take the place of those of the same names.

        Raises:
            InvalidInput: a part is not of its kind, or two tools have one name.
        """
        given = {name: parts[name] for name in ("model", "tools", "response_format") if name in parts}
        if given.get("model") is None:
            given.pop("model", None)
        if not (given or replaced):
            is_named = isinstance(self.model, str) and "own" not in vars(self)
            return await ASYNC.call_sync(self._get_own) if is_named else self.own  # an import takes its time
        plan = replace(self, tools={**self.tools, **replaced})
        make = functools.partial(plan.adapt, **given)
        return await ASYNC.call_sync(make) if isinstance(given.get("model", plan.model), str) else make()

    def _get_own(self) -> RunPlan:
        return self.own

    def adapt(self, **parts: Any) -> RunPlan:
        """Return what a run goes by that has these parts of its own."""
        model: object = parts.get("model", self.model)
        more, hosted = index_tools(parts.get("tools", ()))
        answer: AnswerFormat | None = self.answer
        if "response_format" in parts:
            answer = read_answer_format(parts["response_format"])
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
        chosen = _choose_format(self.style, made, offered)
        deferral = plan_deferral(self.search, tools, all_hosted, made, is_text=chosen is not None)
        if deferral is not None:
            tools[deferral.finder.name] = deferral.finder
        return RunPlan(
            agent=self, model=made, tools=tools, hosted=all_hosted, answer=answer, format=chosen, deferral=deferral
        )


def coerce_prompt(what: str, prompt: object) -> SystemMessage | None:
    """Return the message that a prompt is; None, where it is empty."""
    if prompt is None or isinstance(prompt, SystemMessage):
        return prompt
    if not isinstance(prompt, str):
        raise InvalidInput(f"{what} is {type(prompt).__name__}; it is a text or a SystemMessage")
    return SystemMessage(prompt) if prompt else None


def index_tools(tools: Sequence[ToolLike]) -> tuple[dict[str, BaseTool], list[FieldsView]]:
    """Return tools that are run here, by name, and those that the provider runs.

    Raises:
        InvalidInput: they are no list of such, or two have one name.
    """
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


def _choose_format(style: object, model: Model, tools: Sequence[OfferedTool]) -> TextFormat | None:
    """Return the format of the text style, or None for native calls.

    Raises:
        InvalidInput: there is no such style; or the provider's own tools, or native calls, were asked of a model that
            takes none.
        NotImplementedError: native calls were asked for, and the chat model takes no tools.
    """
    if style not in ("auto", "native", "react"):
        if not all(hasattr(style, name) for name in ("stop", "render", "read", "stream_filter")):
            raise InvalidInput(f"style is {style!r}; it is 'auto', 'native', 'react' or a ReActFormat")
        chosen: TextFormat | None = cast(TextFormat, style)
    elif style == "native" and any(isinstance(one, BaseLLM) for one in list_models(model)):
        raise InvalidInput(f"{model.get_name()} is a text model, which has no tool calls: leave out style='native'")
    elif style == "native" or (style == "auto" and _takes_tools(model, tools)):
        bind_tools(model, tools)
        chosen = None
    else:
        from hocket.agents.react import ReActFormat  # which a model with tools need not load

        chosen = ReActFormat()
    if chosen is not None:
        refuse_hosted(tools)
    return chosen


def _takes_tools(model: Model, tools: Sequence[OfferedTool]) -> bool:
    """Whether each model that may answer can be given tools: by its profile, or else by its `bind_tools`."""
    profiles: list[FieldsView] = [getattr(one, "profile", None) or {} for one in list_models(model)]
    can = [profile.get("tool_calling") for profile in profiles]
    if None not in can or False in can:
        return all(can)
    try:
        bind_tools(model, tools)
    except NotImplementedError:
        return False
    return True
