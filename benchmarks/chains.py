"""Chains: what ``prompt | model | parser`` costs over the model, called and streamed."""

from collections.abc import Iterator
from typing import Any

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Target
from .library import Library, answering, handler, streaming
from .streams import CHUNKS
from .table import Row

__all__ = ["CASES"]

QUESTION = {"question": "Why?"}


def _chain(lib: Library, model: Any) -> Any:
    """Build a chain of the three steps that most applications have."""
    prompt = lib.prompts.ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{question}")])
    return prompt | model | lib.output_parsers.StrOutputParser()


def call(bench: Bench) -> Iterator[Row]:
    """A whole answer."""
    for what, kinds in (("no handler", []), ("1 async handler", ["async"])):

        def build(lib: Library, kinds: list[str] = kinds) -> Body:
            chain = _chain(lib, answering(lib))
            config = {"callbacks": [handler(lib, kind) for kind in kinds]} if kinds else None
            return awaiting(lambda: chain.ainvoke(QUESTION, config))

        yield bench.compare(f"prompt | model | parser, ainvoke, {what}", build, Target(1 / 3))

    def build_sync(lib: Library) -> Body:
        chain = _chain(lib, answering(lib))
        return repeating(lambda: chain.invoke(QUESTION))

    yield bench.compare("prompt | model | parser, invoke", build_sync, Target(1 / 3))


def chunks(bench: Bench) -> Iterator[Row]:
    """A chunk on its way through a chain."""

    def build(lib: Library) -> Body:
        chain = _chain(lib, streaming(lib, CHUNKS))

        async def read() -> None:
            async for _ in chain.astream(QUESTION):
                pass

        return awaiting(read)

    yield bench.compare("prompt | model | parser, astream, per chunk", build, Target(1 / 3), per=CHUNKS)


def branches(bench: Bench) -> Iterator[Row]:
    """Models side by side."""

    def build(lib: Library) -> Body:
        both = lib.runnables.RunnableParallel(a=answering(lib), b=answering(lib))
        return awaiting(lambda: both.ainvoke("hi"))

    yield bench.compare("2 models in parallel, ainvoke", build, Target(1 / 3))


CASES: dict[str, Case] = {"chain": call, "chain-stream": chunks, "parallel": branches}
