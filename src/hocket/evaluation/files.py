"""The file of answers: what stands in a line, and which failures are final.

A failure of the server is no failure of the answer. What the target itself has done wrong counts as a wrong answer, and is
not asked again: to ask until it passes would be a lie. Whatever else fails leaves a case without an answer, and the next run
asks again.
"""

import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import to_json

from hocket.batch import BatchRow, read_batch
from hocket.errors import (
    ContentFiltered,
    ContextLengthExceeded,
    EmptyResponse,
    HocketError,
    InvalidInput,
    InvalidReply,
    LimitReached,
    OutputParserException,
    ToolException,
    ToolServerUnavailable,
    ToolTimeout,
)
from hocket.evaluation.answer import Answer, restore_answer, write_answer, write_input
from hocket.evaluation.cases import Case

__all__ = ["AnswerLine", "Design", "is_fault", "is_final", "name_run", "read_answer_lines", "write_line"]

_FAULTS = (
    ContentFiltered,
    ContextLengthExceeded,
    EmptyResponse,
    InvalidReply,
    LimitReached,
    OutputParserException,
    ToolException,
)
_OF_TOOL_SERVERS = (ToolServerUnavailable, ToolTimeout)


@dataclass(frozen=True)
class Design:
    """How a run was planned: so many cases, each so often, and whether it was looked at on the way."""

    cases: int
    repeats: int = 1
    sequential: bool = False


@dataclass(frozen=True)
class AnswerLine:
    """One run of a case, as its line says.

    Attributes:
        answer: None: there is none, since something else than the target has failed.
        error: what has failed.
        mark: a number of all that the line says, by which an answer that has changed is known.
    """

    case: str
    run: int
    digest: str = ""
    input: Any = None
    expected: Any = None
    metadata: Mapping[str, Any] | None = None
    design: Design | None = None
    answer: Answer | None = None
    error: str | None = None
    mark: int = 0


def name_run(case: str, run: int) -> str:
    """Return the id of a line: ``case#run``."""
    return f"{case}#{run}"


def is_fault(kind: type[BaseException]) -> bool:
    """Whether an error of this class is the answer's own fault, so that it is as good as a wrong answer."""
    return not issubclass(kind, HocketError) or (issubclass(kind, _FAULTS) and not issubclass(kind, _OF_TOOL_SERVERS))


def is_final(row: BatchRow) -> bool:
    """Whether a row has failed by the target's own fault, so that it is not asked again.

    The row has the name of a class. One that is none of hocket's, or of a module that is not loaded, is the target's.
    """
    name = "" if row.error is None else row.error["type"]
    return is_fault(next((kind for kind in _list_kinds(HocketError) if kind.__name__ == name), Exception))


def _list_kinds(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _list_kinds(one)


def write_line(case: Case, digest: str, design: Design, result: object, seconds: float | None) -> dict[str, Any]:
    """Return what stands in the line of an answer, beside its id."""
    return {
        "digest": digest,
        "input": write_input(case.input),
        "expected": write_input(case.expected),
        "metadata": write_input(dict(case.metadata)),
        "design": vars(design),
        "seconds": seconds,
        "answer": write_answer(result),
    }


def read_answer_lines(out: str | os.PathLike[str]) -> Iterator[AnswerLine]:
    """Yield the lines of a run in the order of its cases.

    Raises:
        InvalidInput: there is no run, or the file is none of an evaluation.
    """
    name = os.fspath(out)
    if not os.path.exists(name):
        raise InvalidInput(f"there is no run at {name}; give the file of answers that an evaluation has written")
    for row in sorted(read_batch(name), key=lambda row: row.row):
        yield _read_line(row, name)


def _read_line(row: BatchRow, name: str) -> AnswerLine:
    case, _, run = str(row.id).rpartition("#")
    facts: dict[str, Any] = {"usage": row.usage, "cost": row.cost}
    mark = zlib.crc32(to_json([row.output, row.error, row.usage, str(row.cost)]))
    try:
        if row.error is not None:
            error = f"{row.error['type']}: {row.error['message']}"
            answer = Answer(error=error, **facts) if is_final(row) else None
            return AnswerLine(case, int(run), answer=answer, error=error, mark=mark)
        data = cast("dict[str, Any]", row.output)
        answer = restore_answer(data["answer"], seconds=data["seconds"], **facts)
        fields = {key: data[key] for key in ("digest", "input", "expected", "metadata")}
        return AnswerLine(case, int(run), **fields, design=Design(**data["design"]), answer=answer, mark=mark)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"{name} is no file of an evaluation: row {row.row} is no answer to a case") from error
