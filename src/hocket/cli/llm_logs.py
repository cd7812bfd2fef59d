"""The log of Simon Willison's ``llm``, read: an SQLite database, of whichever version wrote it.

Newer ones keep messages as a tree, and a conversation is the way from its last message to the root. In older ones a
row is a response with its prompt, and tables that came one after another hold what went along: a database may lack any
of them. A database that was brought up to date has rows of both kinds; no conversation is in both.
"""

import base64
import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage, UsageMetadata

__all__ = ["LoggedTalk", "read_llm_logs"]

_LONGEST = 100_000  # messages of a conversation
_CHAIN = f"""WITH RECURSIVE chain(hash, depth) AS (SELECT ?, 0
  UNION ALL SELECT m.parent_hash, depth + 1 FROM messages m JOIN chain USING (hash) WHERE m.parent_hash NOTNULL
  LIMIT {_LONGEST})
SELECT hash, role FROM chain JOIN messages USING (hash) ORDER BY depth DESC"""


class LoggedTalk(NamedTuple):
    """A conversation.

    Attributes:
        id: its own, in the log.
        at: when it was answered last.
        model: which model answered last, in the words of ``llm``.
        system: the last instructions.
        messages: all of it, without instructions.
    """

    id: str
    at: datetime
    model: str
    system: str | None
    messages: list[BaseMessage]


def read_llm_logs(path: str) -> list[LoggedTalk]:
    """Return the conversations of a log, the last one first.

    Raises:
        InvalidInput: there is no such file, or it is no log of ``llm``, or a damaged one.
    """
    if not Path(path).is_file():
        raise InvalidInput(f"there is no file {path}; `llm logs path` says where the log of llm is")
    try:
        db = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            talks = [talk for talk in _Log(db).read() if talk.messages]
        finally:
            db.close()
    except (sqlite3.Error, ValueError, KeyError, TypeError, IndexError) as error:
        raise InvalidInput(f"{path} cannot be read as a log of llm: {type(error).__name__}: {error}") from error
    if not talks:
        raise InvalidInput(f"{path} has no conversation of llm")
    return sorted(talks, key=lambda talk: talk.at, reverse=True)


class _Log:
    def __init__(self, db: sqlite3.Connection) -> None:
        db.row_factory = sqlite3.Row
        self._db = db
        self._tables = {str(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def read(self) -> Iterator[LoggedTalk]:
        found: set[str] = set()
        for thread in self._select("threads"):
            turns = self._select("turns", "thread_id", thread["id"])
            if turns:
                found.add(thread["id"])
                yield self._read_thread(thread, turns)
        for talk in self._select("conversations"):
            responses = self._select("responses", "conversation_id", talk["id"])
            if responses and talk["id"] not in found:
                yield self._read_conversation(talk["id"], responses)

    def _read_thread(self, thread: sqlite3.Row, turns: list[sqlite3.Row]) -> LoggedTalk:
        turn_of = {turn["tip_message_hash"]: turn for turn in turns}
        system = None
        messages: list[BaseMessage] = []
        for hash_, role in self._db.execute(_CHAIN, (thread["tip_message_hash"],)).fetchall():
            texts: list[str] = []
            blocks: list[dict[str, object]] = []
            calls: list[ToolCall] = []
            for part in self._select("parts", "message_hash", hash_, "position"):
                payload = json.loads(part["payload"] or "{}")
                if part["type"] == "text":
                    texts.append(part["text"] or self._join(payload.get("text_ref", [])))
                elif part["type"] == "attachment":
                    blocks.append(self._read_attachment(payload["attachment"]["id"]))
                elif part["type"] == "tool_call":
                    calls.append(_make_call(payload["name"], payload["arguments"], payload.get("tool_call_id")))
                elif part["type"] == "tool_result":
                    messages.append(_make_result(payload["name"], payload["output"], payload.get("tool_call_id")))
            if role == "system":
                system = "\n".join(texts)
            elif role == "user":
                messages.append(_make_question("\n".join(texts), blocks))
            elif role == "assistant":
                messages.append(_make_answer("\n".join(texts), calls, turn_of.get(hash_)))
        return _make_talk(thread["id"], turns[-1], system, messages)

    def _read_conversation(self, id_: str, responses: list[sqlite3.Row]) -> LoggedTalk:
        system = None
        messages: list[BaseMessage] = []
        for response in responses:
            key = response["id"]
            results = self._select("tool_results", "response_id", key)
            messages += [_make_result(one["name"], one["output"], one["tool_call_id"]) for one in results]
            fragments = self._select("prompt_fragments", "response_id", key, '"order"')
            text = "\n".join(
                [*(self._join([{"fragment": one["fragment_id"]}]) for one in fragments), response["prompt"]]
            ).strip()
            attached = self._select("prompt_attachments", "response_id", key, '"order"')
            blocks = [self._read_attachment(one["attachment_id"]) for one in attached]
            if text or blocks:
                messages.append(_make_question(text, blocks))
            called = self._select("tool_calls", "response_id", key)
            calls = [_make_call(one["name"], json.loads(one["arguments"]), one["tool_call_id"]) for one in called]
            messages.append(_make_answer(response["response"], calls, response))
            system = response["system"] or system
        return _make_talk(id_, responses[-1], system, messages)

    def _select(self, table: str, column: str = "1", value: object = 1, order: str = "id") -> list[sqlite3.Row]:
        if table not in self._tables:
            return []
        return self._db.execute(f"SELECT * FROM {table} WHERE {column} = ? ORDER BY {order}", (value,)).fetchall()

    def _join(self, pieces: list[dict[str, str | int]]) -> str:
        """Return the text that is made of literal pieces and fragments."""
        return "".join(
            str(piece["literal"])
            if "literal" in piece
            else self._select("fragments", "id", piece["fragment"])[0]["content"]
            for piece in pieces
        )

    def _read_attachment(self, id_: str) -> dict[str, object]:
        """Return what was attached; where the log has only its name, the name."""
        row = self._select("attachments", "id", id_)[0]
        if row["content"] is None:
            return {"type": "text", "text": f"[attached: {row['path'] or row['url']}]"}
        kind = row["type"].partition("/")[0]
        data = base64.b64encode(row["content"]).decode()
        return {"type": kind.replace("application", "file"), "base64": data, "mime_type": row["type"]}


def _make_talk(id_: str, last: sqlite3.Row, system: str | None, messages: list[BaseMessage]) -> LoggedTalk:
    return LoggedTalk(id_, datetime.fromisoformat(last["datetime_utc"]), last["model"], system, messages)


def _make_question(text: str, blocks: list[dict[str, object]]) -> HumanMessage:
    text = "\n".join(filter(None, [text, *(str(block["text"]) for block in blocks if block["type"] == "text")]))
    others: list[str | dict[str, object]] = [block for block in blocks if block["type"] != "text"]
    return HumanMessage([{"type": "text", "text": text}, *others]) if others else HumanMessage(text)


def _make_answer(text: str, calls: list[ToolCall], turn: sqlite3.Row | None) -> AIMessage:
    usage: UsageMetadata | None = None
    if turn is not None and turn["input_tokens"] is not None:
        counts = int(turn["input_tokens"]), int(turn["output_tokens"] or 0)
        usage = {"input_tokens": counts[0], "output_tokens": counts[1], "total_tokens": sum(counts)}
    facts = {} if turn is None else {"model_name": turn["model"]}
    return AIMessage(text, tool_calls=calls, usage_metadata=usage, response_metadata=facts)


def _make_call(name: str, args: dict[str, object], call_id: str | None) -> ToolCall:
    return {"type": "tool_call", "name": name, "args": args, "id": call_id or ""}


def _make_result(name: str, output: str | None, call_id: str | None) -> ToolMessage:
    return ToolMessage(output or "", name=name, tool_call_id=call_id or "")
