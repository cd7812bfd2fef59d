"""XML that anybody may have made, as events: the parser is told of it block by block, and tells what it finds.

No entity is ever expanded, with which a file can grow without bounds or read other files, and no DTD is fetched. Elements
are nested so deep, and one tag is so long, and no more.
"""

import html
from collections.abc import Iterator
from typing import IO, TypeAlias
from xml.parsers import expat

from hocket.document_loaders.files import describe
from hocket.errors import DocumentError

__all__ = ["Attributes", "XMLEvents", "read_events", "strip_namespace"]

Attributes: TypeAlias = dict[str, str]
"""The values of an element's attributes, by their names."""

_BLOCK = 65_536
_MAX_MARK = 1_000_000  # bytes of one tag: older parsers read it again for each block
_MAX_DEPTH = 1_000  # elements within elements


class XMLEvents:
    """What is told what a file holds; by default it does nothing. A name is its namespace, a space, and the local name."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""

    def end(self, name: str) -> None:
        """Take the end of an element."""

    def characters(self, text: str) -> None:
        """Take characters."""


def read_events(
    file: IO[bytes], path: str, events: XMLEvents, part: str | None = None, *, may_have_dtd: bool = False
) -> Iterator[None]:
    """Tell what a file holds, and yield after each block of it.

    Args:
        file: at its beginning.
        path: its name, for errors.
        events: is told.
        part: of an archive that it is, for errors.
        may_have_dtd: whether it may name a DTD, which is not read.

    Raises:
        DocumentError: it is no XML, has entities of its own, or passes a limit.
    """
    parser = _make_parser(path, events, part, may_have_dtd)
    fed = 0
    try:
        while block := file.read(_BLOCK):
            parser.Parse(block, False)
            fed += len(block)
            if fed - parser.CurrentByteIndex > _MAX_MARK + _BLOCK:
                raise DocumentError(path, f"it has a tag of more than {_MAX_MARK:,} bytes; save it again", part)
            yield
        parser.Parse(b"", True)
    except DocumentError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # an encoding, or a number, that is none
        place = ", line ".join(filter(None, (part, str(parser.CurrentLineNumber))))
        problem = f"it is damaged ({describe(error)}); save or download it again"
        raise DocumentError(path, problem, place if part else f"line {place}") from error
    yield


def strip_namespace(name: str) -> str:
    """Return the local name of an element or an attribute."""
    return name.rpartition(" ")[2]


def _make_parser(path: str, events: XMLEvents, part: str | None, may_have_dtd: bool) -> expat.XMLParserType:
    depth = 0

    def start(name: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_DEPTH:
            raise DocumentError(path, f"its elements are nested more than {_MAX_DEPTH:,} deep; save it again", part)
        events.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        events.end(name)

    def refuse(*details: object) -> None:
        what = "entities of its own" if may_have_dtd else "a DTD or entities, which no office program writes"
        raise DocumentError(path, f"it has {what}; do not trust it", part)

    def replace(name: str, is_parameter: bool) -> None:
        text = html.unescape(f"&{name};")
        if not is_parameter and text == f"&{name};":
            raise DocumentError(
                path, f"it has the entity {name[:80]!r}, which only its DTD explains; save it again", part
            )
        events.characters("" if is_parameter else text)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = events.characters
    parser.EntityDeclHandler = refuse
    if may_have_dtd:
        parser.SkippedEntityHandler = replace
    else:
        parser.StartDoctypeDeclHandler = refuse
    return parser
