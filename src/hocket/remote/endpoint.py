"""Where a provider's API is, how a key is sent to it, and which hosts get a key that nobody gave: as data.

The environment is read when a service is made and never again: a service says itself what it will do, and a change of
the environment later on reaches no running service.

A key that the caller gives goes where the caller sends it. A key that is only found, in the environment or among the kept
ones (`set_kept_keys`), goes to the hosts that the endpoint names, or to the address that the environment names: any
other address may come out of a file, or from a stranger. One that is kept for an origin goes to that origin alone.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from hocket._runtime.mode import ASYNC
from hocket._secrets import redact_url
from hocket.errors import AuthenticationError, InvalidInput
from hocket.errors.hints import excerpt
from hocket.http.address import parse_url
from hocket.http.interception import is_key_needed
from hocket.messages.content import FieldsView

__all__ = [
    "Endpoint",
    "Headers",
    "Key",
    "ask_key",
    "explain_missing_key",
    "is_local",
    "resolve_fields",
    "set_kept_keys",
]

Key = SecretStr | str | Callable[[], str | Awaitable[str]]
"""A key, or a sync or async function that returns one; it is asked for each attempt, so that keys may expire."""

Headers = dict[str, str | SecretStr]
"""Headers of requests; what is secret stays masked until it is sent."""

_read_kept: Callable[[], Mapping[str, str]] = dict

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, cast("tuple[object, ...]", value)))


def _is_names(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _is_text(part) for pair in cast("FieldsView", value).items() for part in pair
    )


_FORMS: Sequence[tuple[Sequence[str], str, Callable[[object], bool]]] = (
    (("name", "key_header"), "'kelp'", _is_text),
    (("base_url",), "'https://kelp.example/v1'", _is_text_or_none),
    (("url_variable",), "'KELP_BASE_URL'", _is_text_or_none),
    (("start_command", "extra"), "'kelp serve'", _is_text_or_none),
    (("hosts",), "('kelp.example',), a tuple", _is_texts),
    (("key_variables",), "('KELP_KEY',), a tuple", _is_texts),
    (("account_variables", "query_variables"), "{'secret': 'KELP_SECRET'}, one variable for each", _is_names),
)
"""The fields of an endpoint that are easily given in another form, with an example, and what tells."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A provider's API.

    Raises:
        InvalidInput: a value is not of its type; the message has an example.

    Attributes:
        name: of the provider, as ``model_provider`` and errors tell it.
        base_url: of its public API, or where a server on this machine listens by default; None: each has its own.
        hosts: further hosts of it; subdomains count.
        url_variable: the environment variable that may hold another base URL. ``read_url``: returns the URL that its value
            means; None: it is one.
        key_variables: those that may hold the key, in the order they are looked at: ``("KELP_KEY", "KELP_TOKEN")``.
        needs_key: whether it turns callers without a key away.
        key_header: the header that the key goes in; in ``authorization`` it is a bearer token.
        account_variables: further fields of a service, and the variable that may hold each: ``{"secret": "KELP_SECRET"}``.
        query_variables: parameters of the URL, and the variable that may hold each; for base URLs without a path.
        find_credentials: returns the fields that authenticate, where nothing gave a key, given the service's fields; none:
            it finds nothing. None: there is nowhere to look.
        extra: the extra of hocket that has it find some, for an error.
        start_command: what starts such a server on one's own machine, to be said where none answers; None: nothing does.
    """

    name: str
    base_url: str | None = None
    hosts: tuple[str, ...] = ()
    url_variable: str | None = None
    read_url: Callable[[str], str] | None = None
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    key_header: str = "authorization"
    account_variables: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    query_variables: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    find_credentials: Callable[[Mapping[str, Any]], Mapping[str, object]] | None = None
    extra: str | None = None
    start_command: str | None = None

    def __post_init__(self) -> None:
        for names, example, is_sound in _FORMS:
            for name in names:
                if not is_sound(value := getattr(self, name)):
                    raise InvalidInput(
                        f"an Endpoint's {name} is {excerpt(value)}, and must look like {example}",
                        page="writing-a-provider.md",
                    )

    @cached_property
    def all_hosts(self) -> tuple[str, ...]:
        """The hosts that it names, that of its base URL first."""
        own = urlsplit(self.base_url or "").hostname
        return (own, *self.hosts) if own else self.hosts

    def has_host(self, url: str) -> bool:
        """Whether this URL leads to one of its hosts."""
        host = urlsplit(url).hostname or ""
        if is_local(url):
            return not _LOCAL.isdisjoint(self.all_hosts)
        return any(host == known or host.endswith(f".{known}") for known in self.all_hosts)


def resolve_fields(
    fields: Mapping[str, Any], environ: Mapping[str, str], choose: Callable[[Mapping[str, Any]], Endpoint]
) -> tuple[dict[str, Any], AuthenticationError | None]:
    """Return the fields of a service, with address, key and account out of the environment where they are left out.

    Beside them stands what is to be raised for a key that is needed and missing, once the fields have been checked: a
    field that is misspelt is the nearer mistake.

    Args:
        fields: as the caller gave them.
        environ: the environment.
        choose: returns the endpoint that such fields mean.

    Raises:
        InvalidInput: there is no address.
    """
    resolved = dict(fields)
    url = resolved.get("base_url")
    if not isinstance(url, str | None):
        return resolved, None  # for the validator to refuse
    named = choose({**resolved, "base_url": None})
    named_url = environ.get(named.url_variable or "")
    if named_url and named.read_url is not None:
        named_url = named.read_url(named_url)
    url = url or named_url or named.base_url
    if not url:
        variable = f", or set {named.url_variable}" if named.url_variable else ""
        raise InvalidInput(f"{named.name or 'this service'!r} has no address of its own: give base_url=...{variable}")
    resolved["base_url"] = url
    found = choose(resolved)
    owner = _find_owner(url, found, named if named_url and _is_same(url, named_url) else None)
    if not resolved.get("api_key"):
        variables = () if owner is None else owner.key_variables
        resolved["api_key"] = _find_first(environ, variables) or _find_first(
            _read_kept(), (_find_origin(url), *variables)
        )
    is_given = resolved["api_key"] or resolved.get("credentials")
    if not is_given and owner is not None and found.find_credentials is not None:
        resolved |= found.find_credentials(resolved)
        is_given = resolved["api_key"] or resolved.get("credentials")
    missing = None
    if not is_given and found.needs_key and is_key_needed():
        missing = AuthenticationError(explain_missing_key(found, url, is_known=owner is not None), provider=found.name)
    for name, variable in () if owner is None else owner.account_variables.items():
        if resolved.get(name) is None and environ.get(variable):
            resolved[name] = environ[variable]
    query = {name: environ[variable] for name, variable in found.query_variables.items() if environ.get(variable)}
    if query and not urlsplit(url).path.strip("/"):
        resolved["default_query"] = {**query, **(resolved.get("default_query") or {})}
    return resolved, missing


def set_kept_keys(read: Callable[[], Mapping[str, str]]) -> None:
    """Have the services of this process find keys where the environment has none, without programs that it starts.

    Args:
        read: is called when a key is looked for; returns keys by the variables they stand in for, and by origins of
            servers (``https://host:443``), each of which is for that origin alone. What it raises is raised.
    """
    global _read_kept
    _read_kept = read


def _find_first(keys: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((keys[name] for name in names if keys.get(name)), None)


def _find_origin(url: str) -> str:
    """Return scheme, host and port that a request to this URL goes to; "": it is none, which its field's check tells."""
    try:
        return str(parse_url(url).origin)
    except InvalidInput:
        return ""


def _find_owner(url: str, found: Endpoint, named: Endpoint | None) -> Endpoint | None:
    """Return the endpoint whose key in the environment may go to this URL; None: none may.

    Args:
        url: where requests will go.
        found: the endpoint there.
        named: the one whose variable says that address; None: no variable does.
    """
    if found.has_host(url) and (url.startswith("https:") or is_local(url)):
        return found  # over bare HTTP anybody on the way reads the key
    return named


def is_local(url: str) -> bool:
    """Whether this URL leads to this machine."""
    return urlsplit(url).hostname in _LOCAL


def _is_same(url: str, other: str) -> bool:
    return url.rstrip("/") == other.rstrip("/")


def explain_missing_key(endpoint: Endpoint, url: str, *, is_known: bool) -> str:
    """Return why there is no key, and what to do.

    Args:
        endpoint: the one at the address.
        url: the address.
        is_known: whether the endpoint's key in the environment would be sent there.
    """
    variables = " or ".join(endpoint.key_variables) or "a key"
    if is_known:
        further = (
            f", or install hocket[{endpoint.extra}], which finds what the cloud's own command uses"
            if endpoint.extra
            else ""
        )
        found = f"set {variables}, or " if endpoint.key_variables else ""
        return f"{urlsplit(url).hostname} needs a key: {found}give api_key=...{further}"
    variable = f", or name this address in {endpoint.url_variable}" if endpoint.url_variable else ""
    return (
        f"{redact_url(url)} is not known to belong to {endpoint.name}, so {variables} of the environment is not sent "
        f"there: give api_key=...{variable}"
    )


async def ask_key(key: Key | None, provider: str, model: str | None) -> str:
    """Return a key as a text, asking a function for it; "": there is none.

    Args:
        key: as a service has it.
        provider, model: who it is for, for an error.

    Raises:
        AuthenticationError: the function returned something else than a key.
    """
    value: object = key
    if callable(key):
        if not is_key_needed():
            return ""  # a recording answers
        value = key() if inspect.iscoroutinefunction(key) else await ASYNC.call_sync(key)
        if inspect.isawaitable(value):
            value = await value
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None and key is None:
        return ""
    if isinstance(value, str) and (value or not callable(key)):
        return value
    kind = type(value).__name__
    del value  # this frame is in the traceback
    raise AuthenticationError(
        f"the function given as api_key returned {kind} instead of a key", provider=provider, model=model
    )
