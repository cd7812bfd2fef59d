"""Requests and tokens per minute, of one process or of all that share an account."""

import math
import warnings
from collections.abc import Mapping
from typing import Literal, Self, TypeAlias, cast

from hocket._databases.urls import drop_secrets
from hocket._runtime import clock
from hocket._runtime.callers import warn_caller
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket._secrets import Secret, redact_url
from hocket.errors import DroppedStateWarning, HocketWarning, InvalidInput
from hocket.http.rate_limits import Kind, read_rate_limits
from hocket.http.retry_after import parse_number
from hocket.rate_limiters.asking import Asking
from hocket.rate_limiters.base import BaseRateLimiter, Permit
from hocket.rate_limiters.limits import MINUTE, RateLimits, RateLimitState, Tokens, check_need, make_limits, read_tokens
from hocket.rate_limiters.line import Line
from hocket.rate_limiters.opening import open_store
from hocket.rate_limiters.shared_line import SharedLine
from hocket.rate_limiters.store import MemoryStore

__all__ = ["RateLimiter"]

FIRST_GUESS = 500
"""Tokens of an answer of which nobody knows how long it may be, before the first one has come."""

_IfStoreFails: TypeAlias = Literal["local", "raise"]
_State: TypeAlias = tuple[RateLimits, str, str, _IfStoreFails]

_KINDS: tuple[Kind, ...] = ("requests", "tokens", "input", "output")


class _HeldPermit(Permit):
    """What a `RateLimiter` reserved for a request."""

    def __init__(self, limiter: "RateLimiter", held: Asking) -> None:
        self._limiter = limiter
        self._held = held
        self._is_over = False

    @property
    def tokens(self) -> tuple[int, int]:
        return self._held.need

    @property
    def is_local(self) -> bool:
        return not self._limiter.is_portable

    def settle(self, tokens: int | tuple[int, int]) -> None:
        drive(self._settle(BLOCKING, tokens))

    async def asettle(self, tokens: int | tuple[int, int]) -> None:
        await self._settle(ASYNC, tokens)

    def refund(self) -> None:
        drive(self._settle(BLOCKING, (0, 0)))

    async def arefund(self) -> None:
        await self._settle(ASYNC, (0, 0))

    async def _settle(self, mode: Mode, tokens: int | tuple[int, int]) -> None:
        used = self._divide(tokens)
        if not self._is_over:
            self._is_over = True
            await self._limiter._end(mode, self._held, used)  # pyright: ignore[reportPrivateUsage]

    def _divide(self, tokens: int | tuple[int, int]) -> Tokens:
        used = read_tokens(tokens)
        if isinstance(tokens, tuple):
            return used
        read = min(self._held.need.input, used.input)
        return Tokens(read, used.input - read)


class RateLimiter(BaseRateLimiter):
    """Keeps requests and tokens below the limits of an account: first come, first served, and in no window more.

    A request reserves the tokens that it may use at most, waits for its turn, and settles with what it used. With a
    ``store``, all processes and machines that name it share the limit; which call is next is decided there, by its clock.
    A process that is killed costs at most a second of the schedule, and what it had reserved until that has left the
    window.

    A model that has it as its ``rate_limiter`` does all that for every attempt. It learns from the headers of replies, is
    slowed down by a 429, for all processes at once, and has all of them keep a ``retry-after``.

    Args:
        requests_per_minute: requests.
        tokens_per_minute: tokens of prompts and answers.
        input_tokens_per_minute: tokens of prompts.
        output_tokens_per_minute: tokens of answers.
        max_in_flight: requests under way at the same time. A permit counts until it is settled.
        window: seconds over which the limits are kept: in any so many, at most ``window / 60`` of each number. A server
            that counts by the second wants 1.
        burst: requests that may go at the same moment after a pause.
        adaptive: whether it learns limits from replies and slows down after a 429. A limit that a server tells lowers one
            that is given here, and never raises it.
        store: ``redis://…``, ``postgresql://…`` or ``sqlite:///path``; None: the limit is this object's alone. Nothing is
            opened before it is used.
        name: of the limit in the store; the account, say. Of two that give it other numbers the newer one counts.
        if_store_fails: while the store is down or takes more than 2 seconds, "local" has each process keep its share of
            the numbers, by how many processes were seen last; "raise" raises `StoreUnavailable`.

    Raises:
        InvalidInput: an argument cannot be used, or there is neither a number nor ``adaptive``.
        MissingDependency: the package of the store is not installed.

    Examples:
        >>> from hocket import FakeListChatModel
        >>> from hocket.rate_limiters import RateLimiter
        >>> model = FakeListChatModel(responses=["Hello."], rate_limiter=RateLimiter(requests_per_minute=600))
        >>> model.invoke("Hi").text
        'Hello.'
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        input_tokens_per_minute: float | None = None,
        output_tokens_per_minute: float | None = None,
        max_in_flight: int | None = None,
        window: float = MINUTE,
        burst: int = 1,
        adaptive: bool = True,
        store: str | None = None,
        name: str = "default",
        if_store_fails: Literal["local", "raise"] = "local",
    ) -> None:
        numbers = {
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
            "input_tokens_per_minute": input_tokens_per_minute,
            "output_tokens_per_minute": output_tokens_per_minute,
        }
        if if_store_fails not in ("local", "raise"):
            raise InvalidInput(f'if_store_fails is {if_store_fails!r}; it must be "local" or "raise"')
        self._open(make_limits(numbers, max_in_flight, window, burst, adaptive), store, name, if_store_fails)

    @classmethod
    def for_pauses(
        cls, store: str | None = None, name: str = "default", if_store_fails: Literal["local", "raise"] = "local"
    ) -> Self:
        """Return one that limits nothing but in pauses (`apause`). The arguments are those of the class."""
        limiter = cls.__new__(cls)
        limiter._open(RateLimits(is_adaptive=False), store, name, if_store_fails)
        return limiter

    def _open(self, limits: RateLimits, store: str | None, name: str, if_store_fails: _IfStoreFails) -> None:
        self._limits = limits
        self._address = None if store is None else Secret(store)
        self._if_store_fails: _IfStoreFails = if_store_fails
        self.name: str = name
        self._line: Line
        if store is None:
            self._line = Line(MemoryStore(limits), repr(self))
        else:
            self._line = SharedLine(open_store(store, name), repr(self), limits, if_store_fails)
        self._told: dict[Kind, float] = {}
        self._paused_until = 0.0
        self._mean_output: float | None = None

    def __repr__(self) -> str:
        store = "" if self._address is None else f", store={redact_url(self._address)!r}"
        return f"RateLimiter(name={self.name!r}{store})"

    # -- asking

    def acquire(self, *, blocking: bool = True) -> bool:
        """Wait in this thread until a request may be made. See `BaseRateLimiter.acquire`."""
        return drive(self._acquire(BLOCKING, blocking))

    async def aacquire(self, *, blocking: bool = True) -> bool:
        """Wait in this event loop until a request may be made. See `BaseRateLimiter.aacquire`."""
        return await self._acquire(ASYNC, blocking)

    def reserve(
        self, tokens: int | tuple[int, int | None] = 0, *, blocking: bool = True, within: float | None = None
    ) -> Permit | None:
        """Wait in this thread until a request of so many tokens may be made. See `BaseRateLimiter.reserve`.

        Args:
            tokens, blocking: as there.
            within: seconds; a turn that lies later is refused as soon as that is known, mostly at once, and is not taken.

        Raises:
            InvalidInput: it needs more tokens than the limit ever allows.
            RateLimitError: its turn would come too late; ``retry_after`` is the seconds until then. Nothing was sent.
            StoreError: the store cannot be used, and ``if_store_fails`` is "raise".
        """
        return drive(self._reserve(BLOCKING, tokens, blocking, within))

    async def areserve(
        self, tokens: int | tuple[int, int | None] = 0, *, blocking: bool = True, within: float | None = None
    ) -> Permit | None:
        """Wait in this event loop until a request of so many tokens may be made. See `reserve`.

        A deadline around the caller (``anyio.fail_after``, ``asyncio.timeout``) is no ``within``: it waits until then, and
        leaves its turn to others.
        """
        return await self._reserve(ASYNC, tokens, blocking, within)

    async def _acquire(self, mode: Mode, blocking: bool) -> bool:
        held = await self._wait(mode, Tokens(0, 0), blocking, None)
        if held is not None and self._limits.max_in_flight:  # nobody will tell when it ends
            await self._end(mode, held, held.need)
        return held is not None

    async def _reserve(
        self, mode: Mode, tokens: int | tuple[int, int | None], blocking: bool, within: float | None
    ) -> Permit | None:
        need = self._read_need(tokens)
        held = await self._wait(mode, need, blocking, within)
        return None if held is None else _HeldPermit(self, held)

    def _read_need(self, tokens: int | tuple[int, int | None]) -> Tokens:
        need = read_tokens(tokens, round(FIRST_GUESS if self._mean_output is None else self._mean_output))
        if isinstance(tokens, tuple) and tokens[1] is None:  # a guess of ours is no reason to refuse
            limits = self._limits
            most = min(limits.output or need.output, (limits.tokens or need.input + need.output) - need.input)
            need = need._replace(output=max(0, min(need.output, int(most))))
        check_need(need, self._limits)
        return need

    async def _wait(self, mode: Mode, need: Tokens, blocking: bool, within: float | None) -> Asking | None:
        line, latest = self._line, clock.current().now() + (math.inf if within is None else within)
        held = await (line.reserve(mode, need, latest) if blocking else line.try_to_reserve(mode, need))
        if (before := self._line.replaced) is not None:
            self._line.replaced = None
            warn_caller(
                f"{self!r} was used with {_describe(before)}; from now on {_describe(self._limits)} counts",
                HocketWarning,
            )
        return held

    async def _end(self, mode: Mode, held: Asking, used: Tokens) -> None:
        if used.output:
            mean = self._mean_output
            self._mean_output = used.output if mean is None else mean + (used.output - mean) / 16
        ending = self._line.end(mode, held, used)
        await (mode.run_shielded(ending) if self.is_portable else ending)

    # -- learning

    def learn(self, headers: Mapping[str, str]) -> None:
        """Learn the limits in a reply. See `alearn`."""
        drive(self._learn(BLOCKING, headers))

    async def alearn(self, headers: Mapping[str, str]) -> None:
        """Learn the account's limits in a reply, for all users of this limiter.

        A limit is taken over where it is lower than the given one, or none is given. Where nothing remains of one, nobody
        goes before it is reset. Headers of OpenAI, Anthropic and their relatives are understood; others change nothing.

        Args:
            headers: of the reply, in lower case.
        """
        await self._learn(ASYNC, headers)

    async def _learn(self, mode: Mode, headers: Mapping[str, str]) -> None:
        if not self._limits.is_adaptive:
            return
        found = read_rate_limits(headers)
        told: dict[Kind, float] = {
            kind: limit.per_minute for kind, limit in found.items() if limit.per_minute is not None
        }
        pause = max((limit.reset or 0.0 for limit in found.values() if limit.remaining == 0), default=0.0)
        if pause and clock.current().now() + pause <= self._paused_until + 1:
            pause = 0.0
        if not pause and all(self._told.get(kind) == limit for kind, limit in told.items()):
            return
        self._told |= told
        self._paused_until = max(self._paused_until, clock.current().now() + pause)
        per_window = tuple(told.get(kind, 0.0) * self._limits.window / MINUTE for kind in _KINDS)
        learned = cast("tuple[float, float, float, float]", per_window)
        await self._line.do(mode, lambda store: store.learn(learned, pause))

    def slow_down(self, retry_after: float | None = None) -> None:
        """Go slower after a 429. See `aslow_down`."""
        drive(self._slow_down(BLOCKING, retry_after))

    async def aslow_down(self, retry_after: float | None = None) -> None:
        """Go slower after a server has refused, for all who share this limit; once in two seconds, however many refused.

        Args:
            retry_after: seconds for which no request goes; None: the server did not say.
        """
        await self._slow_down(ASYNC, retry_after)

    async def _slow_down(self, mode: Mode, retry_after: float | None) -> None:
        if retry_after is not None:
            _check_seconds("retry_after", retry_after)
        await self._line.do(mode, lambda store: store.slow_down(retry_after or 0.0))

    def pause(self, seconds: float, *, probe: bool = False) -> None:
        """Stop all requests for a while. See `apause`."""
        drive(self._pause(BLOCKING, seconds, probe))

    async def apause(self, seconds: float, *, probe: bool = False) -> None:
        """Stop all requests of this limit for a while; unlike `aslow_down` it does not change the pace.

        Args:
            seconds: a shorter pause ends no longer one.
            probe: whether one goes first afterwards, and the others when that one is settled, or after 30 s: for a server
                of which nobody knows whether it answers again.

        Raises:
            InvalidInput: ``seconds`` is no number of seconds.
            StoreError: the store cannot be used, and ``if_store_fails`` is "raise".
        """
        await self._pause(ASYNC, seconds, probe)

    async def _pause(self, mode: Mode, seconds: float, probe: bool) -> None:
        _check_seconds("seconds", seconds)
        await self._line.do(mode, lambda store: store.learn((0.0, 0.0, 0.0, 0.0), seconds, probes=probe))

    def state(self) -> RateLimitState:
        """Return the state of the limit."""
        return drive(self._read_state(BLOCKING))

    async def astate(self) -> RateLimitState:
        """Return the state of the limit."""
        return await self._read_state(ASYNC)

    async def _read_state(self, mode: Mode) -> RateLimitState:
        figures = await self._line.do(mode, lambda store: store.read())
        if figures is None:
            figures = MemoryStore(self._limits).read()
        requests, tokens, read, written = (limit * MINUTE / self._limits.window or None for limit in figures.limits)
        in_flight = figures.in_flight if self._limits.max_in_flight else self._line.in_flight
        return RateLimitState(
            requests,
            tokens,
            read,
            written,
            figures.factor,
            figures.paused,
            figures.input,
            figures.output,
            self._line.waiting,
            in_flight,
            figures.processes,
        )

    # -- copies and pickles

    @property
    def is_portable(self) -> bool:
        """Whether it means the same in another process: it has a store."""
        return self._address is not None

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __getstate__(self) -> _State:
        if self._address is None:
            raise TypeError(f"{self!r} is of this process alone and cannot be pickled: give it a store=...")
        bare = drop_secrets(self._address)
        if bare != self._address:
            warnings.warn(
                f"pickling {self!r} leaves its password behind; make it again after loading",
                DroppedStateWarning,
                stacklevel=2,
            )
        return self._limits, bare, self.name, self._if_store_fails

    def __setstate__(self, state: _State) -> None:
        self._open(*state)


def _check_seconds(name: str, seconds: float) -> None:
    if parse_number(str(seconds)) is None or seconds < 0:
        raise InvalidInput(f"{name} is {seconds!r}; it must be a number of seconds, 0 or more")


def _describe(limits: RateLimits) -> str:
    """Return limits as the arguments that mean them."""
    names = ("requests_per_minute", "tokens_per_minute", "input_tokens_per_minute", "output_tokens_per_minute")
    parts = [
        f"{name}={limit * MINUTE / limits.window:g}" for name, limit in zip(names, limits[:4], strict=True) if limit
    ]
    if limits.max_in_flight:
        parts.append(f"max_in_flight={limits.max_in_flight}")
    return ", ".join([*parts, f"window={limits.window:g}", f"burst={limits.burst}"])
