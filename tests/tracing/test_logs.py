"""`LogHandler` and `JSONFormatter`: one record at a run's end."""

import io
import json
import logging
import math
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from hocket.caches import InMemoryCache
from hocket.callbacks import register_handler, unregister_handler
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidRequest, RateLimitError
from hocket.language_models import FakeListChatModel, FakeListLLM
from hocket.providers.openai import ChatOpenAI
from hocket.retries import RetryPolicy
from hocket.runnables import RunnableLambda
from hocket.testing import OpenAIFormat, Reply, Status, serve
from hocket.tools import tool
from hocket.tracing import JSONFormatter, LogHandler


class Lines:
    """A logger that writes JSON lines into memory."""

    def __init__(self) -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(JSONFormatter())
        self.logger = logging.Logger("test.runs", logging.DEBUG)
        self.logger.addHandler(self.handler)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter([json.loads(line) for line in self._stream.getvalue().splitlines()])

    def only(self) -> dict[str, Any]:
        """Return the only line."""
        (line,) = self
        return line


@pytest.fixture
def lines() -> Lines:
    """A logger."""
    return Lines()


def chat(server: Any, **options: Any) -> ChatOpenAI:
    """Return a model of the scripted server's."""
    return ChatOpenAI(
        **{"model": "m-1", "base_url": server.url, "api_key": "k", "retry": RetryPolicy(first_pause=0), **options}
    )


async def test_a_call_is_a_record(lines: Lines) -> None:
    """With its facts, and nothing of its content."""
    async with serve(OpenAIFormat(), [Status(503), Reply("a heron")]) as server:
        await chat(server).ainvoke("where is the heron?", {"callbacks": [LogHandler(lines.logger)]})
    line = lines.only()
    facts = line["hocket"]
    assert (line["level"], line["logger"], line["message"]) == ("INFO", "test.runs", "chat ChatOpenAI: ended")
    assert facts.pop("seconds") >= 0
    assert len(facts.pop("run_id")) == 36
    assert facts.pop("input_tokens") + facts.pop("output_tokens") == server.tokens_billed
    assert facts == {"kind": "chat", "name": "ChatOpenAI", "provider": "openai", "model": "m-1", "attempts": 2}
    assert "heron" not in json.dumps(line)


async def test_a_failure_is_an_error(lines: Lines) -> None:
    """Its kind and its HTTP status; its message only with content."""
    async with serve(OpenAIFormat(), [Status(429, "heron")]) as server:
        with pytest.raises(RateLimitError):
            await chat(server, retry=None).ainvoke("x", {"callbacks": [LogHandler(lines.logger)]})
    line = lines.only()
    assert line["level"] == "ERROR"
    assert (line["hocket"]["error_type"], line["hocket"]["status"]) == ("hocket.errors.RateLimitError", 429)
    assert "heron" not in json.dumps(line)


async def test_a_cancelled_call_is_no_alarm(lines: Lines) -> None:
    """The caller has left."""
    async with serve(OpenAIFormat(), Reply("hi", delay=math.inf)) as server, anyio.create_task_group() as group:
        group.start_soon(chat(server).ainvoke, "x", {"callbacks": [LogHandler(lines.logger)]})
        await server.wait_for_requests(1)
        group.cancel_scope.cancel()
    assert (lines.only()["level"], lines.only()["hocket"]["error_type"]) == ("INFO", "cancelled")


async def test_each_run_has_its_record(lines: Lines) -> None:
    """And names the one that it is inside."""
    handler = LogHandler(lines.logger)

    @tool
    def look(place: str) -> str:
        """Look."""
        raise ValueError("no")

    register_handler(handler)
    try:
        await (RunnableLambda(lambda text: text) | FakeListLLM(responses=["hi"])).ainvoke("x")
        await DeterministicFakeEmbedding(size=2).aembed_query("x")
        with pytest.raises(ValueError, match="no"):
            await look.ainvoke({"place": "here"})
    finally:
        unregister_handler(handler)
    records = {line["hocket"]["name"]: line["hocket"] for line in lines}
    assert {name: facts["kind"] for name, facts in records.items()} == {
        "RunnableLambda": "chain",
        "FakeListLLM": "text",
        "RunnableSequence": "chain",
        "DeterministicFakeEmbedding": "embeddings",
        "look": "tool",
    }
    assert records["FakeListLLM"]["parent_run_id"] == records["RunnableSequence"]["run_id"]
    assert records["look"]["error_type"] == "ValueError"


async def test_content_is_there_if_it_is_asked_for(lines: Lines) -> None:
    """Without keys."""
    model = FakeListChatModel(responses=["sk-abcdefghijklmnop is the heron's"])
    await model.ainvoke("whose?", {"callbacks": [LogHandler(lines.logger, content=True)]})
    facts = lines.only()["hocket"]
    assert (facts["input"], facts["output"]) == ("Human: whose?", "********** is the heron's")


@pytest.mark.parametrize("content", [True, False])
async def test_no_key_gets_into_a_record(lines: Lines, content: bool) -> None:
    """Whatever it looks like: neither of what is asked, nor of what a server repeats, in an answer and in an error."""
    key = "tide-over-seven-stones"
    async with serve(OpenAIFormat(), [Reply(f"it is {key}"), Status(400, f"{key} is no key")]) as server:
        model = chat(server, api_key=key, callbacks=[LogHandler(lines.logger, content=content)], retry=None)
        await model.ainvoke(f"is {key} the key?")
        with pytest.raises(InvalidRequest):
            await model.ainvoke(f"is {key} the key?")
    said = json.dumps(list(lines))
    assert said.count("**********") == (4 if content else 0)
    assert key not in said


async def test_an_answer_out_of_the_cache_says_so(lines: Lines) -> None:
    """It has no tokens."""
    model = FakeListChatModel(responses=["hi"], cache=InMemoryCache(), callbacks=[LogHandler(lines.logger)])
    await model.ainvoke("x")
    await model.ainvoke("x")
    assert [line["hocket"].get("cache_hit") for line in lines] == [None, True]


async def test_a_stream_that_is_left_says_so(lines: Lines) -> None:
    """It is no failure."""
    model = FakeListChatModel(responses=["x" * 200], callbacks=[LogHandler(lines.logger)])
    async with model.astream("x") as stream:
        async for _ in stream:
            break
    assert (lines.only()["level"], lines.only()["hocket"]["closed"]) == ("INFO", True)


def test_the_formatter_takes_any_record() -> None:
    """A date format, an exception, and values that JSON does not know."""
    try:
        raise ValueError("no")
    except ValueError as error:
        trouble = (type(error), error, error.__traceback__)
    record = logging.LogRecord("a", logging.ERROR, "file", 1, "%s", ("text",), trouble)
    line = json.loads(JSONFormatter(datefmt="%Y").format(record))
    assert (len(line["time"]), line["message"]) == (4, "text")
    assert line["exception"].endswith("ValueError: no")
    record.hocket = {"path": object}
    assert "object" in json.loads(JSONFormatter().format(record))["hocket"]["path"]


def test_the_default_logger_is_named() -> None:
    """So that a program can set its level."""
    assert LogHandler()._logger.name == "hocket.runs"
