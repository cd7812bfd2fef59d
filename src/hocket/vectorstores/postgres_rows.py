"""Documents and vectors as PostgreSQL sends and takes them.

A batch goes there by COPY, in PostgreSQL's binary format: pgvector's is the size, two bytes that are zero, and the numbers
as 32-bit floats, the highest byte first.
"""

import hashlib
import json
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Final

from hocket._databases.postgres import Connection
from hocket.documents import Document
from hocket.vectorstores.postgres_filters import make_exact
from hocket.vectorstores.postgres_words import count_words
from hocket.vectorstores.ranking import Match
from hocket.vectorstores.rows import Row, clip_cosine

__all__ = ["hash_text", "pack_vector", "read_document", "read_match", "send_batch", "unpack_vector"]

_BATCH: Final = {
    "place": "int4",
    "id": "text",
    "hash": "bytea",
    "content": "text",
    "metadata": "text",
    "facts": "text",
    "length": "int4",
    "words": "text",
    "vector": "vector",
}
_CREATE: Final = f"CREATE TEMPORARY TABLE hocket_batch ({', '.join(map(' '.join, _BATCH.items()))}) ON COMMIT DROP"
_COPY: Final = "COPY pg_temp.hocket_batch FROM STDIN (FORMAT BINARY)"


def send_batch(connection: Connection, documents: Sequence[Document], rows: Sequence[Row]) -> None:
    """Send documents and their vectors into a table ``hocket_batch``, which is gone with the transaction."""
    connection.execute(_CREATE.encode())
    with connection.cursor() as cursor, cursor.copy(_COPY) as copy:
        copy.set_types(["bytea" if type == "vector" else type for type in _BATCH.values()])
        for fields in _write_fields(documents, rows):
            copy.write_row(fields)


def _write_fields(documents: Sequence[Document], rows: Sequence[Row]) -> Iterator[tuple[object, ...]]:
    for place, (document, row) in enumerate(zip(documents, rows, strict=True)):
        text = document.page_content
        words, length = count_words(text)
        metadata = json.dumps(document.metadata, ensure_ascii=False)
        facts = json.dumps(make_exact(document.metadata), ensure_ascii=False)
        yield place, document.id, hash_text(text), text, metadata, facts, length, words, pack_vector(row)


def hash_text(text: str) -> bytes:
    """Return what a text's vector is kept under."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def pack_vector(row: Row) -> bytes:
    """Return a vector in pgvector's binary format."""
    return struct.pack(">HH", len(row), 0) + _turn(array("f", row)).tobytes()


def unpack_vector(data: bytes) -> list[float]:
    """Return the vector that pgvector has sent."""
    return _turn(array("f", data[4:])).tolist()


def read_document(id: str, content: str, metadata: str) -> Document:
    """Return the document of a row."""
    return Document(content, metadata=json.loads(metadata), id=id)


def read_match(id: str, content: str, metadata: str, vector: bytes, score: float, *, is_cosine: bool) -> Match:
    """Return the match of a row."""
    return Match(
        read_document(id, content, metadata), clip_cosine(score) if is_cosine else score, unpack_vector(vector)
    )


def _turn(numbers: "array[Any]") -> "array[Any]":
    """Return floats of this machine in the order of the network's bytes, or the other way."""
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers
