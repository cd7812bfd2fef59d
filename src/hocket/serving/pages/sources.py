"""What an answer refers to: the citations of a message, and the documents that a chain has found."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from hocket.documents import Document
from hocket.messages import ContentBlock
from hocket.messages.content import FieldsView

__all__ = ["CitedSource", "find_cited_pages", "find_documents", "has_only_documents"]

_TITLE = 80  # characters of a document that has no title


class CitedSource(NamedTuple):
    """One of them.

    Attributes:
        key: the same for what is the same.
        title: for a person.
        url: "": it has none.
    """

    key: str
    title: str
    url: str = ""


def find_cited_pages(blocks: Iterable[ContentBlock]) -> Iterator[CitedSource]:
    """Yield the citations of texts that have a URL."""
    for block in blocks:
        for note in block.get("annotations", ()) if block["type"] == "text" else ():
            if note["type"] == "citation" and (url := note.get("url")):
                yield CitedSource(url, note.get("title") or url, url)


def find_documents(value: object) -> Iterator[CitedSource]:
    """Yield the documents that a value is, or has in a list, or in lists under its keys."""
    if isinstance(value, Document):
        yield _describe(value)
    elif isinstance(value, list | tuple):
        yield from (_describe(one) for one in cast("list[object]", value) if isinstance(one, Document))
    elif isinstance(value, Mapping):
        for one in cast(FieldsView, value).values():
            if isinstance(one, list | tuple):
                yield from find_documents(cast("list[object]", one))


def has_only_documents(value: object) -> bool:
    """Whether a value is a document, or a list of them."""
    values = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
    return bool(values) and all(isinstance(one, Document) for one in values)


def _describe(document: Document) -> CitedSource:
    facts = document.metadata
    place = str(facts.get("source") or "")
    title = str(facts.get("title") or place or document.id or document.page_content[:_TITLE])
    if place.startswith(("https://", "http://")):
        return CitedSource(place, title, place)
    return CitedSource(document.id or repr([place, facts.get("page"), facts.get("start_index"), title]), title)
