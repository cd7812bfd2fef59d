"""What Bedrock says, read as a message: whole and streamed alike, cut anywhere, with errors in between."""

import json
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from pydantic_core import to_json

from hocket import errors
from hocket.errors import HocketError, LLMError, StreamTruncated
from hocket.http import ServerSentEvent
from hocket.http.event_stream import AWSEventStream
from hocket.http.request import HTTPReply
from hocket.language_models.simple import generate_from_stream
from hocket.load import dumps
from hocket.messages import AIMessage, HumanMessage
from hocket.providers.bedrock import ChatBedrockConverse
from hocket.providers.bedrock.decode import FINISHES, decode_reply
from hocket.providers.bedrock.stream import ConverseDecoder
from hocket.testing.server import write_frame
from tests.kit.odd_values import spoil

ASKING = ChatBedrockConverse(model="m", region_name="eu-west-1", api_key="k")

USAGE = {"inputTokens": 9, "outputTokens": 5, "totalTokens": 24, "cacheReadInputTokens": 7, "cacheWriteInputTokens": 3}
CITATION = {
    "title": "T",
    "sourceContent": [{"text": "said"}],
    "location": {"web": {"url": "https://e.x", "domain": "e.x"}},
}
HEADERS = {"x-amzn-requestid": "r1"}


def delta(index: int, **said: Any) -> bytes:
    return write_frame({"delta": said, "contentBlockIndex": index}, "contentBlockDelta")


def start(index: int, **said: Any) -> bytes:
    return write_frame({"start": said, "contentBlockIndex": index}, "contentBlockStart")


def stop(index: int) -> bytes:
    return write_frame({"contentBlockIndex": index}, "contentBlockStop")


def end(reason: str = "end_turn") -> list[bytes]:
    said = {"stopReason": reason, "additionalModelResponseFields": {"a": 1}}
    closing = {"usage": USAGE, "metrics": {"latencyMs": 7}, "serviceTier": {"type": "flex"}}
    return [write_frame(said, "messageStop"), write_frame(closing, "metadata")]


TALK = [
    write_frame({"role": "assistant"}, "messageStart"),
    delta(0, reasoningContent={"text": "Let me "}),
    delta(0, reasoningContent={"text": "see."}),
    delta(0, reasoningContent={"signature": "c2ln"}),
    stop(0),
    delta(1, reasoningContent={"redactedContent": "AAAA"}),
    delta(2, text="Grüße "),
    write_frame({"news": 1}, "somethingNew"),
    delta(2, text="😀"),
    delta(2, somethingNew={}),
    stop(2),
    start(3, toolUse={"toolUseId": "t1", "name": "weather"}),
    delta(3, toolUse={"input": '{"city": "Os'}),
    delta(3, toolUse={"input": 'lo"}'}),
    stop(3),
    start(4, toolUse={"toolUseId": "t2", "name": "now"}),
    stop(4),
    start(5, toolUse={"toolUseId": "w1", "name": "search", "type": "server_tool_use"}),
    delta(5, toolUse={"input": '{"q": 1}'}),
    stop(5),
    start(6, toolResult={"toolUseId": "w1", "type": "search", "status": "success"}),
    delta(6, toolResult=[{"text": "found"}]),
    delta(6, toolResult=[{"text": "more"}]),
    stop(6),
    start(7, image={"format": "png"}),
    delta(7, image={"source": {"bytes": "AAAA"}}),
    stop(7),
    *end("tool_use"),
]
BLOCKS: list[dict[str, Any]] = [
    {"reasoningContent": {"reasoningText": {"text": "Let me see.", "signature": "c2ln"}}},
    {"reasoningContent": {"redactedContent": "AAAA"}},
    {"text": "Grüße 😀"},
    {"toolUse": {"toolUseId": "t1", "name": "weather", "input": {"city": "Oslo"}}},
    {"toolUse": {"toolUseId": "t2", "name": "now", "input": {}}},
    {"toolUse": {"toolUseId": "w1", "name": "search", "input": {"q": 1}, "type": "server_tool_use"}},
    {
        "toolResult": {
            "toolUseId": "w1",
            "type": "search",
            "status": "success",
            "content": [{"text": "found"}, {"text": "more"}],
        }
    },
    {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
]


def read_whole(content: Sequence[dict[str, Any]], reason: str = "end_turn", **more: Any) -> AIMessage:
    data = {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": reason,
        "usage": USAGE,
        **more,
    }
    message = decode_reply(HTTPReply(200, HEADERS, to_json(data))).generations[0].message
    assert isinstance(message, AIMessage)
    return message


def read_stream(frames: Sequence[bytes], cuts: int = 1) -> AIMessage:
    body, decoder = b"".join(frames), ConverseDecoder(HEADERS)
    chunks = [chunk for at in range(0, len(body), cuts) for chunk in decoder.feed(body[at : at + cuts])]
    message = generate_from_stream([*chunks, *decoder.close()]).generations[0].message
    assert isinstance(message, AIMessage)
    return message


def without_index(content: Any) -> Any:
    return [{name: value for name, value in part.items() if name != "index"} for part in content]


def test_a_whole_reply_and_a_streamed_one_are_the_same_message() -> None:
    """The blocks as they came, the calls beside them, usage with the cache counted in, facts under LangChain's names."""
    more = {"additionalModelResponseFields": {"a": 1}, "metrics": {"latencyMs": 7}, "serviceTier": {"type": "flex"}}
    whole, streamed = read_whole(BLOCKS, "tool_use", **more), read_stream(TALK, 1000)
    assert whole.content == without_index(streamed.content) == BLOCKS
    assert whole.tool_calls == streamed.tool_calls
    assert [(call["name"], call["args"], call["id"]) for call in whole.tool_calls] == [
        ("weather", {"city": "Oslo"}, "t1"),
        ("now", {}, "t2"),
    ]
    assert whole.usage_metadata == streamed.usage_metadata
    assert whole.usage_metadata == {
        "input_tokens": 19,
        "output_tokens": 5,
        "total_tokens": 24,
        "input_token_details": {"cache_read": 7, "cache_creation": 3},
    }
    assert whole.response_metadata == streamed.response_metadata
    assert whole.response_metadata == {
        "model_provider": "bedrock",
        "request_id": "r1",
        "finish_reason": "tool_use",
        "normalized_finish_reason": "tool_calls",
        "token_usage": USAGE,
        "metrics": {"latencyMs": 7},
        "additional_model_response_fields": {"a": 1},
        "service_tier": {"type": "flex"},
    }
    assert [block["type"] for block in whole.content_blocks] == [
        *(
            "reasoning",
            "non_standard",
            "text",
            "tool_call",
            "tool_call",
            "server_tool_call",
            "server_tool_result",
            "image",
        ),
    ]
    assert without_index(whole.content_blocks[2:]) == without_index(streamed.content_blocks[2:])
    assert whole.text == streamed.text == "Grüße 😀"


def test_a_streamed_reply_goes_back_as_a_whole_one_does() -> None:
    talk = BLOCKS[:3]
    frames = [*TALK[:11], *end()]
    bodies = [ASKING.render([HumanMessage("q"), reply]).json for reply in (read_whole(talk), read_stream(frames))]
    assert bodies[0] == bodies[1] and bodies[0]["messages"][1]["content"] == talk


def test_what_is_nothing_but_text_is_a_string() -> None:
    assert read_whole([{"text": "a"}]).content == read_stream([delta(0, text="a"), stop(0), *end()]).content == "a"
    assert read_whole([]).content == read_stream(end()).content == ""
    assert read_whole([{"text": "a"}, {"text": "b"}]).text == "ab"
    assert read_stream([delta(0, text="a"), delta(0, text=""), delta(1, text="b"), *end()]).text == "ab"


def test_texts_show_what_they_cite() -> None:
    """In a stream the citations come behind the text."""
    said = {"type": "citation", "title": "T", "cited_text": "said", "url": "https://e.x"}
    expected = {**said, "extras": {"location": CITATION["location"]}}
    whole = read_whole([{"citationsContent": {"content": [{"text": "a"}], "citations": [CITATION]}}])
    streamed = read_stream([delta(0, text="a"), delta(0, citation=CITATION), *end()])
    for message in (whole, streamed):
        assert message.text == "a"
        [found] = [note for block in message.content_blocks for note in block.get("annotations", [])]
        assert found == expected


def test_arguments_that_are_no_json_are_an_invalid_call() -> None:
    """Whatever the model has said of them."""
    message = read_stream(
        [start(0, toolUse={"toolUseId": "t", "name": "f"}), delta(0, toolUse={"input": '{"a'}), stop(0), *end()]
    )
    assert message.tool_calls == [] and [call["args"] for call in message.invalid_tool_calls] == ['{"a']


@pytest.mark.parametrize(("reason", "normalized"), [*FINISHES.items(), ("news", "other")])
def test_why_an_answer_ended(reason: str, normalized: str) -> None:
    for message in (read_whole([{"text": "a"}], reason), read_stream([delta(0, text="a"), *end(reason)])):
        assert message.response_metadata["normalized_finish_reason"] == normalized


def test_usage_tells_how_long_a_prompt_is_kept() -> None:
    details = [{"ttl": "5m", "inputTokens": 1}, {"ttl": "1h", "inputTokens": 2}]
    usage = read_whole([{"text": "a"}], usage={**USAGE, "cacheDetails": details}).usage_metadata
    assert usage is not None and usage["input_token_details"] == {
        "cache_read": 7,
        "cache_creation": 3,
        "ephemeral_5m_input_tokens": 1,
        "ephemeral_1h_input_tokens": 2,
    }


def test_a_stream_that_is_cut_anywhere_is_truncated() -> None:
    """Before `messageStop` the answer is not whole; after it, only its cost is missing."""
    frames = [delta(0, text="Grüße"), *end()]
    body, last = b"".join(frames), len(frames[-1])
    for at in range(len(body)):
        decoder = ConverseDecoder()
        list(decoder.feed(body[:at]))
        if at < len(body) - last:
            with pytest.raises(StreamTruncated):
                list(decoder.close())
        else:
            assert list(decoder.close()) == [] and decoder.ended and not decoder.done


EXCEPTIONS: list[tuple[str, str, type[LLMError], bool]] = [
    ("throttlingException", "Too many requests", errors.RateLimitError, True),
    ("modelStreamErrorException", "the model failed", errors.ProviderUnavailable, True),
    ("internalServerException", "oh", errors.ProviderUnavailable, True),
    ("serviceUnavailableException", "oh", errors.ProviderUnavailable, True),
    ("modelTimeoutException", "oh", errors.RequestTimeout, True),
    ("validationException", "no such field", errors.InvalidRequest, False),
    ("validationException", "Input is too long for requested model.", errors.ContextLengthExceeded, False),
    ("newsException", "what is this", LLMError, False),
]


@pytest.mark.parametrize(("kind", "text", "error", "retryable"), EXCEPTIONS)
def test_an_exception_in_a_stream_has_its_error(kind: str, text: str, error: type[LLMError], retryable: bool) -> None:
    decoder = ConverseDecoder()
    with pytest.raises(error, match=text) as caught:
        list(decoder.feed(write_frame({"message": text}, kind, "exception")))
    assert type(caught.value) is error
    assert (caught.value.retryable, caught.value.provider_code, caught.value.provider) == (retryable, kind, "bedrock")


def use(message: AIMessage) -> None:
    """Look at a message in all the ways there are, store it, and go on with it."""
    assert isinstance(message.text, str) and isinstance(message.content_blocks, list)
    assert dumps(message) and message.pretty_repr()
    with suppress(HocketError):
        ASKING.render([HumanMessage("a"), message, HumanMessage("b")])


def test_odd_values_are_read_or_refused() -> None:
    """Whatever is of another type than the API says, whole and streamed: a message that can be used, or hocket's error."""
    draw = random.Random(1)
    events = [*AWSEventStream().feed(b"".join([*TALK[:-2], delta(8, citation=CITATION), *TALK[-2:]]))]
    for at, event in enumerate(events):
        for data in spoil(json.loads(event.data), draw, 12):
            spoilt = write_frame(data, event.event)
            with suppress(HocketError):
                use(read_stream([*map(reframe, events[:at]), spoilt, *map(reframe, events[at + 1 :])], 10_000))
    cited = {"citationsContent": {"content": [{"text": "a"}], "citations": [CITATION]}}
    usage = {**USAGE, "cacheDetails": [{"ttl": "5m", "inputTokens": 1}]}
    whole = {"output": {"message": {"content": [*BLOCKS, cited]}}, "stopReason": "end_turn", "usage": usage}
    for data in [copy for _ in range(20) for copy in spoil(whole, draw, 12)]:
        try:
            message = decode_reply(HTTPReply(200, {}, to_json(data))).generations[0].message
        except HocketError:
            continue
        assert isinstance(message, AIMessage)
        use(message)


def reframe(event: ServerSentEvent) -> bytes:
    return write_frame(event.data, event.event)
