"""What went wrong: any provider's error body and status, mapped to one tree of errors.

The tables are the superset of what the official SDKs of OpenAI, Anthropic, Google, Mistral, Cohere and Ollama and the
compatible servers do. What counts, in this order:

1. the machine's own word in the body, where the status is one of the client's (4xx) or there is none: a 429 that says
   ``insufficient_quota`` is no rate limit, a 400 that says ``API_KEY_INVALID`` no bad request. A word that says no more
   than that something failed (``api_error``) does not count: Ollama, for one, writes it with nearly every status;
2. the status;
3. the text, and only to tell apart what a status leaves open: 400 for a conversation that is too long.

Text alone decides where neither word nor status is known, as in an error event inside a stream. A number in it is never
read as a status.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from hocket._secrets import redact, redact_url
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
from hocket.errors.hints import excerpt
from hocket.http.error_body import ErrorBody, read_error_body
from hocket.http.retry_after import read_retry_after

__all__ = ["classify_error", "has_failed"]

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
    "unrecognizedclientexception": AuthenticationError,
    "invalidsignatureexception": AuthenticationError,
    "signaturedoesnotmatch": AuthenticationError,
    "expiredtoken": AuthenticationError,
    "expiredtokenexception": AuthenticationError,
    "servicequotaexceededexception": QuotaExceeded,
    "resourcenotfoundexception": ResourceNotFound,
    "internalserverexception": ProviderUnavailable,
    "serviceunavailableexception": ProviderUnavailable,
    "modelerrorexception": ProviderUnavailable,
    "modelstreamerrorexception": ProviderUnavailable,
}

# Words that a server puts on very different things: the text may say more.
VAGUE = frozenset({"invalid_request_error", "invalid_argument", "validationexception", "request_too_large"})

# Words for a server's own fault, which a status of the client's (4xx) contradicts.
CONTRADICTED = frozenset({"api_error", "server_error", "internal_server_error", "internal", "service_unavailable"})

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
            "too many input tokens",
        ),
    ),
    (AuthenticationError, ("api key not valid", "invalid api key", "incorrect api key", "invalid x-api-key")),
    (QuotaExceeded, ("exceeded your current quota", "credit balance", "insufficient credit", "insufficient quota")),
    (
        ContentFiltered,
        (
            "content filter",
            "content policy",
            "content management policy",
            "inappropriate content",
            "safety filter",
            "safety system",
            "blocked by safety",
            "safety reasons",
        ),
    ),
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
    (
        ProviderUnavailable,
        # The last three are what Ollama says inside a stream when the process that runs the model has died.
        (
            "unavailable",
            "internal server error",
            "internal error",
            "disconnected",
            "unexpected eof",
            "unexpectedly stopped",
            "runner process",
        ),
    ),
    (RequestCanceled, ("cancelled", "canceled")),
    (InvalidRequest, ("invalid request", "bad request")),
)

# What llama.cpp sends with 500, which would be the server's own fault and worth another try.
TEXTS_WITH_500 = ((ContextLengthExceeded, ("too large to process",)), (Unsupported, ("input is not supported",)))

# What the text may still decide where a status leaves it open.
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

REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-generation-id",
    "x-amzn-requestid",
    "mistral-correlation-id",
    "x-debug-trace-id",
)

_PASSING = (RateLimitError, RequestTimeout, ProviderUnavailable)
"""Errors that another try may not meet, where there is no status."""


def classify_error(
    status: int | None,
    headers: Mapping[str, str],
    body: object,
    *,
    provider: str | None = None,
    model: str | None = None,
    secrets: Iterable[str] = (),
) -> LLMError:
    """Return the error that a reply, or an error event inside a stream, stands for. Never raises, whatever they say.

    Args:
        status: of the reply. That of an error inside a good reply (200), or None, does not count; the body may have one.
        headers: of the reply, names in lower case.
        body: bytes as they came, or data that was read already.
        provider, model: who was asked.
        secrets: texts that must not be repeated.
    """
    try:
        parts = read_error_body(body, secrets)
    except Exception:  # whatever in it was not foreseen
        parts = ErrorBody("the reply says why in a form that cannot be read")
    if status is None or status < 300:
        status = parts.status
    cls = _choose_class(status, parts)
    retryable = _read_flag(headers, "x-should-retry")
    if retryable is None:
        retryable = status in RETRYABLE if status is not None else issubclass(cls, _PASSING)
    request_id = next((headers[name] for name in REQUEST_IDS if name in headers), parts.request_id)
    return cls(
        redact(_describe_redirect(status, headers), secrets)
        if status is not None and status < 400
        else _write_message(cls, parts.text),
        provider=provider,
        model=model,
        status=status,
        provider_code=parts.words[0] if parts.words else None,
        request_id=redact(request_id, secrets),
        retryable=retryable and not issubclass(cls, QuotaExceeded | ContextLengthExceeded | Unsupported),
        retry_after=read_retry_after(headers, parts.data),
        details=dict(parts.details),
    )


def has_failed(body: object) -> bool:
    """Whether data of a good reply (200) says that the request has failed, as some gateways do."""
    if not isinstance(body, dict):
        return False
    data = cast("dict[str, object]", body)
    return bool(data.get("error")) or data.get("object") == "error" or data.get("status") == "failed"


def _choose_class(status: int | None, body: ErrorBody) -> type[LLMError]:
    if status is not None and 300 <= status < 400:
        return InvalidReply
    known = [word.lower() for word in body.words if word.lower() in WORDS]
    if status is not None and status >= 500:
        if "overloaded_error" in known:
            return Overloaded
        cls = _match_text(body.text, TEXTS_WITH_500) if status == 500 else None
        return cls or STATUSES.get(status, ProviderUnavailable)
    ignored = VAGUE if status is None else VAGUE | CONTRADICTED
    precise = [word for word in known if word not in ignored]
    if precise:
        return WORDS[precise[0]]
    if status is None:
        cls = _match_text(body.text, TEXTS if known else LAST_RESORT)
        return cls or (WORDS[known[0]] if known else LLMError)
    cls = _match_text(body.text, TEXTS)
    return cls if cls is not None and cls in OPEN.get(status, ()) else STATUSES.get(status, InvalidRequest)


def _match_text(text: str, table: Iterable[tuple[type[LLMError], tuple[str, ...]]]) -> type[LLMError] | None:
    text = text.lower()
    return next((cls for cls, parts in table if any(part in text for part in parts)), None)


def _describe_redirect(status: int, headers: Mapping[str, str]) -> str:
    """Return where a reply sends its client, which does not follow: the key was given for one place."""
    place = headers.get("location")
    to = f"to {excerpt(redact_url(place), 200)}" if place else "and does not say where to"
    return f"the server redirects ({status}) {to}, and requests do not follow; give the place that answers as base_url"


def _write_message(cls: type[LLMError], text: str) -> str:
    """Return what the server says, that it is the server that lacks something, and the way out."""
    if cls is Unsupported:
        text = f"the server cannot do this: {text}"
    return f"{text}; {WAYS_OUT[cls]}" if cls in WAYS_OUT else text


def _read_flag(headers: Mapping[str, str], name: str) -> bool | None:
    return {"true": True, "false": False}.get(headers.get(name, "").strip().lower())
