"""``hocket "question"`` is ``hocket chat "question"``: which command is meant where none is named.

A first word that is nearly a command is not asked as a question, which costs money and says nothing of the mistake.
"""

from collections.abc import Collection, Sequence

from hocket.cli.standard_input import is_piped
from hocket.errors.hints import near_name

__all__ = ["DEFAULT", "find_mistyped", "is_help_of_none", "name_command"]

DEFAULT = "chat"
"""The command that is meant where none is named."""

_OWN = ("-h", "--help", "--version")
_NEAR = 0.75  # of difflib's likeness: one letter wrong, missing, too many, or two in the wrong order
# Words that questions begin with, as near to a command as a mistyped one is.
_WORDS = frozenset(
    {"what", "that", "chart", "set", "use", "as", "match", "catch", "cast"}
    | {"complete", "competition", "compilation", "composition"}
)


def name_command(commands: Collection[str], words: Sequence[str]) -> list[str]:
    """Return the words of the command line with the command in front, also where it was left out.

    Without any word, a question that is piped in is asked.
    """
    if not words:
        return [DEFAULT] if is_piped(by_socket=False) else []
    if words[0] == "help" and len(words) <= 2 and set(words[1:]) <= set(commands):
        return [*words[1:], "--help"]
    if words[0] in commands or words[0] in _OWN:
        return [*words]
    return [DEFAULT, *words]


def find_mistyped(commands: Collection[str], words: Sequence[str]) -> str | None:
    """Return the command that the first word is nearly, or None if it is one, an option, or part of a question."""
    if not words or words[0] in commands or words[0] in _WORDS:
        return None
    if not (words[0].isalpha() and words[0].islower()):
        return None
    return near_name(words[0], commands, _NEAR)


def is_help_of_none(commands: Collection[str], words: Sequence[str]) -> bool:
    """Whether help is asked for, of a word that is no command."""
    return len(words) == 2 and words[1] in ("-h", "--help") and words[0].isalpha() and words[0] not in commands
