"""What every rate limiter can do, and the permits that it gives."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from hocket._runtime.definitions import Twins

__all__ = ["BaseRateLimiter", "Permit"]


class Permit:
    """Leave to make one request. What it took is settled afterwards, once; what comes later changes nothing.

    This one settles nothing: it is that of a limiter which counts requests alone.
    """

    @property
    def tokens(self) -> tuple[int, int]:
        """What was reserved: input and output."""
        return 0, 0

    @property
    def is_local(self) -> bool:
        """Whether the settlement never waits: then it needs no protection from cancellation."""
        return False

    def settle(self, tokens: int | tuple[int, int]) -> None:
        """Say what the request used, in place of what was reserved for it.

        Args:
            tokens: their number; or two, input and output. Of one number, the input is what was reserved as such.

        Raises:
            InvalidInput: it is no number of tokens.
        """

    async def asettle(self, tokens: int | tuple[int, int]) -> None:
        """Say what the request used. See `settle`."""

    def refund(self) -> None:
        """Say that the request used no tokens: it was refused before any work. As a request it counts."""

    async def arefund(self) -> None:
        """Say that the request used no tokens. See `refund`."""


class BaseRateLimiter(Twins, ABC):
    """Holds back calls. A model asks before each real request; an answer out of a cache does not ask."""

    @abstractmethod
    def acquire(self, *, blocking: bool = True) -> bool:
        """Wait in this thread until a request may be made, and return True.

        Args:
            blocking: False returns at once: True if the request may be made, else False.
        """

    @abstractmethod
    async def aacquire(self, *, blocking: bool = True) -> bool:
        """Wait, without holding up the event loop, until a request may be made. See `acquire`."""

    def reserve(
        self, tokens: int | tuple[int, int | None] = 0, *, blocking: bool = True, within: float | None = None
    ) -> Permit | None:
        """Wait in this thread until a request may be made that uses up to so many tokens.

        Args:
            tokens: at most. Their number, which counts as input; or two, input and output, where None is an answer of
                which nobody knows how long it may be. A limiter that counts requests alone does not look at them.
            blocking: False returns at once: a permit if the request may be made, else None.
            within: seconds; a turn that lies later may be refused at once. This one does not look at it.

        Returns:
            the permit, to be settled after the request; None only if not ``blocking``.
        """
        return Permit() if self.acquire(blocking=blocking) else None

    async def areserve(
        self, tokens: int | tuple[int, int | None] = 0, *, blocking: bool = True, within: float | None = None
    ) -> Permit | None:
        """Wait, without holding up the event loop, until a request of so many tokens may be made. See `reserve`."""
        return Permit() if await self.aacquire(blocking=blocking) else None

    def learn(self, headers: Mapping[str, str]) -> None:  # it may do nothing
        """Take what a reply says of the limits of the account. This one does not look at it.

        Args:
            headers: of the reply, in lower case.
        """

    async def alearn(self, headers: Mapping[str, str]) -> None:  # it may do nothing
        """Take what a reply says of the limits of the account. See `learn`."""

    def slow_down(self, retry_after: float | None = None) -> None:  # it may do nothing
        """Go slower, since a server has refused. This one does not.

        Args:
            retry_after: seconds for which nobody is to go; None: the server did not say.
        """

    async def aslow_down(self, retry_after: float | None = None) -> None:  # it may do nothing
        """Go slower, since a server has refused. See `slow_down`."""
