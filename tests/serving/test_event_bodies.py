"""`sse`: any stream as server-sent events, with pings in silence, and failures as events."""

import contextvars
import json
import logging
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import ScriptedChatModel, Turn, errors
from hocket.agents import create_agent
from hocket.errors import AuthenticationError, HocketError, InvalidInput, StreamTruncated
from hocket.messages import AIMessageChunk, HumanMessage
from hocket.serving import EventBody, OutgoingEvent, describe_item, openai_app, openai_events, sse
from hocket.serving.event_body import log_failure
from hocket.serving.refusals import explain_failure
from hocket.testing import virtual_clock
from tests.kit import hook_model, tool_model
from tests.serving.conftest import ask, chat_client, read_events

END = b"event: end\ndata: {}\n\n"


async def read(body: EventBody[Any]) -> bytes:
    return b"".join([piece async for piece in body])


def parse(data: bytes) -> list[tuple[str, str, str]]:
    """Read events as the standard says: type, id and data of each; comments are passed over."""
    events = []
    for block in data.decode().split("\n\n")[:-1]:
        fields: dict[str, list[str]] = {"event": [], "id": [], "data": []}
        for line in block.split("\n"):
            name, colon, value = line.partition(":")
            if name:
                assert colon
                fields[name].append(value.removeprefix(" "))
        if fields["data"]:
            events.append(("".join(fields["event"]), "".join(fields["id"]), "\n".join(fields["data"])))
    return events


async def test_an_answer_as_events():
    """A piece each, and an end, by which a whole answer is known."""
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    model = ScriptedChatModel(script=[Turn(text=["Hel", "lo."], reasoning="Hm.", usage=usage)])
    events = parse(await read(sse(model.astream("hi"))))
    assert [json.loads(data) for _, _, data in events] == [
        {"reasoning": "Hm."},
        {"text": "Hel"},
        {"text": "lo."},
        {"usage": usage},
        {},
    ]
    assert [event for event, _, _ in events] == ["", "", "", "", "end"]


async def test_a_failure_is_an_event():
    """The last one; it names no key, and is logged."""
    truncated = StreamTruncated("it broke off")
    model = ScriptedChatModel(
        script=[Turn(text="one two", error=truncated, error_after=1), AuthenticationError("sk-12345678")]
    )
    events = parse(await read(sse(model.astream("hi"))))
    assert [event for event, _, _ in events] == ["", "error"]
    assert json.loads(events[1][2])["error"]["message"] == "the answer broke off"
    assert b"sk-1" not in await read(sse(model.astream("hi")))


def test_a_failure_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture):
    """Errors repeat what clients say: nobody adds a line to the log so, or steers the terminal of who reads it."""
    log_failure(ValueError("bad\nERROR all is lost \x1b[2J\x9b2J"))
    (record,) = caplog.records
    assert record.getMessage().isprintable() and "bad ERROR all is lost" in record.getMessage()


async def test_what_a_program_says_in_its_errors_is_not_told(caplog: pytest.LogCaptureFixture):
    """But logged."""

    async def fail() -> AsyncIterator[str]:
        yield "a"
        raise RuntimeError("password=hunter2")

    with caplog.at_level(logging.ERROR, "hocket.serving"):
        data = await read(sse(fail()))
    assert b"hunter2" not in data and b"the request failed" in data and b"event: end" not in data
    assert "RuntimeError: password=hunter2" in caplog.text


KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HocketError)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_page_is_told_in_words_for_anybody(kind: type[HocketError]):
    """What a server or a program said may have addresses, prompts and advice for programmers in it."""
    refusal = explain_failure(kind("upstream db-7.corp failed; raise max_tokens"))
    told = json.loads(refusal.body_for_page())["error"]
    assert told["message"] and "corp" not in told["message"] and "max_tokens" not in told["message"]
    assert refusal.status >= 400


@pytest.mark.parametrize(
    ("error", "status", "code", "retry_after"),
    [
        (errors.RateLimitError("slow", retry_after=600), 429, "rate_limit_exceeded", 600),
        (errors.BudgetExceeded("spent", resets_at=time.time() + 36_000), 429, "insufficient_quota", 36_000),
        (errors.HistoryUnavailable("no server"), 503, "store_unavailable", None),
        (errors.BudgetStoreFailed("no server"), 503, "store_unavailable", None),
        (errors.HistoryBusy("wait"), 503, "busy", None),
        (errors.ConnectTimeout("5 s"), 504, "timeout", None),
        (errors.RunCanceled("run 7"), 409, "canceled", None),
        (errors.LoadError("x"), 500, None, None),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_what_may_go_better_later_is_told_apart(
    error: Exception, status: int, code: str | None, retry_after: float | None
):
    """By status and code; and when, where that is known."""
    refusal = explain_failure(error)
    assert (refusal.status, refusal.code) == (status, code)
    told = json.loads(refusal.body_for_page())["error"].get("retry_after")
    assert told == (
        retry_after and pytest.approx(retry_after, rel=0.5)
    )  # these cases may wait for their turn for an hour


async def test_silence_is_filled_with_pings():
    """Before the first piece, too; clients pass them over."""
    turn = Turn(text=["a", "b"], delay=31, pause=16)
    with virtual_clock():
        pieces = [piece async for piece in sse(ScriptedChatModel(script=[turn]).astream("hi"))]
    ping = b": ping\n\n"
    assert pieces == [ping, ping, b'data: {"text":"a"}\n\n', ping, b'data: {"text":"b"}\n\n', ping, END]
    with virtual_clock():
        assert b"ping" not in await read(sse(ScriptedChatModel(script=[turn]).astream("hi"), ping=None))
        data = await read(openai_events(ScriptedChatModel(script=[turn]).astream("hi"), ping=0.75))
    assert data.count(ping) == 41 + 21 + 21


async def test_a_gateway_pings_while_the_model_is_silent():
    """And from then on a failure is an event: the status has been sent."""
    client = chat_client(stream=True)
    turn = Turn(text="a", delay=40, error=StreamTruncated("it broke off"))
    with virtual_clock():
        await client.ask(openai_app({"m": ScriptedChatModel(script=[turn])}, ping=15))
    assert client.status == 200
    ping, again, error = read_events(client.body.decode())
    assert (ping, again) == (": ping", ": ping") and error["error"]["message"] == "the answer broke off"


async def test_items_are_encoded_by_a_function():
    """To a text, data, an event with a type, or nothing; one that fails is a failure, after what came before it."""

    async def count() -> AsyncIterator[int]:
        for number in range(5):
            yield number

    told: list[object] = [None, "a\nb", {"n": 2}, OutgoingEvent("x", "odd", "7"), None]
    data = await read(sse(count(), encode=told.__getitem__))
    assert parse(data) == [("", "", "a\nb"), ("", "", '{"n":2}'), ("odd", "7", "x"), ("end", "", "{}")]
    events = parse(await read(sse(count(), encode=lambda number: f"{10 // (2 - number)}")))
    assert events[:2] == [("", "", "5"), ("", "", "10")] and events[2][0] == "error" and len(events) == 3

    def stop(number: int) -> object:
        raise StopAsyncIteration("a mistake")

    assert [event for event, _, _ in parse(await read(sse(count(), encode=stop)))] == ["error"]


async def test_what_an_agent_does():
    """Its words, its calls, and its result."""

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    call: Any = {"type": "tool_call", "name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}
    agent = create_agent(ScriptedChatModel(script=[Turn(tool_calls=[call]), "It is 3."]), [add])
    events = parse(await read(sse(agent.astream("1 + 2?"))))
    told = [(event, json.loads(data)) for event, _, data in events if event]
    assert [event for event, _ in told] == ["tool_start", "tool_end", "result", "end"]
    assert told[0][1] == {"id": "c1", "tool": "add", "args": {"a": 1, "b": 2}}
    assert told[1][1]["result"] == "3" and told[1][1]["seconds"] >= 0
    assert told[2][1] == {"output": "It is 3.", "stop": "done"}
    words = "".join(json.loads(data).get("text", "") for event, _, data in events if not event)
    assert words == "It is 3."


@dataclass
class Point:
    x: float


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("a", {"text": "a"}),
        (AIMessageChunk("a"), {"text": "a"}),
        (AIMessageChunk(""), None),
        (HumanMessage("a"), {"text": "a"}),
        ({"x": {1}}, {"x": [1]}),
        (Point(float("nan")), {"x": None}),
        (3, 3),
        (OutgoingEvent("a"), OutgoingEvent("a")),
    ],
    ids=repr,
)
def test_how_an_item_is_told(item: object, told: object):
    assert json.dumps(describe_item(item)).replace("NaN", "null") == json.dumps(told)


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="\r\n\0")))
def test_any_text_is_one_event(data: str, event: str):
    """Line breaks arrive as line feeds, which is all that the protocol has."""
    try:
        written = OutgoingEvent(data, event).write()
    except InvalidInput:
        return
    assert written.endswith(b"\n\n") and written.count(b"\n\n") == 1
    expected = data.encode(errors="replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    lines = written.decode().removesuffix("\n\n").split("\n")
    assert "\n".join(line.removeprefix("data: ") for line in lines if line.startswith("data: ")) == expected


@pytest.mark.parametrize("name", ["a\nb", "a\r", "\0"])
def test_a_type_of_several_lines_is_refused(name: str):
    """It would end the event."""
    for event in (OutgoingEvent("x", name), OutgoingEvent("x", "", name)):
        with pytest.raises(InvalidInput, match="one line"):
            event.write()


@pytest.mark.parametrize("ping", [0, -1, float("nan"), float("inf"), True, "15"])
def test_a_ping_is_a_number_of_seconds(ping: Any):
    stream = ScriptedChatModel(script=[]).astream("hi")
    for make in (sse, openai_events):
        with pytest.raises(InvalidInput, match="ping is"):
            make(stream, ping=ping)
    with pytest.raises(InvalidInput, match="ping is"):
        openai_app({"m": ScriptedChatModel(script=[])}, ping=ping)


def test_what_is_no_stream_is_refused():
    """A sync one would block the loop."""
    model: Any = ScriptedChatModel(script=["Hello."])
    for other in (model.stream("hi"), "text", [1], model):
        with pytest.raises(InvalidInput, match="is no async iterable: pass what astream returns"):
            sse(other)


async def test_what_is_there_is_sent_in_one_piece():
    """Each that is sent costs more than what is in it."""

    async def count() -> AsyncIterator[int]:
        for number in range(200):
            yield number

    pieces = [piece async for piece in sse(count())]
    assert len(pieces) < 20 and len(parse(b"".join(pieces))) == 201


async def test_the_context_of_whoever_reads_is_that_of_the_stream():
    """Tools and handlers see the context variables of the request."""
    who = contextvars.ContextVar("who", default="nobody")
    who.set("ada")
    model = hook_model(lambda call: f"I am {who.get()}.")
    assert b"I am ada." in await read(sse(model.astream("hi")))
    who.set("ben")
    assert "I am ben." in (await ask(tool_model(lambda call: f"I am {who.get()}."), stream=True)).text
