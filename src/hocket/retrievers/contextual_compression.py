"""What a retriever has found, cut down to what the question is about."""

from typing import Any

from pydantic import SkipValidation

from hocket.callbacks import AsyncCallbackManagerForRetrieverRun
from hocket.documents import BaseDocumentCompressor, Document
from hocket.documents.found import check_found
from hocket.retrievers.at_once import Retriever
from hocket.retrievers.base import BaseRetriever

__all__ = ["ContextualCompressionRetriever"]


class ContextualCompressionRetriever(BaseRetriever):
    """Asks a retriever, and has a compressor keep of its documents what the question is about.

        reranked = ContextualCompressionRetriever(
            base_compressor=CohereRerank(top_n=3), base_retriever=store.as_retriever(search_kwargs={"k": 30})
        )

    Nothing found is not handed to the compressor.

    Args:
        base_compressor: keeps fewer documents, shorter ones, or puts them in a better order.
        base_retriever: a runnable from a question to documents.
    """

    base_compressor: SkipValidation[BaseDocumentCompressor]
    base_retriever: SkipValidation[Retriever]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        inside = run_manager.get_child()
        retriever = self.base_retriever
        found = check_found(await retriever.ainvoke(query, {"callbacks": inside}, **kwargs), retriever.get_name())
        return list(await self.base_compressor.acompress_documents(found, query, inside)) if found else []
