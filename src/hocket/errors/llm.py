"""Failures of a model's server, or of the way to it: one class for each way to react."""

from enum import StrEnum
from typing import Any, ClassVar, Self, cast

from hocket.errors.own import HocketError

__all__ = [
    "AuthenticationError",
    "ConnectTimeout",
    "ConnectionFailed",
    "ContentFiltered",
    "ContextLengthExceeded",
    "ErrorCode",
    "FirstTokenTimeout",
    "IdleTimeout",
    "InvalidReply",
    "InvalidRequest",
    "LLMError",
    "Overloaded",
    "PermissionDenied",
    "ProviderUnavailable",
    "QuotaExceeded",
    "RateLimitError",
    "RequestCanceled",
    "RequestTimeout",
    "ResourceNotFound",
    "StreamTruncated",
    "TotalTimeout",
    "Unsupported",
]


class ErrorCode(StrEnum):
    """What kind of failure an `LLMError` is: one word that stays the same over all providers, for logs and metrics."""

    UNKNOWN = "unknown"
    AUTHENTICATION = "authentication"
    RATE_LIMIT = "rate_limit"
    INVALID_REQUEST = "invalid_request"
    RESOURCE_NOT_FOUND = "resource_not_found"
    TIMEOUT = "timeout"
    CANCELED = "canceled"
    QUOTA_EXCEEDED = "quota_exceeded"
    CONTENT_FILTER = "content_filter"
    TOKEN_LIMIT = "token_limit"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    NOT_IMPLEMENTED = "not_implemented"


class LLMError(HocketError):
    """A model's server failed, refused, or could not be reached; itself only where nothing more is known.

    As text: ``provider: code: what happened, and the way out``, without a code that is "unknown". No secret is in it,
    nor in any attribute.

    Attributes:
        code: what kind of failure, the same word for every provider.
        provider, model: who was asked, where known.
        status: of the HTTP reply; None: there was none.
        provider_code: the server's own word for it (``insufficient_quota``).
        request_id: the server's name for the request, to quote to its support.
        retryable: whether the same request, sent again, may succeed.
        retry_after: seconds after which the server asks to be tried again; None: it did not say.
        partial: the message as far as it had come, where a stream failed.
        details: what else the server said, as data.
        was_sent: whether the request was sent, as far as is known: if not, it cannot have cost anything.
    """

    was_sent: bool = True

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN

    def __init__(
        self,
        message: str = "",
        *,
        provider: str | None = None,
        model: str | None = None,
        status: int | None = None,
        provider_code: str | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        partial: object = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.args: tuple[object, ...] = (message,)  # OSError, above some of these, keeps its own
        self.message = message
        self.provider = provider
        self.model = model
        self.status = status
        self.provider_code = provider_code
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after
        self.partial: Any = partial
        self.details: dict[str, Any] = {} if details is None else details

    def __str__(self) -> str:
        code = "" if self.code in _SILENT_CODES else self.code.value
        return ": ".join(part for part in (self.provider, code, self.message) if part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.args, self.__dict__)

    @classmethod
    def within(cls, error: BaseException | None) -> Self | None:
        """Return the first error of this class that is ``error``, in an exception group, or a cause of either.

        A group's members come before its cause, in their order.

        Returns:
            the error; None: there is none, or ``error`` is None.
        """
        seen: set[int] = set()
        waiting = [error]
        while waiting:
            error = waiting.pop()
            if error is None or id(error) in seen:
                continue
            if isinstance(error, cls):
                return error
            seen.add(id(error))
            waiting.append(error.__cause__ or error.__context__)
            if isinstance(error, BaseExceptionGroup):
                waiting.extend(reversed(cast("BaseExceptionGroup[BaseException]", error).exceptions))
        return None


_SILENT_CODES = frozenset({ErrorCode.UNKNOWN, ErrorCode.NOT_IMPLEMENTED})
"""Words that a message is better without: one says nothing, the other sounds as if hocket lacked something."""


def _restore(cls: type[LLMError], args: tuple[Any, ...], state: dict[str, Any]) -> LLMError:
    """Return an unpickled error. (An exception is pickled by its positional arguments alone otherwise.)"""
    error = cls.__new__(cls, *args)
    error.args = args  # OSError, above some of these, does not keep them
    error.__dict__.update(state)
    return error


class AuthenticationError(LLMError):
    """The key is missing, wrong or expired."""

    page = "errors.md#authentication"
    code = ErrorCode.AUTHENTICATION


class PermissionDenied(AuthenticationError):
    """The key is good, but not for this: a model, a region, an organisation."""


class RateLimitError(LLMError):
    """Too many requests or tokens for now. ``retry_after`` says for how long, where the server said so."""

    page = "errors.md#rate-limit"
    code = ErrorCode.RATE_LIMIT


class QuotaExceeded(LLMError):
    """The account has no credit left, or has reached its limit: waiting, or trying again, does not help."""

    page = "errors.md#quota"
    code = ErrorCode.QUOTA_EXCEEDED


class InvalidRequest(LLMError, ValueError):
    """The server refused the request; the same request will fail again."""

    page = "errors.md#invalid-request"
    code = ErrorCode.INVALID_REQUEST


class ContextLengthExceeded(InvalidRequest):
    """The conversation, with the answer's reserve, is longer than the model's window: shorten it."""

    page = "errors.md#too-long"
    code = ErrorCode.TOKEN_LIMIT


class ContentFiltered(InvalidRequest):
    """A content filter stopped the request or the answer."""

    page = "errors.md#content-filter"
    code = ErrorCode.CONTENT_FILTER


class ResourceNotFound(LLMError):
    """No such model, file or path. The key may lack access to it: providers do not tell these apart."""

    page = "errors.md#not-found"
    code = ErrorCode.RESOURCE_NOT_FOUND


class RequestTimeout(LLMError, TimeoutError):
    """No answer in time: ours, or the server's own."""

    page = "timeouts-and-retries.md#limits-on-time"
    code = ErrorCode.TIMEOUT


class ConnectTimeout(RequestTimeout):
    """No connection in time: nothing was sent."""

    was_sent = False


class FirstTokenTimeout(RequestTimeout):
    """A stream brought nothing in time. What keeps a connection alive, but says nothing, does not count."""


class IdleTimeout(RequestTimeout):
    """A stream that had begun brought nothing more in time; ``partial`` has what came."""


class TotalTimeout(RequestTimeout):
    """The call took too long, with its waits and all of its attempts; ``partial`` has what came."""


class RequestCanceled(LLMError):
    """The server says that the request was called off. (A cancelled caller gets its own framework's exception.)"""

    page = "errors.md#canceled"
    code = ErrorCode.CANCELED


class ProviderUnavailable(LLMError):
    """The server failed on its side, or is not there."""

    page = "errors.md#not-there"
    code = ErrorCode.PROVIDER_UNAVAILABLE


class Overloaded(ProviderUnavailable):
    """The server has too much to do, for all its clients."""


class ConnectionFailed(ProviderUnavailable, ConnectionError):
    """No connection, or one that broke before the reply was whole: refused, reset, no such host, no valid certificate."""


class Unsupported(LLMError):
    """The provider, or this model of it, does not support what was asked. Mostly raised before anything is sent.

    Attributes:
        options: the names of the options that it cannot take: without them the same call may be made. (): it is no option.
    """

    page = "options.md#what-a-model-cannot-take"
    was_sent = False
    code = ErrorCode.NOT_IMPLEMENTED

    def __init__(self, message: str = "", /, *, options: tuple[str, ...] = (), **facts: Any) -> None:
        super().__init__(message, **facts)
        self.options = options


class InvalidReply(LLMError):
    """A reply that is not what its format says (HTML, half of a JSON document, no candidates), or that is too large."""

    page = "errors.md#invalid-reply"


class StreamTruncated(LLMError):
    """A stream ended before its terminal event: what came, in ``partial``, is not the whole answer."""

    page = "errors.md#broken-off"
    code = ErrorCode.PROVIDER_UNAVAILABLE
