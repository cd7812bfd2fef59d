"""Several calls as one run: a chain of the caller's own making."""

import contextlib
import functools
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypeVar
from uuid import UUID

from hocket.callbacks.base_manager import BaseCallbackManager, Callbacks
from hocket.callbacks.manager import AsyncCallbackManager, CallbackManager
from hocket.callbacks.run_managers import BaseRunManager, stepped

__all__ = [
    "AsyncCallbackManagerForChainGroup",
    "CallbackManagerForChainGroup",
    "atrace_as_chain_group",
    "trace_as_chain_group",
]

G = TypeVar("G", bound="_GroupManager")


class _GroupManager(BaseCallbackManager):
    """Starts the runs of a group, and can end the group's own."""

    def __init__(self, *args: Any, parent_run_manager: BaseRunManager, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parent_run_manager = parent_run_manager

    @property
    def ended(self) -> bool:
        """Whether the group's run has ended."""
        return self.parent_run_manager.ended

    def copy(self) -> Self:
        """Return a manager of the same group that can be changed without changing this one."""
        return self._copied_as(functools.partial(type(self), parent_run_manager=self.parent_run_manager))  # type: ignore


class AsyncCallbackManagerForChainGroup(_GroupManager, AsyncCallbackManager):
    """What `atrace_as_chain_group` gives: pass it as ``callbacks`` to the calls of the group."""

    async def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        """End the group's run with its outputs; leaving the block then tells nothing more."""
        await self.parent_run_manager._tell_end("on_chain_end", outputs, **kwargs)  # pyright: ignore

    async def on_chain_error(self, error: BaseException, **kwargs: Any) -> None:
        """End the group's run with an error."""
        await self.parent_run_manager._tell_end("on_chain_error", error, **kwargs)  # pyright: ignore


class CallbackManagerForChainGroup(_GroupManager, CallbackManager):
    """What `trace_as_chain_group` gives: pass it as ``callbacks`` to the calls of the group."""

    on_chain_end = stepped(AsyncCallbackManagerForChainGroup.on_chain_end)
    on_chain_error = stepped(AsyncCallbackManagerForChainGroup.on_chain_error)
