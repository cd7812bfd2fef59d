"""Gemini's batches, against what Google's official SDK sends and reads."""

import json
from typing import Any

import pytest

from hocket import ChatGoogleGenerativeAI
from hocket.errors import InvalidRequest, LLMError
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.providers.google import batches
from hocket.providers.google.batches import GoogleBatches
from tests.kit.batch_recordings import KEY, SERVER, describe, describe_recorded, load_steps
from tests.kit.recordings import load_recordings, reply_in

STEPS = load_steps("google")
FAILURES = load_recordings("gemini")
STATES = {
    "BATCH_STATE_UNSPECIFIED": "running",
    "BATCH_STATE_PENDING": "running",
    "BATCH_STATE_RUNNING": "running",
    "BATCH_STATE_SUCCEEDED": "ended",
    "BATCH_STATE_CANCELLED": "ended",
    "BATCH_STATE_EXPIRED": "ended",
    "BATCH_STATE_FAILED": "failed",
    "JOB_STATE_QUEUED": "running",
    "JOB_STATE_CANCELLING": "running",
    "JOB_STATE_SUCCEEDED": "ended",
    "JOB_STATE_PARTIALLY_SUCCEEDED": "ended",
    "JOB_STATE_FAILED": "failed",
    "BATCH_STATE_NEW": "running",
}
ROW = b'{"contents":[{"role":"user","parts":[{"text":"Gr\xc3\xbc\xc3\x9fe"}]}]}'


def make(**fields: Any) -> ChatGoogleGenerativeAI:
    return ChatGoogleGenerativeAI(**{"model": "m-1", "api_key": "k", "base_url": SERVER, **fields})


def api_of(model: ChatGoogleGenerativeAI) -> GoogleBatches:
    api = model._batch_api(model._preview("Grüße", None, {}, stream=False))
    assert isinstance(api, GoogleBatches)
    return api


def say_done(**fields: Any) -> dict[str, Any]:
    return {"name": "batches/b1", "metadata": {"state": "BATCH_STATE_SUCCEEDED", **fields}}


def test_the_sdk_sends_the_same() -> None:
    """Rows that are in the request, and rows that are in a file."""
    api = api_of(make())
    lines = [api.encode_line(f"{KEY}-0", ROW)]
    sent = {
        "create": api.create(KEY, lines, None),
        "create_with_file": api.create(KEY, lines, "files/f1"),
        "get": api.get("batches/b1"),
        "get_with_file": api.get("batches/b1"),
        "get_failed": api.get("batches/b1"),
        "cancel": api.cancel("batches/b1"),
        "list": api.list("t1"),
        "results": api.fetch("files/batch-b1"),
    }
    assert sent.keys() | {"upload"} == STEPS.keys()
    for name, request in sent.items():
        assert describe(request) == describe_recorded(STEPS[name].requests[0]), name


def test_the_sdk_uploads_a_file_so() -> None:
    """In two steps, the second of which goes where the reply to the first says. (What it says of the file differs.)"""
    api, step = api_of(make()), STEPS["upload"]
    lines = [api.encode_line(f"{KEY}-{number}", ROW) for number in range(1_001)]
    begin, (begun, finished) = api.upload(KEY, lines), step.replies
    assert begin is not None
    finish = api.read_upload(begun, json.loads(begun.content), lines)
    assert isinstance(finish, HTTPRequest)
    assert begin.json == {"file": {"displayName": KEY, "mimeType": "application/jsonl"}}
    size = {"x-goog-upload-header-content-length": str(len(finish.content))}
    for request, known in zip([begin, finish], step.requests, strict=True):
        assert (request.method, request.url) == (known["method"], SERVER + known["path"])
        said = {name: text for name, text in request.headers.items() if name.startswith("x-goog-upload")}
        assert said.items() <= (known["headers"] | size).items()
    assert finish.content == b"".join(lines) and finish.headers["content-type"] == "application/jsonl"
    assert api.read_upload(finished, json.loads(finished.content), lines) == "files/f1"


def test_an_upload_goes_to_the_servers_own_host() -> None:
    """Whatever the reply says: the key goes with it."""
    api = api_of(make(base_url="https://proxy.example/gemini"))
    place = {"x-goog-upload-url": "http://evil.example/upload/v1/files?upload_id=u1"}
    request = api.read_upload(HTTPReply(200, place), None, [b"a\n", b"b\n"])
    assert isinstance(request, HTTPRequest) and request.content == b"a\nb\n"
    assert request.url == "https://proxy.example/upload/v1/files?upload_id=u1"


def test_where_batches_are() -> None:
    """Beside the models, whatever these are below; what comes out of a reply, or a file, leads to no other place."""
    api = api_of(make(base_url="https://proxy.example/gemini", api_version="v1beta", default_query={"a": "b"}))
    root = "https://proxy.example/gemini/v1beta"
    assert api.get("batches/../files/x").url == f"{root}/batches/..%2Ffiles%2Fx?a=b"
    assert api.fetch("files/a/b").url == f"{root}/files/a%2Fb:download?alt=media&a=b"
    assert api.fetch("batches/b1").url == f"{root}/batches/b1?a=b"
    assert api.create(KEY, [], "f").url == f"{root}/models/m-1:batchGenerateContent?a=b"
    assert api.create(KEY, [], 'f"').json["batch"]["inputConfig"] == {"fileName": 'f"'}
    upload = api.upload(KEY, [b"{}\n"] * 1001)
    assert upload is not None and upload.url == "https://proxy.example/gemini/upload/v1beta/files?a=b"


def test_what_goes_inline() -> None:
    """At most 100 rows and 16 MB."""
    api = api_of(make())
    assert api.upload(KEY, [b"x" * 16_000_000]) is None and api.upload(KEY, [b"x"] * 100) is None
    assert api.upload(KEY, [b"x" * 16_000_001]) and api.upload(KEY, [b"x"] * 101)


def test_many_rows_inline() -> None:
    """Each has its key in its metadata, and its body as it is, whatever is in it."""
    api = api_of(make())
    rows = [ROW, b'{"contents":[{"parts":[{"text":",\\"request\\":{}}"}]}]}', b"{}"]
    request = api.create(KEY, [api.encode_line(f"{KEY}-{number}", row) for number, row in enumerate(rows)], None)
    assert request.json["batch"]["inputConfig"]["requests"]["requests"] == [
        {"request": json.loads(row), "metadata": {"key": f"{KEY}-{number}"}} for number, row in enumerate(rows)
    ]


@pytest.mark.parametrize("name", ["create", "get", "get_with_file", "get_failed"])
def test_the_sdk_reads_the_same(name: str) -> None:
    state, parsed = api_of(make()).read_state(STEPS[name].data), STEPS[name].parsed
    assert (state.id, state.key) == (parsed["name"], parsed["display_name"])
    assert parsed["state"] == f"JOB_STATE_{'FAILED' if name == 'get_failed' else state.word}"
    assert 1795219200.8 < state.created_at < 1795219200.9
    has_ended = name in ("get", "get_with_file")
    assert (state.total, state.done) == ((3, 3) if has_ended else (3, 0))
    file = (parsed.get("dest") or {}).get("file_name")
    assert state.results == ((file or "batches/b1",) if has_ended else ())


def test_a_batch_that_failed() -> None:
    """It says of what, in the word that a call would get, and whether it may be that there are too many."""
    state = api_of(make()).read_state(STEPS["get_failed"].data)
    assert (state.state, state.word) == ("failed", "RESOURCE_EXHAUSTED")
    assert state.word in GoogleBatches.full_words and state.message == "Quota exceeded for enqueued tokens."


def test_too_many_batches_have_a_word() -> None:
    error = make()._read_failure(reply_in(load_recordings("gemini")["gemini/error_429_default_client"]), ())
    assert error.provider_code in GoogleBatches.full_words


@pytest.mark.parametrize(("word", "state"), STATES.items())
def test_words_for_a_state(word: str, state: str) -> None:
    """One that is new says nothing of an end; what is not said is 0, or nothing."""
    found = api_of(make()).read_state({"name": "batches/b", "metadata": {"state": word}})
    assert (found.state, found.word) == (state, word.split("_", 2)[2])
    assert (found.key, found.created_at, found.total, found.done, found.results) == (None, 0, 0, 0, ())


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({}, "running"),
        ({"done": True}, "ended"),
        ({"done": True, "error": {"code": 13, "message": "-"}}, "failed"),
        ({"done": True, "metadata": {"state": "BATCH_STATE_CANCELLED"}, "error": {"code": 1}}, "ended"),
    ],
    ids=str,
)
def test_an_operation_says_that_it_is_done(said: Any, state: str) -> None:
    """Where the word is missing, or new. A batch that was cancelled is one whose operation has an error."""
    assert api_of(make()).read_state({"name": "batches/b", **said}).state == state


def test_pages() -> None:
    states, cursor = api_of(make()).read_list(STEPS["list"].data, None)
    assert [state.id for state in states] == [parsed["name"] for parsed in STEPS["list"].parsed]
    assert [state.state for state in states] == ["running", "ended"] and cursor == "t2"
    assert api_of(make()).read_list({}, "t2") == ([], None)
    assert api_of(make()).read_list({"nextPageToken": ""}, "t2") == ([], None)


@pytest.mark.parametrize("name", ["get", "results"])
def test_rows(name: str) -> None:
    """The same, whether they come in the batch's own document, printed for people, or as lines of a file."""
    model, content = make(), STEPS[name].replies[-1].content
    api = api_of(model)
    content = json.dumps(json.loads(content), indent=2).encode() if name == "get" else content
    lines = [json.loads(line) if isinstance(line, bytes) else line for line in api.read_results(content)]
    (id, answered), (_, refused), (_, cancelled) = map(api.read_line, lines)
    assert id == f"{KEY}-0" and answered is not None and refused is not None
    assert model._decode(answered).generations[0].message.text == "Grüße zurück"
    error = model._read_failure(refused, ())
    assert (type(error), error.status, error.provider_code) == (InvalidRequest, 400, "INVALID_ARGUMENT")
    assert cancelled is None


def test_a_file_of_one_line_is_a_file() -> None:
    """Its answer is under ``response``, too."""
    line = STEPS["results"].replies[-1].content.splitlines()[0]
    assert [*api_of(make()).read_results(line + b"\n")] == [line]
    assert [*api_of(make()).read_results(b"")] == []


@pytest.mark.parametrize("place", ["metadata", "response"])
def test_results_are_at_either_place(place: str) -> None:
    output = {"inlinedResponses": {"inlinedResponses": [{"metadata": {"key": "a-0"}, "error": {"code": 4}}]}}
    data = say_done(output=output) if place == "metadata" else {**say_done(), "response": output}
    api = api_of(make())
    assert api.read_state(data).results == ("batches/b1",)
    assert [api.read_line(line) for line in api.read_results(json.dumps(data).encode())] == [("a-0", None)]


@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 504])
def test_an_error_of_a_row_is_that_of_a_call(status: int) -> None:
    """A line has Google's code in the place of a status and of its word."""
    model = make()
    [live] = [reply_in(case) for name, case in FAILURES.items() if name.startswith(f"gemini/error_{status}")]
    error = json.loads(live.content)["error"]
    code = 1 + [word for _, word in batches._CODES].index(error.pop("status"))
    _, reply = api_of(model).read_line({"key": "a-0", "error": {**error, "code": code}})
    if status == 504:  # in a batch, the deadline is the batch's
        assert reply is None
        return
    assert reply is not None

    def classify(error: LLMError) -> Any:
        return type(error), error.status, error.retryable, error.provider_code, error.message

    assert classify(model._read_failure(reply, ())) == classify(model._read_failure(live, ()))


@pytest.mark.parametrize(("code", "status"), [(400, 400), ("3", 400), (503, 503), (99, 500), (None, 500)])
def test_codes_of_other_forms(code: Any, status: int) -> None:
    _, reply = api_of(make()).read_line({"key": "a-0", "error": {"code": code, "message": "-"}})
    assert reply is not None and reply.status == status


@pytest.mark.parametrize(
    "line",
    [{}, [], "a", None, {"key": "a-0"}, {"response": {"candidates": []}}, {"metadata": None, "error": {}}],
    ids=str,
)
def test_an_odd_line(line: Any) -> None:
    """One without a key is nobody's."""
    with pytest.raises((KeyError, TypeError, AttributeError)):
        api_of(make()).read_line(line)
