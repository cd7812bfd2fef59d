"""Several calls as one run: a chain of the caller's own making."""

import contextlib
import functools
from collections.abc import Mapping
from typing import Any, Final, Generic, Self, TypeVar
from uuid import UUID

from hocket._runtime.mode import drive
from hocket.callbacks.base_manager import BaseCallbackManager, Callbacks
from hocket.callbacks.handler_mixins import Metadata
from hocket.callbacks.manager import AsyncCallbackManager, AsyncRunManager, CallbackManager, RunManager
from hocket.callbacks.run_listeners import BaseRunManager, sync_face

__all__ = [
    "AsyncCallbackManagerForChainGroup",
    "CallbackManagerForChainGroup",
    "atrace_as_chain_group",
    "trace_as_chain_group",
]


class _GroupManager(BaseCallbackManager):
    """Starts the runs of a group, and can end the group's own, which is ``parent_run_manager``."""

    def __init__(self, *args: Any, parent_run_manager: BaseRunManager, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.parent_run_manager = parent_run_manager

    @property
    def ended(self) -> bool:
        """Whether the group's run has ended."""
        return self.parent_run_manager.ended

    def copy(self) -> Self:
        """Return a manager of the same group that can be changed without changing this one."""
        return self.copy_as(functools.partial(type(self), parent_run_manager=self.parent_run_manager))


class AsyncCallbackManagerForChainGroup(_GroupManager, AsyncCallbackManager):
    """What `atrace_as_chain_group` gives: pass it as ``callbacks`` to the calls of the group.

    Once told of the end of the group's run, it says nothing more when the block is left.
    """

    async def on_chain_end(self, /, outputs: object, **kwargs: object) -> None:
        """End the group's run with its outputs."""
        await self.parent_run_manager.emit_end("on_chain_end", outputs, **kwargs)

    async def on_chain_error(self, /, error: BaseException, **kwargs: object) -> None:
        """End the group's run with an error."""
        await self.parent_run_manager.emit_end("on_chain_error", error, **kwargs)


class CallbackManagerForChainGroup(_GroupManager, CallbackManager):
    """What `trace_as_chain_group` gives: pass it as ``callbacks`` to the calls of the group."""

    on_chain_end: Final = sync_face(AsyncCallbackManagerForChainGroup.on_chain_end)
    on_chain_error: Final = sync_face(AsyncCallbackManagerForChainGroup.on_chain_error)


G = TypeVar("G", bound=_GroupManager)


class _Group(Generic[G]):
    """A group, from its start to its end. It holds nothing open, so that it may be left in another task."""

    manager_class: type[AsyncCallbackManager | CallbackManager]
    group_class: type[G]

    def __init__(
        self,
        group_name: str,
        callback_manager: Callbacks = None,
        *,
        inputs: Mapping[str, object] | None = None,
        run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: Metadata | None = None,
    ) -> None:
        manager = self.manager_class.configure(callback_manager, None, False, tags, None, metadata)
        self._run: AsyncRunManager | RunManager = manager.new_run(manager.chain_run_class, run_id)
        self._start_args = ({"name": group_name}, inputs or {})

    async def _enter(self) -> G:
        try:
            await self._run.emit_start("on_chain_start", self._start_args, {})
        except BaseException as error:
            await self._exit(error)
            raise
        make = functools.partial(self.group_class, parent_run_manager=self._run)
        return self._run.get_child().copy_as(make)

    async def _exit(self, error: BaseException | None) -> None:
        if error is None:
            await self._run.emit_end("on_chain_end", {})
        elif isinstance(error, GeneratorExit):  # the generator that the block is in was left early, which is no failure
            await self._run.emit_end("on_chain_end", {}, closed=True)
        else:
            with contextlib.suppress(Exception):  # of a handler that raises; the block has an error of its own
                await self._run.emit_end("on_chain_error", error)


class atrace_as_chain_group(_Group[AsyncCallbackManagerForChainGroup]):
    """An async context manager that makes one run, a chain's, of the calls in its block.

    It gives the manager to pass to them as ``callbacks``. The run ends with the block, or before, when the manager is
    told so: with an error if the block raised or was cancelled.

    Args:
        group_name: the chain's name, for handlers.
        callback_manager: who listens: a manager, or a list of handlers.
        inputs: of the chain, for handlers.
        run_id: of the chain's run.
        tags, metadata: of that run and of those inside.
    """

    manager_class: type[AsyncCallbackManager | CallbackManager] = AsyncCallbackManager
    group_class: type[AsyncCallbackManagerForChainGroup] = AsyncCallbackManagerForChainGroup

    async def __aenter__(self) -> AsyncCallbackManagerForChainGroup:
        return await self._enter()

    async def __aexit__(self, kind: object = None, error: BaseException | None = None, trace: object = None) -> None:
        await self._exit(error)


class trace_as_chain_group(_Group[CallbackManagerForChainGroup]):
    """A context manager that makes one run of the calls in its block: the sync face of `atrace_as_chain_group`."""

    manager_class: type[AsyncCallbackManager | CallbackManager] = CallbackManager
    group_class: type[CallbackManagerForChainGroup] = CallbackManagerForChainGroup

    def __enter__(self) -> CallbackManagerForChainGroup:
        return drive(self._enter())

    def __exit__(self, kind: object = None, error: BaseException | None = None, trace: object = None) -> None:
        drive(self._exit(error))
