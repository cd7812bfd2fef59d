"""What is a server, what is none, and what errors show of it."""

import subprocess
import sys
from typing import Any

import pytest
from mcp import StdioServerParameters

from hocket.agents.mcp import mcp_server, mcp_tools
from hocket.agents.mcp.address import read_address
from hocket.errors import InvalidInput, ToolServerUnavailable


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ([], "empty"),
        ([""], "empty"),
        ("run 'half a quote", "No closing quotation"),
        (["a", 1], "server is list"),
        (7, "server is int"),
        (None, "server is NoneType"),
        (["a", "b\0c"], "NUL"),
        ("http://", "http"),
        ("https://host:port/", "http"),
    ],
)
def test_what_is_no_server(server: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        mcp_tools(server)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timeout": 0}, "timeout is 0"),
        ({"timeout": float("nan")}, "timeout is nan"),
        ({"prefix": "a.b"}, "prefix is 'a.b'"),
        ({"only": "add"}, "only is the text 'add'"),
    ],
)
def test_what_is_no_option(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        mcp_tools("server", **options)


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("uvx some-server --verbose", "'uvx some-server --verbose'"),
        (["my server", "--api-key", "hunter2hunter2"], "--api-key '**********'\""),
        ("serve --token=hunter2hunter2", "--token=**********"),
        ("serve MY_SECRET=hunter2hunter2", "MY_SECRET=**********"),
        ("serve postgres://me:hunter2hunter2@host/db", "'serve postgres://host/db'"),
        ("serve plain hunter2hunter2", "'serve plain "),
        (
            "https://me:hunter2hunter2@host:8080/hunter2hunter2/mcp?key=hunter2hunter2",
            "the server at https://host:8080",
        ),
        (StdioServerParameters(command="serve", env={"API_KEY": "hunter2hunter2"}, args=["hunter2hunter2"]), "'serve "),
        (["x" * 1000], "x…"),
    ],
)
def test_an_error_shows_the_server_and_no_secret(server: Any, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of a URL nor of options, nor what the environment has under such a name."""
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    address = read_address(server)
    assert shown in address.shown and "hunter" not in address.shown and len(address.shown) < 350
    assert "hunter" not in address.explain(
        ValueError("the key hunter2hunter2, in /hunter2hunter2/mcp?key=hunter2hunter2")
    )


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ToolServerUnavailable, match="'no-such-program --fast' cannot be used: FileNotFoundError"):
        async with mcp_tools("no-such-program --fast"):
            raise AssertionError


async def test_a_url_where_nobody_listens() -> None:
    with pytest.raises(ToolServerUnavailable, match=r"at http://127.0.0.1:1 cannot be used: ConnectError") as caught:
        async with mcp_tools("http://user:hunter2hunter2@127.0.0.1:1/hunter2/mcp"):
            raise AssertionError
    assert "hunter2" not in str(caught.value)


def test_without_the_package_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['mcp'] = None; import hocket.agents.mcp"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "hocket.errors.own.MissingDependency" in done.stderr and "pip install 'hocket[mcp]'" in done.stderr


def test_nobody_else_loads_the_package() -> None:
    """It takes seconds."""
    code = "import sys, hocket.agents, hocket.cli, hocket.cli.mcp; print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_what_cannot_be_served() -> None:
    from typing import Annotated

    from hocket.tools import InjectedToolArg, tool

    @tool
    def book(room: str, user: Annotated[str, InjectedToolArg]) -> str:
        """Book."""
        return room

    with pytest.raises(InvalidInput, match="book needs injected arguments \\('user'\\)"):
        mcp_server([book])
    with pytest.raises(InvalidInput, match="two tools are called 'open'"):
        mcp_server([open, open])
