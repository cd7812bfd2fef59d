"""All servers of tools of a JSON file, together.

They are started at once, for a file has a dozen, of which some take seconds. What their tools are called is decided for
all together: `name_tool` of two servers can be one name, and a server must not take the place of another's tool.
"""

import functools
from collections.abc import Iterable, Mapping
from contextlib import AsyncExitStack
from os import PathLike
from typing import Literal, Self, cast

import anyio
from mcp.types import Prompt, Resource, Tool

from hocket._runtime.closing import AsyncClosing
from hocket._runtime.mode import ASYNC
from hocket.agents.mcp.address import ServerAddress
from hocket.agents.mcp.client import check_timeout, choose_tools, make_tool, tell_apart
from hocket.agents.mcp.config import MCPConfig, load_file, read_addresses
from hocket.agents.mcp.connection import ServerConnection, read_pages
from hocket.agents.mcp.content import read_prompt_messages, read_resource
from hocket.errors import InvalidInput, ToolServerUnavailable
from hocket.errors.hints import near_name_hint
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.tools import BaseTool

__all__ = ["MCPServers", "mcp_servers"]

_ENTER = "enter it: async with mcp_servers(...) as servers"


class MCPServers(AsyncClosing):
    """The servers of a configuration, while they are open; made by `mcp_servers`. To be entered once.

    Attributes:
        tools: those of all servers, called by the server's name, an underscore and the tool's name.
            ``metadata["mcp_server"]`` is the name of the server, ``metadata["mcp_name"]`` the server's own name of the tool.
        unavailable: the servers that could not be used, with ``on_error="skip"``, and why.
    """

    def __init__(
        self,
        config: MCPConfig,
        only: Iterable[str] | None,
        timeout: float | None,
        defer: bool,
        skips: bool,
        reconnect: bool,
    ) -> None:
        self.tools: list[BaseTool] = []
        self.unavailable: dict[str, ToolServerUnavailable] = {}
        self._path = config if isinstance(config, str | PathLike) else None
        self._only = None if only is None else frozenset(only)
        self._defer = defer
        self._skips = skips
        self._connect = functools.partial(ServerConnection, timeout=timeout, reconnect=reconnect)
        self._addresses = self._choose(read_addresses(config)) if isinstance(config, Mapping) else None
        self._connections: dict[str, ServerConnection] = {}

    async def __aenter__(self) -> Self:
        """Start all servers, and list their tools."""
        if self._connections:
            raise InvalidInput("servers are entered once; call mcp_servers again")
        if self._path is not None:
            self._addresses = self._choose(read_addresses(await ASYNC.call_sync(load_file, self._path)))
        self._connections = {name: self._connect(address) for name, address in (self._addresses or {}).items()}
        try:
            self._make_tools(await self._open())
        except BaseException:
            await self.aclose()
            raise
        return self

    async def aclose(self) -> None:
        """Close all connections, at once: calls that run end with an error, and the servers that were started end.

        From any task of the event loop, any number of times.
        """
        async with AsyncExitStack() as stack:
            for connection in self._connections.values():
                connection.stop()
                stack.push_async_callback(connection.aclose)

    async def list_resources(self, server: str) -> list[Resource]:
        """Return what resources a server lists: each has a ``uri`` and a ``name``.

        Raises, as the other three:
            InvalidInput: there is no server of this name.
            ToolServerUnavailable: the server could not be used, or has gone.
            ToolTimeout: it took too long.
            ToolException: the server refuses, or its answer cannot be used.
        """
        return await self._get(server).ask(
            lambda client: read_pages("resources", client.list_resources, lambda page: page.resources),
            is_idempotent=True,
        )

    async def read_resource(self, server: str, uri: str) -> list[Fields]:
        """Return the content blocks of a resource."""
        result = await self._get(server).ask(lambda client: client.read_resource(uri), is_idempotent=True)
        return read_resource(result)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """Return what prompts a server lists: each has a ``name``, and ``arguments``."""
        return await self._get(server).ask(
            lambda client: read_pages("prompts", client.list_prompts, lambda page: page.prompts), is_idempotent=True
        )

    async def get_prompt(self, server: str, name: str, args: Mapping[str, str] | None = None) -> list[BaseMessage]:
        """Return the messages of a prompt, with arguments filled in by the server."""
        filled = dict(args or {})
        result = await self._get(server).ask(lambda client: client.get_prompt(name, filled), is_idempotent=True)
        return read_prompt_messages(result)

    def _choose(self, addresses: dict[str, ServerAddress]) -> dict[str, ServerAddress]:
        if self._only is None:
            return addresses
        for name in sorted(self._only - addresses.keys()):
            raise InvalidInput(
                f"only names {name!r}, and there is no such server, or it is disabled; {near_name_hint(name, addresses)}"
            )
        return {name: address for name, address in addresses.items() if name in self._only}

    async def _open(self) -> dict[str, list[Tool]]:
        """Connect to all servers at once, and return what each lists."""
        listed: dict[str, list[Tool]] = {}

        async def open_one(name: str) -> None:
            try:
                listed[name] = await self._connections[name].open()
            except ToolServerUnavailable as error:
                self.unavailable[name] = error
                if not self._skips:
                    group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for name in self._connections:
                group.start_soon(open_one, name)
        for error in self.unavailable.values():
            if not self._skips:
                raise error
        return listed

    def _make_tools(self, listed: Mapping[str, list[Tool]]) -> None:
        found = {
            f"{server}\0{tool.name}": (server, tool)
            for server in self._connections
            for tool in choose_tools(listed.get(server, ()), None)
        }
        names = tell_apart({key: f"{server}_{tool.name or 'tool'}" for key, (server, tool) in found.items()})
        for key, (server, tool) in found.items():
            if made := make_tool(self._connections[server], tool, names[key], defer=self._defer, server=server):
                self.tools.append(made)

    def _get(self, server: str) -> ServerConnection:
        if server in self.unavailable:
            raise self.unavailable[server]
        if server not in self._connections:
            known = near_name_hint(server, self._connections) if self._connections else _ENTER
            raise InvalidInput(f"there is no server {server!r}; {known}")
        return self._connections[server]


def mcp_servers(
    config: MCPConfig,
    *,
    only: Iterable[str] | None = None,
    timeout: float | None = 60,
    defer: bool = True,
    on_error: Literal["raise", "skip"] = "raise",
    reconnect: bool = True,
) -> MCPServers:
    """Use the tools of all servers of a JSON file: ``async with mcp_servers("mcp.json") as servers``.

    The file is that of Claude Desktop, Claude Code and Cursor: ``{"mcpServers": {name: ...}}``, where a server has a
    ``command``, with ``args``, ``env`` and ``cwd``, or a ``url``, with ``headers``; ``disabled`` ones are left out.
    ``${NAME}`` and ``${NAME:-default}`` in values are read from the environment. Other keys are refused.
    Of each tool all holds that `mcp_tools` says.

    Args:
        config: the path of the file, or what it holds, as a dict.
        only: the names of the servers to use; default: all.
        timeout: seconds that it may take to start all servers and to list their tools, and that each call may take;
            None: no limit.
        defer: whether each tool says of itself (``extras={"defer_loading": True}``) that a model may be shown it when it
            is needed, and not at once.
        on_error: what happens if a server cannot be used: "raise" its error, and end the others; or "skip" it: then it
            is in ``unavailable``.
        reconnect: whether a server that has gone is started or reached again, as `mcp_tools` has it; one that was
            skipped is not.

    Raises:
        InvalidInput: an argument cannot be used; for a file, on entering: it cannot be read, or a key is missing,
            unknown or of the wrong type, or a variable has no value.
        ToolServerUnavailable: on entering: a server cannot be started or reached, or does not answer in time.
    """
    if not isinstance(cast(object, config), str | PathLike | Mapping):
        raise InvalidInput(
            f"config is {type(config).__name__}; it is the path of a JSON file, or what it holds as a dict"
        )
    if isinstance(only, str):
        raise InvalidInput(f"only is the text {only!r}; it is a list of names of servers")
    if on_error not in ("raise", "skip"):
        raise InvalidInput(f"on_error is {on_error!r}; it is 'raise' or 'skip'")
    check_timeout(timeout)
    return MCPServers(config, only, timeout, defer, on_error == "skip", reconnect)
