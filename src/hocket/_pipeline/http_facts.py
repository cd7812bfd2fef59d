"""The HTTP status and request id of a provider's refusal, for handlers."""

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["http_facts"]

_REQUEST_ID = ("x-request-id", "request-id")  # OpenAI's header and Anthropic's


def http_facts(error: BaseException) -> dict[str, Any]:
    """Return HTTP status and request id, if ``error`` has a ``response`` as httpx's errors have; else nothing.

    LangChain passes on all headers and the body too; traces are no place for what may be in them.
    """
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int):
        return {}
    headers = getattr(response, "headers", None)
    found: Mapping[str, object] = cast("Mapping[str, object]", headers) if isinstance(headers, Mapping) else {}
    request_id: object = getattr(error, "request_id", None) or next(
        (found[name] for name in _REQUEST_ID if name in found), None
    )
    return {"status_code": status, **({"request_id": request_id} if request_id else {})}
