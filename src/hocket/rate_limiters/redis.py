"""A limit in Redis: the arithmetic of `hocket.rate_limiters.schedule` as one script, which nobody else sees half done.

Times are whole microseconds by the server's clock, since only waits travel. The keys share a hash tag, so that a cluster
keeps them together, and expire when nobody uses the limit.
"""

import json
import os
from collections.abc import Callable
from typing import cast
from uuid import uuid4

from hocket._databases.redis import redis_server, run_script
from hocket._databases.urls import add_parameters
from hocket._secrets import redact_url
from hocket.errors import StoreError, StoreUnavailable
from hocket.rate_limiters.adapting import RefusalRecord, find_pace
from hocket.rate_limiters.limits import RateLimits
from hocket.rate_limiters.redis_script import SCRIPT
from hocket.rate_limiters.schedule import Grant
from hocket.rate_limiters.store import Exchange, ExchangeReply, Figures

__all__ = ["RedisStore"]

MICROSECOND = 1_000_000
_QUICK = {"socket_timeout": "2", "socket_connect_timeout": "2", "timeout": "2"}
"""Seconds to wait for an answer, a connection, and one of the pool's: after that a store counts as down."""


class RedisStore:
    """A limit in Redis.

    Args:
        url: of the server.
        name: of the limit.
        time: the time in seconds; default: the server's.
    """

    is_shared = True

    def __init__(self, url: str, name: str, time: Callable[[], float] | None = None) -> None:
        owner = f"the limit {name!r} in {redact_url(url)}"
        self._server = redis_server(owner, add_parameters(url, _QUICK), StoreError, StoreUnavailable)
        tag = f"hocket:limit:{{{name}}}:"
        self._keys = [tag + part for part in ("state", "log", "members")]
        self._time = time
        self._id = uuid4().hex

    def configure(self, limits: RateLimits) -> RateLimits | None:
        """Have ``limits`` hold from now on; return those that held so far."""
        numbers = [float(number) for number in limits]
        numbers[4] *= MICROSECOND
        before = cast("list[str]", self._call("configure", *map(repr, numbers)))
        if not before:
            return None
        requests, tokens, read, written, window, burst, most, adaptive = (float(text) for text in before)
        return RateLimits(requests, tokens, read, written, window / MICROSECOND, int(burst), int(most), bool(adaptive))

    def exchange(self, exchange: Exchange) -> ExchangeReply | None:
        """Settle and serve."""
        told: list[str | int] = []
        for end in exchange.ends:
            back = "used" if end.back is None else round(end.back * MICROSECOND)
            told += (end.seq, end.input, end.output, back)
        for need in exchange.needs:
            told += need
        horizon, reports = round(exchange.horizon * MICROSECOND), int(exchange.reports)
        reply = self._call(
            "exchange",
            f"{self._id} {os.getpid()}",  # a forked child is another process
            exchange.held,
            exchange.in_flight,
            horizon,
            reports,
            len(exchange.ends),
            *told,
        )
        if not reply:
            return None
        got = cast("list[int]", reply)
        grants = [
            Grant(wait / MICROSECOND, seq, back / MICROSECOND, bool(is_probe))
            for wait, seq, back, is_probe in zip(got[1::4], got[2::4], got[3::4], got[4::4], strict=True)
        ]
        return ExchangeReply(grants, got[0])

    def learn(self, found: tuple[float, float, float, float], pause: float, *, probes: bool = False) -> None:
        """Take the limits that a server told."""
        self._call("learn", round(pause * MICROSECOND), *found, int(probes))

    def slow_down(self, pause: float) -> None:
        """Go slower, and let nobody go for ``pause`` seconds."""
        refusal = self._call("slow_down", round(pause * MICROSECOND))
        if isinstance(refusal, bytes | str):
            self._call("adopt", *find_pace(RefusalRecord(*json.loads(refusal))))

    def read(self) -> Figures | None:
        """Return how the limit stands."""
        reply = self._call("read")
        if not reply:
            return None
        requests, tokens, read, written, *others = json.loads(cast(bytes, reply))
        return Figures((requests, tokens, read, written), *others)

    def _call(self, what: str, *arguments: str | float) -> object:
        now = 0 if self._time is None else round(self._time() * MICROSECOND)
        return self._server.call(run_script, SCRIPT, self._keys, (what, now, *arguments))
