"""``hocket mcp serve``: tools of a module, served to any program that speaks the Model Context Protocol."""

import argparse
import contextlib
import signal

from hocket.cli.arguments import OneLineParser
from hocket.cli.named_objects import load_tools
from hocket.cli.serve import run_app

__all__ = ["HELP", "configure", "run"]

HELP = "Serve tools to programs that speak the Model Context Protocol (MCP)."
_SERVE = "Serve the tools of a module: over standard input and output, or over HTTP."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    serve = commands.add_parser("serve", help=_SERVE, description=_SERVE)
    serve.declare("tools MODULE:NAME", "a tool, a function, or a list of them")
    serve.declare(
        "--http HOST:PORT",
        "serve streamable HTTP at http://HOST:PORT/mcp, to everybody who can reach it; port 0: a free one",
        type=_parse_listener,
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve until the client leaves, or, over HTTP, until Ctrl-C.

    Raises:
        InvalidInput: there are no such tools, or they cannot be served.
        MissingDependency: the extra ``mcp`` is not installed.
        OSError: the address is taken.
    """
    tools = load_tools(arguments.tools)
    from hocket.agents.mcp import mcp_server  # it takes seconds, and a typing mistake is known before

    server = mcp_server(tools)
    if arguments.http is None:
        import anyio

        # A thread that reads standard input cannot be cancelled: handlers of Python's would wait for the next line.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        anyio.run(server.run_stdio)
    else:
        host, port = arguments.http
        run_app(server.make_http_app(host), host, port, lambda url: f"{len(server.tools)} tools at {url}/mcp")


def _parse_listener(text: str) -> tuple[str, int]:
    """Return a host and a port.

    Raises:
        ArgumentTypeError: it is none.
    """
    from urllib.parse import urlsplit

    host, port, rest = None, None, ""
    with contextlib.suppress(ValueError):  # a port that is no number, half of an IPv6 address
        parts = urlsplit(f"//{text}")
        host, port, rest = parts.hostname, parts.port, f"{parts.path}{parts.query}{parts.username or ''}"
    if not host or port is None or rest:
        raise argparse.ArgumentTypeError(f"{text!r} is no host and port; they look like 127.0.0.1:8000")
    return host, port
