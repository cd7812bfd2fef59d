"""Values on the command line, checked before anything is imported for them."""

import argparse
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypedDict, Unpack, cast

from hocket.cli.exits import MISUSED
from hocket.cli.model_options import parse_option
from hocket.cli.output import note, squeeze, wrap_line
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, near_name

__all__ = [
    "DEFAULT_SESSION",
    "OneLineParser",
    "add_history_options",
    "add_model_options",
    "add_schema_option",
    "add_tool_options",
    "parse_base_url",
    "parse_count",
    "parse_names",
    "parse_price",
    "parse_seconds",
    "parse_temperature",
    "require_writable",
]

DEFAULT_SESSION = "default"
"""The session where no other is named, of a history that is the user's own."""


class _HelpFormatter(argparse.HelpFormatter):
    """Keeps the lines of a text, broken to the terminal's width, and has no empty line where commands have no heading."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        rows = [row for line in text.splitlines() for row in wrap_line(line, width - len(indent), _find_hanging(line))]
        return "".join(f"{indent}{row}\n" for row in rows)

    def _format_action(self, action: argparse.Action) -> str:
        first, _, rest = super()._format_action(action).partition("\n")
        return f"{first}\n{rest}" if first.strip() else rest


def _find_hanging(line: str) -> int:
    """Return where the text of a row of a table begins; 0: it is none."""
    row = re.match(r"  \S+ +", line)
    return row.end() if row else 0


class _Settings(TypedDict, total=False):
    """What of `argparse.ArgumentParser.add_argument` is said by name."""

    action: str
    choices: Sequence[str]
    const: str
    default: object
    dest: str
    metavar: str | tuple[str, ...]
    nargs: str | int
    required: bool
    type: Callable[[str], object]


class OneLineParser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line, as every other error of the command is said."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_HelpFormatter, allow_abbrev=False, **settings)

    def declare(self, usage: str, about: str, **settings: Unpack[_Settings]) -> None:
        """Add an argument, written as in a line of usage.

        Args:
            usage: ``question``, or with the word that stands for its value, ``files FILE``; an option by all its names,
                ``-m --model NAME``, with several words, ``-p --param NAME VALUE``, for several values, or, without a value,
                ``--json``, which is true when given; dots behind it (``--mcp SERVER ...``): several times for several.
            about: what its help says.
            settings: of `argparse.ArgumentParser.add_argument`.
        """
        words = usage.split()
        names = [word for word in words if word.startswith("-")] or words[:1]
        value = [word for word in words[len(names) :] if word != "..."]
        if len(value) > 1:
            settings |= {"metavar": tuple(value), "nargs": len(value)}
        elif value:
            settings["metavar"] = value[0]
        elif usage.startswith("-") and "choices" not in settings:
            settings = {"action": "store_true", **settings}
        if words[-1] == "...":
            settings = {"action": "append", "default": [], **settings}
        self.add_argument(*names, help=about, **settings)

    def tell_exit_codes(self, codes: Mapping[int, str]) -> None:
        """Have its help end with the exit codes, each with its meaning; the help of its commands, too."""
        self.epilog: str | None = "\n".join(
            ["exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in codes.items())]
        )
        for _, one in self.find_commands():
            one.tell_exit_codes(codes)

    def parse_known_args(  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]  # without its overloads
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; the parser of a subcommand says itself what it has no option for, since it knows what is near.

        Raises:
            SystemExit: something is wrong, with the code for misuse.
        """
        parsed, left = super().parse_known_args(args, namespace or argparse.Namespace())
        if left:
            self.error(self._explain_unknown(left[0]))
        return parsed, left

    def list_arguments(self) -> list[argparse.Action]:
        """Return its options and arguments, but for those that are hidden."""
        return [one for one in self._actions if one.help is not argparse.SUPPRESS]

    def find_commands(self) -> "list[tuple[str, OneLineParser]]":
        """Return the commands that may stand in it, each with its parser."""
        commands = [cast("object", one.choices) for one in self._actions]
        named = [cast("Mapping[str, OneLineParser]", one) for one in commands if isinstance(one, Mapping)]
        return [item for one in named for item in one.items()]

    def _explain_unknown(self, word: str) -> str:
        name = word.partition("=")[0]
        if not name.startswith("-") or name == "-":
            return f"{excerpt(word)} is one argument too many; options come before the text, or behind it"
        options = self._option_string_actions
        near = next((one for one in options if len(name) > 3 and one.startswith(name)), near_name(name, options))
        return f"there is no option {name}" + (f"; did you mean {near}?" if near else "")

    def error(self, message: str) -> NoReturn:
        """Say it and exit.

        Raises:
            SystemExit: always, with the code for misuse.
        """
        if message.endswith("required: COMMAND"):
            message = f"name a command: {', '.join(name for name, _ in self.find_commands())}"
        refused = re.fullmatch(r"(.*)\binvalid choice: '(.*)' \(choose from (.*)\)", message, re.DOTALL)
        if refused is not None:
            choices = [word.strip("' ") for word in refused[3].split(",")]
            near = near_name(refused[2], choices)
            there_are = f"did you mean {near}?" if near else f"there are: {', '.join(choices)}"
            message = f"{refused[1].removeprefix('argument : ')}there is no {excerpt(refused[2])}; {there_are}"
        note(f"{squeeze(message)}; see {self.prog} --help")
        self.exit(MISUSED)


def parse_count(text: str) -> int:
    """Return a whole number of 1 or more.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of 1 or more")
    return int(text)


def _parse_whole_number(text: str) -> int:
    """Return a whole number.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def parse_names(text: str) -> list[str]:
    """Return names that commas separate.

    Raises:
        ArgumentTypeError: there is none, or one is empty.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of names; it looks like one,two")
    return names


def parse_seconds(text: str) -> float:
    """Return a number of seconds, 0 or more.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds of 0 or more")
    return float(text)


def parse_price(text: str) -> tuple[str, str]:
    """Return the two amounts of ``1.25,10``: US dollars a million tokens of input, and of output.

    Raises:
        ArgumentTypeError: it is no such pair.
    """
    amounts = re.fullmatch(r"(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)", text, re.ASCII)
    if amounts is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no price; it looks like 1.25,10: US dollars a million tokens of input, and of output"
        )
    return amounts[1], amounts[2]


def parse_temperature(text: str) -> float:
    """Return a number of 0 or more; how much a model takes is for its provider to say.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of 0 or more")
    return value


def parse_base_url(text: str) -> str:
    """Return the address of a server.

    Raises:
        ArgumentTypeError: it is none.
    """
    from urllib.parse import urlsplit

    try:
        url = urlsplit(text)
        is_address = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # a port that is no number, half of an IPv6 address
        is_address = False
    if not is_address:
        raise argparse.ArgumentTypeError(f"{text!r} is no address of a server; it looks like http://localhost:8080/v1")
    return text


def require_writable(option: str, path: str) -> None:
    """Look whether the file that an option names can be written, or made where it is not there.

    Raises:
        InvalidInput: it cannot.
    """
    directory = os.path.dirname(path) or os.curdir
    if not os.path.isdir(directory):
        raise InvalidInput(f"{option} {path}: there is no directory {directory}; make it first")
    if not os.access(path if os.path.exists(path) else directory, os.W_OK):
        raise InvalidInput(f"{option} {path} cannot be written; the messages would be lost")


def add_model_options(parser: OneLineParser) -> None:
    """Add the options that choose a model, and how it answers."""
    parser.declare(
        "-m --model MODEL",
        "provider:model, see `hocket models` (default: HOCKET_MODEL, else local, which runs in this process)",
    )
    parser.declare("-s --system TEXT", "instructions that come before the question")
    parser.declare(
        "--base-url URL",
        "a server that speaks OpenAI's format; without --model, the one it serves (default: HOCKET_BASE_URL, for models "
        "without a provider's name)",
        type=parse_base_url,
    )
    parser.declare("--max-tokens N", "tokens to answer with at most", type=parse_count)
    parser.declare("--temperature X", "0 is stable; higher values vary more", type=parse_temperature)
    parser.declare("--seed N", "the same seed gives the same answer", type=_parse_whole_number)
    parser.declare(
        "-o --option NAME=VALUE ...",
        "any other option of the model, such as top_p=0.9; several times for several",
        type=parse_option,
    )


def add_schema_option(parser: OneLineParser) -> None:
    """Add the option that gives answers a form."""
    parser.declare(
        "--schema FORM", "answer with an object: a JSON schema, a file of one, or fields such as 'name, age int'"
    )


def add_tool_options(parser: OneLineParser) -> None:
    """Add the options that name tools, by either spelling, and that give functions as tools."""
    about = (
        "a tool that the model may use: `calculator`, or module:name of a tool, a function, or a list of them; several "
        "times, or by commas, for several"
    )
    for flag, shown in (("--tool", about), ("--tools", argparse.SUPPRESS)):
        parser.declare(f"{flag} NAME ...", shown, dest="tools", action="extend", type=parse_names)
    parser.declare("--functions CODE ...", "code of Python, or a file of it, whose public functions are tools")


def add_history_options(parser: OneLineParser) -> None:
    """Add the options that name a conversation that is kept."""
    parser.declare(
        "--history WHERE",
        "go on with the conversation that is kept there, and keep what is said: a file, or a directory/ with one for each "
        "session; sqlite:///..., redis://... or postgresql://...",
    )
    parser.declare(
        "--session NAME",
        f"which of the conversations that are kept there (default: {DEFAULT_SESSION}; on a server, name yours)",
    )
