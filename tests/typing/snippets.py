"""hocket as its users write it, for type checkers only: nothing here is run.

`tests/house/test_typing.py` runs mypy and pyright in their strict modes over this file. A claim about a type is an
`assert_type`.
"""

from typing import assert_type

from hocket.testing import VirtualClock, assert_no_blocking, no_network, virtual_clock


async def a_test_with_a_virtual_clock() -> None:
    with virtual_clock(start=10, autojump=False) as clock, no_network():
        assert_type(clock, VirtualClock)
        assert_type(clock.now(), float)
        clock.advance(5)
        async with assert_no_blocking(limit=0.05):
            await clock.sleep(1)
