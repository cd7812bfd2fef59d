"""The servers of stores."""

from tests.vectorstores.conftest import chroma_url, pgvector_url

__all__ = ["chroma_url", "pgvector_url"]
