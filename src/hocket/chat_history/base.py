"""What every history has in common.

A store defines three operations, read, append and clear, once: with sync methods or with async ones. Whichever half it
leaves out is derived from the other, so that both kinds of code can use it.
"""

from collections.abc import Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, ClassVar, TypeVar

from hocket._databases.writes import finish_write
from hocket._runtime.closing import AsyncClosing, Closing
from hocket._runtime.definitions import Twins, has_own_definition
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.chat_history.exclusive import Exclusive
from hocket.errors import HistoryError, InvalidInput
from hocket.errors.hints import bridge_hint, excerpt
from hocket.messages import AIMessage, BaseMessage, HumanMessage, get_buffer_string

__all__ = ["BaseChatMessageHistory", "append_messages", "read_messages"]


class _Messages:
    """`BaseChatMessageHistory.messages` of a class that only has `aget_messages`.

    Not a property: a subclass may have a plain attribute of that name, or a pydantic field, and neither sees this.
    """

    def __get__(self, history: "BaseChatMessageHistory | None", owner: type) -> list[BaseMessage]:
        if history is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute 'messages'")
        if not has_own_definition(type(history), BaseChatMessageHistory, "aget_messages"):
            raise _missing(history, "messages or aget_messages")
        return drive(BLOCKING.call_async(history.aget_messages))


History = TypeVar("History", bound="BaseChatMessageHistory")


class BaseChatMessageHistory(Twins, AsyncClosing, Closing):
    """The messages of one conversation, kept somewhere.

    A subclass defines the sync half (`messages`, `add_messages` or `add_message`, `clear`) or the async one
    (`aget_messages`, `aadd_messages`, `aclear`). Sync storage works for async callers in a worker thread, so that the
    loop is not held up; async storage works for sync callers on the loop that their thread was sent from, or on hocket's
    own. What is not defined at all raises a ``NotImplementedError``.

    One call of `add_messages` is one turn: hocket's own stores keep it whole and together while others write, and no
    reader sees half of it.
    """

    _twins: ClassVar = (("messages", "aget_messages"), ("add_message", "add_messages", "aadd_message", "aadd_messages"))

    if TYPE_CHECKING:

        @property
        def messages(self) -> list[BaseMessage]:
            """The messages, oldest first. To read them may take a trip to a server: async code awaits `aget_messages`."""
            ...

    else:
        messages = _Messages()

    async def aget_messages(self) -> list[BaseMessage]:
        """Return the messages, oldest first. By default `messages`, in a worker thread."""
        return await ASYNC.call_sync(getattr, self, "messages")

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append one turn. By default `add_message` for each, or `aadd_messages`."""
        if has_own_definition(type(self), BaseChatMessageHistory, "add_message"):
            for message in messages:
                self.add_message(message)
        elif has_own_definition(type(self), BaseChatMessageHistory, "aadd_messages"):
            drive(BLOCKING.call_async(self.aadd_messages, messages))
        else:
            raise _missing(self, "add_messages, add_message or aadd_messages")

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append one turn. By default `add_messages`, in a worker thread.

        A caller that is cancelled meanwhile waits for the end of it: the turn is stored by then, or never.
        """
        await finish_write(lambda: ASYNC.call_sync(self.add_messages, messages))

    def add_message(self, message: BaseMessage) -> None:
        """Append one message."""
        if not has_own_definition(type(self), BaseChatMessageHistory, "add_messages", "aadd_messages"):
            raise _missing(self, "add_messages, add_message or aadd_messages")
        self.add_messages([message])

    async def aadd_message(self, message: BaseMessage) -> None:
        """Append one message."""
        await self.aadd_messages([message])

    def add_user_message(self, message: HumanMessage | str) -> None:
        """Append a user's message."""
        self.add_message(_human(message))

    async def aadd_user_message(self, message: HumanMessage | str) -> None:
        """Append a user's message."""
        await self.aadd_message(_human(message))

    def add_ai_message(self, message: AIMessage | str) -> None:
        """Append a model's message."""
        self.add_message(_ai(message))

    async def aadd_ai_message(self, message: AIMessage | str) -> None:
        """Append a model's message."""
        await self.aadd_message(_ai(message))

    def clear(self) -> None:
        """Forget all messages. By default `aclear`."""
        if not has_own_definition(type(self), BaseChatMessageHistory, "aclear"):
            raise _missing(self, "clear or aclear")
        drive(BLOCKING.call_async(self.aclear))

    async def aclear(self) -> None:
        """Forget all messages. By default `clear`, in a worker thread."""
        await finish_write(lambda: ASYNC.call_sync(self.clear))

    @property
    def exclusive_key(self) -> Hashable:
        """Which conversation this is: in this process, `exclusive` keeps objects with equal keys apart.

        By default each object is a conversation of its own; a store of which several objects may be one names it here.
        """
        return id(self)

    def exclusive(self, timeout: float | None = None) -> AbstractAsyncContextManager[None, None]:
        """Have the conversation alone, for one run of an agent: ``async with history.exclusive(): ...``.

        One block at a time is inside, over all tasks, threads and event loops: those of this process, and for
        hocket's stores in files and databases of all processes. The others wait, the first to come first within a
        process, and no process is passed over for long. A block ends as usual, or with its process: after ``kill -9`` the
        next one goes in.

        It keeps apart only the blocks that use it: reading and appending go on, inside and elsewhere.

        Args:
            timeout: seconds to wait at most; 0: not at all; None: as long as it takes.

        Raises:
            InvalidInput: the timeout is not a number of at least 0. When it is entered: this task is inside already, and
                would wait for itself. (A task that waits for another one, which waits to be inside, is not detected.)
            HistoryBusy: when it is entered: it took longer.
            HistoryLockLost: when it is left: a server forgot that the conversation is ours, and the block was cancelled.
            HistoryError: when it is entered: the store cannot be used.
        """
        return Exclusive(self, self.exclusive_key, timeout)

    async def afork(self, into: History, *, at: int | str | None = None) -> History:
        """Copy the conversation, or its beginning, into another history, where it can go on in another way.

        The messages are copied as they are: calls that wait for a person wait there, too, and ``Resume`` decides them in
        each history for itself. It is one read of this history and one turn of the other.

        Args:
            into: the other history, of any store. It has to be empty, without other writers meanwhile.
            at: how many messages are copied, as in ``messages[:at]``; or the id of the last one; None: all.

        Returns:
            ``into``.

        Raises:
            InvalidInput: ``into`` is no history, or not empty; or there is no such place in this one. Nothing is copied.
        """
        return await _fork(ASYNC, self, into, at)

    def fork(self, into: History, *, at: int | str | None = None) -> History:
        """Copy the conversation, or its beginning, into another history. See `afork`."""
        return drive(_fork(BLOCKING, self, into, at))

    def close(self) -> None:
        """Give back what the store holds open: files, connections. By default nothing; a later call opens it again."""

    async def aclose(self) -> None:
        """Give back what the store holds open. By default `close`, in a worker thread."""
        await finish_write(lambda: ASYNC.call_sync(self.close))

    def __str__(self) -> str:
        """Return the conversation as text, ``Role: text`` a line."""
        return get_buffer_string(self.messages)


async def read_messages(mode: Mode, history: BaseChatMessageHistory) -> list[BaseMessage]:
    """Return the messages of a history, in a list of the caller's own."""
    return list(await history.aget_messages() if mode.is_async else history.messages)


async def append_messages(mode: Mode, history: BaseChatMessageHistory, turn: Sequence[BaseMessage]) -> None:
    """Append a turn to a history. A failure of the store carries its answer, which has been paid for."""
    try:
        if mode.is_async:
            await history.aadd_messages(turn)
        else:
            history.add_messages(turn)
    except HistoryError as error:
        error.answer = turn[-1] if isinstance(turn[-1], AIMessage) else None
        raise


async def _fork(mode: Mode, source: BaseChatMessageHistory, into: History, at: int | str | None) -> History:
    if not isinstance(into, BaseChatMessageHistory):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"into is {excerpt(into)}; it is an empty history{bridge_hint(into)}")
    messages = await read_messages(mode, source)
    kept = messages[: _find_end(messages, at)]
    if there := len(await read_messages(mode, into)):
        raise InvalidInput(f"{into!r:.200} has {there} messages; a conversation is forked into an empty history")
    if kept:
        await append_messages(mode, into, kept)
    return into


def _find_end(messages: Sequence[BaseMessage], at: object) -> int | None:
    """Return where a fork ends, as the end of a slice."""
    if isinstance(at, str):
        places = [place for place, message in enumerate(messages, 1) if message.id == at]
        if len(places) != 1:
            found = f"{len(places)} messages" if places else "no message"
            raise InvalidInput(
                f"{found} of this conversation have the id {excerpt(at)}; at is the id of one, or a number"
            )
        return places[0]
    if at is None or (isinstance(at, int) and not isinstance(at, bool) and abs(at) <= len(messages)):
        return at
    raise InvalidInput(
        f"at is {excerpt(at)}, and the conversation has {len(messages)} messages; at is a number of them, as in "
        "messages[:at], or the id of the last one to copy"
    )


def _missing(history: BaseChatMessageHistory, names: str) -> NotImplementedError:
    return NotImplementedError(f"{type(history).__name__} must define {names}")


def _human(message: HumanMessage | str) -> HumanMessage:
    return message if isinstance(message, HumanMessage) else HumanMessage(message)


def _ai(message: AIMessage | str) -> AIMessage:
    return message if isinstance(message, AIMessage) else AIMessage(message)
