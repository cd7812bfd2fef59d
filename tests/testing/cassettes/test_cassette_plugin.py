"""Cassettes under pytest: the mark, the options, the names of files, what is said at the end."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hocket.testing import OpenAIFormat, ReceivedRequest, Server, Status, serve
from hocket.testing.cassettes.hooks import name_cassette

TESTS = """
import pytest
from hocket.providers.openai import ChatOpenAI

@pytest.fixture
def model():
    return ChatOpenAI(model="m", base_url="{url}", api_key="k", retry=None)

@pytest.mark.cassette
async def test_chat(model):
    assert (await model.ainvoke("Why?")).text == "to Why?"
    assert "".join([chunk.text async for chunk in model.astream("How?")]) == "to How?"

@pytest.mark.cassette
class TestClass:
    @pytest.mark.parametrize("word", ["a/b", "c d"])
    def test_words(self, model, word):
        assert model.invoke(word).text == "to " + word

@pytest.mark.cassette("talks/shared.json", ignore=["seed"])
def test_options(model):
    import random
    assert model.invoke("Hi", seed=random.randrange(10**9)).text == "to Hi"

def test_without():
    pass
"""


def answer(request: ReceivedRequest) -> str:
    return f"to {request.json['messages'][0]['content']}"


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(OpenAIFormat(), answer) as one:
        yield one


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A user's suite with the plugin on, and warnings as errors."""
    pytester.makeini(
        "[pytest]\naddopts = --strict-markers -p no:randomly -p no:cacheprovider -p no:hypothesispytest\n"
        "filterwarnings = error\n"
        "asyncio_default_fixture_loop_scope = function\n"
    )
    pytester.makeconftest('pytest_plugins = ["hocket.testing.plugin"]')
    return pytester


def cassettes_in(suite: pytest.Pytester) -> list[str]:
    return sorted(str(path.relative_to(suite.path)) for path in suite.path.rglob("*.json"))


ALL = [
    "cassettes/test_it/TestClass.test_words[a-b].json",
    "cassettes/test_it/TestClass.test_words[c-d].json",
    "cassettes/test_it/test_chat.json",
    "talks/shared.json",
]


def test_the_first_minute(suite: pytest.Pytester, server: Server) -> None:
    """Run, be told what to do, do it, run again: without a network, and without the server."""
    suite.makepyfile(test_it=TESTS.format(url=server.url))
    first = suite.runpytest()
    first.assert_outcomes(failed=5, passed=1)
    first.stdout.fnmatch_lines(
        ["*CassetteMiss: POST http*has no recording: cassettes/test_it/test_chat.json is not there*"]
    )
    first.stdout.fnmatch_lines(["*To record it: `pytest --hocket-record=once`*"])
    assert server.requests == []

    second = suite.runpytest("--hocket-record=once")
    second.assert_outcomes(passed=6)
    assert cassettes_in(suite) == ALL
    # The test that ran on two loops was recorded on the first.
    assert len(server.requests) == 5
    second.stdout.fnmatch_lines(
        ["*recorded by hocket*", "cassettes/test_it/test_chat.json: 2 exchanges", "talks/shared.json: 1 exchange"]
    )

    third = suite.runpytest("--hocket-strict", "--hocket-max-age=1")
    third.assert_outcomes(passed=6)
    third.stdout.no_fnmatch_line("*recorded by hocket*")
    assert len(server.requests) == 5


@pytest.mark.nightly
def test_with_xdist(suite: pytest.Pytester, server: Server) -> None:
    """Workers record and replay, and the summary has what they did."""
    suite.makepyfile(test_it=TESTS.format(url=server.url))
    recorded = suite.runpytest_subprocess("-n2", "--hocket-record=once")
    recorded.assert_outcomes(passed=6)
    recorded.stdout.fnmatch_lines_random([f"{path.replace('[', '[[]')}: * exchange*" for path in ALL])
    assert cassettes_in(suite) == ALL
    asked = len(server.requests)
    suite.runpytest_subprocess("-n1").assert_outcomes(passed=6)
    assert len(server.requests) == asked


def test_new_and_all(suite: pytest.Pytester, server: Server) -> None:
    suite.makepyfile(test_it=TESTS.format(url=server.url))
    for option, asked in (("none", 0), ("new", 5), ("new", 5), ("all", 12)):
        suite.runpytest(f"--hocket-record={option}")
        assert len(server.requests) == asked, option  # "all" records the test on two loops twice


def test_the_option_holds_for_the_context_manager(suite: pytest.Pytester, server: Server) -> None:
    """Unless it says otherwise itself."""
    suite.makepyfile(
        f"""
        import pytest
        from hocket.providers.openai import ChatOpenAI
        from hocket.testing import CassetteMiss, cassette

        model = ChatOpenAI(model="m", base_url="{server.url}", api_key="k")

        def test_one():
            with cassette("one.json"):
                model.invoke("a")

        def test_two():
            with cassette("two.json", record="none"), pytest.raises(CassetteMiss):
                model.invoke("a")
        """
    )
    suite.runpytest("--hocket-record=once").assert_outcomes(passed=2)
    assert cassettes_in(suite) == ["one.json"]


def test_strict_and_old(suite: pytest.Pytester, server: Server) -> None:
    """What is not asked for any more is an error of its test; what is too old, a warning."""
    suite.makepyfile(test_it=TESTS.format(url=server.url))
    suite.runpytest("--hocket-record=once").assert_outcomes(passed=6)
    path = suite.path / "talks/shared.json"
    data = json.loads(path.read_text())
    data["exchanges"].append(data["exchanges"][0])
    path.write_text(json.dumps({**data, "recorded": "2026-01-01T00:00:00Z"}))
    suite.runpytest().assert_outcomes(passed=6)
    strict = suite.runpytest("--hocket-strict")
    strict.assert_outcomes(passed=6, errors=1)
    strict.stdout.fnmatch_lines(["*1 of 2 exchanges in talks/shared.json were not used*"])
    old = suite.runpytest("--hocket-max-age=30", "-W", "default::hocket.errors.StaleCassetteWarning")
    old.assert_outcomes(passed=6, warnings=1)
    old.stdout.fnmatch_lines(["*talks/shared.json was recorded * days ago*--hocket-record=all*"])


def test_a_test_that_fails_in_a_call_records_nothing(suite: pytest.Pytester) -> None:
    """A wrong key: the next run asks again. One that fails otherwise keeps what was paid for."""
    suite.makepyfile(
        test_it="""
        import os, pytest
        from hocket.providers.openai import ChatOpenAI

        @pytest.fixture
        def greeting(request):
            return ChatOpenAI(model="m", base_url=os.environ["URL"], api_key="k", retry=None).invoke("Hi").text

        @pytest.mark.cassette
        def test_fixture(greeting):
            pass

        @pytest.mark.cassette
        def test_call():
            ChatOpenAI(model="m", base_url=os.environ["URL"], api_key="k", retry=None).invoke("Hi")

        @pytest.mark.cassette
        def test_assertion():
            assert ChatOpenAI(model="m", base_url=os.environ["URL"], api_key="k").invoke("Hello").text == "no"
        """
    )

    def refuse(request: ReceivedRequest) -> Any:
        return Status(401) if answer(request) == "to Hi" else "Hello"

    with serve(OpenAIFormat(), refuse) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("URL", server.url)
        result = suite.runpytest("--hocket-record=once")
        result.assert_outcomes(failed=2, errors=1)
        result.stdout.fnmatch_lines(["cassettes/test_it/test_call.json: not written, since a call failed"])
    assert cassettes_in(suite) == ["cassettes/test_it/test_assertion.json"]


def test_a_damaged_file_is_an_error_of_its_test(suite: pytest.Pytester, server: Server) -> None:
    suite.makepyfile(test_it=TESTS.format(url=server.url))
    (suite.path / "talks").mkdir()
    (suite.path / "talks/shared.json").write_text("{")
    result = suite.runpytest("--hocket-record=once")
    result.assert_outcomes(passed=5, errors=1)
    result.stdout.fnmatch_lines(["*shared.json is damaged, or no cassette*"])


def test_a_model_that_is_asked_without_a_cassette(suite: pytest.Pytester) -> None:
    """The closed network says which model, and what to do."""
    suite.makepyfile(
        """
        from hocket.providers.openai import ChatOpenAI

        async def test_it():
            await ChatOpenAI(model="gpt-5.2", api_key="k").ainvoke("Hi")
        """
    )
    result = suite.runpytest()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*ModelRequestsBlocked: the model 'gpt-5.2' at api.openai.com was refused*"])


def test_the_network_is_open_while_a_cassette_records(suite: pytest.Pytester) -> None:
    """And closed again behind it; a cassette that only replays opens nothing."""
    suite.makepyfile(
        """
        import socket, pytest
        from hocket.testing import cassette, network

        def is_open():
            return bool(network._reopened)

        @pytest.mark.cassette
        def test_marked(request):
            assert is_open() == (request.config.getoption("--hocket-record") is not None)

        def test_other():
            assert not is_open()
            with cassette("a.json", record="once"):
                assert is_open()
            with pytest.raises(RuntimeError, match="refused"):
                socket.getaddrinfo("example.org", 443)
        """
    )
    suite.runpytest().assert_outcomes(passed=2)
    suite.runpytest("--hocket-record=once").assert_outcomes(passed=2)
    assert cassettes_in(suite) == []  # nothing was asked, so nothing was recorded


class _Item:
    """A test as far as its cassette's name goes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parent = None
        self.path = Path("/suite/test_it.py")


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("test_a", "test_a"),
        ("test_a[x]", "test_a[x]"),
        (r'test_a[/ \ : * ? " < > | b]', "test_a[-b]"),
        ("test_a[a  b---c]", "test_a[a-b-c]"),
        ("test_a[..]", "test_a[..]"),
        (" test a. ", "test-a"),
    ],
)
def test_names_that_every_file_system_takes(name: str, file: str) -> None:
    item: Any = _Item(name)
    assert name_cassette(item) == Path(f"/suite/cassettes/test_it/{file}.json")


def test_long_and_foreign_names_stay_apart() -> None:
    """Cut, and told apart by a hash."""
    names = ["test_a[" + "x" * 300 + end for end in ("1]", "2]")] + ["test_a[é]", "test_a[è]"]
    files = {name_cassette(item).name for item in map(_Item, names)}  # type: ignore[arg-type]
    assert len(files) == 4
    assert all((len(file) < 60 and file.isascii()) or "[" in file for file in files)
