"""``hocket eval run``: a target asked for each case, its answers scored; a run that was stopped goes on.

The table goes to standard output, and how far the run is to standard error.
"""

import argparse
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from hocket.cli.arguments import OneLineParser, add_model_options, add_schema_option, parse_count, require_writable
from hocket.cli.bulk import add_bulk_options, run_bulk, use_price
from hocket.cli.eval.verdicts import (
    add_verdict_options,
    check_page,
    find_faults,
    find_low_rates,
    parse_share,
    print_result,
    tell_faults,
)
from hocket.cli.model_options import GivenOptions, read_model_options
from hocket.cli.named_objects import load_object
from hocket.cli.progress import explain_stop
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

if TYPE_CHECKING:
    from hocket.batch.progress import Listener
    from hocket.evaluation import Case, EvalReport, Scorer
    from hocket.messages import MessageLikeRepresentation
    from hocket.runnables.base import AnyRunnable

__all__ = ["HELP", "configure", "run"]

Target: TypeAlias = "AnyRunnable | Callable[..., object]"

HELP = "Ask a model, or a target of yours, for each case, and score its answers."

_SCORERS = ("called", "cites", "contains", "exact", "fields", "mrr")
_OF_MODELS = ("model", "system", "base_url", "max_tokens", "temperature", "seed", "option", "schema", "price")


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("cases CASES", 'a file of JSON lines, {"input": …, "expected": …}, or a CSV with these columns')
    parser.declare("--out FILE", "where the answers go; their scores go beside it", required=True)
    parser.declare("--target MODULE:NAME", "in place of a model: a chain, an agent, or a function of the input")
    parser.declare("--version NAME", "stands for the target in the file, in place of its code")
    add_model_options(parser)
    add_schema_option(parser)
    parser.declare(
        "--score NAME ...",
        f"how answers are scored: {', '.join(_SCORERS)}, or module:name of a scorer; several times for several "
        "(default: exact)",
    )
    parser.declare("--judge MODEL", "a model that says whether an answer meets the --rubric")
    parser.declare("--rubric TEXT", "the rule for the --judge")
    parser.declare("--repeats N", "how often each case is asked (default: 1)", type=parse_count, default=1)
    parser.declare("--baseline OLD", "an earlier run: compare with it, and stop as soon as the verdict is certain")
    parser.declare("--at-least METRIC=RATE ...", "exit with 9 if this rate is certainly not reached", type=_parse_rate)
    add_verdict_options(parser)
    add_bulk_options(parser, "cases")


def run(arguments: argparse.Namespace) -> int:
    """Ask for the cases, print the report, and return the exit code.

    Raises:
        KeyboardInterrupt, SystemExit: Ctrl-C, SIGTERM; the same command goes on.
        HocketError: an argument is wrong, a line is no case, or what the target raises that all cases would meet.
    """
    from hocket.evaluation import aevaluate
    from hocket.evaluation.scores import find_scores_path

    require_writable("--out", arguments.out)
    check_page(arguments)
    cases = _read_cases(arguments.cases)
    scorers = _load_scorers(arguments)
    target = _open_target(arguments)

    def ask(progress: "Listener") -> "Awaitable[EvalReport]":
        return aevaluate(
            target,
            cases,
            [*scorers.values()],
            arguments.out,
            repeats=arguments.repeats,
            baseline=arguments.baseline,
            min_difference=arguments.min_difference,
            max_concurrency=arguments.max_concurrency,
            version=arguments.version,
            via=arguments.via,
            retry_via=arguments.retry_via,
            wait=arguments.wait,
            progress=progress,
        )

    count = len(cases) * arguments.repeats
    report = run_bulk(ask, arguments, count, arguments.out, find_scores_path(arguments.out))
    print_result(report, arguments)
    code = explain_stop(report.stopped, arguments)
    return tell_faults(_find_faults(report, arguments)) if code is None else code


def _find_faults(report: "EvalReport", arguments: argparse.Namespace) -> list[str]:
    faults = [f"{name} has no score at all, so it has measured nothing" for name in report.unmeasured]
    faults += find_low_rates(report.metrics, dict(arguments.at_least), is_strict=arguments.strict)
    if report.rows and report.errors == len(report.rows):
        faults.append("the target has failed in each case, so nothing is known of its answers")
    if report.comparison is not None:
        faults += find_faults(report.comparison, is_strict=arguments.strict)
    if arguments.strict and (report.missing or report.unscored):
        faults.append(f"{report.missing} answers and {report.unscored} scores are missing")
    return faults


def _read_cases(path: str) -> "list[Case]":
    from hocket.evaluation import read_cases

    try:
        return read_cases(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from error


def _load_scorers(arguments: argparse.Namespace) -> "dict[str, Scorer]":
    """Return the scorers by their names.

    Raises:
        InvalidInput: one is not known, two have one name, or a rate is wanted of none.
    """
    from hocket import evaluation
    from hocket.cli.choice import open_first_model
    from hocket.evaluation.scorer import check_scorers
    from hocket.language_models import FakeListChatModel

    if (arguments.judge is None) != (arguments.rubric is None):
        raise InvalidInput("--judge and --rubric go together: the model, and its rule")
    scorers: list[Scorer] = []
    for name in arguments.score or ([] if arguments.judge else ["exact"]):
        if ":" in name:
            scorers.append(cast("Scorer", load_object(name, "scorer")))
        elif name in _SCORERS:
            scorers.append(cast("Callable[[], Scorer]", getattr(evaluation, name))())
        else:
            raise InvalidInput(
                f"there is no scorer {name!r} that needs no arguments; {near_name_hint(name, _SCORERS)}; "
                "module:name is one of yours"
            )
    if arguments.judge is not None:
        model = open_first_model(arguments.judge, None, GivenOptions()).model
        if isinstance(model, FakeListChatModel):
            raise InvalidInput(f"--judge {arguments.judge}: a fake model says its text, and fills in no schema")
        scorers.append(evaluation.judge(model, arguments.rubric))
    named = check_scorers(scorers)
    for name, _ in arguments.at_least:
        if name not in named:
            raise InvalidInput(f"--at-least {name}: no scorer is called so; the scorers are {', '.join(named)}")
    return named


def _open_target(arguments: argparse.Namespace) -> Target:
    """Return what is asked: a model, with its instructions before each case; or the user's own target.

    Raises:
        HocketError: there is no such target, or both are named.
    """
    if arguments.target is not None:
        given = [name for name in _OF_MODELS if getattr(arguments, name) not in (None, [])]
        if given:
            raise InvalidInput(f"--target is asked as it is; leave --{given[0].replace('_', '-')} out")
        return cast("Target", load_object(arguments.target, "target"))
    from hocket.cli.choice import open_first_model
    from hocket.cli.schemas import parse_schema

    schema = None if arguments.schema is None else parse_schema(arguments.schema)
    opened = open_first_model(arguments.model, arguments.base_url, read_model_options(arguments))
    use_price(arguments.price, opened.name if arguments.judge else "*")  # of two models it is that of one
    asked = opened.model if schema is None else opened.model.with_structured_output(cast("dict[str, object]", schema))
    return asked if arguments.system is None else _begin_with(arguments.system, asked)


def _begin_with(system: str, asked: "AnyRunnable") -> "AnyRunnable":
    """Return what is asked, with instructions before each case: in a template, so that they are part of its fingerprint."""
    from hocket.messages import SystemMessage, convert_to_messages
    from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder
    from hocket.runnables import RunnableLambda

    def read(case: object) -> dict[str, object]:
        several = [case] if isinstance(case, str) else case
        return {"asked": convert_to_messages(cast("list[MessageLikeRepresentation]", several))}

    prompt = ChatPromptTemplate.from_messages([SystemMessage(system), MessagesPlaceholder("asked")])
    return RunnableLambda(read) | prompt | asked


def _parse_rate(text: str) -> tuple[str, float]:
    """Return a metric and a rate.

    Raises:
        ArgumentTypeError: it is no such pair.
    """
    pair = re.fullmatch(r"(.+)=([^=]+)", text)
    if pair is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no metric and rate; it looks like exact=0.9")
    return pair[1], parse_share(pair[2])
