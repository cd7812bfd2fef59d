"""``hocket logs``: what was said with ``hocket chat``, listed and searched; and the log of ``llm``, taken over.

The log is the talks themselves, the files that ``--continue`` goes on with. They are read again each time: there is no
index beside them, a second copy of what was said in confidence that would have to be kept in step, and forgotten, too.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from hocket.cli.arguments import OneLineParser, parse_count
from hocket.cli.output import accept_any_text, note, print_lines, squeeze
from hocket.errors import InvalidInput
from hocket.errors.hints import shorten

__all__ = ["HELP", "configure", "run"]

HELP = "Show the messages of `hocket chat`, and search them."

_LIST = "The same as `hocket logs` alone."
_PATH = "Print the folder of the talks."
_IMPORT = "Take over the conversations of llm's log."
_FEW = 3  # answers that are shown where nobody says how many

Entry = dict[str, object]
"""A question and its answer: ``talk``, the name of its file; ``at``, when something was said last there; ``model``,
``question``, ``asked``, the question without what ``-f`` put before it, ``answer``, ``usage``."""


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    parser.set_defaults(act="list")
    made: dict[str, OneLineParser] = {}
    for name, text in (("list", _LIST), ("path", _PATH), ("import", _IMPORT)):
        made[name] = commands.add_parser(name, help=text, description=text)
        made[name].set_defaults(act=name)
    made["import"].declare("path PATH", "of llm's database; `llm logs path` prints it")
    for one, default in ((parser, None), (made["list"], argparse.SUPPRESS)):
        about = f"answers to show, the last ones; 0: all (default: {_FEW})"
        one.declare("-n --count N", about, type=_parse_most, default=default)
        one.declare("-q --query WORDS", "only those where all these words were said", default=default)
        one.declare("-m --model NAME", "only those of models with this in their name", default=default)
        one.declare(
            "-c --conversation ID", "all of this talk, by the beginning of its name; last: the last", default=default
        )
        one.declare("-s --short", "a line for each", default=default)
        one.declare("--json", "a JSON object for each", default=default)
        one.declare("-r --response", "the last answer alone", default=default)
        for flags, which in (("-x --extract", "first"), ("--xl --extract-last", "last")):
            about = f"of the last answer the {which} block of code alone"
            one.declare(flags, about, action="store_const", const=which, dest="extract", default=default)


def _parse_most(text: str) -> int:
    return sys.maxsize if text == "0" else parse_count(text)


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: no talks are kept, there is no such talk, or the log of llm cannot be read.
        HistoryError: a file of a talk is damaged; the text names it.
    """
    from hocket.cli.chat.talks import find_talks_folder

    accept_any_text()
    folder = find_talks_folder()
    if folder is None:
        raise InvalidInput("no talks are kept: HOCKET_TALKS is empty; it names the folder")
    match arguments.act:
        case "path":
            print_lines([str(folder)])
        case "import":
            from hocket.cli.llm_logs import import_llm_logs

            import_llm_logs(arguments.path, folder)
        case _:
            _show(arguments, folder)


def _show(arguments: argparse.Namespace, folder: Path) -> None:
    from hocket.cli.code_blocks import cut_code

    is_one = arguments.response or arguments.extract
    most = 1 if is_one else arguments.count or (sys.maxsize if arguments.conversation else _FEW)
    found: list[Entry] = []
    for entry in _find_entries(arguments, folder):
        found.append(entry)
        if len(found) >= most:
            break
    if not found:
        note("nothing was said that this would show")
    for entry in reversed(found):
        answer = str(entry["answer"])
        name = shorten(squeeze(str(entry["model"] or "-")), 80)
        if is_one:
            print_lines([cut_code(answer, arguments.extract).rstrip("\n") if arguments.extract else answer])
        elif arguments.json:
            print_lines([json.dumps(entry)])
        elif arguments.short:
            print_lines([f"{entry['talk']}  {name}  {shorten(squeeze(str(entry['asked'])), 80)}"])
        else:
            asked = [f"> {line}".rstrip() for line in str(entry["question"]).splitlines()]
            print_lines([f"# {entry['talk']}, {str(entry['at'])[:16]}, {name}", "", *asked, "", answer, ""])


def _find_entries(arguments: argparse.Namespace, folder: Path) -> Iterator[Entry]:
    """Yield what was said and is wanted, the last first."""
    from hocket.cli.chat.talks import list_talks, read_settings
    from hocket.vectorstores.words import split_query, split_words

    talks = list_talks(folder)
    if arguments.conversation == "last":
        talks = talks[:1]
    elif arguments.conversation:
        talks = [path for path in talks if path.stem.startswith(arguments.conversation)]
        if len(talks) != 1:
            raise InvalidInput(f"{len(talks)} talks are called {arguments.conversation}…; `hocket logs -s` shows names")
    words = set(split_query(arguments.query or ""))
    model = (arguments.model or "").casefold()
    for path in talks:
        asked = read_settings(path.with_suffix(".json")).model
        for entry in _read_talk(path, asked):
            is_model = model in f"{asked} {entry['model']}".casefold()
            if is_model and words <= set(split_words(f"{entry['question']}\n{entry['answer']}")):
                yield entry


def _read_talk(path: Path, asked: str | None) -> Iterator[Entry]:
    """Yield the exchanges of a talk, the last first."""
    from hocket.chat_history import FileChatMessageHistory
    from hocket.cli.chat.attachments import drop_fragments
    from hocket.message_toolkit.exchanges import split_exchanges
    from hocket.messages import AIMessage, HumanMessage

    try:
        at = datetime.fromtimestamp(path.stat().st_mtime).astimezone().isoformat(" ", timespec="seconds")
    except FileNotFoundError:  # removed meanwhile
        return
    for exchange in reversed(split_exchanges(FileChatMessageHistory(path).messages)):
        answers = [one for one in exchange if isinstance(one, AIMessage)]
        asks = [one for one in exchange if isinstance(one, HumanMessage)]
        yield {
            "talk": path.stem,
            "at": at,
            "model": answers[-1].response_metadata.get("model_name", asked) if answers else asked,
            "question": "\n\n".join(one.text for one in asks),
            "asked": "\n\n".join(map(drop_fragments, asks)),
            "answer": "\n\n".join(one.text for one in answers if one.text),
            "usage": answers[-1].usage_metadata if answers else None,
        }
