"""A stream of chunks, read as one object while it is being written."""

from collections.abc import Awaitable, Callable
from typing import Any

from hocket._runtime.stream import Sink
from hocket.language_models.structured.answers import AnswerReader
from hocket.language_models.structured.partial import Partial
from hocket.language_models.structured.schema import OutputSchema
from hocket.messages import AIMessage, AIMessageChunk, Collector
from hocket.output_parsers.accumulation import Credit
from hocket.output_parsers.json_document import JSONDocument

__all__ = ["ObjectSink"]


class ObjectSink:
    """A sink for the chunks of an answer, in front of the consumer's, which gets the object so far.

    Args:
        sink: the consumer's.
        schema: of the object.
        answers: where the object is.
        with_raw: whether the consumer gets the message so far, too, and so has use for every chunk.

    Attributes:
        has_handed_out: whether the consumer has got anything.
    """

    def __init__(self, sink: Sink[Any], schema: OutputSchema[Any], answers: AnswerReader, *, with_raw: bool) -> None:
        self.has_handed_out: bool = False
        self._sink = sink
        self._schema = schema
        self._answers = answers
        self._with_raw = with_raw
        self.restart()

    def restart(self) -> None:
        """Forget the chunks that have come: another answer is asked for."""
        self._message = Collector()
        self._raw: AIMessageChunk | None = None
        self._document = JSONDocument()
        self._credit = Credit()
        self._shown: Partial[Any] | None = None
        self._piece: Callable[[AIMessageChunk], str] = self._answers.follow()

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed

    @property
    def message(self) -> AIMessage:
        """The message so far."""
        return self._message.message()

    def put(self, item: AIMessageChunk) -> Awaitable[None] | None:
        """Read a chunk, and hand on the object as far as it has come, if that is further than before."""
        self._message.add(item)
        text = self._piece(item)
        partial = self._document.partial
        self._document.feed(text)
        self._credit.earn(len(text))
        grown = partial.has_changed and self._credit.pay(partial.cost + self._schema.price(self._document.length))
        if grown:
            value = partial.value()
            if isinstance(value, dict) and value:
                self._shown = Partial.of(self._schema.partial(value), is_whole=partial.is_whole)
        if self._with_raw:
            self._raw = item if self._raw is None else self._raw + item
            return self.hand_on({"raw": self._raw, "parsed": self._shown, "parsing_error": None})
        return self.hand_on(self._shown) if grown and self._shown is not None else None

    def hand_on(self, piece: Any) -> Awaitable[None] | None:
        """Hand a piece of output to the consumer. What is returned must be awaited, unless None."""
        self.has_handed_out = True
        return self._sink.put(piece)
