"""How the command ends: a code that a script can act on, and one line on standard error that says why."""

import sys
import traceback

from hocket.errors import ErrorCode, HocketError, LLMError, StreamTruncated, UnknownModel

__all__ = ["EXIT_CODES", "INTERRUPTED", "MISUSED", "PIPE_CLOSED", "exit_code", "note", "one_line", "report"]

FAILED, MISUSED, ACCOUNT, MODEL, UNREACHABLE, LIMITED, TRUNCATED = range(1, 8)  # 2 is argparse's
INTERRUPTED = 128 + 2  # SIGINT: the shell's own code for a command that Ctrl-C ended
PIPE_CLOSED = 128 + 13  # SIGPIPE, a number that Windows has no name for

EXIT_CODES = {
    0: "answered",
    FAILED: "failed for another reason",
    MISUSED: "misused: an option or argument is wrong",
    ACCOUNT: "the key is missing or refused, or the account is empty",
    MODEL: "no such provider, or no such model on the server",
    UNREACHABLE: "the server cannot be reached, fails, or takes too long: try again later",
    LIMITED: "too many requests or tokens for now: try again later",
    TRUNCATED: "the answer broke off before its end",
    INTERRUPTED: "Ctrl-C",
    PIPE_CLOSED: "nobody reads the output",
}

_OF_CODE = {
    ErrorCode.AUTHENTICATION: ACCOUNT,
    ErrorCode.QUOTA_EXCEEDED: ACCOUNT,
    ErrorCode.RESOURCE_NOT_FOUND: MODEL,
    ErrorCode.PROVIDER_UNAVAILABLE: UNREACHABLE,
    ErrorCode.TIMEOUT: UNREACHABLE,
    ErrorCode.RATE_LIMIT: LIMITED,
}


def exit_code(error: BaseException) -> int:
    """Return the exit code of an error, by `EXIT_CODES`."""
    if isinstance(error, UnknownModel):
        return MODEL
    if isinstance(error, StreamTruncated):
        return TRUNCATED
    return _OF_CODE.get(error.code, FAILED) if isinstance(error, LLMError) else FAILED


def note(text: str) -> None:
    """Say something that is not part of an answer, in one line."""
    print(f"hocket: {text}", file=sys.stderr, flush=True)


def report(error: Exception, *, debug: bool) -> None:
    """Say what went wrong, in one line; with ``debug`` as a traceback."""
    if debug:
        traceback.print_exception(error)
    else:
        note(one_line(error))


def one_line(error: Exception) -> str:
    """Return an error as one line: hocket's own say all themselves, others need their type."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return _refusal(error)
    text = " ".join(str(error).split())
    return text if text and isinstance(error, HocketError) else f"{type(error).__name__}: {text}"


def _refusal(error: Exception) -> str:
    """Return what a model's class says of its options, of the first that it refuses."""
    first = error.errors(include_url=False)[0]  # type: ignore[attr-defined]
    name = ".".join(map(str, first["loc"])) or "option"
    if first["type"] == "extra_forbidden":
        return f"{error.title} has no option {name!r}"  # type: ignore[attr-defined]
    if first["type"] == "missing":
        return f"{error.title} needs the option {name!r}"  # type: ignore[attr-defined]
    return f"{name}={first['input']!r} will not do: {first['msg']}"
