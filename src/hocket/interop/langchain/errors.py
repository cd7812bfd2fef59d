"""What LangChain's models raise, in hocket's tree of errors."""

from collections.abc import Mapping

from langchain_core import exceptions as lc

from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    ContextLengthExceeded,
    InvalidRequest,
    LLMError,
    PermissionDenied,
    ProviderUnavailable,
    QuotaExceeded,
    RateLimitError,
    RequestTimeout,
    ResourceNotFound,
)
from hocket.http.failures import classify_error

__all__ = ["error_from_langchain"]

_CLASSES: Mapping[str, type[LLMError]] = {
    "ContextOverflowError": ContextLengthExceeded,
    "ModelAuthenticationError": AuthenticationError,
    "ModelPermissionDeniedError": PermissionDenied,
    "ModelNotFoundError": ResourceNotFound,
    "ModelRateLimitError": RateLimitError,
    "ModelTimeoutError": RequestTimeout,
    "ModelConnectionError": ConnectionFailed,
    "ModelInvalidRequestError": InvalidRequest,
    "ModelAPIError": ProviderUnavailable,
    "ModelError": LLMError,
}
"""LangChain's errors of models, by name: the first versions of langchain-core 1 have none."""


def error_from_langchain(error: Exception, provider: str | None, model: str | None) -> LLMError | None:
    """Return what a model of LangChain's raised as an error of hocket's; None: it is no failure of a server.

    LangChain's class says what failed, and whether another try may help. An SDK's error beside it, with the server's
    status and words, may say more: that an account is empty, for one. Where there is only the latter, it decides.

    Args:
        error: what was raised.
        provider, model: who was asked, where known.
    """
    cls = next((_CLASSES[base.__name__] for base in type(error).__mro__ if _is_model_error(base)), None)
    status = getattr(error, "status_code", None)
    if cls is None and not isinstance(status, int):
        return None
    status = status if isinstance(status, int) else None
    headers: Mapping[object, object] = getattr(getattr(error, "response", None), "headers", None) or {}
    body = getattr(error, "body", None) or {"error": {"message": str(error)}}
    if status is not None:
        named = {str(key).lower(): str(value) for key, value in headers.items()}
        made = classify_error(status, named, body, provider=provider, model=model)
        if cls is None or isinstance(made, QuotaExceeded):
            return made
        if not isinstance(made, cls):
            made = _rebuild(made, cls)
    else:
        assert cls is not None
        made = cls(str(error), provider=provider, model=model)
    made.retryable = bool(getattr(error, "is_retryable", made.retryable))
    return made


def _is_model_error(cls: type) -> bool:
    return cls.__name__ in _CLASSES and cls is getattr(lc, cls.__name__, None)


def _rebuild(error: LLMError, cls: type[LLMError]) -> LLMError:
    """Return an error of class ``cls`` with what ``error`` says."""
    return cls(
        error.message,
        provider=error.provider,
        model=error.model,
        status=error.status,
        provider_code=error.provider_code,
        request_id=error.request_id,
        retry_after=error.retry_after,
        details=error.details,
    )
