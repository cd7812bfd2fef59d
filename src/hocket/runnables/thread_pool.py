"""Threads of a program's own, in which what is called belongs to the run that it is called in. LangChain's names.

hocket's own verbs need none: ``abatch`` and `RunnableParallel` run in one loop.
"""

from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import ParamSpec, TypeVar

from hocket.runnables.config import RunnableConfig, ensure_config

__all__ = ["ContextThreadPoolExecutor", "get_executor_for_config"]

P = ParamSpec("P")
T = TypeVar("T")


class ContextThreadPoolExecutor(ThreadPoolExecutor):
    """A thread pool that calls each function with a copy of the context variables of who hands it over.

    So a model that is called in a thread is called inside the run, the budget and the span of the caller that waits for it.
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in a thread, and return a future of what it returns."""
        context = copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


@contextmanager
def get_executor_for_config(config: RunnableConfig | None) -> Generator[ContextThreadPoolExecutor]:
    """Open a `ContextThreadPoolExecutor` with as many threads as the ``max_concurrency`` of a config; None: Python's number.

    When the block ends, all that was handed over has been called.
    """
    with ContextThreadPoolExecutor(max_workers=ensure_config(config).get("max_concurrency")) as executor:
        yield executor
