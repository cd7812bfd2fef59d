"""The price of a model's tokens, and what a call came to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext

from hocket.errors import InvalidInput
from hocket.messages import UsageMetadata
from hocket.prices.money import EXACT, Amount, read_amount

__all__ = ["Price"]

_MILLION = 6  # powers of ten


@dataclass(frozen=True, init=False)
class Price:
    """US dollars a million tokens.

        Price("1.25", "10", cache_read="0.125")
        Price(3, 15, above={200_000: Price(6, "22.5")})
        Price(1, 2, batch=Price("0.75", "1.5"))

    In usage as hocket reports it, input holds what was read from and written to a cache, and output holds reasoning; each
    of these parts is priced once, by its own price.

    Args:
        input: tokens of the prompt.
        output: tokens of the answer.
        cache_read: tokens of the prompt that the provider had kept; None: as ``input``.
        cache_write: tokens of the prompt that it keeps from now on; None: as ``input``.
        reasoning: tokens of the answer that are reasoning; None: as ``output``.
        cache_write_1h: tokens of the prompt that it keeps for an hour, as Anthropic's models can; None: as ``cache_write``.
        input_audio, output_audio: tokens of recordings; None: as ``input``, ``output``.
        above: other prices, for all tokens of a call whose input has more tokens than the key says.
        batch: what the same costs in a provider's batch; None: half of it at OpenAI, Anthropic, Google and Mistral, and not
            known elsewhere.

    Raises:
        InvalidInput: a price is a float, no number or negative; a key of ``above`` is not above 0; ``batch``, or a price
            of ``above``, has a ``batch`` of its own.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None
    cache_write: Decimal | None
    reasoning: Decimal | None
    cache_write_1h: Decimal | None
    input_audio: Decimal | None
    output_audio: Decimal | None
    above: Mapping[int, "Price"] = field(hash=False)
    batch: "Price | None"

    def __init__(
        self,
        input: Amount,
        output: Amount,
        cache_read: Amount | None = None,
        cache_write: Amount | None = None,
        reasoning: Amount | None = None,
        *,
        cache_write_1h: Amount | None = None,
        input_audio: Amount | None = None,
        output_audio: Amount | None = None,
        above: Mapping[int, "Price"] | None = None,
        batch: "Price | None" = None,
    ) -> None:
        optional = {
            "cache_read": cache_read,
            "cache_write": cache_write,
            "reasoning": reasoning,
            "cache_write_1h": cache_write_1h,
            "input_audio": input_audio,
            "output_audio": output_audio,
        }
        take = object.__setattr__  # the object is frozen
        take(self, "input", read_amount(input, "input"))
        take(self, "output", read_amount(output, "output"))
        for name, value in optional.items():
            take(self, name, None if value is None else read_amount(value, name))
        take(self, "above", dict(sorted(_check_steps(above or {}))))
        if batch is not None and (not isinstance(batch, Price) or batch.batch):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"batch is {batch!r}; it is a Price without a `batch` of its own")
        take(self, "batch", batch)

    def cost(self, usage: UsageMetadata) -> Decimal:
        """Return what a call came to, in US dollars, exactly.

        Parts that come to more than their whole, as some servers report, are all charged.
        """
        into = max(usage.get("input_tokens", 0), 0)
        out = max(usage.get("output_tokens", 0), 0)
        taken, given = usage.get("input_token_details", {}), usage.get("output_token_details", {})
        read, heard = _count(taken, "cache_read"), _count(taken, "audio")
        written, for_an_hour = _count(taken, "cache_creation"), _count(taken, "ephemeral_1h_input_tokens")
        reasoned, spoken = _count(given, "reasoning"), _count(given, "audio")
        price = self._at(into)
        with localcontext(EXACT):
            charged = (
                max(into - read - max(written, for_an_hour) - heard, 0) * price.input
                + read * price._or_input(price.cache_read)
                + max(written - for_an_hour, 0) * price._or_input(price.cache_write)
                + for_an_hour * price._hour
                + heard * price._or_input(price.input_audio)
                + max(out - reasoned - spoken, 0) * price.output
                + reasoned * price._or_output(price.reasoning)
                + spoken * price._or_output(price.output_audio)
            )
            return charged.scaleb(-_MILLION)

    def max_cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return the most that so many tokens can cost, of whatever kind they are, in US dollars."""
        with localcontext(EXACT):
            return max(
                (
                    input_tokens * max(step._input_prices()) + output_tokens * max(step._output_prices())
                    for step in (self, *(step for limit, step in self.above.items() if input_tokens > limit))
                ),
            ).scaleb(-_MILLION)

    def halve(self) -> "Price":
        """Return half of every part, exactly."""
        with localcontext(EXACT):
            halves = {name: part / 2 for name, part in vars(self).items() if isinstance(part, Decimal)}
        above = {limit: step.halve() for limit, step in self.above.items()}
        return Price(**halves, above=above, batch=None)

    def _at(self, input_tokens: int) -> "Price":
        """Return the price of a call with so many tokens of input."""
        price = self
        for limit, step in self.above.items():
            if input_tokens > limit:
                price = step
        return price

    def _or_input(self, price: Decimal | None) -> Decimal:
        return self.input if price is None else price

    def _or_output(self, price: Decimal | None) -> Decimal:
        return self.output if price is None else price

    @property
    def _hour(self) -> Decimal:
        return self._or_input(self.cache_write if self.cache_write_1h is None else self.cache_write_1h)

    def _input_prices(self) -> Iterator[Decimal]:
        for price in (self.input, self.cache_read, self.cache_write, self.cache_write_1h, self.input_audio):
            yield self._or_input(price)

    def _output_prices(self) -> Iterator[Decimal]:
        for price in (self.output, self.reasoning, self.output_audio):
            yield self._or_output(price)


def _count(details: Mapping[str, object], key: str) -> int:
    count = details.get(key)
    return max(count, 0) if isinstance(count, int) else 0


def _check_steps(above: Mapping[int, Price]) -> Iterator[tuple[int, Price]]:
    for limit, price in above.items():
        if isinstance(limit, bool) or not isinstance(limit, int) or limit <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"above has the key {limit!r}; it is a number of tokens above 0")
        if not isinstance(price, Price) or price.above or price.batch:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"above[{limit}] is {price!r}; it is a Price without an `above` or `batch` of its own")
        yield limit, price
