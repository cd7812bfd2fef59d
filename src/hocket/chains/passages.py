"""Passages: pieces of documents as a model is shown them, each under a number.

Their text is somebody else's, and may be written to be taken for instructions, or for the end of the piece. So each
piece stands behind a line that carries a mark: a short hash of all of them. The author of a document cannot know it, and
should a text contain it all the same, another one is taken. The mark is no random one: equal pieces are shown in equal
words, so that an answer can come out of a cache.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath, PureWindowsPath
from typing import cast

from hocket.chains.clean import clean_line, clean_text
from hocket.documents import Document
from hocket.errors import InvalidInput

__all__ = ["Passage", "check_documents", "describe_source", "number_passages", "show_passages"]

_MAX_LINE = 200
_MARK_LENGTH = 8
_PLACES = ("page", "slide", "part", "sheet", "row", "title")


@dataclass(frozen=True)
class Passage:
    """A piece of text under a number, or what was made of several.

    Args:
        numbers: of the documents that it comes from, counted from 1.
        text: clean.
        source: where it stands, in words; clean, one line.
    """

    numbers: tuple[int, ...]
    text: str
    source: str = ""

    @property
    def heading(self) -> str:
        """Numbers and source, as in ``[2] rules.pdf, page 3``."""
        return f"{''.join(f'[{number}]' for number in self.numbers)} {self.source}".rstrip()


def describe_source(document: Document) -> str:
    """Return where a document comes from, in words: the name of its file, or its address, and the place in it.

    Out of its metadata: ``source``, and ``page``, ``slide``, ``part``, ``sheet`` and ``row``, or ``title``. One line of at
    most 200 characters.
    """
    facts = document.metadata
    source = facts.get("source")
    parts = [_shorten_path(source)] if isinstance(source, str) and source.strip() else []
    for name in _PLACES:
        value: object = facts.get(name)
        if isinstance(value, str | int) and str(value).strip():
            parts.append(f"“{value}”" if name == "title" else f"{name} {value}")
            if name != "sheet":
                break
    return clean_line(", ".join(parts), _MAX_LINE)


def _shorten_path(source: str) -> str:
    """Return the name of a file without its folders, which are nobody else's business; an address as it is."""
    if "://" in source:
        return source
    return (PureWindowsPath(source) if "\\" in source else PurePosixPath(source)).name or source


def number_passages(documents: Iterable[Document], texts: Mapping[int, str] | None = None) -> list[Passage]:
    """Return documents as passages, each under its place, counted from 1; without those that have no text to be seen.

    Args:
        documents: best first.
        texts: what is shown of a document instead of its own text, by number.
    """
    passages: list[Passage] = []
    for number, document in enumerate(documents, 1):
        text = clean_text((texts or {}).get(number, document.page_content)).strip("\n")
        if text.strip():
            passages.append(Passage((number,), text, describe_source(document)))
    return passages


def show_passages(passages: Sequence[Passage], beside: Sequence[str] = ()) -> str:
    """Return passages between lines that none of them can forge.

    Args:
        passages: in the order in which they are shown.
        beside: other texts of the same message, which must not have the mark either.
    """
    mark = _make_mark([*(part for one in passages for part in (one.heading, one.text))], beside)
    lines = [line for one in passages for line in (f"--- {mark} {one.heading}".rstrip(), one.text)]
    return "\n".join([*lines, f"--- {mark} end"])


def _make_mark(texts: list[str], beside: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join(texts).encode())
    read = unicodedata.normalize("NFKC", "\0".join([*texts, *beside])).casefold()
    while (mark := digest.hexdigest()[:_MARK_LENGTH]) in read:
        digest.update(b"another")
    return mark


def check_documents(documents: object, where: str) -> list[Document]:
    """Return a list of documents.

    Raises:
        InvalidInput: it is none.
    """
    kind = type(documents).__name__
    if isinstance(documents, list | tuple):
        found = cast("Sequence[object]", documents)
        if all(isinstance(one, Document) for one in found):
            return [*cast("Sequence[Document]", found)]
    raise InvalidInput(f"{where} is {kind}; it must be a list of documents")
