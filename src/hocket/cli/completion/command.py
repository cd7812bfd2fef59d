"""The arguments of ``hocket completion``, and what it prints."""

import argparse

from hocket.cli.output import print_lines

__all__ = ["HELP", "configure", "run"]

HELP = "Print a script that has a shell complete hocket's commands, options and providers."


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this subcommand."""
    parser.add_argument(
        "shell",
        choices=["bash", "zsh", "fish"],
        help='for ~/.bashrc or ~/.zshrc:  eval "$(hocket completion bash)"; fish:  hocket completion fish | source',
    )


def run(arguments: argparse.Namespace) -> None:
    """Print the script. Neither this nor a shell that has it loads a model, or asks a server."""
    from hocket.cli.completion.scripts import write_script
    from hocket.cli.completion.tree import read_places

    print_lines([write_script(arguments.shell, read_places(arguments.parser))])
