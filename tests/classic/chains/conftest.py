"""What the tests of chains share: a memory and a retriever that write down when they are used, and fail on demand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket.callbacks import AsyncCallbackHandler
from hocket.classic.memory import ConversationBufferMemory
from hocket.documents import Document
from hocket.retrievers import BaseRetriever
from hocket.runnables import RunnableConfig

STAGES = ("load", "retrieve", "model", "save")


@dataclass
class Log:
    """What has happened, in order; a stage may be told to fail, or to be cancelled.

    Attributes:
        steps: so far.
        fault: the stage that does not go well.
        scope: what is cancelled there; None: it raises `KeyError`.
    """

    steps: list[str] = field(default_factory=list)
    fault: str | None = None
    scope: anyio.CancelScope | None = None

    async def reach(self, stage: str) -> None:
        """Write down a stage, and do as told."""
        self.steps.append(stage)
        if stage == self.fault:
            if self.scope is None:
                raise KeyError(stage)
            self.scope.cancel()
            await anyio.sleep(10)  # until the cancellation is here: a stream has a task of its own
        await anyio.lowlevel.checkpoint()


@pytest.fixture
def log() -> Log:
    """Return an empty log."""
    return Log()


@dataclass(kw_only=True)
class LoggedMemory(ConversationBufferMemory):
    """A memory that writes down when it is read and written."""

    log: Log

    async def aload_memory_variables(
        self, inputs: Mapping[str, object] | None = None, config: RunnableConfig | None = None
    ) -> dict[str, Any]:
        await self.log.reach("load")
        return await super().aload_memory_variables(inputs, config)

    async def asave_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        await self.log.reach("save")
        await super().asave_context(inputs, outputs)


class LoggedRetriever(BaseRetriever):
    """Finds the same documents for every question, and writes down that it was asked."""

    log: Any
    documents: list[Document]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await self.log.reach("retrieve")
        return self.documents


class StartHandler(AsyncCallbackHandler):
    """Writes down which runs start and end."""

    def __init__(self, log: Log) -> None:
        self.log = log

    async def on_chain_start(self, serialized: Any, inputs: Any, **details: Any) -> None:
        self.log.steps.append("start")

    async def on_chain_end(self, outputs: Any, **details: Any) -> None:
        self.log.steps.append("end")

    async def on_chain_error(self, error: BaseException, **details: Any) -> None:
        self.log.steps.append("error")

    async def on_retriever_start(self, serialized: Any, query: str, **details: Any) -> None:
        self.log.steps.append("on_retriever_start")

    async def on_chat_model_start(self, serialized: Any, messages: Any, **details: Any) -> None:
        await self.log.reach("model")
