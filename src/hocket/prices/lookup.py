"""The price of a model, by its name.

What the program has said goes first: an exact name, then patterns, the longest first. Then come models that nobody sends a
bill for, since they compute on machines of one's own, and then the tables of genai-prices, if that package is installed.
A provider that it does not know has no price there, whatever its models are called: the same weights cost something else
elsewhere.
"""

import re
import threading
from collections.abc import Mapping
from fnmatch import translate
from functools import lru_cache
from typing import NamedTuple

import hocket.prices.packaged as packaged
from hocket._runtime import clock
from hocket._runtime.fork import free_at_fork
from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput
from hocket.prices.price import Price

__all__ = ["PricedModel", "aprice_of", "identify_model", "price_of", "set_prices"]

FREE = Price(0, 0)

_UNBILLED = frozenset({"local", "llamacpp", "lmstudio", "vllm", "ollama", "ollama_compatible"})
_HOSTED = re.compile(r"[:-]cloud$")  # Ollama's own servers, which are asked through the one on this machine

_own: dict[str, Price] = {}
_patterns: list[tuple[re.Pattern[str], Price]] = []
# It is held for a look, too: what was found before a change is not to be kept after it.
_lock = free_at_fork(threading.Lock())


class PricedModel(NamedTuple):
    """What a model is called.

    Attributes:
        name: at its provider.
        provider: who serves it; None: not known.
    """

    name: str
    provider: str | None


def set_prices(prices: Mapping[str, Price | None]) -> None:
    """Say what models cost, in this process, in place of what the tables say.

        set_prices({"openai:gpt-5.2": Price("1.75", 14), "my-model": Price(0, 0), "together:*": Price(1, 1)})

    Args:
        prices: by ``provider:model`` or ``model``, in any case; ``*`` and ``?`` stand for any characters and any one. An
            exact name counts before a pattern, and a longer pattern before a shorter one. None: take back what was said.

    Raises:
        InvalidInput: a name is no text or empty, or a price is no `Price`.
    """
    for name, price in prices.items():
        if not isinstance(name, str) or not name.strip():  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f'{name!r} names no model: give "model" or "provider:model"')
        if price is not None and not isinstance(price, Price):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f'the price of {name!r} is {price!r}; it is a Price, as Price("1.25", 10)')
    with _lock:
        for name, price in prices.items():
            key = name.strip().lower()
            _own.pop(key, None)
            if price is not None:
                _own[key] = price
        written = sorted((key for key in _own if "*" in key or "?" in key), key=lambda key: (-len(key), key))
        _patterns[:] = [(re.compile(translate(key.replace("[", "[[]"))), _own[key]) for key in written]
        _find_stated.cache_clear()


def price_of(model: object, provider: str | None = None) -> Price | None:
    """Return what a model costs.

    The first look into the tables of genai-prices loads them, which takes a third of a second: see `aprice_of`.

    Args:
        model: a model, or its name, also ``provider:model``.
        provider: who serves it, where ``model`` is a name; None: nothing is said, and a name that only one maker uses is
            enough.

    Returns:
        the price as of now; None: it is not known. `Price` has no 0 for that.
    """
    names = identify_model(model, provider)
    is_known, price = _look_up_stated(names)
    return price if is_known else _find_packaged(*names, _minute())


async def aprice_of(model: object, provider: str | None = None) -> Price | None:
    """Return what a model costs; where tables have to be loaded first, in a worker thread. See `price_of`."""
    names = identify_model(model, provider)
    is_known, price = _look_up_stated(names)
    if is_known:
        return price
    if packaged.is_loaded():
        return _find_packaged(*names, _minute())
    return await ASYNC.call_sync(_find_packaged, *names, _minute())


def identify_model(model: object, provider: str | None = None) -> PricedModel:
    """Return the names that a model is priced by.

    Args:
        model: a model, or its name. A model that has no name at a provider is called as its kind is (``_llm_type``).
        provider: goes before what the model says of it.

    Raises:
        InvalidInput: it is neither.
    """
    name: object = model
    if not isinstance(model, str):
        kind = getattr(model, "_llm_type", None)
        named = (getattr(model, key, None) for key in ("_served_model", "model_name", "model"))
        name = next((one for one in named if one and isinstance(one, str)), kind)
        provider = provider or getattr(model, "_provider", None) or kind
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"{model!r} is neither a model nor the name of one")
    return PricedModel(name.strip(), provider or None)


def _look_up_stated(names: PricedModel) -> tuple[bool, Price | None]:
    with _lock:
        return _find_stated(*names)


@lru_cache(maxsize=1024)
def _find_stated(name: str, provider: str | None) -> tuple[bool, Price | None]:
    """Return whether the price is known without the tables, and the price."""
    maker, rest = _split(name, provider)
    texts = list(dict.fromkeys((f"{provider}:{name}" if provider else name, name, rest)))
    texts = [text.lower() for text in texts]
    for text in texts:
        if text in _own:
            return True, _own[text]
    for pattern, price in _patterns:
        if any(pattern.match(text) for text in texts):
            return True, price
    if maker in _UNBILLED:
        return True, None if _HOSTED.search(rest.lower()) else FREE
    return False, None


@lru_cache(maxsize=1024)
def _find_packaged(name: str, provider: str | None, minute: int) -> Price | None:
    """Return the price that the tables have at this minute: some change with the time of the day."""
    maker, rest = _split(name, provider)
    found = packaged.find_price(rest, maker)
    return packaged.find_price(name.lower(), None) if found is None and rest != name.lower() else found


def _split(name: str, provider: str | None) -> tuple[str | None, str]:
    """Return the provider and the model's own name, in lower case; the name may hold both."""
    prefix, colon, rest = name.lower().partition(":")
    if provider is None and colon:
        return prefix, rest
    return provider and provider.lower(), name.lower()


def _minute() -> int:
    return int(clock.current().time() // 60)
