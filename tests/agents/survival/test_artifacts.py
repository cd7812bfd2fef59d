"""What a tool makes for the application is no part of the conversation: no store loses a result for it."""

import logging
from typing import Any

import pytest

from hocket import ScriptedChatModel, Turn
from hocket.agents import create_agent
from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.messages import ToolMessage
from hocket.tools import create_retriever_tool, tool
from hocket.vectorstores import InMemoryVectorStore
from tests.agents.conftest import call
from tests.agents.survival.conftest import Store


class Chart:
    """A user's object, which no store can keep."""


@tool(response_format="content_and_artifact")
def draw(a: int) -> tuple[str, Chart]:
    """Draw."""
    return "It is drawn.", Chart()


async def test_the_documents_of_a_retriever_are_stored(store: Store):
    """They come back as documents."""
    found = Document("Bleed it in May.", id="1", metadata={"source": "boiler.md"})
    index = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    await index.aadd_documents([found])
    search = create_retriever_tool(index.as_retriever(), "search", "Search.", response_format="content_and_artifact")
    script = [Turn(tool_calls=[call("search", query="boiler")]), "In May."]
    async with store.open() as history:
        result = await create_agent(ScriptedChatModel(script=script), [search]).ainvoke("When?", history=history)
        stored = await history.aget_messages()
    assert result.output == "In May."
    assert [message.artifact for message in stored if isinstance(message, ToolMessage)] == [[found]]


async def test_an_artifact_that_no_store_can_keep(store: Store, caplog: pytest.LogCaptureFixture):
    """The result is stored without it; the run's own messages and events have it."""
    script: list[Any] = [Turn(tool_calls=[call("draw", a=1)]), "Done."]
    async with store.open() as history:
        with caplog.at_level(logging.WARNING):
            async with create_agent(ScriptedChatModel(script=script), [draw]).astream("Go.", history=history) as events:
                ends = [event.result async for event in events if event.kind == "tool_end"]
        stored = await history.aget_messages()
    assert events.result is not None and events.result.output == "Done."
    [kept] = [message for message in events.result.messages if isinstance(message, ToolMessage)]
    assert isinstance(kept.artifact, Chart) and ends == [kept]
    assert [message.text for message in stored] == ["Go.", "", "It is drawn.", "Done."]
