"""Splitting between the tokens of an encoding. A token may be a part of a character; a piece never begins or ends there."""

import itertools
import re
from collections.abc import Iterator
from typing import Any, Self, Unpack

from hocket.errors import InvalidInput
from hocket.text_splitters.base import CountsText, SplitterOptions, TextSplitter, find_encoding_of, require_text
from hocket.text_splitters.packing import Packer
from hocket.tokens import Encoding
from hocket.tokens.counting import CountsTokens

__all__ = ["TokenTextSplitter"]

_HALVES = re.compile("[\ud800-\udfff]")


class TokenTextSplitter(TextSplitter):
    """Splits into pieces of ``chunk_size`` tokens, wherever words or sentences end.

    A piece is no longer than that when its own tokens are counted, which may be others than in the whole text. A single
    character that has more tokens stands alone.

    Args:
        encoding_name: the encoding of OpenAI's that splits a text into tokens.
        model_name: a model, whose encoding is taken instead.
        options: as of `TextSplitter`; lengths are tokens, and white space always stays.

    Raises:
        InvalidInput: there is no such encoding, none is known for the model, or an option is out of its range.
        MissingDependency: the tables of the encoding are not on this machine.
    """

    def __init__(
        self,
        encoding_name: str = "cl100k_base",
        model_name: str | None = None,
        **options: Unpack[SplitterOptions],
    ) -> None:
        super().__init__(**options)
        self._encoding: Encoding = find_encoding_of(encoding_name, model_name)
        self._packer: Packer = Packer(self._chunk_size, 0, self._encoding.count, strip=False)

    @classmethod
    def from_tiktoken_encoder(
        cls, encoding_name: str = "cl100k_base", model_name: str | None = None, **options: Any
    ) -> Self:
        """Return the splitter itself, which measures in tokens anyway."""
        return cls(encoding_name, model_name, **options)

    @classmethod
    def from_tokenizer(cls, tokenizer: str | CountsTokens | CountsText, **options: Any) -> Self:
        """Return a splitter for an `Encoding`, or for a model of OpenAI's, by its name.

        Raises:
            InvalidInput: it is something else, which counts tokens and does not say where they are.
        """
        if isinstance(tokenizer, Encoding):
            return cls(tokenizer.name, **options)
        if isinstance(tokenizer, str):
            return cls(model_name=tokenizer, **options)
        raise InvalidInput(
            f"TokenTextSplitter has to know where tokens are, which {type(tokenizer).__name__} does not say; give an"
            " encoding or the name of a model of OpenAI's, or take RecursiveCharacterTextSplitter.from_tokenizer"
        )

    def split_text(self, text: str) -> list[str]:
        """Return the pieces of a text, in order.

        Raises:
            InvalidInput: it is no text.
        """
        require_text(text)
        return [piece for _, piece in self._cut(text)]

    def _locate(self, text: str) -> Iterator[tuple[int, str]]:
        return self._cut(text) if type(self).split_text is TokenTextSplitter.split_text else super()._locate(text)

    def _cut(self, text: str) -> Iterator[tuple[int, str]]:
        places = self._find_places(text)
        first, last = 0, len(places) - 1
        while first < last:
            end = min(first + self._chunk_size, last)
            while end > first and not self._is_end(text, places, first, end):
                end -= 1
            if end > first:
                yield places[first], text[places[first] : places[end]]
            else:  # the tokens of one character are too many
                end = next(token for token in range(first + 1, last + 1) if places[token] >= 0)
                yield from self._packer.cut_up(text[places[first] : places[end]], places[first])
            if end == last:
                return
            first = max(first + 1, end - self._chunk_overlap)
            while places[first] < 0:
                first += 1

    def _is_end(self, text: str, places: list[int], first: int, end: int) -> bool:
        """Whether a piece that begins with the token ``first`` may end before the token ``end``."""
        return places[end] >= 0 and self._encoding.count(text[places[first] : places[end]]) <= self._chunk_size

    def _find_places(self, text: str) -> list[int]:
        """Return where in the text each token begins, and where the last one ends; -1: inside a character."""
        whole = _HALVES.sub("\ufffd", text)  # a half of a surrogate pair has no bytes
        spell = self._encoding.decode_token
        ends = list(itertools.accumulate(len(spell(token)) for token in self._encoding.encode(whole)))
        if whole.isascii():
            return [0, *ends]
        data, places, start, place = whole.encode(), [0], 0, 0
        for end in ends:
            if end < len(data) and data[end] & 0xC0 == 0x80:
                places.append(-1)
                continue
            place += len(data[start:end].decode())
            start = end
            places.append(place)
        return places
