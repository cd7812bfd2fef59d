"""Anthropic's batches, against what its official SDK sends and reads."""

import json
from typing import Any

import pytest

from hocket import ChatAnthropic
from hocket.errors import InvalidRequest, Overloaded, RateLimitError
from hocket.http.request import HTTPReply
from hocket.providers.anthropic.batches import AnthropicBatches
from tests.kit.batch_recordings import KEY, SERVER, describe, describe_recorded, load_steps
from tests.kit.recordings import load_recordings, reply_in

STEPS = load_steps("anthropic")
FAILURES = {
    name: reply_in(case)
    for name, case in load_recordings("anthropic").items()
    if "/error_" in name and isinstance(case["response"]["body"], dict)
}


def make(**fields: Any) -> ChatAnthropic:
    return ChatAnthropic(model="m-1", api_key="k", base_url=SERVER, **fields)


def api_of(model: ChatAnthropic) -> AnthropicBatches:
    api = model._batch_api(model._preview("Grüße", None, {}, stream=False))
    assert isinstance(api, AnthropicBatches)
    return api


def test_the_sdk_sends_the_same() -> None:
    """Betas are headers of each request; there is nothing to upload."""
    model = make(betas=["files-api-2025-04-14"])
    api = api_of(model)
    lines = [api.encode_line(f"{KEY}-0", model._preview("Grüße", None, {}, stream=False).content)]
    sent = {
        "create": [api.create(KEY, lines, None)],
        "get": [api.get("msgbatch_1")],
        "cancel": [api.cancel("msgbatch_1")],
        "list": [api.list("msgbatch_0")],
        "results": [api.get("msgbatch_1"), api.fetch("msgbatch_1")],
    }
    assert sent.keys() == STEPS.keys() and api.upload(KEY, lines) is None
    for name, requests in sent.items():
        assert [*map(describe, requests)] == [*map(describe_recorded, STEPS[name].requests)], name
        assert {request.headers["anthropic-beta"] for request in requests} == {"files-api-2025-04-14"}
        assert {request.headers["anthropic-version"] for request in requests} == {"2026-10-21"}


def test_many_rows_are_one_document() -> None:
    """Each with its own id; the model of each is its own, too."""
    api, rows = api_of(make()), [b'{"model":"a"}', b'{"model":"b"}']
    request = api.create(KEY, [api.encode_line(f"{KEY}-{number}", row) for number, row in enumerate(rows)], None)
    assert request.json == {
        "requests": [
            {"custom_id": f"{KEY}-0", "params": {"model": "a"}},
            {"custom_id": f"{KEY}-1", "params": {"model": "b"}},
        ]
    }


@pytest.mark.parametrize("name", ["create", "get", "cancel"])
def test_the_sdk_reads_the_same(name: str) -> None:
    """A batch and its counts. It has no key: only the ids of its rows have."""
    api, parsed = api_of(make()), STEPS[name].parsed
    state, counts = api.read_state(STEPS[name].data), STEPS[name].parsed["request_counts"]
    assert (state.id, state.key, state.word) == (parsed["id"], None, parsed["processing_status"])
    assert (state.total, state.done) == (sum(counts.values()), sum(counts.values()) - counts["processing"])
    assert state.created_at == 1795219200.5 and not api.shows_keys
    has_ended = name == "get"
    assert (state.state, state.results) == (("ended", ("msgbatch_1",)) if has_ended else ("running", ()))


def test_pages() -> None:
    """The next one begins after the last batch of this one."""
    states, cursor = api_of(make()).read_list(STEPS["list"].data, None)
    assert [state.id for state in states] == [parsed["id"] for parsed in STEPS["list"].parsed]
    assert cursor == "msgbatch_1"
    assert api_of(make()).read_list({"data": [], "has_more": False, "last_id": None}, None) == ([], None)


def test_rows() -> None:
    """An answer is the message of a live reply, an error its error; one that was not come to has no reply."""
    model = make()
    api = api_of(model)
    read = [api.read_line(line) for line in STEPS["results"].lines]
    assert [id for id, _ in read] == [line["custom_id"] for line in STEPS["results"].parsed]
    answered, refused, overloaded, canceled, expired = (reply for _, reply in read)
    assert answered is not None and refused is not None and overloaded is not None
    assert model._decode(answered).generations[0].message.text == "Grüße zurück"
    error = model._read_failure(refused, ())
    assert (type(error), error.status, error.request_id) == (InvalidRequest, 400, "req_1")
    error = model._read_failure(overloaded, ())
    assert (type(error), error.status, error.retryable) == (Overloaded, 529, True)
    assert (canceled, expired) == (None, None)


@pytest.mark.parametrize("live", FAILURES.values(), ids=FAILURES.keys())
def test_an_error_of_a_row_is_that_of_a_call(live: HTTPReply) -> None:
    """A line has no status, and the type of the error says which one it would be."""
    model, result = make(), {"type": "errored", "error": json.loads(live.content)}
    _, reply = api_of(model).read_line({"custom_id": "a-0", "result": result})
    assert reply is not None

    def classify(reply: HTTPReply) -> Any:
        error = model._read_failure(reply, ())
        return type(error), error.retryable, error.provider_code, error.message

    assert classify(reply) == classify(live)


def test_a_word_that_is_new() -> None:
    """It says nothing of an end; and an error of a new type may pass."""
    model = make()
    state = api_of(model).read_state({"id": "b", "processing_status": "paused"})
    assert (state.state, state.word, state.total, state.done, state.created_at) == ("running", "paused", 0, 0, 0)
    error = {"type": "error", "error": {"type": "odd_error", "message": "-"}}
    _, reply = api_of(model).read_line({"custom_id": "a-0", "result": {"type": "errored", "error": error}})
    assert reply is not None and reply.status == 500


def test_a_full_queue_has_a_word() -> None:
    """It is the code of the error with which no more batches are taken."""
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "Too many requests are queued."}}
    _, reply = api_of(make()).read_line({"custom_id": "a-0", "result": {"type": "errored", "error": body}})
    assert reply is not None
    error = make()._read_failure(reply, ())
    assert isinstance(error, RateLimitError) and error.provider_code in AnthropicBatches.full_words


@pytest.mark.parametrize(
    "line",
    [
        {},
        [],
        "a",
        None,
        {"custom_id": "a-1"},
        {"custom_id": "a-1", "result": {}},
        {"custom_id": "a", "result": "expired"},
    ],
    ids=str,
)
def test_an_odd_line(line: Any) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError)):
        api_of(make()).read_line(line)
