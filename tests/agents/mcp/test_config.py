"""The JSON that names servers: what is read, what is refused, and that no value is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from hocket.agents.mcp import mcp_servers
from hocket.agents.mcp.config import load_file, read_addresses
from hocket.errors import InvalidInput

SECRET = "canary-5f1c2a"


def shown(**entry: object) -> str:
    """Return how a server with this entry is called in errors."""
    (address,) = read_addresses({"mcpServers": {"s": entry}}).values()
    return address.shown


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ({"command": "uvx", "args": ["a b", "c"], "env": {"A": "1"}, "cwd": "."}, "'s' (the server \"uvx 'a b' c\")"),
        ({"type": "stdio", "command": "uvx"}, "'s' (the server 'uvx')"),
        ({"url": "https://host/key", "headers": {"Authorization": "x"}}, "'s' (the server at https://host)"),
        ({"transport": "streamable_http", "url": "http://host/mcp"}, "'s' (the server at http://host)"),
        ({"type": "http", "url": "http://host/mcp", "disabled": False}, "'s' (the server at http://host)"),
    ],
)
def test_a_server_is_a_command_or_a_url(entry: dict[str, object], name: str) -> None:
    """With the keys of Claude Desktop, Claude Code and Cursor."""
    assert shown(**entry) == name


def test_disabled_servers_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their variables are not needed."""
    monkeypatch.delenv("HOCKET_TEST", raising=False)
    entry = {"command": "uvx", "env": {"A": "${HOCKET_TEST}"}, "disabled": True}
    assert read_addresses({"mcpServers": {"s": entry}}) == {}


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({}, "mcpServers is no object; it is"),
        ({"servers": {}}, "key 'servers', which is not read; give mcpServers alone"),
        ({"mcpServers": []}, "mcpServers is no object"),
        ({"mcpServers": {"s": "uvx"}}, r"mcpServers\.s is no object"),
        ({"mcpServers": {"s": {}}}, r"mcpServers\.s has no command and no url; a server has one of the two"),
        ({"mcpServers": {"s": {"command": "a", "url": "http://b"}}}, r"mcpServers\.s has command and url; a server"),
        (
            {"mcpServers": {"s": {"command": "a", "headers": {}}}},
            "key 'headers', which is not read; of a server with a command are read: command, args, env, cwd, type, ",
        ),
        ({"mcpServers": {"s": {"url": "http://b", "envFile": SECRET}}}, "key 'envFile', which is not read"),
        ({"mcpServers": {"s": {"command": [SECRET]}}}, r"mcpServers\.s\.command is not a text"),
        ({"mcpServers": {"s": {"command": "a", "args": "-v"}}}, r"mcpServers\.s\.args is not a list of texts"),
        ({"mcpServers": {"s": {"command": "a", "args": [1]}}}, r"mcpServers\.s\.args is not a list of texts"),
        ({"mcpServers": {"s": {"command": "a", "env": {"PORT": 1}}}}, r"mcpServers\.s\.env is not an object of texts"),
        ({"mcpServers": {"s": {"command": "a", "disabled": "no"}}}, r"mcpServers\.s\.disabled is not true or false"),
        (
            {"mcpServers": {"s": {"command": "a", "type": "http"}}},
            "is 'http'; of a server with a command it is 'stdio'",
        ),
        ({"mcpServers": {"s": {"url": "http://b", "type": "ws"}}}, r"mcpServers\.s\.type is 'ws'; of a server with a"),
        ({"mcpServers": {"s": {"url": "http://b", "transport": "sse"}}}, r"mcp\.client\.sse\.sse_client\(url\)"),
        ({"mcpServers": {"s": {"url": f"ftp://{SECRET}"}}}, r"mcpServers\.s: a URL to send a request to must begin"),
        ({"mcpServers": {"s": {"url": "http://b", "headers": {"X": f"{SECRET}\n"}}}}, "the header 'X' has a character"),
        ({"mcpServers": {"s": {"command": ""}}}, r"mcpServers\.s: the command of the server is empty"),
    ],
)
def test_what_is_not_read_is_refused(config: dict[str, Any], error: str) -> None:
    """With the place, and without the value, before anything is started."""
    with pytest.raises(InvalidInput, match=error) as caught:
        mcp_servers(config)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value", "filled"),
    [
        ("${HOCKET_TEST}", "a b", "a b"),
        ("x${HOCKET_TEST}y${HOCKET_TEST}", "1", "x1y1"),
        ("${HOCKET_TEST:-d}", None, "d"),
        ("${HOCKET_TEST:-}", None, ""),
        ("${HOCKET_TEST:-d}", "", "d"),
        ("${HOCKET_TEST}", "", ""),
        ("${HOCKET_TEST:-d}", "v", "v"),
        ("$HOCKET_TEST", "v", "$HOCKET_TEST"),
        ("${HOCKET_TEST}", "${HOME}", "${HOME}"),
    ],
)
def test_variables_of_the_environment(
    text: str, value: str | None, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Are filled in once, as a shell does it, in all values."""
    monkeypatch.delenv("HOCKET_TEST", raising=False)
    if value is not None:
        monkeypatch.setenv("HOCKET_TEST", value)
    entry = {"command": "echo", "args": [text], "env": {"A": text}, "cwd": f"/{text}"}
    expected = (
        shown(command="echo", args=[filled]) if "${HOME}" not in filled else "'s' (the server \"echo '${HOME}'\")"
    )
    assert shown(**entry) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("${HOCKET_TEST}", "needs the variable HOCKET_TEST, which is not set"),
        ("${env:HOCKET_TEST}", r"has a variable that is not read: write \$\{NAME\}"),
        ("${input:key}", "has a variable that is not read"),
        ("${HOCKET_TEST", "has a variable that is not read"),
        ("${}", "has a variable that is not read"),
    ],
)
def test_a_variable_without_a_value_is_refused(text: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name; what stands around it is not shown."""
    monkeypatch.delenv("HOCKET_TEST", raising=False)
    config = {"mcpServers": {"s": {"url": "https://host", "headers": {"Key": f"{SECRET} {text}"}}}}
    with pytest.raises(InvalidInput, match=rf"mcpServers\.s\.headers\.Key {error}") as caught:
        mcp_servers(config)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b'{"mcpServers": {}}', None),
        (b'\xef\xbb\xbf{"mcpServers": {}}', None),
        (b"{\n  // mine\n}", "is no JSON, which has no comments: .* in line 2, column 3"),
        (b"[]", "is no object; it is"),
        (b'{"a": "\xff"}', "is no JSON in UTF-8"),
        (b"[" * 100_000, "is no JSON in UTF-8"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file(content: bytes | None, error: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    if content is not None:
        path.write_bytes(content)
    if error is None:
        assert load_file(path) == {"mcpServers": {}}
        return
    with pytest.raises(InvalidInput, match=error):
        load_file(path)


async def test_a_file_is_read_when_it_is_entered(tmp_path: Path) -> None:
    """In a thread, as a path and as a text."""
    path = tmp_path / "mcp.json"
    async with mcp_servers(_write(path, {"mcpServers": {}})) as servers:
        assert servers.tools == []
    refused = mcp_servers(str(_write(path, {"mcpServers": {"s": {"comand": "a"}}})))
    with pytest.raises(InvalidInput, match="has no command and no url"):
        await refused.__aenter__()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"config": 7}, "config is int; it is the path of a JSON file"),
        ({"config": {"mcpServers": {}}, "only": "s"}, "only is the text 's'; it is a list of names of servers"),
        (
            {"config": {"mcpServers": {}}, "only": ["s"]},
            "only names 's', and there is no such server, or it is disabled",
        ),
        ({"config": {"mcpServers": {}}, "timeout": 0}, "timeout is 0; it is seconds above 0, or None"),
        ({"config": {"mcpServers": {}}, "on_error": "ignore"}, "on_error is 'ignore'; it is 'raise' or 'skip'"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        mcp_servers(**arguments)


def _write(path: Path, config: object) -> Path:
    path.write_text(json.dumps(config))
    return path
