"""What a face is: how one API asks for an answer and is answered, so that the gateway knows of no format.

A face reads a body to messages and options, and writes an answer, or the pieces of one. Between them stands a
`AnswerRequest`, the same for all, so that there are as many readers and writers as formats, and not as many as pairs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hocket.errors import InvalidHook, InvalidReply
from hocket.messages import AIMessage, BaseMessage, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.messages.usage import add_report
from hocket.serving.refusals import Refusal

__all__ = ["AnswerRequest", "Face", "ReplyWriter", "Said", "check_answer", "drop_foreign", "find_finish"]

Said: TypeAlias = AIMessage | str
"""What a model says: a message, or a text."""

_FINISHES = frozenset({"stop", "length", "tool_calls", "content_filter"})


@dataclass(frozen=True, kw_only=True)
class AnswerRequest:
    """What a client asks for.

    Attributes:
        model: the name of the model.
        input: the conversation, or a text to go on with.
        options: of the call.
        tools: what ``bind_tools`` takes: the tools, and the choice among them; none: nothing.
        spare: the names of options that are left out where the model refuses them, since they mean nothing to it, or ask
            for what the API does anyway.
        stream: whether the answer is to come in pieces.
        include_usage: whether a stream is to tell usage.
        metadata: what the client says of the request, for handlers and logs.
        foreign: what is told of each tool that no model here can be offered, since it runs elsewhere, or is no function.
        may_pass: whether a server of the same format may be sent the body as it is.
        body: the fields of the body, for replies that repeat some of them.
    """

    model: str
    input: list[BaseMessage] | str
    options: Fields = field(default_factory=dict[str, object])
    tools: Fields = field(default_factory=dict[str, object])
    spare: frozenset[str] = frozenset()
    stream: bool = False
    include_usage: bool = False
    metadata: FieldsView | None = None
    foreign: Sequence[Refusal] = ()
    may_pass: bool = True
    body: FieldsView = field(default_factory=dict[str, object], repr=False)


class ReplyWriter(ABC):
    """Writes an answer that comes in pieces as the events of one reply.

    Attributes:
        usage: what the model has reported so far.
        facts: what it has said so far about its answer.
        has_failed: whether the stream broke off.

    Args:
        upstream_errors: whether a failure is told in the words of the model's server.
    """

    def __init__(self, *, upstream_errors: bool = False) -> None:
        self.usage: UsageMetadata | None = None
        self.facts: Fields = {}
        self.has_failed: bool = False
        self._upstream_errors = upstream_errors

    @abstractmethod
    def write(self, item: Said) -> bytes:
        """Return the events of a piece; nothing, if it says nothing.

        Raises:
            InvalidHook: it is no piece of an answer.
        """

    @abstractmethod
    def end(self) -> bytes:
        """Return the events that say why the answer has ended, and what it took."""

    @abstractmethod
    def fail(self, error: Exception) -> bytes:
        """Return the event that says what went wrong, on which the clients of the format raise."""

    def _note(self, chunk: AIMessage) -> None:
        """Take note of what is told at the end."""
        self.facts |= chunk.response_metadata
        if chunk.usage_metadata:
            self.usage = add_report(self.usage, chunk.usage_metadata)


class Face(NamedTuple):
    """How one API asks and answers.

    Attributes:
        name: of the format, as `hocket.remote.relay.RelayFormat` has it; "": no model's server speaks it.
        read: returns what a body asks for, or raises a `Refusal`, which names the field.
        write: returns a whole answer to a request.
        make_writer: returns what writes the pieces of one; told whether failures are in the words of the model's server.
    """

    name: str
    read: Callable[[bytes], AnswerRequest]
    write: Callable[[Said, AnswerRequest], bytes]
    make_writer: Callable[[AnswerRequest, bool], ReplyWriter]


def drop_foreign(request: AnswerRequest, *, may_drop: bool) -> set[str]:
    """Return the places of the tools that are left out, since they are foreign to every model here.

    Raises:
        Refusal: there are some, and none may be left out.
    """
    if request.foreign and not may_drop:
        raise request.foreign[0]
    return {refusal.param or "tools" for refusal in request.foreign}


def check_answer(said: object) -> Said:
    """Return what a model, or a chain that ends in one, has said.

    Raises:
        InvalidHook: it is something else.
    """
    if isinstance(said, AIMessage | str):
        return said
    raise InvalidHook(f"the answer is {type(said).__name__}, and neither a message of a model nor a text")


def find_finish(facts: FieldsView, *, called: bool) -> str:
    """Return why an answer that came whole has ended: "stop", "length", "tool_calls", "content_filter", or the model's word.

    Args:
        facts: what the model has said about its answer.
        called: whether it has called tools.

    Raises:
        InvalidReply: it has ended with an error.
    """
    reason: object = facts.get("normalized_finish_reason")
    if reason == "error":
        raise InvalidReply("the model's server ended the answer with an error")
    if reason not in _FINISHES:
        reason = facts.get("finish_reason") or "stop"
    return "tool_calls" if called and reason == "stop" else str(reason)
