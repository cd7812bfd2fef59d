"""Servers in this process: hocket's, and the SDK's own with all that MCP can say."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server import Server
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ListToolsResult,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from hocket.agents.mcp import mcp_server, mcp_tools
from hocket.errors import ToolException, ToolServerUnavailable
from hocket.messages import ToolMessage
from hocket.tools import BaseTool, RetryTool, StopRun, arun_tool_calls, tool
from tests.agents.mcp.conftest import call

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def make_server(*tools: Tool, answer: CallToolResult | None = None, pages: dict[str | None, Any] | None = None) -> Any:
    """Return a server of the SDK's that lists these tools, and gives every call one answer."""

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        if pages is None:
            return ListToolsResult(tools=list(tools))
        return pages[params.cursor if params else None]  # type: ignore[no-any-return]

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        assert answer is not None
        return answer

    return Server("foreign", on_list_tools=list_tools, on_call_tool=call_tool)


async def ask(server: Any, name: str, /, **arguments: object) -> ToolMessage:
    """Return the result of one call."""
    async with mcp_tools(server) as tools:
        (result,) = await arun_tool_calls([call(name, **arguments)], tools)
    return result


@tool
async def act(how: str) -> str:
    """Act."""
    if how == "retry":
        raise RetryTool("say it differently")
    if how == "stop":
        raise StopRun("enough")
    if how == "fail":
        raise KeyError("lost")
    return how


@tool(response_format="content_and_artifact")
def draw(what: str) -> tuple[list[dict[str, str]], Any]:
    """Draw."""
    picture = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    sound = {"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"}
    paper = {"type": "file", "base64": "aGk=", "mime_type": "application/pdf"}
    artifacts: dict[str, Any] = {"object": {"size": [1, 2]}, "number": 7, "foreign": {"a": object()}}
    return [{"type": "text", "text": what}, picture, sound, paper], artifacts[what]


async def test_errors_read_as_everywhere() -> None:
    """The same texts as without a server between."""
    served = mcp_server([act])
    for how in ("fine", "fail", "retry", "stop"):
        try:
            (here,) = await arun_tool_calls([call("act", how=how)], [act])
        except StopRun as stop:
            (here,) = stop.results
        there = await ask(served, "act", how=how)
        assert there.status == here.status
        assert there.text.removeprefix("act failed: ") == here.text.removeprefix("act failed: ")


async def test_an_error_that_nobody_handles_is_raised() -> None:
    """As of any tool: `handle_tool_error` decides."""
    async with mcp_tools(mcp_server([act])) as (remote,):
        assert await remote.ainvoke({"how": "fine"}) == "fine"
        with pytest.raises(ToolException, match=r"^KeyError: 'lost'$"):
            await remote.ainvoke({"how": "fail"})


async def test_what_a_tool_is_called_and_says_of_itself() -> None:
    """Name, description, schema and the promise that it may be called again go over."""
    steady = act.model_copy(update={"metadata": {"idempotent": True}})
    async with mcp_tools(mcp_server([steady])) as (remote,):
        assert (remote.name, remote.description) == ("act", "Act.")
        assert remote.metadata == {"mcp_name": "act", "idempotent": True}
        assert remote.args == act.args
        assert remote.tool_call_schema == act.tool_call_schema


@pytest.mark.parametrize(("what", "artifact"), [("object", {"size": [1, 2]}), ("number", None), ("foreign", None)])
async def test_pictures_and_artifacts_go_over(what: str, artifact: object) -> None:
    """An artifact that is no JSON object stays where it is."""
    result = await ask(mcp_server([draw]), "draw", what=what)
    (here,) = await arun_tool_calls([call("draw", what=what)], [draw])
    assert result.content == here.content
    assert result.artifact == artifact


@pytest.mark.parametrize(
    ("returned", "kind", "schema"),
    [(1.5, float, "number"), (2, int, "integer"), (True, bool, "boolean"), ("x", str, None)],
)
async def test_a_number_is_structured_content(returned: object, kind: type, schema: str | None) -> None:
    """With a schema, as servers of the package ``mcp`` have it; what a tool says that fails is text alone."""

    def measure(fails: bool = False) -> Any:
        if fails:
            raise ToolException("too long")
        return returned

    measure.__annotations__["return"] = kind
    server = mcp_server([tool("measure", description="Measure.")(measure)])
    async with Client(server.sdk) as client:
        (listed,) = (await client.list_tools()).tools
        properties = (listed.output_schema or {}).get("properties")
        assert properties == (None if schema is None else {"result": {"type": schema}})
        result = await client.call_tool("measure", {})
        assert result.structured_content == (None if schema is None else {"result": returned})
        failed = await client.call_tool("measure", {"fails": True})
        assert failed.is_error and failed.structured_content is None
    assert (await ask(server, "measure")).text == json.dumps(returned).strip('"')


@pytest.mark.parametrize(
    ("answer", "content", "artifact"),
    [
        (CallToolResult(content=[]), "", None),
        (CallToolResult(content=[TextContent(text="one")]), "one", None),
        (CallToolResult(content=[], structured_content={"a": "é"}), '{"a": "é"}', {"a": "é"}),
        (CallToolResult(content=[TextContent(text="one")], structured_content={"a": 1}), "one", {"a": 1}),
        (
            CallToolResult(content=[TextContent(text="one"), ImageContent(data="aGk=", mime_type="image/png")]),
            [{"type": "text", "text": "one"}, {"type": "image", "base64": "aGk=", "mime_type": "image/png"}],
            None,
        ),
        (
            CallToolResult(content=[AudioContent(data="aGk=", mime_type="audio/wav")]),
            [{"type": "audio", "base64": "aGk=", "mime_type": "audio/wav"}],
            None,
        ),
        (
            CallToolResult(
                content=[
                    EmbeddedResource(
                        resource=BlobResourceContents(uri="file:///a", blob="aGk=", mime_type="image/gif")
                    ),
                    EmbeddedResource(resource=BlobResourceContents(uri="file:///b", blob="aGk=")),
                ]
            ),
            [
                {"type": "image", "base64": "aGk=", "mime_type": "image/gif"},
                {"type": "file", "base64": "aGk=", "mime_type": "application/octet-stream"},
            ],
            None,
        ),
        (
            CallToolResult(content=[EmbeddedResource(resource=TextResourceContents(uri="file:///a", text="inside"))]),
            "inside",
            None,
        ),
        (
            CallToolResult(content=[ResourceLink(name="page", uri="https://host/page", description="A page.")]),
            "page: https://host/page\nA page.",
            None,
        ),
    ],
)
async def test_what_a_foreign_server_answers(answer: CallToolResult, content: object, artifact: object) -> None:
    result = await ask(make_server(Tool(name="t", input_schema=OBJECT), answer=answer), "t")
    assert (result.content, result.artifact, result.status) == (content, artifact, "success")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (CallToolResult(content=[TextContent(text="no such city")], is_error=True), "t failed: no such city"),
        (CallToolResult(content=[], is_error=True), "t failed: it gave no reason"),
        (
            CallToolResult(
                content=[ImageContent(data="aGk=", mime_type="image/png"), TextContent(text="look")], is_error=True
            ),
            "t failed: look",
        ),
    ],
)
async def test_an_error_of_a_foreign_server(answer: CallToolResult, text: str) -> None:
    result = await ask(make_server(Tool(name="t", input_schema=OBJECT), answer=answer), "t")
    assert (result.text, result.status) == (text, "error")


async def test_an_answer_that_breaks_the_servers_own_schema() -> None:
    """Is told as an error."""
    promised = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    server = make_server(
        Tool(name="t", input_schema=OBJECT, output_schema=promised),
        answer=CallToolResult(content=[], structured_content={"a": "x"}),
    )
    result = await ask(server, "t")
    assert result.status == "error" and "its answer cannot be used" in result.text


async def test_all_pages_are_read() -> None:
    """A tool that is on two of them is one."""
    one, two, three = (Tool(name=name, input_schema=OBJECT) for name in ("one", "two", "three"))
    pages: dict[str | None, Any] = {
        None: ListToolsResult(tools=[one], next_cursor="b"),
        "b": ListToolsResult(tools=[two, one], next_cursor="c"),
        "c": ListToolsResult(tools=[three]),
    }
    async with mcp_tools(make_server(pages=pages)) as tools:
        assert [one.name for one in tools] == ["one", "two", "three"]
    pages["c"] = ListToolsResult(tools=[three], next_cursor="b")
    with pytest.raises(ToolServerUnavailable, match="its list of tools has no end: the page after 'b' was sent before"):
        async with mcp_tools(make_server(pages=pages)):
            raise AssertionError


async def test_hints_and_names_of_a_foreign_server() -> None:
    """What is idempotent, or reads only, may be called again."""
    listed = [
        Tool(name="a.read", input_schema=OBJECT, annotations=ToolAnnotations(read_only_hint=True), title="Reads"),
        Tool(name="a/read", input_schema=OBJECT, annotations=ToolAnnotations(idempotent_hint=True)),
        Tool(name="write", input_schema=OBJECT, annotations=ToolAnnotations(destructive_hint=True)),
    ]
    async with mcp_tools(make_server(*listed)) as tools:
        first, second, third = tools
    assert [one.metadata for one in tools] == [
        {"mcp_name": "a.read", "idempotent": True},
        {"mcp_name": "a/read", "idempotent": True},
        {"mcp_name": "write"},
    ]
    assert len({first.name, second.name, third.name}) == 3
    assert first.description == "Reads"


async def test_arguments_with_any_name() -> None:
    """What a server calls its arguments is its business: hocket's own names are no exception."""
    names = ["self", "config", "callbacks", "run_manager", "file-name", "arguments", "name"]
    seen: list[dict[str, object]] = []

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": names}
        return ListToolsResult(tools=[Tool(name="t", input_schema=schema)])

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        seen.append(params.arguments)
        return CallToolResult(content=[])

    result = await ask(Server("s", on_list_tools=list_tools, on_call_tool=call_tool), "t", **dict.fromkeys(names, "x"))
    assert (result.status, seen) == ("success", [dict.fromkeys(names, "x")])


async def test_a_server_without_tools() -> None:
    """Has none; that is no error."""
    async with mcp_tools(Server("empty")) as tools:
        assert tools == []
    async with mcp_tools(mcp_server([])) as tools:
        assert tools == []


async def test_closed_while_a_call_runs() -> None:
    """In this process, too, where the tool itself is cancelled."""
    ended: list[str] = []

    @tool
    async def hang() -> str:
        """Hang."""
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("ended")

    connection = mcp_tools(mcp_server([hang]))
    tools = await connection.__aenter__()
    said: list[str] = []

    async def use(tools: list[BaseTool]) -> None:
        (result,) = await arun_tool_calls([call("hang")], tools)
        said.append(result.text)

    async with anyio.create_task_group() as group:
        group.start_soon(use, tools)
        await anyio.wait_all_tasks_blocked()
        await connection.aclose()
    assert ended == ["ended"]
    assert said == ["hang failed: the server 'hocket' was closed"]


async def test_one_server_serves_several_connections() -> None:
    served = mcp_server([act])
    async with mcp_tools(served, prefix="a_") as ours, mcp_tools(served, prefix="b_") as theirs:
        calls = [call("a_act", how="x"), call("b_act", how="y")]
        assert [one.text for one in await arun_tool_calls(calls, [*ours, *theirs])] == ["x", "y"]
