"""What a caller gives as callbacks: handlers and managers, of hocket or of another library.

A handler of LangChain's has the names of our methods, and would take our messages for its own: most of what it was told
it would drop in silence. So another object is told in its place. A library is known by the module that defines its
handlers, which a program that holds one has loaded. What converts for it stands floors above, and is named here by a
string, since no other program is to load it. (Not by an entry point: to look for those reads the disk, and handlers are
met in event loops.)
"""

import functools
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import cast

from hocket.callbacks.base_manager import BaseCallbackManager, Callbacks
from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.errors import InvalidInput

__all__ = ["as_own_handler", "as_own_manager", "list_handlers"]

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
        module = sys.modules.get(name)
        if module is not None and isinstance(thing, getattr(module, kind)):
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
