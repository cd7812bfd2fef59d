"""Text files and Markdown: a document is a file."""

import io
import re
from collections.abc import Iterator

from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, name_title
from hocket.document_loaders.text_files import check_encoding, open_text
from hocket.documents import Document

__all__ = ["MarkdownLoader", "TextLoader", "find_markdown_title"]

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_BLOCK = re.compile(r" {0,3}(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])| {4}|\t")
_TITLE = "title:"


class TextLoader(FileLoader):
    """Loads a text file as one document.

    Its text is what stands there, with ``\\n`` as the end of each line. ``title`` is the name of the file without its
    suffix.

    Args:
        file_path: the file.
        encoding: of a file that has no byte order mark and is not UTF-8.
        max_bytes: the largest file that is taken; None: any.

    Raises:
        InvalidInput: Python knows no such encoding.
        DocumentError: by the verbs: it is empty, binary, or in another encoding.
    """

    def __init__(self, file_path: FilePath, encoding: str | None = None, *, max_bytes: int | None = MAX_BYTES) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        self.encoding: str | None = check_encoding(encoding)

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the documents of an open file."""
        text = self._decode(open_text(file, self.file_path, self.encoding).read())
        yield Document(text, metadata={"source": self.file_path, "title": self._find_title(text)})

    def _decode(self, text: str) -> str:
        """Return the text of the document that stands in the file's."""
        return text

    def _find_title(self, text: str) -> str:
        return name_title(self.file_path)


class MarkdownLoader(TextLoader):
    """Loads a Markdown file as one document, marks and front matter included.

    ``title`` is that of the front matter, else the first heading, else the name of the file without its suffix. What
    stands in a fence is no heading.
    """

    def _find_title(self, text: str) -> str:
        return find_markdown_title(text) or super()._find_title(text)


def find_markdown_title(text: str) -> str | None:
    """Return the title of a Markdown text: ``title:`` of its front matter, else its first heading."""
    lines = iter(text.split("\n"))
    if text.startswith("---\n"):
        next(lines)
        end = re.search(r"^(?:---|\.\.\.)[ \t]*$", text[4:], re.MULTILINE)
        if end is not None:
            front = text[4 : 4 + end.start()].split("\n")
            for line in front:
                if line.startswith(_TITLE) and (title := line.removeprefix(_TITLE).strip(" \t").strip("\"'")):
                    return title
            lines = iter(text[4 + end.end() :].split("\n"))
    fence, before = "", ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and (not fence or (mark[1].startswith(fence) and not line[mark.end() :].strip())):
            fence, before = ("" if fence else mark[1]), ""
        elif fence:
            continue
        elif (heading := _HEADING.match(line)) and (title := _drop_closing(heading[1].strip())):
            return title
        elif before and _UNDERLINE.match(line):
            return before
        else:
            before = "" if _BLOCK.match(line) else line.strip()
    return None


def _drop_closing(heading: str) -> str:
    """Return a heading without the signs that may end it: ``Title ##``."""
    bare = heading.rstrip("#")
    return bare.rstrip() if bare[-1:] in (" ", "\t") else heading
