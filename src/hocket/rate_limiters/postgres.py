"""A limit in PostgreSQL: one call of a function is one exchange, and one round trip. Time is the server's."""

import os
from collections.abc import Callable
from typing import cast
from uuid import uuid4

from hocket._databases.postgres import execute_or_create, postgres_server
from hocket._databases.urls import add_parameters
from hocket._secrets import redact_url
from hocket.errors import InvalidInput, StoreError, StoreUnavailable
from hocket.rate_limiters.adapting import RefusalRecord, find_pace
from hocket.rate_limiters.limits import RateLimits
from hocket.rate_limiters.postgres_function import CREATE, FORMAT
from hocket.rate_limiters.schedule import Grant
from hocket.rate_limiters.store import Exchange, ExchangeReply, Figures

__all__ = ["PostgresStore"]

_QUICK = {
    "connect_timeout": "2",
    "options": "-c%20statement_timeout%3D2000%20-c%20synchronous_commit%3Doff",
}
"""Seconds to connect; milliseconds for an exchange. A limit need not survive a power cut."""


class PostgresStore:
    """A limit in PostgreSQL.

    Args:
        url: of the server.
        name: of the limit.
        time: the time in seconds; default: the server's.
    """

    is_shared = True

    def __init__(self, url: str, name: str, time: Callable[[], float] | None = None) -> None:
        self._owner = f"the limit {name!r} in {redact_url(url)}"
        self._server = postgres_server(self._owner, add_parameters(url, _QUICK), StoreError, StoreUnavailable)
        self._name = name
        self._time = time
        self._id = uuid4().hex

    def configure(self, limits: RateLimits) -> RateLimits | None:
        """Have ``limits`` hold from now on; return those that held so far."""
        before = self._call("configure", "%s::float8[]", [float(number) for number in limits])
        if before is None:
            return None
        if len(before) == 1:
            raise InvalidInput(
                f"{self._owner} is of format {before[0]:g}, and this hocket knows {FORMAT}: use a newer hocket, or "
                "another name"
            )
        requests, tokens, read, written, window, burst, most, adaptive = before
        return RateLimits(requests, tokens, read, written, window, int(burst), int(most), bool(adaptive))

    def exchange(self, exchange: Exchange) -> ExchangeReply | None:
        """Settle and serve."""
        got = self._call(
            "exchange",
            "%s::text, %s::int, %s::int, %s::float8, %s::boolean, %s::float8[], %s::bigint[]",
            f"{self._id} {os.getpid()}",  # a forked child is another process
            exchange.held,
            exchange.in_flight,
            exchange.horizon,
            exchange.reports,
            [None if number is None else float(number) for end in exchange.ends for number in end],
            [number for need in exchange.needs for number in need],
        )
        if got is None:
            return None
        grants = [
            Grant(wait, int(seq), back, bool(is_probe))
            for wait, seq, back, is_probe in zip(got[1::4], got[2::4], got[3::4], got[4::4], strict=True)
        ]
        return ExchangeReply(grants, int(got[0]))

    def learn(self, found: tuple[float, float, float, float], pause: float, *, probes: bool = False) -> None:
        """Take the limits that a server told."""
        told = [float(limit) for limit in found]
        self._call("learn", "%s::float8, false, %s::float8[], %s::boolean", pause, told, probes)

    def slow_down(self, pause: float) -> None:
        """Go slower, and let nobody go for ``pause`` seconds."""
        refusal = self._call("learn", "%s::float8, true, '{0,0,0,0}', false", pause)
        if refusal is not None:
            is_limited, is_guess, *numbers = refusal
            pace = find_pace(RefusalRecord(bool(is_limited), bool(is_guess), *numbers))
            self._call("adopt", "%s::float8, %s::float8", *pace)

    def read(self) -> Figures | None:
        """Return how the limit stands."""
        got = self._call("read", "")
        if got is None:
            return None
        requests, tokens, read, written, factor, paused, *counts = got
        return Figures((requests, tokens, read, written), factor, paused, *map(int, counts))

    def _call(self, what: str, places: str, *arguments: object) -> list[float] | None:
        now = None if self._time is None else self._time()
        after = f", {places}" if places else ""
        statement = f"SELECT hocket_limit_{what}_{FORMAT}(%s::text, %s::float8{after})"
        ((found,),) = self._server.call(execute_or_create, CREATE, statement, self._name, now, *arguments)
        return cast("list[float] | None", found)
