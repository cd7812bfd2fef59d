"""Text of any encoding, read in blocks.

A mark at its beginning (BOM) says what a file is in. Without one it is UTF-8, strictly. What is not UTF-8 is read in the
encoding that the caller names. That is settled at the first character beyond ASCII, where bytes of other encodings
almost never are UTF-8 by accident; so nothing is read twice. Encodings in which ASCII's own bytes mean something else
(UTF-16, UTF-7, ISO-2022) cannot be told from UTF-8 like that, and are taken at their name.

Nothing is ever replaced: bytes that are no characters are an error that says where they are. Text has no NUL characters;
what has some is binary, or UTF-16 without its mark.
"""

import codecs
import io
from typing import TYPE_CHECKING

from hocket.document_loaders.formats import HEAD, name_binary_format
from hocket.errors import DocumentError, InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["check_encoding", "is_text_encoding", "open_text"]

BLOCK = 65_536

_MARKS = {  # the longer ones first: UTF-32's begins with UTF-16's
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_NOT_FOR_FILES = frozenset(("idna", "punycode", "unicode_escape", "raw_unicode_escape"))


def check_encoding(encoding: str | None) -> str | None:
    """Return the name of an encoding; one that Python does not know, or that no file is in, raises `InvalidInput`."""
    if encoding is not None and not is_text_encoding(encoding):
        raise InvalidInput(f"encoding={encoding!r} is not known to Python; 'utf-8', 'cp1252', 'utf-16' are")
    return encoding


def is_text_encoding(encoding: str) -> bool:
    """Whether Python knows an encoding of this name, and files of text may be in it."""
    try:
        name = codecs.lookup(encoding).name
        return bool(" ".encode(name)) and name.replace("-", "_") not in _NOT_FOR_FILES
    except (LookupError, TypeError, ValueError):
        return False


def open_text(
    file: io.BufferedReader, path: str, encoding: str | None, *, newline: str | None = None, max_line: int | None = None
) -> io.TextIOWrapper:
    """Return the text of an open file, which stays open when that is closed.

    Args:
        file: at its beginning.
        path: its name, for errors.
        encoding: of a file that has no mark and is not UTF-8.
        newline: as for `open`: None makes all ends of lines ``\\n``, ``""`` leaves them as they are.
        max_line: so many characters without an end of a line, give or take a block, are an error.

    Raises:
        DocumentError: by its methods, and here: the file is binary, in another encoding, or has a longer line.
    """
    text = io.TextIOWrapper(io.BufferedReader(_Utf8(file, path, encoding, max_line), BLOCK), "utf-8", newline=newline)
    head = file.peek(HEAD)
    if (found := name_binary_format(head)) is not None:
        raise DocumentError(path, f"it is {found}, and text is wanted; open_documents() picks the loader")
    return text


class _Utf8(io.RawIOBase):
    """A text file's characters in UTF-8, whatever they are in; Python's own classes do the rest, fast."""

    def __init__(self, file: io.BufferedReader, path: str, encoding: str | None, max_line: int | None) -> None:
        self._file, self._path, self._max_line = file, path, max_line
        self._fallback = encoding
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = "utf-8"
        self._ready = b""
        self._at = 0  # bytes that were decoded
        self._lines = 1  # the line that the next block begins in
        self._line_length = 0
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        while not self._ready and not self._ended:
            self._ready = self._read_block()
        view = memoryview(buffer).cast("B")
        count = min(len(view), len(self._ready))
        view[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _read_block(self) -> bytes:
        block = self._file.read(BLOCK)
        if self._decoder is None:
            block = self._begin(block)
        if self._fallback is not None and not block.isascii():
            block = self._settle(block)
        self._ended = not block
        assert self._decoder is not None
        try:
            text = self._decoder.decode(block, not block)
        except UnicodeDecodeError as error:
            raise self._refuse_bytes(error, len(block)) from error
        self._at += len(block)
        if "\0" in text:
            line = self._lines + text.count("\n", 0, text.index("\0"))
            raise self._refuse(
                "it has NUL characters, so it is binary, or UTF-16 without its mark: then give encoding='utf-16-le'",
                line,
            )
        self._lines += text.count("\n")
        self._check_line(text)
        try:
            return text.encode()
        except UnicodeEncodeError as error:  # UTF-7 and its like can say half of a pair
            raise self._refuse("it has half of a surrogate pair, which is no character; save it as UTF-8") from error

    def _begin(self, block: bytes) -> bytes:
        mark = next((mark for mark in _MARKS if block.startswith(mark)), None)
        if mark is not None:
            self._use(_MARKS[mark])
            self._at = len(mark)
            rest = block[len(mark) :]
            if not rest:
                rest = self._file.read(BLOCK)
            if not rest:
                problem = "it is empty but for its byte order mark; leave it out, or download it again"
                raise DocumentError(self._path, problem, is_empty=True)
            return rest
        if self._fallback is not None and not _extends_ascii(self._fallback):
            self._use(self._fallback)
        else:
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        return block

    def _use(self, encoding: str) -> None:
        self._encoding, self._fallback = encoding, None
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def _settle(self, block: bytes) -> bytes:
        """Settle the encoding at the first characters beyond ASCII, all of which must be in the block, which grows."""
        assert self._fallback is not None
        while True:
            trial = codecs.getincrementaldecoder("utf-8")()
            try:
                trial.decode(block)
            except UnicodeDecodeError:
                self._use(self._fallback)
                return block
            more = self._file.read(1) if trial.getstate()[0] else b""
            if not more:
                self._use("utf-8" if not trial.getstate()[0] else self._fallback)
                return block
            block += more

    def _check_line(self, text: str) -> None:
        if self._max_line is None:
            return
        end = max(text.rfind("\n"), text.rfind("\r"))
        self._line_length = len(text) - end - 1 if end >= 0 else self._line_length + len(text)
        if self._line_length > self._max_line:
            raise self._refuse(f"a line has more than {self._max_line:,} characters; is this format the right one?")

    def _refuse_bytes(self, error: UnicodeDecodeError, size: int) -> DocumentError:
        good = error.object[: error.start]
        line = self._lines + good.decode(self._encoding, "ignore").count("\n")
        at = self._at + size - len(error.object) + error.start
        byte = f"byte 0x{error.object[error.start]:02x} at offset {at:,}"
        remedy = "name the encoding that it is in by encoding= ('cp1252', say), or save it as UTF-8"
        return self._refuse(f"{byte} is not {self._encoding.upper()}; {remedy}", line)

    def _refuse(self, problem: str, line: int | None = None) -> DocumentError:
        return DocumentError(self._path, problem, f"line {line or self._lines}")


def _extends_ascii(encoding: str) -> bool:
    """Whether ASCII's bytes are ASCII's characters in an encoding, and others have other bytes."""
    ascii = bytes(range(1, 128))
    foreign = [character.encode(encoding, "ignore") for character in "éд日中"]
    try:
        return ascii.decode(encoding) == ascii.decode("ascii") and not any(one and one.isascii() for one in foreign)
    except UnicodeDecodeError:
        return False
