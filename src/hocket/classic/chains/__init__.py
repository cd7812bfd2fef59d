"""Chains: steps with named inputs and outputs, and a memory. LangChain's names."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.classic.chains.base import Chain, ChainOptions
    from hocket.classic.chains.conversation import ConversationChain
    from hocket.classic.chains.conversational_retrieval import ConversationalRetrievalChain
    from hocket.classic.chains.documents import (
        BaseCombineDocumentsChain,
        MapReduceDocumentsChain,
        MapRerankDocumentsChain,
        RefineDocumentsChain,
        StuffDocumentsChain,
    )
    from hocket.classic.chains.llm import LLMChain
    from hocket.classic.chains.llm_math import LLMMathChain
    from hocket.classic.chains.retrieval_qa import RetrievalQA
    from hocket.classic.chains.sequential import SequentialChain, SimpleSequentialChain
    from hocket.classic.chains.sql import SQLDatabaseChain
    from hocket.classic.chains.sql_database import SQLDatabase
    from hocket.classic.chains.transform import TransformChain

_LATER = {
    "base": "Chain ChainOptions",
    "conversation": "ConversationChain",
    "conversational_retrieval": "ConversationalRetrievalChain",
    "documents": "BaseCombineDocumentsChain MapReduceDocumentsChain MapRerankDocumentsChain RefineDocumentsChain "
    "StuffDocumentsChain",
    "llm": "LLMChain",
    "llm_math": "LLMMathChain",
    "retrieval_qa": "RetrievalQA",
    "sequential": "SequentialChain SimpleSequentialChain",
    "sql": "SQLDatabaseChain",
    "sql_database": "SQLDatabase",
    "transform": "TransformChain",
}

__all__ = [
    "BaseCombineDocumentsChain",
    "Chain",
    "ChainOptions",
    "ConversationChain",
    "ConversationalRetrievalChain",
    "LLMChain",
    "LLMMathChain",
    "MapReduceDocumentsChain",
    "MapRerankDocumentsChain",
    "RefineDocumentsChain",
    "RetrievalQA",
    "SQLDatabase",
    "SQLDatabaseChain",
    "SequentialChain",
    "SimpleSequentialChain",
    "StuffDocumentsChain",
    "TransformChain",
]

__getattr__: Loader = loader(__name__, _LATER)
