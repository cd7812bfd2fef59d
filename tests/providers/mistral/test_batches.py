"""Mistral's batches, against what its official SDK sends and reads."""

from typing import Any

import pytest

from hocket import ChatMistralAI
from hocket.errors import InvalidRequest, ProviderUnavailable
from hocket.providers.mistral.batches import MistralBatches
from tests.kit.batch_recordings import KEY, SERVER, describe, describe_recorded, load_steps
from tests.kit.recordings import load_recordings, reply_in

STEPS = load_steps("mistral")
STATES = {
    "QUEUED": "running",
    "RUNNING": "running",
    "CANCELLATION_REQUESTED": "running",
    "SUCCESS": "ended",
    "TIMEOUT_EXCEEDED": "ended",
    "CANCELLED": "ended",
    "FAILED": "failed",
    "PAUSED": "running",
}


def make(**fields: Any) -> ChatMistralAI:
    return ChatMistralAI(model="m-1", api_key="k", base_url=f"{SERVER}/v1", **fields)


def api_of(model: ChatMistralAI) -> MistralBatches:
    api = model._batch_api(model._preview("Grüße", None, {}, stream=False))
    assert isinstance(api, MistralBatches)
    return api


def test_the_sdk_sends_the_same() -> None:
    """The job names the model, the lines do not. The SDK says two defaults, too."""
    model = make()
    api = api_of(model)
    lines = [api.encode_line(f"{KEY}-0", model._preview("Grüße", None, {}, stream=False).content)]
    sent = {
        "upload": api.upload(KEY, lines),
        "create": api.create(KEY, lines, "f1"),
        "get": api.get("b1"),
        "get_failed": api.get("b1"),
        "cancel": api.cancel("b1"),
        "list": api.list("1"),
        "results": api.fetch("f2"),
        "errors": api.fetch("f3"),
    }
    assert sent.keys() == STEPS.keys()
    for name, step in STEPS.items():
        assert describe(sent[name]) == describe_recorded(step.requests[0], "visibility", "created_by_me"), name


@pytest.mark.parametrize("name", ["create", "get", "get_failed", "cancel"])
def test_the_sdk_reads_the_same(name: str) -> None:
    state, parsed = api_of(make()).read_state(STEPS[name].data), STEPS[name].parsed
    assert (state.id, state.key, state.word) == (parsed["id"], parsed["metadata"]["hocket"], parsed["status"])
    assert (state.total, state.done) == (parsed["total_requests"], parsed["completed_requests"])
    assert state.created_at == parsed["created_at"]
    assert state.results == tuple(parsed[kind] for kind in ("output_file", "error_file") if parsed[kind])
    assert state.message == "; ".join(error["message"] for error in parsed["errors"])


@pytest.mark.parametrize(("word", "state"), STATES.items())
def test_words_for_a_state(word: str, state: str) -> None:
    """One that is new says nothing of an end; what is not said is 0, or nothing."""
    found = api_of(make()).read_state({"id": "b", "status": word})
    assert (found.state, found.word) == (state, word)
    assert (found.key, found.created_at, found.total, found.done, found.results) == (None, 0, 0, 0, ())


def test_pages() -> None:
    """They are numbered from 0; one that is not full is the last."""
    api, job = api_of(make()), STEPS["get"].data
    assert api.list(None).url == f"{SERVER}/v1/batch/jobs?page=0&page_size=100&order_by=-created"
    states, cursor = api.read_list({"data": [job] * 100}, None)
    assert (len(states), cursor) == (100, "1")
    assert api.read_list({"data": [job] * 100}, "1")[1] == "2"
    assert api.read_list({"data": [job] * 99}, "2")[1] is None
    assert api.read_list({"total": 0}, None) == ([], None)


def test_rows() -> None:
    """An answer is the message of a live reply, an error its error."""
    model = make()
    [(id, answered)] = map(api_of(model).read_line, STEPS["results"].lines)
    assert id == f"{KEY}-0" and answered is not None
    assert model._decode(answered).generations[0].message.text == "Grüße zurück"
    (_, refused), (_, lost) = map(api_of(model).read_line, STEPS["errors"].lines)
    assert refused is not None and lost is not None
    error = model._read_failure(refused, ())
    assert (type(error), error.status, error.provider_code) == (InvalidRequest, 422, "3051")
    error = model._read_failure(lost, ())
    assert (type(error), error.retryable) == (ProviderUnavailable, True) and "not available" in str(error)


def test_too_many_requests_have_a_word() -> None:
    error = make()._read_failure(reply_in(load_recordings("mistral")["mistral/error_429"]), ())
    assert error.provider_code in MistralBatches.full_words


@pytest.mark.parametrize("line", [{}, [], "a", None, {"custom_id": "a-1"}, {"response": {"body": {}}}], ids=str)
def test_an_odd_line(line: Any) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError)):
        api_of(make()).read_line(line)
