"""Code of the application around each call of the model and each call of a tool.

LangChain has six hooks, each twice. Here are two: what happens before and after a call are lines around
``handler(request)``. A hook may be ``def`` or ``async def``, whichever verb the agent is run by: a sync one runs in a
worker thread, where its handler waits for the loop.
"""

import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from hocket._runtime.mode import ASYNC, BLOCKING, drive
from hocket.errors import InvalidHook
from hocket.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from hocket.messages.content import FieldsView
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.config import set_config_context
from hocket.tools import BaseTool
from hocket.tools.runtime import Runtime

__all__ = [
    "NO_RUNTIME",
    "AgentMiddleware",
    "ModelRequest",
    "OfferedTool",
    "ToolCallRequest",
    "ToolLike",
    "compose_model_calls",
    "compose_tool_calls",
    "describe_strange_hook",
]

OfferedTool = BaseTool | FieldsView
"""What a model is shown: a tool that is run here, or, as a dict in its provider's words, one that the provider runs."""

ToolLike = BaseTool | Callable[..., object] | Mapping[str, Any]
"""A tool, a function that becomes one, or the declaration of one that the provider runs."""

NO_RUNTIME: Runtime = Runtime()
"""Of a request that no run has made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of the model, before it is made.

    Args:
        model: is asked.
        messages: are sent: the system's text first, then the conversation, as far as it fits.
        tools: that the model may call, that of the typed answer included; those that the provider runs are dicts.
        tool_choice: as `BaseChatModel.bind_tools` takes it; None: the model's own choice.
        options: further arguments of the call, ``temperature`` for example.
        step: the number of the call in its run, from 1.
        runtime: the context of the run, and its usage.
    """

    model: Runnable[Any, AIMessage]
    messages: Sequence[BaseMessage]
    tools: Sequence[OfferedTool] = ()
    tool_choice: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    step: int = 1
    runtime: Runtime = NO_RUNTIME

    def override(self, **changes: Any) -> "ModelRequest":
        """Return a copy with some fields changed."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRequest:
    """One call of a tool, before it is made.

    Args:
        tool_call: as the model wrote it.
        tool: that is called, one that the agent does not have, too; None: the one that the call names. If there is none
            of that name, the handler tells the model so.
        step: the number of the model's call that asked for it, from 1.
        runtime: the context of the run, and its usage.
        failures: what the tool has raised so far, the last one last: a handler adds what the result says in words.
    """

    tool_call: ToolCall
    tool: BaseTool | None
    step: int = 1
    runtime: Runtime = NO_RUNTIME
    failures: list[Exception] = field(default_factory=list[Exception], compare=False, repr=False)

    def override(self, **changes: Any) -> "ToolCallRequest":
        """Return a copy with some fields changed. A call of another name is one of another tool."""
        if "tool" not in changes and changes.get("tool_call", self.tool_call)["name"] != self.tool_call["name"]:
            changes["tool"] = None
        return replace(self, **changes)


Request = TypeVar("Request")
Message = TypeVar("Message")

Handler = Callable[[Request], Coroutine[Any, Any, Message]]
Hook = Callable[[Request, Callable[[Request], Any]], Any]

ModelHandler = Handler[ModelRequest, AIMessage]
ToolHandler = Handler[ToolCallRequest, ToolMessage]


_AROUND_MODEL = "write wrap_model_call(self, request, handler), with this before or after `handler(request)`"
_AROUND_AGENT = "do it before or after the agent is called, or in wrap_model_call where request.step is 1"
_STRANGE_HOOKS: Mapping[str, str] = {
    **dict.fromkeys(("before_model", "after_model", "abefore_model", "aafter_model"), _AROUND_MODEL),
    **dict.fromkeys(("before_agent", "after_agent", "abefore_agent", "aafter_agent"), _AROUND_AGENT),
    "awrap_model_call": "call it wrap_model_call, which may be async, and returns the AIMessage",
    "awrap_tool_call": "call it wrap_tool_call, which may be async",
}
"""Hooks of LangChain's that hocket never calls, and what to write instead."""


def describe_strange_hook(name: str) -> str | None:
    """Return what to write instead of a hook that LangChain has and hocket never calls; None for any other method."""
    instead = _STRANGE_HOOKS.get(name)
    return f"hocket never calls {name}: {instead}" if instead else None


class AgentMiddleware:
    """Wraps an agent's calls. Subclass it, and define one or both hooks, each with ``def`` or ``async def``.

    A hook may look at the request, change it (``request.override(...)``), call ``handler`` once, several times or not at
    all, and look at what it returns. An exception ends the run if it wraps the model, and goes to the model if it
    wraps a tool; `StopRun` ends the run with its value in both. A model that a hook asks is inside the run: on its bill,
    under its limits, with its handlers and metadata. One object serves all runs of its agent, at once.

    Attributes:
        tools: that it brings to its agent.
        holds_output: whether a streamed answer is held back until the hooks have returned it, as a filter of answers
            needs it.
        may_pause: whether `is_approval_needed` is asked. Each run needs ``history=`` then, and the agent is no tool.

    Raises:
        InvalidHook: a subclass defines a hook of LangChain's that hocket never calls, such as ``before_model``.

    Examples:
        >>> class Shout(AgentMiddleware):
        ...     async def wrap_tool_call(self, request, handler):
        ...         result = await handler(request)
        ...         return result.model_copy(update={"content": result.text.upper()})
    """

    tools: Sequence[ToolLike] = ()
    holds_output: bool = False
    may_pause: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse a hook that would never be called: a filter in it would stop filtering, silently."""
        super().__init_subclass__(**kwargs)
        for name in dir(cls):
            if text := describe_strange_hook(name):
                raise InvalidHook(f"{cls.__name__}: {text}")

    def check_tools(self, tools: Mapping[str, BaseTool]) -> None:
        """Refuse the tools of a run, by name, by raising `InvalidInput`: nothing was sent or stored yet."""

    def is_approval_needed(self, call: ToolCall, runtime: Runtime) -> bool:
        """Whether a call waits for a person, as one of ``interrupt_on`` does. An exception ends the run."""
        return False

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Return the model's answer, an `AIMessage`. By default what ``handler`` returns."""
        return handler(request)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Return the result of the call, a `ToolMessage`. By default what ``handler`` returns."""
        return handler(request)


def compose_model_calls(
    middleware: Sequence[AgentMiddleware], innermost: ModelHandler, config: RunnableConfig
) -> ModelHandler:
    """Return ``innermost`` within the hooks of the model, the first middleware's outermost, which are inside a run."""
    return _nest(_list_hooks(middleware, "wrap_model_call"), innermost, AIMessage, config)


def compose_tool_calls(
    middleware: Sequence[AgentMiddleware], innermost: ToolHandler, config: RunnableConfig
) -> ToolHandler:
    """Return ``innermost`` within the hooks of the tools, the first middleware's outermost, which are inside a run."""
    return _nest(_list_hooks(middleware, "wrap_tool_call"), innermost, ToolMessage, config)


def _list_hooks(middleware: Sequence[AgentMiddleware], name: str) -> list[Hook[Any]]:
    """Return what is asked under a name: what the class of each defines, or was set on the object; no defaults."""
    default = getattr(AgentMiddleware, name)
    found = (getattr(one, name) for one in middleware)
    return [hook for hook in found if getattr(hook, "__func__", None) is not default]


def _nest(
    hooks: Sequence[Hook[Request]], innermost: Handler[Request, Message], kind: type[Message], config: RunnableConfig
) -> Handler[Request, Message]:
    handler = innermost
    for hook in reversed(hooks):
        handler = _Wrapped(hook, handler, kind, config)
    return handler


class _Wrapped(Generic[Request, Message]):
    """A handler within a hook, whose own calls are inside the run of a config."""

    def __init__(
        self, hook: Hook[Request], handler: Handler[Request, Message], kind: type[Message], config: RunnableConfig
    ) -> None:
        self._hook = hook
        self._handler = handler
        self._kind = kind
        self._config = config

    async def __call__(self, request: Request) -> Message:
        with set_config_context(self._config):
            if inspect.iscoroutinefunction(self._hook):
                message: object = await self._hook(request, self._handler)
            else:
                (message,) = await ASYNC.call_sync(self._call_boxed, request)
        if not isinstance(message, self._kind):
            name = getattr(self._hook, "__qualname__", repr(self._hook))
            got = type(message).__name__
            raise InvalidHook(f"{name} returned {got}; it must return what its handler does: {self._kind.__name__}")
        return message

    def _call_boxed(self, request: Request) -> tuple[object]:
        """Call a sync hook; trio lets no coroutine out of a thread, unless it is wrapped."""
        return (self._hook(request, self._call_from_thread),)

    def _call_from_thread(self, request: Request) -> Message:
        return drive(BLOCKING.call_async(self._handler, request))
