"""``hocket eval run``: a target asked for each case, its answers scored; a run that was stopped goes on.

The table goes to standard output, and how far the run is to standard error.
"""

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from hocket.cli.arguments import (
    OneLineParser,
    add_model_options,
    parse_count,
    parse_price,
    parse_seconds,
    require_writable,
)
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
from hocket.cli.output import keep_line_open
from hocket.cli.progress import ProgressLine, explain_stop, note_pending
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

if TYPE_CHECKING:
    from hocket.evaluation import Case, EvalReport, Scorer
    from hocket.language_models import BaseChatModel
    from hocket.messages import MessageLikeRepresentation
    from hocket.runnables.base import AnyRunnable

__all__ = ["HELP", "configure", "run"]

Target: TypeAlias = "AnyRunnable | Callable[..., object]"

HELP = "Ask a model, or a target of yours, for each case, and score its answers."

_SCORERS = ("called", "cites", "contains", "exact", "fields", "mrr")
_OF_MODELS = ("model", "system", "base_url", "max_tokens", "temperature", "seed", "option", "price")


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("cases CASES", 'a file of JSON lines, {"input": …, "expected": …}, or a CSV with these columns')
    parser.declare("--out FILE", "where the answers go; their scores go beside it", required=True)
    parser.declare("--target MODULE:NAME", "in place of a model: a chain, an agent, or a function of the input")
    add_model_options(parser)
    parser.declare(
        "--score NAME ...",
        f"how answers are scored: {', '.join(_SCORERS)}, or module:name of a scorer; several times for several "
        "(default: exact)",
    )
    parser.declare("--judge MODEL", "a model that says whether an answer meets the --rubric")
    parser.declare("--rubric TEXT", "what the --judge goes by")
    parser.declare("--repeats N", "how often each case is asked (default: 1)", type=parse_count, default=1)
    parser.declare("--baseline OLD", "an earlier run: compare with it, and stop as soon as the verdict is certain")
    parser.declare("--at-least METRIC=RATE ...", "exit with 9 if this is certainly not reached", type=_parse_rate)
    add_verdict_options(parser)
    parser.declare("--budget USD", "stop before more than this is spent, in all runs on FILE: 5, 0.50")
    parser.declare(
        "--price IN,OUT",
        "what the model costs live, half by batch, in US dollars a million tokens of input, and of output: 1.25,10",
        type=parse_price,
    )
    parser.declare("--max-concurrency N", "cases asked for at once (default: 100)", type=parse_count, default=100)
    parser.declare(
        "--via", "live: at once (default); provider: by its batch endpoint, within a day", choices=("live", "provider")
    )
    parser.declare(
        "--wait SECONDS", "wait so long for batches; 0: submit, collect what is there, and end", type=parse_seconds
    )


def run(arguments: argparse.Namespace) -> int:
    """Ask for the cases, print the report, and return the exit code.

    Raises:
        KeyboardInterrupt: Ctrl-C; the same command goes on.
        HocketError: an argument is wrong, a line is no case, or what the target raises that all cases would meet.
    """
    from hocket._runtime.portal import run_in_portal
    from hocket.batch.replay import hold_for_files
    from hocket.budgets import Budget
    from hocket.evaluation import aevaluate
    from hocket.evaluation.scores import find_scores_path

    require_writable("--out", arguments.out)
    check_page(arguments)
    cases = _read_cases(arguments.cases)
    budget = None if arguments.budget is None else Budget(usd=arguments.budget, name="--budget")
    scorers = _load_scorers(arguments)
    target = _open_target(arguments)
    line = ProgressLine(len(cases) * arguments.repeats)

    async def ask() -> "EvalReport":
        async with hold_for_files(budget, arguments.out, find_scores_path(arguments.out)):
            return await aevaluate(
                target,
                cases,
                [*scorers.values()],
                arguments.out,
                repeats=arguments.repeats,
                baseline=arguments.baseline,
                min_difference=arguments.min_difference,
                max_concurrency=arguments.max_concurrency,
                via=arguments.via or "live",
                wait=arguments.wait,
                progress=line.show,
            )

    try:
        with keep_line_open(line.end_row):
            report = run_in_portal(ask)
    except KeyboardInterrupt:
        note_pending(arguments.out, can_cancel=False)
        raise
    finally:
        line.finish()
    print_result(report, arguments)
    code = explain_stop(report.stopped, arguments.out, can_cancel=False)
    return tell_faults(_find_faults(report, arguments)) if code is None else code


def _find_faults(report: "EvalReport", arguments: argparse.Namespace) -> list[str]:
    faults = find_low_rates(report.metrics, dict(arguments.at_least), is_strict=arguments.strict)
    if not report.metrics:
        faults.append("no answer has a score, so nothing was measured")
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

    if (arguments.judge is None) != (arguments.rubric is None):
        raise InvalidInput("--judge and --rubric go together: the model, and what it goes by")
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
    from hocket.prices import Price, set_prices

    opened = open_first_model(arguments.model, arguments.base_url, read_model_options(arguments))
    if arguments.price is not None:
        # With a judge two models are asked, and the price is of one.
        set_prices(
            {opened.name if arguments.judge else "*": Price(*arguments.price, batch=Price(*arguments.price).halve())}
        )
    return opened.model if arguments.system is None else _begin_with(arguments.system, opened.model)


def _begin_with(system: str, model: "BaseChatModel") -> "AnyRunnable":
    """Return a model with instructions before each case. They are in a template: so they are part of its fingerprint."""
    from hocket.messages import SystemMessage, convert_to_messages
    from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder
    from hocket.runnables import RunnableLambda

    def read(asked: object) -> dict[str, object]:
        several = [asked] if isinstance(asked, str) else asked
        return {"asked": convert_to_messages(cast("list[MessageLikeRepresentation]", several))}

    prompt = ChatPromptTemplate.from_messages([SystemMessage(system), MessagesPlaceholder("asked")])
    return RunnableLambda(read) | prompt | model


def _parse_rate(text: str) -> tuple[str, float]:
    """Return a metric and a rate.

    Raises:
        ArgumentTypeError: it is no such pair.
    """
    pair = re.fullmatch(r"(.+)=([^=]+)", text)
    if pair is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no metric and rate; it looks like exact=0.9")
    return pair[1], parse_share(pair[2])
