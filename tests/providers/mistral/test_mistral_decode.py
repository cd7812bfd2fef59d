"""What Mistral answers is read as the official SDK reads it, whole and streamed, and goes back as it came."""

import json
from typing import Any

import pytest

from hocket.errors import (
    AuthenticationError,
    InvalidReply,
    InvalidRequest,
    LLMError,
    ProviderUnavailable,
    RateLimitError,
)
from hocket.http.failures import classify_error
from hocket.load import dumps, loads
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.providers.mistral import ChatMistralAI, MistralAIEmbeddings
from hocket.providers.mistral.decode import MistralDecoder, decode_reply
from hocket.testing import Body, MistralFormat, Vectors, serve
from tests.kit.recordings import Reader, Recording, load_recordings, make_reply, reply_in, stream_in, without_index

READER = Reader(decode_reply, MistralDecoder)
RECORDINGS = load_recordings("mistral")
USAGE = {
    "input_tokens": 40,
    "output_tokens": 12,
    "total_tokens": 52,
    "input_token_details": {"cache_read": 16},
}


def answer(body: Any) -> AIMessage:
    return READER.read(make_reply(body))


def completion(message: dict[str, Any], finish: str = "stop", **more: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}


def stream(*deltas: dict[str, Any], finish: str | None = "stop", done: bool = True) -> bytes:
    events: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    if finish:
        events.append({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": finish}]})
    ends = ["[DONE]"] if done else []
    lines = [*(json.dumps({"id": "c", "model": "m", **event}) for event in events), *ends]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def test_a_reply_is_what_the_sdk_parsed(chat_answer: Recording) -> None:
    """Content, calls, usage, why it ended, who answered, and the server's name for the request."""
    reply = reply_in(chat_answer)
    parsed, made = chat_answer["sdk_parsed"], READER.read(reply)
    [choice] = parsed["choices"]
    said = choice["message"]
    assert isinstance(made, AIMessage)
    assert made.content == said["content"]
    assert [(call["id"], call["name"], call["args"]) for call in made.tool_calls] == [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in said.get("tool_calls") or ()
    ]
    facts = made.response_metadata
    assert (made.id, facts["model_name"], facts["model_provider"]) == (parsed["id"], parsed["model"], "mistralai")
    assert facts["finish_reason"] == facts["normalized_finish_reason"] == choice["finish_reason"]
    assert made.usage_metadata == USAGE
    assert facts.get("request_id") == reply.headers.get("mistral-correlation-id")


def test_a_stream_folds_to_what_the_sdk_parsed(chat_stream: Recording) -> None:
    """Whole, and byte by byte."""
    body = stream_in(chat_stream)
    made = READER.fold_stream(body)
    deltas = [event["data"]["choices"][0]["delta"]["content"] for event in chat_stream["sdk_parsed"]]
    texts = [delta if isinstance(delta, str) else "" for delta in deltas]
    assert made.text == "".join(texts)
    thoughts = [piece["thinking"][0]["text"] for delta in deltas if isinstance(delta, list) for piece in delta]
    assert "".join(b["reasoning"] for b in made.content_blocks if b["type"] == "reasoning") == "".join(thoughts)
    assert made.usage_metadata == USAGE
    assert made.response_metadata["finish_reason"] == "stop"
    READER.check_bytes(body)


def test_a_stream_of_reasoning_folds_to_what_a_whole_reply_says() -> None:
    """Each piece is of one part; what only text is, is a text."""
    folded = READER.fold_stream(stream_in(RECORDINGS["mistral/stream_thinking"]))
    whole = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Easy."}], "closed": True},
        {"type": "text", "text": "42"},
    ]
    assert without_index(folded.content) == whole
    assert READER.fold_stream(stream_in(RECORDINGS["mistral/stream_text"])).content == "Rome: 25 °C."


def test_a_list_of_nothing_but_texts_is_a_text() -> None:
    """Whole and streamed."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert answer(completion({"content": parts})).content == "ab"
    assert READER.fold_stream(stream({"content": parts}, {"content": "c"})).content == "abc"
    assert answer(completion({"content": []})).content == ""


def test_citations_and_reasoning_may_alternate() -> None:
    """A part that does not grow is a part by itself, within reasoning too."""
    think = {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]}
    cite = {"type": "reference", "reference_ids": [1]}
    inner = {"type": "thinking", "thinking": [cite, {"type": "text", "text": "b"}]}
    deltas: list[Any] = [[think], [inner], "x", "y", [cite], [cite], "z", [think]]
    made = READER.fold_stream(stream(*({"content": delta} for delta in deltas)))
    assert without_index(made.content) == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}, cite, {"type": "text", "text": "b"}]},
        {"type": "text", "text": "xy"},
        cite,
        cite,
        {"type": "text", "text": "z"},
        think,
    ]
    assert [block["type"] for block in made.content_blocks] == ["reasoning", *["text"] * 4, "reasoning"]
    body = ChatMistralAI(model="m", api_key="k").render([made, HumanMessage("?")]).json
    assert body["messages"][0]["content"] == without_index(made.content)


def test_a_cut_stream_is_never_taken_for_whole(chat_stream: Recording) -> None:
    """Whole it is with its finish reason."""
    body = stream_in(chat_stream)
    READER.check_cuts(body, body.index(b"\n\n", body.index(b'"finish_reason": "')) + 2)


def test_a_failure_is_of_its_kind(failure: Recording) -> None:
    """By the status, with the server's words, and its name for the request."""
    response = failure["response"]
    error = classify_error(response["status"], response["headers"], json.dumps(response["body"]).encode())
    kinds: dict[int, type[LLMError]] = {
        400: InvalidRequest,
        401: AuthenticationError,
        422: InvalidRequest,
        429: RateLimitError,
        503: ProviderUnavailable,
    }
    assert type(error) is kinds[response["status"]]
    assert error.retryable == (response["status"] in (429, 503))
    text = response["body"].get("message") or response["body"]["detail"]
    assert ("body.top_p2: Extra inputs are not permitted" if isinstance(text, list) else text) in str(error)
    assert error.request_id == response["headers"].get("mistral-correlation-id")


@pytest.mark.parametrize(
    "event",
    [
        {"object": "error", "message": "over capacity", "type": "service_unavailable", "code": "3505"},
        {"error": {"message": "over capacity", "type": "service_unavailable"}},
    ],
)
def test_an_error_inside_a_stream_is_an_error(event: dict[str, Any]) -> None:
    """And so is one that comes with a status of success."""
    begun = stream({"content": "a"}, finish=None, done=False)
    made = READER.outcome_of(begun + f"data: {json.dumps(event)}\n\n".encode())
    assert isinstance(made, ProviderUnavailable) and "over capacity" in str(made)
    with pytest.raises(ProviderUnavailable, match="over capacity"):
        answer(event)


@pytest.mark.parametrize("missing", [{"id": "null"}, {"id": None}, {"id": ""}, {}])
def test_a_call_without_an_id_gets_one(missing: dict[str, Any]) -> None:
    """ "null" means that there is none. Each call gets its own, the same one whole and streamed."""
    raw = [{**missing, "function": {"name": "f", "arguments": {"a": n}}, "index": 0} for n in (1, 2)]
    made = answer(completion({"content": "", "tool_calls": raw}, "tool_calls"))
    ids = [call["id"] for call in made.tool_calls]
    assert len(set(ids)) == 2 and all(id and len(id) == 9 and id.isalnum() for id in ids)
    assert (
        READER.fold_stream(stream({"content": "", "tool_calls": raw}, finish="tool_calls")).tool_calls
        == made.tool_calls
    )


def test_a_call_that_comes_in_pieces_is_one_call() -> None:
    """Some servers cut the arguments, and say "null" for an id that they gave before."""
    pieces = [
        {"id": "aaaaaaaaa", "index": 0, "function": {"name": "f", "arguments": '{"a":'}},
        {"id": "null", "index": 0, "function": {"name": "", "arguments": "1}"}},
    ]
    [call] = READER.fold_stream(stream(*({"tool_calls": [piece]} for piece in pieces), finish="tool_calls")).tool_calls
    assert (call["id"], call["args"]) == ("aaaaaaaaa", {"a": 1})


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        {"content": [5]},
        {"content": 5},
        {"content": "a", "tool_calls": [5]},
        {"content": "a", "tool_calls": 5},
    ],
)
def test_an_odd_reply_is_an_invalid_one(message: Any) -> None:
    """Whole and streamed."""
    with pytest.raises(InvalidReply):
        answer(completion(message))
    if message:
        assert isinstance(READER.outcome_of(stream(message)), InvalidReply)


@pytest.mark.parametrize(
    ("word", "normalized"),
    [("stop", "stop"), ("length", "length"), ("model_length", "length"), ("error", "error"), ("new", "other")],
)
def test_why_an_answer_ended(word: str, normalized: str) -> None:
    """The API's word as it came, whole and streamed, and hocket's."""
    for made in (answer(completion({"content": "a"}, word)), READER.fold_stream(stream({"content": "a"}, finish=word))):
        facts = made.response_metadata
        assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (word, normalized)


@pytest.mark.parametrize(
    ("usage", "cached"),
    [({}, None), ({"num_cached_tokens": 3}, 3), ({"prompt_tokens_details": {"cached_tokens": 4}}, 4)],
)
def test_cached_tokens_are_found_where_they_stand(usage: dict[str, Any], cached: int | None) -> None:
    made = answer(completion({"content": "a"}, usage={"prompt_tokens": 5, "completion_tokens": 1, **usage}))
    assert made.usage_metadata is not None
    assert made.usage_metadata["input_tokens"] == 5
    assert made.usage_metadata.get("input_token_details", {}).get("cache_read") == cached


def test_no_usage_is_none() -> None:
    assert answer(completion({"content": "a"})).usage_metadata is None


def test_several_answers_have_ids_of_their_own() -> None:
    choices = [{"index": n, "message": {"content": str(n)}, "finish_reason": "stop"} for n in (1, 0)]
    made = decode_reply(make_reply({"id": "c", "choices": choices})).generations
    assert [(one.text, one.message.id) for one in made] == [("0", "c"), ("1", "c-1")]


def test_a_reply_goes_back_as_it_came_after_a_round_trip(chat_answer: Recording) -> None:
    """Written down and read again, its content is what was received, and its calls are whole."""
    received = READER.read(reply_in(chat_answer))
    kept = loads(dumps(received))
    assert kept == received
    calls: Any = received.tool_calls  # type: ignore[attr-defined]
    results: list[Any] = [HumanMessage("?")] if not calls else []
    if calls:
        results = [ToolMessage("1", tool_call_id=call["id"]) for call in calls]
    message = ChatMistralAI(model="m", api_key="k").render([kept, *results]).json["messages"][0]
    said = chat_answer["response"]["body"]["choices"][0]["message"]
    assert message["content"] == said["content"]
    assert [call["id"] for call in message.get("tool_calls", ())] == [
        call["id"] for call in said.get("tool_calls") or ()
    ]


async def test_models_are_listed() -> None:
    async with serve(MistralFormat(None), Body(RECORDINGS["mistral/models_list"]["response"]["body"])) as server:
        model = ChatMistralAI(model="m", base_url=server.url, api_key="k")
        assert await model.alist_models() == ["mistral-medium-latest"]
        assert server.requests[0].path == RECORDINGS["mistral/models_list"]["request"]["path"]


async def test_texts_are_embedded() -> None:
    """The vectors in the order of the texts, and what they cost; under the API's own name of their length."""
    async with serve(MistralFormat(), [Vectors([[1.0, 0.0], [0.0, 1.0]])]) as server:
        embeddings = MistralAIEmbeddings(base_url=server.url, api_key="k", dimensions=2)
        result = await embeddings.aembed(["a b", "c"])
        assert result.embeddings == [[1.0, 0.0], [0.0, 1.0]]
        assert result.usage == {"input_tokens": 3, "output_tokens": 0, "total_tokens": 3}
        body = server.requests[0].json
        assert body == {"model": "mistral-embed", "input": ["a b", "c"], "output_dimension": 2}
