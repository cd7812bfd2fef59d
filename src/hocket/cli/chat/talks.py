"""What was said with ``hocket chat`` is kept, so that ``--continue`` can go on with it.

A talk is a history of its own, a file of JSON lines in the user's folder of data (`hocket.chat_history` reads it), with
a small file beside it that says who was asked and how. Both are for their owner's eyes alone. Old talks go when there are
many: nobody looks after these files, and a picture that was attached is in them.
"""

import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from hocket.chat_history import FileChatMessageHistory
from hocket.cli.folders import find_folder, write_own_file
from hocket.cli.output import note
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage

__all__ = [
    "MOST",
    "Talk",
    "TalkHistory",
    "TalkSettings",
    "find_last_talk",
    "find_talks_folder",
    "list_talks",
    "read_settings",
    "start_talk",
]

MOST = 1000
"""Talks that are kept; older ones are removed."""

MOST_BYTES = 200 * 2**20  # of all talks together

_TALK, _SETTINGS = ".jsonl", ".json"


@dataclass(frozen=True)
class TalkSettings:
    """Who was asked, and how, in the words of the command line; what is None was not said.

    Attributes:
        model: its name, with its provider.
        base_url: the server that ``--base-url`` named, which models without a provider's name belong to.
        system: instructions.
        address: of the server that was asked; never with a password.
    """

    model: str | None = None
    base_url: str | None = None
    system: str | None = None
    address: str | None = None


class TalkHistory(FileChatMessageHistory):
    """The history of a talk: a file that only this command writes, a line a question and its answer.

    Who was asked is written down before what was said, so that no talk goes on without it.
    """

    def __init__(self, talk: "Talk") -> None:
        super().__init__(talk.path)
        self._talk = talk

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append a turn, and return when it is on the disk."""
        self._talk.keep_settings()
        super().add_messages(messages)

    def remove_last_turn(self) -> bool:
        """Forget the last question and its answer; False if there is none.

        Raises:
            HistoryError: the file cannot be written.
        """
        with contextlib.suppress(FileNotFoundError), self._open_locked(os.O_RDWR) as file:
            data = os.pread(file, os.fstat(file).st_size, 0)
            os.ftruncate(file, data.rstrip(b"\n").rfind(b"\n") + 1)
            os.fsync(file)
            return bool(data.strip())
        return False


@dataclass
class Talk:
    """A talk that is kept.

    Attributes:
        path: of its history.
        settings: of its next question.
    """

    path: Path
    settings: TalkSettings = field(default_factory=TalkSettings)
    _kept: TalkSettings | None = field(default=None, init=False)

    @property
    def history(self) -> TalkHistory:
        """What was said."""
        return TalkHistory(self)

    def keep_settings(self) -> None:
        """Write down which model is asked, unless it is there already; what cannot be written is passed over."""
        if self.settings == self._kept:
            return
        path = self.path.with_suffix(_SETTINGS)
        said = {name: value for name, value in asdict(self.settings).items() if value is not None}
        with contextlib.suppress(OSError):
            write_own_file(path, json.dumps(said))
            self._kept = self.settings


def find_talks_folder() -> Path | None:
    """Return where talks are kept: ``HOCKET_TALKS``, None if that is empty; else in the user's folder of data."""
    folder = os.environ.get("HOCKET_TALKS")
    if folder is not None:
        return Path(folder).expanduser() if folder else None
    return find_folder("DATA") / "talks"


def start_talk() -> Talk | None:
    """Return a new talk, whose file its first answer makes; None: none is kept, or none can be, which is told."""
    folder = find_talks_folder()
    if folder is None:
        return None
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o700, parents=True)
            if sys.stderr.isatty():
                note(f"talks are kept in {folder}, for you alone; --no-log keeps one out, HOCKET_TALKS= all of them")
        elif not os.access(folder, os.W_OK):
            raise PermissionError(13, "it cannot be written")
    except OSError as error:
        note(f"this talk is not kept in {folder}: {error.strerror}; --no-log says that it need not be")
        return None
    _remove_old(folder)
    return Talk(folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}{_TALK}")


def find_last_talk() -> Talk:
    """Return the talk in which something was said last.

    Raises:
        InvalidInput: there is none.
    """
    folder = find_talks_folder()
    if folder is None:
        raise InvalidInput("no talks are kept: HOCKET_TALKS is empty; --history FILE keeps this one")
    talks = list_talks(folder)
    if not talks:
        raise InvalidInput(f"there is no talk to go on with in {folder}")
    return Talk(talks[0], read_settings(talks[0].with_suffix(_SETTINGS)))


def list_talks(folder: Path) -> list[Path]:
    """Return the files of the talks in which something was said, the last one first."""
    found: list[tuple[int, Path]] = []
    for path in folder.glob(f"*{_TALK}"):
        with contextlib.suppress(OSError):  # removed meanwhile
            state = path.stat()
            if state.st_size:
                found.append((state.st_mtime_ns, path))
    return [path for _, path in sorted(found, reverse=True)]


def read_settings(path: Path) -> TalkSettings:
    """Return who was asked in a talk, by the file that says it; nothing, if that is not there, or damaged."""
    try:
        said: object = json.loads(path.read_text())
    except (OSError, ValueError):
        said = None
    texts = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    return TalkSettings(
        **{name: text for name in TalkSettings.__annotations__ if isinstance(text := texts.get(name), str)}
    )


def _remove_old(folder: Path) -> None:
    """Make room for a new talk, by removing the oldest."""
    left = MOST_BYTES
    for place, path in enumerate(list_talks(folder), 1):
        with contextlib.suppress(OSError):
            left -= path.stat().st_size
            if place >= MOST or left < 0:
                path.unlink()
                path.with_suffix(_SETTINGS).unlink(missing_ok=True)
