"""Secrets that a model says: cut into the events of a stream, so that none of them, and no bytes in a row, hold one.

A model that repeats a key which it was told does so token by token. So the texts that stand in the same place of
successive documents (``data:`` lines of server-sent events, lines of JSON), or of the items of a list (the tokens beside
their probabilities), are read in a row.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from hocket._json import JSON

__all__ = ["Edit", "Place", "find_spoken", "list_texts"]

_DOCUMENT = re.compile(rb"^(?:data: ?)?([\[{].*[\]}])[ \t\r]*$", re.MULTILINE)

Place = tuple[str | int, ...]
"""Where a text stands in a document of JSON: keys and positions, from the outside."""


class Edit(NamedTuple):
    """Bytes that are to stand in the place of others."""

    start: int
    end: int
    instead: bytes


@dataclass
class _Row:
    """The texts that stand in one place, each with the document that it is in."""

    documents: list[int] = field(default_factory=list[int])
    wheres: list[Place] = field(default_factory=list[Place])
    texts: list[str] = field(default_factory=list[str])


def find_spoken(body: bytes, find: Callable[[bytes], Iterable[tuple[int, int]]], mask: str) -> list[Edit]:
    """Return what takes secrets out of a stream that no search of its bytes finds.

    Args:
        body: of a reply.
        find: returns where secrets stand in bytes, in order and without overlaps.
        mask: stands in the place of a secret.
    """
    documents = list(_list_documents(body))
    rows: dict[Place, _Row] = defaultdict(_Row)
    for number, (_, _, data) in enumerate(documents):
        for place, where, text in list_texts(data):
            row = rows[place]
            row.documents.append(number)
            row.wheres.append(where)
            row.texts.append(text)
    changed: set[int] = set()
    for row in rows.values():
        for at, text in _mask_row(row.texts, find, mask):
            _put(documents[row.documents[at]][2], row.wheres[at], text)
            changed.add(row.documents[at])
    return [
        Edit(start, end, json.dumps(data, separators=(",", ":")).encode())
        for start, end, data in (documents[number] for number in sorted(changed))
    ]


def _list_documents(body: bytes) -> Iterator[tuple[int, int, JSON]]:
    """Yield the JSON documents of a reply, with where they stand: all of it, or those in its lines."""
    if body[:1] in (b"{", b"["):
        with suppress(ValueError, RecursionError):
            yield 0, len(body), json.loads(body)
            return
    for found in _DOCUMENT.finditer(body):
        with suppress(ValueError, RecursionError):
            yield *found.span(1), json.loads(found[1])


def list_texts(data: JSON, place: Place = (), where: Place = ()) -> Iterator[tuple[Place, Place, str]]:
    """Yield the texts of a document: what successive documents have in common of their place, the place, the text.

    Items of a list are told apart by their ``index``, for which many providers have a field, not by where they stand.
    """
    if isinstance(data, str):
        yield place, where, data
    elif isinstance(data, dict):
        index = data.get("index")
        here = (*place, index) if isinstance(index, int) else place
        for name, value in data.items():
            yield from list_texts(value, (*here, name), (*where, name))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from list_texts(value, place, (*where, number))


def _mask_row(
    texts: Sequence[str], find: Callable[[bytes], Iterable[tuple[int, int]]], mask: str
) -> Iterator[tuple[int, str]]:
    """Yield the texts that are to be others, by their number: a mask is in the first text that a secret is in."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = list(accumulate(map(len, encoded)))
    spans = list(find(b"".join(encoded)))
    if not spans:
        return
    for number, (text, end) in enumerate(zip(encoded, ends, strict=True)):
        start = end - len(text)
        parts: list[bytes] = []
        done = start
        for first, last in spans:
            if last <= start or first >= end:
                continue
            parts.append(text[done - start : max(first, start) - start])
            if first >= start:
                parts.append(mask.encode())
            done = min(last, end)
        if parts:
            yield number, b"".join([*parts, text[done - start :]]).decode("utf-8", "surrogatepass")


def _put(data: JSON, where: Place, text: str) -> None:
    *way, last = where
    for step in way:
        data = data[step]  # type: ignore[index]  # that is where it was found
    data[last] = text  # type: ignore[index]
