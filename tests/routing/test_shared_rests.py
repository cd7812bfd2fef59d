"""Routers that share a store, each of which stands for a process: what one of them is told, all keep."""

from typing import Any

import anyio
import pytest

from hocket.errors import RateLimitError
from hocket.routing import ChatRouter, Deployment
from tests.kit.models import HookModel, hook_model
from tests.rate_limiters.conftest import address, name, postgres_url

__all__ = ["address", "name", "postgres_url"]

REST = 1.5
"""Seconds for which the server wants to be left alone."""


def open_router(address: str, name: str, first: HookModel) -> ChatRouter:
    """Return a router that asks the first of two models wherever it can."""
    deployments = [Deployment(first, name="a"), Deployment(hook_model("b"), name="b", weight=0)]
    return ChatRouter(deployments=deployments, store=address, name=name, affinity=False, if_store_fails="raise")


async def test_a_retry_after_is_kept_by_all_and_then_one_goes_first(address: str, name: str):
    refused = False

    async def answer(call: Any) -> Any:
        nonlocal refused
        if not refused:
            refused = True
            return RateLimitError("slow", retry_after=REST, retryable=True)
        await anyio.sleep(0.3)
        return "a"

    models = [hook_model(answer) for _ in range(3)]
    routers = [open_router(address, name, model) for model in models]
    for router in routers:
        await router.astate()  # opens the store, which may take a while
    assert (await routers[0].ainvoke("hi")).text == "b"
    for router in routers:
        assert (await router.ainvoke("hi")).text == "b"
    assert [len(model.requests) for model in models] == [1, 0, 0]

    replies: list[str] = []

    async def ask(router: ChatRouter) -> None:
        replies.append((await router.ainvoke("hi")).text)

    await anyio.sleep(REST + 0.1)
    async with anyio.create_task_group() as group:
        for router in routers * 2:
            group.start_soon(ask, router)
    assert sorted(replies) == ["a", "b", "b", "b", "b", "b"]
    assert {(await router.ainvoke("hi")).text for router in routers} == {"a"}


async def test_a_store_that_is_down_is_one_that_nobody_shares():
    router = ChatRouter(deployments=["fake:a", "fake:b"], store="redis://127.0.0.1:9/0")
    assert (await router.ainvoke("hi")).text in ("a", "b")


def test_a_store_is_named_by_its_address():
    with pytest.raises(ValueError, match="ftp"):
        ChatRouter(deployments=["fake:a"], store="ftp://host").invoke("hi")
