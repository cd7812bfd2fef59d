"""Why a request has no answer, in OpenAI's form: a status and an ``error`` object, which its clients raise as an error.

What a model's own server refuses is told by the status that it would have had from there, but for two things. That the
gateway's key is refused is no fault of the client's, whose own key is good: 502. And what was not written for strangers,
an error of the program around a model, is not told at all: 500, and the log has it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic_core import to_json

from hocket._asgi import Header
from hocket._secrets import redact
from hocket.errors import (
    AuthenticationError,
    BudgetExceeded,
    ConnectionFailed,
    ConnectTimeout,
    ContentFiltered,
    ContextLengthExceeded,
    EmptyResponse,
    InvalidHistory,
    InvalidInput,
    InvalidRequest,
    LLMError,
    Overloaded,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    RequestTimeout,
    ResourceNotFound,
    Unsupported,
)

__all__ = ["Refusal", "explain_failure"]

INVALID = "invalid_request_error"
_TYPES: Mapping[int, str] = {429: "requests"}


@dataclass(eq=False, kw_only=True)
class Refusal(Exception):
    """A reply that is no answer.

    Attributes:
        status: of the reply.
        message: for a person.
        code: for a program, OpenAI's where it has one.
        param: the field of the request that is at fault.
        retry_after: seconds to wait before another try.
        headers: further ones of the reply.
    """

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    headers: Sequence[Header] = ()

    def body(self) -> bytes:
        """Return the error object."""
        kind = _TYPES.get(self.status, INVALID if self.status < 500 else "server_error")
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return to_json({"error": error})

    def all_headers(self) -> list[Header]:
        """Return the headers of the reply, but for its length."""
        headers = [(b"content-type", b"application/json"), *self.headers]
        if self.retry_after is not None:
            headers.append((b"retry-after", b"%d" % max(1, math.ceil(self.retry_after))))
        return headers


# The first that fits: a class stands before those that it derives from.
_REFUSALS: tuple[tuple[type[Exception], int, str | None], ...] = (
    (ContextLengthExceeded, 400, "context_length_exceeded"),
    (ContentFiltered, 400, "content_filter"),
    (InvalidRequest, 400, None),
    (Unsupported, 400, "unsupported"),
    (InvalidInput, 400, None),
    (InvalidHistory, 400, None),
    (ResourceNotFound, 404, "not_found"),
    (BudgetExceeded, 429, "insufficient_quota"),
    (QuotaExceeded, 429, "insufficient_quota"),
    (RateLimitError, 429, "rate_limit_exceeded"),
    (AuthenticationError, 502, "upstream_authentication"),
    (RequestTimeout, 504, "timeout"),
    (Overloaded, 503, "overloaded"),
    (ProviderUnavailable, 503, "upstream_unavailable"),
    (LLMError, 502, "upstream_error"),
    (EmptyResponse, 502, "upstream_error"),
)

# What only the operator is to read: addresses, amounts, who refused whose key.
_UNTOLD: Mapping[type[Exception], str] = {
    AuthenticationError: "the model's server refused the key of this gateway; its operator has to mend that",
    BudgetExceeded: "what may be spent here is spent",
    ConnectionFailed: "the model's server cannot be reached",
    ConnectTimeout: "the model's server cannot be reached in time",
}


def explain_failure(error: Exception) -> Refusal:
    """Return what a client is told of an error: no key is in it, and nothing of what a program's own errors say."""
    found = next((row for row in _REFUSALS if isinstance(error, row[0])), None)
    if found is None:
        return Refusal(status=500, message="the request failed")
    _, status, code = found
    message = next((text for kind, text in _UNTOLD.items() if isinstance(error, kind)), None) or redact(str(error))
    retry_after = error.retry_after if isinstance(error, LLMError) and status in (429, 503) else None
    return Refusal(status=status, message=message, code=code, retry_after=retry_after)
