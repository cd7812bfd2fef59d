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
from datetime import datetime
from typing import Any, ClassVar, Literal

from hocket.http.json_lines import JSONLines
from hocket.http.request import HTTPReply, HTTPRequest, json_bytes, json_request
from hocket.messages.content import FieldsView

__all__ = ["BatchAPI", "BatchState", "make_reply", "read_time"]

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
        total: rows. done: those that have ended, whatever became of them. failed: those of them that have no answer.
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
    failed: int = 0
    word: str = ""
    message: str = ""
    results: tuple[str, ...] = ()


class BatchAPI(ABC):
    """The batch endpoint for requests of one URL and one set of headers.

    Args:
        like: such a request, but for its key.

    Attributes:
        headers: that each request to the endpoint has.
    """

    max_rows: ClassVar[int] = 50_000
    """Rows of a batch."""

    max_bytes: ClassVar[int] = 100_000_000
    """Bytes of all lines of a batch."""

    shows_keys: ClassVar[bool] = True
    """Whether the server repeats the key of a batch; else only the lines of its results tell whose it is."""

    full_words: ClassVar[frozenset[str]] = frozenset()
    """Words, or codes, of a server that takes no more batches for now, and of a batch that failed of that."""

    def __init__(self, like: HTTPRequest) -> None:
        self.like = like
        self.headers: dict[str, str] = {name: text for name, text in like.headers.items() if name not in _OF_ONE_CALL}
        path, _, self._query = like.url.partition("?")
        self.path: str = path

    # -- what a provider says

    @abstractmethod
    def encode_line(self, custom_id: str, content: bytes) -> bytes:
        """Return a row's line, with its line end, around the body of its request."""

    def upload(self, key: str, lines: Sequence[bytes]) -> HTTPRequest | None:
        """Return the request that brings the lines there; None: they are part of the request that makes the batch."""
        return None

    def read_upload(self, reply: HTTPReply, data: Any, lines: Sequence[bytes]) -> HTTPRequest | str:
        """Return the file's name at the server, or the next request of the upload.

        Args:
            reply: to the last one.
            data: of it, read from JSON; None: it has none.
            lines: of the batch.
        """
        return str(data["id"])

    @abstractmethod
    def create(self, key: str, lines: Sequence[bytes], file: str | None) -> HTTPRequest:
        """Return the request that makes a batch.

        Args:
            key: hocket's name for it, which the server is to repeat.
            lines: of its rows.
            file: what `read_upload` returned; None: nothing was uploaded.
        """

    @abstractmethod
    def read_state(self, data: Any) -> BatchState:
        """Return what the data of a reply say of a batch."""

    @abstractmethod
    def get(self, id: str) -> HTTPRequest:
        """Return the request for the state of a batch."""

    @abstractmethod
    def cancel(self, id: str) -> HTTPRequest:
        """Return the request that asks to cancel a batch. What its reply says is not read."""

    @abstractmethod
    def list(self, cursor: str | None) -> HTTPRequest:
        """Return the request for a page of batches, the newest first; ``cursor``: as `read_list` gave it."""

    @abstractmethod
    def read_list(self, data: Any, cursor: str | None) -> tuple[Sequence[BatchState], str | None]:
        """Return the batches of a page, and the cursor of the next one; None: there is none."""

    @abstractmethod
    def fetch(self, place: str) -> HTTPRequest:
        """Return the request for results; ``place``: one of `BatchState.results`."""

    def read_results(self, content: bytes) -> Iterator[bytes | FieldsView]:
        """Yield the lines of results that came as one document, each as it is or read from JSON. By default JSON lines."""
        lines = JSONLines()
        yield from lines.feed(content)
        yield from lines.close()

    @abstractmethod
    def read_line(self, line: Any) -> tuple[str, HTTPReply | None]:
        """Return the custom id of a line of the results, and the reply that a call would have got.

        None in its place: the server did not come to the row, so that it was not paid for.
        """

    # -- for providers

    def _url(self, url: str) -> str:
        """Return a URL with the parameters that the requests of calls have."""
        joint = "&" if "?" in url else "?"
        return f"{url}{joint}{self._query}" if self._query else url

    def _get(self, url: str) -> HTTPRequest:
        return HTTPRequest("GET", self._url(url), {**self.headers, "accept": "application/json"})

    def _post(self, url: str, body: FieldsView | None = None, headers: Mapping[str, str] | None = None) -> HTTPRequest:
        return json_request(self._url(url), body or {}, {**self.headers, **(headers or {})})

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


def make_reply(status: int, body: object) -> HTTPReply:
    """Return the reply that a call would have got, with this status and body."""
    return HTTPReply(status, {"content-type": "application/json"}, json_bytes(body))


def read_time(text: str | None) -> float:
    """Return a time in the form of RFC 3339 as seconds since 1970; 0: there is none, or it is of another form."""
    try:
        return datetime.fromisoformat(text or "").timestamp()
    except ValueError:
        return 0.0
