"""The log of Simon Willison's ``llm``, taken over: an SQLite database, of whichever version wrote it.

Newer ones keep messages as a tree, and a conversation is the way from its last message to the root. In older ones a row is
a response with its prompt, and tables that came one after another hold what went along: a database may lack any of them.
One that was brought up to date has rows of both kinds.
"""

import base64
import contextlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hocket.chat_history import FileChatMessageHistory
from hocket.cli.chat.talks import MOST, Talk, TalkSettings, list_talks
from hocket.cli.output import note
from hocket.errors import InvalidInput, UnknownModel
from hocket.language_models.registry import resolve_model_name
from hocket.message_toolkit.exchanges import split_exchanges
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage, UsageMetadata

__all__ = ["import_llm_logs"]

_CHAIN = """WITH RECURSIVE chain(hash, depth) AS (SELECT ?, 0
  UNION ALL SELECT m.parent_hash, depth + 1 FROM messages m JOIN chain USING (hash) WHERE m.parent_hash NOTNULL
  LIMIT 100000)
SELECT hash, role FROM chain JOIN messages USING (hash) ORDER BY depth DESC"""


class _LoggedTalk(NamedTuple):
    """A conversation: its id in the log, when and by which model it was answered last, the last instructions."""

    id: str
    at: datetime
    model: str
    system: str | None
    messages: list[BaseMessage]


def import_llm_logs(path: str, folder: Path) -> None:
    """Keep the conversations of a log as talks, but for those that are kept already.

    Raises:
        InvalidInput: there is no such file, or it is no log of ``llm``, or a damaged one.
        HistoryError: a talk cannot be written.
    """
    if not os.path.isfile(path):
        raise InvalidInput(f"there is no file {path}; `llm logs path` says where the log of llm is")
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as db:
            talks = {_name_file(talk): talk for talk in _Log(db).read() if talk.messages}
    except (sqlite3.Error, ValueError, KeyError, TypeError, IndexError) as error:
        raise InvalidInput(f"{path} cannot be read as a log of llm: {type(error).__name__}: {error}") from error
    new = sorted((name for name in talks if not (folder / name).exists()), reverse=True)
    room = max(0, MOST - 1 - len(list_talks(folder)))
    for name in new[:room]:
        _keep(talks[name], folder / name)
    note(f"of {len(talks)} conversations {len(new[:room])} are new, and kept in {folder}")
    if len(new) > room:
        note(f"the {len(new) - room} oldest are left out: {MOST} talks are kept")


def _name_file(talk: _LoggedTalk) -> str:
    return f"llm-{re.sub(r'[^A-Za-z0-9]', '', talk.id)[:40]}.jsonl"  # ids begin with the time


def _keep(talk: _LoggedTalk, path: Path) -> None:
    """Write a talk as `hocket chat` does, whole or not at all, with the time when it was held."""
    model = talk.model
    with contextlib.suppress(UnknownModel):  # one that only llm's plugins know
        model = resolve_model_name(model, served=False)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.unlink(missing_ok=True)
    history = FileChatMessageHistory(beside, make_directory=True)
    for exchange in split_exchanges(talk.messages):
        history.add_messages(exchange)
    os.utime(beside, (talk.at.timestamp(), talk.at.timestamp()))
    Talk(path, TalkSettings(model, system=talk.system)).keep_settings()
    beside.replace(path)


class _Log:
    def __init__(self, db: sqlite3.Connection) -> None:
        db.row_factory = sqlite3.Row
        self._db = db
        self._tables = {str(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def read(self) -> Iterator[_LoggedTalk]:
        if not {"threads", "conversations"} & self._tables:
            raise ValueError("it has no conversations")
        threads = {thread["id"]: thread for thread in self._select("threads")}
        for id_, thread in threads.items():
            if turns := self._select("turns", "thread_id", id_):
                yield self._read_thread(thread, turns)
        for talk in self._select("conversations"):
            responses = self._select("responses", "conversation_id", talk["id"])
            if responses and talk["id"] not in threads:  # else it went on, and the thread has all of it
                yield self._read_responses(talk["id"], responses)

    def _read_thread(self, thread: sqlite3.Row, turns: list[sqlite3.Row]) -> _LoggedTalk:
        turn_of = {turn["tip_message_hash"]: turn for turn in turns}
        system = None
        messages: list[BaseMessage] = []
        for hash_, role in self._db.execute(_CHAIN, (thread["tip_message_hash"],)).fetchall():
            texts: list[str] = []
            blocks: list[dict[str, object]] = []
            calls: list[ToolCall] = []
            for part in self._select("parts", "message_hash", hash_, "position"):
                payload = json.loads(part["payload"] or "{}")
                match part["type"]:
                    case "text":
                        texts.append(part["text"] or "".join(map(self._read_piece, payload.get("text_ref", []))))
                    case "attachment":
                        blocks.append(self._read_attachment(payload["attachment"]["id"]))
                    case "tool_call":
                        calls.append(_make_call(payload["name"], payload["arguments"], payload.get("tool_call_id")))
                    case "tool_result":
                        messages.append(_make_result(payload["name"], payload["output"], payload.get("tool_call_id")))
                    case _:  # reasoning
                        continue
            if role == "system":
                system = "\n".join(texts)
            elif role == "user":
                messages.append(_make_question(texts, blocks))
            elif role == "assistant":
                messages.append(_make_answer("\n".join(texts), calls, turn_of.get(hash_)))
        return _LoggedTalk(thread["id"], _read_time(turns[-1]), turns[-1]["model"], system, messages)

    def _read_responses(self, id_: str, responses: list[sqlite3.Row]) -> _LoggedTalk:
        system = None
        messages: list[BaseMessage] = []
        for response in responses:
            key = response["id"]
            for one in self._select("tool_results", "response_id", key):
                messages.append(_make_result(one["name"], one["output"], one["tool_call_id"]))
            fragments = self._select("prompt_fragments", "response_id", key, '"order"')
            texts = [*(self._read_piece({"fragment": one["fragment_id"]}) for one in fragments), response["prompt"]]
            attached = self._select("prompt_attachments", "response_id", key, '"order"')
            blocks = [self._read_attachment(one["attachment_id"]) for one in attached]
            if any(texts) or blocks:
                messages.append(_make_question(texts, blocks))
            called = self._select("tool_calls", "response_id", key)
            calls = [_make_call(one["name"], json.loads(one["arguments"]), one["tool_call_id"]) for one in called]
            messages.append(_make_answer(response["response"] or "", calls, response))
            system = response["system"] or system
        return _LoggedTalk(id_, _read_time(responses[-1]), responses[-1]["model"], system, messages)

    def _select(self, table: str, column: str = "1", value: object = 1, order: str = "id") -> list[sqlite3.Row]:
        if table not in self._tables:
            return []
        return self._db.execute(f"SELECT * FROM {table} WHERE {column} = ? ORDER BY {order}", (value,)).fetchall()

    def _read_piece(self, piece: dict[str, str]) -> str:
        return (
            piece["literal"] if "literal" in piece else self._select("fragments", "id", piece["fragment"])[0]["content"]
        )

    def _read_attachment(self, id_: str) -> dict[str, object]:
        """Return what was attached; where the log has only its name, the name."""
        row = self._select("attachments", "id", id_)[0]
        if row["content"] is None:
            return {"type": "text", "text": f"[attached: {row['path'] or row['url']}]"}
        kind = row["type"].partition("/")[0].replace("application", "file")
        return {"type": kind, "base64": base64.b64encode(row["content"]).decode(), "mime_type": row["type"]}


def _read_time(row: sqlite3.Row) -> datetime:
    return datetime.fromisoformat(row["datetime_utc"])


def _make_question(texts: list[str], blocks: list[dict[str, object]]) -> HumanMessage:
    text = "\n".join(filter(None, [*texts, *(str(block["text"]) for block in blocks if block["type"] == "text")]))
    others: list[str | dict[str, object]] = [block for block in blocks if block["type"] != "text"]
    return HumanMessage([{"type": "text", "text": text}, *others]) if others else HumanMessage(text)


def _make_answer(text: str, calls: list[ToolCall], turn: sqlite3.Row | None) -> AIMessage:
    """Return an answer; ``turn``: the row that has its tokens and its model."""
    usage: UsageMetadata | None = None
    columns = turn.keys() if turn is not None else ()
    if turn is not None and "input_tokens" in columns and turn["input_tokens"] is not None:
        counts = int(turn["input_tokens"]), int(turn["output_tokens"] or 0)
        usage = {"input_tokens": counts[0], "output_tokens": counts[1], "total_tokens": sum(counts)}
    facts = {} if turn is None else {"model_name": turn["model"]}
    return AIMessage(text, tool_calls=calls, usage_metadata=usage, response_metadata=facts)


def _make_call(name: str, args: dict[str, object], call_id: str | None) -> ToolCall:
    return {"type": "tool_call", "name": name, "args": args, "id": call_id or ""}


def _make_result(name: str, output: str | None, call_id: str | None) -> ToolMessage:
    return ToolMessage(output or "", name=name, tool_call_id=call_id or "")
