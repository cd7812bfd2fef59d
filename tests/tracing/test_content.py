"""Content: off by default, where it goes when it is on, and what never goes anywhere."""

import json
from typing import Any

import pytest

from hocket.agents import AgentLimits, create_agent
from hocket.documents import Document
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import HocketWarning, InvalidInput, OutputParserException
from hocket.language_models import FakeListChatModel, FakeListLLM, ScriptedChatModel, Turn
from hocket.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.openai import ChatOpenAI
from hocket.runnables import RunnableLambda
from hocket.testing import OpenAIFormat, Reply, Status, Stream, serve
from hocket.tools import tool
from hocket.tracing.telemetry import read_capture
from hocket.vectorstores import InMemoryVectorStore
from tests.tracing.telemetry import Collected

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
TALK = [
    SystemMessage("Be brief."),
    HumanMessage(
        [{"type": "text", "text": "What is this?"}, {"type": "image", "url": "https://example.com/heron.png"}]
    ),
    AIMessage("", tool_calls=[{"name": "look", "args": {"place": "here"}, "id": "call-1"}]),
    ToolMessage("a heron", tool_call_id="call-1"),
]


async def say_herons() -> None:
    """Have everything talk of herons: models, tools, chains, retrievers, and errors."""

    @tool
    def look(place: str) -> str:
        """Look."""
        raise ValueError(f"no heron at {place}")

    @RunnableLambda
    def fail(text: Any) -> Any:
        raise OutputParserException(f"cannot read {text}", llm_output="heron")

    call = {"type": "tool_call", "name": "look", "args": {"place": "the heron's nest"}, "id": "call-1"}
    model = ScriptedChatModel(script=[Turn(tool_calls=[call]), "a heron"])
    await create_agent(model, [look]).ainvoke("Where is the heron?")
    await FakeListLLM(responses=["a heron"]).ainvoke("heron")
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
    await store.aadd_documents([Document("a heron", metadata={"of": "herons"})])
    await store.as_retriever().ainvoke("heron")
    with pytest.raises(OutputParserException):
        await (FakeListChatModel(responses=["heron"]) | fail).ainvoke("heron")
    with pytest.raises(ValueError, match="heron"):
        await look.ainvoke({"place": "heron"})


async def test_by_default_there_is_none(collected: Collected) -> None:
    """In no span, event or metric: not what is asked, answered, given to tools, found or wrong."""
    await say_herons()
    assert len(collected.spans) > 10
    assert "heron" not in collected.everything()
    assert collected.events == []


@pytest.mark.parametrize(
    ("word", "in_spans", "in_events"),
    [
        ("NO_CONTENT", False, False),
        ("span_only", True, False),
        ("Event_Only", False, True),
        ("SPAN_AND_EVENT", True, True),
        ("true", True, True),
        ("false", False, False),
        (" ", False, False),
    ],
)
async def test_the_standard_variable_switches_it_on(
    instrumented: Any, monkeypatch: pytest.MonkeyPatch, word: str, in_spans: bool, in_events: bool
) -> None:
    """In any case of letters; for an argument the same words are good."""
    monkeypatch.setenv(VARIABLE, word)
    collected = instrumented()
    await FakeListChatModel(responses=["a heron"]).ainvoke("where?")
    assert ("heron" in collected.spans[0].to_json()) is in_spans
    assert ["heron" in repr(event.attributes) for event in collected.events] == [True] * in_events
    if word.strip():
        assert read_capture(word) == read_capture(None)


async def test_an_unknown_word_warns_and_leaves_it_off(instrumented: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the environment is no reason to show anything, nor to stop a service."""
    monkeypatch.setenv(VARIABLE, "SPANS")
    with pytest.warns(HocketWarning, match="is 'SPANS'; content stays off. It may be one of NO_CONTENT, SPAN_ONLY"):
        collected = instrumented()
    await say_herons()
    assert "heron" not in collected.everything()


@pytest.mark.parametrize("value", ["SPANS", 1, ["SPAN_ONLY"]])
def test_an_unknown_argument_is_refused(instrumented: Any, value: Any) -> None:
    """It is a mistake in the program."""
    with pytest.raises(InvalidInput, match=r"capture_content is .*; it may be True, False, None, or one of NO_CONTENT"):
        instrumented(capture_content=value)


async def test_messages_are_written_as_the_conventions_say(instrumented: Any) -> None:
    """Instructions apart, each message with its role and its parts."""
    collected = instrumented(capture_content="SPAN_ONLY")
    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke(TALK)
    said = collected.span().attributes
    assert json.loads(said["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(said["gen_ai.input.messages"]) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "What is this?"},
                {"type": "uri", "modality": "image", "uri": "https://example.com/heron.png"},
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call-1", "name": "look", "arguments": {"place": "here"}}],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call-1", "response": "a heron"}]},
    ]
    assert json.loads(said["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "hi"}], "finish_reason": "stop"}
    ]


async def test_an_event_has_it_as_data(instrumented: Any) -> None:
    """One for each call of a model, in the span of that call, with all that the span tells."""
    collected = instrumented(capture_content="EVENT_ONLY", semconv="latest")
    await FakeListChatModel(responses=["a heron"]).ainvoke("where?")
    (event,) = collected.events
    span = collected.span()
    assert event.event_name == "gen_ai.client.inference.operation.details"
    assert (event.trace_id, event.span_id) == (span.context.trace_id, span.context.span_id)
    said = dict(event.attributes)
    assert said["gen_ai.request.model"] == "fake-list-chat-model"
    (answer,) = said["gen_ai.output.messages"]
    assert answer["parts"][0]["content"] == "a heron"
    assert "finish_reason" not in answer


async def test_agents_tools_and_retrievers_tell_it_too(instrumented: Any) -> None:
    """Arguments, results and documents, tool definitions, and messages of errors."""
    collected = instrumented(capture_content=True)
    await say_herons()

    def read(name: str, key: str) -> Any:
        return json.loads(collected.span(name).attributes[key])

    (asked,) = read("invoke_agent", "gen_ai.input.messages")
    assert asked == {"role": "user", "parts": [{"type": "text", "content": "Where is the heron?"}]}
    (answered,) = read("invoke_agent", "gen_ai.output.messages")
    text: dict[str, Any] = {"role": "assistant", "parts": [{"type": "text", "content": "a heron"}]}
    assert answered == {**text, "finish_reason": "stop"}
    tools = [span for span in collected.spans if span.name == "execute_tool look"]
    assert [json.loads(span.attributes["gen_ai.tool.call.arguments"]) for span in tools] == [
        {"place": "the heron's nest"},
        {"place": "heron"},
    ]
    assert tools[1].status.description == "no heron at heron"
    assert collected.span("retrieval").attributes["gen_ai.retrieval.query.text"] == "heron"
    (found,) = read("retrieval", "gen_ai.retrieval.documents")
    assert (found["content"], found["metadata"]) == ("a heron", {"of": "herons"})
    assert len(collected.events) == 4


async def test_an_agent_tells_its_model_its_tokens_and_why_each_answer_ended(instrumented: Any) -> None:
    """Tokens are those of all models inside. Where no reason is told there is the likely one: the conventions want it."""
    collected = instrumented(capture_content="SPAN_ONLY")
    usage: Any = {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12, "input_token_details": {"cache_read": 4}}
    inner = create_agent(ScriptedChatModel(script=[Turn(text="a heron", usage=usage)]), name="inner")

    @tool
    async def ask(question: str) -> str:
        """Ask."""
        return str((await inner.ainvoke(question)).output)

    call = {"type": "tool_call", "name": "ask", "args": {"question": "x"}, "id": "call-1"}
    script = [Turn(tool_calls=[call], usage=usage, metadata={}), Turn(text="done", usage=usage)]
    await create_agent(ScriptedChatModel(script=script), [ask], name="outer").ainvoke("x")

    @tool
    def look(question: str) -> str:
        """Look."""
        return question

    looking = Turn(tool_calls=[{**call, "name": "look"}], usage=usage)
    limits: Any = {"limits": AgentLimits(model_calls=1), "at_limit": "stop"}
    await create_agent(ScriptedChatModel(script=[looking]), [look], name="cut", **limits).ainvoke("x")

    def read(name: str) -> tuple[Any, ...]:
        said = collected.span(f"invoke_agent {name}").attributes
        tokens = tuple(said[f"gen_ai.usage.{key}"] for key in ("input_tokens", "output_tokens"))
        (answer,) = json.loads(said["gen_ai.output.messages"])
        return said["gen_ai.request.model"], tokens, answer["finish_reason"]

    assert read("inner") == ("scripted-chat-model", (10, 2), "stop")
    assert read("outer") == ("scripted-chat-model", (30, 6), "stop")
    assert read("cut") == ("scripted-chat-model", (10, 2), "length")
    chats = [span for span in collected.spans if span.name.startswith("chat")]
    answers = [json.loads(span.attributes["gen_ai.output.messages"])[0]["finish_reason"] for span in chats]
    assert answers[:3] == ["tool_call", "stop", "stop"]


async def test_a_stream_that_was_left_has_no_invented_reason(instrumented: Any) -> None:
    """Nobody has said why the answer ended: it did not."""
    collected = instrumented(capture_content="SPAN_ONLY")
    async with (
        serve(OpenAIFormat(), [Stream("one two three", then="stall")]) as server,
        ChatOpenAI(model="m", base_url=server.url, api_key="k").astream("hi") as stream,
    ):
        async for _ in stream:
            break
    (answer,) = json.loads(collected.span().attributes["gen_ai.output.messages"])
    assert answer["finish_reason"] == "closed"


async def test_tools_that_a_model_is_offered_are_told(instrumented: Any) -> None:
    """Their names, descriptions and parameters."""
    collected = instrumented(capture_content="SPAN_ONLY")

    @tool
    def look(place: str) -> str:
        """Look."""
        return place

    async with serve(OpenAIFormat(), [Reply("hi")]) as server:
        await ChatOpenAI(model="m", base_url=server.url, api_key="k").bind_tools([look]).ainvoke("x")
    (definition,) = json.loads(collected.span("chat").attributes["gen_ai.tool.definitions"])
    assert (definition["type"], definition["name"], definition["description"]) == ("function", "look", "Look.")
    assert "place" in definition["parameters"]["properties"]


# -- what is kept of it


async def test_redact_sees_each_part_first(instrumented: Any) -> None:
    """It returns what is kept, or None. Where it fails, nothing is kept."""

    def hide(part: Any) -> Any:
        if part["type"] == "tool_call":
            return None
        if part["type"] == "uri":
            raise RuntimeError("a picture")
        return {**part, **{key: part[key].upper() for key in ("content", "response") if key in part}}

    collected = instrumented(capture_content=True, redact=hide)
    async with serve(OpenAIFormat(), [Reply("a heron")]) as server:
        await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke(TALK)
    said = collected.everything()
    assert "A HERON" in said
    assert "a heron" not in said
    assert "place" not in said
    assert "heron.png" not in said
    assert "left out: redact raised RuntimeError" in said


async def test_long_texts_are_cut(instrumented: Any) -> None:
    """And it is said how much is missing."""
    collected = instrumented(capture_content="SPAN_ONLY", max_content_bytes=10)
    await FakeListChatModel(responses=["é" * 100]).ainvoke("x")
    (answer,) = json.loads(collected.span().attributes["gen_ai.output.messages"])
    assert answer["parts"][0]["content"] == "ééééé… [190 more bytes]"


@pytest.mark.parametrize("echo", ["reply", "error"])
async def test_no_key_gets_out(instrumented: Any, echo: str) -> None:
    """Of any form; not in what the server says, nor in what it is asked, with content on and off."""
    key, password = "tide-over-seven-stones", "quiet-green-lantern"
    text = f"your key is {key}, your header {password}, and sk-abcdefghijklmnop"
    for capture in (True, False):
        collected = instrumented(capture_content=capture)
        async with serve(OpenAIFormat(), [Reply(text) if echo == "reply" else Status(400, text)]) as server:
            model = ChatOpenAI(
                model="m", base_url=server.url, api_key=key, default_headers={"x-auth-token": password}, retry=None
            )
            try:
                await model.ainvoke(f"is {key} the key?")
            except Exception:
                assert echo == "error"
        said = collected.everything()
        assert ("is the key" in said or "the key?" in said) is capture
        for secret in (key, password, "abcdefghijklmnop"):
            assert secret not in said


class Unwritable:
    """Has neither JSON nor a text."""

    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("redact", "answer", "shown"),
    [
        (lambda part: "text", "hi", "[left out: redact returned str, and no part]"),
        (None, "half \ud800 a pair", "half"),
    ],
    ids=["redact", "surrogate"],
)
async def test_odd_content_ends_a_span_all_the_same(
    instrumented: Any, caplog: pytest.LogCaptureFixture, redact: Any, answer: str, shown: str
) -> None:
    """Nobody is warned; what can be shown is shown."""
    collected = instrumented(capture_content=True, redact=redact)
    await FakeListChatModel(responses=[answer]).ainvoke("x")
    assert shown in collected.span().attributes["gen_ai.output.messages"]
    assert len(collected.events) == 1
    assert caplog.records == []


async def test_what_cannot_be_written_is_left_out(instrumented: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A tool may return anything."""
    collected = instrumented(capture_content=True)

    @tool
    def look(place: str) -> object:
        """Look."""
        return Unwritable()

    await look.ainvoke({"place": "here"})
    assert "it cannot be written" in collected.span().attributes["gen_ai.tool.call.result"]
    assert caplog.records == []
