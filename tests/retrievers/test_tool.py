"""A retriever as a tool: what documents say is data in the tool's result."""

from typing import Any

import pytest

from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.messages import ToolMessage
from hocket.prompts import PromptTemplate
from hocket.retrievers import create_retriever_tool
from hocket.runnables import RunnableLambda
from tests.retrievers.kit import Fixed, Runs

pytestmark = pytest.mark.anyio

FOUND = [Document("Bleed {it}.", metadata={"source": "rules"}), Document("{page_content}", metadata={"source": "x"})]
CALL = {"type": "tool_call", "id": "1", "name": "search", "args": {"query": "boiler"}}


def make(found: list[Document] = FOUND, **fields: Any) -> Any:
    return create_retriever_tool(Fixed(documents=found, name="base"), "search", "Searches rules.", **fields)


async def test_it_shows_the_texts() -> None:
    tool = make()
    assert await tool.ainvoke({"query": "boiler"}) == "Bleed {it}.\n\n{page_content}"
    assert (tool.name, tool.description) == ("search", "Searches rules.")
    assert tool.args == {"query": {"type": "string", "description": "what to search for"}}


async def test_documents_may_be_shown_otherwise() -> None:
    prompt = PromptTemplate.from_template("{source}: {page_content}")
    tool = make(document_prompt=prompt, document_separator="\n--\n")
    assert await tool.ainvoke({"query": "boiler"}) == "rules: Bleed {it}.\n--\nx: {page_content}"


async def test_the_documents_may_go_along() -> None:
    message = await make(response_format="content_and_artifact").ainvoke(CALL)
    assert isinstance(message, ToolMessage)
    assert message.content == "Bleed {it}.\n\n{page_content}"
    assert message.artifact == FOUND


async def test_nothing_found_is_said() -> None:
    assert await make(found=[]).ainvoke({"query": "boiler"}) == "Nothing was found."


async def test_a_document_without_what_the_prompt_names() -> None:
    prompt = PromptTemplate.from_template("{page} {page_content}")
    with pytest.raises(
        InvalidInput, match=r"variables \['page'\], and this document has only \['page_content', 'source'\]"
    ):
        await make(document_prompt=prompt).ainvoke({"query": "boiler"})


async def test_any_runnable_will_do() -> None:
    tool = create_retriever_tool(RunnableLambda(lambda query: [Document(query)]), "search", "Searches.")
    assert await tool.ainvoke({"query": "boiler"}) == "boiler"


async def test_the_search_is_a_child_of_the_tools_run() -> None:
    runs = Runs()
    await make().ainvoke(CALL, {"callbacks": [runs]})
    assert [one[:2] for one in runs.children] == [(None, "search"), ("search", "base")]


def test_and_for_sync_code() -> None:
    assert make().invoke({"query": "boiler"}) == "Bleed {it}.\n\n{page_content}"
