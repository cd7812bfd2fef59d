"""A server of vectors that is asked by REST, over hocket's own HTTP, no SDK.

What writes is sent once. Failures become the errors of vector stores, without the secrets of the
URL and the headers.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import anyio
from pydantic import SecretStr
from pydantic_core import from_json, to_json

from hocket._runtime.mode import ASYNC
from hocket._secrets import redact, unwrap_secret, wrap_secrets
from hocket.errors import InvalidReply, LLMError, VectorStoreError, VectorStoreUnavailable
from hocket.http.address import parse_url, split_user
from hocket.http.clients import ClientSettings, close_client
from hocket.http.error_body import read_error_body
from hocket.http.exchange import send
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.secrets import find_secrets

__all__ = ["AlreadyThere", "NotThere", "RESTServer"]

PATIENCE: Final = 60.0
"""Seconds that a request may take."""

READS: Final = 3
"""Times that a server is asked that fails."""

FIRST_PAUSE: Final = 0.05
"""Seconds before a server that fails is asked again, then four times as many: it may be writing the files of an index."""

MAX_REPLY: Final = 2**28
"""Bytes of a reply at most: some hundred thousand documents."""

LARGE: Final = 2**18
"""Bytes of JSON that are read and written in a worker thread."""

Method = Literal["GET", "POST", "PUT", "DELETE"]


class NotThere(Exception):
    """The collection that was asked for is not there, or no longer."""


class AlreadyThere(VectorStoreError):
    """The collection that was to be made is there."""


class RESTServer:
    """A server.

    Args:
        url: of it.
        base: the path that all requests have before their own: ``/api/v2``.
        headers: for each request.
        owner: which store it serves, as errors show it.
        read_refusal: returns what the JSON of a refusal says; a LookupError or TypeError: it is not this server's.
        key_hint: where a key is given, for the error of one that is missing.

    Raises:
        InvalidInput: the URL is none of http or https.
    """

    def __init__(
        self,
        url: str,
        base: str,
        headers: Mapping[str, str | SecretStr],
        owner: str,
        *,
        read_refusal: Callable[[Any], object],
        key_hint: str,
    ) -> None:
        bare, authorization = split_user(url.rstrip("/"))
        parse_url(bare)
        user = {} if authorization is None else {"authorization": SecretStr(authorization)}
        self._headers = wrap_secrets({**user, **{name.lower(): value for name, value in headers.items()}})
        self._url = bare + base
        self._owner = owner
        self._read_refusal = read_refusal
        self._key_hint = key_hint
        self._settings = ClientSettings()

    async def read(self, path: str, body: Mapping[str, object]) -> Any:
        """Ask for something, by POST. A server that fails is asked again: what it has found may be gone when it reads it.

        Raises:
            VectorStoreError: as `request`.
        """
        return await self.request("POST", path, body, tries=READS)

    async def request(
        self, method: Method, path: str, body: Mapping[str, object] | None = None, *, tries: int = 1
    ) -> Any:
        """Send a request and return what the reply says.

        Args:
            method: of HTTP.
            path: below the base.
            body: data; None: there is none.
            tries: how often it is sent at most, while the server says that it has failed (500).

        Raises:
            NotThere, AlreadyThere: the server does not have what it names, or has it.
            VectorStoreUnavailable: no connection, no answer in time, or the server is busy or broken.
            VectorStoreError: the server refuses.
        """
        headers = {"accept": "application/json", "content-type": "application/json"}
        headers |= {name: unwrap_secret(value) for name, value in self._headers.items()}
        content = b"" if body is None else await ASYNC.call_sync(to_json, body)
        sent = HTTPRequest(method, f"{self._url}{path}", headers, content)
        reply = await self._send(sent)
        pause = FIRST_PAUSE
        while reply.status == 500 and tries > 1:
            await ASYNC.sleep(pause)
            tries, pause = tries - 1, pause * 4
            reply = await self._send(sent)
        if not 200 <= reply.status < 300:
            raise self._refuse(reply)
        return await self._read(reply)

    async def aclose(self) -> None:
        """Close the running loop's idle connections."""
        await close_client(self._settings)

    async def _send(self, request: HTTPRequest) -> HTTPReply:
        try:
            with anyio.fail_after(PATIENCE):
                return await send(request, self._settings, max_bytes=MAX_REPLY)
        except (LLMError, TimeoutError) as error:
            failure = self._convert(error)
        raise failure  # outside the handler: the frames of what it handled hold the headers

    async def _read(self, reply: HTTPReply) -> Any:
        if not reply.content:
            return None
        try:
            if len(reply.content) < LARGE:
                return from_json(reply.content)
            return await ASYNC.call_sync(from_json, reply.content)
        except ValueError as error:
            raise VectorStoreError(f"{self._owner}: the reply is no JSON: {error}") from None

    def _convert(self, error: LLMError | TimeoutError) -> VectorStoreError:
        text = f"no answer within {PATIENCE:g} s" if isinstance(error, TimeoutError) else str(error)
        kind = VectorStoreError if isinstance(error, InvalidReply) else VectorStoreUnavailable
        return kind(f"{self._owner}: {redact(text, self._secrets())}")

    def _refuse(self, reply: HTTPReply) -> Exception:
        """Return the error that a reply stands for."""
        secrets = self._secrets()
        try:
            message, is_own = redact(str(self._read_refusal(from_json(reply.content))), secrets), True
        except (ValueError, TypeError, LookupError):  # what is in between speaks otherwise
            message, is_own = read_error_body(reply.content, secrets).text, False
        text = f"{self._owner}: the server says {reply.status}: {message}"
        match reply.status:
            case 404 if is_own:  # else there may be no such server at this address, which is no empty store
                return NotThere(text)
            case 409 if is_own:
                return AlreadyThere(text)
            case 401 | 403:
                return VectorStoreError(f"{text}; is there a key in {self._key_hint}?")
            case 413:
                return VectorStoreError(f"{text}; add fewer documents at a time")
            case 429 | 500 | 502 | 503 | 504:
                return VectorStoreUnavailable(text)
            case _:
                return VectorStoreError(text)

    def _secrets(self) -> Sequence[str]:
        headers = {name: unwrap_secret(value) for name, value in self._headers.items()}
        return find_secrets([headers], [self._url], None)
