"""What every parser has in common.

A parser is pure: it never waits, so `invoke` runs in the caller's thread and `ainvoke` in the loop's. A parser that can
read an input in pieces makes an `Incremental` for each run, and the stage of the stream feeds it. Where the same object
reads the whole and the pieces, the two cannot disagree.

The simplest of them, the text of an answer, is here, too.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ConfigDict

from hocket._runtime.definitions import Twins
from hocket._runtime.mode import Mode
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.messages import BaseMessage
from hocket.output_parsers.accumulation import AnswerAccumulator, Credit, NewValueFilter, get_piece_text
from hocket.outputs import ChatGeneration, Generation
from hocket.prompt_values import PromptValue
from hocket.runnables.type_arguments import find_type
from hocket.runnables.with_run import Incremental, PureRunnable

__all__ = [
    "BaseCumulativeTransformOutputParser",
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "BaseTransformOutputParser",
    "ParserInput",
    "ParserRunnable",
    "StrOutputParser",
    "get_text",
    "to_generations",
]

T = TypeVar("T")

ParserInput = str | BaseMessage
"""What a parser takes: what models return, or a piece of it."""


class BaseLLMOutputParser(Twins, ABC, Generic[T]):
    """Reads the candidate answers of a model."""

    @abstractmethod
    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Return what the candidates for one prompt say; the first is the likeliest.

        Args:
            result: the candidates.
            partial: whether the answer is still being written: what cannot be read yet is None then, not an error.

        Raises:
            OutputParserException: they cannot be read.
        """

    async def aparse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Do as `parse_result`, on the loop's own thread."""
        return self.parse_result(result, partial=partial)


class ParserRunnable(BaseLLMOutputParser[T], PureRunnable[ParserInput, T], ABC, Generic[T]):
    """A parser as a step of a chain: takes what a model returns."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    _run_type: ClassVar[str] = "parser"

    @property
    def OutputType(self) -> object:
        """The type of what is read; `typing.Any`, if the class does not say."""
        return find_type(type(self), 0, arguments=1)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Parsers travel as data, as far as their fields do."""
        return True

    async def _compute(self, mode: Mode, input: ParserInput) -> T:
        result = to_generations(input)
        return await self.aparse_result(result) if mode.is_async else self.parse_result(result)


class BaseGenerationOutputParser(ParserRunnable[T], ABC, Generic[T]):
    """A parser that reads candidates, by `parse_result`."""


class BaseOutputParser(ParserRunnable[T], ABC, Generic[T]):
    """A parser that reads text. A subclass needs `parse` alone."""

    _type_name: ClassVar[str] = ""

    @abstractmethod
    def parse(self, text: str) -> T:
        """Return what ``text``, which a model wrote, says.

        Raises:
            OutputParserException: it cannot be read.
        """

    async def aparse(self, text: str) -> T:
        """Do as `parse`, on the loop's own thread."""
        return self.parse(text)

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> T:
        """Return what the first candidate's text says; ``partial`` is for subclasses that know of it."""
        return self.parse(get_text(result))

    def parse_with_prompt(self, completion: str, prompt: PromptValue) -> Any:
        """Return what ``completion`` says, the answer to ``prompt``; for subclasses that ask again."""
        return self.parse(completion)

    def get_format_instructions(self) -> str:
        """Return words for a prompt that tell a model which format to answer in."""
        raise NotImplementedError(f"{type(self).__name__} has no format instructions")

    @property
    def _type(self) -> str:
        """A name for the kind of parser."""
        if not self._type_name:
            raise NotImplementedError(f"{type(self).__name__} has no _type")
        return self._type_name


def to_generations(input: ParserInput) -> list[Generation]:
    """Return a parser's input as the one candidate that it is.

    Raises:
        InvalidInput: it is neither a text nor a message.
    """
    if isinstance(input, BaseMessage):
        return [ChatGeneration(message=input)]
    if isinstance(input, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        return [Generation(text=input)]
    raise InvalidInput(f"a parser takes a text or a message, not {type(input).__name__}{bridge_hint(input)}")


def get_text(result: Sequence[Generation]) -> str:
    """Return the text of the first candidate.

    Raises:
        InvalidInput: there is none.
    """
    if not result:
        raise InvalidInput("a parser needs a candidate to read; the list is empty")
    return result[0].text


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


class StrOutputParser(BaseTransformOutputParser[str]):
    """Returns the text of a model's answer, piece by piece if the answer comes so. Pieces without text are left out.

    Examples:
        >>> from hocket import FakeListChatModel, StrOutputParser
        >>> (FakeListChatModel(responses=["Hello."]) | StrOutputParser()).invoke("Hi")
        'Hello.'
    """

    _type_name: ClassVar[str] = "default"

    def parse(self, text: str) -> str:
        """Return ``text``."""
        return text

    def get_format_instructions(self) -> str:
        """Return nothing: any text will do."""
        return ""

    def _incremental(self) -> Incremental[ParserInput, str]:
        return _Texts()


class _Texts:
    def __init__(self) -> None:
        self._is_empty = True

    def feed(self, piece: ParserInput, /) -> tuple[str, ...]:
        text = get_piece_text(piece)
        if not text:
            return ()
        self._is_empty = False
        return (text,)

    def close(self) -> tuple[str, ...]:
        return ("",) if self._is_empty else ()
