"""`create_agent`: what an agent is made of is checked here, before any model is asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast, get_args, overload

from hocket.agents.agent import Agent
from hocket.agents.approval import ApprovalRules, InterruptOn
from hocket.agents.limits import AgentLimits, LimitPolicy
from hocket.agents.middleware import AgentMiddleware, OfferedTool
from hocket.agents.model_call import bind_tools, list_models, refuse_hosted
from hocket.agents.plan import AgentPlan
from hocket.agents.structured import AnswerFormat
from hocket.agents.text_format import TextFormat
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint, explain_arguments
from hocket.language_models import init_chat_model
from hocket.messages import AIMessage, SystemMessage
from hocket.messages.content import FieldsView
from hocket.runnables import Runnable
from hocket.tools import BaseTool
from hocket.tools.calls import index_by_name

__all__ = ["ToolLike", "create_agent"]

T = TypeVar("T")

ToolLike = BaseTool | Callable[..., object] | Mapping[str, Any]
"""A tool, a function that becomes one, or the declaration of one that the provider runs."""

_HISTORY = "give each run its conversation: agent.ainvoke(message, history=open_history(...))"

Style = Literal["auto", "native", "react"] | TextFormat


@overload
def create_agent(
    model: Runnable[Any, AIMessage] | str,
    tools: Sequence[ToolLike] = (),
    *,
    system_prompt: str | SystemMessage | None = None,
    response_format: None = None,
    middleware: Sequence[AgentMiddleware] = (),
    interrupt_on: InterruptOn = (),
    limits: AgentLimits | None = None,
    style: Style = "auto",
    at_limit: LimitPolicy = "answer",
    name: str | None = None,
) -> Agent[str]: ...
@overload
def create_agent(
    model: Runnable[Any, AIMessage] | str,
    tools: Sequence[ToolLike] = (),
    *,
    system_prompt: str | SystemMessage | None = None,
    response_format: type[T],
    middleware: Sequence[AgentMiddleware] = (),
    interrupt_on: InterruptOn = (),
    limits: AgentLimits | None = None,
    style: Style = "auto",
    at_limit: LimitPolicy = "answer",
    name: str | None = None,
) -> Agent[T]: ...
@overload
def create_agent(
    model: Runnable[Any, AIMessage] | str,
    tools: Sequence[ToolLike] = (),
    *,
    system_prompt: str | SystemMessage | None = None,
    response_format: Mapping[str, Any],
    middleware: Sequence[AgentMiddleware] = (),
    interrupt_on: InterruptOn = (),
    limits: AgentLimits | None = None,
    style: Style = "auto",
    at_limit: LimitPolicy = "answer",
    name: str | None = None,
) -> Agent[dict[str, Any]]: ...
@explain_arguments(
    **dict.fromkeys(("prompt", "state_modifier", "messages_modifier", "system_message"), "system_prompt"),
    **dict.fromkeys(("checkpointer", "store"), _HISTORY),
    **dict.fromkeys(("pre_model_hook", "post_model_hook"), "write wrap_model_call of an AgentMiddleware"),
    **dict.fromkeys(("interrupt_before", "interrupt_after"), "interrupt_on"),
    **dict.fromkeys(
        ("state_schema", "context_schema"), "the state is the messages; give tools what they need by closures"
    ),
    cache="give it to the model: ChatOpenAI(cache=...)",
    debug="write hocket.set_debug(True)",
    llm="model",
    max_iterations="write limits=AgentLimits(model_calls=...)",
    recursion_limit="write limits=AgentLimits(model_calls=...)",
)
def create_agent(
    model: Runnable[Any, AIMessage] | str,
    tools: Sequence[ToolLike] = (),
    *,
    system_prompt: str | SystemMessage | None = None,
    response_format: Any = None,
    middleware: Sequence[AgentMiddleware] = (),
    interrupt_on: InterruptOn = (),
    limits: AgentLimits | None = None,
    style: Style = "auto",
    at_limit: LimitPolicy = "answer",
    name: str | None = None,
) -> Agent[Any]:
    """Make an agent: a model that works with tools until it is done.

    Args:
        model: a chat model, or any runnable from messages to an `AIMessage`; or a name, as `init_chat_model` takes it.
        tools: that the model may call: tools, functions, and the provider's own tools as dicts.
        system_prompt: comes first in each call of the model. It is not part of the history.
        response_format: a pydantic model class, a TypedDict, a dataclass or a JSON schema: the type of the answer.
            Default: a text.
        middleware: code around each call of the model and of a tool; the first is the outermost.
        interrupt_on: names of tools that are not run before a person has approved; or, for each name, True or a function
            of the call that says whether that is needed.
        limits: of each run; see `AgentLimits`.
        style: "native", the model's own tool calls; "react", tools in text, for models that have none; or a
            `ReActFormat`. "auto": native if the model can, by its profile, or else by its ``bind_tools``.
        at_limit: at a limit the model answers once more without tools ("answer"; not after the limits on tokens and
            seconds), the run ends ("stop"), or `LimitReached` is raised ("raise").
        name: for handlers, and for `Agent.as_tool`.

    Raises:
        InvalidInput: two tools have one name, or one that of the answer; a rule or a limit is for no tool; or something
            is not of its kind.
        UnknownModel: no provider answers to the name.

    Examples:
        >>> from hocket import ScriptedChatModel, Turn
        >>> from hocket.agents import create_agent
        >>> def add(a: int, b: int) -> int:
        ...     '''Add two numbers.'''
        ...     return a + b
        >>> call = {"type": "tool_call", "name": "add", "args": {"a": 2, "b": 3}, "id": "1"}
        >>> agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call]), "It is 5."]), [add])
        >>> agent.invoke("What is 2 + 3?").output
        'It is 5.'
    """
    limits = _check_kind("limits", AgentLimits() if limits is None else limits, AgentLimits)
    if name is not None:
        _check_kind("name", name, str)
    if at_limit not in get_args(LimitPolicy):
        raise InvalidInput(f"at_limit is {at_limit!r}; it is one of {', '.join(get_args(LimitPolicy))}")
    _check_list("tools", tools, "a list of tools and functions")
    _check_list("middleware", middleware, "a list of objects of AgentMiddleware")
    hosted = [_check_hosted(tool) for tool in tools if isinstance(tool, Mapping)]  # pyright: ignore[reportUnknownArgumentType]  # `isinstance` forgets its types
    own = index_by_name([tool for tool in tools if not isinstance(tool, Mapping)])
    limits.check_tools(own)
    answer: AnswerFormat[Any] | None = None if response_format is None else AnswerFormat(response_format)
    if answer is not None and answer.name in own:
        raise InvalidInput(f"a tool is called {answer.name!r}, and so is the answer; give the tool another name")
    offered: list[OfferedTool] = [*own.values(), *([answer.tool] if answer else []), *hosted]
    named = init_chat_model(model) if isinstance(model, str) else model
    if named is None:  # pyright: ignore[reportUnnecessaryComparison]  # a caller's mistake
        raise InvalidInput("model is None; it is a chat model, or the name of one, such as 'openai:gpt-5.2' or 'local'")
    plan = AgentPlan(
        model=_check_kind("model", named, Runnable),  # pyright: ignore[reportUnknownArgumentType]  # `isinstance` forgets its types
        tools=own,
        offered=offered,
        system=_read_system_prompt(system_prompt),
        answer=answer,
        middleware=[_check_kind("a middleware", one, AgentMiddleware) for one in middleware],
        approvals=ApprovalRules(interrupt_on, own),
        format=_choose_format(style, named, offered),
        at_limit=at_limit,
    )
    return Agent(plan, limits, name)


def _check_list(what: str, value: object, wanted: str) -> None:
    kind = type(value).__name__
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise InvalidInput(f"{what} is {kind}; it is {wanted}")


def _check_kind(what: str, value: Any, kind: type[T]) -> T:
    if not isinstance(value, kind):
        raise InvalidInput(f"{what} is {value!r}; it must be of the type {kind.__name__}{bridge_hint(value)}")
    return value


def _check_hosted(tool: FieldsView) -> FieldsView:
    if tool.get("type") == "function" or not isinstance(tool.get("type"), str):
        raise InvalidInput(
            f"{dict(tool)!r} has nothing to run: give the function itself, or a tool that the provider runs"
        )
    return tool


def _read_system_prompt(prompt: object) -> SystemMessage | None:
    if prompt is None or isinstance(prompt, SystemMessage):
        return prompt
    if not isinstance(prompt, str):
        raise InvalidInput(f"system_prompt is {type(prompt).__name__}; it is a text or a SystemMessage")
    return SystemMessage(prompt) if prompt else None


def _choose_format(style: object, model: Runnable[Any, AIMessage], tools: Sequence[OfferedTool]) -> TextFormat | None:
    """Return the format of the text style, or None for native calls.

    Raises:
        InvalidInput: there is no such style; or the provider's own tools were given to a model that takes none.
        NotImplementedError: native calls were asked for, and the model takes no tools.
    """
    if style not in ("auto", "native", "react"):
        if not all(hasattr(style, name) for name in ("stop", "render", "read", "stream_filter")):
            raise InvalidInput(f"style is {style!r}; it is 'auto', 'native', 'react' or a ReActFormat")
        chosen: TextFormat | None = cast(TextFormat, style)
    elif style == "native" or (style == "auto" and _takes_tools(model, tools)):
        bind_tools(model, tools)
        chosen = None
    else:
        from hocket.agents.react import ReActFormat  # which a model with tools need not load

        chosen = ReActFormat()
    if chosen is not None:
        refuse_hosted(tools)
    return chosen


def _takes_tools(model: Runnable[Any, AIMessage], tools: Sequence[OfferedTool]) -> bool:
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
