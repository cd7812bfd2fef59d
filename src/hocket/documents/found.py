"""What a search has found, checked: it comes out of code of the user's."""

from typing import cast

from hocket.documents.document import Document
from hocket.errors import InvalidHook

__all__ = ["check_found"]


def check_found(found: object, name: str) -> list[Document]:
    """Return what a retriever called ``name`` has found.

    Raises:
        InvalidHook: it is no list of documents.
    """
    if isinstance(found, list):
        documents = cast("list[object]", found)
        if all(isinstance(one, Document) for one in documents):
            return cast("list[Document]", documents)
    raise InvalidHook(f"{name} returned {found!r:.200}; a retriever returns a list of documents")
