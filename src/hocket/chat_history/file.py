"""A history in a file.

A line is a turn: a JSON list of messages. It is written and flushed to the disk at once, under a lock that other
processes see. A writer that is killed leaves at most the beginning of a line, and the beginning of a list is no list: so
a last line without an end that is none was never acknowledged. Readers pass over it and the next writer cuts it off, if
it begins as a turn does: any other text is somebody's, and stays.
"""

import json
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Any, cast

from hocket._databases.file_lock import FileLock, lock_file
from hocket._databases.lines import append_lines, is_half, parse_line, read_bytes, read_tail
from hocket._databases.own_files import make_directory, open_private
from hocket._databases.urls import check_path
from hocket.chat_history.base import BaseChatMessageHistory
from hocket.chat_history.exclusive import Exclusive
from hocket.chat_history.records import check_messages
from hocket.errors import HistoryError, LoadError
from hocket.messages import BaseMessage
from hocket.messages.records import dump_message, messages_from_dict

__all__ = ["FileChatMessageHistory"]

_BINARY = getattr(os, "O_BINARY", 0)  # without it Windows changes the ends of lines
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # without it a pipe is opened when somebody opens its other end
_BEGINNING = b'[{"v":'  # of a turn, as it is written here


class FileChatMessageHistory(BaseChatMessageHistory):
    """Keeps a conversation in a file of JSON lines, a turn each.

    Any number of tasks, threads and processes may share the file. A turn is on the disk when `add_messages` returns. A
    process that is killed while it writes loses that turn and nothing else. The file of LangChain's class of the same
    name, a list of all messages, is read as one turn.

    Args:
        file_path: the file; the first turn makes it, readable for its owner alone.
        ensure_ascii: write characters beyond ASCII as escapes; else as UTF-8.
        make_directory: whether the first turn makes its directory, too; else that must be there.

    Raises:
        InvalidInput: the path is empty. By `add_messages`: a message cannot be stored; none of the turn is.
        HistoryError: by every operation: the file cannot be read or written, or a line of it is damaged.
    """

    def __init__(
        self, file_path: str | os.PathLike[str], *, ensure_ascii: bool = False, make_directory: bool = False
    ) -> None:
        self.file_path: str = check_path(file_path, "file_path")
        self.ensure_ascii = ensure_ascii
        self.make_directory = make_directory

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages, oldest first; none if there is no file."""
        data = b""
        with suppress(FileNotFoundError), self._open_locked(os.O_RDONLY) as file:
            data = read_bytes(file, 0, os.fstat(file).st_size)
        *lines, tail = data.split(b"\n")
        if not is_half(tail, _BEGINNING):
            lines.append(tail)
        return [message for at, line in enumerate(lines, 1) if line.strip() for message in self._parse_turn(at, line)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn, and return when it is on the disk."""
        turn = [dump_message(message) for message in check_messages(messages)]
        if not turn:
            return
        line = json.dumps(turn, ensure_ascii=self.ensure_ascii, separators=(",", ":")).encode() + b"\n"
        with self._open_locked(os.O_RDWR | os.O_CREAT) as file:
            is_new = not os.fstat(file).st_size
            self._check_tail(tail := read_tail(file))
            append_lines(file, line, _BEGINNING, tail=tail, sync=True)
            if is_new:
                _sync_directory(self.file_path)

    def clear(self) -> None:
        """Empty the file."""
        with suppress(FileNotFoundError), self._open_locked(os.O_RDWR) as file:
            os.ftruncate(file, 0)
            os.fsync(file)

    @property
    def exclusive_key(self) -> tuple[str, str]:
        """The path as it was given; the lock itself knows the file by any name."""
        return "file", self.file_path

    def exclusive(self, timeout: float | None = None) -> AbstractAsyncContextManager[None, None]:
        """Have the conversation alone, also among processes: see `BaseChatMessageHistory.exclusive`.

        The lock is the operating system's, on a file beside this one (``.lock``), which is removed afterwards.
        """
        lock = FileLock(self.file_path, ".lock", HistoryError, make_directory=self.make_directory)
        return Exclusive(self, self.exclusive_key, timeout, lock)

    def __repr__(self) -> str:
        return f"FileChatMessageHistory({self.file_path!r})"

    @contextmanager
    def _open_locked(self, flags: int) -> Generator[int]:
        """Open the file, and lock it: along with others to read, alone to write."""
        try:
            if self.make_directory and flags & os.O_CREAT:
                make_directory(self.file_path)
            file = open_private(self.file_path, flags | _BINARY | _AT_ONCE)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise HistoryError(f"{self.file_path}: it is not a regular file")
                with lock_file(file, shared=flags == os.O_RDONLY):
                    yield file
            finally:
                os.close(file)
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not flags & os.O_CREAT:
                raise  # nothing has been said so far
            raise HistoryError(f"{self.file_path}: {error.strerror or error}") from error

    def _check_tail(self, tail: bytes) -> None:
        """Check that what comes after the last end of a line is a turn, or what a killed writer has left of one."""
        if is_half(tail, _BEGINNING):
            return
        with suppress(ValueError):
            if isinstance(parse_line(tail), list):
                return
        raise HistoryError(f"{self.file_path}: its last line is not the beginning of a turn. Mend it, or delete it.")

    def _parse_turn(self, at: int, line: bytes) -> list[BaseMessage]:
        try:
            turn = parse_line(line)
        except ValueError as error:
            raise self._damage(at, f"it is not JSON ({error})") from error
        if not isinstance(turn, list):
            raise self._damage(at, f"it is a {type(turn).__name__} and not a list of messages")
        try:
            return messages_from_dict(cast("list[dict[str, Any]]", turn))
        except LoadError as error:
            raise self._damage(at, str(error)) from error

    def _damage(self, at: int, why: str) -> HistoryError:
        return HistoryError(f"{self.file_path}, line {at}: {why}. Mend the line, or delete it.")


def _sync_directory(path: str) -> None:
    """Put a new file's name on the disk, too, where that can be done: its content is there, so the turn is stored."""
    with suppress(OSError):  # Windows opens no directory, some file systems flush none, and it may not be readable
        directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
