"""Streams in the protocols of pages that others have written: Vercel's UI message stream, and AG-UI."""

import json
from collections.abc import AsyncIterator
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

from hocket import AIMessage, AIMessageChunk, ScriptedChatModel, ToolMessage, Turn, create_agent
from hocket.agents import (
    AgentResult,
    ChunkEvent,
    EndEvent,
    MessageEvent,
    PausedEvent,
    ToolEndEvent,
    ToolStartEvent,
    UnreadableEvent,
)
from hocket.errors import InvalidInput, StreamTruncated
from hocket.serving import SSE_HEADERS, StreamProtocol, sse
from hocket.serving.server_sent_events import make_writer
from tests.kit.amount import limit_examples
from tests.serving.page_grammar import CHECKS, read_events
from tests.serving.page_scenes import SCENES, call, collect, piece, usage

PAGES: Any = ["vercel", "ag-ui"]
BAD_ENDS = {"broken off": "error", "failed at once": "error"}
PAUSES = ("paused", "one decided")


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("protocol", PAGES)
async def test_each_stream_is_one_that_clients_take(protocol: Any, scene: str):
    """Each part is opened before it goes on, and closed; there is one end."""
    end = CHECKS[protocol](read_events(b"".join(await collect(protocol, SCENES[scene]()))))
    good = "finish" if protocol == "vercel" else "interrupt" if scene in PAUSES else "success"
    assert end == BAD_ENDS.get(scene, good)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("protocol", PAGES)
async def test_a_stream_that_is_stopped_anywhere_is_whole(protocol: Any, scene: str):
    """After any item, with all that was open closed."""
    if scene in BAD_ENDS:
        pytest.skip("it stops by itself")
    count = len(await collect(protocol, SCENES[scene]())) - 1
    for at in range(count):
        events = read_events(b"".join(await collect(protocol, SCENES[scene](), stop_after=at)))
        assert CHECKS[protocol](events) == ("abort" if protocol == "vercel" else "cancelled")


async def tell(protocol: Any, scene: str) -> list[Any]:
    return read_events(b"".join(await collect(protocol, SCENES[scene]())))


def pick(events: list[Any], *kinds: str) -> list[Any]:
    return [event for event in events if event != "[DONE]" and event["type"] in kinds]


async def test_what_vercels_page_is_told_of_calls():
    """Pieces, the whole call, and its result, which may be an error."""
    events = await tell("vercel", "tools")
    assert pick(events, "tool-input-available") == [
        {"type": "tool-input-available", "toolCallId": "a", "toolName": "pay", "input": {"amount": 1}},
        {"type": "tool-input-available", "toolCallId": "b", "toolName": "pay", "input": {"amount": "x"}},
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "fail", "input": {}},
        {"type": "tool-input-available", "toolCallId": "a_2", "toolName": "pay", "input": {"amount": 2}},
    ]
    results = pick(events, "tool-output-available", "tool-output-error")
    told = {event["toolCallId"]: event.get("output") or event["errorText"] for event in results}
    assert told["a"] == "paid 1" and told["a_2"] == "paid 2" and told["c"] == "fail failed: ValueError: no"
    assert len(pick(events, "start-step")) == len(pick(events, "finish-step")) == 3
    assert events[-2]["finishReason"] == "stop" and events[-2]["messageMetadata"] == {"usage": usage(30, 3)}
    assert pick(events, "message-metadata")[0]["messageMetadata"] == {"usage": usage(10, 2)}


async def test_what_ag_uis_page_is_told_of_calls():
    """All calls of one answer belong to its text, or else to one message."""
    events = await tell("ag-ui", "tools")
    starts = pick(events, "TOOL_CALL_START")
    assert [(event["toolCallId"], event["parentMessageId"]) for event in starts] == [
        ("a", "run1-1"),
        ("b", "run1-1"),
        ("c", "run1-1"),
        ("a_2", "run1-calls-2"),
    ]
    arguments = {event["toolCallId"]: event["delta"] for event in pick(events, "TOOL_CALL_ARGS")}
    assert json.loads(arguments["a_2"]) == {"amount": 2}
    assert events[-1]["usage"] == [
        {"model": "scripted", "inputTokens": 30, "outputTokens": 3, "totalTokens": 33},
    ]


async def test_calls_of_a_model_without_an_agent():
    """They are whole at the end; those without an id get one, and what cannot be read is said."""
    events = await tell("vercel", "calls of a model")
    assert "".join(one["inputTextDelta"] for one in pick(events, "tool-input-delta")) == '{"amount": 1}{"amount": '
    whole = pick(events, "tool-input-available")
    assert [(one["toolName"], one["input"]) for one in whole] == [("pay", {"amount": 1}), ("fail", {})]
    (broken,) = pick(events, "tool-input-error")
    assert broken["toolCallId"] == "c" and "JSON" in broken["errorText"]
    assert events[-2]["finishReason"] == "tool-calls"


async def test_an_approval_is_asked_for_and_given():
    """By the id of the call; then the call is announced once more, since Vercel's client knows no call of before."""
    events = await tell("vercel", "paused")
    assert [event["approvalId"] for event in pick(events, "tool-approval-request")] == ["a", "b"]
    assert events[-2]["finishReason"] == "tool-calls"
    events = await tell("vercel", "refused")
    kinds = ("tool-input-available", "tool-output-denied", "tool-output-available")
    assert [(one["type"], one["toolCallId"]) for one in pick(events, *kinds)] == [
        ("tool-input-available", "a"),
        ("tool-output-denied", "a"),
        ("tool-input-available", "b"),
        ("tool-output-available", "b"),
    ]
    assert pick(events, "tool-output-available")[0]["output"] == "It is paid."
    interrupts = (await tell("ag-ui", "paused"))[-1]["outcome"]["interrupts"]
    assert [(one["id"], one["toolCallId"], one["message"]) for one in interrupts] == [
        ("a", "a", 'pay({"amount":1})'),
        ("b", "b", 'pay({"amount":2})'),
    ]
    assert interrupts[0]["responseSchema"]["required"] == ["type"]


async def test_arguments_of_a_call_that_waited_are_not_told_twice():
    """AG-UI's client would add them to those that it has."""
    assert pick(await tell("ag-ui", "approved"), "TOOL_CALL_ARGS") == []


async def test_what_an_answer_refers_to():
    """A page once, a document by its place; the text around them stays one part."""
    events = await tell("vercel", "sources")
    assert pick(events, "source-url", "source-document") == [
        {"type": "source-url", "sourceId": "run1-source-1", "url": "https://a.example/1", "title": "A"},
        {
            "type": "source-document",
            "sourceId": "run1-source-2",
            "mediaType": "text/plain",
            "title": "notes.txt",
        },
    ]
    assert "".join(one["delta"] for one in pick(events, "text-delta")) == "See this and this."
    assert len(pick(events, "text-start")) == 1
    events = await tell("ag-ui", "added objects")
    assert [one["value"]["title"] for one in pick(events, "CUSTOM")] == ["https://a.example/1", "d"]
    assert pick(events, "STATE_SNAPSHOT")[-1]["snapshot"]["answer"] == "Because"


def test_what_a_provider_cites_when_all_is_said():
    """Gemini's sources stand beside the answer, and no piece has them."""
    chunks = [{"web": {"uri": "https://a.example", "title": "A"}}]
    supports = [{"segment": {"endIndex": 4, "text": "Blue"}, "groundingChunkIndices": [0]}]
    facts: Any = {"grounding_metadata": {"groundingChunks": chunks, "groundingSupports": supports}}
    writer = make_writer("vercel", "r")
    writer.write(ChunkEvent(step=1, chunk=AIMessageChunk("Blue")))
    events = read_events(writer.write(MessageEvent(step=1, message=AIMessage("Blue", response_metadata=facts))))
    assert [event["url"] for event in pick(events, "source-url")] == ["https://a.example"]


@pytest.mark.parametrize("protocol", PAGES)
def test_a_piece_that_was_looked_at_is_told_alike(protocol: Any):
    """A handler that reads its fields changes nothing; what a piece says beside its text is told, too."""
    plain, seen = AIMessageChunk("word"), AIMessageChunk("word")
    assert seen.tool_calls == [] and seen.usage_metadata is None
    writer = make_writer(protocol, "r")
    writer.write("a")
    assert writer.write(plain) == writer.write(seen)
    writer.write(AIMessageChunk("b", usage_metadata=usage(1, 2)))
    assert b"word" in writer.write(AIMessageChunk([{"type": "text", "text": "word", "index": 0}]))
    assert b"3" in writer.end()


async def test_agents_inside_are_told_by_the_call_that_they_run_in():
    """Vercel's page keeps the last of it."""
    events = await tell("vercel", "inside")
    told = pick(events, "data-agent")
    assert {event["id"] for event in told} == {"c"}
    assert [event["data"]["kind"] for event in told] == ["message", "tool_start", "tool_end", "message", "end"]
    assert told[-1]["data"]["output"] == "Paid." and told[1]["data"]["tool"] == "pay"
    assert pick(await tell("ag-ui", "inside"), "CUSTOM")[-1]["value"]["path"] == ["c"]
    assert "".join(event["delta"] for event in pick(events, "text-delta")) == "Done."


async def test_each_call_of_an_agent_has_a_result():
    """Also one that was not run: the page would wait for it for ever."""
    results = pick(await tell("ag-ui", "limited"), "TOOL_CALL_RESULT")
    assert [(one["toolCallId"], one["content"].partition(":")[0]) for one in results] == [
        ("a", "paid 1"),
        ("b", "This call was not run"),
    ]
    (result,) = pick(await tell("ag-ui", "typed"), "TOOL_CALL_RESULT")
    assert result["content"] == "The answer was taken."
    assert pick(await tell("ag-ui", "typed"), "STATE_SNAPSHOT")[0]["snapshot"] == {"amount": 3}


async def test_an_output_that_no_piece_has_told():
    """That of a tool with `return_direct` is a text; an object is an object."""
    events = await tell("vercel", "direct")
    assert [event["delta"] for event in pick(events, "text-delta")] == ["sky: a word"]

    writer = make_writer("vercel", "r")
    result: Any = AgentResult(output={"a": 1}, stop="done", new_messages=[])
    events = read_events(writer.write(EndEvent(result=result)) + writer.end())
    assert pick(events, "data-object")[0]["data"] == {"a": 1} and "messageMetadata" not in events[-2]


def test_usage_is_that_of_each_model_and_never_made_up():
    """What nobody told is left out, an answer out of a cache counts nothing, and the rest is that of models inside tools."""
    writer = make_writer("ag-ui", "r")
    facts: dict[str, Any] = {"model_name": "big"}
    used: Any = {**usage(5, 2), "output_token_details": {"reasoning": 1}}
    big = AIMessage("a", usage_metadata=used, response_metadata=facts)
    cached = AIMessage("b", usage_metadata=usage(9, 9), response_metadata={**facts, "cache_hit": True})
    for step, message in enumerate([big, cached, AIMessage("c")], 1):
        writer.write(MessageEvent(step=step, message=message))
    result: Any = AgentResult(output="c", stop="done", new_messages=[], usage=usage(12, 3))
    writer.write(EndEvent(result=result))
    assert read_events(writer.end())[-1]["usage"] == [
        {"model": "big", "inputTokens": 5, "outputTokens": 2, "totalTokens": 7, "reasoningTokens": 1},
        {"inputTokens": 7, "outputTokens": 1, "totalTokens": 8},
    ]
    for protocol in PAGES:
        assert b"sage" not in make_writer(protocol, "r").end().replace(b"messageId", b"")


@pytest.mark.parametrize(
    ("said", "reason"),
    [("length", "length"), ("content_filter", "content-filter"), ("paused", "other"), ("tool_calls", "tool-calls")],
)
def test_why_an_answer_has_ended(said: str, reason: str):
    writer = make_writer("vercel", "r")
    writer.write(AIMessageChunk("a", response_metadata={"normalized_finish_reason": said}))
    assert read_events(writer.end())[-2]["finishReason"] == reason


def test_a_call_that_cannot_be_read_is_said_to_be_none():
    """What came of it is closed: an answer that is asked for anew makes another."""
    for protocol, kind in (("vercel", "tool-input-error"), ("ag-ui", "TOOL_CALL_END")):
        writer = make_writer(protocol, "r")  # type: ignore[arg-type]
        writer.write(ChunkEvent(step=1, chunk=piece('{"amo', "a", "pay")))
        events = read_events(writer.write(UnreadableEvent(step=1, reply=AIMessage("?"), feedback="again")))
        assert [event["type"] for event in events] == [kind]


@pytest.mark.parametrize("protocol", PAGES)
def test_what_cannot_be_written_is_a_failure_that_clients_can_place(protocol: Any):
    """A part that was opened for it is closed."""
    loop: list[Any] = []
    loop.append(loop)
    writer = make_writer(protocol, "r")
    out = writer.write("a")
    bad: Any = {"type": "tool_call", "name": "pay", "args": {"x": loop}, "id": "c"}
    with pytest.raises(ValueError, match="ircular"):
        writer.write(ToolStartEvent(step=1, call=bad))
    assert CHECKS[protocol](read_events(out + writer.fail(ValueError("x")))) == "error"


@pytest.mark.parametrize("protocol", get_args(StreamProtocol))
def test_there_is_one_end(protocol: Any):
    """Nothing follows it."""
    error = StreamTruncated("x")
    for end in ("end", "stop", "fail"):
        writer = make_writer(protocol)
        assert writer.write("a")
        assert writer.fail(error) if end == "fail" else getattr(writer, end)()
        assert writer.write("b") + writer.end() + writer.stop() + writer.fail(error) == b""


def test_a_stop_in_hockets_own_events():
    """It is told from the end of an answer that is whole."""
    assert make_writer("hocket").stop() == b"event: stopped\ndata: {}\n\n"


async def objects() -> AsyncIterator[dict[str, int]]:
    for number in range(50):
        yield {"n": number}


async def test_of_objects_that_are_there_together_the_newest_is_told():
    """Each takes the place of the one before. hocket's own events tell each."""
    for protocol in PAGES:
        events = read_events(b"".join([one async for one in sse(objects(), protocol=protocol)]))
        numbers = [one["data"]["n"] for one in pick(events, "data-object")]
        numbers += [one["snapshot"]["n"] for one in pick(events, "STATE_SNAPSHOT")]
        assert numbers[-1] == 49 and len(numbers) < 20 and numbers == sorted(numbers)
    assert b"".join([one async for one in sse(objects())]).count(b'{"n":') == 50


@pytest.mark.both_loops
async def test_the_body_of_a_reply():
    """With the headers that clients look for, and words for anybody where it fails."""
    turn = Turn(text="one two", error=StreamTruncated("db-7.corp"), error_after=1)
    for protocol in PAGES:
        body = sse(create_agent(ScriptedChatModel(script=[turn], retry=None)).astream("hi"), protocol=protocol, id="r1")
        expected = {"x-vercel-ai-ui-message-stream": "v1"} if protocol == "vercel" else {}
        assert body.headers == {**SSE_HEADERS, **expected}
        data = b"".join([piece async for piece in body])
        assert CHECKS[protocol](read_events(data)) == "error"
        assert b"corp" not in data and b"the answer broke off" in data and b"r1" in data
    assert sse(objects()).headers == SSE_HEADERS


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"protocol": "ag-ui", "encode": str}, "encode is for hocket's own events; those of protocol='ag-ui' are as"),
        ({"protocol": "agui"}, "protocol is 'agui'; it is one of hocket, vercel, ag-ui"),
        ({"id": "a\nb"}, "id is 'a.nb'; it is one line of 1 to 200 printable characters"),
        ({"protocol": "ag-ui", "thread": "x" * 201}, "thread is 'x+.*it is one line of 1 to 200"),
        ({"id": 7}, "id is 7; it is one line"),
    ],
)
def test_what_is_refused(options: Any, text: str):
    with pytest.raises(InvalidInput, match=text):
        sse(objects(), **options)


# -- any sequence of events

IDS = st.sampled_from(["a", "b", "", "run1-call-1"])
WORDS = st.sampled_from(["", "x", "\ud800", '{"a":', "1}", "{}", "é"])
ARGUMENTS = st.sampled_from(["", '{"a":', "1}", "{}"])
CALLS = st.builds(lambda id, args: call("pay", id, **args), IDS, st.sampled_from([{}, {"a": 1}]))
INVALID: st.SearchStrategy[Any] = st.builds(
    lambda id, args: {"type": "invalid_tool_call", "name": None, "args": args, "id": id, "error": None}, IDS, ARGUMENTS
)
CHUNKS = st.one_of(
    WORDS.map(AIMessageChunk),
    st.builds(piece, ARGUMENTS, st.none() | IDS, st.none() | st.just("pay"), st.none() | st.integers(0, 1)),
    WORDS.map(lambda text: AIMessageChunk([{"type": "reasoning", "reasoning": text, "index": 0}])),
    st.just(AIMessageChunk("", usage_metadata=usage(1, 1))),
)
REPLIES = st.builds(
    lambda text, calls, invalid: AIMessage(
        text, tool_calls=calls, invalid_tool_calls=invalid, usage_metadata=usage(1, 1)
    ),
    WORDS,
    st.lists(CALLS, max_size=2),
    st.lists(INVALID, max_size=1),
)
STEPS: Any = st.integers(0, 1)
PATHS: Any = st.sampled_from([(), (), ("a",)])
RESULTS = st.builds(lambda id, text: ToolMessage(text, tool_call_id=id), IDS, WORDS)
DECISIONS: Any = st.sampled_from(["approve", "edit", "reject", "respond", None])
STOPS: Any = st.sampled_from(["done", "direct", "paused", "tokens"])


@st.composite
def runs(draw: st.DrawFn) -> list[Any]:
    """Events with steps that grow, as an agent's do, and otherwise in any order."""
    step, events = 0, []
    for _ in range(draw(st.integers(0, 12))):
        step += draw(STEPS)
        where = {"step": step, "path": draw(PATHS), "agent": "x"}
        asked = {**where, "step": max(step, 1)}
        kind = draw(st.integers(0, 8))
        if kind <= 2:
            events.append(ChunkEvent(chunk=draw(CHUNKS), **asked))
        elif kind == 3:
            events.append(MessageEvent(message=draw(REPLIES), **asked))
        elif kind == 4:
            events.append(UnreadableEvent(reply=draw(REPLIES), feedback="", **asked))
        elif kind == 5:
            events.append(ToolStartEvent(call=draw(CALLS | INVALID), **where))
        elif kind == 6:
            events.append(
                ToolEndEvent(call=draw(CALLS), result=draw(RESULTS), seconds=1, decision=draw(DECISIONS), **where)
            )
        elif kind == 7:
            events.append(PausedEvent(call=draw(CALLS), **where))
        else:
            output: Any = draw(st.sampled_from(["x", None, {"a": 1}]))
            result: Any = AgentResult(output=output, stop=draw(STOPS), new_messages=[], usage=usage(4, 4))
            events.append(EndEvent(result=result, **where))
        if draw(st.booleans()):
            events.append(draw(st.sampled_from([{"a": 1}, [1], "text", None]) | REPLIES | CHUNKS))
    return events


@pytest.mark.parametrize("protocol", PAGES)
@settings(max_examples=limit_examples(400), deadline=None)
@given(events=runs(), end=st.sampled_from(["end", "stop", "fail"]))
def test_any_events_are_a_stream_that_clients_take(protocol: Any, events: list[Any], end: str):
    """One end, starts before deltas, each part closed, each result of a call that was told."""
    writer = make_writer(protocol, "run1", "t1")
    data = b"".join([writer.write(event) for event in events])
    data += writer.fail(StreamTruncated("x")) if end == "fail" else getattr(writer, end)()
    CHECKS[protocol](read_events(data))
