"""LangChain's classes, functions and methods, called with hocket's objects; loaders, compressors, prompts."""

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import langchain_core.prompts as lc
import pytest
from langchain_core.cross_encoders import BaseCrossEncoder as LCBaseCrossEncoder
from langchain_core.document_loaders import BaseLoader as LCBaseLoader
from langchain_core.documents import BaseDocumentCompressor as LCBaseDocumentCompressor, Document as LCDocument
from langchain_core.example_selectors import LengthBasedExampleSelector as LCLengthBasedExampleSelector
from langchain_core.messages import SystemMessage as LCSystemMessage
from langchain_core.retrievers import BaseRetriever as LCBaseRetriever
from langchain_core.runnables import RunnableLambda as LCRunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore as LCInMemoryVectorStore

from hocket import ScriptedChatModel, create_agent, prompts
from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidHook, InvalidInput
from hocket.interop.langchain import from_langchain, to_langchain
from hocket.interop.langchain.runnables import LangChainRunnable
from hocket.messages import HumanMessage
from hocket.retrievers import CrossEncoderReranker
from hocket.runnables import RunnableLambda

DOCUMENTS = [Document("a", metadata={"n": 1}), Document("b")]


class Pages(LCBaseLoader):
    """Two pages."""

    def __init__(self, texts: Sequence[str] = ("a", "b")) -> None:
        self.texts = texts

    def lazy_load(self) -> Iterator[LCDocument]:
        for text in self.texts:
            yield LCDocument(text)


class Opened(Pages):
    """Pages that are opened with ``with``."""

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *exc: object) -> None: ...


class First(LCBaseDocumentCompressor):
    """Keeps the first document."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        assert all(isinstance(one, LCDocument) for one in documents)
        return documents[:1]


def test_a_class_method_takes_documents_and_an_embedding() -> None:
    """hocket's go in, as LangChain's; a store of hocket's comes out."""
    store = from_langchain(LCInMemoryVectorStore.from_documents)(
        DOCUMENTS, embedding=DeterministicFakeEmbedding(size=8)
    )
    found = store.similarity_search("a", k=1)
    assert [(type(one), one.page_content, one.metadata) for one in found] == [(Document, "a", {"n": 1})]


async def test_what_is_awaited() -> None:
    """A coroutine is converted when it is done; containers are looked into."""

    async def turn(found: dict[str, list[LCDocument]]) -> tuple[LCDocument, object]:
        assert isinstance(found["x"][0], LCDocument)
        return found["x"][0], len

    assert await from_langchain(turn)({"x": DOCUMENTS}) == (DOCUMENTS[0], len)


def test_what_has_no_form_stays() -> None:
    """Also what was made here; hocket's own functions are refused."""
    assert type(from_langchain(LCLengthBasedExampleSelector)) is type(lambda: 0)
    assert isinstance(from_langchain(dict)(a=1), dict)
    with pytest.raises(InvalidInput, match="cannot be made one of hocket's"):
        from_langchain(to_langchain)


def test_what_is_opened_with_with_is_converted_inside() -> None:
    """What is converted cannot be opened itself; docs/departures.md says how to write it."""
    with Opened(texts=["a"]) as opened:
        assert from_langchain(opened).load() == [Document("a")]
    with pytest.raises(TypeError, match="context manager"), from_langchain(Opened)(texts=["a"]):
        pass


async def test_a_loader() -> None:
    """By its sync and its async verb."""
    loader = from_langchain(Pages)(texts=["a", "b"])
    assert loader.load() == await loader.aload() == [Document("a"), Document("b")]
    assert isinstance(to_langchain(loader), Pages)


async def test_a_cross_encoder() -> None:
    """A model of LangChain's puts in order what hocket has found, in a worker thread; and it goes back as itself."""

    class Lengths(LCBaseCrossEncoder):
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [len(text) for _, text in text_pairs]

    original = Lengths()
    bridged = from_langchain(original)
    kept = await CrossEncoderReranker(bridged, top_n=1).acompress_documents([Document("a"), Document("bb")], "q")
    assert [(one.page_content, one.score) for one in kept] == [("bb", 2.0)]
    assert to_langchain(bridged) is original


async def test_a_compressor() -> None:
    """By its sync and its async verb."""
    first = from_langchain(First())
    assert first.compress_documents(DOCUMENTS, "q") == await first.acompress_documents(DOCUMENTS, "q") == DOCUMENTS[:1]
    assert isinstance(to_langchain(first), First)


@pytest.mark.parametrize(
    "prompt",
    [
        lc.PromptTemplate.from_template("{a} {b}").partial(a="1"),
        lc.PromptTemplate.from_template("{{a}}", template_format="mustache"),
        lc.ChatPromptTemplate(
            [("system", "be {x}"), LCSystemMessage("s"), lc.MessagesPlaceholder("h", optional=True), ("human", "{q}")]
        ),
        lc.ChatPromptTemplate([lc.FewShotChatMessagePromptTemplate(
            example_prompt=lc.ChatPromptTemplate([("ai", "{a}")]), examples=[{"a": "1"}])]),
        lc.FewShotPromptTemplate(
            example_prompt=lc.PromptTemplate.from_template("{a}"), examples=[{"a": "1"}], suffix="{q}", input_variables=["q"]
        ),
    ],
)  # fmt: skip
def test_a_prompt_is_data(prompt: lc.BasePromptTemplate[Any]) -> None:
    """The same class, variables and text; and equal, when it is back."""
    here = from_langchain(prompt)
    assert type(here) is getattr(prompts, type(prompt).__name__)
    assert here.input_variables == prompt.input_variables
    values = {name: f"<{name}>" for name in prompt.input_variables}
    assert here.invoke(values).to_string() == prompt.invoke(values).to_string()
    assert to_langchain(here) == prompt


def test_a_prompt_of_another_class_is_a_runnable() -> None:
    """One that selects its examples, and one of the user's."""

    class Mine(prompts.ChatPromptTemplate):
        pass

    selector = LCLengthBasedExampleSelector(
        examples=[{"a": "1"}], example_prompt=lc.PromptTemplate.from_template("{a}")
    )
    selecting = lc.FewShotPromptTemplate(
        example_prompt=lc.PromptTemplate.from_template("{a}"), example_selector=selector, suffix="", input_variables=[]
    )
    assert isinstance(from_langchain(selecting), LangChainRunnable)
    there = to_langchain(Mine([("human", "{q}")]))
    assert there.invoke({"q": "x"}).to_messages() == [to_langchain(HumanMessage("x"))]


def test_what_a_bridge_has_no_verb_for_is_the_originals() -> None:
    """Attributes are read and set there; methods take hocket's objects and give hocket's."""

    class Shelf(LCBaseRetriever):
        k: int = 1

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LCDocument]:
            return [LCDocument(query)] * self.k

        def turn(self, document: LCDocument) -> list[LCDocument]:
            assert isinstance(document, LCDocument)
            return [document]

    shelf = from_langchain(Shelf)()
    shelf.k = 2
    assert (shelf.k, len(shelf.invoke("a"))) == (2, 2)
    assert shelf.turn(Document("a")) == [Document("a")]
    loader = from_langchain(Pages(["x"]))
    assert loader.texts == ["x"]
    for one in (shelf, loader):
        assert not hasattr(one, "nothing")
        assert not hasattr(one, "_nothing")
        assert copy.copy(one).__class__ is one.__class__


async def test_a_runnable_of_langchains_that_a_function_returns_is_no_value() -> None:
    """LangChain would run it: the error says what makes it hocket's, which is run; other objects of its are values."""

    def shout(text: str) -> str:
        return text.upper()

    lost = RunnableLambda(lambda _: LCRunnableLambda(shout), name="route") | RunnableLambda(str)
    for call in (lost.invoke, lambda text: list(lost.stream(text))):
        with pytest.raises(InvalidHook, match=r"route returned RunnableLambda, .*from_langchain makes it hocket's"):
            call("a")
    with pytest.raises(InvalidHook):
        await lost.ainvoke("a")
    with pytest.raises(InvalidHook):
        async for _ in lost.astream("a"):
            pass
    found = RunnableLambda(lambda _: from_langchain(LCRunnableLambda(shout)))
    assert (found.invoke("a"), list(found.stream("a"))) == ("A", ["A"])
    assert RunnableLambda(lambda text: LCSystemMessage(text)).invoke("a") == LCSystemMessage("a")


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # LangChain's pipes know no other
async def test_an_agent_in_langchain_hears_of_no_recursion_limit() -> None:
    """LangChain's own, which every config of its has: nobody has said it, and so nobody is warned."""
    agent = to_langchain(create_agent(ScriptedChatModel(script=["Hello."] * 2)))
    for runnable in (agent, LCRunnableLambda(lambda question: question) | agent):
        assert (await runnable.ainvoke("hi")).output == "Hello."
