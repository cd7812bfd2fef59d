"""A number of tokens that says whether it is counted or guessed."""

from typing import Self

__all__ = ["TokenCount"]


class TokenCount(int):
    """A number of tokens: an ``int`` that knows how far it can be trusted. (A sum of two is an ordinary ``int``.)

    Attributes:
        exact: whether it is what the model's own tokenizer says; False for an approximation.
        low, high: where the true number is expected. Of an exact count, both are the count.
    """

    exact: bool
    low: int
    high: int

    def __new__(cls, tokens: int, *, exact: bool = True, low: int | None = None, high: int | None = None) -> Self:
        self = super().__new__(cls, tokens)
        self.exact = exact
        self.low = int(self) if low is None else low
        self.high = int(self) if high is None else high
        return self

    def __str__(self) -> str:
        return int.__repr__(self)

    def __repr__(self) -> str:
        if self.exact:
            return f"TokenCount({int(self)})"
        return f"TokenCount({int(self)}, exact=False, low={self.low}, high={self.high})"
