"""Counting tokens: by rule of thumb in both libraries, exactly and by an estimator in hocket, and how it grows.

langchain-core has no exact count that works offline: it asks a model's own package, or downloads GPT-2's tokenizer.
"""

from collections.abc import Callable, Iterator
from typing import Any

from .bench import Bench, Case, repeating
from .harness import Body, Target
from .library import Library, library
from .table import Row

__all__ = ["CASES"]

SIZES = (10, 1_000, 10_000)
TEXTS = {
    "English": "The committee met on Tuesday to discuss the proposal, but nobody could agree on what it meant. " * 3,
    "Chinese": "委员会星期二开会讨论这项提案,但是没有人能就它的含义达成一致。" * 6,
}


def roughly(bench: Bench) -> Iterator[Row]:
    """By rule of thumb. Chinese costs hocket a look at the characters, which langchain-core takes for Latin ones."""
    for language, limit in (("English", 1.0), ("Chinese", None)):
        for size in SIZES[: 2 if bench.plan.quick else None]:

            def build(lib: Library, size: int = size, language: str = language) -> Body:
                home = getattr(lib, "messages.utils" if lib.name == "langchain" else "tokens")
                count, messages = home.count_tokens_approximately, _messages(lib, size, language)
                return repeating(lambda: count(messages))

            what = f"about how many tokens: {size:,} messages, {language}, each"
            yield bench.compare(what, build, None if limit is None else Target(limit), per=size)
    yield _growth(bench, "approximately", _approximately)


def exactly(bench: Bench) -> Iterator[Row]:
    """With the encoding of gpt-4o, out of whichever package is installed."""
    for size in SIZES[: 2 if bench.plan.quick else None]:
        what = f"exactly how many tokens: {size:,} messages, each"
        yield _alone(bench, what, size, _exactly, limit=100)
    yield _growth(bench, "exactly", _exactly)


def learned(bench: Bench) -> Iterator[Row]:
    """By an estimator, and what it costs to teach it."""
    for size in SIZES[: 2 if bench.plan.quick else None]:
        what = f"how many tokens, as learned: {size:,} messages, each"
        yield _alone(bench, what, size, _estimated, limit=50)
    yield _growth(bench, "by an estimator", _estimated)


def _alone(bench: Bench, what: str, size: int, build: Callable[[Library, int], Body], limit: float) -> Row:
    """In hocket alone, in microseconds."""
    return bench.compare(what, lambda lib: build(lib, size), Target(limit, over=None), per=size, libraries=["hocket"])


def _growth(bench: Bench, how: str, build: Callable[[Library, int], Body]) -> Row:
    """By how much ten times the messages multiply the time of one."""
    what = f"counting {how}, a message, from 1,000 to 10,000"
    return bench.growth(
        what, lambda: build(library("hocket"), 1_000), lambda: build(library("hocket"), 10_000), limit=1.5, per=10
    )


def _messages(lib: Library, size: int, language: str = "English") -> list[Any]:
    kinds = (lib.messages.HumanMessage, lib.messages.AIMessage)
    return [kinds[turn % 2](content=f"{turn} {TEXTS[language]}") for turn in range(size)]


def _approximately(lib: Library, size: int) -> Body:
    messages = _messages(lib, size)
    return repeating(lambda: lib.tokens.count_tokens_approximately(messages))


def _exactly(lib: Library, size: int) -> Body:
    messages = _messages(lib, size)
    lib.tokens.get_encoding("o200k_base")
    return repeating(lambda: lib.tokens.count_tokens("gpt-4o", messages))


def _estimated(lib: Library, size: int) -> Body:
    estimator, messages = lib.tokens.TokenEstimator(), _messages(lib, size)
    estimator.observe(messages[:1], {"input_tokens": 60})
    return repeating(lambda: estimator.estimate(messages))


CASES: dict[str, Case] = {"count": roughly, "count-exactly": exactly, "estimate": learned}
