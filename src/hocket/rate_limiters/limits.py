"""The numbers of a limit, per window, what of them is refused at the door, and how a limit stands."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from hocket.errors import InvalidInput

__all__ = ["RateLimitState", "RateLimits", "Tokens", "check_need", "make_limits", "read_tokens"]

MINUTE = 60.0
LONGEST = 31 * 86_400.0


class Tokens(NamedTuple):
    """Tokens of one request.

    Attributes:
        input: of its prompt.
        output: of its answer.
    """

    input: int
    output: int


class RateLimits(NamedTuple):
    """What a window may hold; 0: any number of it.

    Attributes:
        requests: requests.
        tokens: tokens of both kinds.
        input: tokens of prompts.
        output: tokens of answers.
        window: its length in seconds.
        burst: requests that may go at the same moment.
        max_in_flight: requests under way at the same time; 0: any number.
        is_adaptive: whether replies change the numbers.
    """

    requests: float = 0
    tokens: float = 0
    input: float = 0
    output: float = 0
    window: float = MINUTE
    burst: int = 1
    max_in_flight: int = 0
    is_adaptive: bool = True

    @property
    def has_numbers(self) -> bool:
        """Whether anything is limited."""
        return any((self.requests, self.tokens, self.input, self.output, self.max_in_flight))

    def shared_by(self, processes: int) -> "RateLimits":
        """Return the limits of one of so many processes that share these and cannot ask one another."""
        return self._replace(
            requests=self.requests / processes,
            tokens=self.tokens / processes,
            input=self.input / processes,
            output=self.output / processes,
            burst=max(1, self.burst // processes),
            max_in_flight=max(1, self.max_in_flight // processes) if self.max_in_flight else 0,
        )


@dataclass(frozen=True)
class RateLimitState:
    """A limit as it stands.

    Attributes:
        requests_per_minute, tokens_per_minute, input_tokens_per_minute, output_tokens_per_minute: in force, as given or as
            learned; None: there is none.
        share: of them that is in use: 1, or less after a 429.
        paused: seconds for which nobody goes.
        input_tokens, output_tokens: in the window, used or reserved.
        waiting: who waits in this process.
        in_flight: requests under way, in all processes where there is a limit of it, else in this one.
        processes: that were seen lately.
    """

    requests_per_minute: float | None
    tokens_per_minute: float | None
    input_tokens_per_minute: float | None
    output_tokens_per_minute: float | None
    share: float
    paused: float
    input_tokens: int
    output_tokens: int
    waiting: int
    in_flight: int
    processes: int


def make_limits(
    per_minute: dict[str, float | None], max_in_flight: int | None, window: float, burst: int, adaptive: bool
) -> RateLimits:
    """Return the limits that the arguments of a `RateLimiter` mean.

    Args:
        per_minute: the numbers by their argument's name, in the order requests, tokens, input, output.
        max_in_flight, window, burst, adaptive: the other arguments.

    Raises:
        InvalidInput: one of them is none.
    """
    for name, number in per_minute.items():
        if number is not None:
            _check_above_zero(name, number)
    _check_above_zero("window", window)
    if window > LONGEST:
        raise InvalidInput(f"window is {window:g}; it must be {LONGEST:g} seconds at most, a month")
    requests, tokens, read, written = (
        0.0 if number is None or math.isinf(number) else number * window / MINUTE for number in per_minute.values()
    )
    if max_in_flight is not None and not _is_count(max_in_flight):
        raise InvalidInput(f"max_in_flight is {max_in_flight!r}; it must be a whole number above 0")
    if not _is_count(burst):
        raise InvalidInput(f"burst is {burst!r}; it must be a whole number above 0")
    if requests and burst > max(1.0, requests):
        raise InvalidInput(
            f"burst is {burst}, and a window of {window:g} s holds {requests:g} requests: make burst that at most"
        )
    limits = RateLimits(requests, tokens, read, written, window, burst, max_in_flight or 0, adaptive)
    if not limits.has_numbers and not adaptive and not any(per_minute.values()):
        raise InvalidInput(
            "a RateLimiter without numbers limits nothing: give requests_per_minute=... or another, or adaptive=True to "
            "have it learn them"
        )
    return limits


def check_need(need: Tokens, limits: RateLimits) -> None:
    """Refuse what no window will ever have room for.

    Raises:
        InvalidInput: with both numbers.
    """
    wanted = (need.input + need.output, need.input, need.output)
    names = ("tokens", "input tokens", "output tokens")
    for name, tokens, limit in zip(names, wanted, limits[1:4], strict=True):
        if limit and tokens > limit:
            raise InvalidInput(
                f"a request needs {tokens} {name}, and the limit is {limit:g} in {limits.window:g} s: it would wait for "
                "ever; lower max_tokens, or shorten the prompt"
            )


def read_tokens(tokens: int | tuple[int, int | None], guess: int = 0) -> Tokens:
    """Return what a caller says of tokens: their number, which counts as input, or input and output.

    Args:
        tokens: what it says.
        guess: the tokens of an answer of which it says that nobody knows them.

    Raises:
        InvalidInput: they are no numbers of tokens.
    """
    said: tuple[object, ...] = tokens if isinstance(tokens, tuple) else (tokens, 0)
    if len(said) == 2 and said[1] is None:
        said = (said[0], guess)
    if len(said) != 2 or not all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in said):
        raise InvalidInput(f"tokens is {tokens!r}; it must be a whole number, 0 or more, or two: (input, output)")
    return Tokens(*said)  # type: ignore[arg-type]  # they are whole numbers


def _check_above_zero(name: str, number: object) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0:
        raise InvalidInput(f"{name} is {number!r}; it must be a number above 0")


def _is_count(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0
