"""An ASGI application on a port of this machine, until Ctrl-C."""

import socket
from collections.abc import Awaitable, Callable

from hocket.cli.output import note

__all__ = ["run_app"]

_GRACE = 3  # seconds that requests may take to end after Ctrl-C


def run_app(app: Callable[..., Awaitable[None]], host: str, port: int, describe: Callable[[str], str]) -> None:
    """Serve an application, and say on standard error where.

    Args:
        app: what is served.
        host, port: where; port 0: a free one.
        describe: what is said of it, out of its address ``http://HOST:PORT``.

    Raises:
        MissingDependency: uvicorn is not installed.
        OSError: the address is taken, or is none of this machine's.
    """
    from hocket.errors import MissingDependency

    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependency("serving needs uvicorn; run `pip install 'hocket[serve]'`") from error
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        shown = f"[{host}]" if ":" in host else host
        note(describe(f"http://{shown}:{listener.getsockname()[1]}"))
        config = uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=_GRACE)
        uvicorn.Server(config).run(sockets=[listener])
