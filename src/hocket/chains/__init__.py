"""Chains: steps with named inputs and outputs, and a memory; from documents to answers with their sources.

LangChain's names.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.chains.base import Chain, ChainOptions
    from hocket.chains.citations import Citation, annotate_answer, find_citations
    from hocket.chains.combine import NOTHING_FOUND, BaseCombineDocumentsChain
    from hocket.chains.conversation import ConversationChain
    from hocket.chains.conversational_retrieval import ConversationalRetrievalChain
    from hocket.chains.llm import LLMChain
    from hocket.chains.llm_math import LLMMathChain
    from hocket.chains.map_reduce import MapReduceDocumentsChain
    from hocket.chains.map_rerank import MapRerankDocumentsChain
    from hocket.chains.passages import Passage, describe_source, number_passages, show_passages
    from hocket.chains.refine import RefineDocumentsChain
    from hocket.chains.retrieval import (
        create_history_aware_retriever,
        create_retrieval_chain,
        create_stuff_documents_chain,
    )
    from hocket.chains.retrieval_qa import RetrievalQA
    from hocket.chains.sequential import SequentialChain, SimpleSequentialChain
    from hocket.chains.sql import SQLDatabaseChain
    from hocket.chains.sql_database import SQLDatabase
    from hocket.chains.stuff import StuffDocumentsChain
    from hocket.chains.transform import TransformChain

_LATER = {
    "BaseCombineDocumentsChain": "combine",
    "Chain": "base",
    "ChainOptions": "base",
    "Citation": "citations",
    "ConversationChain": "conversation",
    "ConversationalRetrievalChain": "conversational_retrieval",
    "LLMChain": "llm",
    "LLMMathChain": "llm_math",
    "MapReduceDocumentsChain": "map_reduce",
    "MapRerankDocumentsChain": "map_rerank",
    "NOTHING_FOUND": "combine",
    "Passage": "passages",
    "RefineDocumentsChain": "refine",
    "RetrievalQA": "retrieval_qa",
    "SQLDatabase": "sql_database",
    "SQLDatabaseChain": "sql",
    "SequentialChain": "sequential",
    "SimpleSequentialChain": "sequential",
    "StuffDocumentsChain": "stuff",
    "TransformChain": "transform",
    "annotate_answer": "citations",
    "create_history_aware_retriever": "retrieval",
    "create_retrieval_chain": "retrieval",
    "create_stuff_documents_chain": "retrieval",
    "describe_source": "passages",
    "find_citations": "citations",
    "number_passages": "passages",
    "show_passages": "passages",
}

__all__ = [
    "NOTHING_FOUND",
    "BaseCombineDocumentsChain",
    "Chain",
    "ChainOptions",
    "Citation",
    "ConversationChain",
    "ConversationalRetrievalChain",
    "LLMChain",
    "LLMMathChain",
    "MapReduceDocumentsChain",
    "MapRerankDocumentsChain",
    "Passage",
    "RefineDocumentsChain",
    "RetrievalQA",
    "SQLDatabase",
    "SQLDatabaseChain",
    "SequentialChain",
    "SimpleSequentialChain",
    "StuffDocumentsChain",
    "TransformChain",
    "annotate_answer",
    "create_history_aware_retriever",
    "create_retrieval_chain",
    "create_stuff_documents_chain",
    "describe_source",
    "find_citations",
    "number_passages",
    "show_passages",
]

__getattr__: Loader = loader(__name__, _LATER)
