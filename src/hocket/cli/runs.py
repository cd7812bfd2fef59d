"""``hocket runs``: durable runs of any program, looked at and told something; and a process that works on them."""

import argparse
import json
import os
import signal
import time
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser, parse_count
from hocket.cli.named_objects import load_object
from hocket.cli.output import accept_any_text, note, print_lines
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from hocket.durable import Run, Runs

__all__ = ["HELP", "STATUSES", "configure", "run"]

HELP = "Look at durable runs, decide their waiting calls, cancel them, or work on them."

_LIST = "List runs, the newest first."
_SHOW = "Show how a run stands, what it waits for, and what was said."
_SIGNAL = "Send a signal that a run waits for, or will."
_DECIDE = "Decide a call of an agent's tool that waits for it."
_CANCEL = "Call a run off, wherever it is."
_RESUME = "Have a run go on that has failed, or was called off."
_WORK = "Work on the runs of a program until Ctrl-C."

STATUSES = ("queued", "running", "waiting", "done", "failed", "cancelled")
"""How a run may stand, as `hocket.durable` says it, which is not imported here."""
_A_DAY = 86_400


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    made: dict[str, OneLineParser] = {}
    for name, text, act in (
        ("list", _LIST, _list),
        ("show", _SHOW, _show),
        ("signal", _SIGNAL, _signal),
        ("decide", _DECIDE, _decide),
        ("cancel", _CANCEL, _cancel),
        ("resume", _RESUME, _resume),
    ):
        command = made[name] = commands.add_parser(name, help=text, description=text)
        if name != "list":
            command.declare("id ID", "of the run")
        command.declare("--store URL", "where the runs are: sqlite:///path or postgresql://...", required=True)
        command.declare("--json", "print JSON: an object for each run")
        command.set_defaults(act=act)
    made["list"].declare("--status STATUS", f"only these: {', '.join(STATUSES)}", choices=STATUSES)
    made["list"].declare("--name NAME", "only runs of this name")
    made["list"].declare("--limit N", "as many at most (default: %(default)s)", type=parse_count, default=100)
    made["list"].declare("--before ID", "only runs older than this one: the last of a list begins the next")
    made["signal"].declare("name NAME", "of the signal")
    made["signal"].declare("value JSON", "what the run gets: true, 3, '\"a text\"' ...", nargs="?", type=_parse_json)
    made["decide"].declare("call CALL", "the id of the call, see `hocket runs show`")
    made["decide"].declare(
        "decision DECISION",
        "approve, reject, respond (with --message, which is the result), or edit (with --args)",
        choices=("approve", "reject", "respond", "edit"),
    )
    made["decide"].declare("--message TEXT", "why it is rejected; or the result, of respond")
    made["decide"].declare("--args JSON", "with which arguments it is made, of edit", type=_parse_json)
    made["resume"].declare(
        "--rerun WHICH",
        "always: make again, too, what was begun and whose end nobody saw",
        choices=("idempotent", "always"),
        default="idempotent",
    )
    made["resume"].declare("--version VERSION", "of the code, to go on under; default: the run's own")
    work = commands.add_parser("work", help=_WORK, description=_WORK)
    work.declare("runs MODULE:OBJECT", "what open_runs() has returned, in a program of yours")
    work.set_defaults(act=_work)


def run(arguments: argparse.Namespace) -> None:
    """Do what was asked for.

    Raises:
        InvalidInput: there are no runs at the address, or what is told is not what the run waits for.
        UnknownRun: there is no such run.
        EngineUnavailable: the store cannot be reached.
        MissingDependency: dbos is not installed.
        KeyboardInterrupt: Ctrl-C.
    """
    arguments.act(arguments)


def _parse_json(text: str) -> object:
    """Return what a text of JSON says.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return json.loads(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON; a text is written '\"so\"'") from None


def _open(arguments: argparse.Namespace) -> "Runs":
    """Return the runs of the address, of which there have to be some: to look makes none.

    Raises:
        InvalidInput: there are none.
    """
    from hocket.durable import open_runs

    accept_any_text()
    runs = open_runs(arguments.store)
    from hocket.durable.database import RunDatabase  # which needs what the line before has looked for

    if not RunDatabase(arguments.store).is_made():
        raise InvalidInput(f"there are no durable runs at {runs.address}")
    return runs


def _list(arguments: argparse.Namespace) -> None:
    from hocket.cli.run_views import describe_info, write_runs

    infos = _open(arguments).list_runs(
        status=arguments.status, name=arguments.name, limit=arguments.limit, before=arguments.before
    )
    print_lines(map(_to_json, map(describe_info, infos)) if arguments.json else write_runs(infos))


def _show(arguments: argparse.Namespace) -> None:
    from hocket.cli.run_views import ShownRun, write_run

    run = _open(arguments).run(arguments.id)
    info = run.info()
    output = run.result() if info.status == "done" else None
    output = getattr(output, "output", output)  # an agent's result has its messages besides
    shown = ShownRun(info, run.pending(), run.messages(), output)
    print_lines([_to_json(shown.describe())] if arguments.json else write_run(shown))


def _signal(arguments: argparse.Namespace) -> None:
    run = _open(arguments).run(arguments.id)
    run.signal(arguments.name, arguments.value)
    _tell(run, arguments, f"the signal {arguments.name!r} was sent")


def _decide(arguments: argparse.Namespace) -> None:
    decision: dict[str, object] = {"type": arguments.decision}
    if arguments.message is not None:
        decision["message"] = arguments.message
    if arguments.args is not None:
        decision["args"] = arguments.args
    run = _open(arguments).run(arguments.id)
    run.decide({arguments.call: decision})
    _tell(run, arguments, f"{arguments.call} is decided: {arguments.decision}")


def _cancel(arguments: argparse.Namespace) -> None:
    run = _open(arguments).run(arguments.id)
    run.cancel()
    _tell(run, arguments, "it is called off, unless it had ended before")


def _resume(arguments: argparse.Namespace) -> None:
    run = _open(arguments).run(arguments.id)
    run.resume(rerun=arguments.rerun, version=arguments.version)
    _tell(run, arguments, "it goes on, as soon as a process works on its runs")


def _tell(run: "Run[object]", arguments: argparse.Namespace, done: str) -> None:
    """Say what was done, and how the run stands."""
    from hocket.cli.run_views import describe_info

    info = run.info()
    note(f"{info.id}: {done}; it is {info.status} now")
    if arguments.json:
        print_lines([_to_json(describe_info(info))])


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _work(arguments: argparse.Namespace) -> None:
    from hocket.durable import Runs

    runs = load_object(arguments.runs, "runs")
    if not isinstance(runs, Runs):
        raise InvalidInput(f"{arguments.runs} is {type(runs).__name__}; it is what open_runs() returns")
    if not runs.durables:
        raise InvalidInput(f"{arguments.runs} has nothing to work on; runs.durable(...) says what there are runs of")
    if not runs.max_concurrency:
        raise InvalidInput(
            f"{arguments.runs} has max_concurrency=0, with which a process works on none; give it a number"
        )
    names = ", ".join(f"{one.name} {one.version}" for one in runs.durables)
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with runs:
            note(f"works on {names} at {runs.address}; Ctrl-C ends it")
            try:
                while True:
                    time.sleep(_A_DAY)
            except (KeyboardInterrupt, SystemExit):
                for number in usual:
                    signal.signal(number, _end_at_once)
                note("ends; its runs go on in another process, or in the next; Ctrl-C again: at once")
                raise
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _end_at_once(number: int, frame: object) -> None:
    os._exit(128 + number)
