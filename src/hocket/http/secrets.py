"""Secrets out of whatever is shown: what a server says may repeat the key that it was sent.

Two nets. The secrets that are known, exactly; and whatever looks like a key, since a server may echo one that never
passed through here, or only a part of it. And one gate, `Guard`, through which every failure of a request leaves: many a
logger shows the locals of a traceback's frames, and those below the gate, httpx's and the event loop's too, hold the
request as it is sent.
"""

import base64
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, cast
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

from pydantic import SecretStr

from hocket.errors import LLMError

__all__ = [
    "MASK",
    "Guard",
    "Secret",
    "is_sensitive",
    "revealed",
    "scrubbed",
    "secrets_of_headers",
    "secrets_of_url",
    "shown_headers",
    "shown_url",
]

MASK = "**********"

_NAMES = re.compile(r"auth|key|token|cookie|secret|password|credential|\bsig(nature)?\b", re.IGNORECASE)
_INNOCENT = re.compile(r"ratelimit|tokens", re.IGNORECASE)  # x-ratelimit-remaining-tokens counts, and unlocks nothing
_KEYS = re.compile(
    r"(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}"  # an Authorization header
    r"|\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|AIza|ghp|r8|csk|fw)[-_][\w-]{6,}[\w*-]*"  # the prefixes of providers' keys
    r"|\bAIza[\w-]{20,}",
    re.IGNORECASE,
)
_SHORT = 6  # a secret shorter than this is found inside ordinary words


class Secret(str):
    """A text that does not show itself where an object, or a frame of a traceback, is drawn with `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


def revealed(value: str | SecretStr) -> str:
    """Return what is to be sent; a secret still does not show itself."""
    return Secret(value.get_secret_value()) if isinstance(value, SecretStr) else value


def is_sensitive(name: str) -> bool:
    """Whether a header or parameter of this name holds a secret."""
    return bool(_NAMES.search(name)) and not _INNOCENT.search(name)


def scrubbed(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Return ``value``, a text or JSON data, without ``secrets`` and without anything that looks like a key."""
    known = {secret for secret in secrets if len(secret) >= _SHORT}
    return _scrubbed(value, sorted(known, key=len, reverse=True))  # "Bearer abcdef" before "abcdef"


def _scrubbed(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return _KEYS.sub(lambda found: (found["scheme"] or "") + MASK, value)
    if isinstance(value, Mapping):
        items = value.items()
        return {_scrubbed(name, secrets): _scrubbed(item, secrets) for name, item in items}
    if isinstance(value, list | tuple):
        return [_scrubbed(item, secrets) for item in cast("list[Any]", value)]
    return value


def shown_headers(headers: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """Return headers that can be shown: the value of each sensitive one masked, but for its scheme (``Bearer``)."""
    return {name: _masked(value) if _is_secret(name, value) else str(value) for name, value in headers.items()}


def _is_secret(name: str, value: str | SecretStr) -> bool:
    return isinstance(value, Secret | SecretStr) or is_sensitive(name)


def _masked(value: str | SecretStr) -> str:
    scheme, blank, _ = value.partition(" ") if isinstance(value, str) else ("", "", "")
    return scheme + blank + MASK if blank and scheme.isalpha() else MASK


def shown_url(url: str) -> str:
    """Return a URL that can be shown: without its user, and with every sensitive parameter masked."""
    if "@" not in url and "?" not in url:
        return url
    parts = urlsplit(url)
    query = "&".join(
        f"{name}={MASK}" if blank and is_sensitive(unquote(name)) else f"{name}{blank}{value}"
        for name, blank, value in (pair.partition("=") for pair in parts.query.split("&"))
    )
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))


def secrets_of_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets in headers: whole values, and what comes after their scheme."""
    for name, value in headers.items():
        if _is_secret(name, value):
            yield str(value)
            scheme, _, rest = value.partition(" ")
            yield rest
            if scheme.lower() == "basic":
                yield from _of_basic(rest)


def _of_basic(pair: str) -> Iterator[str]:
    try:
        yield base64.b64decode(pair).decode().partition(":")[2]
    except ValueError:  # not base64, not text
        return


def secrets_of_url(url: str) -> Iterator[str]:
    """Yield the secrets in a URL: its user and password, and the values of its sensitive parameters."""
    try:
        parts = urlsplit(url)
        user, password = parts.username, parts.password
    except ValueError:  # no URL at all
        return
    given = [unquote(text) for text in (user, password) if text]
    given += [value for name, value in parse_qsl(parts.query) if is_sensitive(name)]
    for text in given:
        yield from (text, quote(text), quote(text, safe=""), quote_plus(text))
    if user and password:
        yield base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()


class Guard:
    """Lets no secret out with what is raised inside it: not by its text, its causes and notes, or its frames' locals.

    The frames themselves stay, so that a traceback still says where. What was being handled before, and is the context
    of what is raised now, stays as it is.

    Args:
        secrets: returns them; asked for only when something has been raised.
    """

    __slots__ = ("_before", "_secrets")

    def __init__(self, secrets: Callable[[], Iterable[str]]) -> None:
        self._secrets = secrets

    def __enter__(self) -> None:
        self._before = sys.exc_info()[1]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        secrets = sorted({text for text in self._secrets() if len(text) >= _SHORT}, key=len, reverse=True)
        self._clean(error, secrets, {id(self._before)})
        if _shows(error, secrets):
            told: BaseException = LLMError(scrubbed(f"{type(error).__name__}: {error}", secrets))
            try:
                raise told
            finally:
                told.__context__ = None
                del told, error, trace, secrets  # this frame is in the traceback

    def _clean(self, error: BaseException, secrets: list[str], seen: set[int]) -> None:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        if isinstance(error, LLMError):
            for name in ("message", "provider_code", "request_id", "details"):
                setattr(error, name, _scrubbed(getattr(error, name), secrets))
            error.args = (error.message,)
        if notes := getattr(error, "__notes__", None):
            notes[:] = _scrubbed(notes, secrets)
        for link in ("__cause__", "__context__"):
            origin = getattr(error, link)
            if origin is None or id(origin) in seen:
                continue
            self._clean(origin, secrets, seen)
            if _shows(origin, secrets):
                suppressed = error.__suppress_context__
                setattr(error, link, None)
                error.__suppress_context__ = suppressed
        for member in getattr(error, "exceptions", ()):
            self._clean(member, secrets, seen)


def _shows(error: BaseException, secrets: list[str]) -> bool:
    text = f"{error} {error!r}"
    return any(secret in text for secret in secrets)
