"""What every store refuses before anything is embedded or stored."""

import datetime
import json
import re
import uuid
from pathlib import PurePath

from hocket.documents import Document
from hocket.errors import EmbeddingMismatch, InvalidInput
from hocket.errors.hints import bridge_hint

__all__ = ["check_batch_size", "check_document", "check_k", "check_size", "check_storable"]

_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def check_document(document: object) -> Document:
    """Return a copy of ``document``, its metadata as JSON gives them back: tuples are lists there, and keys are texts.

    Dates, times, UUIDs and paths are texts, too; those of dates and times are of ISO 8601.

    Raises:
        InvalidInput: it is none, its id is empty, JSON cannot say its metadata, or one of its texts holds a NUL or a lone
            surrogate.
    """
    if not isinstance(document, Document):
        raise InvalidInput(
            f"a store takes documents, not {type(document).__name__}: Document(text){bridge_hint(document)}"
        )
    if document.id == "":
        raise InvalidInput("the id of a document is empty; leave it out, and the store gives it one")
    check_storable(document.page_content, "the text of a document")
    check_storable(document.id or "", "the id of a document")
    try:
        written = json.dumps(document.metadata, allow_nan=False, ensure_ascii=False, default=_write_value)
        metadata = json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the metadata {document.metadata!r} cannot be stored as JSON: {error}") from None
    check_storable("\0" if _ESCAPED_NUL.search(written) else written, "a text in the metadata of a document")
    return document.model_copy(update={"metadata": metadata, "score": None})


def _write_value(value: object) -> str:
    """Return what loaders put into metadata and JSON has no form for, as a text."""
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case uuid.UUID() | PurePath():
            return str(value)
        case _:
            raise TypeError(f"{type(value).__name__} has no form there")


def check_storable(text: str, what: str) -> str:
    """Return ``text``, which a database can hold: most take no NUL, and none what UTF-8 cannot say.

    Raises:
        InvalidInput: it holds a NUL or a lone surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} holds a lone surrogate, which cannot be stored: leave it out") from None
    if "\0" in text:
        raise InvalidInput(f"{what} holds a NUL, which databases do not store: leave it out")
    return text


def check_k(k: int) -> int:
    """Return ``k``, documents that a search is to find at most.

    Raises:
        InvalidInput: it is no whole number above 0.
    """
    if not isinstance(k, int) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"k is {k!r}; it is a whole number above 0")
    return k


def check_batch_size(batch_size: int) -> None:
    """Check how many texts are to be embedded at a time.

    Raises:
        InvalidInput: it is no whole number above 0.
    """
    if batch_size < 1:
        raise InvalidInput(f"batch_size is {batch_size!r}; it is a whole number above 0")


def check_size(size: int, expected: int, owner: str) -> None:
    """Check the numbers of a vector against those that a store's vectors have.

    Raises:
        EmbeddingMismatch: they differ.
    """
    if size != expected:
        raise EmbeddingMismatch(
            f"{owner} holds vectors of {expected} numbers, and this one has {size}: it is of another embedding model"
        )
