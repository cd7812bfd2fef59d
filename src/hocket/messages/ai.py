"""What a model says.

The sum of two chunks is lazy. `+` notes what was added, in a list that the sums of one stream share, and folds when
somebody looks; so accumulating a stream with ``total = total + chunk`` is linear, where folding eagerly is quadratic
(LangChain takes 6 s for 1,000 tool-call chunks). The tool calls of a sum are parsed only when asked for, since partial
JSON has to be read from its beginning. Whatever reads a message as a whole (comparison, repr, dump, copy, pickle)
settles both first, so that nobody can tell.
"""

from collections.abc import Iterable
from typing import Any, Literal, Self, cast

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from hocket.errors import InvalidInput
from hocket.messages.base import BaseMessage, BaseMessageChunk, copied, plain, rebuilt
from hocket.messages.content import ContentBlock
from hocket.messages.content_view import content_blocks_of
from hocket.messages.folding import Fold
from hocket.messages.tool_calls import (
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    default_tool_chunk_parser,
    default_tool_parser,
    invalid_tool_call,
    parse_tool_arguments,
    tool_call,
)
from hocket.messages.usage import UsageMetadata

__all__ = ["AIMessage", "AIMessageChunk", "Collector", "message_chunk_to_message"]

_SUM = "_sum"  # the key under which an unsettled sum keeps its parts in ``__dict__``
_PARSED = frozenset({"tool_calls", "invalid_tool_calls"})


@plain
class AIMessage(BaseMessage, init=False):
    """A model's reply.

    Args:
        tool_calls: what the model wants called, arguments parsed.
        invalid_tool_calls: calls whose arguments could not be parsed, as they came.
        usage_metadata: tokens used; `BaseMessage` tells the rest.
    """

    type: Literal["ai"] = "ai"
    tool_calls: list[ToolCall] = Field(default_factory=list)
    invalid_tool_calls: list[InvalidToolCall] = Field(default_factory=list)
    usage_metadata: UsageMetadata | None = None

    def _take_blocks(self, blocks: list[ContentBlock], kwargs: dict[str, Any]) -> None:
        super()._take_blocks(blocks, kwargs)
        calls = [block for block in blocks if block.get("type") == "tool_call"]
        if calls and not kwargs.get("tool_calls"):
            kwargs["tool_calls"] = calls

    @model_validator(mode="before")
    @classmethod
    def _from_provider(cls, values: Any) -> Any:
        """Parse OpenAI's raw calls out of ``additional_kwargs``, as LangChain does, unless parsed ones are given."""
        raw = values.get("additional_kwargs", {}) if isinstance(values, dict) else {}
        if not raw or not raw.get("tool_calls") or any(values.get(key) for key in (*_PARSED, "tool_call_chunks")):
            return cast(Any, values)
        if issubclass(cls, AIMessageChunk):
            return {**values, "tool_call_chunks": default_tool_chunk_parser(raw["tool_calls"])}
        calls, invalid = default_tool_parser(raw["tool_calls"])
        return {**values, "tool_calls": calls, "invalid_tool_calls": invalid}

    @property
    def content_blocks(self) -> list[ContentBlock]:
        """The content as standard blocks, tool calls and reasoning included. Computed anew on each access."""
        return content_blocks_of(
            self.content,
            additional_kwargs=self.additional_kwargs,
            response_metadata=self.response_metadata,
            tool_calls=self.tool_calls,
            invalid_tool_calls=self.invalid_tool_calls,
        )

    def pretty_repr(self, html: bool = False) -> str:
        """Return the message and its tool calls for reading in a terminal."""
        lines = [super().pretty_repr(html)]
        for call in [*self.tool_calls, *self.invalid_tool_calls]:
            lines.append(f"Tool call: {call.get('name')} ({call.get('id')})\n  {call.get('args')}")
        return "\n".join(lines)


class AIMessageChunk(AIMessage, BaseMessageChunk, init=False):
    """A piece of a model's reply as it streams in.

    Args:
        tool_call_chunks: pieces of tool calls; ``tool_calls`` is read off them, arguments completed as far as they go.
        chunk_position: "last" on the last chunk of a stream.
    """

    type: Literal["AIMessageChunk"] = "AIMessageChunk"  # type: ignore[assignment]
    tool_call_chunks: list[ToolCallChunk] = Field(default_factory=list)
    chunk_position: Literal["last"] | None = None

    @model_validator(mode="after")
    def _parse_chunks(self) -> Self:
        if self.tool_call_chunks and not self.tool_calls and not self.invalid_tool_calls:
            self.__dict__.update(_parsed(self.tool_call_chunks, partial=True))
        return self

    @property
    def content_blocks(self) -> list[ContentBlock]:
        """The content as standard blocks, pieces of tool calls included, unless this is the last chunk."""
        if not self.tool_call_chunks or self.chunk_position == "last":
            return super().content_blocks
        return content_blocks_of(
            self.content,
            additional_kwargs=self.additional_kwargs,
            response_metadata=self.response_metadata,
            tool_call_chunks=self.tool_call_chunks,
        )

    def __add__(self, other: Any) -> Self:
        """Return the message so far, this chunk and then ``other``: a chunk, or a list of chunks.

        Costs the same however long the message is. Neither operand changes, nor does later editing of one reach the sum.

        Raises:
            TypeError: ``other`` is something else.
        """
        added = other if isinstance(other, list) else [other]
        for chunk in added:
            if not isinstance(chunk, BaseMessageChunk):
                raise TypeError(f"cannot add {type(chunk).__name__} to {type(self).__name__}: it is no message chunk")
        held = self.__dict__.get(_SUM)
        if held is None:
            parts, length = [_snapshot(self)], 1
        else:
            parts, length = held
            if length != len(parts):  # somebody has added to this sum before: the list is theirs now
                parts = parts[:length]
        for chunk in added:
            held = chunk.__dict__.get(_SUM)
            parts.extend([_snapshot(chunk)] if held is None else held[0][: held[1]])
        total = rebuilt(self, {_SUM: (parts, len(parts))}, type(self))
        for chunk in added:
            if chunk.__pydantic_extra__:
                cast("dict[str, Any]", total.__pydantic_extra__).update(chunk.__pydantic_extra__)
        return total

    def __getattr__(self, name: str) -> Any:
        fields = object.__getattribute__(self, "__dict__")
        if _SUM in fields:
            self._fold()
            return getattr(self, name)
        if name in _PARSED and "tool_call_chunks" in fields:
            fields.update(_parsed(fields["tool_call_chunks"], partial=True))
            return fields[name]
        return super().__getattr__(name)  # type: ignore[misc]  # pydantic hides it from type checkers

    def _fold(self) -> None:
        """Replace the parts of a sum by the fields they make; the tool calls are still to be parsed."""
        parts, length = self.__dict__[_SUM]
        fold = Fold()
        for part in parts[:length]:
            fold.add(part)
        fields = {**parts[0], **_spoken(fold)}
        for name in _PARSED:
            fields.pop(name, None)
        self.__dict__.clear()
        self.__dict__.update(fields)
        self.__pydantic_fields_set__.clear()
        self.__pydantic_fields_set__.update({*fields, *_PARSED})

    def _settle(self) -> None:
        """Make every field real."""
        _ = self.tool_calls  # type: ignore[unused-ignore]  # read for its effect: see __getattr__

    def __eq__(self, other: object) -> bool:
        self._settle()
        if isinstance(other, AIMessageChunk):
            other._settle()
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # messages can be edited

    def __setattr__(self, name: str, value: Any) -> None:
        self._settle()
        super().__setattr__(name, value)

    def __iter__(self) -> Any:
        self._settle()
        return super().__iter__()

    def __copy__(self) -> Self:
        self._settle()
        return super().__copy__()

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        self._settle()
        return super().__deepcopy__(memo)

    def __getstate__(self) -> dict[Any, Any]:
        self._settle()
        return super().__getstate__()

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        self._settle()
        return super().__repr_args__()

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        self._settle()
        return cast("dict[str, Any]", handler(self))


plain(AIMessageChunk)


def _snapshot(chunk: BaseMessageChunk) -> dict[str, Any]:
    """What ``chunk`` says now, safe from later edits of it."""
    fields = chunk.__dict__.copy()
    for name, value in fields.items():
        if value and (value.__class__ is dict or value.__class__ is list):
            fields[name] = copied(value)
    return fields


def _parsed(chunks: Iterable[ToolCallChunk], *, partial: bool) -> dict[str, list[Any]]:
    """Read tool calls off chunks that hold all of a call's arguments, or, with ``partial``, all so far."""
    calls: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for chunk in chunks:
        name, text, id_ = chunk.get("name"), chunk.get("args"), chunk.get("id")
        try:
            calls.append(tool_call(name=name or "", args=parse_tool_arguments(text, partial=partial), id=id_))
        except InvalidInput as error:
            invalid.append(invalid_tool_call(name=name, args=text, id=id_, error=str(error)))
    return {"tool_calls": calls, "invalid_tool_calls": invalid}


class Collector:
    """Folds a stream of chunks, of one model's reply, into the reply.

    The same fold as ``+``, without an object for every sum: about a microsecond a chunk. May be read at any time.
    """

    __slots__ = ("_first", "_fold")

    def __init__(self) -> None:
        self._fold = Fold()
        self._first: AIMessageChunk | None = None

    def __bool__(self) -> bool:
        """Whether anything has been added."""
        return self._first is not None

    @property
    def is_last(self) -> bool:
        """Whether a chunk has come that says it is the last."""
        return self._fold.position == "last"

    def add(self, chunk: AIMessageChunk) -> None:
        """Add the next chunk."""
        if self._first is None:
            self._first = chunk
        if _SUM in chunk.__dict__:
            chunk._settle()
        self._fold.add(chunk.__dict__)

    def chunk(self) -> AIMessageChunk:
        """Return what has come so far as one chunk; arguments of tool calls are completed as far as they go."""
        fields = _spoken(self._fold)
        first = _BLANK if self._first is None else self._first
        others = {name: value for name, value in first.__dict__.items() if name not in _PARSED}
        return rebuilt(first, {**others, **fields}, type(first))

    def message(self) -> AIMessage:
        """Return the reply. Arguments that are not valid JSON, a call cut short for one, make an invalid tool call."""
        fields = _spoken(self._fold)
        del fields["chunk_position"]
        fields.update(_parsed(fields.pop("tool_call_chunks"), partial=False))
        return rebuilt(_BLANK if self._first is None else self._first, {"type": "ai", **fields}, AIMessage)


def _spoken(fold: Fold) -> dict[str, Any]:
    """What ``fold`` says of a reply, whose tool calls are still to be parsed."""
    return {
        **fold.fields(),
        "tool_call_chunks": fold.tool_call_chunks(),
        "usage_metadata": fold.usage_metadata(),
        "chunk_position": fold.position,
    }


_BLANK = AIMessageChunk("")


def message_chunk_to_message(chunk: BaseMessage) -> BaseMessage:
    """Return ``chunk`` as the whole message that it is a chunk of; any other message as it is.

    Arguments of tool calls are parsed anew: those that are not whole, valid JSON make an invalid tool call, where a
    chunk completes them.
    """
    if isinstance(chunk, AIMessageChunk):
        collector = Collector()
        collector.add(chunk)
        return collector.message()
    if not isinstance(chunk, BaseMessageChunk):
        return chunk
    whole = next(
        cls for cls in type(chunk).__mro__ if issubclass(cls, BaseMessage) and not issubclass(cls, BaseMessageChunk)
    )
    fields = {name: value for name, value in chunk.__dict__.items() if name != "type"}
    return whole.model_validate({**fields, **(chunk.__pydantic_extra__ or {})})
