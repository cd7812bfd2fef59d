"""Secrets out of what is shown: what a server says may repeat the key or password that it was sent.

Two nets. The secrets that are known, exactly; and whatever looks like a key, since a server may echo one that never passed
through here, or only a part of it.
"""

import re
from collections.abc import Iterable, Mapping
from os.path import commonprefix
from typing import TypeVar, cast
from urllib.parse import unquote, urlsplit, urlunsplit

from pydantic import SecretStr

__all__ = [
    "MASK",
    "Secret",
    "has_secret",
    "is_sensitive",
    "known_secrets",
    "redact",
    "redact_url",
    "remember_secret",
    "replace_parts",
    "sort_secrets",
    "unwrap_secret",
    "wrap_secrets",
]

Data = TypeVar("Data")

MASK = "**********"

_NAMES = re.compile(r"auth|key|token|cookie|secret|password|credential|\bsig(nature)?\b", re.IGNORECASE)
_INNOCENT = re.compile(r"ratelimit|tokens", re.IGNORECASE)  # x-ratelimit-remaining-tokens counts, and unlocks nothing
_KEYS = re.compile(
    r"(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]{6,}"  # an Authorization header
    r"|\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|AIza|ghp|r8|csk|fw)[-_][\w-]{6,}[\w*-]*"  # the prefixes of providers' keys
    r"|\bAIza[\w-]{20,}",
    re.IGNORECASE,
)
_SHORTEST = 6  # a secret shorter than this is found inside ordinary words
_BEGINNING = 8  # characters of a secret by which it is found, so that one that was cut is found, too


class Secret(str):
    """A text that does not show itself where an object, or a frame of a traceback, is drawn with `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(MASK)


_known: dict[str, None] = {}  # in their order; each step on it is one for all threads
_MOST_KNOWN = 100


def remember_secret(secret: str) -> None:
    """Have `known_secrets` tell of a secret that a request of this process is signed with, until 100 others came."""
    _known[Secret(secret.rpartition(" ")[2].removeprefix("Signature="))] = None  # without "Bearer", and AWS's words
    for old in known_secrets()[:-_MOST_KNOWN]:
        _known.pop(old, None)


def known_secrets() -> tuple[str, ...]:
    """Return the secrets that requests of this process were signed with: what shows content has none of them in it."""
    return (*_known,)  # `tuple()` of a dict is many steps without the GIL


def unwrap_secret(value: str | SecretStr) -> str:
    """Return what is to be sent; a secret still does not show itself."""
    return Secret(value.get_secret_value()) if isinstance(value, SecretStr) else value


def is_sensitive(name: str) -> bool:
    """Whether a header or parameter of this name holds a secret."""
    return bool(_NAMES.search(name)) and not _INNOCENT.search(name)


def wrap_secrets(named: Mapping[str, str | SecretStr]) -> dict[str, str | SecretStr]:
    """Return headers or parameters with the values of the sensitive ones as secrets."""
    return {
        name: SecretStr(value) if isinstance(value, str) and is_sensitive(name) else value
        for name, value in named.items()
    }


def redact(value: Data, secrets: Iterable[str] = ()) -> Data:
    """Return ``value``, a text or JSON data, without ``secrets`` and without anything that looks like a key.

    A secret is found by its first eight characters: where a quote was cut, the rest is not there.
    """
    return cast(Data, _redact(value, sort_secrets(secrets)))


def sort_secrets(secrets: Iterable[str]) -> list[str]:
    """Return the secrets to look for, the longest first: "Bearer abcdef" before "abcdef"."""
    return sorted({secret for secret in secrets if len(secret) >= _SHORTEST}, key=len, reverse=True)


def _redact(value: object, secrets: list[str]) -> object:
    if isinstance(value, str):
        return _mask(value, secrets)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {_redact(name, secrets): _redact(item, secrets) for name, item in items}
    if isinstance(value, list | tuple):
        return [_redact(item, secrets) for item in cast("list[object]", value)]
    return value


def _mask(text: str, secrets: list[str]) -> str:
    """Return a text without what looks like a key, and without ``secrets``, or as much of their beginnings as is there.

    All is looked for in the text as it came. A beginning may be a provider's public prefix: somebody else's key that has
    lost it looks like none any more.
    """
    spans = [(max(found.start(), found.end("scheme")), found.end()) for found in _KEYS.finditer(text)]
    for secret in secrets:
        for sought in (secret, secret[:_BEGINNING]):
            end = 0
            while (start := text.find(sought, end)) >= 0:
                end = start + len(commonprefix((text[start : start + len(secret)], secret)))  # noqa: RUF071 - no paths
                spans.append((start, end))
    parts, done = list[str](), -1
    for start, end in sorted(spans):
        if start > done:
            parts += (text[max(done, 0) : start], MASK)
        done = max(done, end)
    return "".join((*parts, text[max(done, 0) :]))


def has_secret(text: str, secrets: Iterable[str]) -> bool:
    """Whether ``text`` shows one of ``secrets``, or the beginning of one."""
    return any(secret[:_BEGINNING] in text for secret in secrets)


def redact_url(url: str) -> str:
    """Return a URL that can be shown: without its user, and with every sensitive parameter masked.

    Of what cannot be read as a URL only the scheme is shown. The path of a file is shown as it is.
    """
    if "@" not in url and "?" not in url:
        return str(url)  # a `Secret` would hide itself
    try:
        parts = urlsplit(url)
    except ValueError:
        scheme, separator, _ = url.partition("://")
        return f"{scheme}://{MASK}" if separator else MASK
    query = "&".join(
        f"{name}={MASK}" if blank and is_sensitive(unquote(name)) else f"{name}{blank}{value}"
        for name, blank, value in (pair.partition("=") for pair in parts.query.split("&"))
    )
    return replace_parts(url, parts.netloc.rpartition("@")[2], query)


def replace_parts(url: str, netloc: str, query: str) -> str:
    """Return a URL with another host and query. `urlunsplit` would lose the ``//`` before a host that is empty."""
    parts = urlsplit(url)
    if url.partition("://")[0].lower() != parts.scheme:
        return urlunsplit(parts._replace(netloc=netloc, query=query))
    return f"{parts.scheme}://{netloc}{parts.path}{urlunsplit(('', '', '', query, parts.fragment))}"
