"""A retriever as a tool: a model searches when it wants to."""

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from hocket.documents import Document
from hocket.documents.formatting import DocumentPrompt, format_document
from hocket.documents.found import check_found
from hocket.load.late_build import LateModel
from hocket.runnables import RunnableConfig
from hocket.runnables.base import Runnable
from hocket.tools.structured import StructuredTool

__all__ = ["RetrieverInput", "create_retriever_tool"]


class RetrieverInput(LateModel):
    """What the tool is called with."""

    query: str = Field(description="what to search for")


def create_retriever_tool(
    retriever: Runnable[str, list[Document]],
    name: str,
    description: str,
    *,
    document_prompt: DocumentPrompt | None = None,
    document_separator: str = "\n\n",
    response_format: Literal["content", "content_and_artifact"] = "content",
) -> StructuredTool:
    """Return a tool that asks a retriever, and gives the model the texts of the documents; of none, that none was found.

    What documents say is data: it stands in the tool's result, and braces in it stay braces. That lowers the risk that a
    model takes it for instructions, and does not end it.

        search = create_retriever_tool(store.as_retriever(), "search_handbook", "Searches the handbook of the boiler.")
        agent = create_agent(model, [search])

    Args:
        retriever: a `BaseRetriever`, or any runnable from a question to a list of documents.
        name, description: of the tool, for the model.
        document_prompt: how a document is shown; its variables are ``page_content`` and keys of the metadata:
            ``PromptTemplate.from_template("{source}: {page_content}")``. Default: its text alone.
        document_separator: what stands between two documents.
        response_format: "content_and_artifact" keeps the documents as the result message's ``artifact``, too, which no
            model sees.

    Raises:
        InvalidInput: the name will not do.
    """

    def show(found: Sequence[Document]) -> object:
        texts = [
            one.page_content if document_prompt is None else format_document(one, document_prompt) for one in found
        ]
        shown = document_separator.join(texts) or "Nothing was found."
        return (shown, found) if response_format == "content_and_artifact" else shown

    async def asearch(query: str, config: RunnableConfig) -> object:
        return show(check_found(await retriever.ainvoke(query, config), retriever.get_name()))

    def search(query: str, config: RunnableConfig) -> object:
        return show(check_found(retriever.invoke(query, config), retriever.get_name()))

    return StructuredTool.from_function(
        search, asearch, name, description, args_schema=RetrieverInput, response_format=response_format
    )
