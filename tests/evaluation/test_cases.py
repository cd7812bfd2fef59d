"""Cases out of Python and files; what is none is named with its line."""

from pathlib import Path
from typing import Any

import pytest

from hocket import HumanMessage
from hocket.errors import InvalidInput
from hocket.evaluation import Case, make_cases, read_cases


def test_a_case_without_an_id_has_a_digest_of_its_own() -> None:
    first, again, other = Case("a", "b"), Case("a", "b"), Case("a", "c")
    assert first.id == again.id != other.id and len(first.id) == 12
    assert Case([HumanMessage("a")]).id == Case([HumanMessage("a")]).id
    assert Case("a", metadata={"x": 1}).id != Case("a").id


def test_cases_come_as_tuples_mappings_or_cases() -> None:
    cases = make_cases([("a", "b"), {"input": "c", "expected": "d", "id": 7, "topic": "x"}, Case("e", id="e")])
    assert [(case.input, case.expected) for case in cases] == [("a", "b"), ("c", "d"), ("e", None)]
    assert (cases[1].id, cases[1].metadata) == ("7", {"topic": "x"})


def test_files(tmp_path: Path) -> None:
    lines = tmp_path / "cases.jsonl"
    lines.write_text('﻿{"input": "a", "expected": 4}\n\n{"input": {"question": "b"}, "id": "q2"}\n')
    assert [(case.input, case.expected) for case in read_cases(lines)] == [("a", 4), ({"question": "b"}, None)]
    table = tmp_path / "cases.CSV"
    table.write_text('id,input,expected,topic\nq1,"a, or\nb",x,y\n')
    assert make_cases(table) == [Case("a, or\nb", "x", "q1", {"topic": "y"})]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", b"", "there is no case"),
        ("a.jsonl", b'{"input": 1}\n{"question": 2}', r"a\.jsonl, line 2 has no \"input\"; known are: question"),
        ("a.jsonl", b'{"inpt": 1}', "did you mean 'inpt'"),
        ("a.jsonl", b'{"input": 1', "line 1 is no JSON"),
        ("a.jsonl", b"[1]", "line 1 is list"),
        ("a.jsonl", b"[" * 100_000, "line 1 is no JSON"),
        ("a.jsonl", b'{"input": 1, "id": "x"}\n{"input": 2, "id": "x"}', "two cases have the id 'x'"),
        ("a.jsonl", b'{"input": 1}\n{"input": 1}', "two cases have the id"),
        ("a.jsonl", b'{"input": "\xff"}', "is not UTF-8"),
        ("a.jsonl", b'{"hocket_batch": 1, "fingerprint": "x"}', "is the file of a bulk run"),
        ("a.jsonl", b'{"run_id": "1", "outcome": "ok"}', "is a ledger"),
        ("a.csv", b"input\n1,2\n", "line 2 has more cells"),
        ("a.csv", b'input\n"1\n', "unexpected end"),
        ("a.csv", b"question\n1\n", 'no "input"'),
        ("a.xlsx", b"", r"ends in \.xlsx"),
    ],
)
def test_files_that_are_none(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        read_cases(tmp_path / name)


@pytest.mark.parametrize(
    ("cases", "words"), [([], "there is no case"), ([("a",)], "tuple of 1"), (["a"], "case 1 is str")]
)
def test_cases_that_are_none(cases: list[Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make_cases(cases)
