"""Requests as a cassette holds them, and what makes two of them the same."""

import json
import re
from collections.abc import Sequence
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from pydantic_core import from_json

from hocket._json import JSON
from hocket._secrets import is_sensitive, redact_url
from hocket.http.request import HTTPRequest
from hocket.http.tape import BrokenOff, RecordedExchange, RecordedRequest
from hocket.testing.cassettes.masking import Masker

__all__ = ["BrokenOff", "Key", "RecordedExchange", "RecordedRequest", "find_key", "keep_request"]

Key = tuple[str, str, str]
"""What makes two requests the same: the method, path and parameters, the body."""

_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)')


def keep_request(request: HTTPRequest, masker: Masker) -> RecordedRequest:
    """Return a request as it is kept, and compared with what is kept.

    The border of a multipart body, which is made up again for each request, gets a fixed name.
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
