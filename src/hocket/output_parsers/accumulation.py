"""The pieces of an answer as one text or message, and how often a look at the whole is worth its cost."""

from typing import Generic, TypeVar

from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk, Collector
from hocket.outputs import ChatGeneration, Generation

__all__ = ["AnswerAccumulator", "Credit", "NewValueFilter", "get_piece_text", "to_chunk"]

T = TypeVar("T")


class AnswerAccumulator:
    """The pieces of one answer so far: texts, chunks, or whole messages."""

    def __init__(self) -> None:
        self._collector = Collector()

    def add(self, piece: str | BaseMessage) -> None:
        """Add the next piece."""
        self._collector.add(to_chunk(piece))

    def result(self, *, partial: bool = False) -> list[Generation]:
        """Return the answer as the one candidate that it is; ``partial``: arguments of tool calls are completed."""
        message = self._collector.chunk() if partial else self._collector.message()
        return [ChatGeneration(message=message)]


def to_chunk(piece: str | BaseMessage) -> BaseMessageChunk:
    """Return a piece of an answer as a chunk: of a text, and of a message that is none."""
    if isinstance(piece, BaseMessageChunk):
        return piece
    if isinstance(piece, AIMessage):
        return AIMessageChunk.model_validate({key: value for key, value in piece if key != "type"})
    return AIMessageChunk(get_piece_text(piece))


def get_piece_text(piece: str | BaseMessage) -> str:
    """Return the text of a piece of an answer.

    Raises:
        InvalidInput: it is neither a text nor a message.
    """
    if isinstance(piece, str):
        return piece
    if isinstance(piece, BaseMessage):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        return piece.text
    raise InvalidInput(f"a parser takes texts or messages, not {type(piece).__name__}{bridge_hint(piece)}")


class Credit:
    """What may be spent on showing how far an answer has come.

    Every piece earns a fixed amount and its length, a look at the whole costs its size: small answers are shown at every
    piece, large ones at every so many, and the sum is linear in the length of the answer.
    """

    PER_PIECE = 500

    def __init__(self) -> None:
        self._left = 0

    def earn(self, length: int) -> None:
        """Take note of a piece of so many characters."""
        self._left += self.PER_PIECE + length

    def pay(self, cost: int) -> bool:
        """Whether there is enough for a look at ``cost``, which is then spent."""
        if cost > self._left:
            return False
        self._left -= cost
        return True


class NewValueFilter(Generic[T]):
    """What was shown last, so that nothing is shown twice in a row."""

    def __init__(self) -> None:
        self._shown: tuple[T, ...] = ()

    def filter_new(self, value: T) -> tuple[T, ...]:
        """Return ``value`` as the one thing to show, or nothing if it was shown last."""
        if self._shown == (value,):
            return ()
        self._shown = (value,)
        return self._shown
