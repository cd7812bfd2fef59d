"""``hocket models``: which providers can be used now, and which models a server has.

What a provider tells about itself, both optional, is asked here only: its factory's ``setup_needed()`` returns None or,
as one line, what has to be done before it can be used; its models' ``alist_models()`` asks the server what it serves. A name
may have a ``note``, such as the model's size.
"""

import argparse
from collections.abc import Awaitable, Callable, Iterator, Sequence

from hocket.cli.arguments import parse_base_url
from hocket.cli.output import print_lines, squeeze

__all__ = ["HELP", "configure", "fetch_models", "run"]

HELP = "List the providers, and whether they can be used now; of one provider or server, the models that it has."

PATIENCE = 5.0  # seconds for a server to answer
NAMED = 3  # models that the table names

AskForModels = Callable[[], Awaitable[Sequence[str]]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument("provider", nargs="?", help="ask this provider's server for its models")
    parser.add_argument(
        "--base-url",
        metavar="URL",
        type=parse_base_url,
        help="ask this server, which speaks OpenAI's format unless a provider is named",
    )


def run(arguments: argparse.Namespace) -> None:
    """Print a table of the providers, or the models of one, a line each.

    Raises:
        HocketError: the provider is unknown, cannot be used, or its server does not answer.
    """
    is_table = arguments.provider is None and arguments.base_url is None
    if is_table:
        print_lines(_list_providers())
    else:
        print_lines(_write_names(fetch_models(arguments.provider or "openai", arguments.base_url)))


def fetch_models(provider: str, base_url: str | None = None) -> Sequence[str]:
    """Ask a server which models it has; return their names in its order.

    Raises:
        HocketError: the provider is unknown, cannot tell, or its server does not answer.
    """
    from hocket._runtime.portal import run_in_portal
    from hocket.errors import Unsupported
    from hocket.language_models.registry import load_provider

    options = {} if base_url is None else {"base_url": base_url}
    ask: AskForModels | None = getattr(load_provider(provider)(model="?", **options), "alist_models", None)
    if ask is None:
        raise Unsupported("it has no list of its models", provider=provider)
    return run_in_portal(ask)


def _write_names(names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each model, with the note that its name may have."""
    notes = [squeeze(getattr(name, "note", "")) for name in names]
    shown = list(map(squeeze, names))
    width = max(map(len, shown), default=0)
    for name, note in zip(shown, notes, strict=True):
        yield f"{name:<{width}}  {note}" if note else name


def _list_providers() -> Iterator[str]:
    """Yield a line for each provider; their servers are asked at once."""
    import anyio

    from hocket._runtime.portal import run_in_portal
    from hocket.language_models.registry import list_providers

    names = list_providers()
    states: dict[str, str] = {}

    async def note_state(name: str) -> None:
        states[name] = await _find_state(name)

    async def ask_all() -> None:
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(note_state, name)

    run_in_portal(ask_all)
    width = max(map(len, names))
    for name in names:
        yield f"{name:<{width}}  {states[name]}"


async def _find_state(provider: str) -> str:
    """Return whether a provider can be used, and if not what to do."""
    import anyio

    from hocket.cli.exits import explain, use_command_words
    from hocket.errors import LLMError
    from hocket.language_models.registry import load_provider

    try:
        factory = load_provider(provider)
        if needed := getattr(factory, "setup_needed", lambda: None)():
            return f"no   {use_command_words(needed)}"
        ask: AskForModels | None = getattr(factory(model="?"), "alist_models", None)
        if ask is None:
            return "yes"
        with anyio.move_on_after(PATIENCE):
            return f"yes  {_name_few(await ask())}"
        return f"no   its server did not answer within {PATIENCE:g} s"
    except Exception as error:  # one broken package, or server, does not hide the others
        return f"no   {use_command_words(error.message) if isinstance(error, LLMError) else explain(error)}"


def _name_few(models: Sequence[str]) -> str:
    more = len(models) - NAMED
    return ", ".join([*map(squeeze, models[:NAMED]), *([f"and {more} more"] if more > 0 else [])])
