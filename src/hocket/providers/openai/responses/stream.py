"""A streamed reply of the Responses API, event by event. It does no I/O and folds nothing.

The content is made of the same items as that of a whole reply. Messages and reasoning come in pieces: each is an item that
names its place (``index``), with a part that names its own. What else an item says comes when it is complete, without what
has been told. Any other item comes whole. The arguments of a call come beside the content, as pieces of JSON.
The stream is whole with the event that says how the response ended.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hocket.messages.content import Fields
from hocket.messages.formats.openai_responses import CUSTOM_INPUT
from hocket.messages.tool_calls import ToolCallChunk, tool_call_chunk
from hocket.messages.usage import UsageMetadata
from hocket.outputs import ChatGenerationChunk
from hocket.providers.openai.responses.decode import (
    CALLS,
    decode_call,
    decode_usage,
    finish_facts,
    refusals_in,
    reply_facts,
    write_custom_input,
)
from hocket.providers.openai.responses.search import read_search
from hocket.remote.chat_stream_decoder import ChatStreamDecoder

__all__ = ["ResponsesDecoder"]

_GROWS = {"output_text": "text", "refusal": "refusal", "summary_text": "text", "reasoning_text": "text"}
"""The parts that come in pieces, and the field of each that does."""

_LATE = frozenset({"status", "content"})  # what a message cannot say about itself when it begins


class _Growth(NamedTuple):
    """Where an event's piece of text belongs: the item's type, its field, and the type and the number of the part."""

    kind: str
    field: str
    part: str
    number: str


_GROWTHS = {
    "response.output_text.delta": _Growth("message", "content", "output_text", "content_index"),
    "response.refusal.delta": _Growth("message", "content", "refusal", "content_index"),
    "response.reasoning_summary_text.delta": _Growth("reasoning", "summary", "summary_text", "summary_index"),
    "response.reasoning_text.delta": _Growth("reasoning", "content", "reasoning_text", "content_index"),
}


class _Said:
    """What is left to tell of items that are complete: the items, calls, and a refusal."""

    __slots__ = ("calls", "items", "refusal")

    def __init__(self) -> None:
        self.items: list[str | Fields] = []
        self.calls: list[ToolCallChunk] = []
        self.refusal = ""


class ResponsesDecoder(ChatStreamDecoder):
    """Reads one stream.

    Args:
        provider: its name.
        headers: of the reply.
        include_headers: whether to tell all of them.
    """

    def __init__(
        self, provider: str, headers: Mapping[str, str] | None = None, *, include_headers: bool = False
    ) -> None:
        super().__init__(provider, headers, include_headers=include_headers)
        self._places: dict[str, int] = {}  # of items, by their ids, for servers that do not number them
        self._openings: dict[int, Fields] = {}  # what messages said about themselves when they began
        self._untold: set[int] = set()  # those of which that has not been told
        self._lengths: dict[tuple[int, str, int], int] = {}  # what has been told of texts, and of lists of annotations
        self._arguments: dict[int, int] = {}  # what has been told of the arguments of calls that have begun
        self._closed: set[int] = set()
        self._called = self._refused = False

    def find_error(self, data: Fields) -> object:
        """Return the part of an event that says that the request has failed."""
        kind = data.get("type")
        if kind == "response.failed":
            return data["response"].get("error") or {"message": "the response failed, and the server does not say why"}
        return data if kind == "error" or data.get("error") else None

    def read(self, data: Fields, event: str) -> ChatGenerationChunk | None:
        """Return what one event says; None: nothing. Events that are not known say nothing."""
        kind: str = data.get("type") or event
        if growth := _GROWTHS.get(kind):
            return self._grow(data, growth)
        match kind:
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                return self._grow_call(self._place(data), data["delta"], is_custom="custom" in kind)
            case "response.output_text.annotation.added":
                return self._annotate(data)
            case "response.output_item.added":
                return self._open(self._place(data), data["item"])
            case "response.output_item.done":
                return self._tell(self._close([(self._place(data), data["item"])]))
            case "response.created" | "response.queued" | "response.in_progress":
                self._begin(data["response"])
            case "response.completed" | "response.incomplete":
                return self._finish(data["response"])
            case _:
                pass
        return None

    def _begin(self, response: Fields) -> None:
        self.id: str | None = response.get("id") or self.id
        self.facts.update(reply_facts(response))

    def _finish(self, response: Fields) -> ChatGenerationChunk:
        """Tell how the response ended, and whatever no event has told of it."""
        self._begin(response)
        items: Sequence[Fields] = response.get("output") or ()
        said = self._close((index, item) for index, item in enumerate(items) if index not in self._closed)
        finish = finish_facts(response, called=self._called, refused=self._refused)
        self.done = self.ended = True
        return self._tell(said, usage=decode_usage(response.get("usage")), finish=finish)

    def _place(self, data: Fields) -> int:
        index: int | None = data.get("output_index")
        if index is not None:
            return index
        item: Fields = data.get("item") or {}
        id: str = data.get("item_id") or item.get("id") or item["call_id"]
        return self._places.setdefault(id, len(self._places))

    def _open(self, index: int, item: Fields) -> ChatGenerationChunk | None:
        kind = item["type"]
        if kind == "message":
            self._openings[index] = {name: value for name, value in item.items() if name not in _LATE}
            self._untold.add(index)
        if kind not in CALLS:
            return None
        self._arguments[index], self._called = 0, True
        call = decode_call({**item, CALLS[kind]: ""}, index)
        call["args"] = f'{{"{CUSTOM_INPUT}":"' if kind == "custom_tool_call" else ""
        return self.make_chunk("", calls=[call])

    def _grow(self, data: Fields, growth: _Growth) -> ChatGenerationChunk | None:
        text: str = data["delta"]
        if not text:
            return None
        kind, field, part, number = growth
        index, at = self._place(data), data.get(number) or 0
        place = index, field, at
        self._lengths[place] = self._lengths.get(place, 0) + len(text)
        item: Fields = {"type": kind, field: [{"type": part, _GROWS[part]: text, "index": at}], "index": index}
        if index in self._untold:
            self._untold.discard(index)
            item |= self._openings[index]
        elif part == "reasoning_text":
            item["summary"] = []
        beside: Fields | None = None
        if part == "refusal":
            beside, self._refused = {"refusal": text}, True
        return self.make_chunk([item], beside=beside)

    def _grow_call(self, index: int, text: str, *, is_custom: bool) -> ChatGenerationChunk | None:
        if not text or index not in self._arguments:  # a call that has not begun comes whole
            return None
        self._arguments[index] += len(text)
        args = write_custom_input(text) if is_custom else text
        return self.make_chunk("", calls=[tool_call_chunk(args=args, index=index)])

    def _annotate(self, data: Fields) -> ChatGenerationChunk:
        index, at = self._place(data), data.get("content_index") or 0
        place = index, "annotations", at
        self._lengths[place] = self._lengths.get(place, 0) + 1
        part = {"type": "output_text", "text": "", "annotations": [data["annotation"]], "index": at}
        return self.make_chunk([{"type": "message", "content": [part], "index": index}])

    def _close(self, items: Iterable[tuple[int, Fields]]) -> _Said:
        """Return what is left to tell of items that are complete."""
        said = _Said()
        for index, raw in items:
            self._closed.add(index)
            item = read_search(raw)
            if item["type"] in CALLS:
                said.calls += self._end_call(index, item)
            told = {} if index in self._untold else self._openings.get(index, {})
            self._untold.discard(index)
            rest = {name: value for name, value in item.items() if name == "type" or name not in told}
            for field in ("content", "summary"):
                parts: list[Fields] | None = item.get(field)
                if parts is not None:
                    rest[field] = [self._end_part((index, field, at), part) for at, part in enumerate(parts)]
            said.items.append({**rest, "index": index})
            said.refusal += "".join(refusals_in(rest))
        self._refused = self._refused or bool(said.refusal)
        return said

    def _end_part(self, place: tuple[int, str, int], part: Fields) -> Fields:
        index, _, at = place
        rest = {**part, "index": at}
        if (field := _GROWS.get(part["type"])) and isinstance(part.get(field), str):
            rest[field] = part[field][self._lengths.get(place, 0) :]
        if told := self._lengths.get((index, "annotations", at)):
            rest["annotations"] = part["annotations"][told:]
        return rest

    def _end_call(self, index: int, item: Fields) -> list[ToolCallChunk]:
        self._called = True
        told = self._arguments.get(index)
        if told is None:
            return [decode_call(item, index)]
        text: str = (item.get(CALLS[item["type"]]) or "")[told:]
        rest = f'{write_custom_input(text)}"}}' if item["type"] == "custom_tool_call" else text
        return [tool_call_chunk(args=rest, index=index)] if rest else []

    def _tell(
        self, said: _Said, *, usage: UsageMetadata | None = None, finish: Mapping[str, str] | None = None
    ) -> ChatGenerationChunk:
        beside: Fields | None = {"refusal": said.refusal} if said.refusal else None
        return self.make_chunk(said.items or "", beside=beside, calls=said.calls, usage=usage, finish=finish)
