"""Helpers around runnables that programs bring along."""

from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from hocket.callbacks import StdOutCallbackHandler
from hocket.errors import InvalidInput
from hocket.runnables import (
    ConfigurableFieldSpec,
    accepts_config,
    accepts_run_manager,
    aidentity,
    gather_with_concurrency,
    get_async_callback_manager_for_config,
    get_callback_manager_for_config,
    get_unique_config_specs,
    identity,
    is_async_callable,
    is_async_generator,
    run_in_executor,
)

PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


async def test_sync_code_runs_in_a_thread_with_the_context() -> None:
    PLACE.set("here")
    assert await run_in_executor(None, lambda more: PLACE.get() + more, "!") == "here!"


async def test_results_come_in_order_and_only_so_many_run_at_once() -> None:
    running = most = 0

    async def work(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.lowlevel.checkpoint()
        running -= 1
        return number

    assert await gather_with_concurrency(2, *(work(number) for number in range(5))) == [0, 1, 2, 3, 4]
    assert most == 2
    assert await gather_with_concurrency(None) == []
    with pytest.raises(InvalidInput, match="n is 0"):
        await gather_with_concurrency(0)


async def test_the_first_to_fail_cancels_the_others_and_is_raised_as_itself() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError, match="x"):
        await gather_with_concurrency(None, anyio.sleep_forever(), fail())


async def test_what_a_function_is_can_be_asked() -> None:
    async def generate(x: Any) -> Any:
        yield x

    class Caller:
        async def __call__(self, x: Any, config: Any) -> Any:
            return x

    assert is_async_callable(aidentity) and is_async_callable(Caller()) and not is_async_callable(identity)
    assert is_async_generator(generate) and not is_async_generator(aidentity)
    assert accepts_config(Caller()) and not accepts_config(identity)
    assert accepts_run_manager(lambda x, run_manager: x) and not accepts_run_manager(print)
    assert identity(1) == await aidentity(1) == 1


def test_a_config_has_its_manager() -> None:
    handler = StdOutCallbackHandler()
    for make in (get_callback_manager_for_config, get_async_callback_manager_for_config):
        manager = make({"callbacks": [handler], "tags": ["t"]})
        assert (manager.handlers, manager.tags) == ([handler], ["t"])


def test_a_spec_stands_once() -> None:
    one, other = ConfigurableFieldSpec("b", str), ConfigurableFieldSpec("a", int)
    assert get_unique_config_specs([one, other, one]) == [other, one]
    with pytest.raises(InvalidInput, match="id 'a'"):
        get_unique_config_specs([other, ConfigurableFieldSpec("a", str)])
