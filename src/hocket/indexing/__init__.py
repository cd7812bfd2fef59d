"""Indexing: a store is brought up to its sources, and what is there already costs nothing. LangChain's names."""

from hocket.indexing.indexer import IndexingResult, aindex, index

__all__ = ["IndexingResult", "aindex", "index"]
