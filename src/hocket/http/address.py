"""A URL, split into the server to connect to and the path to ask for."""

import base64
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit, urlunsplit

from hocket.errors import InvalidInput
from hocket.http.wire import Origin

__all__ = ["Address", "parse_url", "split_user"]

PORTS = {"http": 80, "https": 443}

SAFE = "!#$%&'()*+,/:;=?@[]~|"
"""What a path or query may hold as it is; all else but letters and digits is escaped."""


class Address(NamedTuple):
    """A URL's parts.

    Attributes:
        origin: the server.
        host: what the ``host`` header says.
        target: path and query.
        authorization: what the ``authorization`` header says, where the URL names a user; else None.
    """

    origin: Origin
    host: str
    target: str
    authorization: str | None


@lru_cache(maxsize=256)
def parse_url(url: str) -> Address:
    """Split a URL.

    Raises:
        InvalidInput: it is not one of http or https. The URL is not shown: some providers want their key in it.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        default = PORTS[parts.scheme]
        port = parts.port or default
    except (ValueError, KeyError) as error:
        raise _make_url_error() from error
    if not host:
        raise _make_url_error()
    shown = f"[{host}]" if ":" in host else host
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), SAFE)
    host_header = shown if port == default else f"{shown}:{port}"
    return Address(Origin(parts.scheme, host, port), host_header, target, _encode_user(parts))


def split_user(url: str) -> tuple[str, str | None]:
    """Return a URL without the user that it names, and what the ``authorization`` header says instead; None: no user."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, None
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])), _encode_user(parts)


def _encode_user(parts: SplitResult) -> str | None:
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def _make_url_error() -> InvalidInput:
    return InvalidInput("a URL to send a request to must begin with http:// or https:// and name a host")
