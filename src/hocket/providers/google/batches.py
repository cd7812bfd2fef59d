"""Gemini's ``batchGenerateContent``. A small batch holds its rows, and then its results; a large one has files for them.

A batch is a long-running operation, whose document says how it goes.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar
from urllib.parse import quote, urlsplit

from pydantic_core import from_json

from hocket.http.request import HTTPReply, HTTPRequest, json_bytes
from hocket.messages.content import FieldsView
from hocket.remote.batch_api import BatchAPI, BatchState, make_reply, number_at, object_at, read_time

__all__ = ["GoogleBatches"]

INLINE_ROWS, INLINE_BYTES = 100, 16_000_000
"""What a batch may hold itself (the API: 20 MB): each document that tells how it goes has all answers in it, twice."""

_KIND = "application/jsonl"
_ENDED = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "CANCELLED", "EXPIRED")

_CODES = (
    *((499, "CANCELLED"), (500, "UNKNOWN"), (400, "INVALID_ARGUMENT"), (504, "DEADLINE_EXCEEDED"), (404, "NOT_FOUND")),
    *((409, "ALREADY_EXISTS"), (403, "PERMISSION_DENIED"), (429, "RESOURCE_EXHAUSTED"), (400, "FAILED_PRECONDITION")),
    *((409, "ABORTED"), (400, "OUT_OF_RANGE"), (501, "UNIMPLEMENTED"), (500, "INTERNAL"), (503, "UNAVAILABLE")),
    *((500, "DATA_LOSS"), (401, "UNAUTHENTICATED")),
)
"""The statuses and words that calls get where a result has a code: 1, 2, 3 … (Source: google/rpc/code.proto.)"""

_UNREACHED = ("CANCELLED", "DEADLINE_EXCEEDED")


class GoogleBatches(BatchAPI):
    """Gemini's batches."""

    full_words: ClassVar[frozenset[str]] = frozenset({"RESOURCE_EXHAUSTED", "RATE_LIMIT_EXCEEDED"})

    _end = ":generateContent"

    def __init__(self, like: HTTPRequest) -> None:
        super().__init__(like)
        self._model, self._root = self._root, self._root.rsplit("/", 2)[0]

    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        return b'{"key":"%b","request":%b}\n' % (custom_id.encode(), content)

    def upload(self, key: str, lines: Sequence[bytes]) -> HTTPRequest | None:
        size = sum(map(len, lines))
        if len(lines) <= INLINE_ROWS and size <= INLINE_BYTES:
            return None
        base, _, version = self._root.rpartition("/")
        kind = {"x-goog-upload-header-content-length": str(size), "x-goog-upload-header-content-type": _KIND}
        said = {"x-goog-upload-protocol": "resumable", "x-goog-upload-command": "start", **kind}
        return self._post(f"{base}/upload/{version}/files", {"file": {"displayName": key, "mimeType": _KIND}}, said)

    def read_upload(self, reply: HTTPReply, data: FieldsView | None, lines: Sequence[bytes]) -> HTTPRequest | str:
        if data and "file" in data:
            return str(data["file"]["name"])
        own = urlsplit(self._root)  # the key goes to no other host, whatever is said (the official SDK's rule)
        place = urlsplit(reply.headers["x-goog-upload-url"])._replace(scheme=own.scheme, netloc=own.netloc)
        said = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0", "content-type": _KIND}
        return HTTPRequest("POST", place.geturl(), {**self.headers, **said}, b"".join(lines))

    def create(self, key: str, lines: Sequence[bytes], file: str | None) -> HTTPRequest:
        rows = b'{"requests":{"requests":[%b]}}' % b",".join(map(_move_key, lines)) if file is None else b""
        source = rows or json_bytes({"fileName": file})
        body = b'{"batch":{"displayName":"%b","inputConfig":%b}}' % (key.encode(), source)
        return self._post(f"{self._model}:batchGenerateContent", body)

    def read_state(self, data: FieldsView) -> BatchState:
        said, error, output = object_at(data, "metadata"), object_at(data, "error"), _find_output(data)
        stats, name = object_at(said, "batchStats"), str(data["name"])
        word = str(said.get("state") or "").rpartition("_STATE_")[2]  # of BATCH_STATE_FAILED, and of JOB_STATE_FAILED
        has_failed = word == "FAILED" or (error and word not in _ENDED)
        return BatchState(
            id=name,
            key=said.get("displayName"),
            state="failed" if has_failed else "ended" if word in _ENDED or data.get("done") else "running",
            created_at=read_time(said.get("createTime")),
            total=number_at(stats, "requestCount"),
            done=number_at(stats, "successfulRequestCount") + number_at(stats, "failedRequestCount"),
            word=_read_error(error)[1] if has_failed and error else word,
            message=str(error.get("message") or ""),
            results=(output.get("responsesFile") or name,) if output else (),
        )

    def list(self, cursor: str | None) -> HTTPRequest:
        return self._get_list(pageSize=20, pageToken=cursor)  # a page may have all the results of its batches

    def read_list(self, data: FieldsView, cursor: str | None) -> tuple[Sequence[BatchState], str | None]:
        return super().read_list({"data": data.get("operations") or ()}, None)[0], data.get("nextPageToken") or None

    def cancel(self, id: str) -> HTTPRequest:
        return self._post(f"{self._locate(id)}:cancel")

    def fetch(self, place: str) -> HTTPRequest:
        if place.startswith("batches/"):
            return self.get(place)
        return self._get(f"{self._root}/files/{quote(place.removeprefix('files/'), safe='')}:download?alt=media", "*/*")

    def read_results(self, content: bytes) -> Iterator[bytes | FieldsView]:
        try:
            rows = object_at(_find_output(from_json(content)), "inlinedResponses").get("inlinedResponses")
        except ValueError:  # more than one document: a file
            rows = None
        yield from super().read_results(content) if rows is None else rows

    def read_line(self, line: FieldsView) -> tuple[str, HTTPReply | None]:
        id: str = line["key"] if "key" in line else line["metadata"]["key"]
        if line.get("response"):
            return id, make_reply(200, line["response"])
        error: FieldsView = line["error"]
        status, word = _read_error(error)
        if word in _UNREACHED:
            return id, None
        return id, make_reply(status, {"error": {**error, "code": status, "status": word}})

    def _locate(self, id: str) -> str:
        return super()._locate(id.removeprefix("batches/"))


def _move_key(line: bytes) -> bytes:
    """Return a line of a file as a row of a request, which has its key in its metadata."""
    head, _, request = line.rstrip().partition(b',"request":')
    return b'{"request":%b,"metadata":%b}}' % (request[:-1], head)


def _find_output(data: FieldsView) -> FieldsView:
    return object_at(object_at(data, "metadata"), "output") or object_at(data, "response")


def _read_error(error: FieldsView) -> tuple[int, str]:
    """Return the status and the word of an error."""
    code = number_at(error, "code")
    status, word = _CODES[code - 1] if 0 < code <= len(_CODES) else (code if 400 <= code < 600 else 500, "")
    return status, str(error.get("status") or word)
