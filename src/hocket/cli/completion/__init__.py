"""``hocket completion``: a script that has a shell complete the command's words, made from its one parser."""

from hocket.cli.completion.command import HELP, configure, run

__all__ = ["HELP", "configure", "run"]
