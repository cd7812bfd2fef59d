"""XML in an answer.

A model's text is a stranger's text. A document type is refused before anything in it is read, so that there are no
entities but XML's own five: nothing expands, and nothing is fetched. Nesting is limited.

Expat reads a tag that is cut from its beginning again, with each piece: a long tag in small pieces would take time with
the square of its length. From 2.6 on it waits by itself until there is twice as much, also with the shortest tag, so
that an element is seen late or, without a last call, never. That is switched off, and here long tags alone wait.
"""

import contextlib
import re
from collections.abc import Iterable
from typing import Any, ClassVar
from xml.parsers import expat

from hocket.errors import OutputParserException
from hocket.errors.hints import excerpt
from hocket.output_parsers.accumulation import get_piece_text
from hocket.output_parsers.base import BaseTransformOutputParser, ParserInput
from hocket.output_parsers.partial_json import MAX_DEPTH
from hocket.runnables.with_run import Incremental

__all__ = ["XMLOutputParser"]

_BEGINNING = re.compile(r"<(?:[A-Za-z_:]|!doctype|!entity)", re.IGNORECASE)
_LONGEST = len("<!doctype")
_SHORT = 4096  # bytes of a tag that is cut, which are read again with each piece


class XMLOutputParser(BaseTransformOutputParser[dict[str, Any]]):
    """Returns the first element of an answer as a dict; what stands before and after it is prose.

    An element becomes ``{tag: content}``: its text, if it has no elements (None if it has no text either, or ``[]`` at
    the top), else the list of its elements, with the texts between them. Attributes, comments and space between elements
    are left out. As an answer comes in, each innermost element is shown when it has ended, inside the tags that it
    stands in.

    Args:
        tags: what the format instructions ask for.
    """

    tags: list[str] | None = None
    _type_name: ClassVar[str] = "xml"

    def parse(self, text: str) -> dict[str, Any]:
        """Return the first element of ``text``.

        Raises:
            OutputParserException: there is none, it is not well-formed or not whole, or there is a document type.
        """
        reader = _Reader()
        reader.feed(text)
        return reader.root()

    def get_format_instructions(self) -> str:
        """Return words that ask for XML, with the tags if they are given."""
        tags = f" Use these tags: {', '.join(self.tags)}." if self.tags else ""
        return (
            "Answer with one XML element, and with nothing else. Close every tag that you open, in the right order."
            f"{tags} For example:\n<answer>\n  <item>red</item>\n  <item>green</item>\n</answer>"
        )

    def _incremental(self) -> Incremental[ParserInput, dict[str, Any]]:
        return _Reader()


class _Element:
    """An element that is still open."""

    __slots__ = ("children", "tag", "text")

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.text: list[str] = []
        self.children: list[object] = []

    def close_text(self) -> str | None:
        text = "".join(self.text)
        self.text.clear()
        return text or None


class _Reader:
    """Reads one element out of a text that comes in pieces."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._tail = ""  # of the prose, where the beginning of a tag may be
        self._has_begun = False
        self._open: list[_Element] = []
        self._leaves: list[dict[str, Any]] = []
        self._root: dict[str, Any] | None = None
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        if hasattr(self._parser, "SetReparseDeferralEnabled"):  # not in each Python 3.11 and 3.12
            self._parser.SetReparseDeferralEnabled(False)
        self._held = bytearray()  # behind a long tag that is cut
        self._taken = 0  # bytes that expat has
        self._cut = 0  # of these, bytes of a tag that is cut
        self._parser.StartDoctypeDeclHandler = self._refuse_type
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._take

    def feed(self, piece: ParserInput, /) -> list[dict[str, Any]]:
        """Read the text on, and return the innermost elements that have ended, each inside its tags."""
        text = get_piece_text(piece)
        self._text.append(text)
        if not self._has_begun:
            seen = self._tail + text
            match = _BEGINNING.search(seen)
            if match is None:
                self._tail = seen[1 - _LONGEST :]
                return []
            self._has_begun, text = True, seen[match.start() :]
        if self._root is None:  # else it is the prose behind
            try:
                self._held += text.encode()
            except UnicodeError as error:
                raise self._refusal(str(error)) from None
            if len(self._held) >= self._cut - _SHORT:
                self._read_held()
        return self._take_leaves()

    def close(self) -> Iterable[dict[str, Any]]:
        self.root()
        return self._take_leaves()

    def root(self) -> dict[str, Any]:
        """Return the element, now that the text has ended."""
        if self._root is None and self._has_begun:
            self._read_held()
            with contextlib.suppress(expat.ExpatError):  # where expat waits, too, the last call has it read on
                self._parser.Parse(b"", True)
        if self._root is None:
            raise self._refusal("it ends before its first element does" if self._has_begun else "it has no element")
        return self._root

    def _read_held(self) -> None:
        held, self._held = bytes(self._held), bytearray()
        try:
            self._parser.Parse(held, False)
        except expat.ExpatError as error:
            if self._root is None:  # else it is the prose behind that is no XML
                raise self._refusal(str(error)) from None
        self._taken += len(held)
        self._cut = self._taken - self._parser.CurrentByteIndex

    def _take_leaves(self) -> list[dict[str, Any]]:
        leaves, self._leaves = self._leaves, []
        return leaves

    def _refusal(self, reason: str) -> OutputParserException:
        text = "".join(self._text)
        message = f"the answer is not XML: {reason}. It reads: {excerpt(text, 200)}"
        return OutputParserException(message, llm_output=text)

    def _refuse_type(self, *declared: object) -> None:
        raise self._refusal("it has a document type, which is not allowed")

    def _start(self, tag: str, attributes: object) -> None:
        if self._root is not None:
            return
        if len(self._open) >= MAX_DEPTH:
            raise self._refusal(f"more than {MAX_DEPTH} elements are nested")
        if self._open:
            parent = self._open[-1]
            text = parent.close_text()
            if text is not None and not text.isspace():
                parent.children.append(text)
        self._open.append(_Element(tag))

    def _take(self, text: str) -> None:
        if self._open:
            self._open[-1].text.append(text)

    def _end(self, tag: str) -> None:
        if self._root is not None:
            return
        element = self._open.pop()
        text = element.close_text()
        if element.children:
            if text is not None and not text.isspace():
                element.children.append(text)
            made: dict[str, Any] = {element.tag: element.children}
        else:
            made = {element.tag: text}
            leaf: dict[str, Any] = made
            for outer in reversed(self._open):
                leaf = {outer.tag: [leaf]}
            self._leaves.append(leaf)
        if self._open:
            self._open[-1].children.append(made)
        else:
            is_empty = not element.children and (text is None or text.isspace())
            self._root = {element.tag: []} if is_empty else made
