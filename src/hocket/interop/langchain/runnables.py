"""Runnables, prompts and retrievers, to LangChain's and back.

A runnable tells its runs to the handlers that it is given, whichever library they are of, so that nothing is put around
it: its own run is the only one. Inputs and outputs are converted wherever messages and documents stand in them.
"""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun as LCAsyncRun,
    CallbackManagerForRetrieverRun as LCRun,
)
from langchain_core.documents import Document as LCDocument
from langchain_core.retrievers import BaseRetriever as LCBaseRetriever
from langchain_core.runnables import Runnable as LCRunnable, RunnableConfig as LCRunnableConfig
from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.sinks import MappingSink, Sink
from hocket.callbacks import AsyncCallbackManager, AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.interop.langchain.callables import Forwarding, read_attribute
from hocket.interop.langchain.config import config_from_langchain, config_to_langchain
from hocket.interop.langchain.data import data_from_langchain, data_to_langchain
from hocket.interop.langchain.values import document_from_langchain, document_to_langchain
from hocket.retrievers import BaseRetriever
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.stage import drain

__all__ = [
    "HocketRetriever",
    "HocketRunnable",
    "LangChainRetriever",
    "LangChainRunnable",
    "retriever_from_langchain",
    "retriever_to_langchain",
    "runnable_from_langchain",
    "runnable_to_langchain",
]


class HocketRunnable(LCRunnable[Any, Any]):
    """A runnable of hocket's in LangChain. Made by `to_langchain`."""

    def __init__(self, runnable: Runnable[Any, Any]) -> None:
        self.runnable = runnable
        self.name: str | None = runnable.get_name()

    async def ainvoke(self, input: object, config: LCRunnableConfig | None = None, **kwargs: object) -> object:
        """Turn one input into its output."""
        given = config_from_langchain(config)
        return data_to_langchain(await self.runnable.ainvoke(data_from_langchain(input), given, **kwargs))

    def invoke(self, input: object, config: LCRunnableConfig | None = None, **kwargs: object) -> object:
        """Turn one input into its output, in sync code."""
        given = config_from_langchain(config)
        return data_to_langchain(self.runnable.invoke(data_from_langchain(input), given, **kwargs))

    async def astream(
        self, input: object, config: LCRunnableConfig | None = None, **kwargs: object
    ) -> AsyncIterator[object]:
        """Yield the output in pieces."""
        stream = self.runnable.astream(data_from_langchain(input), config_from_langchain(config), **kwargs)
        try:
            async for piece in stream:
                yield data_to_langchain(piece)
        finally:
            await stream.aclose()

    def stream(self, input: object, config: LCRunnableConfig | None = None, **kwargs: object) -> Iterator[object]:
        """Yield the output in pieces, in sync code."""
        given = config_from_langchain(config)
        with self.runnable.stream(data_from_langchain(input), given, **kwargs) as stream:
            for piece in stream:
                yield data_to_langchain(piece)


class LangChainRunnable(Forwarding, Runnable[Any, Any]):
    """A runnable of LangChain's in hocket: on asyncio, and by sync verbs anywhere. Made by `from_langchain`."""

    _original = "runnable"

    def __init__(self, runnable: LCRunnable[Any, Any]) -> None:
        self.runnable = runnable
        self.name: str | None = runnable.get_name()

    async def ainvoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> object:
        """Turn one input into its output."""
        given = config_to_langchain(config)
        return data_from_langchain(await self.runnable.ainvoke(data_to_langchain(input), given, **kwargs))

    def invoke(self, input: object, config: RunnableConfig | None = None, **kwargs: object) -> object:
        """Turn one input into its output, in sync code."""
        given = config_to_langchain(config)
        return data_from_langchain(self.runnable.invoke(data_to_langchain(input), given, **kwargs))

    async def _produce(
        self,
        mode: Mode,
        input: object,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[object],
    ) -> None:
        verb = self.runnable.astream if mode.is_async else self.runnable.stream
        pieces = verb(data_to_langchain(input), config_to_langchain(config), **kwargs)
        await drain(mode, pieces, MappingSink(sink, data_from_langchain))


class HocketRetriever(LCBaseRetriever):
    """A retriever of hocket's in LangChain. Made by `to_langchain`."""

    hocket_retriever: SkipValidation[BaseRetriever]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: LCAsyncRun, **kwargs: object
    ) -> list[LCDocument]:
        found = await self.hocket_retriever.ainvoke(query, _inside(run_manager), **kwargs)
        return [document_to_langchain(document) for document in found]

    def _get_relevant_documents(self, query: str, *, run_manager: LCRun, **kwargs: object) -> list[LCDocument]:
        found = self.hocket_retriever.invoke(query, _inside(run_manager), **kwargs)
        return [document_to_langchain(document) for document in found]


class LangChainRetriever(BaseRetriever):
    """A retriever of LangChain's in hocket: on asyncio, and by sync verbs anywhere. Made by `from_langchain`."""

    langchain_retriever: SkipValidation[LCBaseRetriever]

    if not TYPE_CHECKING:  # pydantic hides its own from type checkers, too: any name would do otherwise

        def __getattr__(self, name: str) -> object:
            return super().__getattr__(name) if name.startswith("_") else read_attribute(self.langchain_retriever, name)

        def __setattr__(self, name: str, value: object) -> None:
            is_own = name.startswith("_") or name in type(self).model_fields
            if is_own:
                super().__setattr__(name, value)
            else:
                setattr(self.langchain_retriever, name, value)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: object
    ) -> list[Document]:
        found = await self.langchain_retriever.ainvoke(query, _tell_nobody(), **kwargs)
        return [document_from_langchain(document) for document in found]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **kwargs: object
    ) -> list[Document]:
        found = self.langchain_retriever.invoke(query, _tell_nobody(), **kwargs)
        return [document_from_langchain(document) for document in found]


def runnable_to_langchain(runnable: Runnable[Any, Any]) -> LCRunnable[Any, Any]:
    """Return a runnable of hocket's as LangChain's."""
    return runnable.runnable if isinstance(runnable, LangChainRunnable) else HocketRunnable(runnable)


def runnable_from_langchain(runnable: LCRunnable[Any, Any]) -> Runnable[Any, Any]:
    """Return a runnable of LangChain's as hocket's."""
    return runnable.runnable if isinstance(runnable, HocketRunnable) else LangChainRunnable(runnable)


def retriever_to_langchain(retriever: BaseRetriever) -> LCBaseRetriever:
    """Return a retriever of hocket's as LangChain's."""
    if isinstance(retriever, LangChainRetriever):
        return retriever.langchain_retriever
    return HocketRetriever(hocket_retriever=retriever, tags=retriever.tags, metadata=retriever.metadata)


def retriever_from_langchain(retriever: LCBaseRetriever) -> BaseRetriever:
    """Return a retriever of LangChain's as hocket's."""
    if isinstance(retriever, HocketRetriever):
        return retriever.hocket_retriever
    return LangChainRetriever(langchain_retriever=retriever, tags=retriever.tags, metadata=retriever.metadata)


def _inside(run: LCAsyncRun | LCRun) -> RunnableConfig:
    return {"callbacks": AsyncCallbackManager([], None, run.run_id)}


def _tell_nobody() -> LCRunnableConfig:
    """Return a config that tells nobody: hocket's run of the same retriever is told."""
    return cast(LCRunnableConfig, {"callbacks": []})
