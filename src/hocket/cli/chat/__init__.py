"""``hocket chat``: one question and its answer, or, without a question, a conversation."""

from hocket.cli.chat.command import HELP, configure, run

__all__ = ["HELP", "configure", "run"]
