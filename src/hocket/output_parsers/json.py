"""JSON in an answer."""

# `_Values` is the working part of the parsers here, and calls their hooks:
# pyright: reportPrivateUsage=false

from abc import ABC, abstractmethod
from collections.abc import Iterable
from json import dumps
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, SkipValidation

from hocket.output_parsers.accumulation import Credit, NewValueFilter, get_piece_text
from hocket.output_parsers.base import BaseCumulativeTransformOutputParser, ParserInput, get_text
from hocket.output_parsers.json_document import JSONDocument
from hocket.outputs import Generation
from hocket.runnables.with_run import Incremental

__all__ = ["BaseJSONOutputParser", "JsonOutputParser", "SimpleJsonOutputParser", "schema_instructions"]

T = TypeVar("T")


class BaseJSONOutputParser(BaseCumulativeTransformOutputParser[T], ABC, Generic[T]):
    """A parser of answers that are JSON, in a fence of backticks or plain.

    As an answer comes in, the value is shown as far as it stands firm: numbers and words when they are finished, keys
    when their value begins, strings as they grow. The values shown share the parts that are finished: they are for
    reading, the last one is the caller's own. Line breaks in strings are taken as they are; NaN, and text after the
    value, are refused.
    """

    @abstractmethod
    def _read(self, value: object) -> T:
        """Return what the value of the whole answer stands for."""

    def _read_partial(self, value: object) -> T | None:
        """Return what the value so far stands for; None: nothing as yet."""
        return self._read(value)

    def _price(self, length: int) -> int:
        """Return what `_read_partial` costs for an answer of so many characters, in values copied."""
        return 0

    def parse(self, text: str) -> T:
        """Return what the JSON in ``text`` stands for."""
        document = JSONDocument()
        document.feed(text)
        return self._read(document.close())

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return what the JSON in the first candidate stands for; ``partial``: so far, None if nothing."""
        text = get_text(result)
        if not partial:
            return self.parse(text)
        document = JSONDocument()
        document.feed(text)
        return self._read_partial(document.partial.value()) if document.partial.has_changed else None

    def _incremental(self) -> Incremental[ParserInput, T]:
        return _Values(self)


class _Values(Generic[T]):
    """What a JSON answer stands for so far, at every piece that changes it and that can be paid for."""

    def __init__(self, parser: BaseJSONOutputParser[T]) -> None:
        self._parser = parser
        self._document = JSONDocument()
        self._credit = Credit()
        self._latest: NewValueFilter[T] = NewValueFilter()

    def feed(self, piece: ParserInput, /) -> Iterable[T]:
        text = get_piece_text(piece)
        document, partial = self._document, self._document.partial
        document.feed(text)
        self._credit.earn(len(text))
        if not partial.has_changed or not self._credit.pay(partial.cost + self._parser._price(document.length)):
            return ()
        value = self._parser._read_partial(partial.value())
        return () if value is None else self._latest.filter_new(value)

    def close(self) -> Iterable[T]:
        return self._latest.filter_new(self._parser._read(self._document.close()))


class JsonOutputParser(BaseJSONOutputParser[Any]):
    """Returns the JSON value of an answer.

    Args:
        pydantic_object: the model that the format instructions describe. Nothing is validate_answer against it:
            `PydanticOutputParser` does that.

    Examples:
        >>> from hocket import FakeListChatModel, JsonOutputParser
        >>> (FakeListChatModel(responses=['{"born": 1815}']) | JsonOutputParser()).invoke("When was Ada born?")
        {'born': 1815}
    """

    pydantic_object: SkipValidation[type[BaseModel] | None] = None
    _type_name: ClassVar[str] = "simple_json_output_parser"

    def _read(self, value: object) -> Any:
        return value

    def get_format_instructions(self) -> str:
        """Return words that ask for JSON, of the model's schema if there is one."""
        return (
            "Answer with one JSON value." if self.pydantic_object is None else schema_instructions(self.pydantic_object)
        )


SimpleJsonOutputParser = JsonOutputParser
"""LangChain's other name of `JsonOutputParser`."""


def schema_instructions(model: type[BaseModel]) -> str:
    """Return words that ask for JSON of the schema of ``model``."""
    schema = {key: value for key, value in model.model_json_schema().items() if key not in ("title", "type")}
    return (
        "Answer with one JSON object that conforms to the JSON schema below, and with nothing else: "
        "no words before or after it, no comments, no code fence.\n"
        "The schema describes the object; do not repeat the schema. For\n"
        '{"properties": {"tags": {"items": {"type": "string"}, "type": "array"}}, "required": ["tags"]}\n'
        'the object {"tags": ["red", "blue"]} conforms, and {"properties": {"tags": ["red", "blue"]}} does not.\n\n'
        f"The schema:\n{dumps(schema, ensure_ascii=False)}"
    )
