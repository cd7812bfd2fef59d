"""Whole calls: one at a time, with handlers, cache and limiter attached, and in batches."""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any

from .bench import Bench, Case, awaiting, bare_answer, repeating
from .harness import Body, Target
from .library import Library, answering, handler, library
from .table import Row

__all__ = ["CASES"]

BARE = awaiting(lambda: bare_answer("hi"))


def ainvoke(bench: Bench) -> Iterator[Row]:
    """One call, nothing attached."""
    yield bench.compare('ainvoke("hi"), async hook', _calling, Target(0.08), bare=BARE)


def invoke(bench: Bench) -> Iterator[Row]:
    """One call from synchronous code."""

    def build(lib: Library) -> Body:
        model = answering(lib)
        return repeating(lambda: model.invoke("hi"))

    yield bench.compare('invoke("hi"), sync hook', build, Target(0.25), bare=repeating(lambda: _answer("hi")))


def handlers(bench: Bench) -> Iterator[Row]:
    """One call that is listened to."""
    kinds = {
        "1 async handler": (["async"], 0.08),
        "3 async handlers": (["async"] * 3, 0.08),
        "1 sync handler, run_inline": (["inline"], 0.12),
        "1 sync handler, on a thread": (["thread"], 0.6),
    }
    for what, (listening, limit) in kinds.items():

        def build(lib: Library, listening: list[str] = listening) -> Body:
            return _calling(lib, "hi", config={"callbacks": [handler(lib, kind) for kind in listening]})

        yield bench.compare(f"ainvoke, {what}", build, Target(limit), bare=BARE)


def cache_hit(bench: Bench) -> Iterator[Row]:
    """One call that the in-memory cache answers."""
    for length, limit in ((1, 0.15), (10, 0.15), (100, 0.05), (1_000, 0.05)):

        def build(lib: Library, length: int = length) -> Body:
            model = answering(lib, cache=lib.caches.InMemoryCache())
            messages = lib.conversation(length)
            asyncio.run(model.ainvoke(messages))
            return awaiting(lambda: model.ainvoke(messages))

        yield bench.compare(f"cache hit, {length:,} message{'s' * (length > 1)}", build, Target(limit), bare=BARE)


def idle_limiter(bench: Bench) -> Iterator[Row]:
    """One call under a rate limiter that always has a permit left."""

    def build(lib: Library) -> Body:
        limiter = lib.rate_limiters.InMemoryRateLimiter(requests_per_second=1e9, max_bucket_size=1e9)
        return _calling(lib, "hi", rate_limiter=limiter)

    yield bench.compare("ainvoke, idle rate limiter", build, Target(0.1), bare=BARE)


def history(bench: Bench) -> Iterator[Row]:
    """One call with a long conversation, already made of message objects."""
    for what, kinds in (("no handler", []), ("1 async handler", ["async"])):

        def build(lib: Library, kinds: list[str] = kinds) -> Body:
            config = {"callbacks": [handler(lib, kind) for kind in kinds]}
            return _calling(lib, lib.conversation(1_000), config=config if kinds else None)

        yield bench.compare(f"ainvoke, 1,000 message objects, {what}", build, Target(0.3), bare=BARE)


def abatch(bench: Bench) -> Iterator[Row]:
    """Many calls, a hundred at a time: per input, and whether many inputs cost more each than few."""
    few, many = 100, 2_000 if bench.plan.quick else 10_000

    def build(lib: Library, size: int) -> Body:
        model = answering(lib)
        inputs = ["hi"] * size
        return awaiting(lambda: model.abatch(inputs, config={"max_concurrency": 100}))

    for size in (few, many):
        what = f"abatch, {size:,} inputs, 100 at a time, per input"
        yield bench.compare(what, partial(build, size=size), Target(0.1), bare=_bare_batch(size), per=size)
    yield bench.growth(
        f"abatch, an input of {many:,} against one of {few:,}",
        lambda: build(library("hocket"), few),
        lambda: build(library("hocket"), many),
        limit=1.25,
        per=many // few,
    )


def _calling(lib: Library, input: object = "hi", config: Any = None, **fields: Any) -> Body:
    """Build a model with ``fields`` and call it with ``input`` and ``config``."""
    model = answering(lib, **fields)
    return awaiting(lambda: model.ainvoke(input, config=config))


def _bare_batch(size: int) -> Body:
    async def batch() -> None:
        for _ in range(size):
            await bare_answer("hi")

    return awaiting(batch)


def _answer(messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> object:
    """Answer as a synchronous hook does, with nothing around it."""
    return messages


CASES: dict[str, Case] = {
    "ainvoke": ainvoke,
    "invoke": invoke,
    "handlers": handlers,
    "cache": cache_hit,
    "limiter-idle": idle_limiter,
    "history": history,
    "abatch": abatch,
}
