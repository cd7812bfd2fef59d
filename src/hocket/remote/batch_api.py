"""A provider's batch endpoint as pure functions: what is sent to it, and what its replies say. Nobody waits here.

A line of a batch holds the body of the request that a call would send, by the provider's own encoder; what comes back for
it is given as the reply that a call would have got, for the provider's own decoder. So a provider says here only where
its endpoint is, and what is around a line.

`hocket.batch` sends, waits, looks and keeps the book.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import ClassVar, Literal, cast
from urllib.parse import quote, urlencode

from hocket.http.json_lines import JSONLines
from hocket.http.request import HTTPReply, HTTPRequest, json_bytes
from hocket.messages.content import FieldsView

__all__ = ["BatchAPI", "BatchState", "FileBatchAPI", "make_reply", "number_at", "object_at", "read_time"]

_OF_ONE_CALL = ("accept", "content-type", "content-length")
"""Headers of a request that are about its own body, or its own reply."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """What a server says of a batch.

    Attributes:
        id: the server's name for it.
        key: hocket's; None: the server does not repeat it.
        state: "running"; "ended": its results can be fetched, however many rows it came to; "failed": no row was asked.
        created_at: in seconds since 1970; 0: the server does not say.
        total: rows; 0: the server does not say. done: those that have ended, whatever became of them.
        word: the server's own word for its state, or the code of what it failed of.
        message: what the server says of a failure; "": nothing.
        results: where its results are, for `BatchAPI.fetch`.
    """

    id: str
    key: str | None
    state: Literal["running", "ended", "failed"]
    created_at: float
    total: int
    done: int
    word: str = ""
    message: str = ""
    results: tuple[str, ...] = ()


class BatchAPI(ABC):
    """The batch endpoint for requests of one URL, one set of headers and one model.

    Args:
        like: such a request, but for its key.

    Attributes:
        headers: that each request to the endpoint has.
        shows_keys: whether the server repeats the key of a batch; else only the lines of its results tell whose it is.
    """

    max_rows: ClassVar[int] = 50_000
    """Rows of a batch."""

    max_bytes: ClassVar[int] = 100_000_000
    """Bytes of all lines of a batch."""

    shows_keys: bool = True

    full_words: ClassVar[frozenset[str]] = frozenset()
    """Words, or codes, of a server that takes no more batches for now, and of a batch that failed of that."""

    _end: ClassVar[str] = ""
    """What the URL of a call has behind the root of the API."""

    _place: ClassVar[str] = "batches"
    """The path of all batches, below the root."""

    def __init__(self, like: HTTPRequest) -> None:
        self.like = like
        self.headers: dict[str, str] = {name: text for name, text in like.headers.items() if name not in _OF_ONE_CALL}
        url, _, self._query = like.url.partition("?")
        self._root = url.removesuffix(self._end)

    # -- what a provider says

    @abstractmethod
    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        """Return a row's line, with its line end, around the body of its request."""

    def upload(self, key: str, lines: Sequence[bytes]) -> HTTPRequest | None:
        """Return the request that brings the lines there; None: they are part of the request that makes the batch."""
        return None

    def read_upload(self, reply: HTTPReply, data: FieldsView | None, lines: Sequence[bytes]) -> HTTPRequest | str:
        """Return the file's name at the server, or the next request of the upload.

        Args:
            reply: to the last one.
            data: of it, read from JSON; None: it has none.
            lines: of the batch.
        """
        return str((data or {})["id"])

    @abstractmethod
    def create(self, key: str, lines: Sequence[bytes], file: str | None) -> HTTPRequest:
        """Return the request that makes a batch.

        Args:
            key: hocket's name for it, which the server is to repeat.
            lines: of its rows.
            file: what `read_upload` returned; None: nothing was uploaded.
        """

    @abstractmethod
    def read_state(self, data: FieldsView) -> BatchState:
        """Return what the data of a reply say of a batch.

        A word that is not known is no end: to wait for a batch costs nothing, and to ask for its rows again does.
        """

    def get(self, id: str) -> HTTPRequest:
        """Return the request for the state of a batch."""
        return self._get(self._locate(id))

    def cancel(self, id: str) -> HTTPRequest:
        """Return the request that asks to cancel a batch. What its reply says is not read."""
        return self._post(f"{self._locate(id)}/cancel")

    @abstractmethod
    def list(self, cursor: str | None) -> HTTPRequest:
        """Return the request for a page of batches, the newest first; ``cursor``: as `read_list` gave it."""

    def read_list(self, data: FieldsView, cursor: str | None) -> tuple[Sequence[BatchState], str | None]:
        """Return the batches of a page, and the cursor of the next one; None: there is none.

        By default the page is a list, or one is its ``data``, and the next page begins after its last batch.
        """
        page: FieldsView = data if isinstance(data, Mapping) else {"data": data}  # pyright: ignore[reportUnnecessaryIsInstance]
        states = [self.read_state(batch) for batch in page["data"]]
        return states, states[-1].id if states and page.get("has_more") else None

    @abstractmethod
    def fetch(self, place: str) -> HTTPRequest:
        """Return the request for results; ``place``: one of `BatchState.results`."""

    def read_results(self, content: bytes) -> Iterator[bytes | FieldsView]:
        """Yield the lines of results that came as one document, each as it is or read from JSON. By default JSON lines."""
        lines = JSONLines()
        yield from lines.feed(content)
        yield from lines.close()

    @abstractmethod
    def read_line(self, line: FieldsView) -> tuple[str, HTTPReply | None]:
        """Return the custom id of a line of the results, and the reply that a call would have got.

        None in its place: the server did not come to the row, so that it was not paid for.
        """

    # -- for providers

    def _locate(self, id: str) -> str:
        """Return the URL of a batch. Its id, which may come out of a file, leads to no other place."""
        return f"{self._batches}/{quote(id, safe='')}"

    @property
    def _batches(self) -> str:
        return f"{self._root}/{self._place}"

    def _url(self, url: str) -> str:
        """Return a URL with the parameters that the requests of calls have."""
        joint = "&" if "?" in url else "?"
        return f"{url}{joint}{self._query}" if self._query else url

    def _get(self, url: str, accept: str = "application/json") -> HTTPRequest:
        return HTTPRequest("GET", self._url(url), {**self.headers, "accept": accept})

    def _get_list(self, **parameters: object) -> HTTPRequest:
        """Return a GET of a page of batches; a parameter that is None is left out."""
        said = {name: value for name, value in parameters.items() if value is not None}
        return self._get(f"{self._batches}?{urlencode(said)}")

    def _post(
        self, url: str, body: FieldsView | bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> HTTPRequest:
        """Return a POST of JSON: data, or their bytes; None: there is no body."""
        content = body if isinstance(body, bytes) else b"" if body is None else json_bytes(body)
        kind = {"content-type": "application/json"} if content else {}
        return HTTPRequest(
            "POST", self._url(url), {**self.headers, "accept": "application/json", **kind, **(headers or {})}, content
        )

    def _post_file(self, url: str, fields: Mapping[str, str], name: str, lines: Iterable[bytes]) -> HTTPRequest:
        """Return a POST of a form (``multipart/form-data``) with one file of JSON lines."""
        mark = secrets.token_hex(16)
        parts = [
            f'--{mark}\r\ncontent-disposition: form-data; name="{field}"\r\n\r\n{value}\r\n'
            for field, value in fields.items()
        ]
        parts.append(
            f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
            "content-type: application/jsonl\r\n\r\n"
        )
        content = b"".join(["".join(parts).encode(), *lines, f"\r\n--{mark}--\r\n".encode()])
        headers = {"accept": "application/json", "content-type": f"multipart/form-data; boundary={mark}"}
        return HTTPRequest("POST", self._url(url), {**self.headers, **headers}, content)


class FileBatchAPI(BatchAPI):
    """Batches whose lines go to ``/files``, and whose results are files there: OpenAI's form, which others have, too."""

    _unreached: ClassVar[frozenset[str]] = frozenset({"batch_expired", "batch_cancelled"})
    """Codes of rows that the server did not come to."""

    _files: str = "files"
    """The path that files go to."""

    _form: Mapping[str, str] = MappingProxyType({"purpose": "batch"})
    """What the form says beside the file."""

    def upload(self, key: str, lines: Sequence[bytes]) -> HTTPRequest:
        return self._post_file(f"{self._root}/{self._files}", self._form, f"{key}.jsonl", lines)

    def fetch(self, place: str) -> HTTPRequest:
        return self._get(f"{self._root}/files/{quote(place, safe='')}/content", "*/*")

    def read_line(self, line: FieldsView) -> tuple[str, HTTPReply | None]:
        response, error = object_at(line, "response"), line.get("error")
        status: int = response.get("status_code") or 200
        body: object = response.get("body")
        if error and (status < 400 or not body):  # the error is not what a reply says
            if object_at(line, "error").get("code") in self._unreached:
                return line["custom_id"], None
            status, body = (status if status >= 400 else 500), {"error": error}
        elif status < 400 and not body:
            raise KeyError("response")
        return line["custom_id"], make_reply(status, body, response.get("request_id"))


def make_reply(status: int, body: object, request_id: object = None) -> HTTPReply:
    """Return the reply that a call would have got.

    Args:
        status: of it.
        body: its data.
        request_id: the server's name for the request; None: it has none.
    """
    headers = {"content-type": "application/json"}
    return HTTPReply(status, headers | ({"x-request-id": str(request_id)} if request_id else {}), json_bytes(body))


def read_time(value: object) -> float:
    """Return a time, a number or a text of RFC 3339, as seconds since 1970; 0: there is none, or it is of another form."""
    if isinstance(value, int | float):
        return float(value)
    try:
        time = datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return 0.0
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def object_at(data: FieldsView, name: str) -> FieldsView:
    """Return the object that data have under a name; an empty one, where there is none."""
    value: object = data.get(name)
    return cast("FieldsView", value) if isinstance(value, Mapping) else {}


def number_at(data: FieldsView, name: str) -> int:
    """Return the whole number that data have under a name, be it as a text; 0, where there is none."""
    value: object = data.get(name)
    return int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else 0
