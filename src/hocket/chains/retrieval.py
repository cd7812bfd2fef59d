"""LangChain's newer functions, over the same passages and citations: ``input``, ``context``, ``answer``."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt, TextReader, unbind
from hocket.chains.citations import find_citations
from hocket.chains.outlet import Outlet
from hocket.chains.passages import Passage, check_documents
from hocket.chains.question_prompts import INPUT_PROMPT
from hocket.chains.reader import NOTHING_FOUND, DocumentReader, DocumentRun
from hocket.chains.step import NamedStep, join_keys
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.output_parsers import BaseOutputParser, StrOutputParser
from hocket.retrievers import BaseRetriever
from hocket.runnables import Runnable, RunnableBranch, RunnableConfig, RunnablePick
from hocket.runnables.base import AnyRunnable
from hocket.runnables.stage import put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["create_history_aware_retriever", "create_retrieval_chain", "create_stuff_documents_chain", "retrieve"]


def create_stuff_documents_chain(
    llm: AnyRunnable,
    prompt: AnyPrompt | None = None,
    *,
    output_parser: BaseOutputParser[Any] | None = None,
    document_prompt: AnyPrompt | None = None,
    document_variable_name: str = "context",
) -> Runnable[Fields, Any]:
    """Return a runnable that shows a model a list of documents, and returns its answer.

    The model is shown all of them at once, best first, as many as fit into its window.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: with ``{context}``; default: one that answers ``{input}`` with citations. If it has ``{context}``
            in a system message, the pieces are put into the user's all the same.
        output_parser: reads the answer; default: its text, which is streamed as it comes.
        document_prompt: what is shown of a document; default: its text.
        document_variable_name: the variable of the prompt, and the key of the documents in the input.

    Raises:
        InvalidInput: the prompt lacks the variable, or the model has tools bound.
    """
    reader = DocumentReader(llm, document_variable_name, document_prompt, "stuff_documents_chain")
    reader.check_prompt(prompt or INPUT_PROMPT)
    return _StuffRunnable(reader, prompt or INPUT_PROMPT, output_parser)


class _StuffRunnable(RunnableWithRun[Fields, object]):
    """A chain of documents that takes them under the name of their variable, and returns the answer alone."""

    def __init__(self, reader: DocumentReader, prompt: AnyPrompt, parser: BaseOutputParser[Any] | None) -> None:
        self.name = reader.name
        self._reader = reader
        self._prompt = prompt
        self._parser = parser

    async def _run_whole(self, mode: Mode, input: Fields, config: RunnableConfig, kwargs: dict[str, object]) -> object:
        text, _ = await self.answer(mode, input, config)
        return text

    async def _run_streamed(
        self, mode: Mode, input: Fields, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[object]
    ) -> None:
        if self._parser is None:
            await self.answer(mode, input, config, sink)
        else:
            await put_one(sink, await self._run_whole(mode, input, config, kwargs))

    async def answer(
        self, mode: Mode, input: object, config: RunnableConfig, sink: Sink[str] | None = None
    ) -> tuple[object, Mapping[int, Document]]:
        """Return the answer, and the documents that the model was shown, by number."""
        key = self._reader.variable
        if not isinstance(input, Mapping) or key not in input:
            raise InvalidInput(f"{self.name} takes a mapping with the documents under {key!r}")
        values = cast(FieldsView, input)
        documents = check_documents(values[key], f"the input {key!r}")
        run = DocumentRun(self._reader, mode, values, config, sink)
        combined = await run.read(documents, self._stuff)
        parser = self._parser
        return (combined.text if parser is None else parser.parse(combined.text)), combined.shown

    async def _stuff(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        return await run.stuff(self._prompt, passages)

    @property
    def is_parsed(self) -> bool:
        """Whether the answer is something else than text."""
        return self._parser is not None

    @property
    def _can_step(self) -> bool:
        return self._reader.llm._can_step  # pyright: ignore[reportPrivateUsage]  # every Runnable has it


def create_retrieval_chain(
    retriever: AnyRunnable, combine_docs_chain: AnyRunnable, *, nothing_found: str = NOTHING_FOUND
) -> Runnable[Fields, Fields]:
    """Return a chain that finds documents for ``input`` and answers out of them.

    ``{"input"}`` → ``{"input", "context", "answer", "citations", "unsupported"}``: the documents that were found, the
    answer, and its citations (`RetrievalQA`). Where nothing is found, the answer says so, and nobody is asked.

    Args:
        retriever: a retriever, which gets the text of ``input``; or a runnable, which gets all of the mapping, such as
            that of `create_history_aware_retriever`.
        combine_docs_chain: gets the mapping with ``context`` in it, and returns the answer: that of
            `create_stuff_documents_chain`, or a runnable of one's own.
        nothing_found: the answer where no document is found, in the language of those who ask.
    """
    return _RetrievalChain(
        retriever=retriever, combine_docs_chain=combine_docs_chain, nothing_found=nothing_found, name="retrieval_chain"
    )


class _RetrievalChain(NamedStep):
    """See `create_retrieval_chain`."""

    retriever: SkipValidation[AnyRunnable]
    combine_docs_chain: SkipValidation[AnyRunnable]
    nothing_found: str

    @property
    def input_keys(self) -> list[str]:
        return ["input"]

    @property
    def output_keys(self) -> list[str]:
        return ["context", "answer", "citations", "unsupported"]

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        asked = inputs["input"] if isinstance(unbind(self.retriever), BaseRetriever) else inputs
        documents = await retrieve(mode, self.retriever, asked, config)
        values = {**inputs, "context": documents}
        waiting = outlet.put_as({"context": documents}, {"context": "context"})
        if waiting is not None:
            await waiting
        answer, shown = await self._answer(mode, values, config, outlet)
        citations, unsupported = find_citations(answer, shown) if isinstance(answer, str) else ([], [])
        return {"context": documents, "answer": answer, "citations": citations, "unsupported": unsupported}

    async def _answer(
        self, mode: Mode, values: Fields, config: RunnableConfig, outlet: Outlet
    ) -> tuple[object, Mapping[int, Document]]:
        chain, sink, documents = (
            self.combine_docs_chain,
            outlet.get_sink("answer"),
            cast("list[Document]", values["context"]),
        )
        if not documents:
            if sink is not None:
                await put_one(sink, self.nothing_found)
            return self.nothing_found, {}
        if isinstance(chain, _StuffRunnable):
            return await chain.answer(mode, values, config, None if chain.is_parsed else sink)
        shown = dict(enumerate(documents, 1))
        if sink is None:
            return _read_answer(await chain._invoke(mode, values, config, {})), shown
        reader = TextReader(sink, cumulative=chain._is_cumulative)
        await chain._produce(mode, values, config, {}, reader)
        return _read_answer(reader.pieces.total()), shown

    @property
    def _can_step(self) -> bool:
        return self.combine_docs_chain._can_step and self.retriever._can_step


def _read_answer(answer: object) -> object:
    return answer.text if isinstance(answer, BaseMessage) else answer


def create_history_aware_retriever(
    llm: AnyRunnable, retriever: AnyRunnable, prompt: AnyPrompt
) -> Runnable[Fields, list[Document]]:
    """Return a retriever that takes ``{"input", "chat_history"}``.

    Where something was said before, the model writes what to look for, by ``prompt``; else ``input`` is looked for.

    Args:
        llm: a chat model or a text model.
        retriever: a question in, documents out.
        prompt: with ``{input}`` and, as a rule, a placeholder ``chat_history``.

    Raises:
        InvalidInput: the prompt lacks ``{input}``.
    """
    if "input" not in prompt.input_variables:
        raise InvalidInput(f"the prompt lacks {{input}}, the question; it has {join_keys(prompt.input_variables)}")
    first: AnyRunnable = RunnablePick("input") | retriever
    later: AnyRunnable = prompt | llm | StrOutputParser() | retriever
    branch: Runnable[Fields, list[Document]] = RunnableBranch((_is_first, first), later)
    return branch.with_config(run_name="chat_retriever_chain")


async def _is_first(values: FieldsView) -> bool:
    """Whether nothing was said before."""
    return not values.get("chat_history")


async def retrieve(mode: Mode, retriever: AnyRunnable, question: object, config: RunnableConfig) -> list[Document]:
    """Return the documents that a retriever finds, best first.

    Raises:
        InvalidInput: it returned something else.
    """
    found = await retriever._invoke(mode, question, config, {})  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
    return check_documents(found, f"what {retriever.get_name()} found")
