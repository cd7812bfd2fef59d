"""What a hocket model costs inside LangChain, beside LangChain's own model doing the same there."""

from collections.abc import Iterator
from typing import Any

from .bench import Bench, Case, awaiting
from .harness import Body, Target
from .library import Library, answering, library, streaming
from .table import Row

__all__ = ["CASES"]

CHUNKS = 26


def _in_langchain(lib: Library, model: Any) -> Any:
    """Return a model of LangChain's: hocket's through the bridge."""
    if lib.name == "langchain":
        return model
    from hocket.interop.langchain import to_langchain

    return to_langchain(model)


def bridge(bench: Bench) -> Iterator[Row]:
    """One answer and one stream. The question is LangChain's message, as it is from a chain of LangChain's."""
    question = [library("langchain").messages.HumanMessage("hello there")]

    def build_answer(lib: Library) -> Body:
        model = _in_langchain(lib, answering(lib))
        return awaiting(lambda: model.ainvoke(question))

    def build_stream(lib: Library) -> Body:
        model = _in_langchain(lib, streaming(lib, CHUNKS))

        async def read() -> None:
            async for _ in model.astream(question):
                pass

        return awaiting(read)

    yield bench.compare("in LangChain: ainvoke", build_answer, Target(1.3))
    yield bench.compare(f"in LangChain: astream of {CHUNKS} chunks", build_stream, Target(1.5))


CASES: dict[str, Case] = {"bridge": bridge}
