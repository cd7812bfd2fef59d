"""`LogHandler` and `JSONFormatter`: one record at a run's end."""

import contextlib
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
from hocket.errors import InvalidInput, InvalidRequest, RateLimitError, TotalTimeout
from hocket.language_models import FakeListChatModel, FakeListLLM, ScriptedChatModel, Turn
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.rate_limiters import BaseRateLimiter
from hocket.retries import RetryPolicy
from hocket.runnables import RunnableLambda
from hocket.testing import AnthropicFormat, OpenAIFormat, Reply, Status, Stream, serve, virtual_clock
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
    assert facts == {
        "kind": "chat",
        "name": "ChatOpenAI",
        "provider": "openai_compatible",
        "model": "m-1",
        "attempts": 2,
    }
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


async def test_the_provider_is_called_as_errors_and_the_ledger_call_it(lines: Lines) -> None:
    """So that one line leads to the other."""
    async with serve(OpenAIFormat(), [Status(429), Reply("hi")]) as server:
        model = chat(server, retry=None, callbacks=[LogHandler(lines.logger)])
        with pytest.raises(RateLimitError) as caught:
            await model.ainvoke("x")
        answer = await model.ainvoke("x")
    assert {line["hocket"]["provider"] for line in lines} == {caught.value.provider}
    assert answer.response_metadata["model_provider"] == caught.value.provider


# -- one failure, one alarm


def fail_as(error: BaseException) -> Any:
    """Return a step of a chain that fails."""

    def fail(_: object) -> None:
        raise error

    return RunnableLambda(fail)


def summarize(lines: Lines) -> list[tuple[str, str, bool]]:
    """Return what failed: the level, the name, and whether another record tells of it."""
    told = {line["hocket"]["run_id"]: line for line in lines}
    failed = [line for line in lines if "error_type" in line["hocket"]]
    causes = [line["hocket"].get("cause_run_id") for line in failed]
    assert all(told[one]["level"] == "ERROR" for one in causes if one)
    return [(line["level"], line["hocket"]["name"], bool(one)) for line, one in zip(failed, causes, strict=True)]


async def test_an_error_that_passes_through_several_runs_is_one_alarm(lines: Lines) -> None:
    """Of the run that it came from; those around it name that one."""
    chain = (RunnableLambda(str) | fail_as(ValueError("no"))).with_config(run_name="inner") | RunnableLambda(str)
    with pytest.raises(ValueError, match="no"):
        await chain.ainvoke("x", {"callbacks": [LogHandler(lines.logger)], "run_name": "outer"})
    assert summarize(lines) == [("ERROR", "fail", False), ("INFO", "inner", True), ("INFO", "outer", True)]


async def test_an_error_that_is_raised_from_another_is_the_same_failure(lines: Lines) -> None:
    """And one that is not raised from it is another failure."""

    async def translate(text: str, *, is_cause: bool) -> None:
        cause = ValueError("no")
        with contextlib.suppress(ValueError):
            await fail_as(cause).ainvoke(text)
        if is_cause:
            raise LookupError from cause
        raise LookupError

    @RunnableLambda
    async def explain(text: str) -> None:
        await translate(text, is_cause=True)

    @RunnableLambda
    async def lose(text: str) -> None:
        await translate(text, is_cause=False)

    for runnable in (explain, lose):
        with pytest.raises(LookupError):
            await runnable.ainvoke("x", {"callbacks": [LogHandler(lines.logger)]})
    assert summarize(lines) == [
        ("ERROR", "fail", False),
        ("INFO", "explain", True),
        ("ERROR", "fail", False),
        ("ERROR", "lose", False),
    ]


async def test_each_time_that_an_error_comes_up_is_an_alarm(lines: Lines) -> None:
    """Also where it is the same object, as of a lookup that failed once and was kept; all handlers say so alike."""
    kept, others = fail_as(ValueError("no")), Lines()
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            await (kept | str).ainvoke("x", {"callbacks": [LogHandler(lines.logger), LogHandler(others.logger)]})
    name = "RunnableSequence"
    assert summarize(lines) == [("ERROR", "fail", False), ("INFO", name, True)] * 2 == summarize(others)


# -- calls without an end


async def test_a_cancelled_call_is_no_alarm(lines: Lines) -> None:
    """The caller has left."""
    async with serve(OpenAIFormat(), Reply("hi", delay=math.inf)) as server, anyio.create_task_group() as group:
        group.start_soon(chat(server).ainvoke, "x", {"callbacks": [LogHandler(lines.logger)]})
        await server.wait_for_requests(1)
        group.cancel_scope.cancel()
    facts = lines.only()["hocket"]
    assert (lines.only()["level"], facts["error_type"]) == ("INFO", "cancelled")
    assert (facts["input_tokens"] > 0, facts["output_tokens"], facts["estimated"]) == (True, 0, True)


async def test_a_call_that_was_cancelled_before_it_was_sent_has_used_nothing(lines: Lines) -> None:
    """It waited for its turn."""

    class Closed(BaseRateLimiter):
        async def aacquire(self, *, blocking: bool = True) -> bool:
            waiting.set()
            await anyio.sleep_forever()
            return True

        def acquire(self, *, blocking: bool = True) -> bool:
            raise NotImplementedError

    waiting = anyio.Event()
    model = FakeListChatModel(responses=["hi"], rate_limiter=Closed(), callbacks=[LogHandler(lines.logger)])
    async with anyio.create_task_group() as group:
        group.start_soon(model.ainvoke, "x")
        await waiting.wait()
        group.cancel_scope.cancel()
    assert lines.only()["hocket"].keys().isdisjoint({"input_tokens", "output_tokens", "estimated"})


async def test_a_call_that_was_refused_has_used_nothing(lines: Lines) -> None:
    """Its server has not worked for it."""
    async with serve(OpenAIFormat(), [Status(429)]) as server:
        with pytest.raises(RateLimitError):
            await chat(server, retry=None, callbacks=[LogHandler(lines.logger)]).ainvoke("x")
    assert lines.only()["hocket"].keys().isdisjoint({"input_tokens", "output_tokens", "estimated"})


async def test_a_call_that_ran_out_of_time_says_what_it_must_have_used(lines: Lines) -> None:
    """The question, and what had come of the answer."""
    turn = Turn(text=["one two three four ", "five"], pause=60)
    model = ScriptedChatModel(script=[turn], timeout=30, callbacks=[LogHandler(lines.logger)])
    with virtual_clock(), pytest.raises(TotalTimeout):
        async for _ in model.astream("What is " + "long? " * 100):
            pass
    facts = lines.only()["hocket"]
    assert (150 < facts["input_tokens"] < 200, 3 < facts["output_tokens"] < 9, facts["estimated"]) == (True, True, True)


@pytest.mark.parametrize("is_left", [True, False])
async def test_what_a_server_has_told_is_kept(lines: Lines, is_left: bool) -> None:
    """Anthropic says at once how long the question is; of an answer that was read to its end nothing is estimated."""
    text = "one" * 20 + " two"
    async with serve(
        AnthropicFormat(), [Reply(text), Stream(text, then="stall") if is_left else Reply(text)]
    ) as server:
        model = ChatAnthropic(model="m", base_url=server.url, api_key="k", callbacks=[LogHandler(lines.logger)])
        whole = await model.ainvoke("x" * 100)
        async with model.astream("x" * 100) as stream:
            async for chunk in stream:
                if is_left and chunk.text:
                    break
    assert whole.usage_metadata is not None
    first, second = (line["hocket"] for line in lines)
    assert first["input_tokens"] == second["input_tokens"] == whole.usage_metadata["input_tokens"]
    assert (first.get("estimated"), second.get("estimated")) == (None, True if is_left else None)
    assert second["output_tokens"] > 0


async def test_tokens_are_those_of_all_attempts(lines: Lines) -> None:
    """As far as the server told them: that of an attempt that broke off is paid for, too."""
    async with serve(AnthropicFormat(), [Stream("one two", then="eof"), Reply("one two")]) as server:
        retry = RetryPolicy(first_pause=0)
        model = ChatAnthropic(model="m", base_url=server.url, api_key="k", retry=retry, streaming=True)
        answer = await model.ainvoke("x", {"callbacks": [LogHandler(lines.logger)]})
    facts = lines.only()["hocket"]
    assert answer.usage_metadata is not None
    assert (facts["attempts"], facts["input_tokens"]) == (2, 2 * answer.usage_metadata["input_tokens"])


# -- who it was for


async def test_a_record_has_the_keys_of_the_metadata_that_were_named(lines: Lines) -> None:
    """Of a model inside a chain, too; what a run does not have is left out, and all others stay out."""
    handler = LogHandler(lines.logger, metadata=["user_id", "tenant"], tags=True)
    chain = RunnableLambda(str) | FakeListChatModel(responses=["hi"])
    await chain.ainvoke("x", {"callbacks": [handler], "metadata": {"user_id": 7, "card": "4111"}, "tags": ["paid"]})
    await chain.ainvoke("x", {"callbacks": [handler]})
    first, second = list(lines)[:3], list(lines)[3:]
    assert [line["hocket"]["metadata"] for line in first] == [{"user_id": 7}] * 3
    assert all("paid" in line["hocket"]["tags"] for line in first)
    assert not any("metadata" in line["hocket"] for line in second)


async def test_neither_metadata_nor_tags_are_in_a_record_by_default(lines: Lines) -> None:
    """They may tell whom it was about."""
    config = {"callbacks": [LogHandler(lines.logger)], "metadata": {"user_id": "heron"}, "tags": ["heron"]}
    await FakeListChatModel(responses=["hi"]).ainvoke("x", config)  # type: ignore[arg-type]
    assert "heron" not in json.dumps(list(lines))


async def test_no_key_gets_into_a_record_by_metadata(lines: Lines) -> None:
    """Nor by tags."""
    handler = LogHandler(lines.logger, metadata=["request"], tags=True)
    config = {"callbacks": [handler], "metadata": {"request": {"auth": ["sk-abcdefgh"]}}, "tags": ["sk-abcdefgh"]}
    await FakeListChatModel(responses=["hi"]).ainvoke("x", config)  # type: ignore[arg-type]
    facts = lines.only()["hocket"]
    assert (facts["metadata"], facts["tags"]) == ({"request": {"auth": ["**********"]}}, ["**********"])


def test_keys_that_are_one_text_are_refused() -> None:
    """It would be a list of letters."""
    with pytest.raises(InvalidInput, match=r"metadata=\['user_id'\]"):
        LogHandler(metadata="user_id")


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
