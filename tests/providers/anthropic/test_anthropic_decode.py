"""What Anthropic answers is read as the official SDK reads it, whole and streamed, and goes back as it came."""

import json
from typing import Any

import pytest

from hocket.errors import LLMError, Overloaded, ProviderUnavailable, QuotaExceeded, RequestTimeout
from hocket.http.failures import classify_error
from hocket.load import dumps, loads
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.anthropic.decode import decode_reply, decode_usage
from hocket.providers.anthropic.stream import AnthropicDecoder
from hocket.retries import RetryPolicy
from hocket.testing import AnthropicFormat, Events, serve
from tests.kit.recordings import Reader, Recording, load_recordings, reply_in, stream_in, without_index

READER = Reader(decode_reply, AnthropicDecoder)
RECORDINGS = load_recordings("anthropic")


def known(value: Any) -> Any:
    """A value without nulls, which say nothing."""
    if isinstance(value, list):
        return [known(item) for item in value]
    return {k: known(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def blocks_of(message: AIMessage) -> list[Any]:
    content = message.content
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [{"type": "text", "text": part} if isinstance(part, str) else part for part in without_index(content)]


def check_equal(message: AIMessage, parsed: dict[str, Any]) -> None:
    """The message says what the SDK read."""
    assert known(blocks_of(message)) == known(parsed["content"])
    assert message.text == "".join(block["text"] for block in parsed["content"] if block["type"] == "text")
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [
        (block["id"], block["name"], block["input"]) for block in parsed["content"] if block["type"] == "tool_use"
    ]
    facts = message.response_metadata
    assert (message.id, facts["model_name"], facts.get("finish_reason")) == (
        parsed["id"],
        parsed["model"],
        parsed["stop_reason"],
    )
    usage = parsed["usage"]
    counted: Any = message.usage_metadata
    cached = usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    assert counted["input_tokens"] == usage["input_tokens"] + cached
    assert counted["output_tokens"] == usage["output_tokens"]
    assert counted["input_token_details"]["cache_creation"] == usage["cache_creation_input_tokens"]


def fold_parsed(events: Any) -> dict[str, Any]:
    """The message that the SDK's events make, joined by hand; some recordings have it whole."""
    if isinstance(events, dict):
        return events
    message: dict[str, Any] = dict(events[0]["message"])
    blocks: dict[int, Any] = {}
    for event in events:
        match event:
            case {"type": "content_block_start"}:
                blocks[event["index"]] = dict(event["content_block"])
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": text}}:
                block = blocks[event["index"]]
                block["json"] = block.get("json", "") + text
            case {"type": "content_block_delta", "delta": {"type": "citations_delta", "citation": citation}}:
                blocks[event["index"]].update(citations=[*(blocks[event["index"]]["citations"] or ()), citation])
            case {"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": signature}}:
                blocks[event["index"]]["signature"] = signature
            case {"type": "content_block_delta", "delta": delta}:
                name = delta["type"].removesuffix("_delta")
                blocks[event["index"]][name] += delta[name]
            case {"type": "message_delta"}:
                message |= event["delta"]
                message["usage"] = message["usage"] | known(event["usage"])
    for block in blocks.values():
        if text := block.pop("json", ""):
            block["input"] = json.loads(text)
    return {**message, "content": list(blocks.values())}


def test_a_reply_is_what_the_sdk_parsed(chat_answer: Recording) -> None:
    check_equal(READER.read(reply_in(chat_answer)), chat_answer["sdk_parsed"])


def test_a_stream_folds_to_what_the_sdk_parsed(chat_stream: Recording) -> None:
    """Whole, and byte by byte; where the SDK raised, so do we."""
    body = stream_in(chat_stream)
    if "sdk_parsed" not in chat_stream:
        made = READER.outcome_of(body)
        assert isinstance(made, Overloaded) and made.retryable
        return
    check_equal(READER.fold_stream(body), fold_parsed(chat_stream["sdk_parsed"]))
    READER.check_bytes(body)


def test_a_cut_stream_is_never_taken_for_whole(chat_stream: Recording) -> None:
    """Whole it is with its stop reason, or with ``message_stop``."""
    body = stream_in(chat_stream)
    ends = [at for name in (b'"stop_reason": "', b"event: message_stop") if (at := body.find(name)) >= 0]
    whole_at = body.index(b"\n\n", min(ends)) + 2 if ends else len(body) + 1
    READER.check_cuts(body, whole_at)


def test_a_failure_is_of_its_kind(failure: Recording) -> None:
    """The class by the body's word, the server's name for the request, and whether to try again, as the SDK does."""
    response = failure["response"]
    error = classify_error(response["status"], response["headers"], json.dumps(response["body"]).encode())
    assert error.status == response["status"]
    assert error.request_id == "req_011"
    assert error.provider_code == response["body"]["error"]["type"]
    assert error.retryable == (failure.get("attempts", 1) > 1)
    kinds = {402: QuotaExceeded, 408: RequestTimeout, 500: ProviderUnavailable, 529: Overloaded}
    assert isinstance(error, kinds.get(response["status"], LLMError))


@pytest.mark.parametrize("name", ["full_conversation", "server_tools_citations_redacted", "tool_use"])
def test_a_reply_goes_back_byte_for_byte(name: str) -> None:
    """Reasoning with its signature, what the server's tools did, calls: in their places, through a dump as well."""
    recording = RECORDINGS[f"anthropic/{name}"]
    message = loads(dumps(READER.read(reply_in(recording))))
    check_goes_back(message, recording["response"]["body"]["content"])


@pytest.mark.parametrize("name", ["stream_thinking_text_citation", "stream_server_tools", "stream_parallel_tool_use"])
def test_a_streamed_reply_goes_back_as_if_it_had_come_whole(name: str) -> None:
    recording = RECORDINGS[f"anthropic/{name}"]
    message = READER.fold_stream(stream_in(recording))
    check_goes_back(loads(dumps(message)), fold_parsed(recording["sdk_parsed"])["content"])


def check_goes_back(message: Any, said: list[Any]) -> None:
    results = [ToolMessage("done", tool_call_id=call["id"]) for call in message.tool_calls]
    model = ChatAnthropic(model="claude-sonnet-5-5", api_key="k")
    turns = model.render([HumanMessage("hi"), message, *results, HumanMessage("go on")]).json["messages"]
    assert turns[1]["role"] == "assistant"
    assert known(turns[1]["content"]) == known(said)


def test_citations_of_a_first_text_join_it() -> None:
    """The first text comes as strings; a citation that follows makes them a block that has it."""
    message = READER.fold_stream(_stream_of_a_cited_text())
    [block] = message.content
    assert block == {"type": "text", "text": "It is so.", "citations": [{"type": "char_location", "cited_text": "so"}]}
    assert message.text == "It is so."


def _stream_of_a_cited_text() -> bytes:
    citation = {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "so"}}
    events = [
        {"type": "message_start", "message": {"id": "m", "model": "c", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It is "}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "so."}},
        {"type": "content_block_delta", "index": 0, "delta": citation},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


@pytest.mark.parametrize(
    ("reason", "normalized"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("refusal", "content_filter"),
        ("pause_turn", "paused"),
        ("brand_new", "other"),
    ],
)
def test_why_an_answer_ended(reason: str, normalized: str) -> None:
    recording = RECORDINGS["anthropic/stop_refusal"]
    recording["response"]["body"]["stop_reason"] = reason
    facts = READER.read(reply_in(recording)).response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (reason, normalized)


def test_usage_that_is_missing_is_none() -> None:
    assert decode_usage(None) is None and decode_usage({}) is None


def test_a_call_that_cannot_be_read_is_told_as_such() -> None:
    """Its text is kept, and its answer goes back with an object, which is all that the API takes."""
    recording = RECORDINGS["anthropic/stream_parallel_tool_use"]
    body = stream_in(recording).replace(b'\\"', b"", 1)
    message = READER.fold_stream(body)
    assert message.invalid_tool_calls
    results = [
        ToolMessage("no", tool_call_id=str(call["id"])) for call in (*message.tool_calls, *message.invalid_tool_calls)
    ]
    turns = ChatAnthropic(model="m", api_key="k").render([HumanMessage("hi"), message, *results]).json["messages"]
    assert all(isinstance(block["input"], dict) for block in turns[1]["content"] if block["type"] == "tool_use")


def test_decoders_are_made_for_each_stream() -> None:
    """A decoder of a model tells the headers of its reply."""
    model = ChatAnthropic(model="m", api_key="k", include_response_headers=True)
    reader = Reader(decode_reply, lambda: model._decoder({"request-id": "req_1"}))
    facts = reader.fold_stream(_stream_of_a_cited_text()).response_metadata
    assert facts["request_id"] == "req_1" and facts["headers"] == {"request-id": "req_1"}


async def test_a_failure_before_the_first_word_is_tried_again() -> None:
    """The opening event is no part of the answer: an error behind it costs a second request, and the caller nothing."""
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x"}
    start = {"type": "message_start", "message": {**message, "usage": {"input_tokens": 3, "output_tokens": 1}}}
    failure = {"type": "error", "error": {"type": "overloaded_error", "message": "full"}}
    async with serve(AnthropicFormat(), [Events([start, failure]), "hello"]) as server:
        model = ChatAnthropic(model="x", base_url=server.url, api_key="k", retry=RetryPolicy(first_pause=0))
        chunks = [chunk async for chunk in model.astream("q")]
    assert "".join(chunk.text for chunk in chunks) == "hello"
    assert len(server.requests) == 2
    usage = chunks[0].usage_metadata
    assert usage is not None and usage["input_tokens"] > 0  # what the opening event said comes with the first word
