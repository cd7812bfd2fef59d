"""The history in a file: what is on the disk, and what becomes of it when a writer dies."""

import json
import os
import pickle
import resource
import stat
from pathlib import Path
from typing import Any

import pytest

from hocket.chat_history import FileChatMessageHistory
from hocket.errors import HistoryError, InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, messages_to_dict

ONE: list[BaseMessage] = [HumanMessage("öne"), AIMessage("two\u2028\n[]")]
TWO: list[BaseMessage] = [HumanMessage("three"), AIMessage("fö[u]r")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that is not there."""
    return tmp_path / "talk.jsonl"


def test_a_line_is_a_turn(path: Path) -> None:
    """The file is made by the first turn, for its owner alone; a line is a list of messages, in UTF-8."""
    history = FileChatMessageHistory(path)
    assert history.messages == []
    history.clear()
    assert not path.exists()
    history.add_messages(ONE)
    history.add_messages(TWO)
    first, second = path.read_bytes().decode().removesuffix("\n").split("\n")
    assert "öne" in first
    assert [record["type"] for record in json.loads(second)] == ["human", "ai"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_ascii_on_request(path: Path) -> None:
    """`ensure_ascii` writes escapes, which read the same."""
    history = FileChatMessageHistory(path, ensure_ascii=True)
    history.add_messages(ONE)
    assert path.read_bytes().isascii()
    assert history.messages == ONE


def test_a_writer_may_die_at_any_byte(path: Path) -> None:
    """However much of the last turn was written, the turns before are read, and the next turn follows them."""
    history = FileChatMessageHistory(path)
    history.add_messages(ONE)
    end = path.stat().st_size
    history.add_messages(TWO)
    whole = path.read_bytes()
    for cut in range(end, len(whole) + 1):
        path.write_bytes(whole[:cut])
        kept = ONE + TWO if cut >= len(whole) - 1 else ONE  # of a list that lacks only its end of a line, nothing lacks
        assert history.messages == kept, cut
        history.add_user_message("next")
        assert history.messages == [*kept, HumanMessage("next")], cut
        assert path.read_bytes().startswith(whole if len(kept) > 2 else whole[:end]), cut


def test_a_long_tail_is_cut_off(path: Path) -> None:
    """A turn of which more was written than is read at once is cut off all the same, and nothing of the one before."""
    history = FileChatMessageHistory(path)
    history.add_messages(ONE)
    with path.open("ab") as file:
        file.write(b'[{"v":1,"type":"human","data":{"content":"' + b"x" * 300_000)
    assert history.messages == ONE
    history.add_messages(TWO)
    assert history.messages == ONE + TWO
    assert path.stat().st_size < 10_000


@pytest.mark.parametrize(
    "text", [b"my notes", b'[{"type":"human","da', b"[" * 100_000], ids=["notes", "langchain", "deep"]
)
@pytest.mark.parametrize("before", [b"", b"\n"], ids=["alone", "behind"])
def test_somebody_elses_text_is_not_cut_off(path: Path, before: bytes, text: bytes) -> None:
    """What no writer of turns has left is damage, end of a line or not, and stays, byte for byte."""
    path.write_bytes(before + text)
    history = FileChatMessageHistory(path)
    with pytest.raises(HistoryError, match=r"talk\.jsonl, line \d: "):
        _ = history.messages
    with pytest.raises(HistoryError, match="is not the beginning of a turn"):
        history.add_messages(ONE)
    assert path.read_bytes() == before + text


def test_zeros_at_the_end_are_cut_off(path: Path) -> None:
    """A machine that went down may have made room for a turn on the disk, and no more."""
    history = FileChatMessageHistory(path)
    history.add_messages(ONE)
    whole = path.read_bytes()
    for torn in (b"\0" * 50, whole[:20] + b"\0" * 30):
        path.write_bytes(whole + torn)
        assert history.messages == ONE
    history.add_messages(TWO)
    assert history.messages == ONE + TWO


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b'"text"',
        b"[1]",
        b'[{"v":99,"type":"human","data":{}}]',
        b'[{"type":"unheard","data":{}}]',
        b"\xff",
        b"\x00",
        b"[" * 100_000,
    ],
    ids=["cut", "no list", "no message", "version", "type", "utf-8", "nul", "deep"],
)
def test_damage_is_named_by_its_line(path: Path, line: bytes) -> None:
    """A line that cannot be read is an error with its number, and not passed over; it does not keep anyone from adding."""
    history = FileChatMessageHistory(path)
    history.add_messages(ONE)
    with path.open("ab") as file:
        file.write(line + b"\n")
    history.add_messages(TWO)
    with pytest.raises(HistoryError, match=r"talk\.jsonl, line 2: "):
        _ = history.messages
    assert len(path.read_bytes().split(b"\n")) == 4


def test_blank_lines_are_passed_over(path: Path) -> None:
    """Whoever edits the file may leave blank lines, and no end to the last."""
    history = FileChatMessageHistory(path)
    history.add_messages(ONE)
    path.write_bytes(b"\n" + path.read_bytes() + b"\r\n" + path.read_bytes().rstrip())
    history.add_messages(TWO)
    assert history.messages == ONE + ONE + TWO


def test_reads_the_file_of_langchain(path: Path) -> None:
    """A file that holds one JSON list of LangChain's dictionaries is read, and goes on."""
    path.write_text(json.dumps(messages_to_dict(ONE)))
    history = FileChatMessageHistory(path)
    assert history.messages == ONE
    history.add_messages(TWO)
    assert history.messages == ONE + TWO


def test_a_full_disk_leaves_the_file_as_it_was(path: Path) -> None:
    """A turn that does not fit is an error; what the file held stays, byte for byte, and it can go on."""
    history = FileChatMessageHistory(path)
    history.add_messages(ONE)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(HistoryError, match=r"talk\.jsonl: File too large"):
            history.add_user_message("x" * (2 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    history.add_messages(TWO)
    assert history.messages == ONE + TWO


def test_a_directory_that_cannot_be_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is no failure: the turn is in the file by then, and who was told otherwise would add it again."""
    opened = os.open

    def refuse(path: Any, flags: int, *args: Any) -> int:
        if path == str(tmp_path):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *args)

    monkeypatch.setattr(os, "open", refuse)
    history = FileChatMessageHistory(tmp_path / "talk.jsonl")
    history.add_messages(ONE)
    assert history.messages == ONE


def test_a_file_that_cannot_be(tmp_path: Path) -> None:
    """A directory, a file in none, and what is read but once, are errors that name the path, at once."""
    for path in (tmp_path, tmp_path / "missing" / "talk.jsonl"):
        with pytest.raises(HistoryError, match=str(path)):
            FileChatMessageHistory(path).add_user_message("one")
    os.mkfifo(tmp_path / "pipe")
    for other in (tmp_path, tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(HistoryError, match=f"{other}: it is not a regular file"):
            _ = FileChatMessageHistory(other).messages
    with pytest.raises(InvalidInput, match="file_path is empty"):
        FileChatMessageHistory("")


def test_travels(path: Path) -> None:
    """It can be pickled: a path is all that it is."""
    FileChatMessageHistory(path).add_messages(ONE)
    assert pickle.loads(pickle.dumps(FileChatMessageHistory(path))).messages == ONE
