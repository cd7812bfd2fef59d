"""The tools of an MCP server as hocket's.

Their names are what providers take: MCP allows 128 characters, and dots. A name that fits stays. Others get an underscore
for each character that does not fit, and are cut. Where that makes two names one, both get the beginning of their hash:
what a tool is called must not depend on the order of the list, for a conversation that goes on tomorrow holds calls by
name.
"""

import functools
import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from mcp.types import Tool

from hocket._runtime.closing import AsyncClosing
from hocket.agents.mcp.address import MCPServerLike, read_address
from hocket.agents.mcp.connection import ServerConnection
from hocket.agents.mcp.content import call_tool, check_result, read_call_result, read_error
from hocket.errors import InvalidInput, ToolException
from hocket.errors.hints import excerpt, near_name_hint
from hocket.messages.content import Fields
from hocket.tools import BaseTool, StructuredTool
from hocket.tools.names import fit_name, is_tool_name

_log = logging.getLogger("hocket.agents.mcp")

__all__ = [
    "LONGEST_TOOL_NAME",
    "MCPTools",
    "assign_names",
    "check_timeout",
    "choose_tools",
    "make_tool",
    "mcp_tools",
    "tell_apart",
]


class MCPTools(AsyncClosing):
    """The tools of a server, while a connection to it is open; made by `mcp_tools`. To be entered once."""

    def __init__(
        self, connect: Callable[[], ServerConnection], prefix: str, only: frozenset[str] | None, defer: bool
    ) -> None:
        self._connect = connect
        self._connection: ServerConnection | None = None
        self._prefix = prefix
        self._only = only
        self._defer = defer

    async def __aenter__(self) -> list[BaseTool]:  # type: ignore[override]  # the block is given the tools
        """Connect, and return the tools."""
        if self._connection is not None:
            raise InvalidInput("a connection to an MCP server is opened once; call mcp_tools again for another one")
        self._connection = self._connect()
        listed = await self._connection.open()
        try:
            names = assign_names([tool.name for tool in listed], self._prefix)
            chosen = choose_tools(listed, self._only)
            made = [make_tool(self._connection, one, names[one.name], defer=self._defer) for one in chosen]
            return [tool for tool in made if tool is not None]
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Close the connection: calls that run end with an error, and a server that was started here ends.

        From any task of the event loop, any number of times.
        """
        if self._connection is not None:
            await self._connection.aclose()


def mcp_tools(
    server: MCPServerLike,
    *,
    prefix: str = "",
    only: Iterable[str] | None = None,
    timeout: float | None = 60,
    defer: bool = False,
    reconnect: bool = True,
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
        defer: whether each tool says of itself (``extras={"defer_loading": True}``) that a model may be shown it when it
            is needed, and not at once.
        reconnect: whether the next call starts or reaches a server again that has gone, at most three times in a minute.
            Calls that were under way are not made again, unless their tool is idempotent, and then once. The tools stay
            those that were listed first. Never for a transport of the package ``mcp``, which is entered once.

    Raises:
        InvalidInput: an argument cannot be used; on entering: ``only`` names a tool that is not there.
        ToolServerUnavailable: on entering: the server cannot be started or reached, or does not answer in time.
    """
    check_timeout(timeout)
    if prefix and not is_tool_name(prefix):
        raise InvalidInput(
            f"prefix is {prefix!r}; names of tools have only A-Z, a-z, 0-9, _ and -, and at most 64 of them"
        )
    if isinstance(only, str):
        raise InvalidInput(f"only is the text {only!r}; it is a list of names")
    connect = functools.partial(ServerConnection, read_address(server), timeout, reconnect)
    return MCPTools(connect, prefix, None if only is None else frozenset(only), defer)


def check_timeout(timeout: object) -> None:
    """Refuse a limit on time that is none."""
    if timeout is not None and not (isinstance(timeout, int | float) and timeout > 0):
        raise InvalidInput(f"timeout is {timeout!r}; it is seconds above 0, or None")


def choose_tools(listed: Sequence[Tool], only: Collection[str] | None) -> list[Tool]:
    """Return the tools that are wanted, by the server's names, each name once; None: all."""
    tools: dict[str, Tool] = {}
    for tool in listed:
        tools.setdefault(tool.name, tool)
    for name in sorted({*(only or ())} - tools.keys()):
        raise InvalidInput(f"only names {name!r}, and the server has no such tool; {near_name_hint(name, tools)}")
    return [tool for name, tool in tools.items() if only is None or name in only]


def make_tool(
    connection: ServerConnection, listed: Tool, name: str, *, defer: bool, server: str | None = None
) -> BaseTool | None:
    """Return a tool of a server as hocket's, called ``name`` here; None, which is logged: its schema cannot be used.

    ``server`` is what a configuration calls the server.
    """
    hints = listed.annotations
    metadata: Fields = {"mcp_name": listed.name}
    if server is not None:
        metadata["mcp_server"] = server
    if hints is not None and (hints.idempotent_hint or hints.read_only_hint):
        metadata["idempotent"] = True

    async def call(**arguments: object) -> tuple[str | list[Fields], object]:
        result = await connection.ask(
            lambda client: call_tool(client, listed.name, arguments), is_idempotent="idempotent" in metadata
        )
        if result.is_error:
            # hocket's own servers say which tool failed, and so does what reports this.
            raise ToolException(connection.clean(read_error(result).removeprefix(f"{listed.name} failed: ")))
        check_result(result, listed.output_schema)
        return read_call_result(result)

    try:
        return StructuredTool(
            name=name,
            description=listed.description or listed.title or "",
            args_schema=listed.input_schema,
            coroutine=call,
            response_format="content_and_artifact",
            metadata=metadata,
            extras={"defer_loading": True} if defer else None,
        )
    except ValueError as error:
        _log.warning("the tool %s of an MCP server is left out: %s", excerpt(listed.name), excerpt(str(error), 300))
        return None


LONGEST_TOOL_NAME = 64
"""Characters that a tool's name may have; providers take no more."""

_DIGITS, _MORE_DIGITS = 8, 32  # of a hash: few, unless somebody has looked for two names with one


def assign_names(names: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Return names for a server's tools, behind ``prefix``, by the server's names; see `tell_apart`."""
    return tell_apart({name: prefix + (name or "tool") for name in names})


def tell_apart(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return names of tools by keys of their own: what is wanted, made to fit, and different in any case."""
    cut = {key: fit_name(name) for key, name in wanted.items()}
    counts = Counter(cut.values())
    owners = Counter(name for key, name in cut.items() if name == wanted[key])
    kept = {name: key for key, name in cut.items() if counts[name] == 1 or (owners[name] == 1 and name == wanted[key])}
    assigned = _add_hashes(cut, dict(kept), _DIGITS)
    return assigned if len({*assigned.values()}) == len(assigned) else _add_hashes(cut, kept, _MORE_DIGITS)


def _add_hashes(cut: Mapping[str, str], kept: dict[str, str], digits: int) -> dict[str, str]:
    """Return names by their keys: those in ``kept``, by name, stay, unless another one with its hash is the same."""
    assigned = dict(cut)
    waiting = [key for key, name in cut.items() if kept.get(name) != key]
    for key in waiting:
        assigned[key] = made = _add_hash(cut[key], key, digits)
        if made in kept:
            waiting.append(kept.pop(made))
    return assigned


def _add_hash(made: str, key: str, digits: int) -> str:
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:digits]
    return f"{made[: LONGEST_TOOL_NAME - digits - 1]}_{digest}"
