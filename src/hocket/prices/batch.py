"""The price of a row of a provider's batch, and the one place where attempts are priced, live or not."""

from hocket._metering.attempt import Attempt
from hocket.prices.lookup import aprice_of, identify_model, price_of
from hocket.prices.price import Price

__all__ = ["batch_price_of", "price_attempt"]

_HALF = frozenset({"anthropic", "google_genai", "mistralai", "openai", "openai_responses"})
"""Providers that take half for a batch, by their pages; compatible servers need not."""


def batch_price_of(model: object, provider: str | None = None) -> Price | None:
    """Return what a model costs in a batch of its provider; None: it is not known.

    It is what the price says of it (`Price.batch`), else half the price where the provider is one that takes half.

    Args:
        model, provider: as for `hocket.prices.price_of`.
    """
    return _find_batch_price(price_of(model, provider), *identify_model(model, provider))


async def price_attempt(attempt: Attempt) -> Price | None:
    """Return what the tokens of an attempt cost; None: it is not known. Tables are loaded in a thread."""
    if not attempt.model:
        return None
    names = attempt.model, attempt.provider
    price = await aprice_of(*names) if attempt.mode.is_async else price_of(*names)
    return price if attempt.batch_place is None else _find_batch_price(price, *names)


def _find_batch_price(price: Price | None, name: str, provider: str | None) -> Price | None:
    if price is None or price.batch is not None:
        return price and price.batch
    half = price.halve()
    is_free = half == price
    return half if is_free or (provider or name.partition(":")[0]).lower() in _HALF else None
