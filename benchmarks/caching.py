"""Caches that processes share, beside those of langchain-community: a hit, and a cold cache that eight processes meet.

A hit is a whole call, of an answer of 900 characters. In a cold cache the figure is how many requests are sent for a hundred
prompts: each process makes a thousand calls, fifty at once, and a request takes 50 ms.
"""

import asyncio
import importlib
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from .bench import REDIS, Bench, Case, awaiting, explain_absence, repeating
from .harness import Body, Target, one_line
from .library import Library, library
from .table import Row

__all__ = ["CASES"]

PROCESSES, CALLS, PROMPTS = 8, 1_000, 100
AT_ONCE = 50
ROOT = Path(__file__).parents[1]


def cache_hit_shared(bench: Bench) -> Iterator[Row]:
    """One call that a store answers, sync and async."""
    for kind, sync_limit, async_limit in (("SQLite", 0.15, 0.1), ("Redis", 0.6, 0.6)):
        if kind == "Redis" and (absence := explain_absence()) is not None:
            yield Row("cache-shared", f"cache hit, {kind}", skipped=absence)
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = f"hocket-bench:{uuid4().hex}:" if kind == "Redis" else f"{folder}/cache"

            def build(lib: Library, place: str = place, is_async: bool = False) -> Body:
                model = lib.language_models.FakeListChatModel(responses=["x" * 900], cache=open_cache(lib, place))
                model.invoke("hi")
                return awaiting(lambda: model.ainvoke("hi")) if is_async else repeating(lambda: model.invoke("hi"))

            yield bench.compare(f"cache hit, {kind}, invoke", build, Target(sync_limit))
            yield bench.compare(f"cache hit, {kind}, ainvoke", partial(build, is_async=True), Target(async_limit))
            if kind == "Redis":
                with suppress(Exception):  # there was none
                    open_cache(library("hocket"), place).clear()


def cold_cache(bench: Bench) -> Iterator[Row]:
    """Eight processes at once, and nothing stored yet."""
    calls, prompts = (CALLS // 10, PROMPTS // 10) if bench.plan.quick else (CALLS, PROMPTS)
    for kind in ("SQLite", "Redis"):
        what = f"{PROCESSES} processes, {calls:,} calls each of {prompts} prompts, {kind}"
        if kind == "Redis" and (absence := explain_absence()) is not None:
            yield Row("cache-cold", what, skipped=absence)
            continue
        sent: dict[str, float] = {}
        failures: list[str] = []
        for name in ("hocket", "langchain"):
            try:
                sent[name] = _count_requests(name, kind, calls, prompts)
            except Exception as error:
                failures.append(f"{name}: {one_line(error)}")
        yield Row(
            "cache-cold",
            what,
            "sent",
            hocket=sent.get("hocket"),
            langchain=sent.get("langchain"),
            target=Target(prompts, over=None),
            rounds=1,
            failure="; ".join(failures) or None,
        )


def open_cache(lib: Library, place: str) -> Any:
    """Return the library's cache at a path, or at a prefix of keys in Redis (it ends with a colon)."""
    if lib.name == "hocket":
        caches = lib.caches
        return caches.RedisCache(REDIS, prefix=place) if place.endswith(":") else caches.SQLiteCache(place + ".db")
    warnings.simplefilter("ignore")
    community = importlib.import_module("langchain_community.cache")
    if place.endswith(":"):
        return community.RedisCache(importlib.import_module("redis").Redis.from_url(REDIS), ttl=600)
    return community.SQLiteCache(place + "-langchain.db")


def _count_requests(name: str, kind: str, calls: int, prompts: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        place = f"hocket-bench:{uuid4().hex}:" if kind == "Redis" else f"{folder}/cache"
        if name == "langchain":  # else all processes make the tables at once, and some of them fail
            open_cache(library(name), place)
        command = [sys.executable, "-m", "benchmarks.caching", name, place, f"{folder}/log", str(calls), str(prompts)]
        processes = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) for _ in range(PROCESSES)]
        if failed := sum(process.wait() != 0 for process in processes):
            raise RuntimeError(f"{failed} of {PROCESSES} processes failed")
        if kind == "Redis" and name == "hocket":
            open_cache(library(name), place).clear()
        return len(Path(f"{folder}/log").read_text())


def _ask(name: str, place: str, log: str, calls: int, prompts: int) -> None:
    """Be one of the processes."""
    lib = library(name)
    model = make_model(lib, log)(cache=open_cache(lib, place))
    asked = [f"{place} {number % prompts}" for number in range(calls)]  # in Redis, LangChain's keys have no prefix
    random.shuffle(asked)
    asyncio.run(_ask_all(model.ainvoke, asked))


async def _ask_all(ask: Callable[[str], Any], prompts: list[str]) -> None:
    places = asyncio.Semaphore(AT_ONCE)

    async def one(prompt: str) -> None:
        async with places:
            with suppress(Exception):  # of LangChain's, some calls fail: two processes store the same row
                await ask(prompt)

    await asyncio.gather(*map(one, prompts))


def make_model(lib: Library, log: str) -> Any:
    """Return a class of models that write a character for each request. It is no class of a function by its name."""
    base, result = lib.language_models.BaseChatModel, lib.outputs.ChatResult

    async def answer(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, b".")
        os.close(file)
        await asyncio.sleep(0.05)
        message = lib.messages.AIMessage(content="x" * 900)
        return result(generations=[lib.outputs.ChatGeneration(message=message)])

    def never(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    members = {"_agenerate": answer, "_generate": never, "_llm_type": property(lambda self: "asked")}
    return type(base)("Asked", (base,), {"__module__": __name__, "__qualname__": "Asked", **members})


CASES: dict[str, Case] = {"cache-shared": cache_hit_shared, "cache-cold": cold_cache}

if __name__ == "__main__":
    _ask(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
