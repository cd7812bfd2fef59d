"""The result of a run of an agent, and what the agent did, in LangChain's words: the payloads of ``on_agent_action`` and
``on_agent_finish``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from hocket.agents.limits import StopReason
from hocket.message_toolkit.prefix import PrefixBreak
from hocket.messages import AIMessage, BaseMessage, ToolCall, ToolMessage, UsageMetadata
from hocket.messages.html import write_messages, write_table

__all__ = ["AgentAction", "AgentFinish", "AgentResult", "AgentStep", "collect_steps", "make_action"]

Output = TypeVar("Output")

_LANGCHAIN = {"messages": "messages", "structured_response": "output"}


@dataclass(frozen=True, slots=True)
class AgentAction:
    """A call of a tool that an agent asks for.

    Args:
        tool: the name of the tool.
        tool_input: its arguments, or a text if there is only one.
        log: the model's text with it.
        tool_call_id: of the call; empty where the model has no ids.
    """

    tool: str
    tool_input: str | Mapping[str, Any]
    log: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentFinish:
    """The end of an agent's work.

    Args:
        return_values: what it returns; LangChain's executors have one key, "output".
        log: what the model said.
    """

    return_values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    log: str = ""


class AgentStep(NamedTuple):
    """A call of a tool, and its result: LangChain's pair of the two, with names.

    Args:
        action: the call.
        observation: the result, as the model got it.
    """

    action: AgentAction
    observation: str


def _no_usage() -> UsageMetadata:
    return {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


@dataclass(frozen=True, kw_only=True)
class AgentResult(Generic[Output]):
    """The result of an agent's run. LangChain's ``result["messages"]`` and ``result["structured_response"]`` work, too.

    Attributes:
        output: the model's text, or the object that it made; what a tool with ``return_direct`` or a `StopRun` has; None:
            there is none.
        stop: why the run has ended.
        new_messages: those of this call: the question, answers, results. An unanswered question, since a limit
            came first, is here, and not in the history.
        past: the earlier messages.
        pending: calls that wait for a decision.
        usage: tokens of all models that were called since the call of the agent began, by tools and other agents too;
            answers out of a cache cost nothing. After `Resume` this is the part since then: what came before the pause
            is in the result of the call that paused.
        usage_unknown: replies in the same part that reported no usage.
        model_calls, tool_calls: calls that this agent made in the same part; those that `Resume` decided are in it.
        excess_tokens: by how much, at least once, what was sent was estimated to be longer than the window of the model:
            nothing more could be left out.
        prefix_breaks: requests that did not begin as the one before them, so that the provider's prompt cache was of no
            use, each with the reason. Those of "compacted", and of the last answer at a limit, are the run's own doing.
        decided: the calls of a message in ``past`` that `Resume` decided, with their results.
    """

    output: Output | None
    stop: StopReason
    new_messages: list[BaseMessage]
    past: list[BaseMessage] = field(default_factory=list[BaseMessage], repr=False)
    pending: list[ToolCall] = field(default_factory=list[ToolCall])
    usage: UsageMetadata = field(default_factory=_no_usage)
    usage_unknown: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    excess_tokens: int = 0
    prefix_breaks: list[PrefixBreak] = field(default_factory=list[PrefixBreak])
    decided: list[AgentStep] = field(default_factory=list[AgentStep], repr=False)

    @property
    def cached_share(self) -> float | None:
        """How much of the run's input was read from providers' caches, from 0 to 1; None: no reply reported it."""
        read = self.usage.get("input_token_details", {}).get("cache_read")
        return None if read is None else read / max(1, self.usage["input_tokens"])

    @property
    def messages(self) -> list[BaseMessage]:
        """All that was said, before and now."""
        return [*self.past, *self.new_messages]

    @property
    def steps(self) -> list[AgentStep]:
        """The calls of tools, each with its result, in order (LangChain's words).

        They are those of this call's messages; and first those that `Resume` decided, with the arguments as they were
        run, though their message is in ``past``.
        """
        return [*self.decided, *collect_steps(self.new_messages)]

    def _repr_html_(self) -> str:
        """Return what was said, and how the run has ended, as a notebook shows it."""
        counts = (self.stop, self.model_calls, self.tool_calls, f"{self.usage['total_tokens']:,}")
        head = ("ended", "model calls", "tool calls", "tokens")
        return write_messages(self.new_messages) + write_table(head, [counts])

    def __getitem__(self, key: str) -> Any:
        if key not in _LANGCHAIN:
            raise KeyError(f"{key!r}: a result has the keys {', '.join(_LANGCHAIN)}; its attributes say more")
        return getattr(self, _LANGCHAIN[key])


def collect_steps(messages: Sequence[BaseMessage]) -> list[AgentStep]:
    """Return the calls in ``messages`` that have a result there, each with it, in the order of the calls."""
    results = {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}
    return [
        AgentStep(make_action(call, message), results[call["id"] or ""])
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if (call["id"] or "") in results
    ]


def make_action(call: ToolCall, message: AIMessage) -> AgentAction:
    """Return a call of ``message`` in LangChain's words."""
    return AgentAction(call["name"], call["args"], message.text, call["id"] or "")
