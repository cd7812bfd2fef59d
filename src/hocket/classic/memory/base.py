"""What every memory has in common.

A memory is a history and a rule for what of it a model gets to see. It keeps the whole history; the rule works on what is
read. So nothing that was said is lost, a rule may be changed later, and `save_context` is one append: it is stored, or
not, and no model that has to be asked for a summary can make it fail.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hocket._databases.writes import finish_write
from hocket._runtime.definitions import EitherVerb, has_parameter
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.chat_history.base import read_messages
from hocket.chat_history.turn import append_turn
from hocket.errors import InvalidInput
from hocket.message_toolkit.exchanges import split_open, split_system
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, get_buffer_string
from hocket.messages.convert import coerce_messages
from hocket.runnables import RunnableConfig

__all__ = ["BaseChatMemory", "BaseMemory"]


class BaseMemory(EitherVerb, ABC):
    """What a program remembers between calls: values for the variables of its prompts. LangChain's interface.

    A subclass defines the async verbs or the sync ones, and the others follow: sync ones run in a worker thread then.
    """

    _verbs: ClassVar = ("load_memory_variables", "save_context", "clear")

    @property
    @abstractmethod
    def memory_variables(self) -> list[str]:
        """The names under which `load_memory_variables` gives its values."""

    async def aload_memory_variables(
        self, inputs: Mapping[str, object] | None = None, config: RunnableConfig | None = None
    ) -> dict[str, Any]:
        """Return what is remembered, by the names of variables. By default by `load_memory_variables`.

        Args:
            inputs: of the call that it is for.
            config: for runs that this takes, such as that of a model which writes a summary. A subclass need not take it.
        """
        return await ASYNC.call_sync(_bind_load(self, "load_memory_variables", inputs, config))

    async def asave_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        """Remember a call: all of it, or nothing if it raises. By default by `save_context`."""
        await finish_write(lambda: ASYNC.call_sync(self.save_context, inputs, outputs))

    async def aclear(self) -> None:
        """Forget everything. By default by `clear`."""
        await finish_write(lambda: ASYNC.call_sync(self.clear))

    def load_memory_variables(
        self, inputs: Mapping[str, object] | None = None, config: RunnableConfig | None = None
    ) -> dict[str, Any]:
        """Return what is remembered: the sync face of `aload_memory_variables`."""
        return drive(BLOCKING.call_async(_bind_load(self, "aload_memory_variables", inputs, config)))

    def save_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        """Remember a call: the sync face of `asave_context`."""
        drive(BLOCKING.call_async(self.asave_context, inputs, outputs))

    def clear(self) -> None:
        """Forget everything: the sync face of `aclear`."""
        drive(BLOCKING.call_async(self.aclear))

    async def load(self, mode: Mode, inputs: Mapping[str, object], config: RunnableConfig | None) -> dict[str, Any]:
        """Return what is remembered, in a mode. ``config`` is handed on if the verb takes one."""
        load = _bind_load(self, "aload_memory_variables" if mode.is_async else "load_memory_variables", inputs, config)
        loaded: dict[str, Any] = await load() if mode.is_async else load()
        return loaded

    async def save(self, mode: Mode, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        """Remember a call, in a mode."""
        if mode.is_async:
            await self.asave_context(inputs, outputs)
        else:
            self.save_context(inputs, outputs)


def _bind_load(
    memory: BaseMemory, verb: str, inputs: Mapping[str, object] | None, config: RunnableConfig | None
) -> Callable[[], Any]:
    """Return a call of a verb that loads, with the config if it takes one: LangChain's have none."""
    more = {"config": config} if has_parameter(type(memory), verb, "config") else {}
    return functools.partial(getattr(memory, verb), inputs, **more)


@dataclass(kw_only=True)
class BaseChatMemory(BaseMemory):
    """A memory of a conversation. A subclass says what of it is shown, in `_window`.

    Args:
        chat_memory: where it is kept; default: in this process.
        memory_key: the name of its variable.
        return_messages: give messages; default: one text, a line for each.
        human_prefix, ai_prefix: what lines of that text begin with.
        input_key, output_key: which value of a call's inputs is what was asked, and which of its outputs the answer.
            Default: the only one; memory's own variable and ``stop`` do not count.
    """

    chat_memory: BaseChatMessageHistory = field(default_factory=InMemoryChatMessageHistory)
    memory_key: str = "history"
    return_messages: bool = False
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    input_key: str | None = None
    output_key: str | None = None

    @property
    def memory_variables(self) -> list[str]:
        """The name of its variable."""
        return [self.memory_key]

    @abstractmethod
    async def _window(
        self, mode: Mode, messages: list[BaseMessage], config: RunnableConfig | None
    ) -> list[BaseMessage]:
        """Return what is shown of ``messages``, which have no system message at the beginning."""

    def _text(self, messages: Sequence[BaseMessage]) -> str:
        return get_buffer_string(messages, self.human_prefix, self.ai_prefix)

    def _text_shown(self, messages: Sequence[BaseMessage]) -> str:
        """Return what is shown, as one text."""
        return self._text(messages)

    # -- verbs, each once

    async def aload_memory_variables(
        self, inputs: Mapping[str, object] | None = None, config: RunnableConfig | None = None
    ) -> dict[str, Any]:
        """Return what is shown of the conversation, as text or messages, under ``memory_key``."""
        return await self._load(ASYNC, config)

    def load_memory_variables(
        self, inputs: Mapping[str, object] | None = None, config: RunnableConfig | None = None
    ) -> dict[str, Any]:
        """Return what is shown of the conversation: the sync face of `aload_memory_variables`."""
        return drive(self._load(BLOCKING, config))

    async def asave_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        """Append what was asked and answered, in one step.

        Args:
            inputs, outputs: of a call. The values are texts, messages, or lists of messages: tool calls and their
                results stand between the two, in either.

        Raises:
            InvalidInput: it is not clear which value is meant, or it is none of these; nothing is stored.
        """
        await append_turn(ASYNC, self.chat_memory, *self._turn(inputs, outputs))

    def save_context(self, inputs: Mapping[str, object], outputs: Mapping[str, object]) -> None:
        """Append what was asked and answered: the sync face of `asave_context`."""
        drive(append_turn(BLOCKING, self.chat_memory, *self._turn(inputs, outputs)))

    async def aclear(self) -> None:
        """Forget the conversation."""
        await self.chat_memory.aclear()

    def clear(self) -> None:
        """Forget the conversation: the sync face of `aclear`."""
        self.chat_memory.clear()

    async def _load(self, mode: Mode, config: RunnableConfig | None) -> dict[str, Any]:
        shown = await self.select(mode, await read_messages(mode, self.chat_memory), config)
        return {self.memory_key: shown if self.return_messages else self._text_shown(shown)}

    async def select(self, mode: Mode, messages: list[BaseMessage], config: RunnableConfig | None) -> list[BaseMessage]:
        """Return what a model gets to see of ``messages``, those of the history.

        A system message at the beginning always is, in one with a summary; and so is a last exchange with calls that
        wait for their results, which may come next.
        """
        head, rest = split_system(messages)
        rest, waiting = split_open(rest)
        shown = await self._window(mode, rest, config)
        if head and shown and isinstance(shown[0], SystemMessage):
            return [SystemMessage(f"{head[0].text}\n\n{shown[0].text}"), *shown[1:], *waiting]
        return [*head, *shown, *waiting]

    def _turn(
        self, inputs: Mapping[str, object], outputs: Mapping[str, object]
    ) -> tuple[list[BaseMessage], list[BaseMessage]]:
        own = {*self.memory_variables, "stop"}
        asked = _only({key: inputs[key] for key in inputs if key not in own}, self.input_key, "input")
        answered = _only(outputs, self.output_key, "output")
        turn = coerce_messages(asked, HumanMessage, "the input"), coerce_messages(answered, AIMessage, "the output")
        for what, messages in zip(("input", "output"), turn, strict=True):
            if not messages or any(is_empty(message) for message in messages):
                raise InvalidInput(f"the {what} says nothing, and providers refuse such messages; nothing was stored")
        return turn


def _only(values: Mapping[str, object], key: str | None, what: str) -> Any:
    if key is not None:
        if key not in values:
            raise InvalidInput(f"{what}_key is {key!r}, and the {what}s are {_join_keys(values)}")
        return values[key]
    if len(values) != 1:
        raise InvalidInput(
            f"a memory takes one {what}, and these came: {_join_keys(values)}; say which one: {what}_key=..."
        )
    return next(iter(values.values()))


def _join_keys(values: Mapping[str, object]) -> str:
    return ", ".join(map(repr, values)) or "none"
