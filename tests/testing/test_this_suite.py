"""What this suite promises of its own tests: the guards of its conftest are up."""

import socket
import time
import warnings

import pytest
from blockbuster import BlockingError

from hocket._runtime.mode import BLOCKING


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_blocking_call_made_through_hocket_fails() -> None:
    """A hook that blocks the loop is an error at the call, not a slow test."""
    with pytest.raises(BlockingError, match=r"time\.sleep"):
        await BLOCKING.call_sync(time.sleep, 0.001)


def test_a_warning_fails() -> None:
    """Nobody reads warnings, so they are errors."""
    with pytest.raises(UserWarning, match="unread"):
        warnings.warn("unread", stacklevel=1)


def test_the_world_is_out_of_reach() -> None:
    """No test depends on what some server says today."""
    with pytest.raises(RuntimeError, match="refused"):
        socket.getaddrinfo("example.org", 443)
