"""Retrievers of these tests: they return what they are told to."""

from collections.abc import Sequence
from typing import Any

import anyio

from hocket.callbacks import AsyncCallbackHandler
from hocket.documents import Document
from hocket.retrievers import BaseRetriever


class Fixed(BaseRetriever):
    """Returns the same documents for every question, or raises; it may have to meet others first."""

    documents: list[Any] = []  # noqa: RUF012  # pydantic copies it
    error: Any = None
    asked: list[str] = []  # noqa: RUF012
    meeting: Any = None

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        self.asked.append(query)
        if self.meeting is not None:
            await self.meeting.arrive()
        if self.error is not None:
            raise self.error
        return [Document(query) if one is ... else one for one in self.documents]


class Meeting:
    """Lets nobody go on before all have come."""

    def __init__(self, count: int) -> None:
        self.missing = count
        self.all_here, self.one_missing = anyio.Event(), anyio.Event()
        self.cancelled = 0

    async def arrive(self) -> None:
        """Wait for the others."""
        self.missing -= 1
        if self.missing == 1:
            self.one_missing.set()
        if self.missing == 0:
            self.all_here.set()
        try:
            await self.all_here.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise


class Runs(AsyncCallbackHandler):
    """Writes down who is whose child, and with which tags."""

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        self.children: list[tuple[str | None, str, tuple[str, ...]]] = []

    def _add(self, about: dict[str, Any]) -> None:
        self.names[about["run_id"]] = about["name"]
        parent = self.names.get(about["parent_run_id"])
        self.children.append((parent, about["name"], tuple(about["tags"] or ())))

    async def on_retriever_start(self, serialized: Any, query: str, **about: Any) -> None:
        self._add(about)

    async def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
        self._add(about)

    async def on_tool_start(self, serialized: Any, input_str: str, **about: Any) -> None:
        self._add(about)


def texts(documents: Sequence[Document]) -> list[str]:
    return [one.page_content for one in documents]


def scored(**scores: float) -> list[Document]:
    return [Document(text, score=score) for text, score in scores.items()]
