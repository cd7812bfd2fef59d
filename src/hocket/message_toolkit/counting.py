"""How long a conversation is, by whatever counts it, and how much of one fits."""

import inspect
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias, cast

from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.messages import BaseMessage

__all__ = ["CountsMessages", "ListCounter", "TokenCounter", "find_largest", "list_counter"]

ListCounter: TypeAlias = Callable[[list[BaseMessage]], int]
"""Counts the tokens of messages."""


class CountsMessages(Protocol):
    """A model: what has `BaseLanguageModel`'s way to count."""

    def get_num_tokens_from_messages(self, messages: list[BaseMessage], /) -> int:
        """Return the number of tokens in ``messages``."""
        ...


TokenCounter: TypeAlias = ListCounter | Callable[[BaseMessage], int] | CountsMessages | Literal["approximate"]
"""A function of a list of messages; one of a single message, whose parameter says `BaseMessage`; or a model."""


def list_counter(counter: TokenCounter) -> ListCounter:
    """Return ``counter`` as a function of a list.

    A function whose first parameter is annotated `BaseMessage` is one of a single message (LangChain's rule): it is
    called once a message, and its counts are summed. "approximate" is `hocket.tokens.count_tokens_approximately`.

    Raises:
        InvalidInput: it is none of these, or async.
    """
    if isinstance(counter, str):
        if counter != "approximate":
            raise InvalidInput(f"no token counter is called {counter!r}; there is 'approximate'")
        from hocket.tokens import count_tokens_approximately  # has tables, and few conversations need it

        return count_tokens_approximately
    of_model = getattr(counter, "get_num_tokens_from_messages", None)
    if of_model is not None:
        if hint := bridge_hint(counter):
            raise InvalidInput(f"cannot count with {type(counter).__name__}{hint}")
        return cast(ListCounter, of_model)
    if not callable(counter):
        raise InvalidInput(
            f"cannot count with {type(counter).__name__} {counter!r}: a token counter is a function of messages, "
            "a model, or 'approximate'"
        )
    if inspect.iscoroutinefunction(counter):
        raise InvalidInput(f"{counter!r} is async, and a token counter is not: count before, or with a sync function")
    if not _takes_one(counter):
        return cast(ListCounter, counter)
    return _sum_counts(cast("Callable[[BaseMessage], int]", counter))


def _sum_counts(count_one: Callable[[BaseMessage], int]) -> ListCounter:
    counted: dict[int, tuple[BaseMessage, int]] = {}  # holds the messages: their ids must not go to others meanwhile

    def count(messages: list[BaseMessage]) -> int:
        for message in messages:
            if id(message) not in counted:
                counted[id(message)] = message, count_one(message)
        return sum(counted[id(message)][1] for message in messages)

    return count


def _takes_one(function: Callable[..., Any]) -> bool:
    if inspect.isbuiltin(function) or (inspect.isfunction(function) and not function.__annotations__):
        return False  # as the next lines would find out, a hundred microseconds later
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a callable that does not say
        return False
    annotation = next((parameter.annotation for parameter in parameters.values()), None)
    written = annotation.rpartition(".")[2] if isinstance(annotation, str) else None  # of postponed annotations
    return annotation is BaseMessage or written == "BaseMessage"


def find_largest(fits: Callable[[int], bool], limit: int) -> int:
    """Return the largest number up to ``limit`` that ``fits``, if all smaller ones do; 0 is not asked about.

    Asks about O(log ``limit``) numbers. It begins with small ones, since asking costs as much as the answer is long: of
    a long history whose end fits, little more than that end is ever counted; and if all of it fits, a seventh twice.
    """
    sizes: list[int] = []
    while limit > 0:
        sizes.append(limit)
        limit //= 8
    low = high = 0
    for size in reversed(sizes):
        high = size
        if not fits(size):
            high -= 1
            break
        low = size
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low
