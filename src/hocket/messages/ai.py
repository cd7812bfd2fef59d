"""What a model says.

The sum of two chunks is *lazy*. Programs accumulate a stream with ``total = total + chunk``; folding at each ``+`` costs
the length of what came before, which is quadratic (LangChain takes 6 s for 1,000 tool-call chunks). Here ``+`` stores its
two operands under the key `_SUM`, in the place of the fields, and the first read of a field folds all of them, once. So a
chunk is in one of four states, and its fields are what is stored in its instance dictionary (`get_fields`):

- bare: made from one string; holds ``content`` and ``id`` (see ``base``).
- a sum: holds `_SUM`, a pair (left, right); each side is such a pair again, or a snapshot of a chunk's fields.
- folded: holds all fields but ``tool_calls`` and ``invalid_tool_calls``. These are parsed when they are first read, since
  partial JSON has to be read from its beginning.
- whole: holds all fields. Reading ``__dict__``, as pydantic does to compare, copy, print and dump, leads here.

Snapshots are never changed, so sums may share them, also between threads. `Collector` is the same fold without the
intermediate sums, for the pipeline.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, cast

from pydantic import BeforeValidator, Field, model_validator

from hocket.load.serializable import get_fields, set_fields, set_state
from hocket.messages.base import (
    BaseMessage,
    BaseMessageChunk,
    copy_containers,
    copy_message,
    is_bare,
    rebuild,
    register_template,
)
from hocket.messages.content import ContentBlock, Fields, FieldsView
from hocket.messages.folding import Fold, leaves
from hocket.messages.tool_calls import (
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    default_tool_chunk_parser,
    default_tool_parser,
    read_tool_calls,
    tool_call_chunks_of,
)
from hocket.messages.usage import UsageMetadata, with_total

__all__ = ["AIMessage", "AIMessageChunk", "Collector", "message_chunk_to_message"]

_SUM = "_sum"  # the key under which a sum that has not been read yet holds its two operands
_PARSED = ("tool_calls", "invalid_tool_calls")
_NO_MAPPING: Fields = {}  # in snapshots, which are only read
_NO_LIST: list[Any] = []
_CONTAINERS = ("content", "additional_kwargs", "response_metadata", "tool_call_chunks", "usage_metadata")

M = TypeVar("M", bound=BaseMessage)


@register_template
class AIMessage(BaseMessage, init=False):
    """A model's reply.

    Args:
        tool_calls: what the model wants called, arguments parsed.
        invalid_tool_calls: calls whose arguments could not be parsed, as they came.
        usage_metadata: tokens used; `BaseMessage` tells the rest.
    """

    type: Literal["ai"] = "ai"  # pyright: ignore[reportIncompatibleVariableOverride]
    tool_calls: list[ToolCall] = Field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]  # `list[ToolCall]` is slower
    invalid_tool_calls: list[InvalidToolCall] = Field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]  # as above
    usage_metadata: Annotated[UsageMetadata | None, BeforeValidator(with_total)] = None

    def _take_blocks(self, blocks: list[ContentBlock], kwargs: Fields) -> None:
        super()._take_blocks(blocks, kwargs)
        calls = [block for block in blocks if block.get("type") == "tool_call"]
        if calls and not kwargs.get("tool_calls"):
            kwargs["tool_calls"] = calls

    @model_validator(mode="before")
    @classmethod
    def _from_provider(cls, values: Any) -> Any:
        """Read OpenAI's raw calls out of ``additional_kwargs``, unless parsed ones are given.

        Those are ``tool_calls``, as in LangChain, or the older ``function_call``, one call without an id. A chunk may
        have a piece of the latter, which is read when the chunks have been added (see `_chunks_of_calls`).
        """
        fields: Fields = values if isinstance(values, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # a cast is a call
        kwargs: Fields = fields.get("additional_kwargs", {})
        if not kwargs or any(fields.get(key) for key in (*_PARSED, "tool_call_chunks")):
            return values  # pyright: ignore[reportUnknownVariableType]
        is_chunk = issubclass(cls, AIMessageChunk)
        raw: list[Fields] = kwargs.get("tool_calls") or ([] if is_chunk else _older_call(kwargs))
        if not raw:
            return values  # pyright: ignore[reportUnknownVariableType]
        if is_chunk:
            return {**fields, "tool_call_chunks": default_tool_chunk_parser(raw)}
        calls, invalid = default_tool_parser(raw)
        return {**fields, "tool_calls": calls, "invalid_tool_calls": invalid}

    @property
    def content_blocks(self) -> list[ContentBlock]:
        """The content as standard blocks, tool calls and reasoning included. Computed again on each access."""
        from hocket.messages.formats import content_blocks_of  # loaded with the first list of blocks

        return content_blocks_of(
            self.content,
            additional_kwargs=self.additional_kwargs,
            response_metadata=self.response_metadata,
            tool_calls=self.tool_calls,
            invalid_tool_calls=self.invalid_tool_calls,
        )

    def pretty_repr(self, html: bool = False) -> str:
        """Return the message and its tool calls for reading in a terminal, as LangChain lays them out."""
        lines = [super().pretty_repr(html).strip()]
        for title, calls in (("Tool Calls:", self.tool_calls), ("Invalid Tool Calls:", self.invalid_tool_calls)):
            lines += [title] if calls else []
            for call in cast("list[FieldsView]", calls):
                lines += [f"  {call.get('name', 'Tool')} ({call.get('id')})", f" Call ID: {call.get('id')}"]
                lines += [f"  Error: {call['error']}"] if call.get("error") else []
                lines += ["  Args:", *_argument_lines(call.get("args"))]
        return "\n".join(lines)


def _older_call(kwargs: FieldsView) -> list[Fields]:
    """The ``function_call`` of a message, from before there were tools, as a list of raw tool calls."""
    function = kwargs.get("function_call")
    return [{"function": function}] if function and isinstance(function, Mapping) else []


def _argument_lines(args: Any) -> list[str]:
    if isinstance(args, dict):
        return [f"    {name}: {value}" for name, value in cast(Fields, args).items()]
    return [f"    {args}"] if isinstance(args, str) else []


class AIMessageChunk(AIMessage, BaseMessageChunk, init=False):
    """A piece of a model's reply as it streams in.

    Args:
        tool_call_chunks: pieces of tool calls. ``tool_calls`` is read off them, arguments completed as far as they go
            until the last chunk has come; given alone, ``tool_calls`` is written down as such pieces.
        chunk_position: "last" on the last chunk of a stream.
    """

    type: Literal["AIMessageChunk"] = "AIMessageChunk"  # type: ignore[assignment]
    tool_call_chunks: list[ToolCallChunk] = Field(default_factory=list)  # pyright: ignore[reportUnknownVariableType]  # as in `AIMessage`
    chunk_position: Literal["last"] | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        fields = get_fields(self)
        if "tool_calls" not in fields:
            return self  # a sum, validated as part of something else: it stays lazy
        calls = fields["tool_calls"], fields["invalid_tool_calls"]
        if calls == ([], []):
            fields["tool_calls"], fields["invalid_tool_calls"] = _read(fields)
        elif not fields["tool_call_chunks"] and calls != _read(fields):
            fields["tool_call_chunks"] = tool_call_chunks_of(*calls)
        return self

    @property
    def content_blocks(self) -> list[ContentBlock]:
        """The content as standard blocks. Tool calls are shown in pieces until the last chunk has come."""
        from hocket.messages.formats import content_blocks_of  # loaded with the first list of blocks

        return content_blocks_of(
            self.content,
            additional_kwargs=self.additional_kwargs,
            response_metadata=self.response_metadata,
            tool_calls=self.tool_calls,
            invalid_tool_calls=self.invalid_tool_calls,
            tool_call_chunks=None if self.chunk_position == "last" else _chunks_of_calls(self.__dict__),
        )

    def __add__(self, other: Any) -> Self:
        """Return the message so far, this chunk and then ``other``: a chunk, or a list of chunks.

        Costs the same however long the message is. Neither operand changes, nor does later editing of one reach the sum.

        Raises:
            TypeError: ``other`` is something else.
        """
        chunks = (other,) if type(other) is AIMessageChunk else self._addends(other)
        cls, (parts, extra) = type(self), _addend(self)
        extras: Fields = copy_containers(extra) if extra else {}
        for chunk in chunks:
            part, more = _addend(chunk)
            parts = (parts, part)
            if more:
                extras.update(copy_containers(more))
        given = self.__pydantic_fields_set__ if _SUM in get_fields(self) else cls.__pydantic_fields__
        private = None if cls is AIMessageChunk else self.__pydantic_private__
        total = cls.__new__(cls)
        set_state(total, {_SUM: parts}, set(given), extras, None if private is None else dict(private))
        return total

    def __getattr__(self, name: str) -> Any:
        fields = get_fields(self)
        if _SUM in fields:
            fields = self._fold(fields)
        if name in fields:  # made just now, by this thread or another
            return fields[name]
        if name in _PARSED and "tool_call_chunks" in fields:
            return self._parse(fields)[name]
        return super().__getattr__(name)  # type: ignore[misc]  # pydantic hides it from type checkers

    if not TYPE_CHECKING:

        def _fill_fields(self) -> Fields:
            fields = get_fields(self)
            if "tool_calls" not in fields:
                if _SUM in fields:
                    fields = self._fold(fields)
                if "tool_call_chunks" not in fields:
                    return super()._fill_fields()
                fields = self._parse(fields)
            return fields

        __dict__ = property(_fill_fields, set_fields, doc="All fields, made by now.")

    def _fold(self, fields: FieldsView) -> Fields:
        """Fold a lazy sum, and store the folded fields in the place of its operands. The tool calls are not parsed yet."""
        fold, parts = Fold(), leaves(fields[_SUM])
        for part in parts:
            fold.add(part)
        folded = {**fold.fields(), **fold.reply_fields()}
        others = {
            name: copy_containers(value)
            for name, value in parts[0].items()
            if name not in folded and name not in _PARSED
        }
        made = {"type": "AIMessageChunk", **others, **folded}  # the first part may be bare
        set_fields(self, made)
        return made

    def _parse(self, fields: FieldsView) -> Fields:
        """Parse the tool calls, and store all fields in the order of their declaration."""
        made: Fields = {**dict.fromkeys(type(self).__pydantic_fields__), **fields}
        made["tool_calls"], made["invalid_tool_calls"] = _read(made)
        set_fields(self, made)
        return made


register_template(AIMessageChunk)


def _addend(chunk: BaseMessageChunk) -> tuple[Any, Fields | None]:
    """Return (operand, extras): a snapshot of the chunk's fields, or, if the chunk is a lazy sum, its pair of operands."""
    fields = get_fields(chunk)
    if _SUM in fields:
        return fields[_SUM], chunk.__pydantic_extra__
    if is_bare(fields):
        return {"content": fields["content"], "id": fields["id"]}, None
    kept = fields.copy()
    for name in _CONTAINERS if type(chunk) is AIMessageChunk else fields:
        value = fields[name]
        if type(value) is dict:
            kept[name] = copy_containers(value) if value else _NO_MAPPING
        elif type(value) is list:
            kept[name] = copy_containers(value) if value else _NO_LIST
    return kept, chunk.__pydantic_extra__


def _chunks_of_calls(fields: FieldsView) -> list[ToolCallChunk]:
    """Return the pieces of a chunk's tool calls; without any, those of an older ``function_call``.

    That stays in ``additional_kwargs``, where its pieces are put together: without an index and an id, they would be
    taken for pieces of another call. If there are tool calls as well, it repeats one of them.
    """
    chunks: list[ToolCallChunk] = fields["tool_call_chunks"]
    kwargs: FieldsView = fields["additional_kwargs"]
    return default_tool_chunk_parser(_older_call(kwargs)) if kwargs and not chunks else chunks


def _read(fields: FieldsView) -> tuple[list[ToolCall], list[InvalidToolCall]]:
    """Return the tool calls of a chunk, valid and invalid. Until its end is told, arguments are completed as they stand."""
    has_ended = fields["chunk_position"] == "last" or "normalized_finish_reason" in fields["response_metadata"]
    return read_tool_calls(_chunks_of_calls(fields), partial=not has_ended)


class Collector:
    """Folds a stream of chunks, of one model's reply, into the reply.

    The same fold as ``+``, without an object for every sum: about a microsecond a chunk. May be read at any time.
    """

    __slots__ = ("_extra", "_first", "_fold")

    def __init__(self) -> None:
        self._fold = Fold()
        self._first: BaseMessageChunk | None = None
        self._extra: Fields = {}

    def __bool__(self) -> bool:
        """Whether anything has been added."""
        return self._first is not None

    def add_text(self, text: str, id: str) -> None:
        """Add a chunk that is nothing but a text with an id."""
        if self._first is None:
            self._first = _BLANK
        self._fold.add_text(text, id)

    def add(self, chunk: BaseMessageChunk) -> None:
        """Add the next chunk."""
        if self._first is None:
            self._first = chunk if type(chunk) is AIMessageChunk else copy_message(chunk)
        fields = get_fields(chunk)
        if _SUM in fields:
            for part in leaves(fields[_SUM]):
                self._fold.add(part)
        else:
            self._fold.add(fields)
            if "additional_kwargs" not in fields:  # it is bare
                return
        if chunk.__pydantic_extra__:
            self._extra.update(copy_containers(chunk.__pydantic_extra__))

    def chunk(self) -> AIMessageChunk:
        """Return what has come so far as one chunk; arguments of tool calls are completed as far as they go."""
        first = self._first if isinstance(self._first, AIMessageChunk) else _BLANK
        fields = {**copy_containers(first.__dict__), **self._fold.fields(), **self._fold.reply_fields()}
        fields["tool_calls"], fields["invalid_tool_calls"] = _read(fields)
        return self._rebuild(fields, type(first))

    def message(self) -> AIMessage:
        """Return the reply. Arguments that are not valid JSON, a call cut short for one, make an invalid tool call."""
        fields: Fields = {**_ORDER, **self._fold.fields(), **self._fold.reply_fields(), "type": "ai"}
        fields["tool_calls"], fields["invalid_tool_calls"] = read_tool_calls(_chunks_of_calls(fields))
        del fields["chunk_position"], fields["tool_call_chunks"]
        return self._rebuild(fields, AIMessage)

    def _rebuild(self, fields: Fields, cls: type[M]) -> M:
        made = rebuild(_BLANK if self._first is None else self._first, fields, cls)
        made.__pydantic_extra__ = copy_containers(self._extra)
        return made


_BLANK = AIMessageChunk("")
_ORDER: Fields = dict.fromkeys(AIMessage.model_fields)


def message_chunk_to_message(chunk: BaseMessage) -> BaseMessage:
    """Return ``chunk`` as the whole message that it is a chunk of; any other message as it is.

    Arguments of tool calls are parsed again: those that are not whole, valid JSON make an invalid tool call, where a
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
    return whole.model_validate(copy_containers({**fields, **(chunk.__pydantic_extra__ or {})}))
