"""Which error a reply stands for: the shapes of all known servers, and the traps among them."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from hocket import errors
from hocket.errors import ErrorCode, LLMError
from hocket.http.error_body import read_error_body
from hocket.http.failures import OPEN, STATUSES, WAYS_OUT, classify_error, has_failed

FIXTURES = Path(__file__).parents[1] / "fixtures"


def said(text: str = "m", **fields: Any) -> dict[str, Any]:
    """An error in OpenAI's shape, which most others share."""
    return {"error": {"message": text, **fields}}


WINDOW = "This model's maximum context length is 4096 tokens"

# (status, body) → class, provider_code (...: tested elsewhere), retryable
REPLIES: list[tuple[int | None, Any, str, Any, bool]] = [
    # OpenAI
    (400, said(type="invalid_request_error", code=None), "InvalidRequest", "invalid_request_error", False),
    (401, said(type="invalid_request_error", code="invalid_api_key"), "AuthenticationError", "invalid_api_key", False),
    (404, said(code="model_not_found"), "ResourceNotFound", "model_not_found", False),
    (409, said(), "InvalidRequest", None, True),
    (429, said(type="requests", code="rate_limit_exceeded"), "RateLimitError", "rate_limit_exceeded", True),
    (400, said(code="content_policy_violation"), "ContentFiltered", "content_policy_violation", False),
    # Anthropic
    (400, said("prompt is too long: 9 > 8", type="invalid_request_error"), "ContextLengthExceeded", ..., False),
    (400, said("Your credit balance is too low", type="invalid_request_error"), "QuotaExceeded", ..., False),
    (402, said(type="billing_error"), "QuotaExceeded", "billing_error", False),
    (413, said(type="request_too_large"), "InvalidRequest", "request_too_large", False),
    (529, said(type="overloaded_error"), "Overloaded", "overloaded_error", True),
    # Google: a wrong key is a 400, and errors come in a list now and then
    (400, said(status="INVALID_ARGUMENT", details=[{"reason": "API_KEY_INVALID"}]), "AuthenticationError", ..., False),
    (429, [said(code=429, status="RESOURCE_EXHAUSTED")], "RateLimitError", "RESOURCE_EXHAUSTED", True),
    (504, said(code=504, status="DEADLINE_EXCEEDED"), "RequestTimeout", "DEADLINE_EXCEEDED", True),
    # Mistral, vLLM's older form, FastAPI
    (401, {"detail": "Unauthorized"}, "AuthenticationError", None, False),
    (422, {"detail": [{"loc": ["body", "x"], "msg": "Extra inputs"}]}, "InvalidRequest", None, False),
    (429, {"object": "error", "message": "m", "type": "rate_limited", "code": "1300"}, "RateLimitError", "1300", True),
    (400, {"object": "error", "message": WINDOW, "type": "BadRequestError"}, "ContextLengthExceeded", ..., False),
    # Cohere, Ollama, llama.cpp
    (498, {"id": "x", "message": "m"}, "AuthenticationError", None, False),
    (499, {"id": "x", "message": "m"}, "RequestCanceled", None, False),
    (400, {"error": '"x" does not support tools'}, "Unsupported", None, False),
    (404, {"error": "model 'x' not found"}, "ResourceNotFound", None, False),
    (400, said(code=400, type="exceed_context_size_error"), "ContextLengthExceeded", ..., False),
    (
        500,
        said("input (4097 tokens) is too large to process", type="server_error"),
        "ContextLengthExceeded",
        ...,
        False,
    ),
    (500, said("image input is not supported", code=500, type="server_error"), "Unsupported", ..., False),
    (503, said("Loading model", code=503, type="unavailable_error"), "ProviderUnavailable", ..., True),
    # a good status with a bad body, and an error event inside a stream
    (200, said("Provider returned error", code=502), "ProviderUnavailable", None, True),
    (200, said("Insufficient credits", code=402), "QuotaExceeded", None, False),
    (None, said(type="overloaded_error"), "Overloaded", "overloaded_error", True),
    (None, said("Provider disconnected", code="server_error"), "ProviderUnavailable", "server_error", True),
    (None, said("something odd"), "LLMError", None, False),
    # no JSON
    (503, "<html><head><title>503</title></head>bad gateway</html>", "ProviderUnavailable", None, True),
    (413, "Request Entity Too Large", "InvalidRequest", None, False),
    (500, "", "ProviderUnavailable", None, True),
    (302, "", "InvalidReply", None, False),
    (418, "short and stout", "InvalidRequest", None, False),
    (599, "?", "ProviderUnavailable", None, False),
]


@pytest.mark.parametrize(("status", "body", "kind", "code", "retryable"), REPLIES)
def test_a_reply_stands_for_an_error(status: int | None, body: Any, kind: str, code: Any, retryable: bool) -> None:
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    error = classify_error(status, {}, raw)
    assert (type(error).__name__, error.retryable) == (kind, retryable)
    assert code is ... or error.provider_code == code


# Status before text: each of these was read wrongly by a mapper that looks for parts of the text first.
@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (429, "token rate limit exceeded", "RateLimitError"),
        (429, "You have hit the tokens per minute limit: context length 400", "RateLimitError"),
        (429, "You exceeded your current quota", "QuotaExceeded"),
        (500, "error 401 while calling upstream: unauthorized", "ProviderUnavailable"),
        (503, "bad request", "ProviderUnavailable"),
        (400, "error 500 in field x", "InvalidRequest"),
        (403, "This feature is not supported in your region", "PermissionDenied"),
        (None, "token limit exceeded", "ContextLengthExceeded"),
        (None, "Too many requests", "RateLimitError"),
        (None, "401 Unauthorized", "AuthenticationError"),
        (None, "quota exceeded", "QuotaExceeded"),
        (None, "the request timed out", "RequestTimeout"),
        (None, "service unavailable", "ProviderUnavailable"),
        (None, "request was cancelled", "RequestCanceled"),
        (None, "model not found", "ResourceNotFound"),
        (None, "functions are not supported", "Unsupported"),
        (None, "blocked by the content filter", "ContentFiltered"),
        (None, "bad request", "InvalidRequest"),
        (None, "error 500", "LLMError"),
    ],
)
def test_status_counts_before_text(status: int | None, text: str, kind: str) -> None:
    assert type(classify_error(status, {}, {"error": text})).__name__ == kind


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("openai_*/err*.json")), ids=lambda path: path.stem)
def test_recorded_errors_have_the_class_of_their_status_or_a_finer_one(path: Path) -> None:
    recorded = json.loads(path.read_text())["response"]
    body = recorded["body"]
    error = classify_error(
        recorded["status"], recorded.get("headers", {}), body if isinstance(body, dict) else str(body).encode()
    )
    coarse = STATUSES.get(recorded["status"], errors.ProviderUnavailable)
    assert isinstance(error, coarse) or type(error) in OPEN.get(recorded["status"], ()), repr(error)
    assert error.status == recorded["status"]


def test_every_kind_has_one_code_and_every_code_a_kind() -> None:
    kinds = {getattr(errors, name) for name in errors.__all__ if _is_llm_error(getattr(errors, name))}
    assert {kind.code for kind in kinds} == set(ErrorCode)
    assert {str(code) for code in ErrorCode} == {
        "unknown", "authentication", "rate_limit", "invalid_request", "resource_not_found", "timeout", "canceled",
        "quota_exceeded", "content_filter", "token_limit", "provider_unavailable", "not_implemented",
    }  # fmt: skip


def test_an_error_says_who_what_and_the_way_out() -> None:
    error = classify_error(
        429,
        {"x-request-id": "req_1", "retry-after": "7"},
        {"error": {"message": "slow", "code": "rate_limit_exceeded", "param": "p"}},
        provider="openai",
        model="m",
    )
    assert str(error) == f"openai: rate_limit: slow; {WAYS_OUT[errors.RateLimitError]}"
    assert (error.provider, error.model, error.status, error.request_id, error.retry_after) == (
        "openai", "m", 429, "req_1", 7.0,
    )  # fmt: skip
    assert error.details == {"code": "rate_limit_exceeded", "param": "p"}


def test_the_server_has_the_last_word_on_whether_to_try_again() -> None:
    assert not classify_error(429, {"x-should-retry": "false"}, b"{}").retryable
    assert classify_error(400, {"x-should-retry": "true"}, b"{}").retryable
    assert not classify_error(
        429, {"x-should-retry": "true"}, {"error": {"message": "", "code": "insufficient_quota"}}
    ).retryable


def test_an_error_survives_pickling_with_all_it_knows() -> None:
    error = classify_error(503, {"retry-after-ms": "20", "request-id": "r"}, b"down", provider="p", model="m")
    error.partial = "so far"
    revived = pickle.loads(pickle.dumps(error))
    assert type(revived) is type(error)
    assert str(revived) == str(error)
    assert vars(revived) == vars(error)


@pytest.mark.parametrize("kind", [errors.TotalTimeout, errors.ConnectionFailed, errors.RateLimitError])
def test_an_error_that_is_a_builtin_too_keeps_its_arguments(kind: type[LLMError]) -> None:
    """`OSError`, above some, would lose them when unpickled."""
    revived = pickle.loads(pickle.dumps(kind("no answer", retry_after=2)))
    assert (revived.args, revived.retry_after, revived.page) == (("no answer",), 2, kind.page)


def test_the_page_of_an_error_is_a_note_and_not_in_its_text() -> None:
    error = errors.ConnectTimeout("no connection in 5 s")
    assert str(error) == "timeout: no connection in 5 s"
    assert error.__notes__ == ["hocket's docs/timeouts-and-retries.md#limits-on-time says more."]
    assert errors.InvalidInput("x is 5").page == ""
    assert not hasattr(errors.InvalidInput("x is 5"), "__notes__")
    refused = pickle.loads(pickle.dumps(errors.InvalidInput("no option", page="options.md")))
    assert (refused.page, refused.__notes__) == ("options.md", ["hocket's docs/options.md says more."])


def test_a_wrapped_error_is_found() -> None:
    inner = classify_error(429, {}, b"")
    try:
        try:
            raise inner
        except LLMError as error:
            raise RuntimeError("while answering") from error
    except RuntimeError as outer:
        assert errors.RateLimitError.within(outer) is inner
        assert errors.QuotaExceeded.within(outer) is None


def test_an_error_in_a_group_is_found() -> None:
    first, second = errors.RateLimitError("a"), errors.RateLimitError("b")
    group = ExceptionGroup("outer", [ValueError("c"), ExceptionGroup("inner", [first]), second])
    assert errors.RateLimitError.within(group) is first
    assert errors.QuotaExceeded.within(group) is None
    wrapped = RuntimeError("while answering")
    wrapped.__cause__ = group
    assert LLMError.within(wrapped) is first


def test_a_group_whose_member_was_caused_by_the_group_has_an_end() -> None:
    member = ValueError("a")
    group = ExceptionGroup("g", [member])
    member.__cause__ = group
    assert LLMError.within(group) is None


def test_nothing_that_looks_like_a_key_is_repeated() -> None:
    secret = "hunter2-hunter2"
    body = {"error": {"message": f"bad key {secret}, sk-abcdef123456", "param": {"authorization": "Bearer abcdefgh"}}}
    error = classify_error(401, {}, body, secrets=[secret])
    said = f"{error} {error!r} {error.details}"
    assert not any(part in said for part in (secret, "sk-abcdef", "abcdefgh"))


@pytest.mark.parametrize(
    "shape", [{}, [], None, 3, "text", {"error": None}, {"error": []}, {"error": {}}, {"message": None}]
)
def test_any_body_makes_an_error(shape: Any) -> None:
    assert isinstance(classify_error(500, {}, json.dumps(shape).encode()), errors.ProviderUnavailable)
    assert isinstance(classify_error(None, {}, shape), LLMError)


@pytest.mark.parametrize("type", ["api_error", "server_error", "internal_server_error"])
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 429, 499])
def test_a_word_that_contradicts_the_status_does_not_count(status: int, type: str) -> None:
    """ "api_error" is what Ollama writes with nearly every status: the status says more."""
    error = classify_error(status, {}, {"error": {"message": "no", "type": type, "code": None}})
    assert error.__class__ is STATUSES[status]
    assert (error.status, error.provider_code) == (status, type)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"error": "blocked by safety filters"}, "ContentFiltered"),
        (None, "blocked by safety filters", "ContentFiltered"),
        (
            None,
            {"type": "error", "error": {"message": "Output blocked by content filtering policy"}},
            "ContentFiltered",
        ),
        (400, {"error": '"gemma" does not support tools'}, "Unsupported"),
        (400, {"error": {"message": '"gemma" does not support tools', "type": "api_error"}}, "Unsupported"),
        (400, {"error": "the input length exceeds the context length"}, "ContextLengthExceeded"),
        (400, {"error": "model is required"}, "InvalidRequest"),
        (None, {"error": "model runner has unexpectedly stopped"}, "ProviderUnavailable"),
        (None, {"error": {"message": "Overloaded", "details": {"error_code": "overloaded_error"}}}, "Overloaded"),
        (None, {"type": "error", "error": {"message": "Overloaded"}}, "Overloaded"),
        (None, {"type": "error", "error": {"message": "Internal server error"}}, "ProviderUnavailable"),
    ],
)
def test_a_body_without_a_word(status: int | None, body: Any, kind: str) -> None:
    """Ollama's errors are a text only, and so are some of Anthropic's inside a stream."""
    assert type(classify_error(status, {}, body)).__name__ == kind


def test_what_cannot_be_done_is_said_of_the_server() -> None:
    error = classify_error(400, {}, {"error": "images are not supported"}, provider="p")
    assert str(error).startswith("p: the server cannot do this: images are not supported; ")


def test_a_code_that_is_unknown_is_not_a_word() -> None:
    assert str(classify_error(None, {}, {"error": "odd"}, provider="p")) == "p: odd"
    assert str(errors.StreamTruncated("cut", provider="p")) == "p: provider_unavailable: cut"


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": 1e999, "code": 1e999, "type": {}, "details": {"error_code": []}}}',
        b'{"error": {"message": ' + b"9" * 5_000 + b"}}",
        b'{"error": ' + b"[" * 10_000,
        b'{"detail": [[[{"loc": null}]]]}',
        b"\xff\xfe\0",
        {"error": {"details": [{"retryDelay": "9" * 400 + "s"}], "message": "x", "request_id": 3}},
    ],
)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"},
        {"retry-after": "9" * 400 + "h"},
        {"x-ratelimit-remaining-x": "0", "x-ratelimit-reset-x": "99999999999999-01-01"},
    ],
)
def test_nonsense_is_an_error_all_the_same(body: Any, headers: dict[str, str]) -> None:
    """Whatever a server says, the error that comes of it is one of hocket's."""
    error = classify_error(429, headers, body)
    assert (type(error), error.retry_after) == (errors.RateLimitError, None)


def test_a_long_text_is_cut() -> None:
    assert len(str(classify_error(500, {}, b"x" * 100_000))) < 700


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ({"error": {"code": 502}}, True),
        ({"object": "error", "message": "m"}, True),
        ({"status": "failed"}, True),
        ({"error": None, "choices": []}, False),
        ({"choices": []}, False),
        ([], False),
    ],
)
def test_a_good_status_may_carry_a_failure(body: Any, failed: bool) -> None:
    assert has_failed(body) is failed


def _is_llm_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, LLMError)


def test_no_error_steers_a_terminal() -> None:
    """What a server says goes into logs, which are read on terminals: without control characters, in one line."""
    body = '{"error": {"message": "\\u001b]0;title\\u0007 a\\r\\nERROR b \\u009b2J \\u0000"}}'
    text = read_error_body(body.encode()).text
    assert text.isprintable() and "a ERROR b" in text


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_says_where_to(status: int) -> None:
    """Without the secrets of the place; and what to do about it."""
    headers = {"location": "https://me:hunter2@other.example/v1?api_key=sk-123456&x=1"}
    error = classify_error(status, headers, b"")
    assert type(error) is errors.InvalidReply and error.status == status
    assert f"redirects ({status}) to 'https://other.example/v1?api_key=**" in str(error) and "base_url" in str(error)
    assert "hunter2" not in str(error) and "123456" not in str(error)
    assert "does not say where to" in str(classify_error(status, {}, b"<html>moved</html>"))
