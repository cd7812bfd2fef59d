"""The lengths of the pieces in which an answer came. They are stored with it, and a hit is cut into the same pieces."""

from collections.abc import Iterable, Iterator
from typing import Any

from hocket.messages.base import Content

__all__ = ["cut", "cut_by_lengths", "length_of"]

_TEXTS = ("text", "reasoning")


def length_of(content: Content) -> int:
    """Return how much text there is in the content of a chunk that can be cut where the chunk ends."""
    if isinstance(content, str):
        return len(content)
    length = 0
    for block in content:
        if isinstance(block, dict) and (key := _text_key(block)):
            length += len(block[key])
    return length


def cut(content: Content, lengths: Iterable[int]) -> list[Content]:
    """Return contents of chunks that fold to ``content``; all but empty ones, and none of more text than its length."""
    ends = iter(length for length in lengths if length > 0)
    if isinstance(content, str):
        return [*_cut(content, ends)]
    pieces: list[Content] = []
    for block in content:
        key = _text_key(block) if isinstance(block, dict) else ""
        if isinstance(block, str) or not key:
            pieces.append([block])
            continue
        texts = [*_cut(block[key], ends)] or [""]
        pieces.append([{**block, key: texts[0]}])
        place: dict[str, Any] = {name: block[name] for name in ("type", "index") if name in block}
        pieces.extend([{**place, key: text}] for text in texts[1:])
    return pieces


def cut_by_lengths(text: str, lengths: Iterable[int]) -> list[str]:
    """Return pieces of these lengths that make up ``text``; a last one has what is left."""
    return [*_cut(text, iter(length for length in lengths if length > 0))]


def _cut(text: str, lengths: Iterator[int]) -> Iterator[str]:
    start = 0
    while start < len(text):
        length = next(lengths, len(text))
        yield text[start : start + length]
        start += length


def _text_key(block: dict[str, Any]) -> str:
    """Return where a block has its text, if its pieces would find together again: by their index."""
    if "index" not in block:
        return ""
    for key in _TEXTS:
        if isinstance(block.get(key), str):
            return key
    return ""
