"""``hocket serve``: models and agents behind the APIs of OpenAI and Anthropic, for every program that speaks one."""

import argparse
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hocket.cli.arguments import OneLineParser, parse_count, parse_seconds
from hocket.cli.bulk import add_ledger_option, use_ledger
from hocket.cli.named_objects import load_object
from hocket.cli.output import note
from hocket.cli.stop_signals import end_by_hangup
from hocket.errors import InvalidInput, MissingDependency

if TYPE_CHECKING:
    from hocket.caches import BaseCache
    from hocket.language_models import BaseChatModel

__all__ = ["HELP", "configure", "run", "run_app"]

HELP = "Serve models and agents to programs that speak OpenAI's or Anthropic's API."
_GRACE = 3  # seconds that requests may take to end after Ctrl-C, before their clients are told
_LOCAL = ("127.0.0.1", "localhost", "::1")


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare(
        "models MODEL", "provider:model, see `hocket models`, which clients call by that name; or NAME=MODEL", nargs="*"
    )
    parser.declare("--agent NAME=MODULE:OBJECT ...", "an agent of a program, which clients call by NAME")
    parser.declare("--litellm FILE", "the groups of a LiteLLM proxy's file, by their names and aliases", type=Path)
    parser.declare("--embeddings MODEL ...", "an embedding model, by the same names; or NAME=MODEL")
    parser.declare("--host HOST", "the address to listen at (default: %(default)s)", default=_LOCAL[0])
    parser.declare("--port PORT", "the port (default: %(default)s); 0: a free one", type=_parse_port, default=8000)
    parser.declare("--key-file FILE", "a file with the keys of the clients, a line each, KEY or NAME KEY", type=Path)
    parser.declare(
        "--budget USD/PERIOD", "limit on the cost a day or a month, for each named key: 5/day", type=_parse_budget
    )
    add_ledger_option(parser)
    parser.declare(
        "--cache CACHE",
        "answer equal questions from there: an SQLite file, sqlite:///..., redis://... or postgresql://...",
    )
    parser.declare(
        "--timeout SECONDS", "the most that a call of a MODEL may take, with its waits and attempts", type=parse_seconds
    )
    parser.declare("--retry N", "the most attempts of a call of a MODEL", type=parse_count)
    parser.declare(
        "--max-concurrency N", "answers under way at once; further ones get 429, to come again", type=parse_count
    )
    parser.declare("--upstream-errors", "send the error messages of the models' servers to clients")
    parser.declare(
        "--unsupported POLICY",
        "raise (default): refuse options that a model cannot take, and parts of --litellm FILE that are not done here; "
        "drop: leave them out",
        choices=("raise", "drop"),
        default="raise",
    )
    parser.declare("--cors ORIGIN ...", "an origin whose pages may ask, such as https://app.example")
    parser.declare(
        "--metrics", "serve numbers for Prometheus at /metrics, with the key HOCKET_METRICS_KEY, if that is set"
    )
    parser.declare("--page", "serve a page at /page/: models side by side, runs, costs")


def run(arguments: argparse.Namespace) -> None:
    """Serve until Ctrl-C.

    Raises:
        InvalidInput: an option is wrong, or everybody could use the models.
        UnknownModel, MissingDependency: a model cannot be used.
        OSError: the address is taken.
    """
    from hocket._asgi import is_loopback

    names, embedders = _read_names(arguments.models), _read_names(arguments.embeddings)
    agents = _read_names(arguments.agent)
    keys = None if arguments.key_file is None else _read_keys(arguments.key_file)
    if not is_loopback(arguments.host) and keys is None:
        raise InvalidInput(
            f"--host {arguments.host} lets other machines in, who could use the models at your cost; give --key-file FILE"
        )
    from hocket.embeddings import init_embeddings
    from hocket.serving import openai_app

    use_ledger(arguments.ledger)
    if arguments.cache is not None:
        from hocket.globals import set_llm_cache

        set_llm_cache(_open_cache(arguments.cache))
    options = {name: value for name in ("timeout", "retry") if (value := getattr(arguments, name)) is not None}
    budget = _hold_budget(arguments.budget, is_named=isinstance(keys, dict))
    models: dict[str, Any] = {name: _open_model(model, options) for name, model in names.items()}
    for further in (
        {}
        if arguments.litellm is None
        else _open_groups(arguments.litellm, arguments.unsupported, has_keys=bool(keys)),
        {name: init_embeddings(model) for name, model in embedders.items()},
        {name: load_object(place, "agent") for name, place in agents.items()},
    ):
        if twice := models.keys() & further.keys():
            raise InvalidInput(f"two models are called {min(twice)!r}; give one another name, NAME=MODEL")
        models |= further
    if not models:
        raise InvalidInput("there is nothing to serve: name a MODEL, --agent, --litellm or --embeddings")

    def describe(url: str) -> str:
        page = f", a page at {url}/page/" if arguments.page else ""
        return f"{', '.join(models)} at {url}/v1{page}; Ctrl-C ends it"

    with budget:
        app = openai_app(
            models,
            keys=keys,
            max_concurrency=arguments.max_concurrency,
            metrics=arguments.metrics and (os.environ.get("HOCKET_METRICS_KEY") or True),
            upstream_errors=arguments.upstream_errors,
            unsupported=arguments.unsupported,
            cors=arguments.cors,
            page=arguments.page,
        )
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
    import logging  # not at the top: every command loads this module for its options
    import socket

    import anyio

    from hocket.serving.exchange import finish_requests

    try:
        import uvicorn
    except ImportError as error:
        raise MissingDependency("serving needs uvicorn; run `pip install 'hocket[serve]'`") from error
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listener:
        shown = f"[{host}]" if ":" in host else host
        note(describe(f"http://{shown}:{listener.getsockname()[1]}"))
        config = uvicorn.Config(
            app, log_config=None, log_level="warning", ws="none", timeout_graceful_shutdown=_GRACE + 2
        )
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s")

        class Server(uvicorn.Server):
            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                async with anyio.create_task_group() as finishing:
                    finishing.start_soon(finish_requests, _GRACE)
                    await super().shutdown(sockets)
                    finishing.cancel_scope.cancel()

        with end_by_hangup():
            Server(config).run(sockets=[listener])


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


def _read_keys(path: Path) -> list[str] | dict[str, list[str]]:
    """Return the keys of a file, without empty lines and comments; of tenants, where each line has a name before its key.

    Raises:
        InvalidInput: it cannot be read, or only some of its keys have names.
    """
    try:
        lines = map(str.split, path.read_text("utf-8-sig").splitlines())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(f"--key-file {path}: {reason}") from None
    keys = [line for line in lines if line and not line[0].startswith("#")]
    if not keys:
        raise InvalidInput(f"--key-file {path} has no key; write one on a line of its own")
    if len({*map(len, keys)}) > 1 or len(keys[0]) > 2:
        raise InvalidInput(f"--key-file {path}: each line is KEY, or each is NAME KEY, with a space between")
    if len(keys[0]) == 1:
        return [key for [key] in keys]
    tenants: dict[str, list[str]] = {}
    for name, key in keys:
        tenants.setdefault(name, []).append(key)
    return tenants


def _parse_budget(text: str) -> tuple[str, str]:
    """Return an amount and a period.

    Raises:
        ArgumentTypeError: it is none.
    """
    usd, _, per = text.partition("/")
    if not usd or per not in ("day", "month"):
        raise argparse.ArgumentTypeError(f"{text!r} is no budget; write USD/day or USD/month, such as 5/day")
    return usd, per


def _hold_budget(limit: tuple[str, str] | None, *, is_named: bool) -> AbstractContextManager[None]:
    """Return a block in which all that is asked may cost so much together; of each tenant, where keys have names.

    It holds for the process, and not for the models that the command opens: agents bring models of their own.
    """
    if limit is None:
        return nullcontext()
    from hocket.budgets import Budget
    from hocket.budgets.block import hold_everywhere

    usd, per = limit
    return hold_everywhere(Budget(usd, per="day" if per == "day" else "month", by="tenant" if is_named else None))


def _open_cache(address: str) -> "BaseCache":
    """Return the cache at an address. Nothing is opened before it is used.

    Raises:
        InvalidInput: it is none of a cache.
        MissingDependency: a package is missing.
    """
    from hocket._databases.urls import parse_address
    from hocket.caches import PostgresCache, RedisCache, SQLiteCache

    kind, place = parse_address(address, "a cache")
    if kind == "redis":
        return RedisCache(place)
    return PostgresCache(place) if kind == "postgres" else SQLiteCache(place)


def _open_model(name: str, options: Mapping[str, object]) -> "BaseChatModel":
    """Return a model that is ready: one of this process is loaded now, and not at the first request."""
    from hocket.cli.choice import open_first_model
    from hocket.cli.model_options import GivenOptions

    model = open_first_model(name, None, GivenOptions(options)).model
    if (load := getattr(model, "load", None)) is not None:
        load()
    return model


def _open_groups(path: Path, unsupported: str, *, has_keys: bool) -> dict[str, Any]:
    """Return the models of a LiteLLM proxy's file. Its master key is answered by keys of ours, and by nothing else.

    Raises:
        InvalidInput: the file is wrong, or parts of it are not done here.
    """
    import warnings

    from hocket.routing import routers_from_litellm
    from hocket.routing.litellm_file import read_litellm_file, read_mapping

    said = read_litellm_file(path)
    general = read_mapping(said.pop("general_settings", None), "general_settings")
    if has_keys:
        general.pop("master_key", None)
    leaves_out = unsupported == "drop" and not general.get("master_key")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        models = routers_from_litellm(
            {**said, "general_settings": general}, unsupported="warn" if leaves_out else "raise"
        )
    for warning in caught:
        note(str(warning.message))
    return dict(models)
