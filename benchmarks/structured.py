"""Structured output: giving a model a schema, reading an object, and reading one while it is being written.

Both libraries hold the model to the schema by a tool that it must call, which is langchain-core's only way. It parses a
call's arguments anew at each chunk, so that it is measured at a few hundred chunks only.
"""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from pydantic import BaseModel

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Target
from .library import Library, library
from .table import Row

__all__ = ["CASES"]


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    city: str


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int
    address: Address
    tags: list[str] = []


ANN = {"name": "Ann", "age": 42, "address": {"street": "Main Street 1", "city": "Rome"}, "tags": ["a", "b"]}
WORDS = {"title": "words", "type": "object", "properties": {"words": {"type": "array", "items": {"type": "string"}}}}


def calling(lib: Library, name: str, args: dict[str, Any], size: int = 0) -> Any:
    """Return a model that calls a tool; streamed, with arguments in pieces of ``size`` characters."""
    text = json.dumps(args)
    pieces = [text[at : at + size] for at in range(0, len(text), size or len(text))]
    convert = (lib.tools if lib.name == "hocket" else lib.utils.function_calling).convert_to_openai_tool
    Base: Any = lib.language_models.BaseChatModel
    AIMessage, AIMessageChunk = lib.messages.AIMessage, lib.messages.AIMessageChunk
    ChatGeneration, ChatGenerationChunk = lib.outputs.ChatGeneration, lib.outputs.ChatGenerationChunk

    class Calling(Base):  # type: ignore[misc]
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            raise NotImplementedError("`Calling` is async")

        async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            message = AIMessage(content="", tool_calls=[{"name": name, "args": args, "id": "c1"}])
            return lib.outputs.ChatResult(generations=[ChatGeneration(message=message)])

        if size:

            async def _astream(
                self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
            ) -> AsyncIterator[Any]:
                for at, piece in enumerate(pieces):
                    call = {"name": None if at else name, "args": piece, "id": None if at else "c1", "index": 0}
                    yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=[convert(one) for one in tools], **kwargs)

        @property
        def _llm_type(self) -> str:
            return "calling"

    return Calling()


def bind(bench: Bench) -> Iterator[Row]:
    """Giving a model a schema."""

    def build(lib: Library) -> Body:
        model = calling(lib, "Person", ANN)
        return repeating(lambda: model.with_structured_output(Person))

    yield bench.compare("with_structured_output, a pydantic model", build, Target(0.25))


def read(bench: Bench) -> Iterator[Row]:
    """One object, as a whole."""

    def build(lib: Library) -> Body:
        structured = calling(lib, "Person", ANN).with_structured_output(Person)
        return awaiting(lambda: structured.ainvoke("hi"))

    yield bench.compare("ainvoke of structured output", build, Target(0.1))


def stream(bench: Bench) -> Iterator[Row]:
    """One object while it is being written; and how the time grows with its length."""
    chunks = 100 if bench.plan.quick else 300

    def build(lib: Library, chunks: int = chunks) -> Body:
        words = {"words": ["word"] * (chunks // 2)}  # eight characters each, in JSON
        structured = calling(lib, "words", words, size=4).with_structured_output(WORDS)

        async def consume() -> None:
            async for _ in structured.astream("hi"):
                pass

        return awaiting(consume)

    yield bench.compare(f"astream of structured output, {chunks} chunks, per chunk", build, Target(0.25), per=chunks)
    small, large = (2_000, 4_000) if bench.plan.quick else (10_000, 20_000)
    what = f"astream of structured output, time from {small:,} to {large:,} chunks"
    yield bench.growth(
        what, lambda: build(library("hocket"), small), lambda: build(library("hocket"), large), limit=2.5
    )


CASES: dict[str, Case] = {"structured-bind": bind, "structured-read": read, "structured-stream": stream}
