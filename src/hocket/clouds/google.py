"""Access tokens for Google Cloud, by google-auth: service accounts, gcloud's user, federated workloads, metadata servers.

google-auth blocks, so it works in a thread, once a refresh. What it sends goes through hocket's connections: the proxy and
the certificates of a model hold for its tokens, too. It goes past what records requests: a recording has no tokens in it.
"""

import hashlib
import importlib.util
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import anyio
from pydantic_core import from_json

from hocket._runtime import clock
from hocket._runtime.portal import run_in_portal
from hocket.clouds.key_cache import FOR_GOOD, RENEW_AHEAD, FoundKey, get_key
from hocket.errors import AuthenticationError, InvalidInput, LLMError
from hocket.http.clients import ClientSettings, get_client
from hocket.http.exchange import HTTPStream
from hocket.http.request import HTTPRequest

__all__ = ["CLOUD_PLATFORM", "GoogleToken", "GoogleTokenSource", "google_token", "is_google_auth_here"]

CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
"""The scope of all of Google Cloud."""

PATIENCE = 120.0
"""Seconds for a request of google-auth's that names no limit."""

MAX_REPLY = 2**20
"""Bytes of a reply that google-auth is given."""


def google_token(credentials: Any = None, *, scopes: Sequence[str] = (CLOUD_PLATFORM,)) -> Callable[[], Awaitable[str]]:
    """Return a function that gives an access token, for the ``api_key`` of any model.

    Args:
        credentials: the path of a JSON file, what is in such a file, or an object of google-auth's; None: what gcloud uses.
        scopes: what the token is for.

    Raises:
        InvalidInput: ``credentials`` is none of these.
        AuthenticationError: from the function: there are no credentials, or Google refuses them.
    """
    return GoogleTokenSource(credentials, tuple(scopes)).get_text


def is_google_auth_here() -> bool:
    """Whether google-auth is installed."""
    return importlib.util.find_spec("google") is not None and importlib.util.find_spec("google.auth") is not None


@dataclass(frozen=True, slots=True)
class GoogleToken:
    """A token, and what its credentials say beside it.

    Attributes:
        token: it goes as a bearer token.
        project: of the credentials; None: they have none.
        quota_project: whose quota is used, for ``x-goog-user-project``; None: the project's own.
    """

    token: str = field(repr=False)
    project: str | None = None
    quota_project: str | None = None


@dataclass(frozen=True, slots=True)
class GoogleTokenSource:
    """Where tokens come from. The arguments of `google_token`, and the settings of the client that asks."""

    credentials: Any = field(default=None, repr=False)
    scopes: tuple[str, ...] = (CLOUD_PLATFORM,)
    settings: ClientSettings = field(default_factory=ClientSettings)

    def __post_init__(self) -> None:
        given = self.credentials
        if given is not None and not isinstance(given, str | Path | Mapping) and not hasattr(given, "refresh"):
            raise InvalidInput(
                f"credentials is a {type(given).__name__}; it must be the path of a JSON file, what is in one, or an object "
                "of google.auth"
            )

    async def get(self) -> GoogleToken:
        """Return a token that holds.

        Raises:
            AuthenticationError: see `google_token`.
        """
        given = self.credentials
        if given is None:
            name: object = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
        elif isinstance(given, Mapping):
            said = repr(sorted(cast("Mapping[str, object]", given).items()))
            name = hashlib.sha256(said.encode()).hexdigest()  # it holds a private key, and names are shown
            del said
        else:
            name = given
        return await get_key(("google", name, self.scopes, self.settings), partial(_fetch, self))

    async def get_text(self) -> str:
        """Return the text of a token that holds. Raises as `get`."""
        return (await self.get()).token


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply as google-auth reads it."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def _fetch(source: GoogleTokenSource) -> FoundKey[GoogleToken]:
    """Return a token that is new, or that its credentials still have. It blocks."""
    try:
        errors: Any = import_module("google.auth.exceptions")  # it has no types
    except ImportError as error:
        raise AuthenticationError(
            "no token for Google Cloud: give api_key=..., or install hocket[vertex] for what gcloud, service accounts and "
            "metadata servers have"
        ) from error

    def request(
        url: str,
        method: str = "GET",
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **kwargs: object,
    ) -> _Reply:
        content = body.encode() if isinstance(body, str) else body or b""
        asked = HTTPRequest(method, url, {name.lower(): value for name, value in (headers or {}).items()}, content)
        try:
            return run_in_portal(partial(_exchange, asked, source.settings, timeout or PATIENCE))
        except (LLMError, TimeoutError) as error:
            raise errors.TransportError(str(error) or f"no answer within {timeout or PATIENCE:g} s") from error

    try:
        credentials, project = _load(source, request)
        ends = _find_end(credentials)
        if not credentials.token or ends < clock.current().time() + RENEW_AHEAD:
            credentials.refresh(request)
            ends = _find_end(credentials)
    except Exception as error:  # google-auth trusts its input
        raise AuthenticationError(
            f"Google gives no token ({type(error).__name__}: {error}): give credentials=..., or log in by `gcloud auth "
            "application-default login`"
        ) from error
    quota: str | None = getattr(credentials, "quota_project_id", None)
    own: str | None = project or getattr(credentials, "project_id", None)
    return FoundKey(GoogleToken(credentials.token, own, quota), ends)


async def _exchange(request: HTTPRequest, settings: ClientSettings, limit: float) -> _Reply:
    """Return the reply to a request of google-auth's, within so many seconds."""
    with anyio.fail_after(limit):
        stream = HTTPStream(await get_client(settings).open(request), MAX_REPLY)
        try:
            return _Reply(stream.status, stream.headers, await stream.read())
        finally:
            await stream.aclose()


def _find_end(credentials: Any) -> float:
    expiry: datetime | None = credentials.expiry  # in UTC, without a time zone
    return FOR_GOOD if expiry is None else (expiry if expiry.tzinfo else expiry.replace(tzinfo=UTC)).timestamp()


def _load(source: GoogleTokenSource, request: Callable[..., _Reply]) -> tuple[Any, str | None]:
    """Return credentials of google-auth, and their project.

    Raises:
        ValueError: what was given is no JSON object.
    """
    auth: Any = import_module("google.auth")
    given, scopes = source.credentials, list(source.scopes)
    if given is None:
        return cast("tuple[Any, str | None]", auth.default(scopes=scopes, request=request))
    if not isinstance(given, str | Path | Mapping):
        return import_module("google.auth.credentials").with_scopes_if_required(given, scopes), None
    info = cast("object", given if isinstance(given, Mapping) else from_json(Path(given).expanduser().read_bytes()))
    if not isinstance(info, Mapping):
        raise ValueError("the credentials are no JSON object")
    fields = dict(cast("Mapping[str, object]", info))
    match fields.get("type"):  # what reads any kind warns of files that strangers give
        case "service_account":
            of_service: Any = import_module("google.oauth2.service_account").Credentials
            return of_service.from_service_account_info(fields, scopes=scopes), None
        case "authorized_user":
            of_user: Any = import_module("google.oauth2.credentials").Credentials
            return of_user.from_authorized_user_info(fields, scopes=scopes), None
        case _:
            found = auth.load_credentials_from_dict(fields, scopes=scopes, request=request)
            return cast("tuple[Any, str | None]", found)
