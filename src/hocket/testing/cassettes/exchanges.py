"""What a cassette holds: requests, and what came of each, as data."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from pydantic_core import from_json

from hocket._json import JSON
from hocket._secrets import is_sensitive, redact_url
from hocket.errors import LLMError
from hocket.http.request import HTTPRequest
from hocket.testing.cassettes.masking import Masker

__all__ = ["BrokenOff", "Key", "RecordedExchange", "RecordedRequest", "find_key", "keep_request"]

Key = tuple[str, str, str]
"""What makes two requests the same: the method, path and parameters, the body."""

_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)')


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request without its secrets. Its headers are not kept: they are keys, and what a client says of itself.

    Attributes:
        method: ``POST``, ``GET``.
        url: whole, for the reader of a cassette; the host does not count when requests are compared.
        body: as it was sent.
    """

    method: str
    url: str
    body: bytes


@dataclass(slots=True)
class BrokenOff:
    """How a reply ended that did not come whole.

    Attributes:
        after: seconds since what came last.
        failure: what the transport raised; None: it was given up by who had asked.
    """

    after: float
    failure: LLMError | None = None


@dataclass(slots=True)
class RecordedExchange:
    """A request, and what came of it.

    Attributes:
        request: what was sent.
        status: of the reply; None: there was none.
        headers: of the reply, those that are kept.
        after: seconds until the reply began.
        pieces: of the body as they came, each with the seconds since the one before.
        end: how it ended, if not as it should.
    """

    request: RecordedRequest
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    after: float = 0.0
    pieces: Sequence[tuple[float, bytes]] = ()
    end: BrokenOff | None = None

    @property
    def body(self) -> bytes:
        """The body of the reply, as far as it came."""
        return b"".join(piece for _, piece in self.pieces)


def keep_request(request: HTTPRequest, masker: Masker) -> RecordedRequest:
    """Return a request as it is kept, and compared with what is kept.

    The border of a multipart body, which is made up anew for each request, gets a fixed name.
    """
    content = request.content
    boundary = _BOUNDARY.search(request.headers.get("content-type", ""))
    if boundary is not None:
        content = content.replace(boundary[1].encode(), b"boundary")
    return RecordedRequest(
        request.method, masker.mask_text(redact_url(request.url)), masker.mask(content) if content else b""
    )


def find_key(request: RecordedRequest, ignore: Sequence[str]) -> Key:
    """Return what a request is found by.

    Args:
        request: without its secrets.
        ignore: fields of the JSON body that do not count: ``metadata.user``, ``messages.*.id``.
    """
    parts = urlsplit(request.url)
    # Not the values of sensitive parameters, which may be missing where a test has no key.
    query = sorted((name, value) for name, value in parse_qsl(parts.query, True) if not is_sensitive(name))
    target = unquote(parts.path) + (f"?{urlencode(query)}" if query else "")
    try:
        data: JSON = from_json(request.body)
    except ValueError:
        return request.method, target, request.body.decode("latin-1")
    for path in ignore:
        _remove(data, path.split("."))
    return request.method, target, json.dumps(data, sort_keys=True, separators=(",", ":"))


def _remove(data: JSON, path: Sequence[str]) -> None:
    """Take a field out of data, if it is there; ``*`` stands for every item of a list, or every field of an object."""
    name, *rest = path
    if isinstance(data, dict):
        names = list(data) if name == "*" else [name] if name in data else []
        for one in names:
            if rest:
                _remove(data[one], rest)
            else:
                del data[one]
    elif isinstance(data, list):
        places = range(len(data)) if name == "*" else [int(name)] if name.isdecimal() and int(name) < len(data) else []
        for place in reversed(places):
            if rest:
                _remove(data[place], rest)
            else:
                del data[place]
