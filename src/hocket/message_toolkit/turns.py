"""Which messages of a conversation belong together, and functions that are steps of a chain when called without one.

Providers refuse a tool's result without the call that it answers, and a call without its result. So whatever leaves
messages out of a conversation leaves out, or keeps, a call and its results together: a *turn*.
"""

import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, cast, overload

from hocket.messages import AIMessage, BaseMessage, MessageLikeRepresentation, ToolMessage
from hocket.messages.roles import Role, answered_id, calls_of_reply, role_of, roles_of
from hocket.prompt_values import PromptValue

if TYPE_CHECKING:
    from hocket.runnables import Runnable

__all__ = ["Conversation", "PlacedCall", "Step", "make_step", "match_calls", "split_turns", "turn_edges", "whole_turns"]


@dataclass(slots=True, eq=False)
class PlacedCall:
    """A tool call in a conversation.

    Attributes:
        index: of the message that makes it.
        place: among the calls of that message.
        id, name: the call's own.
        result: the index of the message that answers it; None: there is none.
    """

    index: int
    place: int
    id: str | None
    name: str | None
    result: int | None = None


def match_calls(messages: Sequence[BaseMessage], roles: Sequence[Role] | None = None) -> list[PlacedCall]:
    """Return the tool calls of a conversation, in order, each with its result.

    A result answers the nearest call before it that has its id and no result yet; or, if there is none, a later one.

    Args:
        messages: the conversation.
        roles: of its messages, if they are known already.
    """
    calls: list[PlacedCall] = []
    waiting: dict[str, list[PlacedCall]] = {}  # by id; the next to be answered is the last
    early: dict[str, deque[int]] = {}
    for index, role in enumerate(roles_of(messages) if roles is None else roles):
        message = messages[index]
        if role == "tool":
            id = cast(ToolMessage, message).tool_call_id
            if asked := waiting.get(id):
                asked.pop().result = index
            else:
                early.setdefault(id, deque()).append(index)
        elif role == "human":
            # Nearly all are texts, which answer nothing.
            if type(message.content) is not str and (asked := waiting.get(answered_id(message) or "")):
                asked.pop().result = index
        elif role == "ai" and (all_made := calls_of_reply(cast(AIMessage, message))):
            made = [PlacedCall(index, place, call["id"], call["name"]) for place, call in enumerate(all_made)]
            calls.extend(made)
            for call in reversed(made):
                if call.id:
                    waiting.setdefault(call.id, []).append(call)
    for call in calls if early else ():
        if call.result is None and (before := early.get(call.id or "")) and before[0] < call.index:
            call.result = before.popleft()
    return calls


def turn_edges(messages: Sequence[BaseMessage]) -> list[int]:
    """Return where ``messages`` may be cut: the index at which each turn begins, and their number."""
    return _edges(match_calls(messages), len(messages))


def _edges(calls: Sequence[PlacedCall], length: int) -> list[int]:
    spans = sorted(sorted((call.index, call.result)) for call in calls if call.result is not None)
    edges: list[int] = []
    past = 0  # the first message behind the turn
    for first, last in spans:
        if first >= past:
            edges.extend(range(past, first + 1))
        past = max(past, last + 1)
    edges.extend(range(past, length + 1))
    return edges


def whole_turns(messages: Sequence[BaseMessage], cut: int, last: bool) -> list[int]:
    """Return the edges of the turns that lie wholly after ``cut``, if ``last``, or before it.

    Looks at no other messages if each call in the part is answered by one of the results that follow it there, and these
    are all: then nothing beyond can belong to any.
    """
    start, stop = (cut, len(messages)) if last else (0, cut)
    while last and 0 < start < stop and role_of(messages[start]) == "tool":
        start -= 1
    while not last and stop < len(messages) and role_of(messages[stop]) == "tool":
        stop += 1
    part = messages[start:stop]
    roles = roles_of(part)
    calls = match_calls(part, roles)
    if roles.count("tool") == len(calls) and all(
        call.result is not None and call.result > call.index for call in calls
    ):
        edges = _edges(calls, len(part))
    else:
        start, edges = 0, turn_edges(messages)
    return [edge + start for edge in edges if (edge + start >= cut if last else edge <= cut)]


def split_turns(messages: Sequence[BaseMessage]) -> list[list[BaseMessage]]:
    """Return ``messages`` as a list of turns, in order: put together again, they are the messages.

    A turn is a message with tool calls, their results, and whatever stands between these; or any other message.
    """
    return [list(messages[start:stop]) for start, stop in pairwise(turn_edges(messages))]


Conversation: TypeAlias = Iterable[MessageLikeRepresentation] | PromptValue
"""Whatever `hocket.messages.convert_to_messages` reads."""

P = ParamSpec("P")


class Step(Protocol[P]):
    """A function of a conversation and options. Without a conversation it returns a runnable that waits for one."""

    @overload
    def __call__(self, messages: Conversation, *args: P.args, **kwargs: P.kwargs) -> list[BaseMessage]: ...
    @overload
    def __call__(
        self, messages: None = None, *args: P.args, **kwargs: P.kwargs
    ) -> "Runnable[Conversation, list[BaseMessage]]": ...


def make_step(function: Callable[Concatenate[Conversation, P], list[BaseMessage]]) -> Step[P]:
    """Let ``function`` be called without a conversation: LangChain's rule for `trim_messages` and its like.

    Its options are tried on an empty conversation at once, so that wrong ones are refused where they are written.
    """

    @functools.wraps(function)
    def call(messages: Any = None, *args: P.args, **kwargs: P.kwargs) -> Any:
        if messages is not None:
            return function(messages, *args, **kwargs)
        from hocket.runnables.function import RunnableLambda  # a conversation at hand needs no runnables

        function([], *args, **kwargs)
        waiting = functools.partial(function, **kwargs)
        # A token counter may take its time: it gets a thread.
        return RunnableLambda(waiting, name=function.__name__, inline="token_counter" not in kwargs)

    return cast(Step[P], call)
