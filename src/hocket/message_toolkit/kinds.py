"""Messages picked by what they are."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from hocket.errors import InvalidInput
from hocket.messages import BaseMessage

__all__ = ["Kinds", "picker"]

Kinds: TypeAlias = str | type[BaseMessage] | Sequence[str | type[BaseMessage]]
"""Types of messages: names (``"human"``, ``"ai"``) and classes; one, or several."""


def picker(kinds: Kinds) -> Callable[[BaseMessage], bool]:
    """Return a function that tells whether a message is of one of ``kinds``.

    A name stands for the chunks of its messages, too. (In LangChain it does not: there ``"ai"`` is no `AIMessageChunk`.)

    Raises:
        InvalidInput: a name that no message has (in LangChain it is the type of none), or no class of messages.
    """
    several: Iterable[str | type[BaseMessage]] = [kinds] if isinstance(kinds, str | type) else kinds
    names = {kind for kind in several if isinstance(kind, str)}
    classes = tuple(kind for kind in several if not isinstance(kind, str))
    for kind in classes:
        if not (isinstance(kind, type) and issubclass(kind, BaseMessage)):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"{kind!r} is no class of messages: those of hocket.messages are")
    if not names <= _KNOWN:
        known = {*_names(BaseMessage)}
        if unknown := sorted(names - known):
            raise InvalidInput(f"no message is of type {unknown[0]!r}; there are {', '.join(sorted(known))}")
    names |= {chunk for chunk, whole in _CHUNKS.items() if whole in names}
    if not classes:
        return lambda message: message.type in names
    return lambda message: message.type in names or isinstance(message, classes)


_CHUNKS = {f"{name}MessageChunk": name.lower() for name in ("Human", "AI", "System", "Tool", "Function", "Chat")}
_KNOWN = {*_CHUNKS, *_CHUNKS.values(), "remove"}


def _names(cls: type[BaseMessage]) -> Iterator[str]:
    """The types of a class of messages, and of all that derive from it."""
    for derived in cls.__subclasses__():
        if isinstance(name := derived.model_fields["type"].default, str):
            yield name
        yield from _names(derived)
