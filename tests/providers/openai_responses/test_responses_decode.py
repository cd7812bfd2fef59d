"""What the API answers is read as the official SDK reads it, whole and streamed, and goes back as it came."""

import functools
import json
from collections.abc import Sequence
from typing import Any

import pytest

from hocket.errors import ContentFiltered, InvalidReply, LLMError, ProviderUnavailable, RateLimitError, StreamTruncated
from hocket.load import dumps, loads
from hocket.messages import AIMessage, HumanMessage
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.responses.decode import decode_reply, decode_usage
from hocket.providers.openai.responses.stream import ResponsesDecoder
from tests.kit.recordings import Reader, Recording, load_recordings, make_reply, reply_in, stream_in, without_index

READER = Reader(functools.partial(decode_reply, provider="openai"), functools.partial(ResponsesDecoder, "openai"))
RECORDINGS = load_recordings("openai_responses")
TERMINAL = (b"event: response.completed", b"event: response.incomplete")
BEGUN = {"id": "resp_1", "object": "response", "status": "in_progress", "model": "m", "output": [], "usage": None}
MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": "final_answer"}
CITED = {"type": "file_citation", "file_id": "f1", "filename": "a.txt", "index": 3}


def known(value: Any) -> Any:
    """A value without nulls, which say nothing."""
    if isinstance(value, list):
        return [known(item) for item in value]
    return {k: known(v) for k, v in value.items() if v is not None} if isinstance(value, dict) else value


def decoded(*items: Any, **said: Any) -> AIMessage:
    """Return the message that a whole response makes."""
    data = {**BEGUN, "status": "completed", "output": list(items), **said}
    [generation] = decode_reply(make_reply(data), "openai").generations
    return generation.message


def written(events: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def streamed(*events: dict[str, Any], **ended: Any) -> AIMessage:
    """Return the message that a stream makes; it ends well, unless something else is said."""
    last = {"type": "response.completed", "response": {**BEGUN, "status": "completed", **ended}}
    first = {"type": "response.created", "response": BEGUN}
    return READER.fold_stream(written([first, *events, last]))


def check_equal(message: AIMessage, parsed: dict[str, Any]) -> None:
    """The message says what the SDK read."""
    items = known(parsed["output"])
    assert known(without_index(message.content)) == items
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    assert message.text == "".join(part.get("text", "") for part in parts)
    assert message.additional_kwargs.get("refusal", "") == "".join(part.get("refusal", "") for part in parts)
    assert [(call["id"], call["name"], call["args"]) for call in message.tool_calls] == [
        (item["call_id"], item["name"], json.loads(item["arguments"]))
        for item in items
        if item["type"] == "function_call"
    ]
    usage: Any = message.usage_metadata
    assert usage == {
        "input_tokens": parsed["usage"]["input_tokens"],
        "output_tokens": parsed["usage"]["output_tokens"],
        "total_tokens": parsed["usage"]["total_tokens"],
        "input_token_details": {
            "cache_read": parsed["usage"]["input_tokens_details"]["cached_tokens"],
            "cache_creation": parsed["usage"]["input_tokens_details"]["cache_write_tokens"],
        },
        "output_token_details": {"reasoning": parsed["usage"]["output_tokens_details"]["reasoning_tokens"]},
    }
    facts = message.response_metadata
    assert (message.id, facts["model_name"], facts["status"]) == (parsed["id"], parsed["model"], parsed["status"])
    assert facts["model_provider"] == "openai" and "tools" not in facts and "temperature" not in facts


# -- recordings


def test_answers_equal_the_official_sdks(chat_answer: Recording) -> None:
    """Items, text, refusal, calls, usage, id, model and status."""
    message = READER.read(reply_in(chat_answer))
    check_equal(message, chat_answer["sdk_parsed"])
    assert message.response_metadata.get("request_id") == (chat_answer["response"].get("headers") or {}).get(
        "x-request-id"
    )


def test_a_stream_equals_the_official_sdks() -> None:
    """It folds to what its last event says, which nobody reads for that."""
    recording = RECORDINGS["openai_responses/stream_text_reasoning"]
    message = READER.fold_stream(stream_in(recording))
    check_equal(message, recording["sdk_parsed"][-1]["response"])
    assert message.content_blocks[0]["type"] == "reasoning"


def test_a_stream_that_is_cut_is_never_taken_for_whole(chat_stream: Recording) -> None:
    """At whichever byte; it is whole with the event that says how the response ended, and nothing is read after that."""
    body = stream_in(chat_stream)
    ends = [body.index(b"\n\n", at) + 2 for word in TERMINAL if (at := body.find(word)) >= 0]
    READER.check_cuts(body, min(ends, default=len(body) + 1))


def test_every_event_is_read_or_skipped() -> None:
    """What the server's own tools did, calls, reasoning and a refusal come; the events between say nothing."""
    message = READER.fold_stream(stream_in(RECORDINGS["openai_responses/stream_every_event_type"]))
    kinds = [part["type"] for part in message.content if isinstance(part, dict)]
    assert kinds == [
        *("web_search_call", "code_interpreter_call", "file_search_call", "image_generation_call", "mcp_list_tools"),
        *("mcp_call", "custom_tool_call", "reasoning", "message"),
    ]
    assert [(call["name"], call["args"], call["id"]) for call in message.tool_calls] == [
        ("raw", {"__arg1": "x=1"}, "call_9")
    ]
    assert message.additional_kwargs == {"refusal": "N"}
    assert message.response_metadata["normalized_finish_reason"] == "length"
    assert [block["type"] for block in message.content_blocks if block["type"] == "image"] == ["image"]


def test_a_failure_in_a_good_reply_is_an_error() -> None:
    """A body whose status says so, and an event that does."""
    with pytest.raises(ProviderUnavailable, match="boom"):
        decode_reply(reply_in(RECORDINGS["openai_responses/failed_body_200"]), "openai")
    error = READER.outcome_of(stream_in(RECORDINGS["openai_responses/stream_error_object"]))
    assert isinstance(error, ProviderUnavailable) and "boom" in str(error)


# -- failures


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow", "param": None}, RateLimitError),
        ({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, RateLimitError),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "server_error", "message": "x"}},
            },
            ProviderUnavailable,
        ),
        (
            {
                "type": "response.failed",
                "response": {"status": "failed", "error": {"code": "content_filter", "message": "x"}},
            },
            ContentFiltered,
        ),
        ({"type": "response.failed", "response": {"status": "failed", "error": None}}, LLMError),
    ],
)
def test_an_error_in_a_stream_has_its_type(event: dict[str, Any], kind: type[LLMError]) -> None:
    """By the server's own word."""
    error = READER.outcome_of(written([{"type": "response.created", "response": BEGUN}, event]))
    assert isinstance(error, kind)


def test_odd_shapes_are_invalid_replies() -> None:
    """Whatever a server says ends in one of hocket's errors."""
    for data in ({}, {"output": None}, {"output": [{"id": "x"}]}, {"output": "text"}):
        with pytest.raises(InvalidReply):
            decode_reply(make_reply(data), "openai")
    for event in (
        {"type": "response.output_text.delta"},
        {"type": "response.output_item.done", "output_index": 0},
        {"type": "response.completed"},
    ):
        assert isinstance(READER.outcome_of(written([event])), InvalidReply)
    assert isinstance(READER.outcome_of(written([{"type": "something.new"}])), StreamTruncated)


# -- ends

ENDS = [
    ({"status": "completed"}, [], ("completed", "stop")),
    (
        {"status": "completed"},
        [{"type": "function_call", "call_id": "c", "name": "f", "arguments": ""}],
        ("completed", "tool_calls"),
    ),
    (
        {"status": "completed"},
        [{**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]}],
        ("completed", "content_filter"),
    ),
    (
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        [],
        ("max_output_tokens", "length"),
    ),
    (
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        [],
        ("content_filter", "content_filter"),
    ),
    ({"status": "incomplete", "incomplete_details": {"reason": "a new one"}}, [], ("a new one", "other")),
    ({"status": "cancelled"}, [], ("cancelled", "error")),
    ({"status": "queued"}, [], ("queued", "paused")),
]


@pytest.mark.parametrize(("said", "items", "expected"), ENDS)
def test_why_an_answer_ended(said: dict[str, Any], items: list[Any], expected: tuple[str, str]) -> None:
    """In the server's word and in one that is the same for all, whole and streamed."""
    for message in (decoded(*items, **said), streamed(output=items, **said)):
        facts = message.response_metadata
        assert (facts["finish_reason"], facts["normalized_finish_reason"]) == expected


def test_usage_that_is_not_told_is_none() -> None:
    """Not zero."""
    assert decoded().usage_metadata is None and streamed().usage_metadata is None
    assert decode_usage({"input_tokens": 1, "output_tokens": 2.0}) == {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
    }


# -- streams


def text_events(*pieces: str, place: Any = None) -> list[dict[str, Any]]:
    place = {"output_index": 0} if place is None else place
    added = {"type": "response.output_item.added", **place, "item": {**MESSAGE, "status": "in_progress", "content": []}}
    delta = {"type": "response.output_text.delta", "item_id": "msg_1", **place, "content_index": 0}
    return [added, *({**delta, "delta": piece} for piece in pieces)]


def test_nothing_is_told_twice() -> None:
    """The whole item brings what has not been told: a rest of the text, annotations, its status."""
    citation = {"type": "url_citation", "start_index": 0, "end_index": 1, "url": "https://e.x", "title": "T"}
    item = {**MESSAGE, "content": [{"type": "output_text", "text": "Rome.", "annotations": [citation, CITED, CITED]}]}
    told = {
        "type": "response.output_text.annotation.added",
        "output_index": 0,
        "content_index": 0,
        "annotation": citation,
    }
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}

    for events in (
        [*text_events("Ro", "me"), told, done],
        [*text_events("Ro"), done],
        [done],
        [*text_events("Ro"), told],
    ):
        message = streamed(*events, output=[item])
        assert message.content == [
            {**item, "content": [{**item["content"][0], "index": 0}], "index": 0}  # type: ignore[index]
        ], events
        assert message.text == "Rome."


def test_the_first_piece_says_what_it_is_of() -> None:
    """An id and a phase: whether it is a comment or the answer, before all of it has come."""
    events = [{"type": "response.created", "response": BEGUN}, *text_events("Ro", "me")]
    first, second = READER.make_decoder().feed(written(events))
    assert first.message.content[0].items() >= {"id": "msg_1", "phase": "final_answer"}.items()  # type: ignore[union-attr]
    assert (first.message.text, second.message.text) == ("Ro", "me")
    assert (first.message.id, second.message.id) == ("resp_1", "resp_1")


def test_places_that_are_left_out_follow_from_the_ids() -> None:
    """llama.cpp's server does not number items."""
    done = {
        "type": "response.output_item.done",
        "item": {**MESSAGE, "content": [{"type": "output_text", "text": "Rome."}]},
    }
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hm"}],
    }
    thought = [
        {"type": "response.output_item.added", "item": {**reasoning, "content": []}},
        {"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "hm"},
        {"type": "response.output_item.done", "item": reasoning},
    ]
    message = streamed(*thought, *text_events("Ro", "me.", place={}), done, output=[reasoning, done["item"]])

    assert without_index(message.content) == [reasoning, done["item"]]
    assert [block["type"] for block in message.content_blocks] == ["reasoning", "text"]


CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "f",
    "arguments": '{"a": "é\\n"}',
    "status": "completed",
}
CUSTOM = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "raw", "input": 'say "é"\n'}


@pytest.mark.parametrize(
    ("item", "field", "event", "args"),
    [
        (CALL, "arguments", "function_call_arguments", {"a": "é\n"}),
        (CUSTOM, "input", "custom_tool_call_input", {"__arg1": 'say "é"\n'}),
    ],
)
def test_calls_come_in_pieces(item: dict[str, Any], field: str, event: str, args: Any) -> None:
    """However many there are, and even without: the call is the same as a whole reply's, and its item goes back."""
    added = {"type": "response.output_item.added", "output_index": 0, "item": {**item, field: ""}}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    pieces = [
        {"type": f"response.{event}.delta", "output_index": 0, "item_id": item["id"], "delta": one}
        for one in item[field]
    ]
    whole = decoded(item)

    assert (whole.tool_calls[0]["id"], whole.tool_calls[0]["args"]) == ("c1", args)
    for events in ([added, *pieces, done], [added, *pieces[:3], done], [added, done], [done], [], pieces):
        message = streamed(*events, output=[item])
        assert message.tool_calls == whole.tool_calls, events
        assert without_index(message.content) == whole.content == [item]
        assert message.response_metadata["normalized_finish_reason"] == "tool_calls"


def test_calls_without_an_id_of_their_own() -> None:
    """llama.cpp's server names an item by the call's id, and numbers none."""
    item = {name: value for name, value in CALL.items() if name != "id"}
    events = [
        {"type": "response.output_item.added", "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "c1", "delta": item["arguments"]},
        {"type": "response.output_item.done", "item": item},
    ]
    message = streamed(*events, output=[item])
    assert (message.tool_calls, without_index(message.content)) == (decoded(item).tool_calls, [item])


def test_arguments_that_cannot_be_read_are_an_invalid_call() -> None:
    """Nothing is raised, and the model's own text is kept."""
    broken = {**CALL, "arguments": '{"a":'}
    for message in (decoded(broken), streamed(output=[broken])):
        assert (message.tool_calls, message.invalid_tool_calls[0]["args"]) == ([], '{"a":')


def test_reasoning_comes_in_pieces() -> None:
    """Paragraphs of a summary stay apart; what is encrypted comes with the whole item."""
    delta = {"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1"}
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "gA==",
    }
    message = streamed(
        {**delta, "summary_index": 0, "delta": "One."},
        {**delta, "summary_index": 1, "delta": "Tw"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    )
    assert without_index(message.content) == [item]
    assert [block["reasoning"] for block in message.content_blocks if block["type"] == "reasoning"] == ["One.", "Two."]


def test_a_refusal_is_told_where_all_models_tell_it() -> None:
    """And goes back as the part that it came as."""
    item = {**MESSAGE, "content": [{"type": "refusal", "refusal": "I won't."}]}
    delta = {"type": "response.refusal.delta", "output_index": 0, "content_index": 0, "delta": "I w"}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    for message in (decoded(item), streamed(delta, done), streamed(done)):
        assert message.additional_kwargs == {"refusal": "I won't."}
        assert (message.text, without_index(message.content)) == ("", [item])
        assert message.response_metadata["normalized_finish_reason"] == "content_filter"


# -- there and back


def test_a_reply_goes_back_after_it_was_stored(chat_stream: Recording) -> None:
    """Through `dumps` and `loads`, streamed as whole: byte for byte."""
    whole = RECORDINGS["openai_responses/full_conversation"]
    replies = [READER.read(reply_in(whole))]
    if isinstance(told := READER.outcome_of(stream_in(chat_stream)), AIMessage) and not told.tool_calls:
        replies.append(told)
    model = ChatOpenAI(model="m", api_key="k", use_responses_api=True)
    for reply in replies:
        stored = loads(dumps(reply))
        sent = model.render([HumanMessage("x"), stored, HumanMessage("y")], store=False).json["input"]
        assert sent[1:-1] == without_index(reply.content)
