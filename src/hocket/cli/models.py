"""``hocket models``: which providers can be used now, and which models a server has.

A name of ``alist_models()`` may have a ``note``, such as the model's size.
"""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser, parse_base_url
from hocket.cli.keys import read_keys
from hocket.cli.output import print_lines, squeeze
from hocket.errors import Unsupported

if TYPE_CHECKING:
    from hocket.cli.provider_table import AskForModels

__all__ = ["HELP", "configure", "fetch_models", "run"]

HELP = "List the providers, and whether they can be used now; for one provider or server, its models."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("provider", "ask this provider's server for its models", nargs="?")
    parser.declare(
        "--base-url URL",
        "ask this server, which speaks OpenAI's format unless a provider is named",
        type=parse_base_url,
    )


def run(arguments: argparse.Namespace) -> None:
    """Print a table of the providers, or the models of one, a line each.

    Raises:
        HocketError: the provider is unknown, cannot be used, or its server does not answer.
    """
    is_table = arguments.provider is None and arguments.base_url is None
    if is_table:
        from hocket.cli.provider_table import list_provider_lines

        read_keys()  # a file that is refused is told, rather than that each provider wants a key
        print_lines(list_provider_lines())
    else:
        print_lines(_write_names(fetch_models(arguments.provider or "openai", arguments.base_url)))


def fetch_models(provider: str, base_url: str | None = None) -> Sequence[str]:
    """Ask a server which models it has; return their names in its order.

    Raises:
        HocketError: the provider is unknown, cannot tell, or its server does not answer.
    """
    from hocket._runtime.portal import run_in_portal
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
