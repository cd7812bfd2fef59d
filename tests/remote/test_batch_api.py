"""What the batch endpoints of all providers have in common: times, numbers, forms, addresses and lines."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.http.request import HTTPRequest
from hocket.remote.batch_api import BatchAPI, BatchState, FileBatchAPI, make_reply, number_at, object_at, read_time
from tests.kit.batch_recordings import read_form

HEADERS = {"accept": "application/json", "content-type": "application/json", "content-length": "2", "x-team": "blue"}


class Files(FileBatchAPI):
    """The least that a provider says."""

    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        return content + b"\n"

    def create(self, key: str, lines: Any, file: str | None) -> HTTPRequest:
        return self._post(self._batches, {"file": file})

    def read_state(self, data: Any) -> BatchState:
        return BatchState(data["id"], None, "running", 0, 0, 0)

    def list(self, cursor: str | None) -> HTTPRequest:
        return self._get_list(limit=2, after=cursor)


def make(query: str = "") -> Files:
    return Files(HTTPRequest("POST", f"https://a.example/v1{query}", HEADERS, b"{}"))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2026-11-21T00:00:00Z", 1795219200),
        ("2026-11-21T00:00:00.5Z", 1795219200.5),
        ("2026-11-21T01:30:00+01:30", 1795219200),
        ("2026-11-21T00:00:00.827892252Z", 1795219200.827892),
        ("2026-11-21T00:00:00", 1795219200),
        (1795219200, 1795219200),
        (1795219200.5, 1795219200.5),
        (None, 0),
        ("", 0),
        ("yesterday", 0),
        ({}, 0),
        ([1], 0),
    ],
)
def test_times(value: object, seconds: float) -> None:
    """Texts with and without parts of seconds, in any zone; without a zone, it is UTC. Odd ones are none."""
    assert read_time(value) == seconds


@pytest.mark.parametrize(
    ("value", "number"), [(5, 5), ("5", 5), (None, 0), ("x", 0), ("", 0), (-1, -1), (1.5, 0), ([], 0), ({}, 0)]
)
def test_numbers(value: object, number: int) -> None:
    """Google writes them as texts. What is none is 0, as is what is missing."""
    assert number_at({"n": value}, "n") == number
    assert number_at({}, "n") == 0


@pytest.mark.parametrize("value", [None, "x", 5, [], [{}]])
def test_objects(value: object) -> None:
    assert object_at({"o": value}, "o") == object_at({}, "o") == {}
    assert object_at({"o": {"a": 1}}, "o") == {"a": 1}


def test_a_file_is_a_part_of_a_form() -> None:
    """Read by Python's own parser, it is the lines, byte for byte."""
    lines = ['{"text":"Grüße\u2028"}\n'.encode(), b"{}\n"]
    request = make().upload("hk1", lines)
    assert (request.method, request.url) == ("POST", "https://a.example/v1/files")
    assert read_form(request) == {
        "purpose": "batch",
        "file": ("application/jsonl", "hk1.jsonl", '{"text":"Grüße\u2028"}\n{}\n'),
    }


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_no_text_ends_a_form(texts: list[str]) -> None:
    """Not even one with line ends and dashes: the mark between parts is drawn anew for each form."""
    lines = [text.encode() + b"\n" for text in [*texts, "--\r\n--"]]
    first, second = make().upload("k", lines), make().upload("k", lines)
    assert first.headers["content-type"] != second.headers["content-type"]
    mark = first.headers["content-type"].partition("boundary=")[2].encode()
    assert first.content.count(mark) == 3
    head, _, rest = first.content.partition(b"content-type: application/jsonl\r\n\r\n")
    assert head.endswith(b"\r\n") and rest == b"".join(lines) + b"\r\n--" + mark + b"--\r\n"


def test_parameters_of_calls_are_those_of_batches() -> None:
    """An ``api-version`` is needed everywhere, and comes behind what a request says itself."""
    api = make("?api-version=1&a=b")
    assert api.get("b1").url == "https://a.example/v1/batches/b1?api-version=1&a=b"
    assert api.list(None).url == "https://a.example/v1/batches?limit=2&api-version=1&a=b"
    assert api.list("b/1&c").url == "https://a.example/v1/batches?limit=2&after=b%2F1%26c&api-version=1&a=b"
    assert api.cancel("b1").url == "https://a.example/v1/batches/b1/cancel?api-version=1&a=b"
    assert api.fetch("f1").url == "https://a.example/v1/files/f1/content?api-version=1&a=b"
    assert api.upload("k", []).url == "https://a.example/v1/files?api-version=1&a=b"


def test_names_of_a_server_lead_to_no_other_place() -> None:
    """They may come out of a file that a stranger has written."""
    api = make()
    assert api.get("../keys?x=1#y").url == "https://a.example/v1/batches/..%2Fkeys%3Fx%3D1%23y"
    assert api.fetch("../keys").url == "https://a.example/v1/files/..%2Fkeys/content"


def test_headers_of_calls_are_those_of_batches() -> None:
    """But for what is about the body of a call, and its reply."""
    api = make()
    assert api.headers == {"x-team": "blue"}
    assert api.get("b").headers == {"x-team": "blue", "accept": "application/json"}
    assert api.fetch("f").headers == {"x-team": "blue", "accept": "*/*"}
    assert api.cancel("b").headers == {"x-team": "blue", "accept": "application/json"}
    assert api.cancel("b").content == b""
    assert api.create("k", [], "f").headers == {
        "x-team": "blue",
        **dict.fromkeys(("accept", "content-type"), "application/json"),
    }


def test_pages() -> None:
    """The next one begins after the last batch; a list that is no page is all there is."""
    api = make()
    states, cursor = api.read_list({"data": [{"id": "a"}, {"id": "b"}], "has_more": True}, None)
    assert ([state.id for state in states], cursor) == (["a", "b"], "b")
    assert api.read_list({"data": [{"id": "a"}], "has_more": False}, None)[1] is None
    assert api.read_list({"data": [], "has_more": True}, None) == ([], None)
    assert [state.id for state in api.read_list([{"id": "a"}], None)[0]] == ["a"]


def test_results_are_lines() -> None:
    """Each as it came, whatever is in it: one that is no JSON costs no other."""
    content = '{"a":"\u2028"}\r\n\n{broken\n[]'.encode()
    assert [*make().read_results(content)] == ['{"a":"\u2028"}'.encode(), b"{broken", b"[]"]


@pytest.mark.parametrize(
    ("response", "error", "status", "body"),
    [
        ({"status_code": 200, "body": {"a": 1}}, None, 200, {"a": 1}),
        ({"body": {"a": 1}}, None, 200, {"a": 1}),
        ({"status_code": 429, "body": {"error": "slow"}}, {"code": "x"}, 429, {"error": "slow"}),
        ({"status_code": 200, "body": {"a": 1}}, {"code": "x"}, 500, {"error": {"code": "x"}}),
        ({"status_code": 400, "body": None}, {"code": "x"}, 400, {"error": {"code": "x"}}),
        ({"status_code": 502, "body": ""}, None, 502, ""),
        (None, "lost", 500, {"error": "lost"}),
    ],
)
def test_lines_of_a_response(response: Any, error: Any, status: int, body: Any) -> None:
    """A reply is as it came. An error beside it counts where the reply itself says of none."""
    _, reply = make().read_line({"custom_id": "a-1", "response": response, "error": error})
    assert reply is not None
    assert (reply.status, HTTPRequest("", "", {}, reply.content).json) == (status, body)


def test_a_reply_has_the_name_of_its_request() -> None:
    assert make_reply(200, {}, "req_1").headers == {"content-type": "application/json", "x-request-id": "req_1"}
    assert make_reply(200, {}).headers == make_reply(200, {}, "").headers == {"content-type": "application/json"}


def test_an_endpoint_says_what_it_is_for() -> None:
    """`BatchAPI` is not one by itself."""
    with pytest.raises(TypeError, match="abstract"):
        BatchAPI(HTTPRequest("POST", "https://a.example", {}))  # type: ignore[abstract]
