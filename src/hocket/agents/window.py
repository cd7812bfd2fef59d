"""The part of a long run that its model can take.

Tokens are estimated, message by message, each once; a reply that reports its usage says how many there really were.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from hocket.conversation.window import find_token_limit
from hocket.messages import AIMessage, BaseMessage
from hocket.runnables import Runnable
from hocket.tokens import count_tokens_approximately
from hocket.tools import BaseTool

__all__ = ["ContextWindow"]

Ask = Callable[[list[BaseMessage]], Awaitable[AIMessage]]


class ContextWindow:
    """Asks a model with as much of a conversation as it can take.

    Args:
        model: whose profile says how much that is; None of it: there is no limit.
        tools: that it is shown along.

    Attributes:
        answer_tokens: how many the answer may have at most, if the model has a limit set; else 0.
        excess: by how many tokens, at most, what was sent was estimated to be too long.
    """

    def __init__(self, model: Runnable[Any, AIMessage], tools: Sequence[BaseTool]) -> None:
        self._limit = find_token_limit(model)
        self._tools = tools
        most = getattr(model, "max_tokens", None)
        self.answer_tokens = most if isinstance(most, int) else 0
        self.excess = 0
        self._seen = 0  # messages that are in the estimate
        self._tokens: int | None = None

    def estimate(self, context: Sequence[BaseMessage]) -> int:
        """Return about how many tokens a conversation has. It is the one of the last time, with messages added."""
        if self._tokens is None:
            self._tokens = count_tokens_approximately(context, tools=self._tools)
        else:
            self._tokens += count_tokens_approximately(context[self._seen :])
        self._seen = len(context)
        return self._tokens

    async def ask(self, context: list[BaseMessage], ask: Ask) -> tuple[AIMessage, list[BaseMessage]]:
        """Return the model's answer, and the conversation as it was sent."""
        reply = await ask(context)
        if reply.usage_metadata and (tokens := reply.usage_metadata["input_tokens"]):
            self._tokens, self._seen = tokens, len(context)
        return reply, context
