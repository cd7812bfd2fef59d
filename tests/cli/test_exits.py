"""Exit codes, and errors as one line."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hocket import errors
from hocket.cli.exits import EXIT_CODES, exit_code, explain, use_command_words
from hocket.testing import Body, Events, OpenAIFormat, serve

CODES = {
    "AuthenticationError": 3,
    "QuotaExceeded": 3,
    "InvalidInput": 2,
    "DocumentError": 2,
    "Unsupported": 2,
    "UnknownModel": 4,
    "ResourceNotFound": 4,
    "ProviderUnavailable": 5,
    "InvalidReply": 5,
    "RequestTimeout": 5,
    "HistoryUnavailable": 5,
    "EngineUnavailable": 5,
    "UnknownRun": 2,
    "RateLimitError": 6,
    "BudgetExceeded": 6,
    "Unpriceable": 2,
    "StreamTruncated": 7,
    "Exception": 1,
}


def test_each_error_has_its_code() -> None:
    """The same as its base class, and one that is documented."""
    for name in errors.__all__:
        error = getattr(errors, name)
        if issubclass(error, errors.HocketError):
            code = next(CODES[base.__name__] for base in error.__mro__ if base.__name__ in CODES)
            assert (name, exit_code(error("x"))) == (name, code)
    assert exit_code(ValueError()) == exit_code(errors.Unsupported("said the server", status=501)) == 1
    assert set(CODES.values()) <= EXIT_CODES.keys()


class Options(BaseModel):
    """A model's."""

    model_config = ConfigDict(extra="forbid")
    model: str
    temperature: float = Field(default=0, le=2)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"model": "m", "temperature": 3}, "--temperature 3 will not do: Input should be less than or equal to 2"),
        ({"model": "m", "seed": "secret"}, "the model takes no --seed"),
        ({"temperature": 1}, "the model needs --model"),
    ],
)
def test_refused_options_are_one_line(options: dict[str, object], line: str) -> None:
    """It names the option, and no value but a wrong one."""
    with pytest.raises(ValidationError) as caught:
        Options.model_validate(options)
    assert (explain(caught.value), exit_code(caught.value)) == (line, 2)


def test_errors_are_one_line() -> None:
    """hocket's own say all themselves; others need their type."""
    assert explain(errors.RateLimitError("slow\n  down", provider="p")) == "p: rate_limit: slow down"
    assert explain(ZeroDivisionError("no\nway")) == "ZeroDivisionError: no way"


GOOD = (
    '{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x", "choices": '
    '[{"index": 0, "delta": {"content": "half "}, "finish_reason": null}]}'
)


@pytest.mark.parametrize(
    ("reply", "code", "shown"),
    [
        (Events([GOOD, "{not json"]), 7, "half \n"),
        (Events([GOOD], then="eof"), 7, "half \n"),
        (Events(["{not json"]), 5, ""),
        (Body("<html>502</html>"), 5, ""),
    ],
    ids=["junk behind text", "an end behind text", "junk alone", "a page"],
)
def test_what_a_server_sends_in_place_of_an_answer(
    inside: Callable[..., Any], reply: Events | Body, code: int, shown: str
) -> None:
    """Whether an answer broke off or none began is told by the code; Python's words are not."""
    with serve(OpenAIFormat(), reply) as server:
        done = inside("-n", "--base-url", server.url, "-m", "x", "q")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, shown, 1)
    assert "partial" not in done.stderr


@pytest.mark.parametrize(
    ("python", "words"),
    [
        (
            "cut short: allow more with max_tokens, or ask for less",
            "cut short: allow more with --max-tokens N, or ask for less",
        ),
        ("2 chunks had come, 8 characters, see `partial`", "2 chunks had come, 8 characters"),
        (
            "took 1 s (the limit is Timeout(total=...)); x",
            "took 1 s (the limit is -o 'timeout={\"total\": SECONDS}'); x",
        ),
        ("slow down: a rate_limiter keeps a model under its limit", "slow down, or try again later"),
        ("the model did not call answer: it said 'hi'", "the model gave no object, but said 'hi'"),
        ("9 pages, and at most 5 are read; raise max_pages=, or split it", "9 pages, and at most 5 are read; split it"),
        ("convert it to PDF, DOCX or text, or leave it out by exclude='**/*.xls'", "convert it to PDF, DOCX or text"),
        (
            "no UTF-8; name the encoding that it is in by encoding= ('cp1252', say), or save it as UTF-8",
            "no UTF-8; name its encoding, as in --encoding cp1252, or save it as UTF-8",
        ),
    ],
)
def test_errors_name_what_the_command_has(python: str, words: str) -> None:
    """And no argument of Python's."""
    assert use_command_words(python) == words
