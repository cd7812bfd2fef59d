"""A request and its reply, as data: what a provider encodes and decodes, and tests compare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import SecretStr
from pydantic_core import from_json, to_json

from hocket._secrets import redact_url, unwrap_secret, wrap_secrets
from hocket.http.secrets import redact_headers

__all__ = ["HTTPReply", "HTTPRequest", "json_bytes", "json_request", "mend_text"]


@dataclass(frozen=True, slots=True)
class HTTPRequest:
    """One HTTP request, whole, before it is sent. Its `repr` shows neither keys nor a user in the URL.

    Attributes:
        method: ``POST``, ``GET``.
        url: absolute.
        headers: names in lower case.
        content: the body; empty: none.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes = b""

    def __repr__(self) -> str:
        return (
            f"HTTPRequest({self.method!r}, {redact_url(self.url)!r}, {redact_headers(self.headers)}, "
            f"content={self.content!r})"
        )

    @property
    def json(self) -> Any:
        """The body, read as JSON; None where there is none."""
        return from_json(self.content) if self.content else None


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """One HTTP reply, read to its end. Its `repr` shows neither headers nor body: a server may repeat a key in them.

    Attributes:
        status: its code.
        headers: names in lower case.
        content: the body.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes = b""

    def __repr__(self) -> str:
        return f"<HTTPReply {self.status}, {len(self.headers)} headers, {len(self.content)} bytes>"


def json_request(url: str, body: Any, headers: Mapping[str, str | SecretStr] | None = None) -> HTTPRequest:
    """Return a POST of ``body`` as JSON.

    Args:
        url: absolute.
        body: data.
        headers: more headers, over those that say that the body is JSON. What unlocks something, by its name, or is a
            `SecretStr`, is kept as a secret.

    Raises:
        pydantic_core.PydanticSerializationError: ``body`` holds something that JSON has no word for.

    Half of a surrogate pair, which UTF-8 has no bytes for, is written as U+FFFD: file names may hold one, and models.
    """
    all_headers = {"accept": "application/json", "content-type": "application/json"}
    if headers:
        all_headers |= {name.lower(): unwrap_secret(value) for name, value in wrap_secrets(headers).items()}
    return HTTPRequest("POST", url, all_headers, json_bytes(body))


def json_bytes(value: object) -> bytes:
    """Return ``value`` as JSON; halves of surrogate pairs become U+FFFD.

    Raises:
        pydantic_core.PydanticSerializationError: it holds something that JSON has no word for.
    """
    try:
        return to_json(value)
    except ValueError as error:
        try:
            mended = _mend(value)
        except RecursionError:  # it holds itself, or is too deep: that is what the error says
            raise error from None
        return to_json(mended)


def mend_text(text: str) -> str:
    """Return ``text`` with U+FFFD for each half of a surrogate pair; two halves side by side are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _mend(value: object) -> object:
    """Return data whose texts are all valid Unicode."""
    if isinstance(value, str):
        return mend_text(value)
    if isinstance(value, Mapping):
        return {_mend(key): _mend(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_mend(item) for item in cast("Sequence[object]", value)]
    return value
