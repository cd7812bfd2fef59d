"""What a subclass overrides, every verb sees, or the class is refused: all hooks that verbs share, times all verbs.

A case is a class that has the hooks of an operation already, and the verbs that go by them. Each of the hooks is overridden
alone, below that class, with one that answers "mine".
"""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, NamedTuple

import anyio.to_thread
import pytest

from hocket import FakeListChatModel, FakeListLLM, FakeMessagesListChatModel, FakeStreamingListLLM
from hocket.caches import InMemoryCache
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.classic.chains import Chain, LLMChain
from hocket.classic.memory import ConversationBufferMemory
from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding, Embeddings
from hocket.errors import InvalidHook
from hocket.language_models import LLM, ParrotFakeChatModel, SimpleChatModel
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage
from hocket.output_parsers import StrOutputParser
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation, GenerationChunk, LLMResult
from hocket.prompts import PromptTemplate
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.rate_limiters import InMemoryRateLimiter
from hocket.retrievers import BaseRetriever, EnsembleRetriever
from hocket.runnables import RunnableLambda, RunnablePassthrough
from hocket.stores import InMemoryStore
from hocket.testing import ScriptedChatModel
from hocket.tools import BaseTool, StructuredTool
from hocket.vectorstores import InMemoryVectorStore

MINE = "mine"


class Case(NamedTuple):
    """A class, its hooks, and the verbs that go by them; a verb's name tells whether it is async."""

    base: type
    arguments: Mapping[str, Any]
    hooks: Mapping[str, Callable[..., Any]]
    verbs: Mapping[str, Callable[[Any], Any]]


def either(name: str, sync: Callable[..., Any], *, asynchronous: Callable[..., Any] | None = None) -> dict[str, Any]:
    """A sync hook, and its async twin, which answers the same."""

    async def wait(*args: Any, **kwargs: Any) -> Any:
        return sync(*args, **kwargs)

    prefix, rest = ("_", name[1:]) if name.startswith("_") else ("", name)
    return {name: sync, f"{prefix}a{rest}": asynchronous or wait}


def both(verb: str, *args: Any, read: Callable[[Any], Any] = lambda value: value, **more: Any) -> dict[str, Any]:
    """A verb and its async twin, called with these arguments."""

    async def wait(obj: Any) -> Any:
        return read(await getattr(obj, f"a{verb}")(*args, **more))

    return {verb: lambda obj: read(getattr(obj, verb)(*args, **more)), f"a{verb}": wait}


# -- models


def result(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=AIMessage(MINE))])


def texts(self: Any, prompts: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> LLMResult:
    return LLMResult(generations=[[Generation(text=MINE)] for _ in prompts])


def text(self: Any, prompt: Any, stop: Any = None, **kwargs: Any) -> str:
    return MINE


def chunks(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
    yield ChatGenerationChunk(message=AIMessageChunk(MINE))


async def achunks(self: Any, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
    yield ChatGenerationChunk(message=AIMessageChunk(MINE))


def pieces(self: Any, prompt: Any, stop: Any = None, **kwargs: Any) -> Iterator[GenerationChunk]:
    yield GenerationChunk(text=MINE)


async def apieces(self: Any, prompt: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
    yield GenerationChunk(text=MINE)


def said(answer: Any) -> str:
    return answer if isinstance(answer, str) else str(answer.text)


def first(answers: Any) -> str:
    return said(answers[0]) if isinstance(answers, list) else said(answers.generations[0][0])


async def astream(obj: Any) -> str:
    return "".join([said(piece) async for piece in obj.astream("hi")])


async def astream_in_chain(obj: Any) -> str:
    return "".join([said(piece) async for piece in (RunnablePassthrough() | obj).astream("hi")])


def in_chain(obj: Any) -> str:
    return said((RunnablePassthrough() | obj).invoke("hi"))


async def ain_chain(obj: Any) -> str:
    return said(await (RunnablePassthrough() | obj).ainvoke("hi"))


STREAMS: dict[str, Any] = {
    "stream": lambda obj: "".join(said(piece) for piece in obj.stream("hi")),
    "astream": astream,
    "stream in a chain": lambda obj: "".join(said(piece) for piece in (RunnablePassthrough() | obj).stream("hi")),
    "astream in a chain": astream_in_chain,
}
RUNNABLE = (
    both("invoke", "hi", read=said) | both("batch", ["hi"], read=first) | {"chain": in_chain, "achain": ain_chain}
)
CHAT = RUNNABLE | both("generate", [[HumanMessage("hi")]], read=first) | STREAMS
TEXTS = RUNNABLE | both("generate", ["hi"], read=first) | STREAMS
ANSWERS = either("_generate", result) | either("_generate_with_cache", result)
TEXT_ANSWERS = either("_generate", texts) | either("_call", text)


class Plain(SimpleChatModel):
    """Has both hooks of its kind."""

    def _call(self, messages: Any, stop: Any = None, **kwargs: Any) -> str:
        return "base"

    async def _acall(self, messages: Any, stop: Any = None, **kwargs: Any) -> str:
        return "base"

    @property
    def _llm_type(self) -> str:
        return "plain"


class PlainText(LLM):
    """Has both hooks of its kind."""

    _call, _acall, _llm_type = Plain._call, Plain._acall, Plain._llm_type


BASE = {"responses": ["base"]}
CASES = {
    "FakeListChatModel": Case(FakeListChatModel, BASE, ANSWERS | either("_call", text), CHAT),
    "FakeMessagesListChatModel": Case(FakeMessagesListChatModel, {"responses": [AIMessage("base")]}, ANSWERS, CHAT),
    "ParrotFakeChatModel": Case(ParrotFakeChatModel, {}, ANSWERS, CHAT),
    "ScriptedChatModel": Case(ScriptedChatModel, {"script": ["base"] * 20}, ANSWERS, CHAT),
    "SimpleChatModel": Case(Plain, {}, ANSWERS | either("_call", text), CHAT),
    "a provider": Case(ChatOpenAI, {"model": "m", "api_key": "k"}, ANSWERS, CHAT),
    "streams of FakeListChatModel": Case(
        FakeListChatModel, BASE, either("_stream", chunks, asynchronous=achunks), STREAMS
    ),
    "streams of a provider": Case(
        ChatOpenAI, {"model": "m", "api_key": "k"}, either("_stream", chunks, asynchronous=achunks), STREAMS
    ),
    "FakeListLLM": Case(FakeListLLM, BASE, TEXT_ANSWERS, TEXTS),
    "FakeStreamingListLLM": Case(FakeStreamingListLLM, BASE, TEXT_ANSWERS, TEXTS),
    "LLM": Case(PlainText, {}, TEXT_ANSWERS, TEXTS),
    "streams of FakeStreamingListLLM": Case(
        FakeStreamingListLLM, BASE, either("_stream", pieces, asynchronous=apieces), STREAMS
    ),
}


# -- what else is a runnable


class Both(BaseRetriever):
    """Has both hooks."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("base")]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document("base")]


class Tool(BaseTool):
    """Has both hooks."""

    name: str = "t"
    description: str = "d"

    def _run(self, x: str) -> str:
        return "base"

    async def _arun(self, x: str) -> str:
        return "base"


class Loud(Chain):
    """Has both hooks."""

    @property
    def input_keys(self) -> list[str]:
        return ["x"]

    @property
    def output_keys(self) -> list[str]:
        return ["text"]

    def _call(self, inputs: Any, run_manager: Any = None) -> dict[str, Any]:
        return {"text": "base"}

    async def _acall(self, inputs: Any, run_manager: Any = None) -> dict[str, Any]:
        return {"text": "base"}


def find(self: Any, query: str, *, run_manager: Any) -> list[Document]:
    return [Document(MINE)]


def run(self: Any, x: str) -> str:
    return MINE


def answer(self: Any, inputs: Any, run_manager: Any = None) -> dict[str, Any]:
    return {"text": MINE}


def content(found: Any) -> str:
    return str(found[0].page_content if isinstance(found[0], Document) else found[0][0].page_content)


FINDS = both("invoke", "hi", read=content) | both("batch", ["hi"], read=lambda found: content(found[0]))
RUNS = both("invoke", {"x": "hi"}) | both("run", {"x": "hi"}) | both("batch", [{"x": "hi"}], read=first)
LOUD = both("invoke", {"x": "hi"}, read=lambda values: values["text"])
VERBS = either("invoke", lambda self, input, config=None, **kwargs: MINE)
STREAM_VERBS = either(
    "stream",
    lambda self, input, config=None, **kwargs: iter([MINE]),
    asynchronous=lambda self, input, config=None, **kwargs: _agive(MINE),
)


async def _agive(value: Any) -> AsyncIterator[Any]:
    yield value


def keep(x: str) -> str:
    """Return x."""
    return "base"


async def akeep(x: str) -> str:
    """Return x."""
    return "base"


CASES |= {
    "BaseRetriever": Case(Both, {}, either("_get_relevant_documents", find), FINDS),
    "a retriever of hocket's": Case(
        EnsembleRetriever, {"retrievers": [Both()]}, either("_get_relevant_documents", find), FINDS
    ),
    "BaseTool": Case(Tool, {}, either("_run", run), RUNS),
    "StructuredTool": Case(
        StructuredTool,
        {"name": "t", "description": "d", "func": keep, "coroutine": akeep, "args_schema": {"type": "object"}},
        either("_run", lambda self, **kwargs: MINE),
        RUNS,
    ),
    "Chain": Case(Loud, {}, either("_call", answer), LOUD),
    "a chain of hocket's": Case(
        LLMChain,
        {"llm": FakeListChatModel(responses=["base"]), "prompt": PromptTemplate.from_template("{x}")},
        either("_call", answer),
        LOUD,
    ),
    "verbs of a model": Case(FakeListChatModel, BASE, VERBS, both("invoke", "hi", read=said)),
    "verbs of RunnableLambda": Case(RunnableLambda, {"func": keep}, VERBS, both("invoke", "hi")),
    "verbs of a parser": Case(StrOutputParser, {}, VERBS, both("invoke", "hi")),
    "stream verbs of a model": Case(FakeListChatModel, BASE, STREAM_VERBS, STREAMS),
}


# -- what is asked directly


class BothEmbeddings(Embeddings):
    """Has all four verbs."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0]] * len(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0]] * len(texts)

    def embed_query(self, text: str) -> list[float]:
        return [0.0]

    async def aembed_query(self, text: str) -> list[float]:
        return [0.0]


class BothHistory(BaseChatMessageHistory):
    """Has both halves, neither of which asks the other."""

    @property
    def messages(self) -> list[Any]:
        return ["base"]

    async def aget_messages(self) -> list[Any]:
        return ["base"]

    def add_messages(self, messages: Any) -> Any:
        return "base"

    async def aadd_messages(self, messages: Any) -> Any:
        return "base"

    def clear(self) -> Any:
        return "base"

    async def aclear(self) -> Any:
        return "base"


def give(value: Any) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: value


async def aget(obj: Any) -> Any:
    return (await obj.aget_messages())[0]


def get_mine(self: Any) -> list[Any]:
    return [MINE]


async def aget_mine(self: Any) -> list[Any]:
    return [MINE]


def adds(obj: Any) -> str:
    """Whether what a method does is seen, where it gives nothing back: the class notes that it was asked."""
    return MINE if obj.__dict__.pop("asked", False) else "base"


def note(self: Any, *args: Any, **kwargs: Any) -> None:
    self.__dict__["asked"] = True


def noting(verb: str, *args: Any) -> dict[str, Any]:
    async def wait(obj: Any) -> str:
        await getattr(obj, f"a{verb}")(*args)
        return adds(obj)

    return {verb: lambda obj: (getattr(obj, verb)(*args), adds(obj))[1], f"a{verb}": wait}


SEEN = both("embed_documents", ["a"], read=lambda found: found[0])
READS: dict[str, Any] = {"messages": lambda obj: obj.messages[0], "aget_messages": aget}
OPENAI = {"model": "m", "api_key": "k"}
VECTORS = give([MINE])

CASES |= {
    "Embeddings": Case(BothEmbeddings, {}, either("embed_documents", VECTORS), SEEN),
    "queries of Embeddings": Case(BothEmbeddings, {}, either("embed_query", give(MINE)), both("embed_query", "a")),
    "fake embeddings": Case(DeterministicFakeEmbedding, {"size": 1}, either("embed_documents", VECTORS), SEEN),
    "embeddings of a provider": Case(OpenAIEmbeddings, OPENAI, either("embed_documents", VECTORS), SEEN),
    "reading a history": Case(
        BothHistory,
        {},
        {"messages": property(get_mine), "aget_messages": aget_mine},
        READS,
    ),
    "InMemoryChatMessageHistory": Case(
        InMemoryChatMessageHistory,
        {},
        {"messages": property(get_mine), "aget_messages": aget_mine},
        READS,
    ),
    "InMemoryCache": Case(InMemoryCache, {}, either("lookup", give(MINE)), both("lookup", "a", "b")),
    "reading a memory": Case(
        ConversationBufferMemory,
        {},
        either("load_memory_variables", give(MINE)),
        both("load_memory_variables", {"x": "hi"}),
    ),
    "InMemoryStore": Case(InMemoryStore, {}, either("mget", give(MINE)), both("mget", ["a"])),
    "a rate limiter": Case(InMemoryRateLimiter, {}, either("acquire", give(MINE)), both("acquire")),
    "a vector store": Case(
        InMemoryVectorStore,
        {"embedding": DeterministicFakeEmbedding(size=1)},
        either("similarity_search", give(MINE)),
        both("similarity_search", "a"),
    ),
    "parse of a parser": Case(
        StrOutputParser, {}, either("parse", give(MINE)), both("invoke", "hi") | both("parse", "hi")
    ),
    "parse_result of a parser": Case(StrOutputParser, {}, either("parse_result", give(MINE)), both("invoke", "hi")),
    "a prompt": Case(PromptTemplate, {"template": "{x}"}, either("format", give(MINE)), both("format", x="hi")),
}
HISTORIES = ("BothHistory", "InMemoryChatMessageHistory")
for name, verb, arguments in (
    ("add_messages", "add_messages", ([],)),
    ("add_message", "add_messages", ([HumanMessage("hi")],)),
    ("clear", "clear", ()),
):
    for base in (BothHistory, InMemoryChatMessageHistory):
        CASES[f"{name} of {base.__name__}"] = Case(base, {}, either(name, note), noting(verb, *arguments))
CASES["save_context of a memory"] = Case(
    ConversationBufferMemory, {}, either("save_context", note), noting("save_context", {"x": "a"}, {"y": "b"})
)
CASES["clear of a memory"] = Case(ConversationBufferMemory, {}, either("clear", note), noting("clear"))


PAIRS = [(name, hook) for name, case in CASES.items() for hook in case.hooks]

REFUSED = {
    *("FakeListChatModel: _call", "FakeListChatModel: _acall"),
    *("stream verbs of a model: stream", "stream verbs of a model: astream"),
    "embeddings of a provider: embed_documents",
    *("InMemoryCache: alookup", "InMemoryStore: amget", "a vector store: similarity_search"),
    *("a rate limiter: acquire", "a rate limiter: aacquire"),
    *("parse of a parser: aparse", "parse_result of a parser: aparse_result", "a prompt: aformat"),
    *(f"add_message of {name}: {hook}" for name in HISTORIES for hook in ("add_message", "aadd_message")),
}
"""What is refused: the twin cannot be made of it, since it is itself made of the twin; or nothing asks it."""


@pytest.mark.parametrize(("name", "hook"), PAIRS, ids=lambda value: value)
async def test_what_a_subclass_overrides_every_verb_sees(name: str, hook: str) -> None:
    """The most derived hook answers, whichever verb is called; or the definition of the class is refused."""
    case = CASES[name]
    try:
        kind = type("Mine", (case.base,), {hook: case.hooks[hook], "__module__": __name__})
    except InvalidHook as error:
        assert f"{name}: {hook}" in REFUSED, str(error)
        return
    assert f"{name}: {hook}" not in REFUSED
    obj, seen = kind(**case.arguments), dict[str, Any]()
    for verb, ask in case.verbs.items():
        seen[verb] = await ask(obj) if inspect.iscoroutinefunction(ask) else await anyio.to_thread.run_sync(ask, obj)
    assert seen == dict.fromkeys(case.verbs, MINE)
