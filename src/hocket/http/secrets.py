"""Secrets out of what a request shows: its headers, its parameters, and the errors that it ends with.

What a server says may repeat the key that it was sent; `hocket._secrets` takes it out of texts. Here is the gate, `Guard`,
through which every failure of a request leaves: many a logger shows the locals of a traceback's frames, and those below the
gate, httpx's and the event loop's too, hold the request as it is sent.
"""

import base64
import contextlib
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, cast
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from pydantic import SecretStr

from hocket._secrets import MASK, Secret, has_secret, is_sensitive, redact, sort_secrets
from hocket.errors import ConnectionFailed, LLMError

__all__ = ["Guard", "find_secrets", "redact_headers", "redact_params"]


def redact_headers(headers: Mapping[str, str | SecretStr]) -> dict[str, str]:
    """Return headers that can be shown: the value of each sensitive one masked, but for its scheme (``Bearer``)."""
    return {name: _mask_value(value) if _is_secret(name, value) else str(value) for name, value in headers.items()}


def redact_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call's options as handlers may see them."""
    headers = params.get("extra_headers")
    if not isinstance(headers, Mapping):
        return dict(params)
    return {**params, "extra_headers": redact_headers(cast("Mapping[str, str | SecretStr]", headers))}


def _is_secret(name: str, value: str | SecretStr) -> bool:
    return isinstance(value, Secret | SecretStr) or is_sensitive(name)


def _mask_value(value: str | SecretStr) -> str:
    scheme, blank, _ = value.partition(" ") if isinstance(value, str) else ("", "", "")
    return scheme + blank + MASK if blank and scheme.isalpha() else MASK


def find_secrets(headers: Iterable[Mapping[str, str]], urls: Iterable[str], proxy: str | None) -> list[str]:
    """Return every secret that a request, or the way that it takes, knows of.

    Args:
        headers: the request's, and those of its client.
        urls: the request's.
        proxy: URL of the proxy; None: those that the environment names.
    """
    named = (value for name, value in os.environ.items() if name.lower().endswith("_proxy"))
    proxies = named if proxy is None else [proxy]
    return [
        *(secret for one in headers for secret in _find_in_headers(one)),
        *(secret for url in (*urls, *proxies) for secret in _find_in_url(url)),
    ]


def _find_in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield whole values, and the part after their scheme; of AWS's signature and who signed."""
    for name, value in headers.items():
        if value.startswith("AWS4-"):
            yield value.rpartition("Signature=")[2]  # not with its name, which errors say as well
            yield value.partition("Credential=")[2].partition("/")[0]
        elif _is_secret(name, value):
            yield str(value)
            scheme, _, rest = value.partition(" ")
            yield rest
            if scheme.lower() == "basic":
                yield from _find_in_basic(rest)


def _find_in_basic(pair: str) -> Iterator[str]:
    try:
        yield base64.b64decode(pair).decode().partition(":")[2]
    except ValueError:  # not base64, not text
        return


def _find_in_url(url: str) -> Iterator[str]:
    """Yield user and password, and the values of sensitive parameters."""
    try:
        parts = urlsplit(url)
        user, password = parts.username, parts.password
    except ValueError:  # no URL at all
        return
    texts = [unquote(text) for text in (user, password) if text]
    texts += [value for name, value in parse_qsl(parts.query) if is_sensitive(name)]
    for text in texts:
        yield from (text, quote(text), quote(text, safe=""), quote_plus(text))
    if user and password:
        yield base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()


class Guard:
    """Takes the secrets out of every error raised inside it: its text, its causes and notes, and its frames' locals.

    The frames themselves stay, so that a traceback still says where. So does a context from elsewhere: it belongs to the
    code that was handling it.

    Args:
        secrets: returns them; called only when an error is raised.
        provider, model: who was asked, for errors that do not say so.
        way_out: what to do where the server cannot be reached, for that error; "": nothing is known.
    """

    __slots__ = ("_model", "_provider", "_secrets", "_way_out")

    def __init__(
        self, secrets: Callable[[], Iterable[str]], provider: str, model: str | None, way_out: str = ""
    ) -> None:
        self._secrets = secrets
        self._provider = provider
        self._model = model
        self._way_out = way_out

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            return
        secrets = sort_secrets(self._secrets())
        _clean(error, secrets, set())
        if isinstance(error, LLMError):
            error.provider = error.provider or self._provider
            error.model = error.model or self._model
            if self._way_out and isinstance(error, ConnectionFailed):
                error.message += f"; {self._way_out}"
                error.args = (error.message,)
        if _shows_secret(error, secrets):
            replacement: BaseException = LLMError(redact(f"{type(error).__name__}: {error}", secrets))
            try:
                raise replacement
            finally:
                replacement.__context__ = None
                del replacement, error, trace, secrets  # this frame is in the traceback


def _clean(error: BaseException, secrets: list[str], seen: set[object]) -> None:
    """Take the secrets out of an error and of what it came from.

    The frames that an error has left have ended, and can be cleared. The frame in which it was handled may go on, and to
    clear a coroutine that only pauses would end it; if it was below the guard, the error that it raised instead has left it.

    Args:
        seen: the errors that were cleaned so far, and the frames that they have left.
    """
    if id(error) in seen:  # some errors define equality
        return
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][1 if seen else 0 :]
    seen.update((id(error), *frames))
    for frame in frames:
        with contextlib.suppress(RuntimeError):  # the guard's own
            frame.clear()
    if isinstance(error, LLMError):
        for name in ("message", "provider_code", "request_id", "details"):
            setattr(error, name, redact(getattr(error, name), secrets))
        error.args = (error.message,)
    if notes := getattr(error, "__notes__", None):
        notes[:] = redact(notes, secrets)
    cause, context = error.__cause__, error.__context__
    suppressed = error.__suppress_context__
    if cause is not None:
        _clean(cause, secrets, seen)
        error.__cause__ = None if _shows_secret(cause, secrets) else cause
    if context is not None:  # mostly the cause once more
        if _began_in(context, seen):
            _clean(context, secrets, seen)
        error.__context__ = None if _shows_secret(context, secrets) else context
    error.__suppress_context__ = suppressed


def _began_in(error: BaseException, seen: set[object]) -> bool:
    """Whether an error was handled in one of the frames in ``seen``, and so below the guard.

    Other errors are not ours: one that the caller is handling while it calls; one that a trio task is handling while it
    cancels another task, whose cancellation gets it as its context.
    """
    return error.__traceback__ is not None and error.__traceback__.tb_frame in seen


def _shows_secret(error: BaseException, secrets: list[str]) -> bool:
    return has_secret(f"{error} {error!r}", secrets)
