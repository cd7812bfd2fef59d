"""What a tool may know of the run that calls it: for whom the run is, what was said, what it has used.

The application gives a context to a call of an agent; the model never sees it. A parameter of a tool says by its type
alone that it takes the runtime, as in LangChain, so that no schema has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Annotated, Any, Generic, Protocol, get_args, get_origin

from typing_extensions import TypeVar

from hocket.messages import BaseMessage, UsageMetadata
from hocket.runnables import RunnableConfig

__all__ = ["EventTaker", "Runtime", "ToolRuntime", "is_runtime"]

C = TypeVar("C", default=Any)


class EventTaker(Protocol):
    """Takes the events of a run inside a run; see `hocket._runtime.stream.Sink`."""

    @property
    def closed(self) -> bool: ...

    def put(self, item: Any) -> Any: ...


def _no_usage() -> UsageMetadata:
    return {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


@dataclass(frozen=True, kw_only=True)
class Runtime(Generic[C]):
    """The run of an agent, for its tools, hooks and prompt function. All fields have defaults.

    Args:
        context: the object that the call of the agent was given.
        injected: the injected arguments of the call, by name.
        messages: the conversation so far, as it is stored. The list is a copy.
        step: the number of the model's call, from 1; 0 before the first.
        usage: tokens of all models in the run so far.
        tokens_left: tokens that `AgentLimits` still allows, those of the runs around included; None: no limit.
        agent: the name of the agent.
        tool_call_id: the id of the call; None outside of a tool.
        config: callbacks, tags and metadata for what is run inside the run.
    """

    context: C = None  # type: ignore[assignment]  # for a run without a context
    injected: Mapping[str, object] = field(default_factory=dict[str, object])
    messages: Sequence[BaseMessage] = ()
    step: int = 0
    usage: UsageMetadata = field(default_factory=_no_usage)
    tokens_left: int | None = None
    agent: str | None = None
    tool_call_id: str | None = None
    config: RunnableConfig = field(default_factory=RunnableConfig)
    _events: EventTaker | None = field(default=None, repr=False, compare=False)
    _system: BaseMessage | None = field(default=None, repr=False, compare=False)
    _tools: Mapping[str, object] = field(default_factory=dict[str, object], repr=False, compare=False)


ToolRuntime = Runtime
"""LangChain's name of `Runtime`."""


def is_runtime(annotation: object) -> bool:
    """Whether a parameter with this annotation takes a `Runtime`, with or without a type of context, or else None."""
    if isinstance(annotation, type):
        return annotation is Runtime
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return is_runtime(inside[0])
    return origin is Runtime or (NoneType in inside and any(map(is_runtime, inside)))
