"""A streamed reply of the Gemini API, event by event. It does no I/O and folds nothing.

Each event is a reply of its own, with some more parts. As long as there are only texts, they come as strings. From the
first other part on, each part names its ``index``: texts that go on share one, and a part with a signature, a call or a
picture has its own. There is no last event: the stream is whole with its finish reason, or with what blocked the prompt.

The arguments of a tool's call may come piece by piece, as Vertex AI sends them where it is asked to:

    {"name": "cook", "willContinue": true}
    {"partialArgs": [{"jsonPath": "$.steps[0].text", "stringValue": "Bo", "willContinue": true}], "willContinue": true}
    {"partialArgs": [{"jsonPath": "$.steps[0].text", "stringValue": "il"}], "willContinue": true}
    {}

Texts go on where the same path comes again. A piece that does not say ``willContinue`` is the last one of its call. The
call is told when it is whole, as the API writes it in one piece, since only so can it go back.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import cast

from pydantic_core import to_json

from hocket.errors import InvalidReply
from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import Text
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk
from hocket.outputs import ChatGenerationChunk
from hocket.providers.google.content import call_in
from hocket.providers.google.decode import decode_usage, finish_facts, id_of_call, name_reply, parts_of, reply_facts
from hocket.providers.google.service import PROVIDER
from hocket.remote.chat_stream_decoder import ChatStreamDecoder

__all__ = ["GoogleDecoder", "PartialCall", "begins_call"]

_CONTENT = frozenset({"content", "index"})
_TEXT = frozenset({"text"})
_GROWING = frozenset({"text", "thought"})


class GoogleDecoder(ChatStreamDecoder):
    """Reads one stream. `ChatStreamDecoder` tells the arguments."""

    def __init__(
        self, headers: Mapping[str, str] | None = None, provider: str = PROVIDER, *, include_headers: bool = False
    ) -> None:
        super().__init__(provider, headers, include_headers=include_headers)
        self._name = ""  # what ids of calls are made of
        self._usage: object = None
        self._count = 0  # of calls
        self._place = -1  # the index of the last part; -1: so far there are only texts
        self._growing: str | None = None  # what the last part is, where more of it may come
        self._partial: PartialCall | None = None

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says."""
        candidates: list[Fields] = data.get("candidates") or [{}]
        candidate = candidates[0]
        if len(candidates) > 1 or candidate.get("index"):
            raise InvalidReply("the stream holds several answers at once; ask for them in one piece, or for n=1")
        if self.id is None:
            self.id: str | None = data.get("responseId")
            self._name = self.id or self._name or name_reply(data, self.facts)
        content, calls = self._read_parts(parts_of(candidate))
        if self.facts or "promptFeedback" in data:
            self.facts.update(reply_facts(data))
        finish: dict[str, str] = {}
        if not candidate or candidate.keys() - _CONTENT:  # it says more than most events do
            finish = finish_facts(candidate, data, called=self._count > 0)
            self.facts.update(reply_facts(candidate))
            if finish:
                self.ended = True
                calls += self._cut_call()
        usage = data.get("usageMetadata")
        is_new = bool(usage) and usage != self._usage
        self._usage = usage or self._usage
        if self._usage and (finish or (is_new and self.ended)):
            self.facts["token_usage"] = self._usage
        told = decode_usage(usage) if is_new else None  # a running total
        return self.make_chunk(content, calls=calls, usage=told, finish=finish)

    def _read_parts(self, parts: list[Fields]) -> tuple[str | list[str | Fields], list[ToolCallChunk]]:
        if self._place < 0 and all(part.keys() == _TEXT for part in parts):
            return "".join([part["text"] for part in parts]), []
        placed: list[str | Fields] = []
        calls: list[ToolCallChunk] = []
        for part in self._join_calls(parts):
            growing = None
            if part.keys() <= _GROWING:
                if not part["text"]:
                    continue
                growing = "thought" if part.get("thought") else "text"
            if growing is None or growing != self._growing:
                self._place += 1
            self._growing = growing
            placed.append({**part, "index": self._place})
            if (call := call_in(part)) is not None:
                id = id_of_call(call, self._name, self._count)
                arguments = to_json(call.get("args") or {}).decode()
                calls.append(tool_call_chunk(name=call["name"], args=arguments, id=id, index=self._place))
                self._count += 1
        return placed or "", calls

    def _join_calls(self, parts: list[Fields]) -> Iterator[Fields]:
        """Yield parts, calls that come in pieces when they are whole."""
        for part in parts:
            call: Fields | None = part.get("functionCall")
            if call is None or (self._partial is None and not begins_call(call)):
                yield part
                continue
            if (
                self._partial is not None and call.get("name") and not call.get("partialArgs")
            ):  # the one before has ended without saying so
                yield self._partial.read_part()
                self._partial = None
            self._partial = self._partial or PartialCall()
            if self._partial.add(part):
                yield self._partial.read_part()
                self._partial = None

    def _cut_call(self) -> list[ToolCallChunk]:
        """Return the call that the end of the answer has cut, with arguments that are cut as well."""
        if self._partial is None:
            return []
        call, self._partial = self._partial.read_part()["functionCall"], None
        arguments = to_json(call["args"]).decode().removesuffix("}")
        id = id_of_call(call, self._name, self._count)
        return [tool_call_chunk(name=call["name"], args=arguments, id=id, index=self._place + 1)]


_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]]+) | \[(?P<index>\d+)\] | \[(?P<quote>['"])(?P<quoted>(?:[^\\]|\\.)*?)(?P=quote)\]""",
    re.VERBOSE,
)


def begins_call(call: FieldsView) -> bool:
    """Whether more of a call is to come than is here."""
    return bool(call.get("willContinue") or call.get("partialArgs"))


class PartialCall:
    """One call so far."""

    def __init__(self) -> None:
        self._part: Fields = {}
        self._call: Fields = {}
        self._arguments: Fields = {}

    def add(self, part: FieldsView) -> bool:
        """Add a part that is a piece of the call, and return whether it was the last one.

        Raises:
            ValueError, TypeError, KeyError, IndexError: it is not what the API says it is.
        """
        call: FieldsView = part["functionCall"]
        self._part |= {name: value for name, value in part.items() if name != "functionCall"}
        self._call |= {name: value for name, value in call.items() if name not in ("partialArgs", "willContinue")}
        for piece in call.get("partialArgs") or ():
            self._put(_read_path(piece["jsonPath"]), piece)
        return not call.get("willContinue")

    def read_part(self) -> Fields:
        """Return the part that the call is, with its arguments so far."""
        return {"functionCall": {**self._call, "args": _close(self._arguments)}, **self._part}

    def _put(self, path: list[str | int], piece: FieldsView) -> None:
        holder: object = self._arguments
        for step, following in pairwise(path):
            holder = _enter(holder, step, [] if isinstance(following, int) else {})
        if "stringValue" in piece:
            text = _enter(holder, path[-1], Text())
            if not isinstance(text, Text):
                raise TypeError(f"{piece['jsonPath']!r} goes on with a text that is none")
            text.append(piece["stringValue"])
        else:
            _enter(holder, path[-1], piece.get("numberValue", piece.get("boolValue")))


def _read_path(path: str) -> list[str | int]:
    """Return the steps of a JSON path (RFC 9535) to one value: names, and indices of lists."""
    steps: list[str | int] = []
    at = 1
    while found := _STEP.match(path, at):
        name, index, quoted = found["name"], found["index"], found["quoted"]
        steps.append(name or (re.sub(r"\\(.)", r"\1", quoted) if index is None else int(index)))
        at = found.end()
    if not steps or path[:1] != "$" or at != len(path):
        raise ValueError(f"{path!r} leads to no single argument")
    return steps


def _enter(holder: object, step: str | int, new: object) -> object:
    """Return what a container has at a step; ``new``, where nothing is there so far. A list grows by its end only."""
    if isinstance(step, str) and type(holder) is dict:
        return cast(Fields, holder).setdefault(step, new)
    if isinstance(step, int) and type(holder) is list:
        items = cast("list[object]", holder)
        if step == len(items):
            items.append(new)
        return items[step]
    raise TypeError(f"an argument has no {step!r}")


def _close(value: object) -> object:
    """Return a value with its texts joined."""
    if isinstance(value, Text):
        return value.value()
    if isinstance(value, list):
        return [_close(item) for item in cast("list[object]", value)]
    return {name: _close(item) for name, item in cast(Fields, value).items()} if isinstance(value, dict) else value
