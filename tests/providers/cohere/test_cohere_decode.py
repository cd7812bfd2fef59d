"""What Cohere answers is read as the official SDK reads it, whole and streamed, and goes back as it came."""

import json
from typing import Any

import pytest

from hocket.errors import (
    AuthenticationError,
    ContextLengthExceeded,
    InvalidReply,
    InvalidRequest,
    LLMError,
    PermissionDenied,
    ProviderUnavailable,
    RateLimitError,
    RequestCanceled,
)
from hocket.http.failures import classify_error
from hocket.load import dumps, loads
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.providers.cohere import ChatCohere
from hocket.providers.cohere.decode import decode_reply, decode_usage
from hocket.providers.cohere.stream import CohereDecoder
from hocket.testing import Body, CohereFormat, serve
from tests.kit.recordings import Reader, Recording, load_recordings, make_reply, reply_in, stream_in, without_index

READER = Reader(decode_reply, CohereDecoder)
RECORDINGS = load_recordings("cohere_v2")
USAGE = {
    "input_tokens": 140,
    "output_tokens": 15,
    "total_tokens": 155,
    "input_token_details": {"cache_read": 16},
}
CALL = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}


def answer(message: dict[str, Any], finish: str = "COMPLETE", **more: Any) -> AIMessage:
    body = {"id": "1", "finish_reason": finish, "message": {"role": "assistant", **message}, **more}
    return READER.read(make_reply(body))


def write(kind: str, index: int | None = None, **delta: Any) -> bytes:
    event = {"type": kind, "delta": delta} | ({} if index is None else {"index": index})
    return f"event: {kind}\ndata: {json.dumps(event)}\n\n".encode()


def content(index: int, kind: str = "content-delta", **part: Any) -> bytes:
    return write(kind, index, message={"content": part})


def fold(*events: bytes, finish: str = "COMPLETE", **end: Any) -> AIMessage:
    begin = b'data: {"type": "message-start", "id": "1", "delta": {}}\n\n'
    body = [begin, *events, write("message-end", finish_reason=finish, **end)]
    return READER.fold_stream(*body)


def test_a_reply_is_what_the_sdk_parsed(chat_answer: Recording) -> None:
    """Content, citations, usage, why it ended, and the server's name for the request."""
    reply, parsed = reply_in(chat_answer), chat_answer["sdk_parsed"]
    made, said = READER.read(reply), parsed["message"]
    parts = said["content"]
    assert made.content == (parts[0]["text"] if len(parts) == 1 else parts)
    assert made.additional_kwargs.get("citations") == said["citations"]
    assert made.additional_kwargs.keys() <= {"citations"}
    facts = made.response_metadata
    assert (made.id, facts["id"], facts["model_provider"]) == (parsed["id"], parsed["id"], "cohere")
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (parsed["finish_reason"], "stop")
    assert facts.get("request_id") == reply.headers.get("x-debug-trace-id")
    assert made.usage_metadata == USAGE


def test_a_stream_folds_to_what_the_sdk_parsed(chat_stream: Recording) -> None:
    """Whole, and byte by byte; and an end that says so is an error, which the SDK leaves to its user."""
    body = stream_in(chat_stream)
    if chat_stream["case"] == "stream_error_end":
        made = READER.outcome_of(body)
        assert isinstance(made, ProviderUnavailable) and "boom" in str(made) and made.retryable
        return
    folded = READER.fold_stream(body)
    whole = [{"type": "thinking", "thinking": "Easy."}, {"type": "text", "text": "Rome: 25 °C."}]
    assert without_index(folded.content) == whole
    citations = [
        one["delta"]["message"]["citations"] for one in chat_stream["sdk_parsed"] if "citation-s" in one["type"]
    ]
    assert folded.additional_kwargs == {"citations": citations}
    assert (folded.id, folded.usage_metadata) == ("1", USAGE)
    assert folded.response_metadata["normalized_finish_reason"] == "stop"
    READER.check_bytes(body)


def test_citations_are_shown_on_their_text() -> None:
    """One for each source, with what the API says of it."""
    body = RECORDINGS["cohere_v2/full_conversation"]
    [block] = READER.read(reply_in(body)).content_blocks
    annotations: Any = block.get("annotations")
    assert [(one["start_index"], one["end_index"], one["extras"]["source"]["type"]) for one in annotations] == [
        (0, 4, "tool"),
        (0, 4, "document"),
    ]


def test_a_cut_stream_is_never_taken_for_whole(chat_stream: Recording) -> None:
    """Whole it is with its end."""
    body = stream_in(chat_stream)
    failed = chat_stream["case"] == "stream_error_end"
    whole_at = len(body) + 1 if failed else body.index(b"\n\n", body.index(b"event: message-end")) + 2
    READER.check_cuts(body, whole_at)


def test_a_failure_is_of_its_kind(failure: Recording) -> None:
    """By the status, also by those that Cohere alone has."""
    response = failure["response"]
    error = classify_error(response["status"], response["headers"], json.dumps(response["body"]).encode())
    kinds: dict[int, type[LLMError]] = {
        401: AuthenticationError,
        403: PermissionDenied,
        422: InvalidRequest,
        429: RateLimitError,
        499: RequestCanceled,
        500: ProviderUnavailable,
    }
    assert type(error) is kinds[response["status"]]
    assert error.retryable == (failure.get("attempts", 1) > 1)
    assert response["body"]["message"] in str(error)
    assert type(classify_error(498, {}, b'{"message": "invalid token"}')) is AuthenticationError


def test_an_answer_that_has_failed_is_an_error() -> None:
    """Whole and streamed; its text tells what kind of one."""
    for text, kind in (("boom", ProviderUnavailable), ("too many tokens", ContextLengthExceeded)):
        end = b"".join([content(0, text="a"), write("message-end", finish_reason="ERROR", error=text)])
        assert type(READER.outcome_of(end)) is kind
    with pytest.raises(ProviderUnavailable, match="internal error"):
        answer({"content": []}, "ERROR")


def test_text_is_a_text_and_other_parts_are_parts() -> None:
    """Pieces of one part are one part, unknown ones are kept, and unknown events say nothing."""
    assert (
        fold(content(0, "content-start", type="text", text=""), content(0, text="a"), content(0, text="b")).content
        == "ab"
    )
    mixed = fold(
        content(0, "content-start", type="thinking", thinking="h"),
        content(0, thinking="m", text=None),
        content(1, "content-start", type="text", text=""),
        content(1, text="a", thinking=None),
        content(2, "content-start", type="new", x=1),
        write("debug", prompt="secret"),
        write("brand-new"),
    )
    assert without_index(mixed.content) == [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "a"},
        {"type": "new", "x": 1},
    ]
    two = [{"type": "text", "text": text} for text in "ab"]  # citations count the characters of each
    assert answer({"content": two}).content == two
    assert answer({"content": None}).content == "" and answer({}).content == ""


def test_a_plan_and_calls_come_beside_the_content() -> None:
    """Whole and streamed the same; the plan is shown as reasoning."""
    whole = answer({"tool_plan": "I will.", "tool_calls": [CALL, {**CALL, "id": "f_2"}]}, "TOOL_CALL")
    pieces = [write("tool-plan-delta", message={"tool_plan": piece}) for piece in ("I ", "will.")]
    for index, id in enumerate(("f_1", "f_2")):
        begun = {**CALL, "id": id, "function": {"name": "f", "arguments": ""}}
        pieces.append(write("tool-call-start", index, message={"tool_calls": begun}))
        pieces += [
            write("tool-call-delta", index, message={"tool_calls": {"function": {"arguments": piece}}})
            for piece in ('{"a"', ":1}")
        ]
        pieces.append(write("tool-call-end", index))
    streamed = fold(*pieces, finish="TOOL_CALL")
    for made in (whole, streamed):
        assert [(call["id"], call["args"]) for call in made.tool_calls] == [("f_1", {"a": 1}), ("f_2", {"a": 1})]
        assert made.additional_kwargs == {"tool_plan": "I will."} and made.content == ""
        assert made.content_blocks[0] == {"type": "reasoning", "reasoning": "I will."}
        assert made.response_metadata["normalized_finish_reason"] == "tool_calls"


def test_arguments_that_are_no_json_are_an_invalid_call() -> None:
    bad = {**CALL, "function": {"name": "f", "arguments": "{oops"}}
    [call] = answer({"tool_calls": [bad]}, "TOOL_CALL").invalid_tool_calls
    assert (call["id"], call["args"]) == ("f_1", "{oops")


@pytest.mark.parametrize(
    ("word", "normalized"),
    [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("MAX_TOKENS", "length"),
        ("TIMEOUT", "error"),
        ("BRAND_NEW", "other"),
    ],
)
def test_why_an_answer_ended(word: str, normalized: str) -> None:
    for made in (answer({}, word), fold(finish=word)):
        facts = made.response_metadata
        assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (word, normalized)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, None),
        ({}, None),
        ({"tokens": {"input_tokens": 5.0, "output_tokens": 2.0}}, (5, 2, None)),
        ({"billed_units": {"input_tokens": 5, "output_tokens": 2}}, (5, 2, None)),
        (
            {
                "billed_units": {"input_tokens": 1},
                "tokens": {"input_tokens": 5, "output_tokens": 2},
                "cached_tokens": 0.0,
            },
            (5, 2, 0),
        ),
    ],
)
def test_usage_is_in_whole_tokens(usage: Any, read: Any) -> None:
    """Those that were read and written, which may be more than are billed; none reported is none."""
    made = decode_usage(usage)
    if read is None:
        assert made is None
        return
    assert made is not None
    details = made.get("input_token_details", {})
    assert (made["input_tokens"], made["output_tokens"], details.get("cache_read")) == read
    assert all(type(made[name]) is int for name in ("input_tokens", "output_tokens", "total_tokens"))  # type: ignore[literal-required]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": 5}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": "a"}}},
        {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": [CALL]}}},
        {"type": "message-end", "delta": {"finish_reason": 7}},
        {"type": "citation-start", "delta": None},
    ],
)
def test_an_odd_event_is_an_invalid_reply(event: Any) -> None:
    assert isinstance(READER.outcome_of(f"data: {json.dumps(event)}\n\n".encode()), InvalidReply)


@pytest.mark.parametrize(
    "message", [None, [], {"content": [5]}, {"content": 5}, {"tool_calls": [5]}, {"tool_calls": 5}]
)
def test_an_odd_reply_is_an_invalid_one(message: Any) -> None:
    with pytest.raises(InvalidReply):
        decode_reply(make_reply({"finish_reason": "COMPLETE", "message": message}))


def test_log_probabilities_are_kept() -> None:
    piece = {"token_ids": [1], "text": "a", "logprobs": [-0.5]}
    assert answer({}, logprobs=[piece]).response_metadata["logprobs"] == [piece]
    events = [
        f'data: {{"type": "content-delta", "index": 0, "logprobs": {json.dumps(piece)}, '
        '"delta": {"message": {"content": {"text": "a"}}}}\n\n'
    ] * 2
    assert fold(*(event.encode() for event in events)).response_metadata["logprobs"] == [piece, piece]


def test_a_reply_goes_back_as_it_came_after_a_round_trip(chat_answer: Recording) -> None:
    received = READER.read(reply_in(chat_answer))
    kept = loads(dumps(received))
    assert kept == received
    message = ChatCohere(model="m", api_key="k").render([kept, HumanMessage("?")]).json["messages"][0]
    assert message == {"role": "assistant", "content": received.content}


def test_a_round_of_calls_goes_back_as_it_came() -> None:
    received = answer({"tool_plan": "I will.", "tool_calls": [CALL]}, "TOOL_CALL")
    asked = [loads(dumps(received)), ToolMessage("1", tool_call_id="f_1")]
    message = ChatCohere(model="m", api_key="k").render(asked).json["messages"][0]
    assert message == {"role": "assistant", "tool_plan": "I will.", "tool_calls": [CALL]}


async def test_models_are_listed() -> None:
    async with serve(CohereFormat(None), Body({"models": [{"name": "command-a-03-2025"}]})) as server:
        assert await ChatCohere(model="m", base_url=server.url, api_key="k").alist_models() == ["command-a-03-2025"]
        assert server.requests[0].path == "/v1/models"
