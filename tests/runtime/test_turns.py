"""Loops whose models and tools never wait: a limit on time takes effect in each of them, and other tasks have their turn."""

import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket import AIMessage, Document, RetryPolicy, StrOutputParser, tool
from hocket.agents import AgentLimits, create_agent
from hocket.batch import arun_batch
from hocket.classic.agents import AgentExecutor, create_react_agent
from hocket.classic.chains import MapReduceDocumentsChain, MapRerankDocumentsChain, RefineDocumentsChain
from hocket.embeddings import Embeddings
from hocket.errors import ConnectionFailed
from hocket.indexing import aindex
from hocket.language_models import BaseChatModel
from hocket.messages import ToolCall
from hocket.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough
from hocket.vectorstores import InMemoryVectorStore
from tests.kit.models import HookCall, hook_llm, hook_model, tool_model

MOST = 100_000
"""Calls, or chunks, that there may be after the deadline."""


class StoodStillError(BaseException):
    """A loop that did not end, ended by the test."""


class Meter:
    """Counts what is done after a deadline, and ends what goes on and on."""

    def __init__(self) -> None:
        self.ends_at = time.monotonic() + 0.05
        self.late = 0

    def tick(self) -> None:
        """Note one call."""
        self.late += time.monotonic() > self.ends_at
        if self.late > MOST:
            raise StoodStillError

    def model(self, answer: Any = "yes", make: Callable[..., Any] = hook_model, **fields: Any) -> Any:
        """Return a model that answers at once."""

        def do(call: HookCall) -> Any:
            self.tick()
            return answer

        return make(do, **fields)

    def pieces(self) -> Iterator[str]:
        """Yield texts for ever."""
        while True:
            self.tick()
            yield "a"

    async def apieces(self) -> AsyncIterator[Any]:
        """Yield texts for ever."""
        for piece in self.pieces():
            yield piece


async def read(stream: Any) -> None:
    """Read all of a stream."""
    async for _ in stream:
        pass


def endless(meter: Meter, *hooks: str, **fields: Any) -> BaseChatModel:
    """Return a model whose answers never end."""
    model: BaseChatModel = hook_model(lambda call: meter.apieces(), "astream", **fields)
    return model


def documents(count: int = 1_000_000) -> list[Document]:
    """Return many documents."""
    return [Document("a")] * count


@tool
def add(a: int) -> int:
    """Add."""
    return a


class Vectors(Embeddings):
    """Embeds at once."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0]] * len(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.meter.tick()
        return [[1.0]] * len(texts)

    def embed_query(self, text: str) -> list[float]:
        return [1.0]


async def identity(pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for piece in pieces:
        yield piece


def calls(meter: Meter) -> Any:
    return meter.model(AIMessage("", tool_calls=[ToolCall(name="add", args={"a": 1}, id="1")]), tool_model)


def fail(meter: Meter) -> Any:
    return meter.model(ConnectionFailed("no"))


FOR_EVER = RetryPolicy(max_attempts=10**9, first_pause=0, also=(ConnectionFailed,))
NO_LIMIT = AgentLimits(model_calls=None, repeats=None)

LOOPS: dict[str, Callable[[Meter, Path], Awaitable[object]]] = {
    "retry of a model": lambda meter, path: fail(meter).ainvoke("x", retry=FOR_EVER),
    "abatch": lambda meter, path: meter.model().abatch(itertools.repeat("x")),
    "abatch of texts": lambda meter, path: meter.model(make=hook_llm).abatch(["x"] * 1_000_000),
    "abatch, one at once": lambda meter, path: meter.model().abatch(itertools.repeat("x"), {"max_concurrency": 1}),
    "abatch of a chain": lambda meter, path: (meter.model() | StrOutputParser()).abatch(itertools.repeat("x")),
    "abatch_as_completed": lambda meter, path: read(meter.model().abatch_as_completed(itertools.repeat("x"))),
    "map": lambda meter, path: meter.model().map().ainvoke(itertools.repeat("x")),
    "arun_batch": lambda meter, path: arun_batch(meter.model(), itertools.repeat("x"), path / "out.jsonl"),
    "arun_batch, one at once": lambda meter, path: arun_batch(
        meter.model(), itertools.repeat("x"), path / "out.jsonl", max_concurrency=1
    ),
    "agent": lambda meter, path: create_agent(calls(meter), [add], limits=NO_LIMIT).ainvoke("x"),
    "agent's stream": lambda meter, path: read(create_agent(calls(meter), [add], limits=NO_LIMIT).astream("x")),
    "agent in text": lambda meter, path: create_agent(
        meter.model('Action: add\nAction Input: {"a": 1}'), [add], limits=NO_LIMIT
    ).ainvoke("x"),
    "agent executor": lambda meter, path: AgentExecutor(
        create_react_agent(meter.model('Action: add\nAction Input: {"a": 1}'), [add]), [add], max_iterations=None
    ).ainvoke({"input": "x"}),
    "map-reduce": lambda meter, path: MapReduceDocumentsChain(meter.model()).ainvoke(
        {"input_documents": documents(20_000), "question": "x"}
    ),
    "map-rerank": lambda meter, path: MapRerankDocumentsChain(meter.model("yes\nScore: 1")).ainvoke(
        {"input_documents": documents(20_000), "question": "x"}
    ),
    "refine": lambda meter, path: RefineDocumentsChain(meter.model()).ainvoke(
        {"input_documents": documents(20_000), "question": "x"}
    ),
    "aindex": lambda meter, path: aindex(
        (Document(str(n)) for n in itertools.count()),
        InMemoryVectorStore(Vectors(meter)),
        source_id_key="a",
        batch_size=1,
    ),
    "aindex of a list": lambda meter, path: aindex(
        [Document(str(n)) for n in range(20_000)], InMemoryVectorStore(Vectors(meter)), batch_size=1
    ),
    "astream": lambda meter, path: read(endless(meter).astream("x")),
    "astream of sync pieces": lambda meter, path: read(hook_model(lambda call: meter.pieces(), "stream").astream("x")),
    "ainvoke of a stream": lambda meter, path: endless(meter).ainvoke("x"),
    "astream of a chain": lambda meter, path: read((RunnablePassthrough() | endless(meter)).astream("x")),
    "astream through a generator": lambda meter, path: read(
        (endless(meter) | StrOutputParser() | RunnableGenerator(identity)).astream("x")
    ),
    "an endless generator": lambda meter, path: read(RunnableGenerator(_give(meter)).astream("x")),
    "an endless generator, read whole": lambda meter, path: RunnableGenerator(_give(meter)).ainvoke("x"),
    "an endless function": lambda meter, path: RunnableLambda(_give(meter)).ainvoke("x"),
    "an endless function's stream": lambda meter, path: read(RunnableLambda(_give(meter)).astream("x")),
    "atransform": lambda meter, path: read(StrOutputParser().atransform(meter.apieces())),
    "astream_events": lambda meter, path: read(endless(meter).astream_events("x")),
    "fallbacks": lambda meter, path: fail(meter).with_fallbacks([fail(meter)] * 20_000).ainvoke("x"),
}


def _give(meter: Meter) -> Any:
    async def give(input: object) -> AsyncIterator[str]:
        for piece in meter.pieces():
            yield piece

    return give


@pytest.mark.one_of(4)
@pytest.mark.parametrize("name", LOOPS)
async def test_a_limit_on_time_ends_it(name: str, tmp_path: Path) -> None:
    """The deadline of a scope around it takes effect, though nothing inside ever waits."""
    meter = Meter()
    with anyio.move_on_after(0.05) as scope:
        await LOOPS[name](meter, tmp_path)
    assert scope.cancelled_caught
    assert meter.late <= MOST
