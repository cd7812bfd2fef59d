"""How a run ended, as facts: tokens, the model that answered, why it stopped, which kind of error. For any telemetry."""

from collections.abc import Collection, Mapping
from typing import NamedTuple, cast
from uuid import UUID

from hocket.errors import LLMError
from hocket.messages import AIMessage, UsageMetadata, add_usage
from hocket.outputs import ChatGeneration, Generation, LLMResult
from hocket.tracing.conventions import CANCELLED

__all__ = ["RunOutcome", "error_code", "error_type", "find_failed_run", "mark_failed_run", "read_outcome"]

Facts = Mapping[str, object]


class RunOutcome(NamedTuple):
    """What a result says.

    Attributes:
        usage: the tokens of all its candidates that are to be paid for; None: none are told.
        finish_reasons: of each candidate that tells one.
        facts: what is said of the first candidate.
        id: the provider's, of the answer; None: it has none.
        is_cached: whether it was not paid for by this call.
    """

    usage: UsageMetadata | None
    finish_reasons: list[str]
    facts: Facts
    id: str | None
    is_cached: bool


def read_outcome(response: LLMResult | None) -> RunOutcome:
    """Return what a result says; None: there is none."""
    usage: UsageMetadata | None = None
    reasons: list[str] = []
    first: Facts = {}
    first_id: str | None = None
    is_cached = False
    output: Facts = (response.llm_output or {}) if response is not None else {}
    for candidates in () if response is None else response.generations:
        for candidate in candidates:
            facts, used, id_ = _read_candidate(candidate)
            if not first:
                first, first_id = facts, id_
            if reason := facts.get("finish_reason") or facts.get("stop_reason"):
                reasons.append(str(reason))
            if facts.get("cache_hit"):
                is_cached = True
            elif used is not None:
                usage = used if usage is None else add_usage(usage, used)
    if usage is None and not is_cached:
        usage = _read_counts(output.get("token_usage") or first.get("token_usage"))
    return RunOutcome(usage, reasons, {**output, **first} if output else first, first_id, is_cached)


def _read_candidate(candidate: Generation) -> tuple[Facts, UsageMetadata | None, str | None]:
    """Return what is said of a candidate, its tokens, and its id."""
    if not isinstance(candidate, ChatGeneration):
        return candidate.generation_info or {}, None, None
    message = candidate.message
    facts: Facts = message.response_metadata
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    id_ = facts.get("id") or message.id
    return facts, usage, str(id_) if id_ and not str(id_).startswith(("lc_run-", "run-")) else None


def _read_counts(counts: object) -> UsageMetadata | None:
    """Return the tokens that a text model tells, in its provider's words."""
    if not isinstance(counts, Mapping):
        return None
    said = cast(Facts, counts)
    used = [said.get(name, said.get(other)) for name, other in _COUNTS]
    if not all(isinstance(number, int) for number in used):
        return None
    given, made = cast("list[int]", used)
    return {"input_tokens": given, "output_tokens": made, "total_tokens": given + made}


_COUNTS = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))

# -- failures


_CANCELLATIONS = frozenset({"asyncio.exceptions.CancelledError", "trio.Cancelled"})  # by name: neither is imported here


def error_type(error: BaseException) -> str:
    """Return the kind of an error: its class, with its module; of a cancellation, `CANCELLED`."""
    if any(f"{base.__module__}.{base.__qualname__}" in _CANCELLATIONS for base in type(error).__mro__):
        return CANCELLED
    cls = type(error)
    module = "hocket.errors" if cls.__module__.startswith("hocket.errors.") else cls.__module__
    return cls.__qualname__ if module == "builtins" else f"{module}.{cls.__qualname__}"


def mark_failed_run(error: BaseException, run_id: UUID) -> None:
    """Note on an error the run that it came from."""
    vars(error)[_FAILED_RUN] = run_id


def find_failed_run(error: BaseException, among: Collection[UUID]) -> UUID | None:
    """Return the run that an error, or what it was raised from, has come from; None: it is none of these.

    One object may be raised again, by a run that has nothing to do with the first one.
    """
    cause: BaseException | None = error
    seen = set[int]()
    while among and cause is not None and id(cause) not in seen:
        if (run_id := vars(cause).get(_FAILED_RUN)) in among:
            return cast(UUID, run_id)
        seen.add(id(cause))
        cause = cause.__cause__
    return None


_FAILED_RUN = "_hocket_failed_run"


def error_code(error: BaseException) -> str:
    """Return what is shown of an error without its message, in which content may be quoted."""
    return error.code.value if isinstance(error, LLMError) else error_type(error)
