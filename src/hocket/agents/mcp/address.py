"""Where a server of tools is, and what of that may be shown.

Errors of tools go to models and into logs. So of a URL only its origin is shown: some servers have a key in the path. Of
a command, values of options that sound secret are masked, and so is whatever the environment holds under such a name.
"""

import os
import shlex
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import NamedTuple, TextIO, TypeAlias, cast
from urllib.parse import urlsplit

import anyio
import httpx2
from mcp import MCPError, StdioServerParameters, stdio_client
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer, Server

from hocket._runtime.cancellation import only
from hocket._runtime.mode import ASYNC
from hocket._secrets import MASK, is_sensitive, redact, redact_url
from hocket.agents.mcp.incoming import BOUNDED_UTF8, LARGEST_MESSAGE, bound_response
from hocket.agents.mcp.server import ToolServer
from hocket.errors import InvalidInput
from hocket.errors.hints import shorten
from hocket.http.address import parse_url

__all__ = ["MCPServerLike", "SDKServer", "ServerAddress", "read_address", "read_url"]

MCPServerLike: TypeAlias = "str | Sequence[str] | ToolServer | StdioServerParameters | Transport | Server | MCPServer"
"""A command, a URL, what `mcp_server` returned, or what the client of the package ``mcp`` takes."""

SDKServer: TypeAlias = "Transport | Server | MCPServer"

_PATIENCE = 30.0  # seconds to connect, and to send
_LONGEST = 300  # characters of a command, or of a failure, that are shown


class ServerAddress(NamedTuple):
    """Where a server is.

    Attributes:
        shown: what it is called in errors.
        connect: returns what is entered while it is used, and gives what the SDK's client takes.
        secrets: what must not be shown, beyond what looks like a key.
        clue: goes behind why it cannot be used: where the reason is to be found, or what else to try; "": nothing.
        is_reusable: whether ``connect`` can be called again.
    """

    shown: str
    connect: Callable[[], "AbstractAsyncContextManager[SDKServer]"]
    secrets: Sequence[str] = ()
    clue: str = ""
    is_reusable: bool = True

    def explain(self, error: BaseException) -> str:
        """Return an error, or the first one of a group, in words that can be shown."""
        cause = only(error)
        return self.clean(
            cause.message if isinstance(cause, MCPError) else f"{type(cause).__name__}: {cause}", _LONGEST
        )

    def clean(self, said: str, longest: int = 100_000) -> str:
        """Return the beginning of what a server said of a failure, without secrets."""
        return redact(said[: longest * 2], self.secrets)[:longest]


def read_address(server: MCPServerLike) -> ServerAddress:
    """Return the address of a server, or refuse what is none."""
    if isinstance(server, ToolServer):
        return ServerAddress(f"the server {server.name!r}", lambda: nullcontext(server.sdk))
    if isinstance(server, Server | MCPServer):
        return ServerAddress(f"the server {server.name!r}", lambda: nullcontext(server))
    if isinstance(server, StdioServerParameters):
        return _read_command([server.command, *server.args], server)
    if isinstance(server, str):
        if server.startswith(("http://", "https://")):
            return read_url(server)
        return _read_command(_split(server))
    if isinstance(server, AbstractAsyncContextManager):
        # Most are entered once.
        return ServerAddress("the server", lambda: nullcontext(server), is_reusable=False)
    if isinstance(server, Sequence) and all(isinstance(part, str) for part in cast("Sequence[object]", server)):
        return _read_command(server)
    raise InvalidInput(
        f"server is {type(server).__name__}; it is a command (a text, or a list of texts), a URL (http://… or https://…), "
        "what mcp_server() returned, or what mcp.Client takes"
    )


def read_url(url: str, headers: Mapping[str, str] | None = None) -> ServerAddress:
    """Return the address of a server of streamable HTTP. ``headers`` are sent with each request, and never shown."""
    parse_url(url)
    for name, value in (headers or {}).items():
        if not (name + value).isprintable():
            raise InvalidInput(
                f"the header {name!r} has a character that cannot be printed, as a line break; take it out"
            )
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    secrets = [url, parts.password or "", parts.username or "", parts.path, parts.query]
    secrets += [part for value in (headers or {}).values() for part in (value, value.rpartition(" ")[2])]
    hint = "; of a server that speaks server-sent events alone (SSE), give mcp.client.sse.sse_client(url)"
    return ServerAddress(f"the server at {origin}", lambda: _reach(url, headers), secrets, hint)


@asynccontextmanager
async def _reach(url: str, headers: Mapping[str, str] | None) -> AsyncGenerator[SDKServer]:
    """Give the SDK a client of HTTP that was made in a thread: it imports modules, and reads certificates from files.

    How long a call may take is not its business, but the connection's.
    """
    timeout = httpx2.Timeout(_PATIENCE, read=None)
    sent = {**(headers or {}), "accept-encoding": "identity"}
    hooks = {"response": [bound_response]}
    async with await ASYNC.call_sync(httpx2.AsyncClient, timeout=timeout, headers=sent, event_hooks=hooks) as client:
        yield streamable_http_client(url, http_client=client, max_sse_event_size=LARGEST_MESSAGE)


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"the command of the server cannot be read: {error}; give a list of its parts") from None


def _read_command(parts: Sequence[str], parameters: StdioServerParameters | None = None) -> ServerAddress:
    if not parts or not parts[0]:
        raise InvalidInput("the command of the server is empty; name a program, and its arguments")
    if any("\0" in part for part in parts):
        raise InvalidInput("the command of the server holds a NUL, which no argument of a program can; take it out")
    given = StdioServerParameters(command=parts[0], args=[*parts[1:]]) if parameters is None else parameters
    masked, secrets = _mask_options(parts)
    secrets += [value for name, value in {**os.environ, **(given.env or {})}.items() if is_sensitive(name)]
    shown = shorten(redact(shlex.join(masked), secrets), _LONGEST)
    if given.encoding == "utf-8":
        given = given.model_copy(update={"encoding": BOUNDED_UTF8})
    # Not `sys.stderr`, which has no file descriptor in a notebook, or where a test captures it.
    errors = sys.__stderr__ or sys.stderr
    # The SDK keeps the process, and its exit code, to itself.
    clue = "; its standard error may say why"
    return ServerAddress(
        f"the server {shown!r}", lambda: nullcontext(cast(Transport, _start(given, errors))), secrets, clue
    )


@asynccontextmanager
async def _start(given: StdioServerParameters, errors: TextIO) -> AsyncGenerator[object]:
    """Start a process, to its end: one that is half started when a cancellation strikes asyncio kills, and does not reap."""
    with anyio.CancelScope(
        shield=True
    ) as start:  # it ends where the SDK's own task group does, which is around the same
        async with stdio_client(given, errlog=errors) as streams:
            start.shield = False
            yield streams


def _mask_options(parts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return a command without the values of options, and of variables, whose names sound secret; and these values."""
    shown: list[str] = []
    secrets: list[str] = []
    is_value = False
    for part in parts:
        name, has_value, value = part.partition("=")
        is_secret = is_sensitive(name) and bool(shown)
        if is_value and not part.startswith("-"):
            shown.append(MASK)
            secrets.append(part)
        elif is_secret and has_value:
            shown.append(f"{name}={MASK}")
            secrets.append(value)
        else:
            shown.append(redact_url(part))
        is_value = part.startswith("-") and is_secret and not has_value
    return shown, secrets
