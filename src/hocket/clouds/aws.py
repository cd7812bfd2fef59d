"""Where AWS's credentials come from: what was given, or AWS's own chain, which botocore walks.

The chain is 2,800 lines that change each year: profiles, SSO, web identity, assumed roles, processes, containers, instances.
botocore keeps it for us. It blocks, and its import alone takes 0.4 s of CPU, so both happen in a thread, once a refresh.
"""

import configparser
import os
import shlex
from collections.abc import Awaitable, Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import anyio.lowlevel

from hocket._runtime.mode import ASYNC
from hocket.clouds.key_cache import FOR_GOOD, FOR_NOW, FoundKey, get_key, reject_key
from hocket.errors import AuthenticationError, InvalidInput

__all__ = ["AWSCredentials", "CredentialsFunction", "CredentialsSource", "find_profile_region"]

VARIABLES = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK"


@dataclass(frozen=True, slots=True)
class AWSCredentials:
    """Who asks AWS.

    Raises:
        InvalidInput: a key is empty, or the time has no time zone.

    Attributes:
        access_key: its id, ``AKIA…`` or ``ASIA…``.
        secret_key, session_token: what signs; a token comes with keys that end.
        expires_at: in seconds since 1970, or a `datetime` with a time zone; None: not known.
    """

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)
    expires_at: float | datetime | None = None

    def __post_init__(self) -> None:
        for name in ("access_key", "secret_key", "session_token"):
            value: object = getattr(self, name)
            if value is None and name == "session_token":
                continue
            if not isinstance(value, str) or not value.strip():
                wrong = "empty" if isinstance(value, str) else "no text"
                raise InvalidInput(f"the {name} of AWSCredentials is {wrong}")
        ends: object = self.expires_at
        if isinstance(ends, datetime) and ends.tzinfo is not None:
            object.__setattr__(self, "expires_at", ends.timestamp())
        elif not isinstance(ends, int | float | None):
            raise InvalidInput(f"expires_at is {ends!r}: give seconds since 1970, or a datetime with tzinfo=UTC")


CredentialsFunction = Callable[[], AWSCredentials | Awaitable[AWSCredentials]]
"""What returns credentials, sync or async. With ``expires_at`` they are kept; else it is asked for each attempt."""


@dataclass(frozen=True, slots=True)
class CredentialsSource:
    """Where the credentials of a service come from.

    Attributes:
        given: credentials, or a function that returns them; None: AWS's chain.
        profile: of the chain; None: what the environment says, else the default one.
    """

    given: AWSCredentials | CredentialsFunction | None = None
    profile: str | None = None

    async def get(self) -> AWSCredentials:
        """Return credentials that hold.

        Raises:
            AuthenticationError: there are none.
        """
        if isinstance(self.given, AWSCredentials):
            return self.given
        if self.given is not None:
            return await get_key(self._name, partial(_ask_function, self.given))
        return await get_key(self._name, partial(_walk_chain, self.profile))

    def reject(self, secrets: Container[str]) -> bool:
        """Forget credentials that AWS no longer takes, and return whether another attempt may get better ones.

        Args:
            secrets: of the request, the id of the key among them.
        """

        def is_rejected(held: AWSCredentials) -> bool:
            return held.access_key in secrets

        return not isinstance(self.given, AWSCredentials) and reject_key(self._name, is_rejected)

    @property
    def _name(self) -> tuple[object, ...]:
        given = self.given
        if given is not None:  # an object of the user's need not be hashable
            return ("aws", given if isinstance(given, Hashable) else id(given))  # pyright: ignore[reportUnnecessaryIsInstance]
        profile = self.profile or _find_profile(os.environ)
        return ("aws", profile, *map(os.environ.get, ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")))


async def _ask_function(function: CredentialsFunction) -> FoundKey[AWSCredentials]:
    value: object = await ASYNC.call_sync(function)
    if hasattr(value, "__await__"):
        value = await cast("Awaitable[object]", value)
    else:
        await anyio.lowlevel.checkpoint()
    if not isinstance(value, AWSCredentials):
        kind = type(value).__name__
        del value  # this frame is in the traceback
        raise AuthenticationError(f"the function given as credentials returned {kind} instead of AWSCredentials")
    return FoundKey(value, FOR_NOW if value.expires_at is None else cast(float, value.expires_at))


def _walk_chain(profile: str | None) -> FoundKey[AWSCredentials]:
    """Return the credentials that AWS's chain finds, the first link that has some. It blocks.

    Raises:
        AuthenticationError: botocore is missing, a link failed, or none has any; the message says what each link said.
    """
    try:
        chain: Any = import_module("botocore.credentials")
        sessions: Any = import_module("botocore.session")
    except ImportError as error:
        raise AuthenticationError(
            f"no credentials for AWS: set {VARIABLES}, give credentials=..., or install hocket[bedrock] for profiles, SSO, "
            "and the roles of pods and machines"
        ) from error
    asked: list[str] = []
    try:
        session = sessions.Session(profile=profile)
        for link in chain.create_credential_resolver(session).providers:
            asked.append(link.METHOD)
            found: Any = link.load()
            if found is not None:
                frozen = found.get_frozen_credentials()
                ends: datetime | None = getattr(found, "_expiry_time", None)  # its refreshable ones alone have it
                made = AWSCredentials(frozen.access_key, frozen.secret_key, frozen.token or None, ends)
                return FoundKey(made, FOR_GOOD if ends is None else cast(float, made.expires_at))
    except Exception as error:
        said = f"{asked.pop()}: {type(error).__name__}: {error}" if asked else f"{type(error).__name__}: {error}"
        raise AuthenticationError(f"AWS's chain of credentials failed ({_list_empty(asked, '; ')}{said})") from error
    raise AuthenticationError(
        f"AWS's chain has no credentials ({_list_empty(asked)}): set {VARIABLES}, or log in by `aws login`"
    )


def _list_empty(links: Sequence[str], end: str = "") -> str:
    return f"nothing from {', '.join(links)}{end}" if links else ""


def find_profile_region(profile: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the region that AWS's configuration file has for a profile; None: it has none."""
    name = profile or _find_profile(environ)
    parser = configparser.RawConfigParser(strict=False)
    try:
        path = Path(environ.get("AWS_CONFIG_FILE") or "~/.aws/config").expanduser()
        parser.read_string(path.read_text(encoding="utf-8"))
        names = {section: shlex.split(section) for section in parser.sections()}  # one may be in quotes
    except (OSError, RuntimeError, ValueError, configparser.Error):  # botocore says more, where it is asked
        return None
    sought = [["profile", name], *([["default"]] if name == "default" else [])]
    section = next((section for section, words in reversed(names.items()) if words in sought), "")
    return parser.get(section, "region", fallback=None)


def _find_profile(environ: Mapping[str, str]) -> str:
    return environ.get("AWS_DEFAULT_PROFILE") or environ.get("AWS_PROFILE") or "default"
