"""The text of an answer."""

from typing import Literal

from hocket.output_parsers.accumulation import get_piece_text
from hocket.output_parsers.base import ParserInput
from hocket.output_parsers.transform import BaseTransformOutputParser
from hocket.runnables.with_run import Incremental

__all__ = ["StrOutputParser"]


class StrOutputParser(BaseTransformOutputParser[str]):
    """Returns the text of a model's answer, piece by piece if the answer comes so. Pieces without text are left out.

    Examples:
        >>> from hocket import FakeListChatModel, StrOutputParser
        >>> (FakeListChatModel(responses=["Hello."]) | StrOutputParser()).invoke("Hi")
        'Hello.'
    """

    def parse(self, text: str) -> str:
        """Return ``text``."""
        return text

    def get_format_instructions(self) -> str:
        """Return nothing: any text will do."""
        return ""

    @property
    def _type(self) -> Literal["default"]:
        return "default"

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
