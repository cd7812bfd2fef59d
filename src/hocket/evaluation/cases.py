"""Cases: what is asked, and what is expected; out of Python, JSON lines, CSV, or a cassette."""

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from hocket._pipeline.cache_key import portable_key
from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

__all__ = ["Case", "CaseLike", "make_cases", "make_digest", "read_cases", "read_json_lines"]

_FIELDS = ("input", "expected", "id")


@dataclass(frozen=True)
class Case:
    """One thing to ask.

    Attributes:
        input: what the target is asked.
        expected: what scorers compare with; None: nothing.
        id: its name; "": twelve hexadecimal digits of all the rest.
        metadata: whatever else is known, for scorers and the page.
    """

    input: Any
    expected: Any = None
    id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", make_digest(self))


CaseLike: TypeAlias = Case | tuple[Any, Any] | Mapping[str, Any]
"""A case; or input and expectation; or a mapping with ``input``, maybe ``expected`` and ``id``, and the metadata."""


def make_digest(case: Case) -> str:
    """Return what tells whether a case has changed: twelve hexadecimal digits of all of it but its id."""
    return portable_key([case.input, case.expected, dict(case.metadata)])[:12]


def make_cases(cases: "str | os.PathLike[str] | Iterable[CaseLike]") -> list[Case]:
    """Return cases in their order, from a file or an iterable.

    Raises:
        InvalidInput: there is none, two have one id, or one cannot be read.
    """
    if isinstance(cases, str | os.PathLike):
        return read_cases(cases)
    return _check([_make(one, f"case {number}") for number, one in enumerate(cases, 1)], "cases")


def read_cases(path: str | os.PathLike[str]) -> list[Case]:
    """Return the cases of a file: of JSON lines (``.jsonl``), of a table with a heading (``.csv``, UTF-8), or a cassette.

    ``input``, ``expected`` and ``id`` are taken out; the rest is metadata. Blank lines are passed over. In a cassette
    (``.json``) each request that was answered is a case: its messages are the ``input``, the answer's text is ``expected``,
    and ``metadata["calls"]`` has its calls of tools, as `called` takes them. The id is the request's number. Formats that
    are read: chat completions, the Responses API, and Anthropic's messages; what has another one is passed over.

    Raises:
        InvalidInput: there is no case in it, two have one id, or a line is none; the line is named.
        OSError: the file cannot be read.
    """
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    if ending not in _READERS:
        raise InvalidInput(
            f"{name} is no file of cases: it ends in {ending or 'nothing'}; give .jsonl, .csv, or a cassette"
        )
    try:
        return _check([_make(one, where) for where, one in _READERS[ending](name)], name)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} is not UTF-8 ({error}); save it as UTF-8") from error


def read_json_lines(name: str) -> Iterator[tuple[str, object]]:
    """Yield the data in the lines of a file, each with where it stands; blank lines are passed over.

    Raises:
        InvalidInput: a line is no JSON, or the file is that of a bulk run, or a ledger.
        OSError: the file cannot be read.
    """
    with open(name, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{name}, line {number}"
            try:
                data = cast(object, json.loads(line))
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"{where} is no JSON: {error}") from error
            if isinstance(data, dict):
                _refuse_journal(cast("dict[str, object]", data), name)
            yield where, data


def _read_table(name: str) -> Iterator[tuple[str, object]]:
    with open(name, encoding="utf-8-sig", newline="") as lines:
        table = csv.DictReader(lines, strict=True)
        try:
            for row in table:
                where = f"{name}, line {table.line_num}"
                if None in row:
                    raise InvalidInput(f"{where} has more cells than the heading")
                yield where, row
        except csv.Error as error:
            raise InvalidInput(f"{name}, line {table.line_num}: {error}") from error


def _read_cassette(name: str) -> Iterator[tuple[str, object]]:
    from hocket.evaluation.recordings import read_recorded  # what few want, and needs the formats of providers

    return read_recorded(name)


_READERS = {".jsonl": read_json_lines, ".csv": _read_table, ".json": _read_cassette}


def _refuse_journal(data: Mapping[str, object], name: str) -> None:
    if "hocket_batch" in data:
        raise InvalidInput(
            f"{name} is the file of a bulk run, which has answers and no inputs; give the rows that it was made of"
        )
    if "outcome" in data and "run_id" in data:
        raise InvalidInput(f"{name} is a ledger, which has no words; give the questions as JSON lines")


def _make(one: object, where: str) -> Case:
    if isinstance(one, Case):
        return one
    if isinstance(one, tuple):
        pair = cast("tuple[object, ...]", one)
        if len(pair) != 2:
            raise InvalidInput(f"{where} is a tuple of {len(pair)}; it is (input, expected)")
        return Case(*pair)
    if not isinstance(one, Mapping):
        raise InvalidInput(f'{where} is {type(one).__name__}; it is a mapping with "input", or (input, expected)')
    data = cast("Mapping[str, Any]", one)
    if "input" not in data:
        raise InvalidInput(f'{where} has no "input"; {near_name_hint("input", map(str, data))}')
    id = data.get("id")
    rest = {key: value for key, value in data.items() if key not in _FIELDS}
    return Case(data["input"], data.get("expected"), "" if id is None else str(id), rest)


def _check(cases: list[Case], where: str) -> list[Case]:
    if not cases:
        raise InvalidInput(f"{where}: there is no case")
    seen = set[str]()
    for case in cases:
        if case.id in seen:
            raise InvalidInput(f"{where}: two cases have the id {case.id!r}; ids differ, and equal cases need one each")
        seen.add(case.id)
    return cases
