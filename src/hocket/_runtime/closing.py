"""Objects that are closed at the end of a ``with`` or an ``async with`` block."""

from typing import Protocol, Self

__all__ = ["AsyncClosing", "Closing"]


class _HasAclose(Protocol):
    async def aclose(self) -> None: ...


class _HasClose(Protocol):
    def close(self) -> None: ...


class AsyncClosing:
    """What has ``aclose``: its block closes it, however the block ends."""

    __slots__ = ()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self: _HasAclose, *exc: object) -> None:
        await self.aclose()


class Closing:
    """What has ``close``: its block closes it, however the block ends."""

    __slots__ = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self: _HasClose, *exc: object) -> None:
        self.close()
