"""Handlers of what a provider's own SDK raises. LangChain lets those errors through; hocket needs no SDK and has its own.

Such a handler still is Python, and never runs: so each is told. It is not rewritten, for the program may ask the SDK
elsewhere.
"""

import libcst as cst
from libcst.metadata import QualifiedName, QualifiedNameSource

__all__ = ["describe_own_error", "list_caught"]

_SDKS = ("openai.", "anthropic.", "mistralai.", "cohere.", "ollama.", "google.genai.", "google.api_core.", "groq.")

_OWN = {
    "APIConnectionError": "ConnectionFailed",
    "APITimeoutError": "RequestTimeout",
    "AuthenticationError": "AuthenticationError",
    "BadRequestError": "InvalidRequest",
    "ConflictError": "InvalidRequest",
    "InternalServerError": "ProviderUnavailable",
    "NotFoundError": "ResourceNotFound",
    "PermissionDeniedError": "PermissionDenied",
    "RateLimitError": "RateLimitError",
    "ResourceExhausted": "RateLimitError",
    "UnprocessableEntityError": "InvalidRequest",
}
"""The names of the SDKs' errors, and hocket's; of all others it is `LLMError`."""


_OF_PYDANTIC = frozenset({"pydantic.ValidationError", "langchain_core.pydantic_v1.ValidationError"})


def list_caught(handler: cst.ExceptHandler) -> list[cst.BaseExpression]:
    """Return the classes that an ``except`` names."""
    if isinstance(handler.type, cst.Tuple):
        return [one.value for one in handler.type.elements]
    return [] if handler.type is None else [handler.type]


def describe_own_error(names: frozenset[QualifiedName], *, is_structured: bool = False) -> str | None:
    """Return what to catch instead of a class that is an SDK's; None: it is none.

    Args:
        names: what the class is called where it comes from.
        is_structured: whether the program asks models for objects, which pydantic checks.
    """
    for one in names:
        if is_structured and one.source is QualifiedNameSource.IMPORT and one.name in _OF_PYDANTIC:
            return "an object that does not fit raises hocket.errors.OutputParserException: catch that, too"
        if one.source is QualifiedNameSource.IMPORT and one.name.startswith(_SDKS):
            own = _OWN.get(one.name.rpartition(".")[2], "LLMError")
            return (
                f"hocket's models do not raise it, so what is caught here never comes: catch hocket.errors.{own}, whose "
                "status_code is called status"
            )
    return None
