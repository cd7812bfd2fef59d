"""What structured output looks like: while it is being written, and with the message that it was read from."""

from typing import Any, Generic, TypeVar

from typing_extensions import TypedDict

from hocket.messages import AIMessage

__all__ = ["Partial", "WithRaw"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Partial(dict[str, Any], Generic[T]):
    """An object of type ``T`` that is still being written: the fields so far, by the names that they have in JSON.

    Values are those of JSON, not yet validated: a field of type ``date`` is text here. Texts, lists and objects grow;
    numbers, true, false and null are there when they are finished; nothing that is shown is taken back. Do not change it:
    finished values are shared with later ones.

    Attributes:
        complete: the fields that will not change any more.
    """

    complete: frozenset[str] = frozenset()

    @classmethod
    def of(cls, fields: dict[str, Any], *, is_whole: bool) -> "Partial[T]":
        """Return the object as far as it has come; ``is_whole``: it has been written to its end."""
        made: Partial[T] = cls(fields)
        open_field = None if is_whole or not fields else next(reversed(fields))
        if open_field is not None and not isinstance(fields[open_field], str | list | dict):
            open_field = None
        made.complete = frozenset(fields) - {open_field}
        return made


class WithRaw(TypedDict, Generic[T_co]):
    """What ``include_raw=True`` gives. In a stream, each is what has come so far.

    ``parsing_error`` is why there is no final ``parsed``: the answer could not be read, was cut short, or was refused.
    """

    raw: AIMessage
    parsed: T_co | None
    parsing_error: Exception | None
