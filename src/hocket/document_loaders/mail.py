"""E-mails: a message is a document.

Python's parser looks for the end of every part around a line at each line, and parses a header in time that grows with the
square of its length. So the parts are found here, by their places in the file, and only headers of bounded length, and the
texts, are given to the library. What is in another encoding than it says is an error; nothing is replaced.
"""

import io
import re
from collections.abc import Iterator
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.parser import HeaderParser
from email.policy import compat32

from hocket.document_loaders.files import MAX_BYTES, FileLoader, FilePath, describe, name_title
from hocket.document_loaders.html import Page
from hocket.document_loaders.text_files import check_encoding, is_text_encoding
from hocket.documents import Document
from hocket.errors import DocumentError

__all__ = ["EmailLoader"]

_MAX_PARTS = 1_000
_MAX_DEPTH = 20  # parts within parts
_MAX_HEADERS = 262_144  # bytes of the headers of a part
_SHOWN = ("Subject", "From", "To", "Cc", "Date")
_END_OF_HEADERS = re.compile(rb"\A\r?\n|\r?\n\r?\n")


class EmailLoader(FileLoader):
    """Loads an e-mail (``.eml``) as one document: who wrote what about to whom and when, and its text.

    Of a text that is there in several forms the plain one is taken; HTML is read as `HTMLLoader` does. What is attached is
    named, and not read: save it beside the message. ``title`` is the subject, else the name of the file.

    Args:
        file_path: the file.
        encoding: of a text that is neither in the encoding that it says nor UTF-8.
        max_bytes: the largest file that is taken; None: any.

    Raises:
        InvalidInput: an argument no file could be read with.
        DocumentError: by the verbs: it is no e-mail, has too many parts, or is in another encoding.
    """

    def __init__(self, file_path: FilePath, encoding: str | None = None, *, max_bytes: int | None = MAX_BYTES) -> None:
        super().__init__(file_path, max_bytes=max_bytes)
        self.encoding: str | None = check_encoding(encoding)

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the document."""
        try:
            yield self._make_document(file.read())
        except DocumentError:
            raise
        except (LookupError, ValueError, TypeError) as error:  # of the library, over damaged headers
            problem = f"it is damaged ({describe(error)}); save it again, or leave it out"
            raise DocumentError(self.file_path, problem) from error

    def _make_document(self, data: bytes) -> Document:
        mail = _Mail(data, self.file_path, self.encoding)
        headers, texts = mail.open_message(0, len(data), 1)
        if not headers:
            raise DocumentError(self.file_path, "it is no e-mail: it has neither a subject nor a sender; rename it")
        blocks = [*texts, *([f"Attached: {', '.join(mail.attached)}"] if mail.attached else [])]
        title = headers.get("Subject") or name_title(self.file_path)
        return Document("\n\n".join(blocks), metadata={"source": self.file_path, "title": title})


class _Mail:
    """The parts of a message.

    Attributes:
        attached: the names of those that are not read.
    """

    def __init__(self, data: bytes, path: str, encoding: str | None) -> None:
        self._data, self._path, self._encoding = data, path, encoding
        self._count = 0
        self.attached: list[str] = []

    def open_message(self, start: int, end: int, depth: int) -> tuple[dict[str, str], list[str]]:
        """Return the headers that are shown of the message at a place, and its texts, of which these are the first."""
        part, start = self._open_part(start, end, depth)
        headers = {name: _decode_header(str(part[name])) for name in _SHOWN if part[name] is not None}
        shown = "\n".join(f"{name}: {value}" for name, value in headers.items())
        return headers, [text for text in (shown, *self._list_texts(part, start, end, depth)) if text]

    def _open_part(self, start: int, end: int, depth: int) -> tuple[Message, int]:
        """Return the headers of the part at a place, and where its body begins."""
        self._count += 1
        if self._count > _MAX_PARTS or depth > _MAX_DEPTH:
            limit = f"more than {_MAX_PARTS:,} parts, or parts more than {_MAX_DEPTH} deep"
            raise DocumentError(self._path, f"it has {limit}; split it, or leave it out")
        head = self._data[start : min(end, start + _MAX_HEADERS)]
        found = _END_OF_HEADERS.search(head)
        if found is None and end - start > _MAX_HEADERS:
            problem = f"it has headers of more than {_MAX_HEADERS:,} bytes; leave it out"
            raise DocumentError(self._path, problem, f"byte {start:,}")
        size = len(head) if found is None else found.end()
        return HeaderParser(policy=compat32).parsestr(self._decode(head[:size], "utf-8")), start + size

    def _list_texts(self, part: Message, start: int, end: int, depth: int) -> Iterator[str]:
        """Yield the texts of a part whose body is at a place."""
        kind, boundary = part.get_content_type(), part.get_boundary()
        if part.get_content_disposition() == "attachment":
            self.attached.append(_decode_header(part.get_filename() or kind))
        elif part.get_content_maintype() == "multipart" and boundary is not None:
            places = self._find_parts(boundary, start, end)
            parts = [(*self._open_part(*place, depth + 1), place[1]) for place in places]
            if kind == "multipart/alternative":
                plain = [form for form in parts if form[0].get_content_type() == "text/plain"]
                parts = plain[:1] or parts[-1:]
            for inner, begin, finish in parts:
                yield from self._list_texts(inner, begin, finish, depth + 1)
        elif kind == "message/rfc822":
            yield from self.open_message(start, end, depth + 1)[1]
        elif kind in ("text/plain", "text/html") or part.get_content_maintype() == "multipart":
            yield self._read_text(part, self._data[start:end])
        else:
            self.attached.append(_decode_header(part.get_filename() or kind))

    def _find_parts(self, boundary: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the places of the parts between boundaries (RFC 2046, section 5.1.1)."""
        quoted = re.escape(boundary.encode())
        mark = re.compile(rb"^--" + quoted + rb"(--)?[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
        begin: int | None = None
        for found in mark.finditer(self._data, start, end):
            if begin is not None:
                yield begin, found.start()
            begin = found.end()
            if found[1]:
                return
        if begin is not None:
            yield begin, end

    def _read_text(self, part: Message, data: bytes) -> str:
        part.set_payload(data.decode("ascii", "surrogateescape"))
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)  # it has no parts
        text = self._decode(content, part.get_content_charset("utf-8"))
        return Page(text).text if part.get_content_type() == "text/html" else "\n".join(text.splitlines()).strip()

    def _decode(self, data: bytes, declared: str) -> str:
        for encoding in (declared, "utf-8", self._encoding):
            if encoding is not None and is_text_encoding(encoding):
                try:
                    text = data.decode(encoding)
                    text.encode()  # UTF-7 can say half of a surrogate pair
                    return text
                except UnicodeError:
                    continue
        problem = f"a text is not in {declared[:40]!r}, as it says; name the encoding that it is in by encoding="
        raise DocumentError(self._path, problem)


def _decode_header(value: str) -> str:
    try:
        text = str(make_header(decode_header(value)))
        text.encode()
    except (MessageError, LookupError, ValueError):
        text = value
    return " ".join(text.split())
