"""Functions of a conversation that are steps of a chain when they are called without one."""

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeAlias, cast, overload

from hocket.messages import BaseMessage, MessageLikeRepresentation
from hocket.prompt_values import PromptValue

if TYPE_CHECKING:
    from hocket.runnables import Runnable

__all__ = ["Conversation", "Step", "step"]

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


def step(function: Callable[Concatenate[Conversation, P], list[BaseMessage]]) -> Step[P]:
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
