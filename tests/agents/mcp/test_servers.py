"""The servers of a configuration, together."""

import json
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from hocket.agents import mcp_servers
from hocket.agents.mcp import mcp_tools
from hocket.errors import InvalidInput, ToolException, ToolServerUnavailable
from hocket.messages import AIMessage, HumanMessage
from hocket.tools import arun_tool_calls
from tests.agents.mcp.conftest import Bare, Serving, call

MakeBare = Callable[..., Bare]


def configure(**servers: Bare | str) -> dict[str, Any]:
    """Return the configuration of these servers."""
    return {
        "mcpServers": {
            name: {"url": one} if isinstance(one, str) else {"command": one.command[0], "args": one.command[1:]}
            for name, one in servers.items()
        }
    }


@pytest.mark.both_loops
async def test_the_tools_of_two_servers(bare: MakeBare) -> None:
    """Are called by the server's name, say whose they are, and may be shown to a model later."""
    first, second = bare(), bare()
    async with mcp_servers(configure(one=first, two=second)) as servers:
        assert len(servers.tools) == 12 and servers.unavailable == {}
        add = next(tool for tool in servers.tools if tool.name == "two_add")
        listed = next(tool for tool in servers.tools if tool.name == "one_list_cancelled")
        assert add.metadata == {"mcp_name": "add", "mcp_server": "two"}
        assert listed.metadata == {"mcp_name": "list.cancelled", "mcp_server": "one"}
        assert add.extras == {"defer_loading": True}
        calls = [call("one_add", a=1, b=2), call("two_add", a=3, b=4)]
        assert [one.text for one in await arun_tool_calls(calls, servers.tools)] == ["3", "7"]
        assert len(first.list_processes()) == len(second.list_processes()) == 1
    assert first.list_processes() == second.list_processes() == []
    (result,) = await arun_tool_calls([call("one_add", a=1, b=2)], servers.tools)
    assert "was closed" in result.text


async def test_tools_that_say_nothing_of_being_shown_later(bare: MakeBare) -> None:
    """``defer=`` decides, and `mcp_tools` has it, too."""
    async with (
        mcp_servers(configure(one=bare()), defer=False) as servers,
        mcp_tools(bare().command, defer=True) as tools,
    ):
        assert [tool.extras for tool in servers.tools] == [None] * 6
        assert [tool.extras for tool in tools] == [{"defer_loading": True}] * 6


async def test_only_some_servers(bare: MakeBare) -> None:
    """The others are not started."""
    first, second = bare(), bare()
    async with mcp_servers(configure(one=first, two=second), only=["two"]) as servers:
        assert {(tool.metadata or {})["mcp_server"] for tool in servers.tools} == {"two"}
        assert first.list_processes() == []


async def test_the_environment_and_the_folder_of_a_server(bare: MakeBare) -> None:
    config = configure(one=bare())
    config["mcpServers"]["one"] |= {"env": {"MINE": "1"}, "cwd": "/"}
    async with mcp_servers(config) as servers:
        (result,) = await arun_tool_calls([call("one_environ")], servers.tools)
        assert "MINE" in json.loads(result.text)


@pytest.mark.both_loops
async def test_a_server_that_cannot_be_used_ends_the_others(bare: MakeBare) -> None:
    """Its error is raised as itself, and no process is left."""
    fine, dead, mute = bare(), bare("die"), bare("mute")
    with pytest.raises(ToolServerUnavailable, match=r"^'dead' \(the server .*\) ended before it answered"):
        async with mcp_servers(configure(fine=fine, dead=dead, mute=mute)):
            raise AssertionError
    assert fine.list_processes() == dead.list_processes() == mute.list_processes() == []


@pytest.mark.both_loops
async def test_servers_that_are_skipped(bare: MakeBare) -> None:
    """The others work; of those that do not is said why, also where one is asked for something else."""
    config = configure(fine=bare(), dead=bare("die"), mute=bare("mute"), nobody="http://127.0.0.1:9/mcp")
    async with mcp_servers(config, on_error="skip", timeout=2) as servers:
        assert {(tool.metadata or {})["mcp_server"] for tool in servers.tools} == {"fine"}
        assert servers.unavailable.keys() == {"dead", "mute", "nobody"}
        assert "did not answer within 2 s" in str(servers.unavailable["mute"])
        assert "'nobody' (the server at http://127.0.0.1:9) cannot be used" in str(servers.unavailable["nobody"])
        with pytest.raises(ToolServerUnavailable, match="ended before it answered"):
            await servers.list_prompts("dead")
        with pytest.raises(InvalidInput, match=r"there is no server 'fin'; did you mean 'fine'\?"):
            await servers.list_resources("fin")


async def test_cancelled_while_they_start(bare: MakeBare) -> None:
    fine, mute = bare(), bare("mute")
    async with anyio.create_task_group() as group:
        group.start_soon(mcp_servers(configure(fine=fine, mute=mute)).__aenter__)
        while not (fine.list_processes() and mute.list_processes()):  # noqa: ASYNC110 - of other processes
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    assert fine.list_processes() == mute.list_processes() == []


async def test_they_are_entered_once(bare: MakeBare) -> None:
    connection = mcp_servers(configure(one=bare()))
    async with connection:
        with pytest.raises(InvalidInput, match="servers are entered once"):
            await connection.__aenter__()
        with pytest.raises(InvalidInput, match="there is no server 'two'"):
            await connection.list_prompts("two")
    with pytest.raises(InvalidInput, match="enter it: async with"):
        await mcp_servers({"mcpServers": {}}).list_prompts("one")


async def test_a_server_at_a_url(serving: Serving) -> None:
    async with mcp_servers(configure(far=serving.url), only=["far"]) as servers:
        (result,) = await arun_tool_calls([call("far_add", a=1, b=2)], servers.tools)
        assert result.text == "3"
        assert await servers.list_resources("far") == await servers.list_prompts("far") == []
        with pytest.raises(ToolException, match="Method not found"):
            await servers.get_prompt("far", "greet")


@pytest.mark.both_loops
async def test_resources_and_prompts(bare: MakeBare) -> None:
    """All pages are read; what they hold are content blocks, and messages."""
    async with mcp_servers(configure(one=bare())) as servers:
        assert [one.uri for one in await servers.list_resources("one")] == ["memo://a", "memo://b"]
        assert await servers.read_resource("one", "memo://a") == [
            {"type": "text", "text": "read memo://a"},
            {"type": "image", "base64": "aGk=", "mime_type": "image/png"},
        ]
        (prompt,) = await servers.list_prompts("one")
        assert prompt.name == "greet" and prompt.arguments and prompt.arguments[0].name == "whom"
        messages = await servers.get_prompt("one", "greet", {"whom": "Ada"})
        assert messages == [
            HumanMessage("Greet Ada."),
            AIMessage([{"type": "image", "base64": "aGk=", "mime_type": "image/png"}]),
        ]
        with pytest.raises(ToolException, match="no such resource"):
            await servers.read_resource("one", "memo://c")
