"""What the Gemini API answers is read as the official SDK reads it, whole and streamed, and goes back as it came."""

import json
from typing import Any

import pytest

from hocket.errors import InvalidReply, ProviderUnavailable, RateLimitError
from hocket.http.failures import classify_error
from hocket.load import dumps, loads
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.google.decode import decode_reply, decode_usage
from hocket.providers.google.stream import GoogleDecoder
from tests.kit.recordings import Reader, Recording, load_recordings, make_reply, reply_in, stream_in, without_index

READER = Reader(decode_reply, GoogleDecoder)
RECORDINGS = load_recordings("gemini")


def decode(data: Any) -> AIMessage:
    return READER.read(make_reply(data))


def answer(*parts: Any, **facts: Any) -> dict[str, Any]:
    content = {"content": {"role": "model", "parts": parts}} if parts else {}
    return {"candidates": [{**content, "finishReason": "STOP", **facts}], "responseId": "r1"}


def events(*datas: Any) -> bytes:
    return b"".join(b"data: %b\r\n\r\n" % json.dumps(data).encode() for data in datas)


def fold(*datas: Any) -> AIMessage:
    return READER.fold_stream(events(*datas))


def texts_in(parsed: list[dict[str, Any]], *, thought: bool) -> str:
    """The text, or the reasoning, of what the SDK has read."""
    parts = [
        part for each in parsed for one in each["candidates"] or () for part in (one["content"] or {}).get("parts", ())
    ]
    return "".join(part["text"] or "" for part in parts if bool(part["thought"]) is thought)


def check_equal(message: AIMessage, parsed: list[dict[str, Any]]) -> None:
    """The message says what the SDK read, in one reply or in several."""
    last = parsed[-1]
    assert message.text == texts_in(parsed, thought=False)
    reasoning = "".join(block["reasoning"] for block in message.content_blocks if block["type"] == "reasoning")
    assert reasoning == texts_in(parsed, thought=True)
    facts = message.response_metadata
    assert (message.id, facts["model_name"], facts["model_provider"]) == ("r1", last["model_version"], "google_genai")
    if last["candidates"]:
        assert facts["finish_reason"] == last["candidates"][0]["finish_reason"]
    usage = last["usage_metadata"]
    counted: Any = message.usage_metadata
    into = usage["prompt_token_count"] + (usage["tool_use_prompt_token_count"] or 0)
    out = (usage["candidates_token_count"] or 0) + (usage["thoughts_token_count"] or 0)
    assert (counted["input_tokens"], counted["output_tokens"]) == (into, out)
    assert counted["total_tokens"] == usage["total_token_count"]
    if usage["cached_content_token_count"]:
        pictures = {one["token_count"] for one in usage["prompt_tokens_details"] if one["modality"] == "IMAGE"}
        assert counted["input_token_details"].pop("image") == sum(pictures)
        assert counted["input_token_details"] == {"cache_read": usage["cached_content_token_count"]}
        assert counted["output_token_details"] == {"reasoning": usage["thoughts_token_count"]}


def test_a_reply_is_what_the_sdk_parsed(chat_answer: Recording) -> None:
    message = READER.read(reply_in(chat_answer))
    check_equal(message, [chat_answer["sdk_parsed"]])


def test_a_stream_folds_to_what_the_sdk_parsed(chat_stream: Recording) -> None:
    """Whole, and byte by byte; where the SDK raised, so do we."""
    body = stream_in(chat_stream)
    if "sdk_parsed" not in chat_stream:
        made = READER.outcome_of(body)
        assert isinstance(made, ProviderUnavailable) and made.retryable
        return
    check_equal(READER.fold_stream(body), chat_stream["sdk_parsed"])
    READER.check_bytes(body)


def test_a_cut_stream_is_never_taken_for_whole(chat_stream: Recording) -> None:
    """Whole it is with its finish reason: there is no end marker."""
    body = stream_in(chat_stream)
    end = body.find(b'"finishReason"')
    READER.check_cuts(body, body.index(b"\n\r\n", end) + 3 if end >= 0 else len(body) + 1)


def test_a_failure_is_of_its_kind(failure: Recording) -> None:
    response = failure["response"]
    error = classify_error(response["status"], {}, json.dumps(response["body"]).encode())
    assert error.status == failure["sdk_exception"]["code"]
    if isinstance(error, RateLimitError):
        assert error.retry_after == 34


def test_text_that_is_nothing_else_is_a_str() -> None:
    assert decode(answer({"text": "a"}, {"text": "b"})).content == "ab"
    assert fold(answer({"text": "a"}, finishReason=None), answer({"text": "b"})).content == "ab"


@pytest.mark.parametrize("streamed", [False, True])
def test_parts_stay_as_they_came(streamed: bool) -> None:
    """Thoughts, signed texts, calls, pictures, code and parts that nobody knows, in their places."""
    parts: list[Any] = [
        {"text": "hm", "thought": True},
        {"text": "a", "thoughtSignature": "YQ=="},
        {"text": "b"},
        {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"functionCall": {"id": "c1", "name": "f", "args": {"x": 1}}, "thoughtSignature": "Yg=="},
        {"dream": {"of": "sheep"}},
        {"text": "", "thoughtSignature": "Yw=="},
    ]
    pieces = [answer(part, finishReason=None) for part in parts]
    message = fold(*pieces, answer()) if streamed else decode(answer(*parts))
    assert without_index(message.content) == parts
    assert message.text == "ab"
    kinds = [block["type"] for block in message.content_blocks]
    assert kinds == [
        *("reasoning", "text", "text", "image", "server_tool_call", "server_tool_result", "tool_call"),
        *("non_standard", "text"),
    ]
    assert message.response_metadata["normalized_finish_reason"] == "tool_calls"
    again = loads(dumps(message))
    assert again == message
    body: Any = ChatGoogleGenerativeAI(model="gemini-3.8-flash", api_key="k").render(
        [HumanMessage("q"), again, ToolMessage("1", tool_call_id="c1")]
    )
    assert body.json["contents"][1]["parts"] == parts


def test_pieces_of_one_part_become_one() -> None:
    """Texts that go on are one part; one that is signed is another."""
    thought = {"text": "h", "thought": True}
    message = fold(
        *(answer(part, finishReason=None) for part in (thought, thought, {"text": "a"}, {"text": "b"})),
        answer({"text": "", "thoughtSignature": "YQ=="}),
    )
    assert without_index(message.content) == [
        {"text": "hh", "thought": True},
        {"text": "ab"},
        {"text": "", "thoughtSignature": "YQ=="},
    ]


def test_calls_without_ids_get_some() -> None:
    """Different ones, the same each time the reply is read, whole or streamed."""
    calls = [{"functionCall": {"name": "f", "args": {"x": 1}}}] * 2
    whole, streamed = decode(answer(*calls)), fold(answer(calls[0], finishReason=None), answer(calls[1]))
    ids = [call["id"] for call in whole.tool_calls]
    assert len(set(ids)) == 2
    assert all(str(id).startswith("lc_") for id in ids)
    assert [call["id"] for call in streamed.tool_calls] == ids
    assert [block["type"] for block in streamed.content_blocks] == ["tool_call"] * 2


def test_made_ids_are_of_one_reply() -> None:
    """The same call in another reply has another id, even where the server names no reply."""
    data = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}, "finishReason": "STOP"}]}
    ids = {message.tool_calls[0]["id"] for message in (decode(data), decode(data), fold(data), fold(data))}
    assert len(ids) == 4


def test_a_call_without_arguments_has_none() -> None:
    bare = {"functionCall": {"name": "f"}}
    assert decode(answer(bare)).tool_calls[0]["args"] == fold(answer(bare)).tool_calls[0]["args"] == {}


@pytest.mark.parametrize("streamed", [False, True])
def test_a_blocked_prompt_is_an_empty_answer_that_says_why(streamed: bool) -> None:
    body = RECORDINGS["gemini/prompt_blocked"]["response"]["body"]
    message = fold(body) if streamed else decode(body)
    assert message.content == ""
    facts = message.response_metadata
    assert (facts["finish_reason"], facts["normalized_finish_reason"]) == ("SAFETY", "content_filter")
    assert facts["prompt_feedback"] == body["promptFeedback"]


@pytest.mark.parametrize(
    ("word", "normalized"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("RECITATION", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("MISSING_THOUGHT_SIGNATURE", "error"),
        ("CONTINUATION", "paused"),
        ("SOMETHING_NEW", "other"),
    ],
)
def test_finish_reasons(word: str, normalized: str) -> None:
    """The API's word as it came, and the one that all providers share; content may be absent."""
    for message in (decode(answer(finishReason=word)), fold(answer(finishReason=word))):
        facts = message.response_metadata
        assert (facts["finish_reason"], facts["normalized_finish_reason"]) == (word, normalized)


def test_several_answers_come_whole() -> None:
    """In the order of their indices; the usage is told once, and no two have an id in common."""
    call = {"functionCall": {"name": "f"}}
    candidates = [{"content": {"parts": [{"text": text}, call]}, "finishReason": "STOP"} for text in "ba"]
    data = {"candidates": [{**each, "index": 1 - at} for at, each in enumerate(candidates)], "responseId": "r1"}
    data["usageMetadata"] = {"promptTokenCount": 1}
    first, second = decode_reply(make_reply(data)).generations
    assert (first.text, second.text) == ("a", "b")
    messages: list[Any] = [first.message, second.message]
    assert [message.usage_metadata is None for message in messages] == [False, True]
    assert len({message.id for message in messages}) == len({m.tool_calls[0]["id"] for m in messages}) == 2


@pytest.mark.parametrize("data", [{}, {"candidates": [{"content": {"parts": "x"}}]}, [], {"promptFeedback": {}}])
def test_an_odd_reply_is_none(data: Any) -> None:
    with pytest.raises(InvalidReply):
        decode(data)


def test_usage_counts_all() -> None:
    """Reasoning is of the answer, what the API's tools read of the prompt; sound is told apart."""
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
        "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 6}, {"modality": "TEXT", "tokenCount": 4}],
        "candidatesTokensDetails": [{"modality": "AUDIO", "tokenCount": 2}],
    }
    assert decode_usage(usage) == {
        "input_tokens": 15,
        "output_tokens": 10,
        "total_tokens": 25,
        "input_token_details": {"cache_read": 4, "audio": 6},
        "output_token_details": {"reasoning": 3, "audio": 2},
    }
    assert decode_usage(None) is decode_usage({}) is None


def test_usage_of_a_stream_is_its_last() -> None:
    """Each event tells what was used so far: it is not summed."""
    counts = [{"promptTokenCount": 5, "candidatesTokenCount": n} for n in (1, 2, 2)]
    pieces = [{**answer({"text": "a"}, finishReason=None), "usageMetadata": usage} for usage in counts]
    message = fold(*pieces, {**answer(), "usageMetadata": counts[-1]})
    assert message.usage_metadata == {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    assert message.response_metadata["token_usage"] == counts[-1]


@pytest.mark.parametrize("streamed", [False, True])
def test_what_a_search_found_is_cited(streamed: bool) -> None:
    """Places are bytes there and characters here; the text that is meant decides, and the metadata stay as they came."""
    text = "Zürich ist schön. Bern auch."
    start = len("Zürich ist schön. ".encode())
    grounding = {
        "groundingChunks": [{"web": {"uri": "https://a", "title": "A"}}, {"web": {"uri": "https://b"}}],
        "groundingSupports": [
            {"segment": {"endIndex": start - 1, "text": "Zürich ist schön."}, "groundingChunkIndices": [0, 1]},
            {"segment": {"startIndex": start, "endIndex": start + 10}, "groundingChunkIndices": [1, 7]},
            {"segment": {"text": "not there"}, "groundingChunkIndices": [0]},
        ],
    }
    thought = {"text": "hm", "thought": True}
    if streamed:
        pieces = [answer(part, finishReason=None) for part in (thought, {"text": text[:9]}, {"text": text[9:]})]
        message = fold(*pieces, answer(groundingMetadata=grounding))
    else:
        message = decode(answer(thought, {"text": text}, groundingMetadata=grounding))
    block: Any = message.content_blocks[1]
    assert block["annotations"] == [
        {"type": "citation", "url": "https://a", "title": "A", "start_index": 0, "end_index": 17},
        {"type": "citation", "url": "https://b", "start_index": 0, "end_index": 17},
        {"type": "citation", "url": "https://b", "start_index": 18, "end_index": 28},
    ]
    assert message.response_metadata["grounding_metadata"] == grounding


def test_what_is_repeated_word_by_word_is_cited() -> None:
    sources = {"citationSources": [{"startIndex": 0, "endIndex": 3, "uri": "https://a", "license": "mit"}]}
    [block] = decode(answer({"text": "abcd"}, citationMetadata=sources)).content_blocks
    assert block["annotations"] == [{"type": "citation", "url": "https://a", "start_index": 0, "end_index": 3}]  # type: ignore[typeddict-item]


def test_several_answers_in_one_stream_are_refused() -> None:
    with pytest.raises(InvalidReply, match="several answers"):
        fold({"candidates": [{"content": {"parts": [{"text": "b"}]}, "index": 1}]})


def piece(call: dict[str, Any], /, **beside: Any) -> dict[str, Any]:
    """An event with a piece of a call, as Vertex AI sends it."""
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"functionCall": call, **beside}]}}],
        "responseId": "r1",
    }


def value(path: str, **of: Any) -> dict[str, Any]:
    return piece({"partialArgs": [{"jsonPath": path, **of}], "willContinue": True})


COOKING = [
    piece({"name": "cook", "willContinue": True}, thoughtSignature="c2ln"),
    value("$.steps[0].text", stringValue="Bo", willContinue=True),
    value("$.steps[0].text", stringValue="il"),
    value("$.steps[0].minutes", numberValue=2.5),
    piece({"willContinue": True}),
    value("$.steps[1]['a \"b\".c']", boolValue=False),
    value("$.note", nullValue="NULL_VALUE"),
    value("$.word", stringValue="NULL_VALUE"),
    piece({}),
]
COOKED = {
    "steps": [{"text": "Boil", "minutes": 2.5}, {'a "b".c': False}],
    "note": None,
    "word": "NULL_VALUE",
}


def test_a_call_that_comes_in_pieces_is_told_when_it_is_whole() -> None:
    """With its signature, so that it can go back; another call may follow."""
    after = [piece({"name": "wait"}), piece({"name": "stir", "willContinue": True}), value("$.times", numberValue=3)]
    body = events(*COOKING, *after, piece({}), answer({"text": ""}))
    message = READER.fold_stream(body)
    assert [(call["name"], call["args"]) for call in message.tool_calls] == [
        ("cook", COOKED),
        ("wait", {}),
        ("stir", {"times": 3}),
    ]
    assert without_index(message.content)[0] == {
        "functionCall": {"name": "cook", "args": COOKED},
        "thoughtSignature": "c2ln",
    }
    assert message.response_metadata["normalized_finish_reason"] == "tool_calls"
    READER.check_bytes(body)
    READER.check_cuts(body, body.rindex(b"}") + len(b"}\r\n\r"))


def test_the_last_piece_of_a_call_may_hold_arguments() -> None:
    """It is the last one because it does not say that more is to come; so is one that another call follows."""
    last = piece({"partialArgs": [{"jsonPath": "$.a", "numberValue": 1}]})
    started = piece({"name": "one", "willContinue": True})
    message = fold(started, last, started, value("$.a", numberValue=2), started, last, answer({"text": ""}))
    assert [call["args"] for call in message.tool_calls] == [{"a": 1}, {"a": 2}, {"a": 1}]


def test_a_call_that_the_end_cuts_is_no_call() -> None:
    """It is among the invalid ones, with what has come of it."""
    message = fold(*COOKING[:3], answer({"text": ""}, finishReason="MAX_TOKENS"))
    [call] = message.invalid_tool_calls
    assert (call["name"], call["args"], message.tool_calls) == ("cook", '{"steps":[{"text":"Boil"}]', [])
    assert message.response_metadata["normalized_finish_reason"] == "length"


@pytest.mark.parametrize(
    "path", ["", "$", "a", "$.a[2]", "$.a[0].b.c", "$[0]", "$.a.*", "$..a", "$.a[999999999999]", 7]
)
def test_a_piece_for_no_place_is_an_odd_reply(path: Any) -> None:
    """Nothing is guessed, and no list grows but at its end."""
    start = [piece({"name": "x", "willContinue": True}), value("$.a[0].b", stringValue="c")]
    with pytest.raises(InvalidReply):
        fold(*start, value(path, numberValue=1), piece({}), answer({"text": ""}))
