"""The prices of genai-prices, an optional package: tables of some hundred models, kept by Pydantic, without a network.

It is imported when a price is first looked up, which takes a third of a second. Its prices are turned into `Price`, so that
a call is priced by hocket's own arithmetic. A model that is billed by what `Price` has no word for, as tokens of drawn
images, or a sum for each request, has none: it would come out too cheap. Searches and other tools of a server are not
tokens, and not in it; nor are tiers of service other than the standard one and that of batches.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Protocol, cast

from hocket.prices.money import Amount
from hocket.prices.price import Price

__all__ = ["find_price", "is_loaded", "is_missing"]

_NAMES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "output_reasoning_mtok": "reasoning",
    "cache_write_1h_mtok": "cache_write_1h",
    "input_audio_mtok": "input_audio",
    "output_audio_mtok": "output_audio",
}
_COVERED = frozenset({"cache_audio_read_mtok", "cache_write_5m_mtok", "cache_image_read_mtok"})
"""Prices below those of `_NAMES` that cover the same tokens, or what `cache_write` says."""

_BATCH = {"processing": "batch"}
"""What stands before the price of a batch in the package."""

_OF_TOOLS = frozenset({"web_searches_kcount", "storage_searches_kcount"})

_PROVIDERS = {
    "azure_entra": "azure",
    "bedrock": "aws",
    "gemini_compatible": "google",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
    "moonshot": "moonshotai",
    "openai_responses": "openai",
    "xai": "x-ai",
}
"""Providers that hocket and the package call differently."""


class _Tier(Protocol):
    start: int
    price: Decimal


class _Provider(Protocol):
    id: str


class _Constraint(Protocol):
    def active(self, request_timestamp: datetime) -> bool: ...


class _Variant(Protocol):
    when: Mapping[str, str]
    constraint: _Constraint | None


class _Model(Protocol):
    price_variants: Sequence[_Variant] | None

    def get_prices(self, request_timestamp: datetime, price_context: Mapping[str, str] | None = None) -> object: ...


class _Snapshot(Protocol):
    def find_provider_model(
        self, model_ref: str, provider: None, provider_id: str | None, provider_api_url: None
    ) -> tuple[_Provider, _Model]: ...


def is_loaded() -> bool:
    """Whether to look up a price takes no loading any more."""
    return _load.cache_info().currsize > 0


def is_missing() -> bool:
    """Whether a price was looked up, and the package was not there."""
    return is_loaded() and _load() is None


def find_price(name: str, provider: str | None) -> Price | None:
    """Return the price of a model at a provider, as of now; None: it is not known, or the package is not installed."""
    owner = None if provider is None else _PROVIDERS.get(provider, provider)
    if (
        owner in (None, "anthropic") and "anthropic." in name
    ):  # what Bedrock calls them, also behind Anthropic's own API
        owner = "aws"
    tables = _load()
    if tables is None:
        return None
    try:
        found, model = tables.find_provider_model(name, None, owner, None)
    except LookupError:
        return None
    if owner is not None and found.id != owner:  # it finds "openai" for any name that begins so
        return None
    return _read_prices(model, datetime.now(UTC))


@cache
def _load() -> _Snapshot | None:
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return None
    return cast(_Snapshot, get_snapshot())


def _read_prices(model: _Model, now: datetime) -> Price | None:
    """Return the price of a model at a time, and in a batch where the package says it: asked for it, it says any."""
    has_batch = any(
        variant.when == _BATCH and (variant.constraint is None or variant.constraint.active(now))
        for variant in model.price_variants or ()
    )
    return _convert(model.get_prices(now), _convert(model.get_prices(now, _BATCH)) if has_batch else None)


def _convert(prices: object, batch: Price | None = None) -> Price | None:
    """Return the package's price of a model in hocket's form, if it has one."""
    stated = {key: value for key, value in vars(prices).items() if value is not None}
    if "input_mtok" not in stated or stated.keys() - _NAMES.keys() - _COVERED - _OF_TOOLS:
        return None
    given = {_NAMES[key]: value for key, value in stated.items() if key in _NAMES}
    starts = sorted({tier.start for value in given.values() for tier in _tiers(value)})
    above = {start: _price({name: _at(value, start) for name, value in given.items()}) for start in starts}
    return _price({name: _at(value, -1) for name, value in given.items()}, above, batch)


def _price(amounts: dict[str, Decimal], above: dict[int, Price] | None = None, batch: Price | None = None) -> Price:
    amounts = {"output": Decimal(0), **amounts}  # an embedding model has none
    return Price(**cast("dict[str, Amount]", amounts), above=above, batch=batch)


def _tiers(value: object) -> list[_Tier]:
    return list(getattr(value, "tiers", ()))


def _at(value: object, start: int) -> Decimal:
    """Return the price of a call with more than ``start`` tokens of input."""
    price = getattr(value, "base", value)
    for tier in _tiers(value):
        if tier.start <= start:
            price = tier.price
    return cast(Decimal, price)
