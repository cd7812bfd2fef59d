"""Parsers whose output comes in pieces, as their input does."""

from abc import ABC
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from hocket.output_parsers.accumulation import AnswerAccumulator, Credit, NewValueFilter, get_piece_text
from hocket.output_parsers.base import BaseOutputParser, ParserInput, to_generations
from hocket.runnables.with_run import Incremental

__all__ = ["BaseCumulativeTransformOutputParser", "BaseTransformOutputParser"]

T = TypeVar("T")


class BaseTransformOutputParser(BaseOutputParser[T], ABC, Generic[T]):
    """A parser that reads each piece of an answer on its own."""

    def _incremental(self) -> Incremental[ParserInput, T]:
        return _PieceParser(self)


class BaseCumulativeTransformOutputParser(BaseTransformOutputParser[T], ABC, Generic[T]):
    """A parser that shows, piece by piece, what the answer says so far; the last is what all of it says.

    A subclass defines ``parse_result(..., partial=True)``, which returns None where nothing can be said yet. It is
    called at every piece of a short answer, and more rarely as the answer grows, so that the cost stays linear.
    """

    @property
    def _is_cumulative(self) -> bool:
        return True

    def _incremental(self) -> Incremental[ParserInput, T]:
        return _PartialAnswers(self)


class _PieceParser(Generic[T]):
    def __init__(self, parser: BaseOutputParser[T]) -> None:
        self._parser = parser

    def feed(self, piece: ParserInput, /) -> tuple[T]:
        return (self._parser.parse_result(to_generations(piece)),)

    def close(self) -> tuple[()]:
        return ()


class _PartialAnswers(Generic[T]):
    def __init__(self, parser: BaseOutputParser[T]) -> None:
        self._parser = parser
        self._gathered = AnswerAccumulator()
        self._length = 0
        self._credit = Credit()
        self._latest: NewValueFilter[T] = NewValueFilter()

    def feed(self, piece: ParserInput, /) -> Iterable[T]:
        self._gathered.add(piece)
        length = len(get_piece_text(piece)) + _length_of_calls(piece)
        self._length += length
        self._credit.earn(length)
        if not self._credit.pay(self._length // 4):
            return ()
        value: Any = self._parser.parse_result(self._gathered.result(partial=True), partial=True)
        return () if value is None else self._latest.filter_new(value)

    def close(self) -> Iterable[T]:
        return self._latest.filter_new(self._parser.parse_result(self._gathered.result()))


def _length_of_calls(piece: ParserInput) -> int:
    return sum(len(call["args"] or "") for call in getattr(piece, "tool_call_chunks", ()))
