"""A run inside a run: a tool that asks an agent.

With the history of the agent that called the tool the run inside would wait until the run outside has ended, which waits
for its tool. `exclusive` finds that out for one task, and a tool may have a task, or a thread, of its own. But whatever a
run starts has its context. And an agent that asks itself would go on without end, at a bill for each level.
"""

from collections.abc import Hashable
from contextvars import ContextVar
from types import TracebackType

from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import InvalidInput

__all__ = ["NestedRunGuard"]


_DEEPEST = 16
"""Runs inside one another. Python itself would end at some 45, with a RecursionError; in threads, never."""


class NestedRunGuard:
    """Refuses a run inside a run of the same conversation, and one that is too deep.

    Args:
        history: of the conversation; None: there is none.
    """

    def __init__(self, history: BaseChatMessageHistory | None) -> None:
        self._history = history
        self._key: Hashable = None if history is None else history.exclusive_key
        self._outer: NestedRunGuard | None = None
        self._is_running = False

    def __enter__(self) -> None:
        """Enter the run.

        Raises:
            InvalidInput: this is inside a run of the same conversation, or inside of too many.
        """
        outer = self._outer = _innermost.get()
        depth = 0
        while outer is not None:
            depth += outer._is_running
            if outer._is_running and outer._key == self._key is not None:
                raise InvalidInput(
                    f"{self._history!r:.200}: a run of this conversation called the tool that this run is inside of, and "
                    "each would wait for the other; give the agent inside a history of its own, or none"
                )
            outer = outer._outer
        if depth >= _DEEPEST:
            raise InvalidInput(
                f"{depth} agents run inside one another, which is the most; one of them may have itself among its tools"
            )
        self._is_running = True
        _innermost.set(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_running = False  # for tasks that a tool has left behind, with a copy of the context
        _innermost.set(self._outer)


_innermost: ContextVar[NestedRunGuard | None] = ContextVar("hocket_agent_run", default=None)
