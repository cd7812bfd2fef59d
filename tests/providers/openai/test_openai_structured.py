"""Structured output with OpenAI's format: what is sent is what the official SDK sends, and what is said is read."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from hocket.errors import ContentFiltered, OutputParserException
from hocket.language_models.structured import Partial
from hocket.providers.openai import ChatOpenAI
from hocket.testing import Body, OpenAIFormat, Reply, Status, Stream, serve
from hocket.testing.server import Server

FIXTURES = Path(__file__).parents[2] / "fixtures" / "openai_chat"


class Inner(BaseModel):
    x: int = Field(description="an int", ge=1, le=9)


class Ans(BaseModel):
    """doc"""

    answer: str
    conf: float | None = None
    kind: Literal["a", "b"] = "a"
    inner: Inner = Field(description="nested")
    items: list[Inner] = []


ANSWER = '{"answer":"21","conf":0.9,"kind":"a","inner":{"x":1},"items":[]}'
EXPECTED = Ans(answer="21", conf=0.9, kind="a", inner=Inner(x=1), items=[])
CALL: Any = {"name": "Ans", "args": json.loads(ANSWER), "id": "c1"}


@asynccontextmanager
async def serving(script: Any, **options: Any) -> AsyncIterator[tuple[ChatOpenAI, Server]]:
    async with serve(OpenAIFormat(), script) as server:
        async with ChatOpenAI(**{"model": "test-model", "base_url": server.url, "api_key": "k", **options}) as model:
            yield model, server
        assert not server.problems


def recorded(name: str) -> Any:
    return json.loads((FIXTURES / f"{name}.json").read_text())


async def test_what_the_official_sdk_sends() -> None:
    """By default: its `chat.completions.parse` of the same model, to the letter; and its answer is read."""
    recording = recorded("json_schema_pydantic_parse")
    async with serving(Body(recording["response"]["body"])) as (model, server):
        assert await model.with_structured_output(Ans).ainvoke("How much?") == EXPECTED

    assert server.requests[0].json["response_format"] == recording["request"]["body"]["response_format"]


async def test_it_streams() -> None:
    """A request that streams, with the same schema; partial objects, then the object."""
    async with serving(Stream(ANSWER, pieces=12)) as (model, server):
        pieces = [piece async for piece in model.with_structured_output(Ans).astream("How much?")]

    assert pieces[-1] == EXPECTED
    assert len(pieces) > 3 and all(isinstance(piece, Partial) for piece in pieces[:-1])
    assert (server.requests[0].json["stream"], "response_format" in server.requests[0].json) == (True, True)


@pytest.mark.parametrize("strict", [None, True])
async def test_function_calling(strict: bool | None) -> None:
    """A tool that must be called; streamed or not."""
    async with serving([Reply(tool_calls=[CALL])] * 2) as (model, server):
        structured = model.with_structured_output(Ans, method="function_calling", strict=strict)
        whole = await structured.ainvoke("How much?")
        pieces = [piece async for piece in structured.astream("How much?")]

    body = server.requests[0].json
    assert whole == pieces[-1] == EXPECTED
    assert (body["tool_choice"], body["tools"][0]["function"].get("strict")) == ("required", strict)
    assert body["tools"][0]["function"]["name"] == "Ans"


def test_servers_without_json_schema_are_given_a_tool() -> None:
    """What a server can do is data."""
    model = ChatOpenAI(model="deepseek-chat", base_url="https://api.deepseek.com", api_key="k")
    request = model.with_structured_output(Ans).bound
    assert set(request.kwargs) >= {"tools", "tool_choice"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refusal(stream: bool) -> None:
    """Is no broken JSON."""
    answer = Reply("", extra={"refusal": "I cannot help."})
    if not stream:
        async with serving(Body(recorded("refusal")["response"]["body"])) as (model, _):
            with pytest.raises(ContentFiltered, match="I cannot help") as caught:
                await model.with_structured_output(Ans).ainvoke("How much?")
    else:
        async with serving(answer) as (model, _):
            with pytest.raises(ContentFiltered, match="I cannot help") as caught:
                async for _piece in model.with_structured_output(Ans).astream("How much?"):
                    pass
    assert caught.value.partial.additional_kwargs["refusal"] == "I cannot help."


async def test_an_answer_that_was_cut_short() -> None:
    """Says so, with the tokens that it had."""
    async with serving(Reply('{"answer": "2', finish_reason="length")) as (model, _):
        with pytest.raises(OutputParserException, match=r"cut short after \d+ tokens"):
            await model.with_structured_output(Ans).ainvoke("How much?")


async def test_reasks_and_retries_are_attempts_of_one_call() -> None:
    """A failure, an answer that does not fit, and a good one; the conversation has grown."""
    script = [Status(503, headers={"retry-after": "0"}), Reply('{"answer": 1}'), Reply(ANSWER)]
    async with serving(script) as (model, server):
        assert await model.with_structured_output(Ans, reask=1).ainvoke("How much?") == EXPECTED

    roles = [[message["role"] for message in request.json["messages"]] for request in server.requests]
    assert roles == [["user"], ["user"], ["user", "assistant", "user"]]
    assert "inner: Field required" in server.requests[2].json["messages"][2]["content"]
