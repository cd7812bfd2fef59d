"""Which tools of many a question is about: by meaning, or by words alone."""

import logging

import anyio
import pytest

from hocket.agents.tool_index import ToolIndex, describe_tool
from hocket.embeddings import Embeddings
from hocket.tools import BaseTool, StructuredTool


def make_tool(name: str, description: str, *args: str) -> BaseTool:
    """Return a tool that does nothing."""

    async def work(**kwargs: object) -> str:
        return ""

    schema = {"type": "object", "properties": {arg: {"type": "string"} for arg in args}}
    return StructuredTool(name=name, description=description, args_schema=schema, coroutine=work)


TOOLS = {
    tool.name: tool
    for tool in (
        make_tool("github_createIssue", "Create an issue. It is open.\nThird. Fourth.", "repoName", "title"),
        make_tool("weather", "Tell the weather of a city.", "city"),
        make_tool("tide_table", "Tell when the tide is high.", "harbour"),
    )
}


class Counting(Embeddings):
    """Knows two directions: of what has the letters "ti" or "sea", and of the rest; counts texts."""

    def __init__(self, name: str, fails: bool = False) -> None:
        self.model = name
        self.texts: list[str] = []
        self.fails = fails

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        if self.fails:
            raise OSError("the server is away")
        self.texts += texts
        return [[1.0, 0.1] if "tide" in text or "sea" in text else [0.1, 1.0] for text in texts]


def test_the_text_of_a_tool_is_short() -> None:
    """Of a tool its name in words, the first sentences and the names of the arguments are searched."""
    text = describe_tool(TOOLS["github_createIssue"])
    assert text == "github create Issue. Create an issue. It is open. Third. repo Name title"


async def test_words_alone_find_what_has_them() -> None:
    """Without embeddings a tool is found by its words, and only by them."""
    index = ToolIndex(TOOLS, None)
    assert await index.search("open an issue", 2) == ["github_createIssue"]
    assert await index.search("harbour", 2) == ["tide_table"]
    assert await index.search("zebra", 2) == []


async def test_vectors_find_by_meaning_and_are_kept_in_the_process(anyio_backend_name: str) -> None:
    """Each text is embedded once, also by another index of the same model; the best comes first."""
    model = Counting(f"kept on {anyio_backend_name}")
    assert await ToolIndex(TOOLS, model).search("by the sea", 1) == ["tide_table"]
    assert await ToolIndex(TOOLS, model).search("by the sea", 3) == ["tide_table", "github_createIssue", "weather"]
    assert len(model.texts) == len(TOOLS) + 2


class Slow(Counting):
    """Waits, from the second batch of its tools on, until it may go on."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.begun, self.gate = anyio.Event(), anyio.Event()

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text, in time."""
        if self.texts and len(texts) > 1:
            self.begun.set()
            await self.gate.wait()
        return await super().aembed_documents(texts)


MANY = TOOLS | {f"t{number}": make_tool(f"t{number}", f"Do number {number}.") for number in range(60)}


async def test_searches_at_once_embed_the_tools_once(anyio_backend_name: str) -> None:
    """Also those of two indexes, as two runs at once with tools of their own have them."""
    model = Slow(f"at once on {anyio_backend_name}")
    index, found = ToolIndex(MANY, model), list[list[str]]()

    async def search(index: ToolIndex) -> None:
        found.append(await index.search("by the sea", 1))

    async with anyio.create_task_group() as group:
        for one in (index, index, ToolIndex(MANY, model)):
            group.start_soon(search, one)
        await model.begun.wait()
        await anyio.wait_all_tasks_blocked()
        model.gate.set()
    assert found == [["tide_table"]] * 3
    assert len(model.texts) == len(MANY) + 3


async def test_a_search_that_is_cancelled_loses_nothing_for_the_next(anyio_backend_name: str) -> None:
    """What it had embedded is kept, and the one that waited goes on from there."""
    model, found = Slow(f"cancelled on {anyio_backend_name}"), list[list[str]]()
    index = ToolIndex(MANY, model)

    async def search() -> None:
        found.append(await index.search("by the sea", 1))

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as first:
            async with anyio.create_task_group() as inner:
                inner.start_soon(search)
                await model.begun.wait()
                group.start_soon(search)
                await anyio.wait_all_tasks_blocked()
                first.cancel()
        assert found == []
        model.gate.set()
    assert found == [["tide_table"]]
    assert len(model.texts) == len(MANY) + 1


async def test_a_broken_model_leaves_the_words(caplog: pytest.LogCaptureFixture) -> None:
    """What the model raises ends no search, and is logged once; when it works again, it is used again."""
    model = Counting("broken", fails=True)
    index = ToolIndex(TOOLS, model)
    with caplog.at_level(logging.WARNING, "hocket.agents"):
        assert await index.search("weather at the sea", 1) == ["weather"]
        assert await index.search("weather at the sea", 1) == ["weather"]
    assert [record.getMessage() for record in caplog.records] == [
        "tools are searched by their words alone: OSError: the server is away"
    ]
    model.fails = False
    assert await index.search("weather at the sea", 1) == ["tide_table"]


async def test_the_local_model_is_used_where_it_is_installed() -> None:
    """ "auto" finds what has none of the words of the question."""
    pytest.importorskip("xllamacpp", reason="the local model has no wheels for this Python")
    assert await ToolIndex(TOOLS, "auto").search("will it rain in Paris", 1) == ["weather"]
