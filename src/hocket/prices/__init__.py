"""What models cost, as data: prices that the program gives, and those of the package genai-prices.

Unknown is None, and never 0: what cannot be priced is not free.
"""

from hocket.prices.lookup import PricedModel, aprice_of, identify_model, price_of, set_prices
from hocket.prices.money import MAX_UNITS, UNIT, Amount, read_amount, to_units, to_usd
from hocket.prices.price import Price

__all__ = [
    "MAX_UNITS",
    "UNIT",
    "Amount",
    "Price",
    "PricedModel",
    "aprice_of",
    "identify_model",
    "price_of",
    "read_amount",
    "set_prices",
    "to_units",
    "to_usd",
]
