"""`sql_tool` answers a query, and nothing that a model writes changes the database, reads another or takes long."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hocket.agents import sql_tool
from hocket.classic.chains import SQLDatabase
from hocket.errors import InvalidInput
from hocket.tools import BaseTool

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"

REFUSED = [
    "INSERT INTO person VALUES (9, 'x', NULL)",
    "UPDATE person SET name = 'x'",
    "WITH x AS (SELECT 1) DELETE FROM person",
    "DROP TABLE person",
    "CREATE TABLE other (a)",
    "CREATE TEMP TABLE other (a)",
    "CREATE TEMP VIEW other AS SELECT 1",
    "ATTACH DATABASE ':memory:' AS other",
    "DETACH DATABASE main",
    "PRAGMA user_version = 3",
    "PRAGMA table_info(person)",
    "SELECT * FROM pragma_table_info('person')",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "ANALYZE",
    "BEGIN",
    "SAVEPOINT a",
    "SELECT load_extension('evil')",
    "SELECT fts3_tokenizer('simple', x'00')",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE person",
    "CREATE VIRTUAL TABLE other USING fts5(a)",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database, in a place whose name a URL would read otherwise."""
    path = tmp_path / "a b?mode=rwc&c#d%20.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, data)")
    connection.execute("CREATE VIEW names AS SELECT name FROM person")
    connection.executemany("INSERT INTO person (name) VALUES (?)", [(f"n{index}",) for index in range(100)])
    connection.execute("UPDATE person SET data = x'0102' WHERE id = 1")
    connection.commit()
    connection.close()
    return path


def make_tool(path: Path, **options: Any) -> BaseTool:
    return sql_tool(f"sqlite:///{path}", **options)


def test_only_the_named_tables_can_be_read(path: Path) -> None:
    """Neither another table, nor the list of all, also behind a view; the description names them."""
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE secret (x); CREATE VIEW hidden AS SELECT x FROM secret")
    connection.close()
    for tables in (["person"], iter(["person"]), "person"):
        named = make_tool(path, include_tables=tables)
        assert named.invoke({"query": "SELECT count(*) FROM person"}).endswith("[100]")
        for query in ("SELECT * FROM secret", "SELECT sql FROM sqlite_master", "SELECT * FROM hidden"):
            assert "only these tables can be read: person" in named.invoke({"query": query})
        assert "The tables are person" in named.description
    assert "secret" not in make_tool(path, include_tables=["person"], include_schema=True).description
    with pytest.raises(InvalidInput, match="names no table"):
        make_tool(path, include_tables=[])


def test_what_is_no_url_is_refused_with_what_to_do(path: Path) -> None:
    """As a database of the older chains."""
    database: Any = SQLDatabase(f"sqlite:///{path}", ["person"])
    with pytest.raises(InvalidInput, match=r"url is SQLDatabase; it is a text, .* include_tables"):
        sql_tool(database)


def test_numbers_without_end_are_texts(path: Path) -> None:
    """JSON has no word for them."""
    answer = make_tool(path).invoke({"query": "SELECT 1e999 AS a, -1e999 AS b"})
    assert answer.splitlines()[1] == '["Infinity", "-Infinity"]'


def test_an_answer_is_lines_of_json(path: Path) -> None:
    """The columns first; NULL, texts and bytes can be told apart."""
    answer = make_tool(path).invoke("SELECT id, name, data, 0.5 AS half, 'NULL' AS t FROM person LIMIT 2")

    assert answer.splitlines() == [
        '["id", "name", "data", "half", "t"]',
        '[1, "n0", "<2 bytes>", 0.5, "NULL"]',
        '[2, "n1", null, 0.5, "NULL"]',
    ]


@pytest.mark.parametrize(
    "query", ["SELECT name FROM names LIMIT 1;", "VALUES ('n0')", "WITH x(a) AS (VALUES ('n0')) SELECT * FROM x"]
)
def test_whatever_reads_is_answered(path: Path, query: str) -> None:
    assert make_tool(path).invoke(query).splitlines()[1] == '["n0"]'


@pytest.mark.parametrize("query", REFUSED)
def test_whatever_does_more_than_read_is_refused(path: Path, query: str) -> None:
    """The file stays as it was, byte for byte, and nothing appears beside it."""
    before = path.read_bytes()
    answer = make_tool(path).invoke(query)

    assert answer.startswith(("Not allowed: ", "The query failed: "))
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize(
    "query",
    ["SELEC", "", "-- nothing", "SELECT ?", "SELECT '\0'", "SELECT '\ud800'", "SELECT * FROM missing", "SELECT '"],
)
async def test_a_wrong_query_is_told_what_is_wrong(path: Path, query: str) -> None:
    assert (await make_tool(path).ainvoke(query)).startswith(("The query failed: ", "The query reads nothing."))


def test_a_query_that_takes_long_is_stopped(path: Path) -> None:
    assert "longer than 0.1 s" in make_tool(path, max_seconds=0.1).invoke(ENDLESS)


@pytest.mark.parametrize(
    "query", ["SELECT randomblob(300000)", "SELECT zeroblob(1000000000)", "SELECT 'x' LIKE '" + "%a" * 150 + "'"]
)
def test_what_would_fill_the_memory_or_cannot_be_stopped_is_refused(path: Path, query: str) -> None:
    assert make_tool(path).invoke(query).startswith("The query failed: ")


def test_rows_beyond_the_limit_are_left_out(path: Path) -> None:
    """The model is told so; exactly as many as may be are no reason to."""
    tool = make_tool(path, max_rows=3)
    lines = tool.invoke("SELECT id FROM person").splitlines()

    assert lines[:4] == ['["id"]', "[1]", "[2]", "[3]"]
    assert lines[4].startswith("(3 rows are shown, and there are more.")
    assert tool.invoke("SELECT id FROM person LIMIT 3").splitlines() == lines[:4]


@pytest.mark.parametrize("length", [1, 10, 50, 1000])
def test_an_answer_has_as_many_characters_as_it_may(path: Path, length: int) -> None:
    """But for one note of at most 150."""
    tool = make_tool(path, max_chars=length)
    for query in ("SELECT * FROM person", "SELECT printf('%.*c', 9999, 'x')", "SELECT 1 AS " + "a" * 5000):
        assert len(tool.invoke(query)) <= length + 150


def test_the_description_has_the_schema_if_that_is_asked(path: Path) -> None:
    assert (
        "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, data)"
        in make_tool(path, include_schema=True).description
    )
    assert "sqlite_master" in make_tool(path).description
    assert make_tool(path, include_schema=True, description="People.").description.startswith(
        "People.\nThe tables:\nCREATE"
    )
    assert make_tool(path, description="People.").description == "People."


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """A call says so; and the schema of nothing cannot be read."""
    path = tmp_path / "missing.db"
    assert "unable to open" in make_tool(path).invoke("SELECT 1")
    with pytest.raises(InvalidInput, match="the schema"):
        make_tool(path, include_schema=True)
    assert os.listdir(tmp_path) == []


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "text.db"
    path.write_text("no database at all, but long enough for a header of one" * 10)

    assert "not a database" in make_tool(path).invoke("SELECT * FROM t")


@pytest.mark.parametrize(
    "url", ["postgresql://u:secret@h/db", "sqlite://", "sqlite:///", "data.db", "sqlite:///:memory:", "sqlite:///a\0b"]
)
def test_what_is_no_file_of_sqlite_is_refused_at_the_door(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        sql_tool(url)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("limit", ["max_rows", "max_chars", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1])
def test_limits_are_above_0(path: Path, limit: str, value: int) -> None:
    with pytest.raises(InvalidInput, match=f"{limit} is {value}"):
        make_tool(path, **{limit: value})


def test_a_call_leaves_nothing_open(path: Path) -> None:
    """A writer that does not wait can write, and the next call sees it."""
    tool = make_tool(path)
    assert tool.invoke("SELECT count(*) FROM person") == '["count(*)"]\n[100]'
    connection = sqlite3.connect(path, timeout=0)
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("DELETE FROM person")
    connection.commit()
    connection.close()
    assert tool.invoke("SELECT count(*) FROM person") == '["count(*)"]\n[0]'


async def test_a_database_that_a_writer_holds_is_told_in_time(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("BEGIN EXCLUSIVE")
    try:
        assert "locked" in await make_tool(path, max_seconds=0.05).ainvoke("SELECT 1 FROM person")
    finally:
        connection.close()


WORDS = st.sampled_from(
    [
        "SELECT",
        "DELETE",
        "FROM",
        "person",
        "*",
        "WITH",
        "x",
        "AS",
        "(",
        ")",
        ";",
        "PRAGMA",
        "1",
        "'",
        "JOIN",
        ",",
        "/*",
        "--",
    ]
)


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=50))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_answered(path: Path, query: str) -> None:
    """With a text, and never an exception."""
    before = path.read_bytes()
    assert isinstance(make_tool(path).invoke({"query": query}), str)
    assert path.read_bytes() == before
