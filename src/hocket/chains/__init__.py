"""From documents to answers with their sources: passages, citations, and chains made by functions. LangChain's names.

LangChain's older chains are in `hocket.classic.chains`.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.chains.citations import Citation, annotate_answer, find_citations
    from hocket.chains.passages import Passage, describe_source, number_passages, show_passages
    from hocket.chains.reader import NOTHING_FOUND as NOTHING_FOUND
    from hocket.chains.retrieval import (
        create_history_aware_retriever,
        create_retrieval_chain,
        create_stuff_documents_chain,
    )

_LATER = {
    "citations": "Citation annotate_answer find_citations",
    "passages": "Passage describe_source number_passages show_passages",
    "reader": "NOTHING_FOUND",
    "retrieval": "create_history_aware_retriever create_retrieval_chain create_stuff_documents_chain",
}

__all__ = [
    "Citation",
    "Passage",
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
