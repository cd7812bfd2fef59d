"""Addresses of databases: which one is meant, and what of it may be shown."""

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from hocket._secrets import MASK, is_sensitive, redact_url, replace_parts
from hocket.errors import InvalidInput

__all__ = [
    "DatabaseAddress",
    "add_parameters",
    "check_path",
    "drop_secrets",
    "find_url_secrets",
    "parse_address",
    "parse_shared_address",
]

_SCHEMES: dict[str, Literal["redis", "postgres"]] = {
    "redis": "redis",
    "rediss": "redis",
    "unix": "redis",
    "postgresql": "postgres",
    "postgres": "postgres",
}


class DatabaseAddress(NamedTuple):
    """Where data is kept.

    Attributes:
        kind: of database; "file": none, but a path.
        place: the URL of a server; the path of an SQLite database, or of a file or directory.
    """

    kind: Literal["redis", "postgres", "sqlite", "file"]
    place: str


def parse_address(url_or_path: str | os.PathLike[str], what: str) -> DatabaseAddress:
    """Return what an address means: ``redis://…``, ``postgresql://…``, ``sqlite:///path``, or a path.

    Args:
        url_or_path: the address.
        what: whose it should be, for the text of an error: "a history".

    Raises:
        InvalidInput: it is a URL of another kind.
    """
    address = os.fspath(url_or_path)
    scheme, is_url, rest = address.partition("://")
    if not is_url:
        return DatabaseAddress("file", address)
    if scheme in _SCHEMES:
        return DatabaseAddress(_SCHEMES[scheme], address)
    if scheme == "sqlite" and rest.startswith("/"):
        return DatabaseAddress("sqlite", rest[1:])
    raise InvalidInput(
        f"{redact_url(address)!r} is no address of {what}: it is redis://…, postgresql://…, sqlite:///… or a path"
    )


def parse_shared_address(address: str | os.PathLike[str], what: str) -> DatabaseAddress:
    """Return what an address of a store means that processes share: of a database, and no path; see `parse_address`.

    Raises:
        InvalidInput: it is of another kind. The password in a URL with a mistake is not shown.
    """
    if not isinstance(address, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"an address of {what} is of type {type(address).__name__}; it is a text")
    found = parse_address(address, what)
    if found.kind == "file":
        is_path = os.path.isabs(found.place) or found.place.startswith(".")  # no user and password begin so
        shown = redact_url(found.place) if is_path or "://" in found.place or "@" not in found.place else MASK
        raise InvalidInput(f"{shown!r} is no address of {what}: it is redis://…, postgresql://… or sqlite:///path")
    return found


def check_path(path: str | os.PathLike[str], name: str) -> str:
    """Return ``path`` as a text that names a file.

    Args:
        path: the path.
        name: of the argument, for the text of an error.

    Raises:
        InvalidInput: it is empty, or no file can have that name: it holds a NUL, or characters that cannot be encoded.
    """
    text = os.fspath(path)
    if not text:
        raise InvalidInput(f"{name} is empty; it must be the path of a file")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b"\0"
    if b"\0" in encoded:
        raise InvalidInput(f"{name} is {text!r}, which no file can be called: leave NULs and lone surrogates out")
    return text


def find_url_secrets(url: str) -> list[str]:
    """Return the password, and the values of parameters that are secret, as written and as meant."""
    parts = urlsplit(url)
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    secrets = [parts.password or "", *(value for name, _, value in pairs if is_sensitive(name))]
    return [text for secret in secrets if secret for text in (secret, unquote(secret))]


def drop_secrets(url: str) -> str:
    """Return ``url`` without its password and without parameters that are secret."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    query = "&".join(pair for pair in parts.query.split("&") if not is_sensitive(pair.partition("=")[0]))
    return replace_parts(url, f"{name}@{host}" if name else host, query)


def add_parameters(url: str, defaults: Mapping[str, str]) -> str:
    """Return ``url`` with these parameters in its query, quoted as they are, unless it has its own."""
    parts = urlsplit(url)
    pairs = [pair for pair in parts.query.split("&") if pair]
    named = {pair.partition("=")[0] for pair in pairs}
    pairs += [f"{name}={value}" for name, value in defaults.items() if name not in named]
    return replace_parts(url, parts.netloc, "&".join(pairs))
