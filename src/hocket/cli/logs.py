"""``hocket logs``: what was said with ``hocket chat``, listed and searched; and the log of ``llm`` taken over.

The log is the talks themselves, the files that ``--continue`` goes on with. They are read anew each time: there is no
index beside them, a second copy of what was said in confidence that would have to be kept in step, and forgotten, too.
"""

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser, parse_count
from hocket.cli.folders import write_own_file
from hocket.cli.output import accept_any_text, note, print_lines, squeeze
from hocket.errors import InvalidInput
from hocket.errors.hints import shorten

if TYPE_CHECKING:
    from hocket.cli.llm_logs import LoggedTalk
    from hocket.messages import UsageMetadata

__all__ = ["HELP", "configure", "run"]

HELP = "Show what was said with `hocket chat`, and search it."

_LIST = "The same as `hocket logs` alone."
_PATH = "Print the folder of the talks, and say whether they are kept."
_ON = "Keep what is said, after `hocket logs off`."
_OFF = "Keep no talks any more; those that are there stay."
_IMPORT = "Take over the conversations of llm's log."
_LAST = "last"


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.set_defaults(act=_list)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    made: dict[str, OneLineParser] = {}
    for name, text, act in (
        ("list", _LIST, _list),
        ("path", _PATH, _print_path),
        ("on", _ON, _turn),
        ("off", _OFF, _turn),
        ("import", _IMPORT, _import),
    ):
        made[name] = commands.add_parser(name, help=text, description=text)
        made[name].set_defaults(act=act, word=name)
    made["import"].declare("path PATH", "of llm's database; `llm logs path` prints it")
    for one, default in ((parser, None), (made["list"], argparse.SUPPRESS)):
        one.declare(
            "-n --count N", "answers to show, the last ones; 0: all (default: 3)", type=_parse_most, default=default
        )
        one.declare("-q --query WORDS", "only those where all these words were said", default=default)
        one.declare("-m --model NAME", "only those of models with this in their name", default=default)
        one.declare(
            "-c --conversation ID", "only those of this talk, all of it; last: of the last one", default=default
        )
        one.declare("-s --short", "a line for each", default=default)
        one.declare("--json", "a JSON object for each", default=default)
        one.declare("-r --response", "the last answer alone", default=default)
        for flags, which in (("-x --extract", "first"), ("--xl --extract-last", "last")):
            about = f"of the last answer the {which} block of code alone"
            one.declare(flags, about, action="store_const", const=which, dest="extract", default=default)


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: no talks are kept, there is no such talk, or the log of llm cannot be read.
        HistoryError: a file of a talk is damaged; the text names it.
    """
    accept_any_text()
    arguments.act(arguments)


def _parse_most(text: str) -> int:
    return sys.maxsize if text == "0" else parse_count(text)


@dataclass(frozen=True)
class _Entry:
    """A question and its answer.

    Attributes:
        talk: the name of the talk's file, without its suffix.
        at: when something was said last in that talk.
        model: which answered.
        question, answer: what was said; of attachments only the texts.
        usage: tokens, as far as they were reported.
    """

    talk: str
    at: str
    model: str | None
    question: str
    answer: str
    usage: "UsageMetadata | None"


def _list(arguments: argparse.Namespace) -> None:
    from hocket.cli.code_blocks import cut_code

    most = arguments.count or (sys.maxsize if arguments.conversation else 3)
    is_one = arguments.response or arguments.extract
    found: list[_Entry] = []
    for entry in _find_entries(arguments):
        found.append(entry)
        if len(found) >= (1 if is_one else most):
            break
    if not found:
        note("nothing was said that this would show")
    elif is_one:
        answer = found[0].answer
        print_lines([cut_code(answer, arguments.extract).rstrip("\n") if arguments.extract else answer])
    for entry in () if is_one else reversed(found):
        if arguments.json:
            print_lines([json.dumps(asdict(entry), ensure_ascii=False)])
        else:
            print_lines(_write_short(entry) if arguments.short else _write(entry))


def _find_entries(arguments: argparse.Namespace) -> Iterator[_Entry]:
    """Yield what was said and is wanted, the last first."""
    from hocket.cli.chat.talks import list_talks
    from hocket.vectorstores.words import split_query, split_words

    talks = list_talks(_find_folder())
    if arguments.conversation == _LAST:
        talks = talks[:1]
    elif arguments.conversation:
        talks = [path for path in talks if path.stem.startswith(arguments.conversation)]
        if len(talks) != 1:
            raise InvalidInput(
                f"{len(talks)} talks are called {arguments.conversation}…; `hocket logs -s` shows their names"
            )
    words = set(split_query(arguments.query or ""))
    for path in talks:
        for names, entry in reversed(_read_talk(path)):
            is_model = not arguments.model or arguments.model.casefold() in names.casefold()
            if is_model and words <= {*split_words(entry.question), *split_words(entry.answer)}:
                yield entry


def _read_talk(path: Path) -> list[tuple[str, _Entry]]:
    """Return the exchanges of a talk, each with all names of its model."""
    from hocket.chat_history import FileChatMessageHistory
    from hocket.cli.chat.talks import read_settings
    from hocket.message_toolkit.exchanges import split_exchanges
    from hocket.messages import AIMessage, HumanMessage

    asked = read_settings(path.with_suffix(".json")).model
    at = datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(timespec="seconds")
    entries: list[tuple[str, _Entry]] = []
    for exchange in split_exchanges(FileChatMessageHistory(path).messages):
        question = "\n\n".join(one.text for one in exchange if isinstance(one, HumanMessage))
        answers = [one for one in exchange if isinstance(one, AIMessage)]
        answer = "\n\n".join(one.text for one in answers if one.text)
        facts = answers[-1].response_metadata if answers else {}
        model: str | None = facts.get("model_name", asked)
        usage = answers[-1].usage_metadata if answers else None
        entries.append((f"{model} {asked}", _Entry(path.stem, at, model, question, answer, usage)))
    return entries


def _show_model(entry: _Entry) -> str:
    return shorten(squeeze(entry.model or "-"), 80)


def _write_short(entry: _Entry) -> list[str]:
    return [f"{entry.talk}  {_show_model(entry)}  {shorten(squeeze(entry.question), 80)}"]


def _write(entry: _Entry) -> list[str]:
    question = [f"> {line}".rstrip() for line in entry.question.splitlines()]
    return [
        f"# {entry.talk}, {entry.at[:16].replace('T', ' ')}, {_show_model(entry)}",
        "",
        *question,
        "",
        entry.answer,
        "",
    ]


def _find_folder() -> Path:
    from hocket.cli.chat.talks import find_talks_folder

    folder = find_talks_folder()
    if folder is None:
        raise InvalidInput("no talks are kept: HOCKET_TALKS is empty; it names the folder")
    return folder


def _print_path(arguments: argparse.Namespace) -> None:
    from hocket.cli.chat.talks import are_talks_kept

    print_lines([str(_find_folder())])
    note("talks are kept" if are_talks_kept() else "no talks are kept; `hocket logs on` has them kept")


def _turn(arguments: argparse.Namespace) -> None:
    from hocket.cli.chat.talks import find_switch

    switch = find_switch()
    try:
        if arguments.word == "on":
            switch.unlink(missing_ok=True)
        else:
            write_own_file(switch, "")
    except OSError as error:
        raise InvalidInput(f"{switch} cannot be changed: {error.strerror}") from None
    if "HOCKET_TALKS" in os.environ:
        note("HOCKET_TALKS is set, and goes before it")
    _print_path(arguments)


def _import(arguments: argparse.Namespace) -> None:
    from hocket.cli.chat.talks import MOST, list_talks
    from hocket.cli.llm_logs import read_llm_logs

    folder = _find_folder()
    known = {path.stem for path in folder.glob("*.jsonl")}
    talks = [talk for talk in read_llm_logs(arguments.path) if _name(talk) not in known]
    room = max(0, MOST - 1 - len(list_talks(folder)))
    for talk in talks[:room]:
        _keep(talk, folder / f"{_name(talk)}.jsonl")
    note(f"{len(talks[:room])} conversations are taken over into {folder}")
    if len(talks) > room:
        note(f"the {len(talks) - room} oldest are left out, since {MOST} talks are kept")


def _name(talk: "LoggedTalk") -> str:
    return f"{talk.at.astimezone():%Y%m%d-%H%M%S}-" + re.sub(r"\W", "", talk.id)[-40:]


def _keep(talk: "LoggedTalk", path: Path) -> None:
    """Write a talk as `hocket chat` does, whole or not at all, with the time when it was held."""
    from hocket.chat_history import FileChatMessageHistory
    from hocket.cli.chat.talks import Talk, TalkSettings
    from hocket.errors import UnknownModel
    from hocket.language_models.registry import resolve_model_name
    from hocket.message_toolkit.exchanges import split_exchanges

    model = talk.model
    with contextlib.suppress(UnknownModel):  # one that only llm's plugins know
        model = resolve_model_name(model, served=False)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    history = FileChatMessageHistory(beside, make_directory=True)
    for exchange in split_exchanges(talk.messages):
        history.add_messages(exchange)
    os.utime(beside, (talk.at.timestamp(), talk.at.timestamp()))
    Talk(path, TalkSettings(model, system=talk.system)).keep_settings()
    beside.replace(path)
