"""Vector stores by their address."""

import os
from typing import Final

from hocket._secrets import redact_url
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.vectorstores.base import VectorStore
from hocket.vectorstores.memory import InMemoryVectorStore

__all__ = ["open_vector_store"]

_KINDS: Final = (
    "postgresql://…, sqlite:///path, faiss:///path, chroma+http://host:port/collection, qdrant+http://host:port/collection, "
    "memory:, or the path of a file"
)


def open_vector_store(url_or_path: str | os.PathLike[str], embedding: Embeddings) -> VectorStore:
    """Return the vector store at an address. Nothing is opened before it is used.

    Args:
        url_or_path: ``postgresql://host/database``; ``sqlite:///relative/path`` or ``sqlite:////absolute/path``, or the path
            of its file; ``faiss:///path``, such a file with an index; ``chroma+http://host:port/collection``, or
            ``chroma+https://``, or ``qdrant+…``; ``memory:``, a new one in this process. For another table, a key or more
            options make the store itself.
        embedding: the model whose vectors it holds.

    Raises:
        InvalidInput: the address is of another kind.
        MissingDependency: a package is missing.
    """
    address = os.fspath(url_or_path)
    if address == "memory:":
        return InMemoryVectorStore(embedding)
    scheme, is_url, rest = address.partition("://")
    if not is_url:
        return _open_file(address, embedding)
    match scheme:
        case "postgresql" | "postgres":
            from hocket.vectorstores.postgres import PGVectorStore

            return PGVectorStore(address, embedding)
        case "sqlite" if rest.startswith("/"):
            return _open_file(rest[1:], embedding)
        case "faiss" if rest.startswith("/"):
            from hocket.vectorstores.faiss import FAISSVectorStore

            return FAISSVectorStore(rest[1:], embedding)
        case "chroma+http" | "chroma+https":
            from hocket.vectorstores.chroma import ChromaVectorStore

            server, collection = _split_collection(address)
            return ChromaVectorStore(server, embedding, collection=collection)
        case "qdrant+http" | "qdrant+https":
            from hocket.vectorstores.qdrant import QdrantVectorStore

            server, collection = _split_collection(address)
            return QdrantVectorStore(server, embedding, collection=collection)
        case _:
            raise InvalidInput(f"{redact_url(address)!r} is no address of a vector store: it is {_KINDS}")


def _open_file(path: str, embedding: Embeddings) -> VectorStore:
    from hocket.vectorstores.sqlite import SQLiteVectorStore

    return SQLiteVectorStore(path, embedding)


def _split_collection(address: str) -> tuple[str, str]:
    """Return the URL of a server and the name of a collection."""
    kind, _, url = address.partition("+")
    server, slash, collection = url.rpartition("/")
    if not slash or server.endswith("/") or not collection:
        raise InvalidInput(f"{redact_url(url)!r} names no collection: {kind}+http://host:port/collection")
    return server, collection
