"""`search_tool` tells the model what a function of the application found: of one form and size, without secrets."""

from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from pydantic import SecretStr

from hocket.agents import search_tool
from hocket.errors import InvalidHook, InvalidInput, RetryTool, StopRun, ToolException
from hocket.tools import BaseTool, arun_tool_calls

KEY = "k-7f3a9c1e5b2d"


async def run(tool: BaseTool, query: str = "tea") -> str:
    return str(await tool.ainvoke(query))


def return_always(found: object) -> Callable[[str], Any]:
    return lambda query: found


def raise_always(error: Exception) -> Callable[[str], Any]:
    def fetch(query: str) -> str:
        raise error

    return fetch


async def test_results_are_shown_alike_whatever_the_engine_calls_their_parts() -> None:
    found = [
        {"title": "Tea", "url": "https://tea.example/a", "snippet": "A drink.", "score": 0.9},
        {"name": "Green", "link": "https://tea.example/b", "content": "Green tea.", "title": None},
        "Just a text.",
        {"score": 1},
    ]
    assert await run(search_tool(return_always(found))) == (
        "1. Tea\nhttps://tea.example/a\nA drink.\n\n2. Green\nhttps://tea.example/b\nGreen tea.\n\n"
        '3. Just a text.\n\n4. {"score": 1}'
    )


async def test_the_function_is_sync_or_async() -> None:
    """Or a lambda that calls an async one; and it gets the query as it is."""

    async def fetch(query: str) -> list[str]:
        await anyio.lowlevel.checkpoint()
        return [query]

    for function in (fetch, lambda query: fetch(query), lambda query: [query]):
        assert await run(search_tool(function), " tea? ") == "1.  tea? "


def test_it_works_in_sync_code() -> None:
    async def fetch(query: str) -> str:
        await anyio.lowlevel.checkpoint()
        return query

    assert search_tool(fetch).invoke("tea") == search_tool(lambda query: query).invoke("tea") == "tea"


async def test_size_and_number_are_limited() -> None:
    """Each result has its share, so that the first cannot take all."""
    found = [{"title": "x" * 1000}] * 1000
    text = await run(search_tool(return_always(found), max_results=2, max_chars=100))
    assert text == f"1. {'x' * 50}… (950 more characters)\n\n2. {'x' * 50}… (950 more characters)"
    assert await run(search_tool(return_always("y" * 99), max_chars=10)) == f"{'y' * 10}… (89 more characters)"


@pytest.mark.parametrize("found", ["", "  ", [], ()])
async def test_nothing_found_is_said_in_words(found: object) -> None:
    assert "Nothing was found" in await run(search_tool(return_always(found)))


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "https://user@10.0.0.5:8080/x",
        "http://169.254.169.254/latest/meta-data",
        "http://192.168.0.1",
        "http://100.64.0.1",
        "http://0.0.0.0",
        "http://[::1]/",
        "http://[fe80::1%25eth0]/",
        "http://[fd00::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://printer.local/",
        "http://metadata.google.internal/",
        "http://intranet/",
        "http://１２７.0.0.1/",  # noqa: RUF001
        " http://127.0.0.1/",
        "http://[::1",
        "file:///etc/passwd",
        "not a url",
    ],
)
async def test_results_inside_the_own_network_are_left_out(url: str) -> None:
    found = [{"title": "inside", "url": url}, {"title": "outside", "url": "https://93.184.215.14/"}]
    assert await run(search_tool(return_always(found), max_results=1)) == "1. outside\nhttps://93.184.215.14/"


@pytest.mark.parametrize(
    "url", ["https://example.com/a?b=c", "https://bücher.example/", "http://[2606:4700::1111]/", "http://8.8.8.8"]
)
async def test_results_in_the_world_are_shown(url: str) -> None:
    assert url in await run(search_tool(return_always([{"url": url}])))


async def test_an_exception_is_told_by_its_kind_and_status_alone() -> None:
    """The text of httpx's names the URL, and so a key in it."""
    response = httpx.Response(429, request=httpx.Request("GET", f"https://search.example/?key={KEY}"))
    with pytest.raises(httpx.HTTPStatusError, match=KEY) as caught:
        response.raise_for_status()
    answer = await run(search_tool(raise_always(caught.value)))

    assert answer == "The search failed: HTTPStatusError, status 429. Try again, or go on without it."
    assert KEY not in await run(search_tool(raise_always(OSError(f"no way to https://search.example/?key={KEY}"))))


async def test_the_words_of_the_application_reach_the_model() -> None:
    """A `ToolException`, and the two that mean something to the run."""
    assert await run(search_tool(raise_always(ToolException("closed today")))) == "closed today"
    call: Any = {"name": "search", "args": {"query": "x"}, "id": "1", "type": "tool_call"}
    (message,) = await arun_tool_calls([call], [search_tool(raise_always(RetryTool("in English, please")))])
    assert (message.content, message.response_metadata) == ("in English, please", {"tool_error": "retry"})
    with pytest.raises(StopRun):
        await arun_tool_calls([call], [search_tool(raise_always(StopRun("enough")))])


@pytest.mark.parametrize("secret", [KEY, SecretStr(KEY)])
async def test_secrets_are_masked_wherever_they_turn_up(secret: str | SecretStr) -> None:
    """In a text, a result, or the words of the application."""
    sources = [
        return_always(f"next: https://search.example/?key={KEY}"),
        return_always([{"title": KEY, "url": f"https://search.example/?key={KEY}", "snippet": f"<{KEY}>"}]),
        return_always([{"other": KEY}]),
        raise_always(ToolException(f"refused {KEY}")),
        raise_always(RetryTool(f"refused {KEY}")),
    ]
    call: Any = {"name": "search", "args": {"query": "x"}, "id": "1", "type": "tool_call"}
    for fetch in sources:
        (message,) = await arun_tool_calls([call], [search_tool(fetch, secrets=[secret])])
        assert KEY not in message.text
        assert "*****" in message.text


@pytest.mark.parametrize("query", ["", " \n", "x" * 1001])
async def test_a_query_is_1_to_1000_characters(query: str) -> None:
    assert "write 1 to 1,000" in await run(search_tool(return_always("found")), query)


@pytest.mark.parametrize("found", [None, 5, {"results": []}, b"x", [5], [None], iter([])])
async def test_a_function_that_returns_something_else_is_a_fault_of_the_application(found: object) -> None:
    with pytest.raises(InvalidHook, match="the search returned"):
        await run(search_tool(return_always(found)))


def test_bad_options_are_refused_at_the_door() -> None:
    with pytest.raises(InvalidInput, match="max_results is 0"):
        search_tool(return_always(""), max_results=0)
    with pytest.raises(InvalidInput, match="max_chars is -1"):
        search_tool(return_always(""), max_chars=-1)
    with pytest.raises(InvalidHook, match="fetch is str"):
        search_tool("https://search.example")  # type: ignore[arg-type]  # no function


async def test_a_search_that_is_cancelled_ends() -> None:
    async def fetch(query: str) -> str:
        await anyio.sleep_forever()
        return ""

    with anyio.move_on_after(0.01) as scope:
        await search_tool(fetch).ainvoke("tea")
    assert scope.cancelled_caught
