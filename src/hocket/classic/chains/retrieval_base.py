"""What chains that find documents and answer out of them have in common: question, documents, answer, citations."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket.chains.citations import annotate_answer, find_citations
from hocket.chains.outlet import Outlet
from hocket.chains.retrieval import retrieve
from hocket.classic.chains.base import ChainOptions, KeyedChain
from hocket.classic.chains.documents import (
    BaseCombineDocumentsChain,
    MapReduceDocumentsChain,
    MapRerankDocumentsChain,
    RefineDocumentsChain,
    StuffDocumentsChain,
)
from hocket.errors import InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = ["CHAIN_TYPES", "AnsweringChain", "RetrievalOptions", "check_question", "make_documents_chain"]

CHAIN_TYPES: Mapping[str, Callable[..., BaseCombineDocumentsChain]] = MappingProxyType(
    {
        "stuff": StuffDocumentsChain,
        "map_reduce": MapReduceDocumentsChain,
        "refine": RefineDocumentsChain,
        "map_rerank": MapRerankDocumentsChain,
    }
)
"""The chains of documents, by LangChain's names for them."""

_QUESTION = "question"  # the variable of the prompts


class RetrievalOptions(ChainOptions, total=False):
    """What every chain that answers out of documents may be given, beside `ChainOptions`.

    Keys:
        input_key, output_key: names of the question and of the answer.
        return_source_documents: whether the outputs have the documents that a model was shown, best first.
    """

    input_key: str
    output_key: str
    return_source_documents: bool


class AnsweringChain(KeyedChain):
    """Finds documents, has a model answer out of them, and reads the citations of the answer."""

    retriever: SkipValidation[AnyRunnable]
    combine_documents_chain: SkipValidation[BaseCombineDocumentsChain]
    return_source_documents: bool = False

    @property
    def input_keys(self) -> list[str]:
        """The question, and further variables of the prompts."""
        inner = self.combine_documents_chain
        further = [key for key in inner.input_keys if key not in (inner.input_key, _QUESTION, self.input_key)]
        return [self.input_key, *further]

    @property
    def output_keys(self) -> list[str]:
        """The answer, its citations, the numbers that name nothing, and the documents that did not fit."""
        sources = ["source_documents"] if self.return_source_documents else []
        return [self.output_key, "citations", "unsupported", "left_out", *sources]

    def _remember_outputs(self, outputs: FieldsView) -> Fields:
        return {self.output_key: annotate_answer(outputs[self.output_key], outputs["citations"])}

    @abstractmethod
    async def _find_question(self, mode: Mode, inputs: Fields, config: RunnableConfig) -> str:
        """Return what is to be found and answered."""

    def _describe_question(self, question: str) -> Fields:
        """Return further outputs, about what was looked for."""
        return {}

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        question = await self._find_question(mode, inputs, config)
        documents = await retrieve(mode, self.retriever, question, config)
        values = {**inputs, _QUESTION: question}
        sink = outlet.get_sink(self.output_key)
        combined = await self.combine_documents_chain.combine(mode, documents, values, config, sink)
        citations, unsupported = find_citations(combined.text, combined.shown)
        outputs: Fields = {self.output_key: combined.text, "citations": citations, "unsupported": unsupported}
        outputs |= {"left_out": combined.left_out, **self._describe_question(question)}
        if self.return_source_documents:
            outputs["source_documents"] = [*combined.shown.values()]
        return outputs

    @property
    def _can_step(self) -> bool:
        return self.combine_documents_chain._can_step and self.retriever._can_step  # pyright: ignore[reportPrivateUsage]  # every Runnable has it


def check_question(question: object, key: str) -> str:
    """Return a question.

    Raises:
        InvalidInput: it is no text, or an empty one.
    """
    if not isinstance(question, str):
        raise InvalidInput(f"{key!r} is {type(question).__name__}; a question is a text")
    if not question.strip():
        raise InvalidInput(f"{key!r} is empty; there is nothing to be found")
    return question


def make_documents_chain(llm: AnyRunnable, chain_type: str, kwargs: FieldsView | None) -> BaseCombineDocumentsChain:
    """Return a chain of documents by its name.

    Raises:
        InvalidInput: there is none of that name.
    """
    if chain_type not in CHAIN_TYPES:
        raise InvalidInput(f"chain_type is {chain_type!r}; it is one of {', '.join(CHAIN_TYPES)}")
    return CHAIN_TYPES[chain_type](llm, **(kwargs or {}))
