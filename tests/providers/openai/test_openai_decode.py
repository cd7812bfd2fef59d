"""What a reply says is what the official SDK reads in it, and nothing of it is lost."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.errors import AuthenticationError, InvalidReply, LLMError, ProviderUnavailable
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage
from hocket.outputs import ChatGeneration
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.dialects import DIALECTS
from hocket.providers.openai.encode import encode_messages
from hocket.remote.chat_completion import decode_completion, decode_token_usage
from tests.kit.recordings import load_recordings

RECORDINGS = load_recordings("openai_chat", "openai_compat")


def answers(body: Any, headers: dict[str, str] | None = None, **options: Any) -> list[ChatGeneration]:
    return decode_completion(HTTPReply(200, headers or {}, json.dumps(body).encode()), "openai", **options).generations


def answered(message: dict[str, Any], finish: str = "stop", **more: Any) -> AIMessage:
    """The reply to a request, by what its only choice says."""
    body = {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    made = answers(body)[0].message
    assert isinstance(made, AIMessage)
    return made


def test_replies_say_what_the_official_sdk_reads(chat_answer: dict[str, Any]) -> None:
    """Text, refusal, audio, calls, usage, finish reason, model: the same."""
    parsed = chat_answer["sdk_parsed"]
    made = answers(chat_answer["response"]["body"], chat_answer["response"].get("headers"))
    assert len(made) == len(parsed["choices"])
    for generation, choice in zip(made, parsed["choices"], strict=True):
        message, said = generation.message, choice["message"]
        assert isinstance(message, AIMessage)
        assert message.content == (said["content"] or "")
        assert {"refusal": None, "audio": None, "annotations": None, "function_call": None} | {
            name: value for name, value in said.items() if name not in ("role", "content", "tool_calls", "parsed")
        } == {"refusal": None, "audio": None, "annotations": None, "function_call": None} | message.additional_kwargs
        called = [(call["id"], call["name"], call["args"]) for call in message.tool_calls]
        assert called == [
            (call["id"], call["function"]["name"], as_object(call["function"]["arguments"]))
            for call in said["tool_calls"] or ()
        ]
        assert (generation.generation_info or {})["finish_reason"] == choice["finish_reason"]
        facts = message.response_metadata
        assert {name: facts.get(name) for name in ("id", "system_fingerprint", "service_tier")} == {
            name: parsed[name] for name in ("id", "system_fingerprint", "service_tier")
        }
        assert (facts["model_name"], facts["model_provider"]) == (parsed["model"], "openai")
        assert facts["token_usage"] == chat_answer["response"]["body"]["usage"]
        usage = message.usage_metadata
        assert usage is not None
        assert usage["input_tokens"] == parsed["usage"]["prompt_tokens"]
        assert usage["output_tokens"] == parsed["usage"]["completion_tokens"]
        assert usage["total_tokens"] == parsed["usage"]["total_tokens"]


def as_object(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Hi."},
        {"content": None, "refusal": "I cannot help."},
        {
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {
            "content": "One moment.",
            "reasoning_content": "hm",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":[1,"ä"]}'}},
                {"id": "b", "type": "custom", "custom": {"name": "g", "input": 'raw "text"\n'}},
                {"id": "c", "type": "function", "function": {"name": "h", "arguments": '{"x":'}},
            ],
        },
    ],
)
def test_a_reply_goes_back_as_it_came(message: dict[str, Any]) -> None:
    """Decoded and encoded again, a turn is what the server said, whichever parts it had."""
    sent = {"role": "assistant", **message}
    assert encode_messages([answered(sent)], DIALECTS["moonshot"]) == [sent]


def test_openrouters_reasoning_goes_back_unchanged() -> None:
    """It is signed, so every detail counts."""
    details = [{"type": "reasoning.encrypted", "data": "x", "id": None, "format": "f", "index": 0}]
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = answered({"content": "", "reasoning": "hm", "reasoning_details": details, "tool_calls": [call]})
    sent = encode_messages([reply], DIALECTS["openrouter"])[0]
    assert sent["reasoning_details"] == details
    assert reply.content_blocks[0] == {"type": "reasoning", "reasoning": "hm"}


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_is_shown_whatever_it_is_called(name: str) -> None:
    """As a block of its own, never as text."""
    reply = answered({"content": "42", name: "hm"})
    assert reply.content_blocks == [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "42"}]
    assert reply.text == "42"


@pytest.mark.parametrize(
    ("arguments", "args"),
    [("", {}), (None, {}), ("{}", {}), ("null", {}), ({"x": 1}, {"x": 1}), ('{"x": 1}', {"x": 1})],
)
def test_arguments(arguments: Any, args: dict[str, Any]) -> None:
    """None means none, and an object is one already."""
    reply = answered({"content": None, "tool_calls": [{"id": 7, "function": {"name": "f", "arguments": arguments}}]})
    assert reply.tool_calls == [{"name": "f", "args": args, "id": "7", "type": "tool_call"}]


@pytest.mark.parametrize("arguments", ['{"x": 1', "[1]", "x"])
def test_unreadable_arguments_are_kept(arguments: str) -> None:
    """They make an invalid call, with the text as it came and what is wrong with it."""
    reply = answered({"content": None, "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": arguments}}]})
    assert reply.tool_calls == []
    assert (reply.invalid_tool_calls[0]["args"], bool(reply.invalid_tool_calls[0]["error"])) == (arguments, True)


@pytest.mark.parametrize(
    ("reason", "message", "normalized"),
    [
        ("stop", {}, "stop"),
        ("length", {}, "length"),
        ("tool_calls", {}, "tool_calls"),
        ("function_call", {}, "tool_calls"),
        ("content_filter", {}, "content_filter"),
        ("stop", {"refusal": "no"}, "content_filter"),
        ("stop", {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}, "tool_calls"),
        ("insufficient_system_resource", {}, "error"),
        ("something_new", {}, "other"),
    ],
)
def test_finish_reasons(reason: str, message: dict[str, Any], normalized: str) -> None:
    """The server's word is kept, beside the one that is the same for all."""
    facts = answered({"content": None, **message}, reason).response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (reason, normalized)


def test_a_finish_reason_is_never_invented() -> None:
    """Where the server gives none there is none."""
    facts = answered({"content": "x"}, None).response_metadata  # type: ignore[arg-type]
    assert not {"finish_reason", "normalized_finish_reason"} & facts.keys()


def test_several_choices_come_in_their_own_order() -> None:
    """Sorted by index; the usage, which is that of all, counts once; ids stay apart."""
    choices = [{"index": at, "message": {"content": str(at)}, "finish_reason": "stop"} for at in (2, 0, 1)]
    made = answers({"id": "c", "choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 2}})
    messages = [generation.message for generation in made]
    assert [message.content for message in messages] == ["0", "1", "2"]
    assert len({message.id for message in messages}) == 3
    assert [message.usage_metadata is None for message in messages] == [False, True, True]  # type: ignore[attr-defined]


def test_what_the_format_does_not_know_is_kept() -> None:
    """A server's own fields, of the reply and of the choice, log probabilities among them; nulls say nothing."""
    choice = {"index": 0, "message": {"content": "x"}, "finish_reason": "stop", "stop_reason": None}
    choice |= {"logprobs": {"content": [{"token": "x", "logprob": -0.1}]}, "content_filter_results": {"hate": {}}}
    facts = answers({"id": "c", "object": "o", "created": 1, "timings": {"n": 1}, "choices": [choice]})[0].message
    told = facts.response_metadata
    assert told["logprobs"] == {"content": [{"token": "x", "logprob": -0.1}]}
    assert (told["timings"], told["content_filter_results"]) == ({"n": 1}, {"hate": {}})
    assert not {"object", "created", "stop_reason"} & told.keys()


def test_headers_on_request() -> None:
    """The server's name for the request always, all headers when asked for."""
    body = {"choices": [{"message": {"content": "x"}}]}
    headers = {"x-request-id": "req_1", "x-ratelimit-limit-requests": "9"}
    assert answers(body, headers)[0].message.response_metadata == {"model_provider": "openai", "request_id": "req_1"}
    told = answers(body, headers, include_headers=True)[0].message.response_metadata
    assert told["headers"] == headers


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        (None, None),
        ({}, None),
        (
            {"prompt_tokens": 3.0, "completion_tokens": 2},
            {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11, "prompt_cache_hit_tokens": 4},
            {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11, "input_token_details": {"cache_read": 4}},
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 11,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2, "audio_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 1, "audio_tokens": 0},
            },
            {
                "input_tokens": 9,
                "output_tokens": 2,
                "total_tokens": 11,
                "input_token_details": {"cache_read": 4, "cache_creation": 2, "audio": 1},
                "output_token_details": {"reasoning": 1, "audio": 0},
            },
        ),
    ],
)
def test_usage(raw: Any, usage: Any) -> None:
    """Cached and reasoning tokens are parts of the whole; a usage that is missing is none, not zero."""
    assert decode_token_usage(raw) == usage


@pytest.mark.parametrize("content", [b"", b"<html>502</html>", b'{"choices": [', b"[]", b"{}", b'{"choices": []}'])
def test_what_is_no_chat_completion_is_an_invalid_reply(content: bytes) -> None:
    """Neither a page nor half a document, and not one without an answer."""
    with pytest.raises(InvalidReply):
        decode_completion(HTTPReply(200, {}, content), "openai")


def test_an_error_in_a_good_reply_is_one() -> None:
    """Some gateways answer 200 and say in the body that it went wrong; a key that it repeats is masked."""
    with pytest.raises(ProviderUnavailable, match="Provider returned error"):
        answers(RECORDINGS["openai_compat/openrouter_200_error_body"]["response"]["body"])
    with pytest.raises(AuthenticationError) as caught:
        answers({"error": {"message": "bad key sk-secret1234567", "code": "invalid_api_key"}})
    assert "secret" not in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MESSAGE = st.fixed_dictionaries({}, optional={"content": JSON, "tool_calls": JSON, "refusal": JSON})
CHOICE = st.fixed_dictionaries({}, optional={"index": JSON, "message": JSON | MESSAGE, "finish_reason": JSON})


@given(st.fixed_dictionaries({"choices": JSON | st.lists(JSON | CHOICE)}, optional={"usage": JSON, "id": JSON}) | JSON)
def test_no_reply_breaks_the_decoder(body: Any) -> None:
    """Whatever a server sends, it is a result or one of our errors."""
    with suppress(LLMError):
        answers(body)


def test_llm_output_adds_up() -> None:
    """In the server's own words, as LangChain's users expect of `generate`."""
    model = ChatOpenAI(model="m", api_key="sk-test")
    output = {"token_usage": {"prompt_tokens": 1, "details": {"cached_tokens": 2}}, "model_name": "m"}
    assert model._combine_llm_outputs([output, None, output]) == {
        "token_usage": {"prompt_tokens": 2, "details": {"cached_tokens": 4}},
        "model_name": "m",
    }
