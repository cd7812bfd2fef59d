"""A model that is given as much of a conversation as it can take.

What it takes is known beforehand only about: tokens are estimated, by a scale that is corrected with each reply that
reports its usage. So if the model still says that a conversation is too long, which costs nothing, the older half of what
was sent is left out, until it fits or only the question is left.

A window that moved on with each turn would have a new beginning each time, and models keep what they have computed of a
beginning: a long conversation would be slow, and cost more, at every question. So a window that is full moves on by a
quarter, and then stays where it is until it is full again.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar

from hocket._runtime.mode import Mode
from hocket._runtime.sinks import RelaySink, Sink
from hocket.chat_history import BaseChatMessageHistory
from hocket.chat_history.turn import join_messages
from hocket.errors import ContextLengthExceeded, InvalidInput
from hocket.message_toolkit.exchanges import (
    join_exchanges,
    keep_last,
    split_at_questions,
    split_exchanges,
    split_system,
)
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, UsageMetadata
from hocket.runnables import Runnable, RunnableConfig
from hocket.tokens import count_tokens_approximately
from hocket.tokens.windows import SHARE, find_token_limit

__all__ = ["ConversationMemory", "Limits", "WindowedModel"]

Options: TypeAlias = dict[str, Any]
"""A call's options for the model; any type, as in LangChain's verbs."""


class _HasUsage(Protocol):
    """An answer, whole or as it came."""

    @property
    def usage_metadata(self) -> UsageMetadata | None: ...


Answer = TypeVar("Answer", bound=_HasUsage)


class ConversationMemory(Protocol):
    """What of a conversation a model gets to see: a memory of `hocket.classic.memory`, for example.

    Attributes:
        chat_memory: where the conversation is kept.
    """

    chat_memory: BaseChatMessageHistory

    async def select(self, mode: Mode, messages: list[BaseMessage], config: RunnableConfig | None) -> list[BaseMessage]:
        """Return what is shown of ``messages``."""
        ...


@dataclass
class Limits:
    """How much of a conversation is sent.

    Attributes:
        max_messages, max_tokens: of all that is sent, the system's text included for tokens, but not for messages;
            None: as the model's window allows, if that is known.
        memory: says what is shown of what was said before; None: all of it.
        scale: tokens that the model counted over those that were estimated, the last time.
        skipped: messages that were left out at the beginning, the last time.
    """

    max_messages: int | None = None
    max_tokens: int | None = None
    memory: ConversationMemory | None = None
    scale: float = 1.0
    skipped: int = 0

    def __post_init__(self) -> None:
        for name in ("max_messages", "max_tokens"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise InvalidInput(f"{name} is {limit}; it must be above 0")


@dataclass(frozen=True)
class _Window:
    """What is sent: exchanges that may be left out, and what may not.

    Attributes:
        limit: how many tokens it may have, if that is known.
        skipped: how many messages are left out.
    """

    system: list[BaseMessage]
    older: list[list[BaseMessage]]
    question: list[BaseMessage]
    limit: int | None
    skipped: int = 0

    @property
    def messages(self) -> list[BaseMessage]:
        return [*self.system, *join_exchanges(self.older), *self.question]

    @property
    def half(self) -> "_Window":
        """The same with the older half of the exchanges left out."""
        return self.with_last(len(join_exchanges(self.older[(len(self.older) + 1) // 2 :])))

    def with_last(self, count: int) -> "_Window":
        """Return the same with only the last ``count`` messages of the older exchanges."""
        older = join_exchanges(self.older)
        skipped = max(len(older) - count, 0)
        parts = split_exchanges(older[skipped:])
        if skipped and parts and not isinstance(parts[0][0], HumanMessage):  # somebody else has changed the history
            skipped += len(parts.pop(0))
        return replace(self, older=parts, skipped=self.skipped + skipped)


class WindowedModel:
    """Asks a model with a window over a conversation.

    The question, and all that came of it so far, is always sent whole.

    Args:
        model: is asked: a chat model, or one with something bound.
        system: instructions that come first; they replace a system message at the beginning of the conversation.
        limits: how much is sent.
    """

    def __init__(self, model: Runnable[Any, AIMessage], system: str | None, limits: Limits) -> None:
        self._model = model
        self._system = system
        self._limits = limits
        self._count: Callable[[list[BaseMessage]], int] = getattr(
            model, "get_num_tokens_from_messages", count_tokens_approximately
        )

    async def ask(
        self,
        mode: Mode,
        past: list[BaseMessage],
        question: list[BaseMessage],
        config: RunnableConfig,
        kwargs: Options,
    ) -> AIMessage:
        """Return the model's answer to ``question``, with as much of ``past`` as fits.

        Raises:
            InvalidInput: the question is a tool's result that answers no call.
            ContextLengthExceeded: the question alone is too long.
        """

        async def ask(messages: list[BaseMessage]) -> AIMessage:
            return await self._model._invoke(mode, messages, config, kwargs)  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable

        return await self._ask(mode, past, question, config, kwargs, ask)

    async def stream(
        self,
        mode: Mode,
        past: list[BaseMessage],
        question: list[BaseMessage],
        config: RunnableConfig,
        kwargs: Options,
        sink: Sink[AIMessage],
    ) -> None:
        """Push the model's answer to ``sink``, piece by piece. See `ask`."""
        observer = _UsageObserver(sink)

        async def stream(messages: list[BaseMessage]) -> _UsageObserver:
            await self._model._produce(mode, messages, config, kwargs, observer)  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
            return observer

        await self._ask(mode, past, question, config, kwargs, stream, lambda: observer.has_begun)

    async def _ask(
        self,
        mode: Mode,
        past: list[BaseMessage],
        question: list[BaseMessage],
        config: RunnableConfig,
        kwargs: Options,
        ask: Callable[[list[BaseMessage]], Awaitable[Answer]],
        has_begun: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """Ask with ever shorter windows until the model takes one, unless its answer has begun."""
        window = await self._make_window(mode, past, question, config, kwargs)
        while True:
            try:
                answer = await ask(window.messages)
            except ContextLengthExceeded:
                if not window.older or has_begun():
                    raise
                window = window.half
            else:
                await self._learn(mode, window, answer.usage_metadata)
                return answer

    async def _make_window(
        self,
        mode: Mode,
        past: list[BaseMessage],
        question: list[BaseMessage],
        config: RunnableConfig,
        kwargs: Options,
    ) -> _Window:
        limits = self._limits
        if limits.memory is not None:
            past = await limits.memory.select(mode, past, config)
        head, rest = split_system(join_messages(past, question))
        if not rest:  # it is what is asked
            head, rest = rest, head
        *older, last = split_at_questions(rest)
        limit = find_token_limit(self._model, kwargs.get("max_tokens"), self._limits.max_tokens)
        window = _Window(self._instructions(head), older, last, limit)
        if limits.skipped and limits.memory is None:
            count = sum(map(len, older)) - limits.skipped
            window = window.with_last(count) if count > 0 else window
        if limits.max_messages is not None:
            most = max(limits.max_messages - len(last), 0)
            window = window.with_last(len(keep_last(join_exchanges(window.older), max_messages=most)))
        if window.limit is not None and window.older:
            window = await mode.call_sync(self._cut, window, int(window.limit / limits.scale))
        return window

    def _instructions(self, head: list[BaseMessage]) -> list[BaseMessage]:
        """Return what comes first: our own text, and what a memory, or the conversation, has there."""
        if self._system is None:
            return head
        if head and self._limits.memory is not None:
            return [SystemMessage(f"{self._system}\n\n{head[0].text}")]
        return [SystemMessage(self._system)]

    def _cut(self, window: _Window, limit: int) -> _Window:
        """Return ``window`` with as many of its exchanges as have ``limit`` tokens."""

        def count(part: Sequence[BaseMessage]) -> int:
            return self._count([*window.system, *part, *window.question])

        older = join_exchanges(window.older)
        if count(older) <= limit:
            return window
        return window.with_last(len(keep_last(older, max_tokens=limit * 3 // 4, token_counter=count)))

    async def _learn(self, mode: Mode, window: _Window, usage: UsageMetadata | None) -> None:
        """Take from a reply where the window was, and how far the estimate was off.

        A short conversation tells little of that: what weighs the most in it are the tools.
        """
        self._limits.skipped = window.skipped
        if usage and window.limit is not None and usage["input_tokens"] * SHARE >= window.limit:
            estimated = await mode.call_sync(self._count, window.messages)
            self._limits.scale = usage["input_tokens"] / max(estimated, 1)


class _UsageObserver(RelaySink[AIMessage]):
    """A sink that notices that something has come, and the usage that is reported."""

    def __init__(self, sink: Sink[AIMessage]) -> None:
        super().__init__(sink)
        self.has_begun = False
        self.usage_metadata: UsageMetadata | None = None

    def put(self, item: AIMessage) -> Awaitable[None] | None:
        """Hand over a chunk."""
        self.has_begun = True
        self.usage_metadata = item.usage_metadata or self.usage_metadata
        return self._sink.put(item)
