"""Every error and warning that hocket raises on its own account, in one tree.

    Exception
    └── HocketError
        ├── InvalidInput (ValueError)        an argument no model could use: its type, its shape, its length
        ├── InvalidHook (TypeError)          a subclass without a usable hook, or a hook that returned nonsense
        ├── EmptyResponse (ValueError)       a model that ended without saying anything
        ├── CacheMissing (ValueError)        `cache=True` without a cache to use
        ├── LoadError (ValueError)           data that names a type which may not be built
        ├── OutputParserException (ValueError)  what a model said is not what the parser takes
        ├── MissingDependency (ImportError)  an optional package or its data is not installed
        ├── UnknownModel (ValueError)        a model name that nobody registered
        ├── LocalModelError (RuntimeError)   the embedded model cannot be loaded, or refused a request
        ├── SyncInLoop (RuntimeError)        a sync verb called where only its async twin can work
        ├── LLMError                         a model's server, or the way to it, failed; `code` says how:
        │   ├── AuthenticationError          authentication        the key is missing, wrong or may not do this
        │   │   └── PermissionDenied
        │   ├── RateLimitError               rate_limit            too many requests or tokens for now
        │   ├── QuotaExceeded                quota_exceeded        the account is empty; waiting does not help
        │   ├── InvalidRequest (ValueError)  invalid_request       the server refused the request as it stands
        │   │   ├── ContextLengthExceeded    token_limit           the conversation is longer than the model's window
        │   │   └── ContentFiltered          content_filter        a filter stopped the request or the answer
        │   ├── ResourceNotFound             resource_not_found    no such model, file or path
        │   ├── RequestTimeout (TimeoutError)     timeout          no answer in time
        │   │   ├── ConnectTimeout                                 no connection in time
        │   │   ├── FirstTokenTimeout                              a stream that did not begin in time
        │   │   ├── IdleTimeout                                    a stream that fell silent
        │   │   └── TotalTimeout                                   all of it took too long
        │   ├── RequestCanceled              canceled              the server says that the request was called off
        │   ├── ProviderUnavailable          provider_unavailable  the server failed or is not there
        │   │   ├── Overloaded
        │   │   └── ConnectionFailed (ConnectionError)             refused, reset, no such host
        │   ├── Unsupported                  not_implemented       the provider cannot do what was asked
        │   ├── InvalidReply                 unknown               the reply is not what its format says, or too large
        │   └── StreamTruncated              unknown               a stream ended before its terminal event
        ├── ToolException                    a tool failed, in words that the model may hear
        │   ├── RetryTool                    the model is to call it again, differently
        │   └── ToolTimeout (TimeoutError)   a tool took longer than it may
        ├── StopRun                          a tool ends the run that its call belongs to
        ├── ScriptExhausted (LookupError)    a scripted model was asked more often than its script says
        └── FakeListLLMError                 the failure that a fake was told to raise

    Warning
    └── HocketWarning (UserWarning)          shown by default, unlike DeprecationWarning
        ├── BlockingCallWarning              a sync verb holds up a running event loop
        └── DroppedStateWarning              pickling left something behind

Most also derive from the builtin that langchain-core raises in the same place, so that ``except ValueError`` written
for it goes on working. A message names the value, the limit that it broke and the way out.
"""

from enum import StrEnum
from typing import Any, ClassVar, Self

__all__ = [
    "AuthenticationError",
    "BlockingCallWarning",
    "CacheMissing",
    "ConnectTimeout",
    "ConnectionFailed",
    "ContentFiltered",
    "ContextLengthExceeded",
    "DroppedStateWarning",
    "EmptyResponse",
    "ErrorCode",
    "FakeListLLMError",
    "FirstTokenTimeout",
    "HocketError",
    "HocketWarning",
    "IdleTimeout",
    "InvalidHook",
    "InvalidInput",
    "InvalidReply",
    "InvalidRequest",
    "LLMError",
    "LoadError",
    "LocalModelError",
    "MissingDependency",
    "OutputParserException",
    "Overloaded",
    "PermissionDenied",
    "ProviderUnavailable",
    "QuotaExceeded",
    "RateLimitError",
    "RequestCanceled",
    "RequestTimeout",
    "ResourceNotFound",
    "RetryTool",
    "ScriptExhausted",
    "StopRun",
    "StreamTruncated",
    "SyncInLoop",
    "ToolException",
    "ToolTimeout",
    "TotalTimeout",
    "UnknownModel",
    "Unsupported",
]


class HocketError(Exception):
    """Base class of every exception that hocket raises on its own account."""


class InvalidInput(HocketError, ValueError):
    """An argument that no model could use. Raised before a run starts: no handler hears of it and nothing is sent."""


class InvalidHook(HocketError, TypeError):
    """A model class that defines no hook, or a hook that returned something other than its contract says."""


class EmptyResponse(HocketError, ValueError):
    """A model that ended without a generation, or a stream that ended without a chunk."""


class CacheMissing(HocketError, ValueError):
    """A model with ``cache=True`` was called while no global cache is set."""


class LoadError(HocketError, ValueError):
    """Serialised data names a type that is not registered or not allowed, or is damaged."""


class OutputParserException(HocketError, ValueError):
    """What a model said, ``llm_output``, is not what a parser takes; ``observation`` says so in words for the model.

    An agent shows both to the model if ``send_to_llm``: then both must be given. ``raw`` is the whole message, where
    structured output was read from one.
    """

    def __init__(
        self, error: Any, observation: str | None = None, llm_output: str | None = None, send_to_llm: bool = False
    ) -> None:
        if send_to_llm and (observation is None or llm_output is None):
            raise InvalidInput("send_to_llm=True needs observation=... and llm_output=..., which the model is to see")
        super().__init__(error)
        self.observation, self.llm_output, self.send_to_llm = observation, llm_output, send_to_llm
        self.raw: Any = None


class MissingDependency(HocketError, ImportError):
    """An optional package, or the data it ships, is not installed; the message names the command that installs it."""


class UnknownModel(HocketError, ValueError):
    """A model name that no provider answers to; the message lists the ones that exist."""


class LocalModelError(HocketError, RuntimeError):
    """The embedded model could not be loaded, or refused a request (too long for its window, for example)."""


class SyncInLoop(HocketError, RuntimeError):
    """A sync verb was called on hocket's own event loop, where waiting for it would never end. Await its async twin."""


class ToolException(HocketError):
    """A tool failed, and its text may go to the model: see `BaseTool.handle_tool_error` (LangChain's name)."""


class RetryTool(ToolException):
    """Raised by a tool: the model is told the text and may call the tool again, whatever ``handle_tool_error`` says."""


class ToolTimeout(ToolException, TimeoutError):
    """A tool took longer than whoever ran it allowed."""


class StopRun(HocketError):
    """Raised by a tool to end the run that its call belongs to, instead of handing the model a result.

    Args:
        message: why; also what the conversation shows as the result of the call.
        value: whatever the tool wants to hand to who runs it.

    Attributes:
        results: the messages that answer all calls of the turn, this one included, so that the conversation stays whole;
            filled in by `hocket.tools.arun_tool_calls`.
    """

    def __init__(self, message: str = "", value: Any = None) -> None:
        super().__init__(message)
        self.value = value
        self.results: list[Any] = []


class ScriptExhausted(HocketError, LookupError):
    """A scripted model, or server, was asked once more than its script says."""


class FakeListLLMError(HocketError):
    """The failure that a fake model was told to raise, at ``error_on_chunk_number`` (LangChain's name)."""


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

    As text: ``provider: code: what happened, and the way out``. No secret is in it, nor in any attribute.

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
    """

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
        partial: Any = None,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.args = (message,)  # OSError, above some of these, keeps its own
        self.message = message
        self.provider = provider
        self.model = model
        self.status = status
        self.provider_code = provider_code
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after
        self.partial = partial
        self.details: dict[str, Any] = {} if details is None else details

    def __str__(self) -> str:
        return ": ".join(part for part in (self.provider, str(self.code), self.message) if part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (type(self), self.args, self.__dict__)

    @classmethod
    def within(cls, error: BaseException | None) -> Self | None:
        """Return the first error of this class in ``error``'s chain of causes, itself included; None if there is none."""
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            if isinstance(error, cls):
                return error
            seen.add(id(error))
            error = error.__cause__ or error.__context__
        return None


def _revived(cls: type[LLMError], args: tuple[Any, ...], state: dict[str, Any]) -> LLMError:
    """Return an unpickled error. (An exception is pickled by its positional arguments alone otherwise.)"""
    error = cls.__new__(cls, *args)
    error.__dict__.update(state)
    return error


class AuthenticationError(LLMError):
    """The key is missing, wrong or expired."""

    code = ErrorCode.AUTHENTICATION


class PermissionDenied(AuthenticationError):
    """The key is good, but not for this: a model, a region, an organisation."""


class RateLimitError(LLMError):
    """Too many requests or tokens for now. ``retry_after`` says for how long, where the server said so."""

    code = ErrorCode.RATE_LIMIT


class QuotaExceeded(LLMError):
    """The account has no credit left, or has reached its limit for good: to wait, or to try again, does not help."""

    code = ErrorCode.QUOTA_EXCEEDED


class InvalidRequest(LLMError, ValueError):
    """The server refused the request as it stands; the same request will fail again."""

    code = ErrorCode.INVALID_REQUEST


class ContextLengthExceeded(InvalidRequest):
    """The conversation, with the answer's reserve, is longer than the model's window: shorten it."""

    code = ErrorCode.TOKEN_LIMIT


class ContentFiltered(InvalidRequest):
    """A content filter stopped the request or the answer."""

    code = ErrorCode.CONTENT_FILTER


class ResourceNotFound(LLMError):
    """No such model, file or path. The key may lack access to it: providers do not tell these apart."""

    code = ErrorCode.RESOURCE_NOT_FOUND


class RequestTimeout(LLMError, TimeoutError):
    """No answer in time: ours, or the server's own."""

    code = ErrorCode.TIMEOUT


class ConnectTimeout(RequestTimeout):
    """No connection in time: nothing was sent."""


class FirstTokenTimeout(RequestTimeout):
    """A stream brought nothing in time. What keeps a connection alive, but says nothing, does not count."""


class IdleTimeout(RequestTimeout):
    """A stream that had begun brought nothing more in time; ``partial`` has what came."""


class TotalTimeout(RequestTimeout):
    """The call took too long, with its waits and all of its attempts; ``partial`` has what came."""


class RequestCanceled(LLMError):
    """The server says that the request was called off. (A cancelled caller gets its own framework's exception.)"""

    code = ErrorCode.CANCELED


class ProviderUnavailable(LLMError):
    """The server failed on its side, or is not there."""

    code = ErrorCode.PROVIDER_UNAVAILABLE


class Overloaded(ProviderUnavailable):
    """The server has too much to do, whoever asks."""


class ConnectionFailed(ProviderUnavailable, ConnectionError):
    """No connection, or one that broke before the reply was whole: refused, reset, no such host, no valid certificate."""


class Unsupported(LLMError):
    """The provider, or this model of it, cannot do what was asked. Mostly raised before anything is sent."""

    code = ErrorCode.NOT_IMPLEMENTED


class InvalidReply(LLMError):
    """A reply that is not what its format says (HTML, half of a JSON document, no candidates), or that is too large."""


class StreamTruncated(LLMError):
    """A stream ended before its terminal event: what came, in ``partial``, is not the whole answer."""


class HocketWarning(UserWarning):
    """Base class of hocket's warnings."""


class BlockingCallWarning(HocketWarning):
    """A sync verb was called while an event loop runs in this thread: the loop stands still until it returns."""


class DroppedStateWarning(HocketWarning):
    """Pickling left something behind that cannot travel: a cache, a rate limiter, callbacks."""
