"""The scripted server's words: what OpenAI's API reference says a chat completion, its chunks and the rest look like."""

import base64
import math
import re
import struct
from typing import Any

import httpx
import pytest
from pydantic_core import from_json

from hocket.http.sse import ServerSentEvents
from hocket.testing import OpenAIFormat, Reply, Stream, Vectors, serve
from hocket.testing.server import Script

CHAT = {"model": "m", "messages": [{"role": "user", "content": "Hi there"}]}
COMPLETION = {"model": "m", "prompt": "Once upon"}
CALLS = [{"name": "weather", "args": {"city": "Paris"}, "id": "c1"}, {"name": "time", "args": "not JSON"}]


async def ask(script: Script, body: dict[str, Any], path: str = "/chat/completions") -> Any:
    async with serve(OpenAIFormat(), script) as server, httpx.AsyncClient() as client:
        return (await client.post(server.url + path, json=body)).json()


async def stream(script: Script, body: dict[str, Any], path: str = "/chat/completions") -> list[Any]:
    """Return the chunks of a stream, without the end marker that it must have."""
    async with serve(OpenAIFormat(), script) as server, httpx.AsyncClient() as client:
        content = (await client.post(server.url + path, json={**body, "stream": True})).content
    *events, end = ServerSentEvents().feed(content)
    assert end.data == b"[DONE]"
    return [from_json(event.data) for event in events]


async def test_a_chat_completion() -> None:
    reply = await ask(Reply("Hello", reasoning="A greeting.", extra={"refusal": None}), CHAT)
    assert reply == {
        "id": "chatcmpl-test-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "m",
        "system_fingerprint": "fp_test",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hello",
                    "reasoning_content": "A greeting.",
                    "refusal": None,
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5},
    }


async def test_tool_calls() -> None:
    (choice,) = (await ask(Reply(tool_calls=CALLS), CHAT))["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Paris"}'}},
            {"id": "call_2", "type": "function", "function": {"name": "time", "arguments": "not JSON"}},
        ],
    }


async def test_several_choices() -> None:
    asked = {**CHAT, "n": 2}
    same, own = await ask("Hello", asked), await ask([Reply(["Yes", "No no"])], asked)
    assert [choice["message"]["content"] for choice in same["choices"]] == ["Hello", "Hello"]
    assert [choice["message"]["content"] for choice in own["choices"]] == ["Yes", "No no"]
    assert [choice["index"] for choice in own["choices"]] == [0, 1]
    assert own["usage"]["completion_tokens"] == 3


async def test_the_chunks_of_a_chat_completion() -> None:
    says = Stream("Hello there you", pieces=2, reasoning="Hm", finish_reason="length")
    *chunks, last = await stream(says, CHAT)
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "H"},
        {"reasoning_content": "m"},
        {"content": "Hello t"},
        {"content": "here you"},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 5
    assert last["choices"] == [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "length"}]
    assert {chunk["object"] for chunk in (*chunks, last)} == {"chat.completion.chunk"}


async def test_a_reply_is_streamed_by_the_word() -> None:
    chunks = await stream("  Hello  there\nyou ", CHAT)
    assert [chunk["choices"][0]["delta"].get("content") for chunk in chunks[1:-1]] == [
        " ",
        " Hello",
        " ",
        " there\nyou",
        " ",
    ]


async def test_tool_calls_come_in_pieces() -> None:
    *chunks, last = await stream(Stream(tool_calls=CALLS[:1], pieces=2), CHAT)
    assert [chunk["choices"][0]["delta"]["tool_calls"] for chunk in chunks[1:]] == [
        [{"index": 0, "id": "c1", "type": "function", "function": {"name": "weather", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"city":'}}],
        [{"index": 0, "function": {"arguments": '"Paris"}'}}],
    ]
    assert last["choices"][0]["finish_reason"] == "tool_calls"


async def test_choices_are_streamed_side_by_side() -> None:
    chunks = await stream(Reply(["a b", "c"]), {**CHAT, "n": 2})
    said = [(choice["index"], choice["delta"].get("content")) for chunk in chunks for choice in chunk["choices"]]
    assert said == [(0, ""), (1, ""), (0, "a"), (1, "c"), (0, " b"), (0, None), (1, None)]


async def test_usage_comes_last_in_a_stream_where_it_is_asked_for() -> None:
    says = Reply("Hello there", usage={"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}})
    chunks = await stream(says, {**CHAT, "stream_options": {"include_usage": True}})
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    assert [chunk for chunk in await stream(says, CHAT) if "usage" in chunk] == []


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("one two", 2),
        ("", 0),
        (None, 0),
        ([{"type": "text", "text": "one two three"}, {"type": "image_url", "image_url": {"url": "x y"}}], 3),
    ],
)
async def test_a_token_is_a_word(content: Any, tokens: int) -> None:
    messages = [{"role": "system", "content": "zero"}, {"role": "user", "content": content}]
    assert (await ask("Hello", {**CHAT, "messages": messages}))["usage"]["prompt_tokens"] == 1 + tokens


async def test_a_completion() -> None:
    reply = await ask("Once more", COMPLETION, "/completions")
    assert (reply["object"], reply["id"]) == ("text_completion", "cmpl-test-1")
    assert reply["choices"] == [{"index": 0, "text": "Once more", "logprobs": None, "finish_reason": "stop"}]
    assert reply["usage"] == {"prompt_tokens": 2, "completion_tokens": 2, "total_tokens": 4}


@pytest.mark.parametrize("prompt", [["a b", "c"], [[1, 2], [3]]])
async def test_completions_of_several_prompts(prompt: Any) -> None:
    reply = await ask([Reply(["1", "2", "3", "4"])], {"prompt": prompt, "n": 2}, "/completions")
    assert [choice["text"] for choice in reply["choices"]] == ["1", "2", "3", "4"]
    assert reply["usage"]["prompt_tokens"] == 3


async def test_the_chunks_of_a_completion() -> None:
    chunks = await stream("Once more", {**COMPLETION, "stream_options": {"include_usage": True}}, "/completions")
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}
    assert [(choice["text"], choice["finish_reason"]) for chunk in chunks for choice in chunk["choices"]] == [
        ("Once", None),
        (" more", None),
        ("", "stop"),
    ]
    assert chunks[-1]["usage"]["total_tokens"] == 4


async def test_embeddings_depend_on_the_text_alone() -> None:
    asked = {"model": "e", "input": ["one two", "three", "one two"]}
    reply = await ask(Vectors(), asked, "/embeddings")
    one, other, again = (item["embedding"] for item in reply["data"])
    assert one == again != other
    assert math.hypot(*one) == pytest.approx(1)
    assert [item["index"] for item in reply["data"]] == [0, 1, 2]
    assert reply["usage"] == {"prompt_tokens": 5, "total_tokens": 5}

    (alone,) = (await ask(Vectors(), {"input": "one two", "encoding_format": "base64"}, "/embeddings"))["data"]
    assert list(struct.unpack("<8f", base64.b64decode(alone["embedding"]))) == one
    (short,) = (await ask(Vectors(), {"input": [7, 8], "dimensions": 3}, "/embeddings"))["data"]
    assert len(short["embedding"]) == 3


async def test_given_embeddings() -> None:
    reply = await ask(Vectors([[1.0, 2.0]]), {"input": "x"}, "/embeddings")
    assert reply["data"] == [{"object": "embedding", "index": 0, "embedding": [1.0, 2.0]}]


@pytest.mark.parametrize(
    ("script", "path", "body", "says"),
    [
        (Vectors(), "/chat/completions", CHAT, "no request for embeddings: /v1/chat/completions"),
        ("Hello", "/embeddings", {"input": "x"}, "Reply here, but /v1/embeddings takes none"),
        (Vectors([[1.0]]), "/embeddings", {"input": ["a", "b"]}, "1 vectors here, but the request 2 texts"),
        ("Hello", "/chat/completions", [1], r"a JSON object, not b'\[1\]'"),
    ],
)
async def test_a_reply_that_the_request_does_not_take_is_refused(
    script: Script, path: str, body: Any, says: str
) -> None:
    async with serve(OpenAIFormat(), script) as server, httpx.AsyncClient() as client:
        assert (await client.post(server.url + path, json=body)).status_code == 500
    (problem,) = server.problems
    assert re.search(says, str(problem))


async def test_the_list_of_models_is_beside_the_script() -> None:
    async with serve(OpenAIFormat(models=["a", "b"]), []) as server, httpx.AsyncClient() as client:
        listed = (await client.get(server.url + "/models")).json()
        one = (await client.get(server.url + "/models/b")).json()
        none = await client.get(server.url + "/models/c")
    assert [model["id"] for model in listed["data"]] == ["a", "b"]
    assert (listed["object"], one["object"], one["id"]) == ("list", "model", "b")
    assert (none.status_code, none.json()["error"]["code"]) == (404, "model_not_found")
    assert server.problems == []


async def test_unless_it_is_told_otherwise() -> None:
    async with serve(OpenAIFormat(models=None), []) as server, httpx.AsyncClient() as client:
        assert (await client.get(server.url + "/models")).status_code == 500
