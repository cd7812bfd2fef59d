"""Memories that show what was said as it was said: all of it, the last exchanges, or as many as fit."""

from dataclasses import dataclass
from typing import Any

from hocket._runtime.mode import Mode
from hocket.classic.memory.base import BaseChatMemory
from hocket.errors import InvalidInput
from hocket.language_models import BaseLanguageModel
from hocket.message_toolkit.exchanges import join_exchanges, keep_last, split_exchanges
from hocket.messages import BaseMessage
from hocket.runnables import RunnableConfig

__all__ = ["ConversationBufferMemory", "ConversationBufferWindowMemory", "ConversationTokenBufferMemory"]


@dataclass(kw_only=True)
class ConversationBufferMemory(BaseChatMemory):
    """Shows the whole conversation.

    Examples:
        >>> memory = ConversationBufferMemory()
        >>> memory.save_context({"input": "bar"}, {"output": "foo"})
        >>> memory.load_memory_variables()
        {'history': 'Human: bar\\nAI: foo'}
    """

    async def _window(
        self, mode: Mode, messages: list[BaseMessage], config: RunnableConfig | None
    ) -> list[BaseMessage]:
        return messages


@dataclass(kw_only=True)
class ConversationBufferWindowMemory(BaseChatMemory):
    """Shows the last ``k`` exchanges: what the user said, and all that came of it, tool calls and results included.

    Args:
        k: exchanges; LangChain counts two messages for each, and so may begin in the middle of one.
    """

    k: int = 5

    def __post_init__(self) -> None:
        if self.k < 0:
            raise InvalidInput(f"k is {self.k}; it is 0 or more")

    async def _window(
        self, mode: Mode, messages: list[BaseMessage], config: RunnableConfig | None
    ) -> list[BaseMessage]:
        parts = split_exchanges(messages)
        return join_exchanges(parts[max(len(parts) - self.k, 0) :])


@dataclass(kw_only=True)
class ConversationTokenBufferMemory(BaseChatMemory):
    """Shows the last exchanges that have ``max_token_limit`` tokens together.

    Args:
        max_token_limit: tokens.
        llm: counts them; default: `hocket.tokens.count_tokens_approximately`.
    """

    llm: BaseLanguageModel[Any] | None = None
    max_token_limit: int = 2000

    def __post_init__(self) -> None:
        if self.max_token_limit < 0:
            raise InvalidInput(f"max_token_limit is {self.max_token_limit}; it is 0 or more")

    async def _window(
        self, mode: Mode, messages: list[BaseMessage], config: RunnableConfig | None
    ) -> list[BaseMessage]:
        limit = {"max_tokens": self.max_token_limit, "token_counter": self.llm or "approximate"}
        return await mode.call_sync(keep_last, messages, **limit)  # a model may have to load its tokenizer
