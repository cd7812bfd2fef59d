"""`create_agent`: what an agent is made of is checked here, before any model is asked."""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack, cast, get_args, overload

from hocket._runtime.portal import holds_up_a_loop
from hocket.agents.agent import Agent
from hocket.agents.approval import ApprovalRules, InterruptOn
from hocket.agents.context import ContextSchema
from hocket.agents.deferral import Defer, ToolSearch, read_tool_search
from hocket.agents.limits import AgentLimits, LimitPolicy
from hocket.agents.middleware import AgentMiddleware, ToolLike
from hocket.agents.offload import read_result
from hocket.agents.plan import (
    AgentPlan,
    Model,
    Prompt,
    PromptFunction,
    Style,
    check_answer_names,
    check_kind,
    check_list,
    coerce_prompt,
    index_tools,
)
from hocket.agents.skills import SkillPaths, make_skill_tool
from hocket.agents.structured import AnswerFormat, read_answer_format
from hocket.errors import InvalidInput
from hocket.errors.hints import explain_arguments
from hocket.language_models.options import PromptCache
from hocket.language_models.registry import resolve_model_name
from hocket.messages import SystemMessage
from hocket.messages.content import FieldsView
from hocket.stores import BaseStore

__all__ = ["ToolLike", "create_agent"]

T = TypeVar("T")

_HISTORY = "give each run its conversation: agent.ainvoke(message, history=open_history(...))"


class _Options(TypedDict, total=False):
    """The options of `create_agent`, for type checkers."""

    system_prompt: Prompt | PromptFunction | None
    middleware: Sequence[AgentMiddleware]
    interrupt_on: InterruptOn
    limits: AgentLimits | None
    style: Style
    at_limit: LimitPolicy
    context_schema: type[object] | None
    skills: SkillPaths
    prompt_cache: PromptCache | Literal["auto"]
    offload: BaseStore[str, str] | None
    defer: Defer | ToolSearch
    name: str | None


@overload
def create_agent(
    model: Model | str, tools: Sequence[ToolLike] = (), *, response_format: None = None, **options: Unpack[_Options]
) -> Agent[str]: ...
@overload
def create_agent(
    model: Model | str, tools: Sequence[ToolLike] = (), *, response_format: type[T], **options: Unpack[_Options]
) -> Agent[T]: ...
@overload
def create_agent(
    model: Model | str, tools: Sequence[ToolLike] = (), *, response_format: FieldsView, **options: Unpack[_Options]
) -> Agent[dict[str, Any]]: ...
@overload
def create_agent(
    model: Model | str, tools: Sequence[ToolLike] = (), *, response_format: object, **options: Unpack[_Options]
) -> Agent[Any]: ...
@explain_arguments(
    **dict.fromkeys(("prompt", "state_modifier", "messages_modifier", "system_message"), "system_prompt"),
    **dict.fromkeys(("checkpointer", "store"), _HISTORY),
    **dict.fromkeys(("pre_model_hook", "post_model_hook"), "write wrap_model_call of an AgentMiddleware"),
    **dict.fromkeys(("interrupt_before", "interrupt_after"), "interrupt_on"),
    state_schema="the state is the messages; what tools need is the context: context_schema=, and ainvoke(..., context=...)",
    deps_type="context_schema",
    cache="give it to the model: ChatOpenAI(cache=...)",
    debug="write hocket.set_debug(True)",
    llm="model",
    max_iterations="write limits=AgentLimits(model_calls=...)",
    recursion_limit="write limits=AgentLimits(model_calls=...)",
)
def create_agent(
    model: Model | str,
    tools: Sequence[ToolLike] = (),
    *,
    system_prompt: Prompt | PromptFunction | None = None,
    response_format: Any = None,
    middleware: Sequence[AgentMiddleware] = (),
    interrupt_on: InterruptOn = (),
    limits: AgentLimits | None = None,
    style: Style = "auto",
    at_limit: LimitPolicy = "answer",
    context_schema: type[object] | None = None,
    skills: SkillPaths = (),
    prompt_cache: PromptCache | Literal["auto"] = "auto",
    offload: BaseStore[str, str] | None = None,
    defer: Defer | ToolSearch = False,
    name: str | None = None,
) -> Agent[Any]:
    """Make an agent: a model that works with tools until it is done.

    Args:
        model: a chat model, or any runnable from messages to an `AIMessage` or a text; or a name, as `init_chat_model`
            takes it: then it is made at the first run, so that none needs a key before.
        tools: that the model may call: tools, functions, and the provider's own tools as dicts.
        system_prompt: comes first in each call of the model. It is not part of the history. A function of the `Runtime`
            returns it, once for a run: else each step could change the beginning of what is sent, which models keep.
        response_format: the type of the answer: whatever pydantic can validate, or a JSON schema. Default: a text. With
            ``Answer | str`` a text is an answer, too.
        middleware: code around each call of the model and of a tool, and the tools that it brings; the first is the
            outermost.
        interrupt_on: names of tools that are not run before a person has approved; or, for each name, True or a function
            of the call that says whether that is needed.
        limits: of each run; see `AgentLimits`.
        style: "native", the model's own tool calls; "react", tools in text, for models that have none; or a
            `ReActFormat`. "auto": native if the model can, by its profile, or else by its ``bind_tools``.
        at_limit: at a limit the model answers once more without tools ("answer"; not after the limits on tokens and
            seconds), the run ends ("stop"), or `LimitReached` is raised ("raise").
        context_schema: the class of the ``context=`` of each call: a dataclass, a pydantic model, a TypedDict. Default: any
            object is one, and none is needed.
        skills: a folder of skills, or several: the model gets the tool ``load_skill``. They are read now; where an event
            loop runs in this thread, at the first run, in another thread.
        prompt_cache: whether the model's provider is to keep prompts (docs/prompt-caches.md), or how long: True, False,
            "5m", "1h"; "auto": True where there are tools and the model says nothing itself.
        offload: a store in which results above ``AgentLimits(result_chars=)``, and what is cut to fit the window, are kept
            whole; the model gets the tool ``read_result``. Whose conversation has an id of one can read it.
        defer: tools that the model is shown when it has found them by their names or by a question: True, all; "auto",
            all, if they are many; some, by name; or a `ToolSearch`. By default those that say so themselves.
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
    limits = check_kind("limits", AgentLimits() if limits is None else limits, AgentLimits)
    if name is not None:
        check_kind("name", name, str)
    if at_limit not in get_args(LimitPolicy):
        raise InvalidInput(f"at_limit is {at_limit!r}; it is one of {', '.join(get_args(LimitPolicy))}")
    check_list("tools", tools, "a list of tools and functions")
    check_list("middleware", middleware, "a list of objects of AgentMiddleware")
    around = [check_kind("a middleware", one, AgentMiddleware) for one in middleware]
    if prompt_cache not in ("auto", *get_args(PromptCache)):
        raise InvalidInput(f"prompt_cache is {prompt_cache!r}; it is 'auto', True, False, '5m' or '1h'")
    if offload is not None:
        check_kind("offload", offload, BaseStore)  # type: ignore[type-abstract]  # only asked for
    brought = [tool for one in around for tool in one.tools]
    reader = make_skill_tool(skills, later=holds_up_a_loop()) if skills else None
    more = [one for one in (reader, None if offload is None else read_result) if one is not None]
    own, hosted = index_tools([*tools, *brought, *more])
    limits.check_tools(own)
    answer: AnswerFormat | None = read_answer_format(response_format)
    check_answer_names(answer, own)
    if isinstance(model, str):
        resolve_model_name(model, served=False)  # it is made at the first run, and needs its key then
    elif model is None:  # pyright: ignore[reportUnnecessaryComparison]  # a caller's mistake
        raise InvalidInput("model is None; it is a chat model, or the name of one, such as 'openai:gpt-5.2' or 'local'")
    plan = AgentPlan(
        model=model,
        tools=own,
        hosted=hosted,
        answer=answer,
        style=style,
        system=_read_system_prompt(system_prompt),
        context=None if context_schema is None else ContextSchema(context_schema),
        middleware=around,
        approvals=ApprovalRules(interrupt_on, own) or None,
        at_limit=at_limit,
        prompt_cache=prompt_cache,
        offload=offload,
        search=read_tool_search(defer, own),
        skills=reader,
    )
    if not isinstance(model, str):  # what does not go together is said here
        _ = plan.own if reader is None or reader.is_read else plan.adapt()
    return Agent(plan, limits, name)


def _read_system_prompt(prompt: object) -> SystemMessage | PromptFunction | None:
    if callable(prompt):
        return cast(PromptFunction, prompt)
    return coerce_prompt("system_prompt", prompt)
