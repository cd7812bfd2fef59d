"""Why a request has no answer: a status, and words for the client.

A program that asked in OpenAI's form is told with the status that its own request to the model's server would have had,
and an ``error`` object, which its clients raise as an error, but for two things. That the gateway's key is refused is no
fault of the client's, whose own key is good: 502. And what was not written for strangers, an error of the program around a
model, is not told at all: 500, and the log has it. What the server said is told only where the operator wants it so.

Official SDKs send a request again after 408, 409, 429 and every 5xx, unless the reply says ``x-should-retry: false``. It
says so where hocket would not try again itself: the second try meets the same error, and what a chain had done by then
(tools, paid calls) is done once more.

A person in front of a page is told in words of ours, whatever failed. A server's own words may have addresses, prompts
and advice for programmers in them.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pydantic_core import to_json

from hocket._asgi import Header
from hocket._secrets import redact
from hocket.errors import (
    AnswerBusy,
    AnswerLost,
    AnswerTooLarge,
    AuthenticationError,
    BudgetExceeded,
    BudgetStoreFailed,
    ConnectionFailed,
    ConnectTimeout,
    ContentFiltered,
    ContextLengthExceeded,
    EmptyResponse,
    HistoryBusy,
    HistoryUnavailable,
    InvalidHistory,
    InvalidHook,
    InvalidInput,
    InvalidRequest,
    LLMError,
    Overloaded,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    RequestTimeout,
    ResourceNotFound,
    RunCanceled,
    StoreUnavailable,
    StreamTruncated,
    Unpriceable,
    Unsupported,
    VectorStoreUnavailable,
)
from hocket.errors.hints import LONGEST_NAME, shorten

__all__ = ["FailureAfterTools", "Refusal", "explain_failure"]

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
        may_pass: whether the same request may be answered later.
        headers: further ones of the reply.
        words: the message for somebody in front of a page.
    """

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    retry_after: float | None = None
    may_pass: bool = True
    headers: Sequence[Header] = ()
    words: str = ""

    def body(self) -> bytes:
        """Return the error object of OpenAI's form."""
        return to_json({"error": self._describe(self.message)})

    def body_for_page(self) -> bytes:
        """Return the error object in words for anybody, with ``retry_after`` where it is known."""
        error = self._describe(self.words)
        if self.retry_after is not None:
            error["retry_after"] = round(self.retry_after, 3)
        return to_json({"error": error})

    def _describe(self, message: str) -> dict[str, object]:
        kind = _TYPES.get(self.status, INVALID if self.status < 500 else "server_error")
        param = self.param and shorten(self.param, LONGEST_NAME)
        return {"message": shorten(message), "type": kind, "param": param, "code": self.code}

    def all_headers(self) -> list[Header]:
        """Return the headers of the reply, but for its length."""
        headers = [(b"content-type", b"application/json"), *self.headers]
        if self.retry_after is not None:
            headers.append((b"retry-after", b"%d" % max(1, math.ceil(self.retry_after))))
        if not self.may_pass:
            headers.append((b"x-should-retry", b"false"))
        return headers


class FailureAfterTools(Exception):
    """A failure after tools have run: what they did is done, and another try would do it once more.

    Args:
        failure: what went wrong.
    """

    def __init__(self, failure: Exception) -> None:
        super().__init__(f"after tools had run: {type(failure).__name__}: {failure}")
        self.failure: Exception = failure


class _Row(NamedTuple):
    kind: type[Exception]
    status: int
    code: str | None
    words: str
    for_program: bool = True
    """Whether a program may be told what the error says, which may have amounts and addresses, or gets the words, too."""


_REFUSED = "the request cannot be answered as it stands"
_SPENT = "what may be spent here is spent"
_NO_STORE = "a store of this service cannot be reached for now"
_FAILED = "the request failed"

_UNAVAILABLE = (HistoryUnavailable, VectorStoreUnavailable, StoreUnavailable, BudgetStoreFailed)

# The first that fits: a class stands before those that it derives from.
_ROWS = (
    _Row(ContextLengthExceeded, 400, "context_length_exceeded", "the conversation is too long for the model"),
    _Row(ContentFiltered, 400, "content_filter", "a content filter stopped the question or the answer"),
    _Row(InvalidRequest, 400, None, _REFUSED),
    _Row(Unsupported, 400, "unsupported", _REFUSED),
    _Row(InvalidInput, 400, None, _REFUSED),
    _Row(InvalidHistory, 400, None, _REFUSED),
    _Row(ResourceNotFound, 404, "not_found", "the model is not there"),
    _Row(BudgetExceeded, 429, "insufficient_quota", _SPENT, for_program=False),
    _Row(QuotaExceeded, 429, "insufficient_quota", _SPENT),
    _Row(RateLimitError, 429, "rate_limit_exceeded", "there are too many requests for now"),
    _Row(
        AuthenticationError,
        502,
        "upstream_authentication",
        "the model's server refused the key of this service; its operator has to mend that",
        for_program=False,
    ),
    _Row(ConnectTimeout, 504, "timeout", "the model's server cannot be reached in time", for_program=False),
    _Row(RequestTimeout, 504, "timeout", "the answer took too long"),
    _Row(Overloaded, 503, "overloaded", "the model's server has too much to do for now"),
    _Row(ConnectionFailed, 503, "upstream_unavailable", "the model's server cannot be reached", for_program=False),
    _Row(ProviderUnavailable, 503, "upstream_unavailable", "the model's server failed"),
    _Row(StreamTruncated, 502, "upstream_error", "the answer broke off"),
    _Row(
        InvalidHook,
        500,
        "misconfigured",
        "this service cannot answer; its operator has to mend that",
        for_program=False,
    ),
    _Row(
        Unpriceable,
        500,
        "misconfigured",
        "what this model may cost is not known, so the budget of this service holds it back; its operator has to mend that",
        for_program=False,
    ),
    _Row(LLMError, 502, "upstream_error", "the model's server failed"),
    _Row(EmptyResponse, 502, "upstream_error", "the model said nothing"),
    _Row(AnswerBusy, 409, "busy", "an answer is under way here", for_program=False),
    _Row(AnswerLost, 503, "answer_lost", "the answer broke off: the server that wrote it is gone; ask again"),
    _Row(AnswerTooLarge, 500, "answer_too_large", "the answer is too long for this service"),
    _Row(RunCanceled, 409, "canceled", "this run was called off", for_program=False),
    _Row(HistoryBusy, 503, "busy", "another answer of this conversation is under way", for_program=False),
    *(_Row(kind, 503, "store_unavailable", _NO_STORE, for_program=False) for kind in _UNAVAILABLE),
)


def explain_failure(error: Exception, *, in_full: bool = False) -> Refusal:
    """Return what a client is told of an error: no key is in it, and nothing of what a program's own errors say.

    Args:
        error: what has failed.
        in_full: whether the client is told what the model's server said of it, too.
    """
    if isinstance(error, Refusal):
        return error
    if isinstance(error, FailureAfterTools):
        return replace(explain_failure(error.failure, in_full=in_full), may_pass=False)
    row = next((row for row in _ROWS if isinstance(error, row.kind)), None)
    if row is None:
        return Refusal(status=500, message=_FAILED, words=_FAILED, may_pass=False)
    return Refusal(
        status=row.status,
        message=redact(str(error)) if row.for_program and (in_full or _is_ours(error)) else row.words,
        code=row.code,
        retry_after=_find_pause(error, row.status),
        may_pass=(row.status < 429 and row.status != 409) or _may_pass(error),
        words=row.words,
    )


def _is_ours(error: Exception) -> bool:
    """Say whether hocket found the fault itself, in the request: then no server had a say."""
    return not isinstance(error, LLMError) or (isinstance(error, Unsupported) and error.status is None)


def _may_pass(error: Exception) -> bool:
    """Say whether the same request may be answered later, as hocket's own retries have it."""
    if isinstance(error, LLMError):
        passes = error.retryable or error.retry_after is not None
        return passes and not isinstance(error, QuotaExceeded | AuthenticationError)
    return isinstance(error, (HistoryBusy, *_UNAVAILABLE))


def _find_pause(error: Exception, status: int) -> float | None:
    """Return after how many seconds another try may do better, if that is known."""
    if isinstance(error, BudgetExceeded) and error.resets_at is not None:
        return max(error.resets_at - time.time(), 0.0)
    return error.retry_after if isinstance(error, LLMError) and status in (429, 503) else None
