"""The two libraries behind one face.

hocket has langchain-core's names on purpose, so a case is written once, as a function of a `Library`, and the very same
code measures both. The few places where a name or a way differs are functions of this file.
"""

import importlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import cache
from typing import Any

__all__ = ["PACKAGES", "Library", "answering", "fold_at_once", "handler", "library", "streaming"]

PACKAGES = {"hocket": "hocket", "langchain": "langchain_core"}


class Library:
    """One library. Its modules are attributes, under the names both give them, and imported when first asked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, part: str) -> Any:
        """Import a module of the library; ImportError where it has none of that name."""
        module = importlib.import_module(f"{PACKAGES[self.name]}.{part}")
        setattr(self, part, module)
        return module

    def conversation(self, length: int) -> list[Any]:
        """Build a list of messages, human and AI by turns, the last one human where ``length`` is odd."""
        kinds = (self.messages.HumanMessage, self.messages.AIMessage)
        return [kinds[turn % 2](content=f"message {turn}") for turn in range(length)]


@cache
def library(name: str) -> Library:
    """Return a library by the name it has in the table."""
    return Library(name)


def answering(lib: Library, **fields: Any) -> Any:
    """Return a chat model with a native async and a native sync hook that answer at once.

    They build what they return anew for every call, as a provider must.
    """
    AIMessage, ChatGeneration, ChatResult = lib.messages.AIMessage, lib.outputs.ChatGeneration, lib.outputs.ChatResult
    Base: Any = lib.language_models.BaseChatModel

    class Answering(Base):  # type: ignore[misc]
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content="hello"))])

        async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            return ChatResult(generations=[ChatGeneration(message=AIMessage(content="hello"))])

        @property
        def _llm_type(self) -> str:
            return "answering"

    return Answering(**fields)


def streaming(lib: Library, chunks: int, **fields: Any) -> Any:
    """Return a chat model whose hooks stream ``chunks`` chunks, each built when its turn comes."""
    AIMessageChunk, ChatGenerationChunk = lib.messages.AIMessageChunk, lib.outputs.ChatGenerationChunk
    Base: Any = lib.language_models.BaseChatModel

    class Streaming(Base):  # type: ignore[misc]
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            raise NotImplementedError("`Streaming` only streams")

        def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
            for _ in range(chunks):
                yield ChatGenerationChunk(message=AIMessageChunk(content="word "))

        async def _astream(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> AsyncIterator[Any]:
            for _ in range(chunks):
                yield ChatGenerationChunk(message=AIMessageChunk(content="word "))

        @property
        def _llm_type(self) -> str:
            return "streaming"

    return Streaming(**fields)


def handler(lib: Library, kind: str) -> Any:
    """Return a handler that listens to a chat run and does nothing: ``async``, ``inline`` or ``thread``."""
    AsyncBase: Any = lib.callbacks.AsyncCallbackHandler
    Base: Any = lib.callbacks.BaseCallbackHandler
    if kind == "async":

        class Listening(AsyncBase):  # type: ignore[misc]
            async def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None: ...

            async def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None: ...

            async def on_llm_end(self, *args: Any, **kwargs: Any) -> None: ...

        return Listening()

    class ListeningInStep(Base):  # type: ignore[misc]
        run_inline = kind == "inline"

        def on_chat_model_start(self, *args: Any, **kwargs: Any) -> None: ...

        def on_llm_new_token(self, *args: Any, **kwargs: Any) -> None: ...

        def on_llm_end(self, *args: Any, **kwargs: Any) -> None: ...

    return ListeningInStep()


def fold_at_once(lib: Library) -> Callable[[Sequence[Any]], Any]:
    """Return the library's own way to make one message of all chunks of a stream."""
    if lib.name == "langchain":
        # Its `+` takes a list, too, and merges it in one go.
        return lambda chunks: chunks[0] + chunks[1:]
    Collector: Any = lib.messages.Collector

    def fold(chunks: Sequence[Any]) -> Any:
        collecting = Collector()
        for chunk in chunks:
            collecting.add(chunk)
        return collecting.message()

    return fold
