"""The text of a Word document, from the events of an XML parser.

Headings are told by the names or the levels of their styles. What was deleted or moved away under "track changes" is left
out, as are headers, footers, notes and comments.
"""

import functools
from typing import ClassVar

from hocket.document_loaders.block_text import BlockText
from hocket.document_loaders.xml_events import Attributes, XMLEvents

__all__ = ["DocumentText", "Styles"]

_NAMESPACES = frozenset(
    (
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
)
_COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"


@functools.lru_cache(256)
def _local_name(name: str) -> str:
    """Return the name of an element or attribute of Word's own, without its namespace; of others with it."""
    namespace, _, local = name.rpartition(" ")
    if namespace in _NAMESPACES:
        return local
    return "Fallback" if namespace == _COMPATIBILITY and local == "Fallback" else name


def _value(attributes: Attributes) -> str:
    return next((value for name, value in attributes.items() if _local_name(name) == "val"), "")


class Styles(XMLEvents):
    """Which styles are headings, and of which level: read from the part ``styles.xml``."""

    def __init__(self) -> None:
        self._levels: dict[str, int] = {}
        self._parents: dict[str, str] = {}
        self._style = ""

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""
        name = _local_name(name)
        if name == "style":
            self._style = next((value for key, value in attributes.items() if _local_name(key) == "styleId"), "")
        elif name == "name":
            words = _value(attributes).lower().split()
            if words == ["title"]:
                self._levels[self._style] = 1
            elif words[:1] == ["heading"] and words[1:] and words[1].isdecimal():
                self._levels[self._style] = int(words[1])
        elif name == "basedOn":
            self._parents[self._style] = _value(attributes)
        elif name == "outlineLvl" and _value(attributes).isdecimal():
            self._levels.setdefault(self._style, int(_value(attributes)) + 1)

    def level(self, style: str) -> int:
        """Return the level of a heading of this style, from 1; 0: it is none."""
        for _ in range(20):  # a style may be based on itself by mistake
            if style in self._levels:
                return self._levels[style]
            style = self._parents.get(style, "")
        return 0


class DocumentText(BlockText):
    """Collects the text of ``document.xml``.

    Attributes:
        root: the name of the outermost element; "document" in a Word document.
    """

    left_out: ClassVar[frozenset[str]] = frozenset(
        ("moveFrom", "del", "pPrChange", "rPrChange", "numberingChange", "Fallback")
    )

    def __init__(self, styles: Styles) -> None:
        super().__init__()
        self.root: str = ""
        self._styles = styles
        self.starts.update(
            {
                "pStyle": lambda attributes: self.set_level(self._styles.level(_value(attributes))),
                "outlineLvl": self._start_outline,
                "numId": lambda attributes: self.set_item(_value(attributes) != "0"),
            }
        )

    def start(self, name: str, attributes: Attributes) -> None:
        """Take the start of an element."""
        self.root = self.root or _local_name(name)
        super().start(name, attributes)

    def find_local_name(self, name: str) -> str:
        """Return the name of an element of Word's own, without its namespace."""
        return _local_name(name)

    def _start_outline(self, attributes: Attributes) -> None:
        level = _value(attributes)
        self.set_level(int(level) + 1 if level.isdecimal() and int(level) < 9 else 0)
