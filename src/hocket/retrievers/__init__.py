"""Retrievers: a question in, the documents that it is about out. LangChain's names."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.retrievers.base import BaseRetriever

if TYPE_CHECKING:
    from hocket.retrievers.compressors import DocumentCompressorPipeline, EmbeddingsFilter
    from hocket.retrievers.contextual_compression import ContextualCompressionRetriever
    from hocket.retrievers.cross_encoder_rerank import CrossEncoderReranker
    from hocket.retrievers.ensemble import EnsembleRetriever
    from hocket.retrievers.extractor import EXTRACTION_PROMPT as EXTRACTION_PROMPT, LLMChainExtractor
    from hocket.retrievers.listwise_rerank import (
        LISTWISE_PROMPT as LISTWISE_PROMPT,
        DocumentOrder as DocumentOrder,
        LLMListwiseRerank,
    )
    from hocket.retrievers.multi_query import MULTI_QUERY_PROMPT as MULTI_QUERY_PROMPT, MultiQueryRetriever
    from hocket.retrievers.parent_document import ParentDocumentRetriever
    from hocket.tools.from_retriever import create_retriever_tool

_LATER = {
    ".tools.from_retriever": "create_retriever_tool",
    "compressors": "DocumentCompressorPipeline EmbeddingsFilter",
    "contextual_compression": "ContextualCompressionRetriever",
    "cross_encoder_rerank": "CrossEncoderReranker",
    "ensemble": "EnsembleRetriever",
    "extractor": "EXTRACTION_PROMPT LLMChainExtractor",
    "listwise_rerank": "LISTWISE_PROMPT DocumentOrder LLMListwiseRerank",
    "multi_query": "MULTI_QUERY_PROMPT MultiQueryRetriever",
    "parent_document": "ParentDocumentRetriever",
}

__all__ = [
    "BaseRetriever",
    "ContextualCompressionRetriever",
    "CrossEncoderReranker",
    "DocumentCompressorPipeline",
    "EmbeddingsFilter",
    "EnsembleRetriever",
    "LLMChainExtractor",
    "LLMListwiseRerank",
    "MultiQueryRetriever",
    "ParentDocumentRetriever",
    "create_retriever_tool",
]

__getattr__: Loader = loader(__name__, _LATER)
