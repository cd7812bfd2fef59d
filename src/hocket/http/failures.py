"""What went wrong, told from a reply: any provider's error body and status to one tree of errors.

The tables are the superset of what the official SDKs of OpenAI, Anthropic, Google, Mistral, Cohere and Ollama and the
compatible servers do. What counts, in this order:

1. the machine's own word in the body, where the status is one of the client's (4xx) or there is none: a 429 that says
   ``insufficient_quota`` is no rate limit, a 400 that says ``API_KEY_INVALID`` no bad request;
2. the status;
3. the text, and only to tell apart what a status leaves open: 400 for a conversation that is too long.

Text alone decides where neither word nor status is known, as in an error event inside a stream. A number in it is never
read as a status.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from hocket._secrets import redact
from hocket.errors import (
    AuthenticationError,
    ContentFiltered,
    ContextLengthExceeded,
    InvalidReply,
    InvalidRequest,
    LLMError,
    Overloaded,
    PermissionDenied,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    RequestCanceled,
    RequestTimeout,
    ResourceNotFound,
    Unsupported,
)
from hocket.http.retry_after import retry_after

__all__ = ["classify_error", "has_failed"]

_SHOWN = 600  # characters of a server's text that an error repeats

STATUSES: dict[int, type[LLMError]] = {
    400: InvalidRequest,
    401: AuthenticationError,
    402: QuotaExceeded,
    403: PermissionDenied,
    404: ResourceNotFound,
    408: RequestTimeout,
    409: InvalidRequest,
    412: InvalidRequest,
    413: InvalidRequest,
    422: InvalidRequest,
    429: RateLimitError,
    498: AuthenticationError,  # Cohere: invalid token
    499: RequestCanceled,
    501: Unsupported,
    504: RequestTimeout,
    524: RequestTimeout,  # Cloudflare: the origin took too long
    529: Overloaded,  # Anthropic
}

RETRYABLE = frozenset({408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})

# The words of `code`, `type`, `status` and Google's `reason`, in lower case.
WORDS: dict[str, type[LLMError]] = {
    "invalid_api_key": AuthenticationError,
    "invalid_x_api_key": AuthenticationError,
    "api_key_invalid": AuthenticationError,
    "authentication_error": AuthenticationError,
    "unauthenticated": AuthenticationError,
    "permission_error": PermissionDenied,
    "permission_denied": PermissionDenied,
    "insufficient_quota": QuotaExceeded,
    "billing_error": QuotaExceeded,
    "billing_hard_limit_reached": QuotaExceeded,
    "credit_balance": QuotaExceeded,
    "rate_limit_error": RateLimitError,
    "rate_limit_exceeded": RateLimitError,
    "rate_limited": RateLimitError,
    "resource_exhausted": RateLimitError,
    "throttlingexception": RateLimitError,
    "context_length_exceeded": ContextLengthExceeded,
    "exceed_context_size_error": ContextLengthExceeded,
    "string_above_max_length": ContextLengthExceeded,
    "content_filter": ContentFiltered,
    "content_policy_violation": ContentFiltered,
    "recitation": ContentFiltered,
    "safety": ContentFiltered,
    "model_not_found": ResourceNotFound,
    "not_found_error": ResourceNotFound,
    "not_found": ResourceNotFound,
    "unsupported_parameter": Unsupported,
    "unsupported_value": Unsupported,
    "unimplemented": Unsupported,
    "timeout_error": RequestTimeout,
    "deadline_exceeded": RequestTimeout,
    "modeltimeoutexception": RequestTimeout,
    "cancelled": RequestCanceled,
    "overloaded_error": Overloaded,
    "server_error": ProviderUnavailable,
    "api_error": ProviderUnavailable,
    "internal_server_error": ProviderUnavailable,
    "internal": ProviderUnavailable,
    "unavailable": ProviderUnavailable,
    "unavailable_error": ProviderUnavailable,
    "service_unavailable": ProviderUnavailable,
    "modelnotreadyexception": ProviderUnavailable,
    "invalid_request_error": InvalidRequest,
    "request_too_large": InvalidRequest,
    "invalid_argument": InvalidRequest,
    "validationexception": InvalidRequest,
    "accessdeniedexception": PermissionDenied,
}

# Words that a server puts on very different things: the text may say more.
VAGUE = frozenset({"invalid_request_error", "invalid_argument", "validationexception", "request_too_large"})

# Parts of a text, in lower case; the first that is found counts.
TEXTS: tuple[tuple[type[LLMError], tuple[str, ...]], ...] = (
    (
        ContextLengthExceeded,
        (
            "maximum context length",
            "context length",
            "context window",
            "context size",
            "prompt is too long",
            "input is too long",
            "token limit",
            "too many tokens",
        ),
    ),
    (AuthenticationError, ("api key not valid", "invalid api key", "incorrect api key", "invalid x-api-key")),
    (QuotaExceeded, ("exceeded your current quota", "credit balance", "insufficient credit", "insufficient quota")),
    (ContentFiltered, ("content filter", "content policy", "content management policy", "inappropriate content")),
    (Unsupported, ("not implemented", "not supported", "does not support", "unsupported")),
)
LAST_RESORT: tuple[tuple[type[LLMError], tuple[str, ...]], ...] = (
    *TEXTS,
    (RateLimitError, ("rate limit", "too many requests")),
    (QuotaExceeded, ("quota",)),
    (AuthenticationError, ("unauthorized", "authentication", "api key")),
    (ResourceNotFound, ("not found", "does not exist")),
    (RequestTimeout, ("timed out", "timeout", "deadline")),
    (Overloaded, ("overloaded",)),
    (ProviderUnavailable, ("unavailable", "internal server error", "internal error", "disconnected")),
    (RequestCanceled, ("cancelled", "canceled")),
    (InvalidRequest, ("invalid request", "bad request")),
)

# What llama.cpp says with 500, which would be the server's own fault and worth another try.
SAID_WITH_500 = ((ContextLengthExceeded, ("too large to process",)), (Unsupported, ("input is not supported",)))

# What the text may still tell where a status leaves it open.
OPEN: dict[int, frozenset[type[LLMError]]] = {
    400: frozenset(cls for cls, _ in TEXTS),
    403: frozenset({QuotaExceeded, ContentFiltered}),
    413: frozenset({ContextLengthExceeded}),
    422: frozenset({ContextLengthExceeded, ContentFiltered, Unsupported}),
    429: frozenset({QuotaExceeded}),
}

WAYS_OUT: dict[type[LLMError], str] = {
    AuthenticationError: "check the api_key, and that it belongs to this base_url",
    PermissionDenied: "ask for access, or use another model, project or region",
    QuotaExceeded: "add credit or raise the limit of the account; trying again does not help",
    RateLimitError: "slow down: a rate_limiter keeps a model under its limit",
    ContextLengthExceeded: "shorten the conversation or ask for fewer tokens",
    ResourceNotFound: "check the name of the model and the base_url",
    Unsupported: "leave it out, or use a model that can",
}

REQUEST_IDS = ("x-request-id", "request-id", "x-generation-id", "mistral-correlation-id", "x-debug-trace-id")


class _Said(NamedTuple):
    """What a body says, whatever its shape."""

    text: str
    words: tuple[str, ...] = ()
    status: int | None = None
    details: Mapping[str, Any] = {}
    request_id: str | None = None
    data: Any = None


def classify_error(
    status: int | None,
    headers: Mapping[str, str],
    body: Any,
    *,
    provider: str | None = None,
    model: str | None = None,
    secrets: Iterable[str] = (),
) -> LLMError:
    """Return the error that a reply, or an error event inside a stream, stands for.

    Args:
        status: of the reply. That of an error inside a good reply (200), or None, does not count; the body may have one.
        headers: of the reply, names in lower case.
        body: bytes as they came, or data that was read already.
        provider, model: who was asked.
        secrets: texts that must not be repeated.
    """
    said = _read(body, secrets)
    if status is None or status < 300:
        status = said.status
    cls = _kind(status, said)
    wait = _wish(headers, "x-should-retry")
    retryable = status in RETRYABLE if status is not None else issubclass(cls, _PASSING)
    if wait is not None:
        retryable = wait
    return cls(
        f"{said.text}; {WAYS_OUT[cls]}" if cls in WAYS_OUT else said.text,
        provider=provider,
        model=model,
        status=status,
        provider_code=said.words[0] if said.words else None,
        request_id=redact(next((headers[name] for name in REQUEST_IDS if name in headers), said.request_id), secrets),
        retryable=retryable and not issubclass(cls, QuotaExceeded | ContextLengthExceeded | Unsupported),
        retry_after=retry_after(headers, said.data),
        details=dict(said.details),
    )


def has_failed(body: Any) -> bool:
    """Whether data of a good reply (200) says that the request has failed, as some gateways do."""
    if not isinstance(body, dict):
        return False
    data = cast("dict[str, Any]", body)
    return bool(data.get("error")) or data.get("object") == "error" or data.get("status") == "failed"


_PASSING = (RateLimitError, RequestTimeout, ProviderUnavailable)


def _kind(status: int | None, said: _Said) -> type[LLMError]:
    if status is not None and 300 <= status < 400:
        return InvalidReply
    known = [word.lower() for word in said.words if word.lower() in WORDS]
    if status is not None and status >= 500:
        if "overloaded_error" in known:
            return Overloaded
        told = _told(said.text, SAID_WITH_500) if status == 500 else None
        return told or STATUSES.get(status, ProviderUnavailable)
    precise = [word for word in known if word not in VAGUE]
    if precise:
        return WORDS[precise[0]]
    if status is None:
        return _told(said.text, TEXTS if known else LAST_RESORT) or (WORDS[known[0]] if known else LLMError)
    told = _told(said.text, TEXTS)
    return told if told in OPEN.get(status, ()) and told is not None else STATUSES.get(status, InvalidRequest)


def _told(text: str, table: Iterable[tuple[type[LLMError], tuple[str, ...]]]) -> type[LLMError] | None:
    text = text.lower()
    return next((cls for cls, parts in table if any(part in text for part in parts)), None)


def _wish(headers: Mapping[str, str], name: str) -> bool | None:
    return {"true": True, "false": False}.get(headers.get(name, "").strip().lower())


def _read(body: Any, secrets: Iterable[str]) -> _Said:
    """Find out what a body says. Every shape that a known server sends has its case.

    Secrets go first: of one that is cut short later on, the rest would not be known.
    """
    if isinstance(body, bytes | bytearray | str):
        try:
            body = from_json(body)
        except ValueError:
            text = body if isinstance(body, str) else bytes(body).decode("utf-8", "replace")
            return _read_text(redact(text, secrets))
    data: Any = body
    body = redact(body, secrets)
    if isinstance(body, list) and body:  # Google wraps its errors in a list now and then
        body = body[0]
    match body:
        case {"error": {"message": _} as inner}:
            return _read_fields(cast("dict[str, Any]", inner), cast("dict[str, Any]", body), data)
        case {"error": dict() as inner}:
            return _read_fields({"message": str(cast(Any, inner)), **inner}, cast("dict[str, Any]", body), data)
        case {"error": str(text)}:
            return _Said(_short(text), data=data)
        case {"detail": list(problems)}:
            return _Said(_short("; ".join(_problem(one) for one in problems)), data=data)
        case {"detail": text}:
            return _Said(_short(str(text)), data=data)
        case {"message": _}:
            return _read_fields(cast("dict[str, Any]", body), {}, data)
        case _:
            return _Said(_short(str(body)) if body else "the reply says nothing", data=data)


def _read_fields(inner: Mapping[str, Any], outer: Mapping[str, Any], data: Any) -> _Said:
    text = inner.get("message")
    reasons = [
        cast("dict[str, Any]", one).get("reason") for one in _list(inner.get("details")) if isinstance(one, dict)
    ]
    words = [*reasons, inner.get("code"), inner.get("type"), inner.get("status")]
    number = inner.get("code")
    return _Said(
        text=_short(text if isinstance(text, str) else str(text)),
        words=tuple(word for word in words if isinstance(word, str) and word),
        status=number if isinstance(number, int) and 400 <= number < 600 else None,
        details={key: value for key, value in inner.items() if key != "message" and value is not None},
        request_id=_text(outer.get("request_id")),
        data=data,
    )


def _read_text(text: str) -> _Said:
    if "<html" in text[:1000].lower() or text.lstrip()[:9].lower() == "<!doctype":
        plain = " ".join(_without_tags(text[:20_000]).split())
        return _Said(_short(f"an HTML page instead of JSON: {plain}"))
    return _Said(_short(text) or "the reply is empty")


def _without_tags(page: str) -> str:
    pieces = (piece.partition(">")[2] for piece in f">{page}".split("<"))
    return " ".join(pieces)


def _problem(problem: Any) -> str:
    """Write one of pydantic's errors, as FastAPI sends them."""
    match problem:
        case {"loc": list(where), "msg": str(text)}:
            return f"{'.'.join(str(part) for part in where)}: {text}"
        case _:
            return str(problem)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"
