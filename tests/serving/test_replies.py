"""What a model says, as OpenAI's clients read it."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket import ChatOpenAI, ScriptedChatModel, Turn
from hocket.caches import InMemoryCache
from hocket.errors import (
    AuthenticationError,
    BudgetExceeded,
    ConnectionFailed,
    ContextLengthExceeded,
    HistoryUnavailable,
    InvalidHistory,
    InvalidInput,
    InvalidReply,
    InvalidRequest,
    LocalModelError,
    Overloaded,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    ResourceNotFound,
    StreamTruncated,
    TotalTimeout,
    Unsupported,
)
from hocket.messages import AIMessage, AIMessageChunk, ToolCall, ToolCallChunk
from hocket.serving import openai_app
from hocket.serving.gateway.chat_reply import CompletionWriter, write_completion
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.refusals import explain_failure
from tests.kit import HookCall, hook_llm, hook_model
from tests.serving.conftest import ask, question, read_events, send

USAGE: Any = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_token_details": {"cache_read": 4, "cache_creation": 1, "audio": 3, "image": 2, "of_its_own": 1},
    "output_token_details": {"reasoning": 2, "audio": 1},
}
OPENAI_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1, "audio_tokens": 3, "image_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 2, "audio_tokens": 1},
}
CALLS: list[ToolCall] = [
    {"type": "tool_call", "name": "add", "args": {"a": 1}, "id": "c1"},
    {"type": "tool_call", "name": "sub", "args": {}, "id": "c2"},
]


async def stream(model: Any, **fields: Any) -> list[Any]:
    response = await ask(model, stream=True, **fields)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    return read_events(response.text)


def join(events: list[Any]) -> dict[str, Any]:
    """Fold the events of one answer as a client does."""
    said: dict[str, Any] = {"content": "", "reasoning_content": "", "tool_calls": [], "finish_reason": None}
    for event in events:
        if not isinstance(event, dict) or not event.get("choices"):
            continue
        (choice,) = event["choices"]
        said["finish_reason"] = choice["finish_reason"] or said["finish_reason"]
        for name in ("content", "reasoning_content"):
            said[name] += choice["delta"].get(name) or ""
        for call in choice["delta"].get("tool_calls", []):
            if call["index"] == len(said["tool_calls"]):
                said["tool_calls"].append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
            said["tool_calls"][call["index"]]["arguments"] += call["function"]["arguments"]
    return said


async def test_an_answer_in_one_piece():
    """All that the format has a place for."""
    turn = Turn(text="Hello.", reasoning="Hm.", usage=USAGE)
    response = await ask(ScriptedChatModel(script=[turn]))
    reply = response.json()
    assert reply.pop("id").startswith("chatcmpl-") and isinstance(reply.pop("created"), int)
    message = {"role": "assistant", "content": "Hello.", "refusal": None, "reasoning_content": "Hm."}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    assert reply == {"object": "chat.completion", "model": "m", "choices": [choice], "usage": OPENAI_USAGE}


async def test_an_answer_in_pieces():
    """With its usage, if the client asks for it, and an end."""
    turn = Turn(text=["Hel", "lo."], reasoning="Hm.", usage=USAGE)
    events = await stream(ScriptedChatModel(script=[turn] * 2), stream_options={"include_usage": True})
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert join(events) == {"content": "Hello.", "reasoning_content": "Hm.", "tool_calls": [], "finish_reason": "stop"}
    assert (events[-2]["choices"], events[-2]["usage"], events[-1]) == ([], OPENAI_USAGE, "[DONE]")
    assert [event["usage"] for event in events[:-2]] == [None] * (len(events) - 2)
    assert len({event["id"] for event in events[:-1]}) == 1


async def test_calls_of_tools():
    """Whole, and in pieces; the reason says so, whatever the model's server calls it."""
    turn = Turn(tool_calls=CALLS)
    reply = (await ask(ScriptedChatModel(script=[turn]))).json()["choices"][0]
    assert (reply["message"]["content"], reply["finish_reason"]) == (None, "tool_calls")
    assert reply["message"]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}},
        {"id": "c2", "type": "function", "function": {"name": "sub", "arguments": "{}"}},
    ]
    said = join(await stream(ScriptedChatModel(script=[turn])))
    assert said["finish_reason"] == "tool_calls"
    assert [(one["id"], one["name"], json.loads(one["arguments"])) for one in said["tool_calls"]] == [
        ("c1", "add", {"a": 1}),
        ("c2", "sub", {}),
    ]


async def test_calls_without_an_id_get_one():
    """Each its own: by it the client says which call a result belongs to."""
    turn = Turn(tool_calls=[{**call, "id": None} for call in CALLS])
    reply = (await ask(ScriptedChatModel(script=[turn]))).json()["choices"][0]["message"]
    pieces = join(await stream(ScriptedChatModel(script=[turn])))
    for calls in (reply["tool_calls"], pieces["tool_calls"]):
        ids = [call["id"] for call in calls]
        assert all(id.startswith("call_") for id in ids) and ids[0] != ids[1]


def probability(token: str) -> dict[str, Any]:
    return {"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": []}


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ({"content": [probability("a")], "refusal": None}, {"content": [probability("a")], "refusal": None}),
        ([probability("a")], {"content": [probability("a")], "refusal": None}),  # Ollama's
        ({"chosenCandidates": []}, None),  # Google's
        ([], None),
        (None, None),
    ],
)
async def test_log_probabilities(told: Any, read: Any):
    """Of an answer, and of each piece of one, where OpenAI's clients can read them."""

    async def talk(call: HookCall) -> Any:
        async def speak() -> AsyncIterator[AIMessageChunk]:
            for text in ("a", "a"):
                yield AIMessageChunk(text, response_metadata={"logprobs": told})
            yield AIMessageChunk("", response_metadata={"logprobs": told})
            yield AIMessageChunk("", response_metadata={"finish_reason": "stop"})

        return speak() if call.hook == "astream" else AIMessage("a", response_metadata={"logprobs": told})

    model = hook_model(talk, "agenerate", "astream")
    reply = await ask(model, logprobs=True)
    assert reply.json()["choices"][0]["logprobs"] == read
    events = [event["choices"][0] for event in (await stream(model, logprobs=True))[:-1]]
    assert [event["logprobs"] for event in events if event["delta"].get("content")] == [read] * 2
    assert sum(event["logprobs"] is not None for event in events) == (3 if read else 0)


def piece(args: str | None, index: Any = None, id: str | None = None, name: str | None = None) -> AIMessageChunk:
    call = ToolCallChunk(name=name, args=args, id=id, index=index, type="tool_call_chunk")
    return AIMessageChunk("", tool_call_chunks=[call])


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("", 5, "c1", "add"), piece('{"a"', 5), piece(":1}", 5), piece("{}", 9, "c2", "sub")],
        [piece("", "x", "c1", "add"), piece('{"a"', "x"), piece(":1}", "x"), piece("{}", "y", "c2", "sub")],
        [piece('{"a":1}', None, "c1", "add"), piece("{}", None, "c2", "sub")],
        [piece('{"a":1}', 0, "c1", "add"), piece("{}", 0, "c2", "sub")],
        [piece('{"a"', 0, "c1", "add"), piece(":1}", 0, "c1", "add"), piece("{}", 1, "c2", "sub")],
        [piece('{"a":1}', 0, "c1", "add"), piece('{"a":1}', 0, "c1", "add"), piece("{}", 1, "c2", "sub")],
        [piece("", 0, "c1", "add"), piece(None, 1, "c2", "sub"), piece('{"a":1}', 0), piece("{}", 1)],
    ],
    ids=["numbers", "names", "no numbers", "all zero", "repeated ids", "sent twice", "by turns"],
)
def test_calls_are_numbered_from_0_however_a_server_does(pieces: list[AIMessageChunk]):
    """And are the same as those of the message that the pieces make."""
    writer = CompletionWriter("m")
    said = join(read_events(b"".join(map(writer.write, pieces)).decode()))["tool_calls"]
    whole = pieces[0].__add__(pieces[1:])  # type: ignore[arg-type]
    assert [(one["id"], one["name"], json.loads(one["arguments"])) for one in said] == [
        (call["id"], call["name"], call["args"]) for call in whole.tool_calls
    ]
    assert [one["id"] for one in said] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": "length"}, "length"),
        ({"finish_reason": "max_tokens", "normalized_finish_reason": "length"}, "length"),
        ({"finish_reason": "SAFETY", "normalized_finish_reason": "content_filter"}, "content_filter"),
        ({"finish_reason": "pause_turn", "normalized_finish_reason": "paused"}, "pause_turn"),
        ({}, "stop"),
    ],
)
async def test_why_an_answer_ended(facts: dict[str, str], reason: str):
    """In OpenAI's word, or else in the server's own; an answer that came whole and does not say has stopped."""
    model = ScriptedChatModel(script=[Turn(text="a", metadata=facts)] * 2)
    assert (await ask(model)).json()["choices"][0]["finish_reason"] == reason
    assert join(await stream(model))["finish_reason"] == reason


async def test_an_answer_that_ended_with_an_error_is_an_error():
    """Its server says so in the place of a reason."""
    turn = Turn(text="a", metadata={"finish_reason": "error", "normalized_finish_reason": "error"})
    model = ScriptedChatModel(script=[turn] * 2)
    assert (await ask(model)).status_code == 502
    events = await stream(model)
    assert "error" in events[-1] and join(events)["finish_reason"] is None


async def test_a_stream_that_breaks_off_is_an_error():
    """No reason is made up, nor an end."""
    error = StreamTruncated("the stream ended before its end")
    events = await stream(ScriptedChatModel(script=[Turn(text="one two three", error=error, error_after=2)]))
    assert join(events)["content"] == "one two" and join(events)["finish_reason"] is None
    assert events[-1]["error"]["message"] == "the answer broke off"
    assert "[DONE]" not in events


PASSING = ("slow down", "busy", "for now")
"""Words of the failures below after which the same request may be answered."""

FAILURES: list[tuple[Exception, int, str | None]] = [
    (InvalidRequest("no"), 400, None),
    (ContextLengthExceeded("too long"), 400, "context_length_exceeded"),
    (Unsupported("no images"), 400, "unsupported"),
    (InvalidHistory("a call without its result"), 400, None),
    (ResourceNotFound("no such file"), 404, "not_found"),
    (RateLimitError("slow down", retry_after=1.2), 429, "rate_limit_exceeded"),
    (QuotaExceeded("no credit"), 429, "insufficient_quota"),
    (LocalModelError("cannot load /home/ada/model.gguf"), 500, None),
    (BudgetExceeded("no more than 10 dollars"), 429, "insufficient_quota"),
    (RuntimeError("password=hunter2"), 500, None),
    (AuthenticationError("sk-123456789 is wrong"), 502, "upstream_authentication"),
    (InvalidReply("HTML"), 502, "upstream_error"),
    (ConnectionFailed("10.0.0.5 refused"), 503, "upstream_unavailable"),
    (Overloaded("busy", retry_after=9), 503, "overloaded"),
    (ProviderUnavailable("down for now", retryable=True), 503, "upstream_unavailable"),
    (HistoryUnavailable("down for now"), 503, "store_unavailable"),
    (TotalTimeout("too slow"), 504, "timeout"),
]


@pytest.mark.parametrize(("error", "status", "code"), FAILURES, ids=lambda value: type(value).__name__)
async def test_a_failure_before_the_first_piece_is_told_by_a_status(error: Exception, status: int, code: str | None):
    """Streamed or not. What is the operator's is not told: keys, addresses, amounts, a program's own errors."""
    model = ScriptedChatModel(script=[error] * 2)
    for fields in ({}, {"stream": True}):
        response = await ask(model, **fields)
        assert response.status_code == status
        said = response.json()["error"]
        assert (said["code"], said["param"]) == (code, None)
        assert said["type"] == (
            "requests" if status == 429 else "invalid_request_error" if status < 500 else "server_error"
        )
        assert not any(untold in response.text for untold in ("hunter2", "sk-1", "10", "ada"))
        expected = {"slow down": "2", "busy": "9"}.get(str(getattr(error, "message", "")))
        assert response.headers.get("retry-after") == expected
        may_pass = status < 429 or any(words in str(error) for words in PASSING)
        assert response.headers.get("x-should-retry") == (None if may_pass else "false")


def test_the_text_of_an_error_names_no_key():
    """Whatever a server has said."""
    refusal = explain_failure(InvalidReply("Bearer abcdefghij0123 and sk-proj-abcdefghijk"), in_full=True)
    assert "abcdefghij" not in refusal.message and "***" in refusal.message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("error_after", [0, 1])
async def test_what_the_models_server_says_is_in_the_log(
    stream: bool, error_after: int, caplog: pytest.LogCaptureFixture
):
    """And told to clients only if the operator wants that: it may have addresses within."""
    errors = [InvalidRequest("vllm-7.corp: no", status=400), Overloaded("vllm-7.corp is busy", status=503)]
    script = [Turn(text="one two", error=error, error_after=error_after) for error in errors] * 2
    model = ScriptedChatModel(script=script)
    for upstream_errors in (False, True):
        app = openai_app({"m": model}, upstream_errors=upstream_errors)
        for error in errors:
            caplog.clear()
            response = await send(app, "POST", "/v1/chat/completions", json=question(stream=stream))
            assert ("vllm-7.corp" in response.text) == upstream_errors and "error" in response.text
            assert "vllm-7.corp" in caplog.text or (
                upstream_errors and error is errors[0]
            )  # the client's own, and told


async def test_what_hocket_finds_wrong_is_told():
    """In the client's request: no server had a say."""
    errors = [InvalidInput("temperature is 5"), Unsupported("no images"), InvalidHistory("a call without its result")]
    model = ScriptedChatModel(script=[*errors])
    for error in errors:
        assert str(error) in (await ask(model)).json()["error"]["message"]


async def test_an_error_quotes_little_of_a_request():
    """However long what is wrong was."""
    long = "k" * 200_000
    call = {"id": "c1", "type": "function", "function": {"name": long, "arguments": "{"}}
    wrong: list[dict[str, Any]] = [
        {long: 1},
        {"extra_" + long: 1},
        {"messages": [{"role": "user", "content": [{"type": long}]}]},
        {"messages": [{"role": "tool", "content": "x", "tool_call_id": long}]},
        {"messages": [{"role": "assistant", "content": "x", "tool_calls": [call]}]},
        {"messages": [{"role": "user", "content": "x", "name": [long]}]},
        {"tools": [{"type": "function", "function": {"name": "a"}}], "tool_choice": long},
        {"tools": [{"type": "function", "function": {"name": "a"}}], "tool_choice": {"type": long}},
    ]
    model = ChatOpenAI(model="m", api_key="none", base_url="http://127.0.0.1:9", temperature=0)
    for fields in wrong:
        response = await ask(model, **fields)
        assert response.status_code == 400 and len(response.content) < 3_000, response.text[:300]
    with pytest.raises(InvalidInput) as refused:  # elsewhere, too
        await model.ainvoke("hi", **{long: 1})
    assert len(str(refused.value)) < 3_000


@pytest.mark.parametrize("stream", [False, True])
async def test_a_stray_end_of_an_iteration_is_an_error(stream: bool):
    """And no empty answer that has ended well."""

    async def stop(_: HookCall) -> str:
        raise StopAsyncIteration("a mistake of the program's")

    response = await ask(hook_model(stop), stream=stream)
    assert response.status_code == 500 and "stop" not in response.text


def test_a_lone_surrogate_is_sent_as_its_escape():
    """A model may make one of half an escape; it is no UTF-8, and JSON has it."""
    body = write_completion(AIMessage("a\ud800b"), AnswerRequest(model="m", input=[]))
    assert json.loads(body)["choices"][0]["message"]["content"] == "a\ud800b"
    writer = CompletionWriter("m")
    assert join(read_events((writer.write("\ud83d") + writer.write("x")).decode()))["content"] == "\ud83dx"


@given(st.lists(st.text()), st.text(min_size=1))
def test_any_text_arrives_as_it_is(texts: list[str], name: str):
    """Line breaks, quotes and marks of the protocol included; and the name of the model."""
    writer = CompletionWriter(name)
    data = b"".join([*(writer.write(AIMessageChunk(text)) for text in texts), writer.end()])
    lines = [line for line in data.split(b"\n\n") if line]
    assert all(line.startswith(b"data: ") and b"\n" not in line for line in lines)
    events = [json.loads(line.removeprefix(b"data: ")) for line in lines[:-1]]
    assert join(events)["content"] == "".join(texts)
    assert {event["model"] for event in events} == {name}


def test_a_sum_of_pieces_is_a_piece():
    """Also one that nobody has read yet."""
    writer = CompletionWriter("m")
    data = writer.write(AIMessageChunk("a") + piece('{"a":1}', 0, "c1", "add"))
    said = join(read_events(data.decode()))
    assert (said["content"], said["tool_calls"][0]["arguments"]) == ("a", '{"a":1}')


async def test_a_text_model_and_a_chain_are_served():
    """And what is made of models; what gives neither text nor message is no answer."""
    text_model = hook_llm("Hello.")
    backed = ScriptedChatModel(script=[ConnectionFailed("down")] * 2).with_fallbacks(
        [ScriptedChatModel(script=["Hello."] * 2)]
    )
    for model in (text_model, backed):
        assert (await ask(model)).json()["choices"][0]["message"]["content"] == "Hello."
        assert join(await stream(model))["content"] == "Hello."
    for fields in ({}, {"stream": True}):
        odd: Any = ScriptedChatModel(script=["Hello."]) | (lambda message: {"odd": message})
        response = await ask(odd, **fields)
        assert response.status_code == 500 and "is dict" not in response.text
        assert response.json()["error"]["code"] == "misconfigured"
        assert response.headers["x-should-retry"] == "false"  # it will be one again


async def test_a_model_without_a_stream_gives_one_piece():
    async def answer(_: HookCall) -> str:
        return "Hello."

    assert join(await stream(hook_model(answer)))["content"] == "Hello."


async def test_answers_out_of_a_cache_cost_no_tokens():
    """The client is told what the answer took, and the numbers count it once."""
    model = ScriptedChatModel(script=[Turn(text="Hello.", usage=USAGE)], cache=InMemoryCache())
    app = openai_app({"m": model}, metrics=True)
    for fields in ({}, {}, {"stream": True}):
        response = await send(app, "POST", "/v1/chat/completions", json=question(**fields))
        assert response.status_code == 200
    assert 'hocket_tokens_total{model="m",type="input"} 10\n' in (await send(app, "GET", "/metrics")).text
