"""An answer told as blocks that open and close, one after another: `BlockWriter`, for formats whose streams are so.

A stream of hocket's has pieces of texts, thoughts and calls. Anthropic's messages and OpenAI's Responses have blocks, or
items, with a beginning and an end, numbered in the order in which they begin. Which block is open, and what it holds by
now, is kept here; a subclass says how the events look.

Calls whose pieces come mixed are told one after another: what belongs to a later one waits until the one before is whole.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

from hocket._pipeline.chat_answer import as_chunk
from hocket.errors import InvalidReply
from hocket.messages import AIMessage, AIMessageChunk, ToolCallChunk
from hocket.messages.content import Fields, FieldsView
from hocket.serving.gateway.call_pieces import CallPieces, new_call_id
from hocket.serving.gateway.face import AnswerRequest, Face, ReplyWriter, Said, check_answer, find_finish
from hocket.serving.message_parts import encode_json, find_plain_text, list_blocks
from hocket.serving.refusals import Refusal, explain_failure

__all__ = ["BlockKind", "BlockWriter", "OpenBlock", "make_block_face"]

BlockKind = Literal["text", "reasoning", "call"]
"""What a block is."""


@dataclass(slots=True)
class OpenBlock:
    """A block that is being told.

    Attributes:
        kind: what it is.
        index: its number, from 0.
        id, name: of a call; else "".
        pieces: what was told of it: a text, a thought, or the arguments of a call.
        extras: what the model says of it beside that, such as the signature of a thought.
    """

    kind: BlockKind
    index: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    extras: Fields = field(default_factory=dict[str, object])


@dataclass(slots=True)
class _Call:
    """A call, and what has come of it and was not told."""

    id: str
    name: str
    waiting: list[str]


class BlockWriter(ReplyWriter):
    """Writes an answer that comes in pieces as blocks.

    Attributes:
        reply: the whole of it, as far as it was told.

    Args:
        request: of the client.
        upstream_errors: see `ReplyWriter`.
    """

    reply: Fields

    def __init__(self, request: AnswerRequest, *, upstream_errors: bool = False) -> None:
        super().__init__(upstream_errors=upstream_errors)
        self.reply = self._make_reply(request)
        self._out: list[bytes] = []
        self._has_begun = False
        self._count = 0  # blocks that have begun
        self._block: OpenBlock | None = None
        self._before = self._after = b""  # what stands around each piece of it, which is written once
        self._pieces = CallPieces()
        self._calls: list[_Call] = []
        self._place = 0  # of the first call that was not told to its end

    # -- how events look

    @abstractmethod
    def _make_reply(self, request: AnswerRequest) -> Fields:
        """Return a reply that says nothing yet."""

    @abstractmethod
    def _begin(self) -> None:
        """Tell that the answer begins."""

    @abstractmethod
    def _open(self, block: OpenBlock) -> None:
        """Tell that a block begins."""

    @abstractmethod
    def _make_delta(self, block: OpenBlock) -> tuple[str, Fields]:
        """Return the event of a piece, and its name; the last text in it that is empty is the place of the piece."""

    @abstractmethod
    def _close(self, block: OpenBlock) -> None:
        """Tell that a block is whole."""

    @abstractmethod
    def _finish(self, reason: str) -> None:
        """Tell why the answer has ended ("stop", "length", "tool_calls", ...), and what it took."""

    @abstractmethod
    def _break(self, refusal: Refusal) -> None:
        """Tell that the answer broke off."""

    def _tell(self, name: str, event: FieldsView) -> None:
        self._out.append(_write_event(name, event))

    # -- what comes in

    def write(self, item: Said) -> bytes:
        item = check_answer(item)
        text = item if isinstance(item, str) else find_plain_text(item)
        if text is not None and self._block is not None and self._block.kind == "text":
            return self._add(text)
        self._start()
        if text is not None:
            self._write_part("text", text)
        else:
            self._write_chunk(cast(AIMessageChunk, as_chunk(cast(AIMessage, item))))
        return self._take()

    def end(self) -> bytes:
        try:
            return self.complete()
        except InvalidReply as error:
            return self.fail(error)

    def complete(self) -> bytes:
        """Return the last events.

        Raises:
            InvalidReply: the model's server says that the answer failed.
        """
        self._start()
        if self._block is not None and self._block.kind != "call":
            self._close_block()
        self._write_calls(is_over=True)
        self._finish(find_finish(self.facts, called=bool(self._calls)))
        return self._take()

    def fail(self, error: Exception) -> bytes:
        self.has_failed = True
        self._break(explain_failure(error, in_full=self._upstream_errors))
        return self._take()

    def _start(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._begin()

    def _write_chunk(self, chunk: AIMessageChunk) -> None:
        self._note(chunk)
        blocks = list_blocks(chunk)
        for block in blocks:
            if block["type"] == "reasoning":
                self._write_part("reasoning", block.get("reasoning", ""), cast(Fields, block))
            elif block["type"] == "text":
                self._write_part("text", block["text"])
        if not blocks:
            self._write_part("text", chunk.text)
        for piece in chunk.tool_call_chunks:
            self._write_call(piece)

    def _write_part(self, kind: BlockKind, text: str, said: FieldsView | None = None) -> None:
        """Tell a piece of a text, or of a thought, with what is said of the thought."""
        extras: Fields = dict((said or {}).get("extras") or {})
        if said is not None and said.get("id"):
            extras["id"] = said["id"]
        if not text and not extras:
            return
        if self._block is None or self._block.kind != kind or _is_another(self._block, text, extras):
            self._open_block(OpenBlock(kind, self._count, extras=extras))
        else:
            self._block.extras |= extras
        self._out.append(self._add(text))

    # -- calls of tools

    def _write_call(self, chunk: ToolCallChunk) -> None:
        piece = self._pieces.add(chunk)
        if piece.is_first:
            self._calls.append(_Call(piece.id, piece.name, []))
        call = self._calls[piece.place]
        call.id, call.name = call.id or piece.id, piece.name or call.name
        call.waiting.append(piece.text)
        self._write_calls(is_over=False)

    def _write_calls(self, *, is_over: bool) -> None:
        """Tell what may be told of calls: of the first that goes on, and of the next where that is whole."""
        while self._place < len(self._calls):
            call = self._calls[self._place]
            is_whole = is_over or (self._place + 1 < len(self._calls) and self._pieces.is_whole(self._place))
            if not call.name and not is_whole:
                return  # it has no name yet
            if self._block is None or self._block.kind != "call":
                self._open_block(OpenBlock("call", self._count, call.id or new_call_id(), call.name))
            self._out.append(self._add("".join(call.waiting)))
            call.waiting.clear()
            if not is_whole:
                return
            if self._block is not None and not self._block.pieces:
                self._out.append(self._add("{}"))  # what a program can read, of a call without arguments
            self._close_block()
            self._place += 1

    # -- blocks

    def _open_block(self, block: OpenBlock) -> None:
        self._close_block()
        self._open(block)
        name, delta = self._make_delta(block)
        before, _, after = _write_event(name, delta).rpartition(b'""')
        self._block, self._before, self._after = block, before, after
        self._count += 1

    def _close_block(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            self._close(block)

    def _add(self, text: str) -> bytes:
        """Return the event of a piece of the block that is open."""
        if not text or self._block is None:
            return b""
        self._block.pieces.append(text)
        return self._before + encode_json(text) + self._after

    def _take(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(out)


def _is_another(block: OpenBlock, text: str, extras: FieldsView) -> bool:
    """Whether a piece is of another block of the same kind: it has another id, or comes after the signature."""
    ids = {extras.get("id"), block.extras.get("id")} - {None}
    return len(ids) > 1 or (bool(text) and "signature" in block.extras)


def _write_event(name: str, event: FieldsView) -> bytes:
    """Return a server-sent event with a name."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), encode_json(event))


def make_block_face(name: str, read: Callable[[bytes], AnswerRequest], kind: type[BlockWriter]) -> Face:
    """Return the face of a format, whose whole answers are made of the same blocks as the streams that ``kind`` writes."""

    def write(said: Said, request: AnswerRequest) -> bytes:
        writer = kind(request)
        writer.write(said)
        writer.complete()
        return encode_json(writer.reply)

    def make_writer(request: AnswerRequest, upstream_errors: bool) -> BlockWriter:
        return kind(request, upstream_errors=upstream_errors)

    return Face(name, read, write, make_writer)
