"""What `ChatOllama` reads: each recorded answer and stream, usage, reasons, reasoning and ids."""

import json
from typing import Any

import pytest

from hocket.errors import InvalidReply, LLMError, StreamTruncated
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage
from hocket.providers.ollama.decode import decode_reply
from hocket.providers.ollama.stream import OllamaDecoder
from tests.kit.recordings import Reader, Recording, load_recordings, make_reply, reply_in, stream_in

READER = Reader(decode_reply, OllamaDecoder)
RECORDINGS = load_recordings("ollama")
DONE: dict[str, Any] = {
    "model": "qwen3",
    "created_at": "2026-11-21T00:00:00Z",
    "message": {"role": "assistant", "content": ""},
    "done": True,
    "done_reason": "stop",
    "eval_count": 12,
    "prompt_eval_count": 40,
}
CALL = {"function": {"name": "f", "arguments": {"a": 1}}}


def read(**fields: Any) -> AIMessage:
    """Return the message of a whole reply."""
    return READER.read(make_reply({**DONE, **fields}))


def stream(*lines: dict[str, Any]) -> AIMessage:
    """Return the message of a streamed reply."""
    head = {"model": "qwen3", "created_at": "2026-11-21T00:00:00Z", "done": False}
    body = [json.dumps({**head, "message": {"role": "assistant", "content": "", **line}}) for line in lines]
    return READER.fold_stream("\n".join([*body, json.dumps(DONE), ""]).encode())


def test_an_answer_is_what_the_sdk_parsed(chat_answer: Recording) -> None:
    """Text, reasoning, why it ended, what it cost, and how long it took."""
    parsed = chat_answer["sdk_parsed"]
    message = READER.read(reply_in(chat_answer))
    facts = message.response_metadata

    assert message.content == parsed["message"]["content"]
    assert message.additional_kwargs.get("thinking") == parsed["message"]["thinking"]
    assert (facts["model_name"], facts["model_provider"], facts["created_at"]) == (
        "qwen3",
        "ollama",
        parsed["created_at"],
    )
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == ("stop", "stop")
    for name in ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration", "eval_count"):
        assert facts[name] == parsed[name]
    assert message.usage_metadata == {"input_tokens": 40, "output_tokens": 12, "total_tokens": 52}


def test_a_stream_is_what_the_sdk_parsed() -> None:
    """Calls, with the ids and places that the SDK drops, counts and durations."""
    case = RECORDINGS["ollama/stream_tool_calls"]
    message = READER.fold_stream(stream_in(case))
    parsed = [call["function"] for line in case["sdk_parsed"] for call in line["message"]["tool_calls"] or ()]

    assert [(call["name"], call["args"]) for call in message.tool_calls] == [
        (f["name"], f["arguments"]) for f in parsed
    ]
    assert [call["id"] for call in message.tool_calls] == ["call_abc", "call_def"]
    assert message.content == ""
    assert message.usage_metadata == {"input_tokens": 40, "output_tokens": 12, "total_tokens": 52}
    facts = message.response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == ("stop", "tool_calls")
    assert (facts["model_name"], facts["created_at"]) == ("qwen3", "2026-11-21T00:00:00.000000Z")
    assert facts["total_duration"] == 5_000_000


def test_a_stream_is_whole_with_its_last_line() -> None:
    """Cut at every byte before, it is truncated; the last line end need not come."""
    body = stream_in(RECORDINGS["ollama/stream_tool_calls"])
    READER.check_cuts(body, len(body) - 1)


def test_an_error_in_a_stream_is_one() -> None:
    """A line that says so, in a reply whose status is that of a good one; worth another attempt."""
    case = RECORDINGS["ollama/stream_error_midway"]
    body = stream_in(case)
    error = READER.outcome_of(body)
    assert isinstance(error, LLMError) and not isinstance(error, StreamTruncated)
    assert error.message.startswith("model runner has unexpectedly stopped")
    assert error.retryable
    READER.check_cuts(body, len(body) + 1)


def test_every_cut_of_the_network_reads_alike() -> None:
    """Byte by byte, a stream says what it says in one piece."""
    READER.check_bytes(stream_in(RECORDINGS["ollama/stream_tool_calls"]))


def test_reasoning_streams_beside_the_text() -> None:
    """It is joined, and is the first of the content blocks."""
    message = stream({"thinking": "Let me "}, {"thinking": "see."}, {"content": "Hel"}, {"content": "lo"})
    assert (message.content, message.additional_kwargs) == ("Hello", {"thinking": "Let me see."})
    assert message.content_blocks == [
        {"type": "reasoning", "reasoning": "Let me see."},
        {"type": "text", "text": "Hello"},
    ]


@pytest.mark.parametrize("index", [{}, {"index": 0}])
def test_calls_without_an_id_get_one(index: dict[str, int]) -> None:
    """Each its own, the same each time the reply is read, whole and streamed; whatever index they have."""
    call = {"function": {**CALL["function"], **index}}
    streamed = stream({"tool_calls": [call]}, {"tool_calls": [call]})
    whole = read(message={"role": "assistant", "content": "", "tool_calls": [call, call]})
    assert streamed.tool_calls == whole.tool_calls or [c["id"] for c in streamed.tool_calls] == [
        c["id"] for c in whole.tool_calls
    ]
    assert [(c["name"], c["args"]) for c in whole.tool_calls] == [("f", {"a": 1})] * 2
    assert len({c["id"] for c in whole.tool_calls}) == 2
    later = read(message={"role": "assistant", "content": "", "tool_calls": [call]}, created_at="later")
    assert later.tool_calls[0]["id"] not in [c["id"] for c in whole.tool_calls]


def test_arguments_that_are_no_object_are_an_invalid_call() -> None:
    """As text that is no JSON, from servers that take after Ollama's; whole and streamed."""
    call = {"id": "a", "function": {"name": "f", "arguments": '{"a": '}}
    for message in (
        read(message={"role": "assistant", "content": "", "tool_calls": [call]}),
        stream({"tool_calls": [call]}),
    ):
        assert not message.tool_calls
        assert [(c["name"], c["args"], c["id"]) for c in message.invalid_tool_calls] == [("f", '{"a": ', "a")]


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_eval_count": 5, "eval_count": 2}, (5, 2)),
        ({"prompt_eval_count": None, "eval_count": 2}, (0, 2)),
        ({"prompt_eval_count": 5, "eval_count": None}, (5, 0)),
        ({"prompt_eval_count": None, "eval_count": None}, None),
    ],
)
def test_usage_that_is_missing(counts: dict[str, Any], usage: tuple[int, int] | None) -> None:
    """A prompt out of the cache has no count, which is 0; no count at all is no usage."""
    made = read(**counts).usage_metadata
    assert (made and (made["input_tokens"], made["output_tokens"])) == usage


@pytest.mark.parametrize(
    ("reason", "normalized"),
    [("stop", "stop"), ("length", "length"), ("load", "error"), ("unload", "error"), ("new", "other")],
)
def test_reasons(reason: str, normalized: str) -> None:
    """In the server's word, and in hocket's."""
    facts = read(done_reason=reason).response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (reason, normalized)


def test_a_call_that_ended_with_stop_is_a_call() -> None:
    """The server has one word for both."""
    facts = read(message={"role": "assistant", "tool_calls": [CALL]}).response_metadata
    assert facts["normalized_finish_reason"] == "tool_calls"


def test_log_probabilities_are_kept() -> None:
    """Whole and streamed, in one list."""
    one, two = {"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.5}
    assert read(logprobs=[one, two]).response_metadata["logprobs"] == [one, two]
    lines = [
        json.dumps({"message": {"role": "assistant", "content": "a"}, "logprobs": [one], "done": False}),
        json.dumps({"message": {"role": "assistant", "content": "b"}, "logprobs": [two], "done": False}),
        json.dumps(DONE),
    ]
    message = READER.fold_stream("\n".join(lines).encode())
    assert message.response_metadata["logprobs"] == [one, two]


def test_what_is_not_known_is_kept_or_skipped() -> None:
    """Further fields of a reply and of its message are kept; a line of another kind says nothing."""
    message = read(remote_host="https://ollama.com", message={"role": "assistant", "content": "x", "images": ["AAAA"]})
    assert message.response_metadata["remote_host"] == "https://ollama.com"
    assert message.additional_kwargs == {"images": ["AAAA"]}
    assert not list(OllamaDecoder().feed(b'{"status": "pulling"}\n'))


@pytest.mark.parametrize("body", [{}, [], {"message": []}, {"message": {"role": "assistant"}, "done": False}])
def test_another_shape_is_no_answer(body: Any) -> None:
    """The beginning of a stream is none either."""
    with pytest.raises(InvalidReply):
        decode_reply(make_reply(body))


def test_an_error_in_a_good_reply_is_one() -> None:
    """Some gateways answer 200 with it."""
    with pytest.raises(LLMError, match="busy"):
        decode_reply(HTTPReply(200, {}, b'{"error": "busy"}'))
