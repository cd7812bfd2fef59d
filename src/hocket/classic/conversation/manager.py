"""A window over the messages of an application that has message objects of its own.

Messages come in and go out as the application's (see `MessageAdapter`) and are kept as hocket's, the last ``k`` of them.
The window is cut between turns only, so that what is kept is a conversation that providers take.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from hocket._databases.writes import finish_write
from hocket._pipeline.concurrency_limit import ConcurrencyLimiter
from hocket._runtime.mode import ASYNC
from hocket.chat_history import BaseChatMessageHistory
from hocket.classic.conversation.adapter import MessageAdapter
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.message_toolkit.trim import trim_messages
from hocket.message_toolkit.turns import split_turns
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

__all__ = ["ChatHistoryManager"]

RESTORE = "restore_history"
CUT = 100  # characters of a message in `get_recent_context`


class ChatHistoryManager:
    """Keeps the last messages of a conversation with an application.

    A tool's result is never kept without the call that it answers, nor a call without its results: they are left out
    together. The last message is always kept, with the calls and results that belong to it, even if these are more
    than ``k``: an agent in the middle of them has to go on. A result whose call has left the window leaves with it.

    Args:
        k: messages to keep at most.
        include_system: keep a system message that comes first, outside of ``k``.
        session_id: names the conversation in what is exported.
        storage: where `save_checkpoint` appends to and `restore_from_checkpoint` reads from.
        make: makes one of the application's messages of its fields, given as keywords. Default: a dict.

    Raises:
        InvalidInput: ``k`` is not above 0.
    """

    def __init__(
        self,
        k: int = 10,
        include_system: bool = True,
        session_id: str = "default",
        *,
        storage: BaseChatMessageHistory | None = None,
        make: Callable[..., Any] = dict,
    ) -> None:
        if k < 1:
            raise InvalidInput(f"k is {k}; a window holds at least 1 message")
        self.k = k
        self.include_system = include_system
        self.session_id = session_id
        self._storage = storage
        self._make = make
        self._window: list[BaseMessage] = []
        self._unsaved: list[BaseMessage] = []  # empty without a storage
        self._is_new = False  # whether what is stored is of another conversation
        self._changing = threading.Lock()
        self._saving = ConcurrencyLimiter()
        self._saving.resize(1)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages kept, as hocket's, oldest first."""
        return list(self._window)

    @property
    def message_count(self) -> int:
        """How many messages are kept."""
        return len(self._window)

    def add_message(self, message: Any) -> None:
        """Add one of the application's messages; what is too old for the window is forgotten.

        Raises:
            InvalidInput: it is no message (see `MessageAdapter.to_langchain`).
        """
        self.add_messages([message])

    def add_messages(self, messages: Iterable[Any]) -> None:
        """Add several messages, as `add_message` does one: all of them, or none."""
        added = MessageAdapter.batch_to_langchain(messages)
        with self._changing:
            self._window = self._cut([*self._window, *added], self.k)
            if self._storage is not None:
                self._unsaved += added

    def get_messages(self, max_messages: int | None = None) -> list[Any]:
        """Return the messages kept, as the application's; with ``max_messages``, the last ones of a window that small."""
        window = self._window if max_messages is None else self._cut(self._window, max_messages)
        return MessageAdapter.batch_from_langchain(window, self._make)

    def get_recent_context(self, max_turns: int = 5) -> str:
        """Return the last ``2 * max_turns`` messages as text, a line each: ``用户: ...`` (the user's) or ``AI: ...``.

        Texts longer than 100 characters are cut, and messages without text left out. What the system says is no part.
        """
        dialogue = [message for message in self._window if not isinstance(message, SystemMessage)]
        lines: list[str] = []
        for message in dialogue[max(len(dialogue) - 2 * max_turns, 0) :]:
            if text := message.text:
                speaker = "用户" if isinstance(message, HumanMessage) else "AI"
                lines.append(f"{speaker}: {text[:CUT]}{'...' if len(text) > CUT else ''}")
        return "\n".join(lines)

    def clear(self) -> None:
        """Forget all messages."""
        with self._changing:
            self._replace([])

    clear_messages = clear

    def load_messages(self, messages: Iterable[Any]) -> None:
        """Put the application's messages in the place of those kept.

        Raises:
            InvalidInput: one of them is no message; those kept stay.
        """
        loaded = MessageAdapter.batch_to_langchain(messages)
        with self._changing:
            self._replace(loaded)

    def restore_history(self, data: object) -> None:
        """Take up a conversation that a client has saved, after it has connected again.

        A client is not believed more than a person at the keyboard: it may bring what was said, by the user and by the
        model, and neither instructions nor calls and results of tools. The system message kept here stays.

        Args:
            data: ``{"type": "restore_history", "messages": [{"role": "user", "content": "..."}, ...]}``.

        Raises:
            InvalidInput: it is of another type or shape, or holds anything but texts of the user and the model: images,
                calls and results are the server's to tell. Those kept stay.
        """
        fields = data
        saved = cast("Mapping[str, object]", fields if isinstance(fields, Mapping) else {})
        messages = saved.get("messages")
        if saved.get("type") != RESTORE or not isinstance(messages, list):
            raise InvalidInput(
                f'a saved conversation is {{"type": "{RESTORE}", "messages": [...]}}, not {excerpt(data)}'
            )
        read = MessageAdapter.batch_to_langchain(cast("list[object]", messages))
        restored = [_check_restored(message) for message in read]
        with self._changing:
            self._replace([*self._system(self._window), *(message for message in restored if message.content)])

    # -- beyond this process

    async def save_checkpoint(self) -> None:
        """Append to the storage, in one step, what was added since the last time; nothing without a storage.

        Raises:
            HistoryError: it could not be stored; the next checkpoint tries again.
        """
        if self._storage is not None:
            await finish_write(partial(self._save, self._storage))  # cancelled or not, what is stored is noted as such

    async def restore_from_checkpoint(self) -> None:
        """Take up what is stored, if there is a storage and anything in it, in the place of the messages kept."""
        stored = await self._storage.aget_messages() if self._storage is not None else []
        if stored:
            with self._changing:
                self._window, self._unsaved, self._is_new = self._cut(stored, self.k), [], False

    def export_to_file(self, export_path: str | Path, fmt: Literal["json", "markdown"] = "json") -> str:
        """Write the messages kept to a file, for people or programs to read, and return its path.

        Raises:
            InvalidInput: another format.
            OSError: the file cannot be written.
        """
        window = self._window
        messages = MessageAdapter.batch_from_langchain(window)
        if fmt == "json":
            facts = {"session_id": self.session_id, "message_count": len(messages), "messages": messages}
            text = json.dumps(facts, ensure_ascii=False, indent=2) + "\n"
        elif fmt == "markdown":
            parts = [f"# Conversation {self.session_id}"]
            parts += [f"## {one['role']}\n\n{kept.text}" for one, kept in zip(messages, window, strict=True)]
            text = "\n\n".join(parts) + "\n"
        else:
            raise InvalidInput(f"fmt is {fmt!r}; it must be 'json' or 'markdown'")
        path = Path(export_path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    async def _save(self, storage: BaseChatMessageHistory) -> None:
        await self._saving.acquire(ASYNC)
        try:
            if self._is_new:
                await storage.aclear()
            with self._changing:
                unsaved, self._is_new = self._unsaved, False  # `_replace` may put another list there meanwhile
                added = list(unsaved)
            if added:
                await storage.aadd_messages(added)
                with self._changing:
                    del unsaved[: len(added)]
        finally:
            self._saving.release()

    # -- the window

    def _replace(self, messages: list[BaseMessage]) -> None:
        self._window, self._is_new = self._cut(messages, self.k), True
        self._unsaved = list(messages) if self._storage is not None else []

    def _system(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the system message that is kept outside of the window, if there is one."""
        return list(messages[:1]) if self.include_system and messages and isinstance(messages[0], SystemMessage) else []

    def _cut(self, messages: Sequence[BaseMessage], k: int) -> list[BaseMessage]:
        """Return the last ``k`` messages, cut between turns."""
        turns = [turn for turn in split_turns(messages) if not isinstance(turn[0], ToolMessage)]
        room = max(k, len(turns[-1])) if k > 0 and turns else k
        whole = [message for turn in turns for message in turn]
        return trim_messages(whole, max_messages=room, include_system=self.include_system)


def _check_restored(message: BaseMessage) -> BaseMessage:
    """Return a message that a client has saved, with its texts and its name alone.

    Raises:
        InvalidInput: it is of another speaker than user and assistant, or holds more than texts.
    """
    if type(message) not in (HumanMessage, AIMessage):
        raise InvalidInput(f"a client may restore texts of user and assistant, not a message of {message.type}")
    if isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls):
        raise InvalidInput("a client may restore texts of user and assistant, not a message of ai with calls of tools")
    content: list[str | dict[str, Any]] = []
    for block in [message.content] if isinstance(message.content, str) else message.content:
        text = block if isinstance(block, str) else block.get("text") if block.get("type") == "text" else None
        if not isinstance(text, str):
            raise InvalidInput(f"a client may restore texts of user and assistant, not {excerpt(block)}")
        content.append({"type": "text", "text": text})
    plain = message.content if isinstance(message.content, str) else content
    return type(message)(content=plain, name=message.name)
