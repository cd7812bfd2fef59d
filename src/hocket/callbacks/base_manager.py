"""Who listens, before a run exists: handlers, tags and metadata, and which of them children inherit.

A handler is itself and nothing else: two of a kind that compare equal, as empty dataclasses do, are two handlers.
"""

from collections.abc import Callable, Iterable
from typing import Self, TypeVar
from uuid import UUID

from hocket.callbacks.handler_mixins import Metadata
from hocket.callbacks.handlers import BaseCallbackHandler

__all__ = ["BaseCallbackManager", "Callbacks"]

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
        """Have this handler and no other."""
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
