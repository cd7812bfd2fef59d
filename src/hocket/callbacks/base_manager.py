"""Who listens, before a run exists: handlers, tags and metadata, and which of them children inherit.

A handler is itself and nothing else: two of a kind that compare equal, as empty dataclasses do, are two handlers.

Callers give handlers and managers of hocket or of another library. A handler of LangChain's has the names of our methods,
and would take our messages for its own: most of what it was told it would drop in silence. So another object is told in
its place. A library is known by the module that defines its handlers, which a program that holds one has loaded. What
converts for it stands floors above, and is named here by a string, since no other program is to load it. (Not by an entry
point: to look for those reads the disk, and handlers are met in event loops.)
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeVar, cast
from uuid import UUID

from hocket.callbacks.handler_mixins import Metadata
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.errors import InvalidInput

__all__ = ["BaseCallbackManager", "Callbacks", "as_own_handler", "as_own_manager", "list_handlers"]

M = TypeVar("M")


class BaseCallbackManager:
    """A set of handlers in the order in which they were given, with tags and metadata for the runs they will see.

    Args:
        handlers: told of the runs that this manager starts.
        inheritable_handlers: told of the runs inside those, too.
        parent_run_id: the run inside which this manager starts runs.
        tags, inheritable_tags, metadata, inheritable_metadata: for those runs, and for the runs inside them.
    """

    is_async = False

    def __init__(
        self,
        handlers: list[BaseCallbackHandler],
        inheritable_handlers: list[BaseCallbackHandler] | None = None,
        parent_run_id: UUID | None = None,
        *,
        tags: list[str] | None = None,
        inheritable_tags: list[str] | None = None,
        metadata: Metadata | None = None,
        inheritable_metadata: Metadata | None = None,
    ) -> None:
        self.handlers: list[BaseCallbackHandler] = handlers
        self.inheritable_handlers: list[BaseCallbackHandler] = inheritable_handlers or []
        self.parent_run_id: UUID | None = parent_run_id
        self.tags: list[str] = tags or []
        self.inheritable_tags: list[str] = inheritable_tags or []
        self.metadata: Metadata = metadata or {}
        self.inheritable_metadata: Metadata = inheritable_metadata or {}

    def copy(self) -> Self:
        """Return a manager of the same class that can be changed without changing this one."""
        return self.copy_as(type(self))

    def copy_as(self, cls: Callable[..., M]) -> M:
        """Return a manager with the same facts, made by ``cls``: a class of managers, or what makes one of its arguments."""
        return cls(
            handlers=list(self.handlers),
            inheritable_handlers=list(self.inheritable_handlers),
            parent_run_id=self.parent_run_id,
            tags=list(self.tags),
            inheritable_tags=list(self.inheritable_tags),
            metadata=dict(self.metadata),
            inheritable_metadata=dict(self.inheritable_metadata),
        )

    def merge(self, other: "BaseCallbackManager") -> Self:
        """Return a manager with what both have; this one's handlers come first, the other's metadata wins."""
        merged = self.copy()
        merged.parent_run_id = self.parent_run_id or other.parent_run_id
        for handler in other.handlers:
            merged.add_handler(handler, inherit=_holds(other.inheritable_handlers, handler))
        for handler in other.inheritable_handlers:
            if not _holds(merged.inheritable_handlers, handler):
                merged.inheritable_handlers.append(handler)
        merged.add_tags([tag for tag in other.tags if tag not in other.inheritable_tags], inherit=False)
        merged.add_tags(other.inheritable_tags)
        merged.add_metadata(other.metadata, inherit=False)
        merged.add_metadata(other.inheritable_metadata)
        return merged

    def add_handler(self, handler: BaseCallbackHandler, inherit: bool = True) -> None:
        """Add a handler behind the others, unless it is there already."""
        if not _holds(self.handlers, handler):
            self.handlers.append(handler)
        if inherit and not _holds(self.inheritable_handlers, handler):
            self.inheritable_handlers.append(handler)

    def remove_handler(self, handler: BaseCallbackHandler) -> None:
        """Remove a handler, if it is there."""
        self.handlers = [held for held in self.handlers if held is not handler]
        self.inheritable_handlers = [held for held in self.inheritable_handlers if held is not handler]

    def set_handlers(self, handlers: list[BaseCallbackHandler], inherit: bool = True) -> None:
        """Have these handlers and no others."""
        self.handlers, self.inheritable_handlers = [], []
        for handler in handlers:
            self.add_handler(handler, inherit=inherit)

    def set_handler(self, handler: BaseCallbackHandler, inherit: bool = True) -> None:
        """Have only this handler."""
        self.set_handlers([handler], inherit=inherit)

    def add_tags(self, tags: list[str], inherit: bool = True) -> None:
        """Add tags, each once."""
        self.tags.extend(tag for tag in dict.fromkeys(tags) if tag not in self.tags)
        if inherit:
            self.inheritable_tags.extend(tag for tag in dict.fromkeys(tags) if tag not in self.inheritable_tags)

    def remove_tags(self, tags: list[str]) -> None:
        """Remove tags, those that are there."""
        self.tags = [tag for tag in self.tags if tag not in tags]
        self.inheritable_tags = [tag for tag in self.inheritable_tags if tag not in tags]

    def add_metadata(self, metadata: Metadata, inherit: bool = True) -> None:
        """Add metadata, over what is there."""
        self.metadata.update(metadata)
        if inherit:
            self.inheritable_metadata.update(metadata)

    def remove_metadata(self, keys: list[str]) -> None:
        """Remove metadata by key."""
        for key in keys:
            self.metadata.pop(key, None)
            self.inheritable_metadata.pop(key, None)


Callbacks = list[BaseCallbackHandler] | BaseCallbackManager | None
"""What may be given as ``callbacks``."""


def _holds(handlers: Iterable[BaseCallbackHandler], handler: BaseCallbackHandler) -> bool:
    for held in handlers:  # noqa: SIM110  # three times the speed of any(), which every call pays
        if held is handler:
            return True
    return False


_LIBRARIES = {"langchain_core.callbacks.base": "hocket.interop.langchain.handlers"}
"""By the module that defines a library's handlers, the module whose `adapt` returns what stands in for them here."""

StandIn = BaseCallbackHandler | BaseCallbackManager


def as_own_handler(handler: BaseCallbackHandler) -> BaseCallbackHandler:
    """Return what is told in the place of ``handler``: itself, unless its class is a known library's."""
    convert = _find(handler, "BaseCallbackHandler")
    return handler if convert is None else cast(BaseCallbackHandler, convert(handler))


def as_own_manager(manager: object) -> BaseCallbackManager | None:
    """Return a known library's manager as ours, with its handlers as they are; None: it is no manager."""
    if manager is None or isinstance(manager, BaseCallbackManager):
        return manager
    convert = _find(manager, "BaseCallbackManager")
    return None if convert is None else cast(BaseCallbackManager, convert(manager))


def _find(thing: object, kind: str) -> Callable[[object], StandIn] | None:
    """Return what converts for the library whose class ``kind`` the object is of; None: there is none."""
    for name, home in _LIBRARIES.items():
        # () also while another thread imports the library
        if isinstance(thing, getattr(sys.modules.get(name), kind, ())):
            return _load(home)
    return None


@functools.cache
def _load(home: str) -> Callable[[object], StandIn]:
    """Load what converts, once, when the first handler of its library is met."""
    return cast("Callable[[object], StandIn]", importlib.import_module(home).adapt)


def list_handlers(callbacks: Callbacks) -> Sequence[BaseCallbackHandler]:
    """Return the handlers that ``callbacks`` stands for.

    Raises:
        InvalidInput: it is neither a list nor a manager, or holds what could never be told anything.
    """
    if not callbacks:
        return ()
    if not isinstance(callbacks, (list, tuple)):  # no slower check: every call that is watched comes by
        manager = as_own_manager(callbacks)
        if manager is not None:
            return manager.handlers
        raise InvalidInput(f"callbacks is {callbacks!r}; it must be a list, [handler], or a callback manager")
    for handler in callbacks:
        if not isinstance(handler, BaseCallbackHandler) and not _is_like(handler):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(
                f"callbacks holds {handler!r}; it must be an instance of a BaseCallbackHandler", page="callbacks.md"
            )
    return callbacks


def _is_like(handler: object) -> bool:
    """Whether an object (no class) has the flags of our handlers: then it is a handler of another library."""
    return not isinstance(handler, type) and hasattr(handler, "raise_error") and hasattr(handler, "ignore_llm")
