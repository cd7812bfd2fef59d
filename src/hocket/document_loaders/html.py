"""HTML: a file is a document, its text without its marks.

The scanner is our own, a few expressions that never look at a character twice. The one of Python's library takes time
that grows with the square of a malformed page (a megabyte of ``<a`` would take minutes), raises on ``<![x``, and cuts tags
differently from version to version. Entities are decoded by the library.
"""

import codecs
import html
import io
import re
from collections.abc import Iterator

from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, name_title
from hocket.document_loaders.text_files import check_encoding, is_text_encoding, open_text
from hocket.documents import Document

__all__ = ["HTMLLoader", "Page", "read_page"]

_MARK = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))"  # a comment
    r"|<[!?][^>]*+(?:>|\Z)|</(?![a-zA-Z])[^>]*+(?:>|\Z)"  # a declaration, or what browsers take for a comment
    # a tag; its end may stand in the quotes of a value
    r"""|<(/?)([a-zA-Z][^\s/>]*+)((?:=\s*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))|[^>])*+)(?:>|\Z)""",
    re.DOTALL,
)
_SPACE = re.compile(r"[ \t\n\r\f]+")
_NUMBER = re.compile(r"&#(?:[xX]([0-9a-fA-F]++)|([0-9]++));?")
_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)\s[^>]{0,500}?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE
)
_DECLARED_WITHIN = 4096  # bytes

_NO_TEXT = frozenset(("script", "style", "template", "iframe", "noembed", "noframes"))
_PLAIN_TEXT = frozenset(("title", "textarea"))  # which may hold entities, and no tags
_HEADING = re.compile("h[1-6]")
_PARAGRAPH = re.compile(
    "h[1-6]|p|blockquote|pre|ul|ol|dl|table|figure|article|section|header|footer|main|aside|nav|form|fieldset|details|hr"
    "|address|body"
)
_LINE = re.compile(
    "div|br|li|tr|dt|dd|option|caption|figcaption|summary|legend|center|dir|menu|thead|tbody|tfoot",
)


class HTMLLoader(FileLoader):
    """Loads an HTML file as one document: its text, without scripts, styles and comments.

    Elements that stand on lines of their own do so here, the cells of a row are set apart by `` | ``, and white space is
    one space, but for ``<pre>``. ``title`` is the page's, else its first heading, else the name of the file without its
    suffix. Malformed HTML is read as browsers read it, as far as that concerns text.

    Args:
        file_path: the file.
        encoding: of a file that has no byte order mark and is not UTF-8; None: the one that the page itself declares.
        max_bytes: the largest file that is taken; None: any.

    Raises:
        InvalidInput: Python knows no such encoding.
        DocumentError: by the verbs: it is empty, binary, or in another encoding.
    """

    def __init__(self, file_path: FilePath, encoding: str | None = None, *, max_bytes: int | None = MAX_BYTES) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        self.encoding: str | None = check_encoding(encoding)

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the document."""
        page = read_page(file, self.file_path, self.encoding)
        title = page.title or page.heading or name_title(self.file_path)
        yield Document(page.text, metadata={"source": self.file_path, "title": title})


def read_page(file: io.BufferedReader, path: str, encoding: str | None, *, marks_headings: bool = False) -> "Page":
    """Read a page.

    Args:
        file: at its beginning.
        path: its name, for errors.
        encoding: of a page that has no byte order mark and is not UTF-8; None: the one that it declares itself.
        marks_headings: see `Page`.

    Raises:
        DocumentError: it is binary, or in another encoding.
    """
    encoding = encoding or _find_declared_encoding(file.peek(_DECLARED_WITHIN)[:_DECLARED_WITHIN])
    return Page(open_text(file, path, encoding).read(), marks_headings=marks_headings)


class Page:
    """The text of a page, its title and its first heading; ``marks_headings``: all begin with ``#``, as in Markdown."""

    def __init__(self, source: str, *, marks_headings: bool = False) -> None:
        self.title: str = ""
        self.heading: str = ""
        self._parts: list[str] = []
        self._gap = 0  # ends of lines that are due before the next text
        self._between = ""  # what is due if there is no such end
        self._in_pre = 0
        self._heading_from: int | None = None
        self._marks_headings = marks_headings
        self._read(source)
        self.text: str = "".join(self._parts).strip(" \t\n")

    def _read(self, source: str) -> None:
        at = 0
        while (found := _find_mark(source, at)) is not None:
            self._add(html.unescape(_NUMBER.sub(_drop_bad_number, source[at : found.start()])))
            at = found.end()
            if found[2] is None:
                continue
            name = found[2].lower()
            if found[1]:
                self._end(name)
                continue
            self._start(name)
            if name in _NO_TEXT or name in _PLAIN_TEXT:
                end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(source, at)
                inside, at = source[at : end.start() if end else None], end.start() if end else len(source)
                self._add_inside(name, inside)
        self._add(html.unescape(_NUMBER.sub(_drop_bad_number, source[at:])))

    def _add_inside(self, name: str, source: str) -> None:
        if name in _PLAIN_TEXT:
            text = html.unescape(_NUMBER.sub(_drop_bad_number, source))
            if name == "textarea":
                self._add(text)
            elif not self.title:
                self.title = _SPACE.sub(" ", text).strip()

    def _start(self, name: str) -> None:
        if name in ("td", "th"):
            self._between = " | "
        elif name == "br":
            self._gap = min(self._gap + 1, 2)
        self._break(name)
        if name == "tr":
            self._between = ""
        elif name == "pre":
            self._in_pre += 1
        elif _HEADING.fullmatch(name):
            self._heading_from = len(self._parts)

    def _end(self, name: str) -> None:
        self._break(name)
        if name == "pre":
            self._in_pre = max(0, self._in_pre - 1)
        elif _HEADING.fullmatch(name) and (begin := self._heading_from) is not None:
            text = _SPACE.sub(" ", "".join(self._parts[begin:])).strip()
            self.heading, self._heading_from = self.heading or text, None
            if text and self._marks_headings:
                self._parts[begin:] = ["\n\n" if begin else "", f"{'#' * int(name[1])} {text}"]

    def _break(self, name: str) -> None:
        if _PARAGRAPH.fullmatch(name):
            self._gap = 2
        elif _LINE.fullmatch(name):
            self._gap = max(self._gap, 1)

    def _add(self, text: str) -> None:
        if self._in_pre:
            shown = text if self._parts or text.strip() else ""
        else:
            shown = _SPACE.sub(" ", text)
            if shown[:1] == " ":
                self._between = self._between or " "
                shown = shown[1:]
        if not shown:
            return
        trailing = not self._in_pre and shown[-1] == " "
        if self._parts:
            self._parts.append("\n" * self._gap or self._between)
        self._parts.append(shown[:-1] if trailing else shown)
        self._gap, self._between = 0, " " if trailing else ""


def _find_mark(source: str, at: int) -> re.Match[str] | None:
    """Find the next mark; a ``<`` that begins none is text."""
    while (at := source.find("<", at)) >= 0:
        if (found := _MARK.match(source, at)) is not None:
            return found
        at += 1
    return None


def _drop_bad_number(found: re.Match[str]) -> str:
    """Drop a number that stands for no character, for which the library would put U+FFFD, or raise."""
    digits = (found[1] or found[2]).lstrip("0")
    if not 0 < len(digits) < 9:
        return ""
    number = int(digits, 16 if found[1] else 10)
    return "" if 0xD800 <= number < 0xE000 or number > 0x10FFFF else found[0]


def _find_declared_encoding(head: bytes) -> str | None:
    """Return the encoding that a page declares, if Python knows it and the declaration can be read in it at all."""
    found = _DECLARED.search(head)
    if found is None:
        return None
    declared = found[1].decode("ascii", "ignore")
    if not is_text_encoding(declared):
        return None
    name = codecs.lookup(declared).name
    if name in ("iso8859-1", "ascii"):  # browsers take both for this
        return "cp1252"
    return name if b"<meta".decode(name, "ignore") == "<meta" else None
