"""Copies of messages, made at the first look.

A handler must not be able to edit the caller's messages; but to copy a history of a thousand messages for every run
costs more than everything else that hocket does, and most handlers never look.
"""

import threading
from collections.abc import Callable
from typing import Any

from hocket.messages import BaseMessage
from hocket.messages.base import copy_message

__all__ = ["LazyCopies"]

_make_method_first = threading.Lock()  # two threads that look at once must get the same copies


class LazyCopies(list[BaseMessage]):
    """A list of copies of messages. To be told from the list of the copies themselves only by its class."""

    __slots__ = ("_is_copied",)  # not set before it is: to override __init__ is what would cost most of making one

    def copy_messages(self) -> None:
        if not hasattr(self, "_is_copied"):
            with _make_method_first:
                if not hasattr(self, "_is_copied"):
                    super().__setitem__(slice(None), [copy_message(message) for message in super().__iter__()])
                    self._is_copied = True

    def __radd__(self, other: list[Any]) -> list[Any]:  # else `other` would take the messages behind our back
        return other + list(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))


def _make_method(name: str) -> Callable[..., Any]:
    inherited = getattr(list, name)

    def method(self: LazyCopies, *args: Any, **kwargs: Any) -> Any:
        self.copy_messages()
        return inherited(self, *args, **kwargs)

    method.__name__ = name
    return method


for _name in (
    "__iter__",
    "__getitem__",
    "__reversed__",
    "__add__",
    "__mul__",
    "__rmul__",
    "__iadd__",
    "__imul__",
    "__setitem__",
    "__delitem__",
    "__repr__",
    "copy",
    "pop",
    "append",
    "extend",
    "insert",
    "remove",
    "reverse",
    "sort",
):
    setattr(LazyCopies, _name, _make_method(_name))
