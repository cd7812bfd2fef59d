"""Exit codes, and errors as one line."""

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hocket import errors
from hocket.cli.exits import EXIT_CODES, exit_code, explain

CODES = {
    "AuthenticationError": 3,
    "QuotaExceeded": 3,
    "InvalidInput": 2,
    "Unsupported": 2,
    "UnknownModel": 4,
    "ResourceNotFound": 4,
    "ProviderUnavailable": 5,
    "RequestTimeout": 5,
    "HistoryUnavailable": 5,
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
