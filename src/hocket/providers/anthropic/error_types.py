"""What Anthropic's API calls its errors. Source: https://docs.anthropic.com/en/api/errors"""

from collections.abc import Mapping

__all__ = ["ERROR_STATUSES", "get_error_type"]

ERROR_STATUSES: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status of each type of error, where it is not 500."""

_TYPES = {status: kind for kind, status in ERROR_STATUSES.items()}


def get_error_type(status: int) -> str:
    """Return the type of an error that a reply of this status tells."""
    return _TYPES.get(status, "invalid_request_error" if 400 <= status < 500 else "api_error")
