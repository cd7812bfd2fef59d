"""A window over the messages of an application that has message objects of its own.

Messages come in and go out as the application's (see `MessageAdapter`) and are kept as hocket's, the last ``k`` of them.
The window is cut between turns only, so that what is kept is a conversation that providers take.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from hocket._databases.writes import finish_write
from hocket._pipeline.concurrency_limit import InFlight
from hocket._runtime.runtime import ASYNC
from hocket.chat_history import BaseChatMessageHistory
from hocket.conversation.adapter import MessageAdapter
from hocket.errors import InvalidInput
from hocket.message_toolkit import split_turns, trim_messages
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
        self._kept: list[BaseMessage] = []
        self._unsaved: list[BaseMessage] = []
        self._is_new = False  # whether what is stored is of another conversation
        self._saving = InFlight()
        self._saving.resize(1)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages kept, as hocket's, oldest first."""
        return list(self._kept)

    @property
    def message_count(self) -> int:
        """How many messages are kept."""
        return len(self._kept)

    def add_message(self, message: Any) -> None:
        """Add one of the application's messages; what is too old for the window is forgotten.

        Raises:
            InvalidInput: it is no message (see `MessageAdapter.to_langchain`).
        """
        self.add_messages([message])

    def add_messages(self, messages: Iterable[Any]) -> None:
        """Add several messages, as `add_message` does one: all of them, or none."""
        added = MessageAdapter.batch_to_langchain(messages)
        self._kept = self._window([*self._kept, *added], self.k)
        self._unsaved += added

    def get_messages(self, max_messages: int | None = None) -> list[Any]:
        """Return the messages kept, as the application's; with ``max_messages``, the last ones of a window that small."""
        kept = self._kept if max_messages is None else self._window(self._kept, max_messages)
        return MessageAdapter.batch_from_langchain(kept, self._make)

    def get_recent_context(self, max_turns: int = 5) -> str:
        """Return the last ``2 * max_turns`` messages as text, a line each: ``用户: ...`` (the user's) or ``AI: ...``.

        Texts longer than 100 characters are cut, and messages without text left out. What the system says is no part.
        """
        said = [message for message in self._kept if not isinstance(message, SystemMessage)]
        lines: list[str] = []
        for message in said[max(len(said) - 2 * max_turns, 0) :]:
            if text := message.text:
                speaker = "用户" if isinstance(message, HumanMessage) else "AI"
                lines.append(f"{speaker}: {text[:CUT]}{'...' if len(text) > CUT else ''}")
        return "\n".join(lines)

    def clear(self) -> None:
        """Forget all messages."""
        self._replace([])

    clear_messages = clear

    def load_messages(self, messages: Iterable[Any]) -> None:
        """Put the application's messages in the place of those kept.

        Raises:
            InvalidInput: one of them is no message; those kept stay.
        """
        self._replace(MessageAdapter.batch_to_langchain(messages))

    def restore_history(self, data: Mapping[str, Any]) -> None:
        """Take up a conversation that a client has saved, after it has connected again.

        A client is not believed more than a person at the keyboard: it may bring what was said, by the user and by the
        model, and neither instructions nor calls and results of tools. The system message kept here stays.

        Args:
            data: ``{"type": "restore_history", "messages": [{"role": "user", "content": "..."}, ...]}``.

        Raises:
            InvalidInput: it is of another type or shape, or holds other messages; those kept stay.
        """
        saved = data.get("messages")
        if data.get("type") != RESTORE or not isinstance(saved, list):
            raise InvalidInput(
                f'a saved conversation is {{"type": "{RESTORE}", "messages": [...]}}, not {_short(data)}'
            )
        said = MessageAdapter.batch_to_langchain(saved)
        for message in said:
            if not isinstance(message, HumanMessage) and (type(message) is not AIMessage or message.tool_calls):
                raise InvalidInput(f"a client may restore texts of user and assistant, not a message of {message.type}")
        self._replace([*self._system(self._kept), *(message for message in said if message.content)])

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
            self._kept, self._unsaved, self._is_new = self._window(stored, self.k), [], False

    def export_to_file(self, export_path: str | Path, fmt: Literal["json", "markdown"] = "json") -> str:
        """Write the messages kept to a file, for people or programs to read, and return its path.

        Raises:
            InvalidInput: another format.
            OSError: the file cannot be written.
        """
        messages = MessageAdapter.batch_from_langchain(self._kept)
        if fmt == "json":
            facts = {"session_id": self.session_id, "message_count": len(messages), "messages": messages}
            text = json.dumps(facts, ensure_ascii=False, indent=2) + "\n"
        elif fmt == "markdown":
            parts = [f"# Conversation {self.session_id}"]
            parts += [f"## {one['role']}\n\n{kept.text}" for one, kept in zip(messages, self._kept, strict=True)]
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
            unsaved, self._is_new = self._unsaved, False  # `_replace` may put another list there meanwhile
            if stored := list(unsaved):
                await storage.aadd_messages(stored)
                del unsaved[: len(stored)]
        finally:
            self._saving.release()

    # -- the window

    def _replace(self, messages: list[BaseMessage]) -> None:
        self._kept, self._unsaved, self._is_new = self._window(messages, self.k), messages, True

    def _system(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the system message that is kept outside of the window, if there is one."""
        return list(messages[:1]) if self.include_system and messages and isinstance(messages[0], SystemMessage) else []

    def _window(self, messages: Sequence[BaseMessage], k: int) -> list[BaseMessage]:
        """Return the last ``k`` messages, cut between turns."""
        turns = [turn for turn in split_turns(messages) if not isinstance(turn[0], ToolMessage)]
        room = max(k, len(turns[-1])) if k > 0 and turns else k
        whole = [message for turn in turns for message in turn]
        return trim_messages(whole, max_messages=room, include_system=self.include_system)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
