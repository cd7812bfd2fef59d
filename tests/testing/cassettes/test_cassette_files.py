"""The file of a cassette: when it is written, what of it, and what is said of one that cannot be used."""

import json
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import AuthenticationError, CassetteMiss, InvalidInput, StaleCassetteWarning
from hocket.providers.openai import ChatOpenAI
from hocket.retries import RetryPolicy
from hocket.testing import OpenAIFormat, Server, Status, Stream, cassette, serve
from hocket.testing.cassettes.defaults import CassetteDefaults, use_defaults
from tests.kit.warm import Program

NOWHERE = "http://127.0.0.1:9/v1"


def ask(url: str, *questions: str) -> list[str]:
    """Return what a model answers."""
    model = ChatOpenAI(model="m", base_url=url, api_key="k", retry=None)
    return [model.invoke(question).text for question in questions]


def echo(request: Any) -> str:
    """Answer with the question."""
    return str(request.json["messages"][0]["content"])


def questions_in(path: Path) -> list[str]:
    """Return what was asked in a cassette."""
    return [one["request"]["json"]["messages"][0]["content"] for one in json.loads(path.read_text())["exchanges"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "in" / "a folder" / "talk.json"


def test_none_sends_nothing(path: Path) -> None:
    """It is the default."""
    with serve(OpenAIFormat(), echo) as server:
        for record in (None, "none"):
            with cassette(path, record=record), pytest.raises(CassetteMiss):  # type: ignore[arg-type]
                ask(server.url, "a")
        assert server.requests == []
    assert not path.exists()


def test_once_records_where_there_is_no_file(path: Path) -> None:
    with serve(OpenAIFormat(), echo) as server:
        with cassette(path, record="once"):
            ask(server.url, "a", "b")
        with cassette(path, record="once"):
            assert ask(server.url, "b", "a") == ["b", "a"]
            with pytest.raises(CassetteMiss):
                ask(server.url, "c")
        assert len(server.requests) == 2
    assert questions_in(path) == ["a", "b"]


def test_new_records_what_is_missing(path: Path) -> None:
    with serve(OpenAIFormat(), echo) as server:
        for questions in (["a"], ["b", "a"], ["a", "b", "c"], ["a", "a"]):
            with cassette(path, record="new"):
                assert ask(server.url, *questions) == questions
        assert [echo(one) for one in server.requests] == ["a", "b", "c", "a"]
    assert questions_in(path) == ["a", "b", "c", "a"]


def test_all_records_anew(path: Path) -> None:
    with serve(OpenAIFormat(), echo) as server:
        for questions in (["a", "b"], ["b"]):
            with cassette(path, record="all"):
                assert ask(server.url, *questions) == questions
        assert len(server.requests) == 3
    assert questions_in(path) == ["b"]


def test_the_same_again_is_the_same_file(path: Path) -> None:
    """A cassette that is read and written again, because something came in addition, keeps what it had to the letter."""
    with serve(OpenAIFormat(), [Stream("one two"), "é ☃ 😀", Status(500), "three"]) as server:
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", retry=RetryPolicy(first_pause=0))
        with cassette(path, record="once"):
            list(model.stream("go"))
            model.invoke("☃")
        before = path.read_text()
        with cassette(path, record="new"):
            list(model.stream("go"))
            model.invoke("more")
    head, _, exchanges = before.partition('"exchanges": [')
    assert head.partition('"recorded"')[0] in path.read_text()
    assert exchanges.removesuffix("\n]\n}\n") in path.read_text()


def test_nothing_is_written_where_a_call_ends_the_block(path: Path) -> None:
    """A wrong key, recorded once, would be replayed until somebody looks into the file. The error says so."""
    with serve(OpenAIFormat(), ["a", Status(401), "a"]) as server:
        with pytest.raises(AuthenticationError) as caught, cassette(path, record="once"):
            ask(server.url, "a", "b")
        assert "was not written" in caught.value.__notes__[-1]
        assert not path.exists()
        # Another failure is no reason: what was recorded was paid for, and is as it should be.
        with pytest.raises(AssertionError, match="as the test wants it"), cassette(path, record="once"):
            ask(server.url, "a")
            raise AssertionError("not as the test wants it")
    assert questions_in(path) == ["a"]


def test_a_failure_that_the_test_expects_is_written(path: Path) -> None:
    with (
        serve(OpenAIFormat(), Status(401)) as server,
        cassette(path, record="once"),
        pytest.raises(AuthenticationError),
    ):
        ask(server.url, "a")
    with cassette(path), pytest.raises(AuthenticationError):
        ask(NOWHERE, "a")


def test_what_cannot_be_sent_is_not_recorded(path: Path) -> None:
    """It is refused before it is sent, with a cassette as without."""
    bad = ChatOpenAI(model="m", base_url=NOWHERE, api_key="two\r\nlines", retry=None)
    with serve(OpenAIFormat(), echo) as server, cassette(path, record="once"):
        with pytest.raises(InvalidInput):
            bad.invoke("a")
        ask(server.url, "b")
    assert questions_in(path) == ["b"]


def write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


GOOD = '"hocket": "0.1", "recorded": "2026-01-01T00:00:00Z"'
REPLY = '"reply": {"status": 200'
REQUEST = '"request": {"method": "GET", "url": "https://a.example/"}'


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "null",
        "[]",
        '{"cassette": 1}',
        b"\xff\xfe\x00",
        "[" * 100_000,
        f'{{"cassette": 1, {GOOD}, "exchanges": 3}}',
        f'{{"cassette": 1, {GOOD}, "exchanges": [{{}}]}}',
        f'{{"cassette": 1, {GOOD}, "exchanges": [{{{REQUEST}}}]}}',
        f'{{"cassette": 1, {GOOD}, "exchanges": [{{{REQUEST}, {REPLY}, "pieces": [[0, 5]]}}}}]}}',
        f'{{"cassette": 1, {GOOD}, "exchanges": [{{{REQUEST}, {REPLY}, "pieces": [[0, {{"base64": "?"}}]]}}}}]}}',
        f'{{"cassette": 1, {GOOD}, "exchanges": [{{{REQUEST}, "end": {{"failure": "SystemExit"}}}}]}}',
        f'{{"cassette": "one", {GOOD}, "exchanges": []}}',
        '{"version": 1, "interactions": []}',
        "interactions:\n- request:\n    body: null\n",
    ],
    ids=range(16),
)
def test_a_damaged_file(path: Path, content: str | bytes) -> None:
    """It is refused at the door, by its name, with a way out; and it is left as it is, whatever is to be recorded."""
    write(path, content)
    for record in ("none", "once", "new"):
        with pytest.raises(InvalidInput, match=re.escape(str(path)) + r".*(record|known?s)"):
            cassette(path, record=record).__enter__()  # type: ignore[arg-type]
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)


def test_a_file_of_a_later_version(path: Path) -> None:
    write(path, '{"cassette": 2, "something": "new"}')
    with pytest.raises(InvalidInput, match=r"format 2, .* up to 1: update hocket, or record it again"):
        cassette(path).__enter__()


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be read"):
        cassette(tmp_path).__enter__()


@pytest.mark.parametrize("place", ["a file/talk.json", "a file", "."])
def test_a_path_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    """Known before anything is paid for."""
    (tmp_path / "a file").touch()
    target = tmp_path / place
    with serve(OpenAIFormat(), echo) as server:
        with pytest.raises(InvalidInput, match=r"(cannot be (written|read)|damaged)"), cassette(target, record="new"):
            ask(server.url, "a")
        assert server.requests == []


async def test_it_is_refused_in_a_loop_as_well(path: Path) -> None:
    write(path, "{")
    with pytest.raises(InvalidInput):
        async with cassette(path):
            pass


def test_arguments_are_checked(path: Path) -> None:
    wrong: Any = "sometimes"
    with pytest.raises(InvalidInput, match="'none', 'once', 'new', 'all'"):
        cassette(path, record=wrong)
    with pytest.raises(InvalidInput, match=r"list of paths"):
        cassette(path, ignore="metadata")
    with cassette(path) as used, pytest.raises(InvalidInput, match="in use already"):
        used.__enter__()


def test_an_old_file_warns(path: Path) -> None:
    """Where the suite has a limit."""
    write(path, f'{{"cassette": 1, {GOOD}, "exchanges": []}}')
    before = use_defaults(CassetteDefaults(max_age=90))
    try:
        with pytest.warns(StaleCassetteWarning, match=r"recorded \d+ days ago, and may be 90"), cassette(path):
            pass
        use_defaults(CassetteDefaults(max_age=90_000))
        with cassette(path):
            pass
    finally:
        use_defaults(before)


def test_what_nobody_asks_for_is_a_failure_where_the_suite_is_strict(path: Path) -> None:
    with serve(OpenAIFormat(), echo) as server, cassette(path, record="once"):
        ask(server.url, "a", "b")
    before = use_defaults(CassetteDefaults(strict=True))
    try:
        with cassette(path):
            ask(NOWHERE, "a", "b")
        with pytest.raises(AssertionError, match=r"1 of 2 exchanges in .* were not used"), cassette(path):
            ask(NOWHERE, "b")
        with pytest.raises(KeyError), cassette(path):  # the test's own failure comes first
            raise KeyError
    finally:
        use_defaults(before)


def test_the_file_can_be_read_at_any_time(path: Path) -> None:
    """Who reads while it is written has the old one or the new one; and no other file is left beside it."""
    stop = threading.Event()
    seen: set[int] = set()
    with serve(OpenAIFormat(), echo) as server:
        with cassette(path, record="all"):
            ask(server.url, "a")

        def read() -> None:
            while not stop.is_set():
                seen.add(len(questions_in(path)))

        reader = threading.Thread(target=read)
        reader.start()
        for count in (50, 1, 50, 1):
            with cassette(path, record="all"):
                ask(server.url, *["a"] * count)
        stop.set()
        reader.join()
    assert seen <= {1, 50}
    assert [one.name for one in path.parent.iterdir()] == ["talk.json"]


RECORD = """
import sys
from hocket.providers.openai import ChatOpenAI
from hocket.testing import cassette

path, url, name = sys.argv[1:]
with cassette(path, record="all"):
    model = ChatOpenAI(model="m", base_url=url, api_key="k")
    for number in range(20):
        model.invoke(f"{name} {number}")
    if name == "killed":
        print("recorded", flush=True)
        sys.stdin.read()
"""


def record_in_process(path: Path, server: Server, name: str) -> "subprocess.Popen[str]":
    arguments = ("-c", RECORD, str(path), server.url, name)
    return Program(*arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_that_record_the_same_file(path: Path) -> None:
    """As several processes of pytest may: one of them wins, whole."""
    with serve(OpenAIFormat(), echo) as server:
        processes = [record_in_process(path, server, f"process {number}") for number in range(3)]
        assert [process.wait(50) for process in processes] == [0, 0, 0]
        for process in processes:
            process.communicate()
    first, *others = questions_in(path)
    assert [first, *others] == [f"{first[:9]} {number}" for number in range(20)]
    assert [one.name for one in path.parent.iterdir()] == ["talk.json"]


def test_a_process_that_is_killed_while_it_records(path: Path) -> None:
    """The file is as it was before."""
    with serve(OpenAIFormat(), echo) as server:
        with cassette(path, record="once"):
            ask(server.url, "before")
        with record_in_process(path, server, "killed") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "recorded\n"
            process.kill()
    assert questions_in(path) == ["before"]
    assert [one.name for one in path.parent.iterdir()] == ["talk.json"]
