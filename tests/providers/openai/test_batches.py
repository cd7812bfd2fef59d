"""OpenAI's batches, and those of servers that speak the same: against what the official SDKs send and read."""

from typing import Any

import anyio.to_thread
import pytest

from hocket import ChatOpenAI
from hocket.errors import InvalidRequest, ProviderUnavailable
from hocket.providers.openai.batches import OpenAIBatches
from hocket.remote.batch_client import BatchClient
from hocket.testing import OpenAIFormat, Reply, serve
from tests.kit.batch_recordings import KEY, SERVER, describe, describe_recorded, load_steps, read_form

openai = pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")

AZURE = {"dialect": "azure", "base_url": SERVER, "default_query": {"api-version": "2025-01-01"}}
MODELS: dict[str, Any] = {
    "openai": {"dialect": "openai", "base_url": f"{SERVER}/v1"},
    "openai_responses": {"dialect": "openai", "base_url": f"{SERVER}/v1", "use_responses_api": True},
    "groq": {"dialect": "groq", "base_url": f"{SERVER}/openai/v1"},
    "azure": AZURE,
    "together": {"dialect": "together", "base_url": f"{SERVER}/v1"},
}
STATES = {
    "validating": "running",
    "in_progress": "running",
    "finalizing": "running",
    "cancelling": "running",
    "completed": "ended",
    "expired": "ended",
    "cancelled": "ended",
    "failed": "failed",
    "In_Progress": "running",
    "COMPLETED": "ended",
    "paused": "running",
}


def make(provider: str) -> ChatOpenAI:
    return ChatOpenAI(model="m-1", api_key="k", **MODELS[provider])


def api_of(model: ChatOpenAI, asked: str = "Grüße") -> OpenAIBatches:
    api = model._batch_api(model._preview(asked, None, {}, stream=False))
    assert isinstance(api, OpenAIBatches)
    return api


def line_of(model: ChatOpenAI, asked: str = "Grüße") -> bytes:
    request = model._preview(asked, None, {}, stream=False)
    return api_of(model).encode_line(f"{KEY}-0", request.content)


@pytest.mark.parametrize("provider", MODELS)
def test_the_sdk_sends_the_same(provider: str) -> None:
    """For each step, to the letter, but for its type of the file."""
    steps, model = load_steps(provider), make(provider)
    api, id = api_of(model), steps["get"].parsed["id"]
    listed = api.list("batch_0" if provider in ("openai", "azure", "openai_responses") else None)
    sent = {
        "upload": api.upload(KEY, [line_of(model)]),
        "create": api.create(KEY, [], "file-1"),
        "get": api.get(id),
        "get_failed": api.get(id),
        "cancel": api.cancel(id),
        "list": listed,
        "results": api.fetch("file-2"),
        "errors": api.fetch("file-3"),
    }
    for name, step in steps.items():
        [recorded] = step.requests
        said, expected = describe(sent[name]), describe_recorded(recorded)
        if name == "list" and "limit" not in expected["query"]:  # an SDK without the parameter
            assert said["query"].pop("limit") == "100"
        assert said == expected, name


@pytest.mark.parametrize("provider", MODELS)
def test_the_sdk_reads_the_same(provider: str) -> None:
    """A batch, as it is and in a list, with its counts, its key and its files."""
    steps, api = load_steps(provider), api_of(make(provider))
    for name in ("create", "get", "get_failed", "cancel"):
        state, parsed = api.read_state(steps[name].data), steps[name].parsed
        parsed = parsed.get("job") or parsed
        counts = parsed.get("request_counts") or {}
        assert (state.id, state.total) == (parsed["id"], counts.get("total") or 0)
        assert state.done == (counts.get("completed") or 0) + (counts.get("failed") or 0)
        assert state.key == (parsed.get("metadata") or {}).get("hocket")
        assert state.results == tuple(parsed[kind] for kind in ("output_file_id", "error_file_id") if parsed.get(kind))
        assert 1_789_999_999 < state.created_at < 1_790_000_002
    states, cursor = api.read_list(steps["list"].data, None)
    assert [state.id for state in states] == [parsed["id"] for parsed in steps["list"].parsed]
    assert cursor == (states[-1].id if provider != "together" else None)


@pytest.mark.parametrize("provider", MODELS)
def test_a_batch_that_failed(provider: str) -> None:
    """It says of what, and whether it may be that there are too many."""
    api = api_of(make(provider))
    state = api.read_state(load_steps(provider)["get_failed"].data)
    assert (state.state, state.results) == ("failed", ())
    if provider == "together":
        assert (state.word, state.message) == ("failed", "The file is no JSON lines.")
    else:
        assert state.word in api.full_words and state.message == "Enqueued token limit reached for m-1."


@pytest.mark.parametrize(("word", "state"), STATES.items())
def test_words_for_a_state(word: str, state: str) -> None:
    """One that is new says nothing of an end."""
    found = api_of(make("openai")).read_state({"id": "b", "status": word})
    assert (found.state, found.word) == (state, word.lower())
    assert (found.key, found.created_at, found.total, found.done) == (None, 0, 0, 0)


def test_a_file_that_is_empty_is_none() -> None:
    """OpenAI has an empty text where a batch has no errors."""
    job = {"id": "b", "status": "completed", "output_file_id": "file-2", "error_file_id": ""}
    assert api_of(make("openai")).read_state(job).results == ("file-2",)


@pytest.mark.parametrize("provider", MODELS)
def test_the_answer_of_a_row(provider: str) -> None:
    """Is the message that a live reply would be."""
    model, [line] = make(provider), load_steps(provider)["results"].lines
    id, reply = api_of(model).read_line(line)
    assert id == f"{KEY}-0" and reply is not None and reply.status == 200
    message = model._decode(reply).generations[0].message
    assert message.text == "Grüße zurück"
    assert message.response_metadata.get("request_id") == line["response"].get("request_id")


def test_the_errors_of_rows() -> None:
    """One that was refused is so, as by a live reply; one that was not come to has no reply."""
    model = make("openai")
    (_, refused), (id, unreached) = map(api_of(model).read_line, load_steps("openai")["errors"].lines)
    assert refused is not None
    error = model._read_failure(refused, ())
    assert type(error) is InvalidRequest and (error.status, error.provider_code) == (400, "invalid_image")
    assert (error.request_id, error.retryable) == ("req_2", False)
    assert (id, unreached) == (f"{KEY}-2", None)


@pytest.mark.parametrize(
    "line",
    [
        {"response": None, "error": {"code": "server_error", "message": "lost"}},
        {"response": {"status_code": 200, "body": None}, "error": {"message": "lost"}},
        {"response": {"status_code": 503, "body": None}, "error": "lost"},
        {"error": {"message": "lost"}},
    ],
    ids=str,
)
def test_an_error_that_is_of_no_reply(line: Any) -> None:
    """It was on the way to the row, so another try may not meet it."""
    model = make("openai")
    _, reply = api_of(model).read_line({"custom_id": "a-1", **line})
    assert reply is not None
    error = model._read_failure(reply, ())
    assert type(error) is ProviderUnavailable and error.retryable and "lost" in str(error)


@pytest.mark.parametrize("code", ["batch_expired", "batch_cancelled"])
def test_a_row_that_was_not_come_to(code: str) -> None:
    line = {"custom_id": "a-1", "response": None, "error": {"code": code, "message": "-"}}
    assert api_of(make("openai")).read_line(line) == ("a-1", None)


@pytest.mark.parametrize(
    "line",
    [{}, [], "a", None, 5, {"custom_id": "a-1"}, {"custom_id": "a-1", "response": {"status_code": 200}}],
    ids=str,
)
def test_an_odd_line(line: Any) -> None:
    with pytest.raises((KeyError, TypeError, AttributeError)):
        api_of(make("openai")).read_line(line)


@pytest.mark.parametrize(
    ("fields", "root", "endpoint"),
    [
        ({"dialect": "openai"}, "https://api.openai.com/v1", "/v1/chat/completions"),
        ({"dialect": "together"}, "https://api.together.xyz/v1", "/v1/chat/completions"),
        ({"base_url": "http://localhost:8000/v1"}, "http://localhost:8000/v1", "/v1/chat/completions"),
        ({**AZURE, "base_url": f"{SERVER}/openai/v1"}, f"{SERVER}/openai/v1", "/v1/chat/completions"),
        ({**AZURE, "use_responses_api": True}, f"{SERVER}/openai", "/v1/responses"),
        (AZURE, f"{SERVER}/openai", "/chat/completions"),
        ({**AZURE, "base_url": f"{SERVER}/openai/deployments/d"}, f"{SERVER}/openai", "/chat/completions"),
    ],
    ids=str,
)
def test_where_batches_are(fields: Any, root: str, endpoint: str) -> None:
    """Below the root of the API; at Azure's older URLs above the deployment, and with their version."""
    model = ChatOpenAI(model="m-1", api_key="k", **fields)
    api = api_of(model)
    query = "?api-version=2025-01-01" if "default_query" in fields else ""
    assert api.get("b/1").url == f"{root}/batches/b%2F1{query}"
    assert api.create(KEY, [], "file-1").json["endpoint"] == endpoint
    assert line_of(model).startswith(
        b'{"custom_id":"%b-0","method":"POST","url":"%b",' % (KEY.encode(), endpoint.encode())
    )


def test_who_is_billed_is_a_header_of_each_request() -> None:
    model = ChatOpenAI(model="m-1", api_key="k", organization="org_x", project="proj_x")
    api = api_of(model)
    for request in (api.upload(KEY, [b"{}\n"]), api.create(KEY, [], "f"), api.get("b"), api.list(None), api.fetch("f")):
        assert (request.headers["openai-organization"], request.headers["openai-project"]) == ("org_x", "proj_x")
        assert "authorization" not in request.headers


def test_together_has_a_form_of_its_own() -> None:
    """(Its reference: POST /files/upload.) It repeats no metadata, so that its batches are told by their results."""
    api = api_of(make("together"))
    request = api.upload(KEY, [b'{"a":1}\n'])
    assert request.url == f"{SERVER}/v1/files/upload"
    assert read_form(request) == {
        "purpose": "batch-api",
        "file_name": "batch.jsonl",
        "file": ("application/jsonl", f"{KEY}.jsonl", '{"a":1}\n'),
    }
    assert not api.shows_keys and "metadata" not in api.create(KEY, [], "f").json


async def test_the_sdk_finds_what_hocket_has_submitted() -> None:
    """On one server: it reads the same batch, the same rows, and the same answers."""
    async with serve(OpenAIFormat(), [Reply(text="Grüße zurück")]) as server:
        model = ChatOpenAI(model="m-1", api_key="k", base_url=server.url)
        client, lines = BatchClient(model, api_of(model)), [line_of(model)]
        await client.create(KEY, lines, await client.upload(KEY, lines))

        def look() -> Any:
            with openai.OpenAI(base_url=server.url, api_key="k", max_retries=0, timeout=30) as sdk:
                [batch] = sdk.batches.list().data
                return batch, sdk.files.content(batch.output_file_id).text

        batch, text = await anyio.to_thread.run_sync(look)
        assert (batch.status, batch.metadata, batch.request_counts.completed) == ("completed", {"hocket": KEY}, 1)
        assert f"{KEY}-0" in text and "Grüße zurück" in text
        assert server.batches.submitted[0].rows[0].request.json == model.render("Grüße").json
