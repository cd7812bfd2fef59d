"""The tools of an MCP server as hocket's.

Their names are what providers take: MCP allows 128 characters, and dots. A name that fits stays. Others get an underscore
for each character that does not fit, and are cut. Where that makes two names one, both get the beginning of their hash:
what a tool is called must not depend on the order of the list, for a conversation that goes on tomorrow holds calls by
name.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from types import TracebackType

from mcp.types import Tool

from hocket.agents.mcp.address import MCPServerLike, read_address
from hocket.agents.mcp.connection import ServerConnection
from hocket.agents.mcp.content import read_error, read_result
from hocket.errors import InvalidInput, ToolException
from hocket.errors.hints import near_name_hint
from hocket.messages.content import Fields
from hocket.tools import BaseTool, StructuredTool
from hocket.tools.names import is_tool_name

__all__ = ["LONGEST_TOOL_NAME", "MCPTools", "assign_names", "mcp_tools"]


class MCPTools:
    """The tools of a server, while a connection to it is open; made by `mcp_tools`. To be entered once."""

    def __init__(self, connection: ServerConnection, prefix: str, only: frozenset[str] | None) -> None:
        self._connection = connection
        self._prefix = prefix
        self._only = only

    async def __aenter__(self) -> list[BaseTool]:
        """Connect, and return the tools."""
        listed = {tool.name: tool for tool in await self._connection.open()}
        try:
            return self._make_tools(listed)
        except BaseException:
            await self.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection: calls that run end with an error, and a server that was started here ends.

        From any task of the event loop, any number of times.
        """
        await self._connection.aclose()

    def _make_tools(self, listed: dict[str, Tool]) -> list[BaseTool]:
        wanted = listed.keys() if self._only is None else self._only
        for name in sorted(wanted - listed.keys()):
            raise InvalidInput(f"only names {name!r}, and the server has no such tool; {near_name_hint(name, listed)}")
        names = assign_names(listed, self._prefix)
        return [_make_tool(self._connection, tool, names[name]) for name, tool in listed.items() if name in wanted]


def mcp_tools(
    server: MCPServerLike,
    *,
    prefix: str = "",
    only: Iterable[str] | None = None,
    timeout: float | None = 60,
) -> MCPTools:
    """Use the tools of an MCP server: ``async with mcp_tools("uvx some-server") as tools``.

    A tool has the server's description and schema, by which arguments are checked here before they are sent. Its name is
    the server's, made to fit for providers; ``metadata["mcp_name"]`` is the real one. ``metadata["idempotent"]`` is True
    where the server says that it is idempotent or reads only. Structured content is the artifact of the result.

    The connection may be closed from another task than the one that opened it. A call that fails, or a server that has
    gone, is a `ToolException`, which `arun_tool_calls` and agents tell to the model.

    Args:
        server: a command, as a text or a list, which is started, and speaks over its standard input and output; a URL of
            streamable HTTP; what `mcp_server` returned, for a server in this process; or what the client of the package
            ``mcp`` takes: `StdioServerParameters` with environment variables, or a transport with headers. A command has
            few variables of this process (``PATH``, ``HOME`` and the like), and its standard error.
        prefix: goes before the name of each tool, so that several servers can be used together.
        only: the server's names of the tools to use; default: all.
        timeout: seconds that it may take to connect and to list the tools, and that each call may take; None: no limit.

    Raises:
        InvalidInput: an argument cannot be used; on entering: ``only`` names a tool that is not there.
        ToolServerUnavailable: on entering: the server cannot be started or reached, or does not answer in time.
    """
    if timeout is not None and not timeout > 0:
        raise InvalidInput(f"timeout is {timeout!r}; it is seconds above 0, or None")
    if prefix and not is_tool_name(prefix):
        raise InvalidInput(
            f"prefix is {prefix!r}; names of tools have only A-Z, a-z, 0-9, _ and -, and at most 64 of them"
        )
    if isinstance(only, str):
        raise InvalidInput(f"only is the text {only!r}; it is a list of names")
    return MCPTools(ServerConnection(read_address(server), timeout), prefix, None if only is None else frozenset(only))


def _make_tool(connection: ServerConnection, listed: Tool, name: str) -> BaseTool:
    hints = listed.annotations
    metadata: Fields = {"mcp_name": listed.name}
    if hints is not None and (hints.idempotent_hint or hints.read_only_hint):
        metadata["idempotent"] = True

    async def call(**arguments: object) -> tuple[str | list[Fields], object]:
        result = await connection.call(listed.name, arguments)
        if result.is_error:
            # hocket's own servers say which tool failed, and so does what reports this.
            raise ToolException(read_error(result).removeprefix(f"{listed.name} failed: "))
        return read_result(result)

    return StructuredTool(
        name=name,
        description=listed.description or listed.title or "",
        args_schema=listed.input_schema,
        coroutine=call,
        response_format="content_and_artifact",
        metadata=metadata,
    )


LONGEST_TOOL_NAME = 64
"""Characters that a tool's name may have; providers take no more."""

_HASH = 8


def assign_names(names: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Return a name for each of a server's tools, by the server's name: different ones, of at most 64 characters.

    Args:
        names: the server's; different ones.
        prefix: goes before each.
    """
    cleaned = {name: prefix + (re.sub(r"[^A-Za-z0-9_-]", "_", name) or "tool") for name in names}
    cut = {name: made[:LONGEST_TOOL_NAME] for name, made in cleaned.items()}
    counts = Counter(cut.values())
    assigned: dict[str, str] = {}
    for name, made in cut.items():
        is_own = made == prefix + name
        assigned[name] = made if counts[made] == 1 or is_own else _add_hash(made, name)
    return assigned


def _add_hash(made: str, name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{made[: LONGEST_TOOL_NAME - _HASH - 1]}_{digest}"
