"""Which format a file is in: its first bytes say what is binary, its name says which kind of text it is."""

import re
from pathlib import PurePath

__all__ = ["HEAD", "choose_format", "name_binary_format"]

HEAD = 1024
"""Bytes of a file that are looked at."""

_MAGIC = {
    b"%PDF-": "a PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"PK\x05\x06": "a ZIP archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Office document that is encrypted or of before 2007",
    b"{\\rtf": "an RTF",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF87a": "a GIF image",
    b"GIF89a": "a GIF image",
    b"II*\x00": "a TIFF image",
    b"MM\x00*": "a TIFF image",
    b"\x1f\x8b\x08": "a gzip archive",
    b"BZh91AY": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"\x7fELF": "a program",
    b"SQLite format 3\x00": "a SQLite database",
    b"PAR1": "a Parquet file",
    b"ID3": "an MP3 recording",
    b"OggS": "an Ogg recording",
    b"fLaC": "a FLAC recording",
}

_TEXT_SUFFIXES = {
    ".md": "Markdown",
    ".markdown": "Markdown",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".html": "HTML",
    ".htm": "HTML",
    ".xhtml": "HTML",
    ".ipynb": "Jupyter",
    ".xml": "XML",
    ".eml": "e-mail",
}
_BINARY_SUFFIXES = {
    ".pdf": "PDF",
    ".docx": "DOCX",
    ".docm": "DOCX",
    ".dotx": "DOCX",
    ".pptx": "PPTX",
    ".pptm": "PPTX",
    ".ppsx": "PPTX",
    ".xlsx": "XLSX",
    ".xlsm": "XLSX",
    ".odt": "ODT",
    ".epub": "EPUB",
    ".gz": "gzip",
}
_MIMETYPES = {"vnd.oasis.opendocument.text": "ODT", "epub+zip": "EPUB"}
_UNREAD_SUFFIX = re.compile(
    r"\.(?:doc|dot|xls|xlsb|ppt|ods|odp|pages|numbers|key|rtf|mobi|msg|zip|tgz|bz2|xz|7z"
    r"|rar|tar|zst|png|jpg|jpeg|gif|bmp|tif|tiff|webp|heic|ico|mp3|wav|ogg|flac|m4a|mp4|mov|avi|mkv|webm|exe"
    r"|dll|so|dylib|class|jar|pyc|o|a|wasm|db|sqlite|sqlite3|parquet|feather|arrow|pickle|pkl|npy|npz|pt|onnx"
    r"|gguf|safetensors|ttf|otf|woff|woff2)"
)
_REMEDY = "convert it to PDF, DOCX or text"


def name_binary_format(head: bytes) -> str | None:
    """Return the binary format that a file begins as, in words ("a PDF"); None: it may be text."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)


def choose_format(path: str, head: bytes) -> str:
    """Return the format of a file: PDF, DOCX, PPTX, XLSX, ODT, EPUB, gzip, HTML, CSV, JSON, Jupyter, XML, e-mail,
    Markdown or text.

    Args:
        path: its name.
        head: its first bytes, `HEAD` of them if there are so many.

    Raises:
        ValueError: its name says one format, its content another, or nothing here reads it; the message says which.
    """
    suffix = PurePath(path).suffix.lower()
    named = _BINARY_SUFFIXES.get(suffix)
    if named == "PDF" and b"%PDF-" in head:  # some bytes may stand before it
        return "PDF"
    found = name_binary_format(head)
    if _UNREAD_SUFFIX.fullmatch(suffix):
        left_out = f"exclude='**/*{PurePath(path).suffix}'"
        raise ValueError(f"files of the kind {suffix} are not read; {_REMEDY}, or leave it out by {left_out}")
    read_as = {"a PDF": "PDF", "a gzip archive": "gzip"}.get(found or "")
    if found == "a ZIP archive":
        read_as = _choose_package(named, head)
    if named is not None and named != read_as:
        content = f"it is {found}" if found else "its content is not"
        raise ValueError(
            f"its name says {named}, but {content}; it is damaged or has a wrong name: download it again, or rename it"
        )
    if found is not None and read_as is None:
        raise ValueError(f"it is {found}, which is not read; {_REMEDY}")
    return read_as or _TEXT_SUFFIXES.get(suffix) or ("HTML" if _begins_as_html(head) else "text")


def _choose_package(named: str | None, head: bytes) -> str:
    """Return which kind of package a ZIP archive is: what its first file says, else its name; the rest is Word's."""
    for mimetype, kind in _MIMETYPES.items():
        if head[30:].startswith(f"mimetypeapplication/{mimetype}".encode()):
            return kind
    return named if named not in (None, "PDF", "gzip") else "DOCX"


def _begins_as_html(head: bytes) -> bool:
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith((b"<!doctype html", b"<html"))
