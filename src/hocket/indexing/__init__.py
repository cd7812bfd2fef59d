"""Indexing: a store is brought up to its sources, and what is there already costs nothing. LangChain's names."""

from hocket.indexing.indexer import Cleanup, IndexingResult, aindex, index

__all__ = ["Cleanup", "IndexingResult", "aindex", "index"]
