"""What models cost, as data: prices that the program gives, and those of the package genai-prices.

Unknown is None, and never 0: what cannot be priced is not free.
"""

from hocket.prices.lookup import aprice_of, price_of, set_prices
from hocket.prices.price import Price

__all__ = ["Price", "aprice_of", "price_of", "set_prices"]
