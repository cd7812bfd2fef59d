"""A question, answered out of documents."""

from typing import Literal, Self, Unpack

from hocket._runtime.mode import Mode
from hocket.chains.ask import AnyPrompt
from hocket.classic.chains.documents import BaseCombineDocumentsChain, StuffDocumentsChain
from hocket.classic.chains.retrieval_base import (
    AnsweringChain,
    RetrievalOptions,
    check_question,
    make_documents_chain,
)
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = ["RetrievalQA"]


class RetrievalQA(AnsweringChain):
    """Finds documents for a question and has a model answer it out of them, with citations.

    ``{"query"}`` → ``{"query", "result", "citations", "unsupported", "left_out"}``: the answer, a `Citation` for each
    document that it names, the numbers in it that name none, and the documents that did not fit into the model's window.
    Where nothing is found the answer says so, and no model is asked. A stream has the text first, and the rest at its end.

    What the documents say is shown to the model as quoted material, in the user's message, between marks that a document
    cannot forge. That makes it less likely that the model takes it for instructions; it does not rule it out.

    Args:
        retriever: a question in, documents out, best first.
        combine_documents_chain: what answers; its prompt has the question as ``{question}``.
        input_key, output_key: names of the question and of the answer.
        return_source_documents: whether the output has ``"source_documents"``, those that the model was shown.
        options: see `Chain`. A memory keeps the answers as messages with LangChain's citations in them.

    Raises, from every verb:
        InvalidInput: the question is no text, or empty; the retriever returned no documents.
        ContextLengthExceeded: not even one document fits into the model's window.
    """

    input_key: str = "query"
    output_key: str = "result"

    def __init__(
        self,
        retriever: AnyRunnable,
        combine_documents_chain: BaseCombineDocumentsChain,
        **options: Unpack[RetrievalOptions],
    ) -> None:
        fields: Fields = {"retriever": retriever, "combine_documents_chain": combine_documents_chain}
        super().__init__(**fields, **options)

    @classmethod
    def from_llm(
        cls,
        llm: AnyRunnable,
        retriever: AnyRunnable,
        prompt: AnyPrompt | None = None,
        **options: Unpack[RetrievalOptions],
    ) -> Self:
        """Return a chain that shows a model all documents at once.

        Args:
            llm: a chat model or a text model, without tools.
            retriever: see the class.
            prompt: with ``{context}`` and ``{question}``; default: hocket's own.
            options: see the class.
        """
        return cls(retriever, StuffDocumentsChain(llm, prompt), **options)

    @classmethod
    def from_chain_type(
        cls,
        llm: AnyRunnable,
        chain_type: Literal["stuff", "map_reduce", "refine", "map_rerank"] = "stuff",
        *,
        retriever: AnyRunnable,
        chain_type_kwargs: FieldsView | None = None,
        **options: Unpack[RetrievalOptions],
    ) -> Self:
        """Return a chain that shows a model the documents in another way.

        Args:
            llm: as with `from_llm`.
            chain_type: which of the four chains of documents.
            retriever: see the class.
            chain_type_kwargs: for ``from_llm`` of that chain: its prompts, for example.
            options: see the class.

        Raises:
            InvalidInput: there is no such type.
        """
        return cls(retriever, make_documents_chain(llm, chain_type, chain_type_kwargs), **options)

    async def _find_question(self, mode: Mode, inputs: Fields, config: RunnableConfig) -> str:
        return check_question(inputs[self.input_key], self.input_key)
