"""A reserver that notes what it is asked and told, and does wrong where a test says so."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from hocket._metering import ambient
from hocket._metering.attempt import Attempt, AttemptEnd


class RecordingReserver:
    """Notes each attempt and its end.

    Args:
        name: what it writes into ``log``.
        log: of several reservers, in order.
        refuse: raised instead of reserving.
        waits: whether to settle takes a moment, so that it needs a shield.
    """

    def __init__(
        self, name: str = "one", log: list[str] | None = None, refuse: Exception | None = None, waits: bool = True
    ) -> None:
        self.name = name
        self.log: list[str] = [] if log is None else log
        self.refuse = refuse
        self.is_local = not waits
        self.attempts: list[Attempt] = []
        self.ends: list[AttemptEnd] = []
        self.on_reserve: Callable[[], object] = lambda: None

    async def reserve(self, attempt: Attempt) -> "RecordingReserver":
        self.on_reserve()
        if self.refuse is not None:
            raise self.refuse
        self.attempts.append(attempt)
        self.log.append(f"{self.name} reserves")
        return self

    async def settle(self, end: AttemptEnd) -> None:
        if not self.is_local and self.attempts[-1].mode.is_async:
            await anyio.lowlevel.checkpoint()
        self.ends.append(end)
        self.log.append(f"{self.name} settles {end.outcome}")


@contextmanager
def reserve_with(*reservers: RecordingReserver) -> Iterator[None]:
    """Have these reserve for every attempt of the process."""

    def source() -> tuple[RecordingReserver, ...]:
        return reservers

    ambient.add_source(source)
    try:
        yield
    finally:
        del ambient.sources[source]
