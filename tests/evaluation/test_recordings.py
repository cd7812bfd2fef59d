"""Cassettes as cases: what hocket's own models asked and were answered, in three formats, whole and streamed."""

from pathlib import Path
from typing import Any

import pytest

from hocket.errors import InvalidInput, LLMError
from hocket.evaluation import aevaluate, called, exact, read_cases
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.runnables import RunnableLambda
from hocket.testing import (
    AnthropicFormat,
    OpenAIFormat,
    OpenAIResponsesFormat,
    Reply,
    Status,
    Vectors,
    cassette,
    serve,
)
from hocket.testing.server import Format
from hocket.tools import tool


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}."


CALL = {"name": "weather", "args": {"city": "Oslo"}}
FORMATS = [OpenAIFormat(), OpenAIResponsesFormat(), AnthropicFormat()]
QUESTION = [SystemMessage("Be brief."), HumanMessage("Umbrella in Oslo?")]


def make_model(format: Format, url: str) -> BaseChatModel:
    if isinstance(format, AnthropicFormat):
        return ChatAnthropic(model="m", base_url=url, api_key="k")
    is_responses = isinstance(format, OpenAIResponsesFormat)
    return ChatOpenAI(model="m", base_url=url, api_key="k", use_responses_api=is_responses)


def record(format: Format, path: Path, *, streams: bool) -> None:
    """Records a talk of two requests: a call of a tool, and the answer after its result."""
    replies = [Reply("Let me see.", tool_calls=[CALL, CALL]), Reply("Yes: it rains.")]
    with serve(format, replies) as server, cassette(path, record="once"):
        model = make_model(format, server.url).bind_tools([weather])
        talk: list[Any] = [*QUESTION]
        for _ in replies:
            if streams:
                first, *others = model.stream(talk)
                answer: Any = sum(others, first)
            else:
                answer = model.invoke(talk)
            talk.append(answer)
            talk += [
                ToolMessage(f"Rain in {call['args']['city']}.", tool_call_id=call["id"]) for call in answer.tool_calls
            ]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize(
    "format", [OpenAIFormat(), OpenAIResponsesFormat(), AnthropicFormat()], ids=lambda one: type(one).__name__
)
def test_a_talk_with_tools(format: Format, streams: bool, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    record(format, path, streams=streams)
    first, second = read_cases(path)
    assert (first.id, first.expected, first.metadata) == ("1", "Let me see.", {"calls": [CALL, CALL]})
    assert (second.id, second.expected, second.metadata) == ("2", "Yes: it rains.", {"calls": []})
    assert [(type(one), one.text) for one in first.input] == [(type(one), one.text) for one in QUESTION]
    said, *results = second.input[2:]
    assert isinstance(said, AIMessage) and said.text == "Let me see."
    assert [(call["name"], call["args"]) for call in said.tool_calls] == [("weather", {"city": "Oslo"})] * 2
    assert [one.text for one in results] == ["Rain in Oslo."] * 2
    assert [one.tool_call_id for one in results] == [call["id"] for call in said.tool_calls]
    assert read_cases(path) == [first, second]
    # another model can be asked the same, with what is in its own words, too
    for other in FORMATS:
        with serve(other, ["Yes."]) as server:
            assert make_model(other, server.url).bind_tools([weather]).invoke(second.input).text == "Yes."


async def test_a_run(tmp_path: Path) -> None:
    """Messages are what a target is given; a second run knows the cases again."""
    path, out = tmp_path / "talk.json", tmp_path / "new.jsonl"
    async with serve(OpenAIFormat(), ["Rain.", "Sun."]) as server, cassette(path, record="once"):
        for question in ("Oslo?", "Lima?"):
            await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke(question)
    seen: list[str] = []

    async def answer(messages: Any) -> str:
        seen.append(messages[-1].text)
        return "Rain."

    for _ in range(2):
        report = await aevaluate(RunnableLambda(answer), path, [exact(), called()], out, version="1")
        assert report["exact"].mean == 0.5 and report["called"].mean == 1
    assert sorted(seen) == ["Lima?", "Oslo?"] and report.rows[0]["input"] == [{"type": "human", "content": "Oslo?"}]


def test_what_is_no_case(tmp_path: Path) -> None:
    """Failures, embeddings and the like are passed over; numbers are those of the requests."""
    path = tmp_path / "talk.json"
    with serve(OpenAIFormat(), [Status(500), Vectors(), "Rain."]) as server, cassette(path, record="once"):
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k", retry=1)
        with pytest.raises(LLMError):
            model.invoke("Oslo?")
        OpenAIEmbeddings(model="e", base_url=server.url, api_key="k").embed_query("a")
        model.invoke("Lima?")
    [case] = read_cases(path)
    assert (case.id, case.expected) == ("3", "Rain.")
    with serve(OpenAIFormat(), [Vectors()]) as server, cassette(tmp_path / "none.json", record="once"):
        OpenAIEmbeddings(model="e", base_url=server.url, api_key="k").embed_query("a")
    with pytest.raises(InvalidInput, match=r"none\.json has no answer of a chat model"):
        read_cases(tmp_path / "none.json")
    (tmp_path / "cases.json").write_text('[{"input": "a"}]')
    with pytest.raises(InvalidInput, match="no cassette"):
        read_cases(tmp_path / "cases.json")
    with pytest.raises(FileNotFoundError):
        read_cases(tmp_path / "nowhere.json")
