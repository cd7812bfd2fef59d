"""CSV: a row is a document, and the size of the file does not matter."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hocket.document_loaders import CSVLoader
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput
from tests.document_loaders.files import contents, list_open, load_until_error, write
from tests.kit import cpu_seconds

CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), max_size=12)
PEOPLE = "name,age,city\nAda,36,London\nBob,41,New York\n"


def test_a_row_is_a_document(tmp_path: Path) -> None:
    """Rows count from 1, as LangChainGo's do."""
    path = write(tmp_path / "people.csv", PEOPLE)
    assert CSVLoader(path).load() == [
        Document("name: Ada\nage: 36\ncity: London", metadata={"source": path, "row": 1}),
        Document("name: Bob\nage: 41\ncity: New York", metadata={"source": path, "row": 2}),
    ]


def test_columns_are_chosen_and_ordered(tmp_path: Path) -> None:
    loader = CSVLoader(write(tmp_path / "people.csv", PEOPLE), ["city", "name"], metadata_columns=["age"])
    assert loader.load()[1].page_content == "city: New York\nname: Bob"
    assert loader.load()[1].metadata["age"] == "41"


def test_a_column_of_metadata_leaves_the_text(tmp_path: Path) -> None:
    """As LangChain's do, unless it is asked for in both."""
    path = write(tmp_path / "people.csv", PEOPLE)
    assert contents(CSVLoader(path, metadata_columns=["age", "city"])) == ["name: Ada", "name: Bob"]
    assert contents(CSVLoader(path, ["age"], metadata_columns=["age"])) == ["age: 36", "age: 41"]


def test_metadata_does_not_hide_where_a_row_is(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "row,source,x\n7,book,y\n")
    (document,) = CSVLoader(path, metadata_columns=["row", "source"]).load()
    assert document.metadata == {"row": 1, "source": path}


def test_a_column_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "people.csv", PEOPLE)
    for loader in (CSVLoader(path, ["nmae"]), CSVLoader(path, metadata_columns=["nmae"])):
        with pytest.raises(DocumentError, match="it has no column 'nmae'; it has 'name', 'age', 'city'"):
            loader.load()
    assert list_open(path) == []


@given(rows=st.lists(st.lists(CELL, min_size=2, max_size=2).filter(any)), delimiter=st.sampled_from(",;\t|"))
def test_every_value_comes_through(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str
) -> None:
    """Quotes, delimiters and ends of lines in values included; only white space around them goes."""
    made = io.StringIO()
    writer = csv.writer(made, delimiter=delimiter)
    writer.writerows([["first", "second"], *rows])
    path = write(tmp_path_factory.getbasetemp() / "any.csv", made.getvalue())
    assert contents(CSVLoader(path)) == [f"first: {one.strip()}\nsecond: {two.strip()}" for one, two in rows]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_and_marks_are_understood(tmp_path: Path, end: str, encoding: str) -> None:
    path = write(tmp_path / "a.csv", f'näme;x{end}Zoë;"a{end}b"{end}{end}Bob;2'.encode(encoding))
    assert contents(CSVLoader(path)) == [f"näme: Zoë\nx: a{end}b", "näme: Bob\nx: 2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name,age\n", []),
        ("\n\nname,age\nAda,36", ["name: Ada\nage: 36"]),
        ("name\nAda\n\n\nBob\n", ["name: Ada", "name: Bob"]),
        ("a,,b\n1,2,3\n", ["a: 1\ncolumn 2: 2\nb: 3"]),
        ("a,b\n1\n", ["a: 1"]),
        ("a,b\n1,2,,\n", ["a: 1\nb: 2"]),
        ("a, b \n 1 , 2\n", ["a: 1\nb: 2"]),
        ("a\tb;c\tx\n1\t2\t3\n", ["a: 1\nb;c: 2\nx: 3"]),
        ('"a,b,c";d\n1;2\n', ["a,b,c: 1\nd: 2"]),
        ('size\n5" pipe\n', ['size: 5" pipe']),
        ("a,b\nx,\n", ["a: x\nb: "]),
    ],
    ids=repr,
)
def test_untidy_files_are_read(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert contents(CSVLoader(write(tmp_path / "a.csv", text))) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n1,2,3\n", r"line 3: row 2 has 3 values for 2 columns; quote values that hold ','"),
        ('a,b\n1,"2\n3,4\n', r"line 3: it is no CSV there \(unexpected end of data\)"),
        ('a,b\n1,"2"x\n', r"line 2: it is no CSV there"),
        ('a,b\n1,"' + "x" * 140_000 + '"\n', r"line 2: it is no CSV there \(field larger than field limit"),
        ("a,b\n1,\xff2\n", None),
        ("\n\n\n", "nothing but empty lines"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_damage_is_an_error_that_says_where(tmp_path: Path, text: str, problem: str | None) -> None:
    path = write(tmp_path / "a.csv", text.encode("latin-1"))
    with pytest.raises(DocumentError, match=problem or "line 2: byte 0xff at offset 6 is not UTF-8"):
        CSVLoader(path).load()
    assert list_open(path) == []


@pytest.mark.parametrize("row", [0, 1, 63, 64, 65, 500, 999])
def test_the_rows_before_damage_are_given(tmp_path: Path, row: int) -> None:
    rows = [f"{number},x" for number in range(1_000)]
    rows[row] = '0,"x"y'
    documents, error = load_until_error(CSVLoader(write(tmp_path / "a.csv", "id,text\n" + "\n".join(rows))))
    assert len(documents) == row
    assert error is not None and error.place == f"line {row + 2}"


@pytest.mark.parametrize(
    "options", [{"columns": "name"}, {"delimiter": ""}, {"delimiter": '"'}, {"encoding": "x"}], ids=repr
)
def test_what_is_no_option_is_refused_at_once(options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        CSVLoader("a.csv", **options)  # type: ignore[arg-type]


def test_a_file_without_ends_of_lines_is_not_read_into_memory(tmp_path: Path) -> None:
    """Something else that is called CSV; sparse, so that it costs nothing but spaces."""
    path = write(tmp_path / "a.csv", b"x" * 11_000_000)
    with pytest.raises(DocumentError, match="a line has more than 10,000,000 characters"):
        CSVLoader(path).load()


MEASURE = """
import asyncio, sys
from hocket.document_loaders import CSVLoader

async def read(loader):
    count = 0
    async for document in loader.alazy_load():
        count += 1
    return count

def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

small, large = sys.argv[1:]
asyncio.run(read(CSVLoader(small)))
before = peak()
count = asyncio.run(read(CSVLoader(large)))
print(count, peak() - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A few megabytes more for one of 9 MB than for one of 30 kB; the benchmark has 300,000 rows."""
    row = "1,Ada," + "x" * 300 + "\n"
    small = write(tmp_path / "small.csv", "id,name,text\n" + row * 100)
    large = write(tmp_path / "large.csv", "id,name,text\n" + row * 30_000)
    done = subprocess.run([sys.executable, "-c", MEASURE, small, large], capture_output=True, text=True, check=True)
    count, peak = map(int, done.stdout.split())
    assert count == 30_000
    assert peak < 4_000  # kilobytes


def test_the_first_row_of_a_large_file_is_there_at_once(tmp_path: Path) -> None:
    """Of half a gigabyte, sparse, whose end is never looked at."""
    small = write(tmp_path / "small.csv", "id,name\n" + "1,Ada\n" * 10)
    large = write(tmp_path / "large.csv", "id,name\n" + "1,Ada\n" * 30_000)
    os.truncate(large, 500_000_000)

    def read_first(path: Path) -> None:
        assert next(CSVLoader(path).lazy_load()).page_content == "id: 1\nname: Ada"

    rows = [(cpu_seconds(lambda: read_first(small)), cpu_seconds(lambda: read_first(large))) for _ in range(5)]
    assert min(row[1] for row in rows) < 20 * min(row[0] for row in rows)


def test_too_many_columns_are_not_read(tmp_path: Path) -> None:
    """Each takes memory, in every row."""
    path = write(tmp_path / "a.csv", "a,b,c\n1,2,3\n")
    with pytest.raises(DocumentError, match="line 1: it has 3 columns, and at most 2 are read; raise max_columns="):
        CSVLoader(path, max_columns=2).load()
    assert len(CSVLoader(path, max_columns=3).load()) == 1
