"""Citations: the numbers in brackets that an answer has, and the documents that they stand for.

A model may write any number. Only one that it was shown is a citation; the others are told apart, so that a program can
say that a statement is not supported.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hocket.chains.clean import clean_line
from hocket.chains.passages import describe_source
from hocket.documents import Document
from hocket.messages import AIMessage
from hocket.messages.content import Annotation, Fields

__all__ = ["Citation", "annotate_answer", "find_citations"]

_MARK = re.compile(r"\[ ?[0-9]{1,6}(?: ?[,;–-] ?[0-9]{1,6})* ?\]|【 ?[0-9]{1,6}(?: ?[,;、，–-] ?[0-9]{1,6})* ?】")  # noqa: RUF001
_PART = re.compile(r"([0-9]+)(?: ?[–-] ?([0-9]+))?")  # noqa: RUF001
_MAX_RANGE = 100
_MAX_QUOTE = 200
_FACTS = ("source", "page", "row", "title", "start_index")


@dataclass(frozen=True)
class Citation:
    """A document that an answer names.

    Args:
        document: with its ``source``, and ``page``, ``row`` or ``start_index``, in its metadata.
        number: under which the model was shown it.
        start, end: where the answer's text names it: ``text[start:end]`` is ``"[1]"``, or ``"[1, 2]"`` for both.
    """

    document: Document
    number: int
    start: int
    end: int

    @property
    def source(self) -> str:
        """Where the document comes from, in words: ``rules.pdf, page 2``."""
        return describe_source(self.document)


def find_citations(
    text: str, documents: Mapping[int, Document] | Sequence[Document]
) -> tuple[list[Citation], list[int]]:
    """Return the citations of an answer, in their order, and the numbers that name nothing, each once.

    Args:
        text: with ``[1]``, ``[1, 2]``, ``[1-3]`` or ``【1】``.
        documents: those that the model was shown, by number; or all of them, in order, the first being number 1.
    """
    known = documents if isinstance(documents, Mapping) else dict(enumerate(documents, 1))
    citations: list[Citation] = []
    unsupported: dict[int, None] = {}
    for match in _MARK.finditer(text):
        for number in dict.fromkeys(_read_numbers(match[0])):
            if number in known:
                citations.append(Citation(known[number], number, match.start(), match.end()))
            else:
                unsupported[number] = None
    return citations, [*unsupported]


def _read_numbers(mark: str) -> Iterator[int]:
    for first, last in _PART.findall(mark):
        start, end = int(first), int(last or first)
        if start <= end < start + _MAX_RANGE:
            yield from range(start, end + 1)
        else:
            yield from (start, end)


def annotate_answer(text: str, citations: Sequence[Citation]) -> AIMessage:
    """Return an answer as a message; its text has a citation of LangChain's for each of ``citations``.

    Of each document the beginning is quoted, and what its metadata say of the place is under ``extras``.
    """
    if not citations:
        return AIMessage(text)
    return AIMessage([{"type": "text", "text": text, "annotations": [_annotate(one) for one in citations]}])


def _annotate(citation: Citation) -> Annotation:
    facts = citation.document.metadata
    extras: Fields = {name: facts[name] for name in _FACTS if isinstance(facts.get(name), str | int)}
    return {
        "type": "citation",
        "title": citation.source,
        "start_index": citation.start,
        "end_index": citation.end,
        "cited_text": clean_line(citation.document.page_content, _MAX_QUOTE),
        "extras": {"number": citation.number, **extras},
    }
