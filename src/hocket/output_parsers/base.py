"""What every parser has in common.

A parser is pure: it never waits, so `invoke` runs in the caller's thread and `ainvoke` in the loop's. A parser that can
read an input in pieces makes an `Incremental` for each run, and the stage of the stream feeds it. Where the same object
reads the whole and the pieces, the two cannot disagree.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ConfigDict

from hocket._runtime.definitions import Twins
from hocket._runtime.runtime import Runtime
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.messages import BaseMessage
from hocket.outputs import ChatGeneration, Generation
from hocket.prompt_values import PromptValue
from hocket.runnables.type_arguments import find_type
from hocket.runnables.with_run import PureRunnable

__all__ = [
    "BaseGenerationOutputParser",
    "BaseLLMOutputParser",
    "BaseOutputParser",
    "ParserInput",
    "ParserRunnable",
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

    async def _compute(self, runtime: Runtime, input: ParserInput) -> T:
        result = to_generations(input)
        return await self.aparse_result(result) if runtime.is_async else self.parse_result(result)


class BaseGenerationOutputParser(ParserRunnable[T], ABC, Generic[T]):
    """A parser that reads candidates, by `parse_result`."""


class BaseOutputParser(ParserRunnable[T], ABC, Generic[T]):
    """A parser that reads text. A subclass needs `parse` alone."""

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
        raise NotImplementedError(f"{type(self).__name__} has no _type")


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
