"""``hocket serve``: models behind OpenAI's API, for every program that speaks it."""

import argparse
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser, parse_count
from hocket.cli.output import note
from hocket.errors import InvalidInput, MissingDependency

if TYPE_CHECKING:
    from hocket.language_models import BaseChatModel

__all__ = ["HELP", "configure", "run", "run_app"]

HELP = "Serve models to programs that speak OpenAI's API."
_GRACE = 3  # seconds that requests may take to end after Ctrl-C
_LOCAL = ("127.0.0.1", "localhost", "::1")


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare(
        "models MODEL", "provider:model, see `hocket models`, which clients call by that name; or NAME=MODEL", nargs="+"
    )
    parser.declare("--host HOST", "the address to listen at (default: %(default)s)", default=_LOCAL[0])
    parser.declare("--port PORT", "the port (default: %(default)s); 0: a free one", type=_parse_port, default=8000)
    parser.declare("--key-file FILE", "a file with the keys of the clients, a line each; default: no key", type=Path)
    parser.declare("--max-concurrency N", "answers under way at once; others are told to come again", type=parse_count)
    parser.declare("--upstream-errors", "tell clients what the models' servers say of failures")
    parser.declare("--metrics", "serve numbers for Prometheus at /metrics")
    parser.declare("--page", "serve a page at /page/: models side by side, what has run, what it cost")


def run(arguments: argparse.Namespace) -> None:
    """Serve until Ctrl-C.

    Raises:
        InvalidInput: an option is wrong, or everybody could use the models.
        UnknownModel, MissingDependency: a model cannot be used.
        OSError: the address is taken.
    """
    from hocket._asgi import is_loopback

    names = _read_names(arguments.models)
    keys = None if arguments.key_file is None else _read_keys(arguments.key_file)
    is_open = not is_loopback(arguments.host)
    if is_open and keys is None:
        raise InvalidInput(
            f"--host {arguments.host} lets other machines in, who could use the models at your cost; give --key-file FILE"
        )
    from hocket.serving import openai_app

    models = {name: _open_model(model) for name, model in names.items()}
    app = openai_app(
        models,
        keys=keys,
        max_concurrency=arguments.max_concurrency,
        metrics=arguments.metrics,
        upstream_errors=arguments.upstream_errors,
        page=arguments.page,
    )

    def describe(url: str) -> str:
        page = f", a page at {url}/page/" if arguments.page else ""
        return f"{', '.join(models)} at {url}/v1{page}; Ctrl-C ends it"

    run_app(app, arguments.host, arguments.port, describe)


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
    import socket

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


def _parse_port(text: str) -> int:
    """Return a port.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no port, a number below 65536")
    return int(text)


def _read_names(texts: Sequence[str]) -> dict[str, str]:
    """Return models by their names: what stands before ``=``, unless that is part of the model's own name.

    Raises:
        InvalidInput: two are called the same, or one half is missing.
    """
    names: dict[str, str] = {}
    for text in texts:
        name, equals, model = text.partition("=")
        if not equals or ":" in name or "/" in name:
            name = model = text
        if not name or not model:
            raise InvalidInput(f"{text!r} is neither MODEL nor NAME=MODEL")
        if name in names:
            raise InvalidInput(f"two models are called {name!r}; give one another name, NAME=MODEL")
        names[name] = model
    return names


def _read_keys(path: Path) -> list[str]:
    """Return the keys of a file, without empty lines and comments.

    Raises:
        InvalidInput: it cannot be read.
    """
    try:
        lines = map(str.strip, path.read_text().splitlines())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(f"--key-file {path}: {reason}") from None
    keys = [line for line in lines if line and not line.startswith("#")]
    if not keys:
        raise InvalidInput(f"--key-file {path} has no key; write one on a line of its own")
    return keys


def _open_model(name: str) -> "BaseChatModel":
    """Return a model that is ready: one of this process is loaded now, and not at the first request."""
    from hocket.cli.choice import open_first_model
    from hocket.cli.model_options import GivenOptions

    model = open_first_model(name, None, GivenOptions()).model
    if (load := getattr(model, "load", None)) is not None:
        load()
    return model
