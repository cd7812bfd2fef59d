"""A case and what it is given: the plan, the libraries, and the usual way to make a row of both."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .harness import Body, Plan, Target, measure
from .library import PACKAGES, Library, library
from .table import Row, row_of

__all__ = ["PATIENCE", "REDIS", "Bench", "Case", "awaiting", "bare_answer", "explain_absence", "repeating"]

PATIENCE = 60
"""Seconds after which an async turn has failed; one that waits for ever must not hide the other rows."""

REDIS = "redis://127.0.0.1:6379/0"
"""Where Redis has to be, for the rows that want it."""


@dataclass(frozen=True)
class Bench:
    """What a case is given: how long to measure, and the name its rows carry."""

    case: str
    plan: Plan

    def compare(
        self,
        what: str,
        build: Callable[[Library], Body],
        target: Target | None,
        *,
        bare: Body | None = None,
        per: int = 1,
        libraries: Sequence[str] = tuple(PACKAGES),
    ) -> Row:
        """Measure the same operation in each library, and bare, by turns. Arguments as in `harness.measure`."""
        contenders: dict[str, Callable[[], Body]] = {name: partial(_built, build, name) for name in libraries}
        if bare is not None:
            contenders["bare"] = lambda: bare
        return row_of(self.case, what, measure(contenders, self.plan, per=per), target)

    def growth(
        self, what: str, small: Callable[[], Body], large: Callable[[], Body], limit: float, *, per: int = 1
    ) -> Row:
        """Measure by how much the large operation's CPU time exceeds that of the small one; hocket only.

        ``limit`` is the most it may be. With ``per``, the large operation does so many times the work, and the factor
        is that of a unit of work.
        """
        samples = measure({"small": small, "large": large}, self.plan)
        failure = "; ".join(f"{name}: {why}" for name, why in samples.failures.items()) or None
        factor = samples.ratio("large", "small")
        return Row(
            self.case,
            what,
            "times",
            hocket=None if factor is None else factor / per,
            target=Target(limit, over=None),
            rounds=samples.rounds,
            failure=failure,
        )


def _built(build: Callable[[Library], Body], name: str) -> Body:
    """Build the body with the library of that name."""
    return build(library(name))


Case = Callable[[Bench], Iterable[Row]]


def awaiting(operation: Callable[[], Awaitable[object]]) -> Body:
    """Make a body of an async operation: one event loop a turn, one call after the other."""

    async def turn(count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            for _ in range(count):
                await operation()

    return lambda count: asyncio.run(turn(count))


def repeating(operation: Callable[[], object]) -> Body:
    """Make a body of a sync operation."""

    def turn(count: int) -> None:
        for _ in range(count):
            operation()

    return turn


_ANSWER = object()


async def bare_answer(messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> object:
    """Answer as a hook does, with nothing around it and nothing built: the least an ``await`` can cost."""
    return _ANSWER


def explain_absence() -> str | None:
    """Return why nothing can be measured on Redis; None: it can be."""
    try:
        socket.create_connection(("127.0.0.1", 6379), timeout=2).close()
    except OSError as error:
        return f"Redis does not answer on 127.0.0.1:6379 ({error})"
    return None
