"""``hocket models``: which providers can be used now, and which models a server has.

What a provider tells about itself, both optional, is asked here only: its factory's ``setup_needed()`` returns None or,
as one line, what has to be done before it can be used; its models' ``alist_models()`` asks the server what it serves.
"""

import argparse
from collections.abc import Iterator
from typing import Any

__all__ = ["HELP", "configure", "run", "served_models"]

HELP = "List the providers, and whether they can be used now; of one provider or server, the models that it has."

PATIENCE = 5.0  # seconds for a server to answer
NAMED = 3  # models that the table names


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument("provider", nargs="?", help="ask this provider's server for its models")
    parser.add_argument("--base-url", help="ask this server, which speaks OpenAI's format unless a provider is named")


def run(arguments: argparse.Namespace) -> None:
    """Print a table of the providers, or the models of one, a line each.

    Raises:
        HocketError: the provider is unknown, cannot be used, or its server does not answer.
    """
    is_table = arguments.provider is None and arguments.base_url is None
    print(*(_table() if is_table else served_models(arguments.provider or "openai", arguments.base_url)), sep="\n")


def served_models(provider: str, base_url: str | None = None) -> list[str]:
    """Return the names of the models that a server has, in its order.

    Raises:
        HocketError: the provider is unknown, cannot tell, or its server does not answer.
    """
    from hocket._runtime.portal import run_in_portal
    from hocket.errors import Unsupported
    from hocket.language_models.registry import load_provider

    options: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    ask = getattr(load_provider(provider)(model="?", **options), "alist_models", None)
    if ask is None:
        raise Unsupported("it has no list of its models", provider=provider)
    names: list[str] = run_in_portal(ask)
    return names


def _table() -> Iterator[str]:
    """Yield a line for each provider; their servers are asked at once."""
    import anyio

    from hocket._runtime.portal import run_in_portal
    from hocket.language_models.registry import list_providers

    names = list_providers()
    states: dict[str, str] = {}

    async def note_state(name: str) -> None:
        states[name] = await _state(name)

    async def ask_all() -> None:
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(note_state, name)

    run_in_portal(ask_all)
    width = max(map(len, names))
    for name in names:
        yield f"{name:<{width}}  {states[name]}"


async def _state(provider: str) -> str:
    """Return whether a provider can be used, and if not what to do."""
    import anyio

    from hocket.cli.exits import one_line
    from hocket.errors import LLMError
    from hocket.language_models.registry import load_provider

    try:
        factory = load_provider(provider)
        if needed := getattr(factory, "setup_needed", lambda: None)():
            return f"no   {needed}"
        ask = getattr(factory(model="?"), "alist_models", None)
        if ask is None:
            return "yes"
        with anyio.move_on_after(PATIENCE):
            return f"yes  {_few(list(await ask()))}"
        return f"no   its server did not answer within {PATIENCE:g} s"
    except Exception as error:  # one broken package, or server, does not hide the others
        return f"no   {error.message if isinstance(error, LLMError) else one_line(error)}"


def _few(models: list[str]) -> str:
    more = len(models) - NAMED
    return ", ".join([*models[:NAMED], *([f"and {more} more"] if more > 0 else [])])
