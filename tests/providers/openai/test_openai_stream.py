"""A streamed reply folds to what the official SDK parsed, and a cut one is never taken for whole, wherever it is cut."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.errors import ErrorCode, InvalidReply, LLMError, StreamTruncated
from hocket.http.request import HTTPReply
from hocket.messages import AIMessage
from hocket.messages.ai import Collector
from hocket.outputs import ChatGenerationChunk
from hocket.providers.openai.dialects import COMPATIBLE, DIALECTS, Dialect
from hocket.remote.chat_completion import decode_completion
from hocket.remote.chat_completion_stream import ChatDecoder
from tests.kit.recordings import load_recordings

RECORDINGS = load_recordings("openai_chat", "openai_compat")
OPENAI = DIALECTS["openai"]
FINISH = re.compile(rb'"finish_reason": "(?!error)')  # an error is told by the event it comes with
ERROR = re.compile(rb'"error": \{')


def decoded(pieces: Iterable[bytes], dialect: Dialect = OPENAI, **options: Any) -> list[ChatGenerationChunk]:
    decoder = ChatDecoder(dialect.name, finishes=dialect.finishes, sends_done=dialect.sends_done, **options)
    chunks: list[ChatGenerationChunk] = []
    for piece in pieces:
        chunks += decoder.feed(piece)
    return [*chunks, *decoder.close()]


def folded(chunks: Sequence[ChatGenerationChunk]) -> AIMessage:
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk.message)  # type: ignore[arg-type]
    return collector.message()


def events(*data: dict[str, Any], done: bool = True) -> bytes:
    told = [f"data: {json.dumps(one)}\n\n" for one in data]
    return "".join([*told, "data: [DONE]\n\n" if done else ""]).encode()


def delta(finish: str | None = None, /, **said: Any) -> dict[str, Any]:
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def said(*data: dict[str, Any], dialect: Dialect = OPENAI) -> AIMessage:
    return folded(decoded([events(*data)], dialect))


def test_streams_fold_to_what_the_official_sdk_parsed(whole_stream: dict[str, Any]) -> None:
    """Its chunks, joined by hand, say the same as our message."""
    parsed = whole_stream["sdk_parsed"]
    deltas = [chunk["choices"][0]["delta"] for chunk in parsed if chunk["choices"]]
    usage = next((chunk["usage"] for chunk in reversed(parsed) if chunk["usage"]), None)

    message = folded(decoded([whole_stream["response"]["sse"].encode()]))

    assert message.content == joined(deltas, "content")
    for name in ("refusal", "reasoning_content", "reasoning"):
        assert message.additional_kwargs.get(name, "") == joined(deltas, name)
    pieces = [call for one in deltas for call in one["tool_calls"] or ()]  # in the recordings a call comes in one piece
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in pieces
    ]
    reasons = [chunk["choices"][0]["finish_reason"] for chunk in parsed if chunk["choices"]]
    assert message.response_metadata["finish_reason"] == next(filter(None, reasons))
    assert message.id == parsed[-1]["id"]
    assert message.response_metadata["model_name"] == parsed[-1]["model"]
    counted = message.usage_metadata and message.usage_metadata["total_tokens"]
    assert counted == (usage and usage["total_tokens"])


def joined(deltas: list[dict[str, Any]], name: str) -> str:
    return "".join(one.get(name) or "" for one in deltas)


def test_a_cut_stream_is_never_taken_for_whole(chat_stream: dict[str, Any]) -> None:
    """Cut at every byte: before the finish reason it is truncated, after it the whole message; nothing is invented."""
    body = chat_stream["response"]["sse"].encode()
    whole, finished = outcome(body), end_of_event(FINISH, body)
    failed = end_of_event(ERROR, body)
    for cut in range(len(body) + 1):
        made = outcome(body[:cut])
        if failed <= cut:
            assert isinstance(made, LLMError) and not isinstance(made, StreamTruncated | InvalidReply)
        elif cut < finished:
            assert isinstance(made, StreamTruncated), cut
        else:
            assert isinstance(made, AIMessage) and isinstance(whole, AIMessage)
            assert answer(made) == answer(whole)
            ends = made.response_metadata.get("stream_end")
            assert ends == (None if cut == len(body) else "no [DONE]")


def end_of_event(pattern: re.Pattern[bytes], body: bytes) -> int:
    found = pattern.search(body)
    return body.index(b"\n\n", found.start()) + 2 if found else len(body) + 1


def outcome(body: bytes) -> AIMessage | LLMError:
    try:
        return folded(decoded([body]))
    except LLMError as error:
        return error


def answer(message: AIMessage) -> tuple[Any, ...]:
    facts = message.response_metadata
    finish = facts["finish_reason"], facts["normalized_finish_reason"]
    return message.content, message.additional_kwargs, message.tool_calls, message.id, finish


def test_pieces_do_not_matter(whole_stream: dict[str, Any]) -> None:
    """Byte by byte comes out what comes out at once."""
    body = whole_stream["response"]["sse"].encode()
    assert decoded([body[at : at + 1] for at in range(len(body))]) == decoded([body])


@pytest.mark.parametrize("name", ["openai_chat/stream_error_midway", "openai_compat/openrouter_midstream_error"])
def test_an_error_event_is_an_error(name: str) -> None:
    """After the chunks that came before it, and with what the server said."""
    decoder = ChatDecoder("openai")
    chunks: list[ChatGenerationChunk] = []
    with pytest.raises(LLMError) as caught:
        for chunk in decoder.feed(RECORDINGS[name]["response"]["sse"].encode()):
            chunks.append(chunk)
    assert (caught.value.code, caught.value.provider) == (ErrorCode.PROVIDER_UNAVAILABLE, "openai")
    assert len(chunks) == 1


def test_groqs_errors_and_usage_are_in_a_place_of_their_own() -> None:
    """``x_groq`` holds either."""
    with pytest.raises(LLMError, match="over capacity"):
        said({**delta(content="a"), "x_groq": {"error": "over capacity"}})
    end = {**delta("stop"), "x_groq": {"id": "r", "usage": {"prompt_tokens": 1, "completion_tokens": 1}}}
    message = said(delta(content="a"), end)
    assert message.usage_metadata == {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


def test_a_stream_without_a_finish_reason() -> None:
    """``[DONE]`` alone ends it only where the server is not known to give a reason, which is then none."""
    with pytest.raises(StreamTruncated, match="before a finish reason"):
        said(delta(content="a"))
    message = said(delta(content="a"), dialect=COMPATIBLE)
    assert message.content == "a" and "finish_reason" not in message.response_metadata
    assert decoded([events(delta(role="assistant"))], COMPATIBLE) == []
    with pytest.raises(StreamTruncated) as caught:
        decoded([events(delta(content="a"), done=False)], COMPATIBLE)
    assert caught.value.retryable


def test_a_missing_done_is_recorded_where_it_was_due() -> None:
    """It is no fault of the answer; a server that sends none has left nothing out."""
    body = events(delta(content="a"), delta("stop"), done=False)
    assert folded(decoded([body])).response_metadata["stream_end"] == "no [DONE]"
    silent = Dialect(name="silent", sends_done=False)
    assert "stream_end" not in folded(decoded([body], silent)).response_metadata


def test_done_means_that_nothing_more_is_read() -> None:
    """What comes after it is not the stream's."""
    decoder = ChatDecoder("openai")
    assert not decoder.done
    list(decoder.feed(events(delta(content="a"), delta("stop")) + b"data: rubbish\n\n"))
    assert decoder.done and not list(decoder.close())


@pytest.mark.parametrize("body", [b"", b": ping\n\n", b"data: [DONE]\n\n", b"data: "])
def test_a_stream_that_says_nothing_is_truncated(body: bytes) -> None:
    """Silence is no answer."""
    with pytest.raises(StreamTruncated):
        decoded([body])


@pytest.mark.parametrize("body", [b"<html>502</html>", b' {"object": "chat.completion"}'])
def test_what_is_no_stream_is_an_invalid_reply(body: bytes) -> None:
    """A page or a document, cut into pieces or not: to try again would give the same."""
    for pieces in ([body], [body[:3], body[3:]]):
        with pytest.raises(InvalidReply, match="no stream of events"):
            decoded(pieces)


def test_what_is_no_event_of_the_format_is_an_invalid_reply() -> None:
    """No JSON, no object, another shape, several answers: said, with the beginning of what came."""
    for data in ("{", "[1]", '"x"', '{"choices": [1]}', '{"choices": [{"delta": {"content": 5}}]}'):
        with pytest.raises(InvalidReply):
            decoded([f"data: {data}\n\n".encode()])
    with pytest.raises(InvalidReply, match="several answers"):
        said(delta(content="a"), {"choices": [{"index": 1, "delta": {"content": "b"}}]})
    with pytest.raises(LLMError, match="went wrong"):
        decoded([b"event: error\ndata: went wrong\n\n"])


def test_events_that_say_nothing_make_no_chunk() -> None:
    """The role alone, an empty choice, Azure's filter results: the first chunk is the first word, and knows them all."""
    filters = {"id": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    chunks = decoded([events(filters, delta(role="assistant", content=""), delta(content="a"), delta("stop"))], OPENAI)
    assert [chunk.text for chunk in chunks] == ["a", ""]
    first = chunks[0].message.response_metadata
    assert (first["model_name"], first["prompt_filter_results"]) == ("m", [{"prompt_index": 0}])
    assert chunks[1].generation_info == {"finish_reason": "stop", "normalized_finish_reason": "stop"}


def test_a_finish_reason_is_not_taken_back() -> None:
    """A null after it says nothing, and usage in a last event without choices is that of the whole."""
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    message = said(delta(content="a"), delta("length"), delta(), {**delta(), "choices": [], "usage": usage})
    assert message.response_metadata["finish_reason"] == "length"
    assert message.usage_metadata == {"input_tokens": 3, "output_tokens": 1, "total_tokens": 4}


def test_an_event_may_have_a_line_of_a_megabyte() -> None:
    """Among comments, and without the blank that most servers write before their data."""
    text = "x" * 2**20
    large, end = (json.dumps(one) for one in (delta(content=text), delta("stop")))
    body = f": OPENROUTER PROCESSING\n\n:\n\nid: 1\nretry: 5\ndata:{large}\n\n: ping\ndata:{end}\n\ndata:[DONE]\n\n"
    message = folded(decoded([body[at : at + 65_536].encode() for at in range(0, len(body), 65_536)]))
    assert message.content == text and "stream_end" not in message.response_metadata


def test_a_running_total_counts_once() -> None:
    """vLLM reports usage with every chunk, and means the whole each time."""
    usages = [{"prompt_tokens": 5, "completion_tokens": count, "total_tokens": 5 + count} for count in (1, 2, 3)]
    message = said(*({**delta(content="a"), "usage": usage} for usage in usages), delta("stop"))
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
    assert message.response_metadata["token_usage"] == usages[-1]


def call(index: int | None = 0, id: str | None = None, name: str | None = None, args: Any = None) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", args)) if value is not None}
    made = {"index": index, "id": id, "function": function}
    return {key: value for key, value in made.items() if value is not None}


F, G = ("a", "f", {"x": 1}), ("b", "g", {})


@pytest.mark.parametrize(
    ("deltas", "called"),
    [
        ([[call(0, "a", "f", '{"x"')], [call(0, args=":1}")]], [F]),
        ([[call(0, "a", "f", "")], [call(1, "b", "g", "")], [call(0, args='{"x":1}')]], [F, G]),
        ([[call(0, "a", "f", '{"x":1}')], [call(0, "b", "g", "{}")]], [F, G]),
        ([[call(None, "a", "f", '{"x":1}'), call(None, "b", "g", "{}")]], [F, G]),
        ([[call(0, "a", "f", {"x": 1})], [call(1, "b", "g")]], [F, G]),
    ],
    ids=["pieces", "interleaved", "same index", "no index", "objects"],
)
def test_tool_calls_stay_apart(deltas: list[list[dict[str, Any]]], called: list[tuple[Any, ...]]) -> None:
    """However a server numbers them."""
    message = said(*(delta(tool_calls=calls) for calls in deltas), delta("tool_calls"))
    assert [(one["id"], one["name"], one["args"]) for one in message.tool_calls] == called


def test_a_call_that_was_forced_is_a_call() -> None:
    """OpenAI's reason is then "stop", as it is for a refusal."""
    facts = said(delta(tool_calls=[call(0, "a", "f", "{}")]), delta("stop")).response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == ("stop", "tool_calls")
    facts = said(delta(refusal="no"), delta("stop")).response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == ("stop", "content_filter")


def whole(message: dict[str, Any], finish: str, **more: Any) -> AIMessage:
    body = {"id": "c", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    made = decode_completion(HTTPReply(200, {}, json.dumps(body).encode()), "openai").generations[0].message
    assert isinstance(made, AIMessage)
    return made


@given(st.text(), st.integers(1, 4))
def test_a_custom_tools_input_is_text_in_any_pieces(text: str, size: int) -> None:
    """It is not JSON, and whatever is in it, it folds to what a whole reply says."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)] or [""]
    start = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "g", "input": pieces[0]}}
    more = [{"index": 0, "custom": {"input": piece}} for piece in pieces[1:]]
    streamed = said(*(delta(tool_calls=[one]) for one in (start, *more)), delta("tool_calls"))
    call = {"id": "a", "type": "custom", "custom": {"name": "g", "input": text}}
    assert streamed == whole({"content": None, "tool_calls": [call]}, "tool_calls")
    assert streamed.tool_calls[0]["args"] == {"__arg1": text}


def test_a_stream_folds_to_the_whole_reply() -> None:
    """Text, reasoning and its details, refusal, audio, annotations, log probabilities, signatures, usage."""
    google = {"extra_content": {"google": {"thought_signature": "s"}}}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    logged = [{"token": token, "logprob": -0.1} for token in "ab"]
    streamed = said(
        delta(role="assistant", content="", reasoning="h", reasoning_details=[{"type": "t", "index": 0, "text": "h"}]),
        delta(reasoning="m", reasoning_details=[{"type": "t", "index": 0, "text": "m"}]),
        {"id": "c", "choices": [{"index": 0, "delta": {"content": "a"}, "logprobs": {"content": logged[:1]}}]},
        {"id": "c", "choices": [{"index": 0, "delta": {"content": "b"}, "logprobs": {"content": logged[1:]}}]},
        delta(audio={"id": "x", "transcript": "h"}),
        delta(audio={"id": "x", "transcript": "i", "data": "UklG", "expires_at": 1}),
        delta(annotations=[{"type": "url_citation", "url_citation": {"url": "u"}}]),
        delta(tool_calls=[{**call(0, "a", "f", ""), "type": "function", **google}]),
        delta(tool_calls=[call(0, args="{}")]),
        {**delta("tool_calls"), "service_tier": "default", "timings": {"n": 1}},
        {"id": "c", "model": "m", "choices": [], "usage": usage},
    )
    assert streamed == whole(
        {
            "content": "ab",
            "reasoning": "hm",
            "reasoning_details": [{"type": "t", "index": 0, "text": "hm"}],
            "audio": {"id": "x", "transcript": "hi", "data": "UklG", "expires_at": 1},
            "annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}],
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, **google}],
        },
        "tool_calls",
        usage=usage,
        service_tier="default",
        timings={"n": 1},
    ).model_copy(update={"response_metadata": streamed.response_metadata})
    facts = streamed.response_metadata
    assert facts["logprobs"] == {"content": logged}
    assert (facts["service_tier"], facts["timings"], facts["token_usage"]) == ("default", {"n": 1}, usage)


def test_headers_are_told_with_the_first_chunk() -> None:
    """The server's name for the request always, all headers when asked for."""
    body, headers = events(delta(content="a"), delta("stop")), {"x-request-id": "req_1", "server": "s"}
    first = decoded([body], headers=headers)[0].message.response_metadata
    assert first["request_id"] == "req_1" and "headers" not in first
    first = decoded([body], headers=headers, include_headers=True)[0].message.response_metadata
    assert first["headers"] == headers


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FUNCTION = st.fixed_dictionaries({}, optional={name: JSON for name in ("name", "arguments", "input")})
CALL = st.fixed_dictionaries(
    {}, optional={"index": JSON, "id": JSON, "function": JSON | FUNCTION, "custom": JSON | FUNCTION}
)
DELTA = st.fixed_dictionaries({}, optional={"content": JSON, "tool_calls": JSON | st.lists(CALL), "refusal": JSON})
CHOICE = st.fixed_dictionaries({}, optional={"index": JSON, "delta": JSON | DELTA, "finish_reason": JSON})
EVENT = st.fixed_dictionaries(
    {}, optional={"choices": JSON | st.lists(CHOICE), "usage": JSON, "id": JSON, "x_groq": JSON}
)


@given(st.lists(EVENT | JSON, max_size=4))
def test_no_stream_breaks_the_decoder(data: list[Any]) -> None:
    """Whatever a server sends, it is a message or one of our errors."""
    try:
        message = folded(decoded([events(*data)], COMPATIBLE))
    except LLMError:
        return
    assert AIMessage.model_validate(message.model_dump()) == message
