"""The part of a conversation that a model is shown, of a run that is too long for it.

Tokens are estimated, message by message, each once; a reply that reports its usage says how many there really were. What is
too long is made to fit a third of the window, as far as that takes old results and thoughts alone, and three quarters in any
case: providers keep what they have computed of a beginning, which should not be another one at each step.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from hocket._runtime.mode import ASYNC
from hocket.agents.compact import compact
from hocket.agents.middleware import OfferedTool
from hocket.agents.offload import Offload
from hocket.errors import ContextLengthExceeded
from hocket.messages import AIMessage, BaseMessage
from hocket.runnables import Runnable
from hocket.tokens import count_tokens_approximately
from hocket.tokens.windows import find_token_limit
from hocket.tools.result_messages import cut_result

__all__ = ["ContextWindow"]

Ask = Callable[[list[BaseMessage]], Awaitable[AIMessage]]


class ContextWindow:
    """Asks a model with as much of a conversation as it can take.

    Args:
        model: whose profile says how much that is; if it does not, the model is believed when it says that it is too much.
        tools: that it is shown along.
        language: of the lines that take the place of what is left out.
        offload: keeps what is cut of results; None: nothing does.

    Attributes:
        answer_tokens: how many the answer may have at most, if the model has a limit set; else 0.
        excess: by how many tokens, at most, what was sent was estimated to be too long.
        compactions: how often something was made shorter.
    """

    def __init__(
        self,
        model: Runnable[Any, AIMessage],
        tools: Sequence[OfferedTool],
        language: Literal["en", "zh"] = "en",
        offload: Offload | None = None,
    ) -> None:
        self._limit = find_token_limit(model)
        self._tools = tools
        self._language: Literal["en", "zh"] = language
        most = getattr(model, "max_tokens", None)
        self.answer_tokens: int = most if isinstance(most, int) else 0
        self.excess: int = 0
        self.compactions: int = 0
        self._offload = offload
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
        """Return the model's answer, and the conversation as it was sent.

        Raises:
            ContextLengthExceeded: the model says that it is too long, and nothing more can be left out.
        """
        if self._limit is not None and self.estimate(context) > self._limit:
            context, self.excess = await self._shorten(context, self._limit)
        while True:
            try:
                reply = await ask(context)
            except ContextLengthExceeded:
                shorter, _ = await self._shorten(context, self.estimate(context) // 2)
                if len(shorter) == len(context) and all(map(lambda one, other: one is other, shorter, context)):
                    raise
                context = shorter
            else:
                if reply.usage_metadata and (tokens := reply.usage_metadata["input_tokens"]):
                    self._tokens, self._seen = tokens, len(context)
                return reply, context

    async def _shorten(self, context: list[BaseMessage], limit: int) -> tuple[list[BaseMessage], int]:
        """Return a conversation made to fit a limit, and by how many tokens it does not."""
        estimated = self.estimate(context)
        counted = max(1, count_tokens_approximately(context))
        beside = max(0, estimated - counted) if self._tools else 0  # tools are sent along, and cannot be cut
        room = max(0, limit - beside)
        cut = cut_result if self._offload is None else self._offload.cut
        for one in (cut, cut_result):  # where the store fails, without it
            result = await ASYNC.call_sync(
                compact, context, room * 3 // 4, aim=room // 3, cut=one, language=self._language
            )
            if self._offload is None or await self._offload.save(result.messages):
                break
        self.compactions += 1
        self._tokens = max(0, estimated - result.saved)
        self._seen = len(result.messages)
        return result.messages, max(0, self._tokens - limit)
