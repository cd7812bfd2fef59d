"""OpenAI's Responses API, as its reference has it: whole responses, and their streams. All else is as in `OpenAIFormat`."""

import math
from collections.abc import Iterator
from typing import cast

from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.testing.server.format import ReplyEvents, WholeReply, cut_text, measure_text, read_body, write_event
from hocket.testing.server.openai import ARGUMENTS_PIECE, CREATED, OpenAIFormat
from hocket.testing.server.reply_content import ReplyContent, write_arguments
from hocket.testing.server.wire import ReceivedRequest

__all__ = ["OpenAIResponsesFormat"]


class OpenAIResponsesFormat(OpenAIFormat):
    """The format of OpenAI's Responses API, for models with ``use_responses_api=True``."""

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return a response."""
        answer = _Response(request, reply)
        return WholeReply(answer.ended, answer.usage["total_tokens"])

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the events of a response."""
        answer = _Response(request, reply)
        kind = "incomplete" if answer.ended["status"] == "incomplete" else "completed"
        return ReplyEvents(
            [write_event(event, event["type"]) for event in answer.events(reply.pieces)],
            write_event({"type": f"response.{kind}", "response": answer.ended}, f"response.{kind}"),
            answer.usage["input_tokens"],
            answer.usage["output_tokens"],
        )


class _Response:
    """One reply to one request: what its document and its events have in common."""

    def __init__(self, request: ReceivedRequest, reply: ReplyContent) -> None:
        body = read_body(request)
        if "input" not in body:
            raise InvalidInput(f"the script has a {type(reply).__name__} here, but {request.path} takes none")
        said = list(_write_items(reply))
        prompt = sum(map(measure_text, _texts_in([body.get("instructions"), body["input"]])))
        answer = sum(measure_text(text) for text in (reply.reasoning, *reply.texts(1)))
        answer += sum(measure_text(f"{call['name']} {write_arguments(call['args'])}") for call in reply.tool_calls)
        usage = {"input_tokens": prompt, "output_tokens": answer, **reply.usage}
        self.usage: Fields = {**usage, "total_tokens": usage["input_tokens"] + usage["output_tokens"], **reply.usage}
        self._begun: Fields = {
            "id": reply.id or f"resp_test_{request.serial}",
            "object": "response",
            "created_at": CREATED,
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": body.get("model"),
            "output": [],
            "usage": None,
        }
        reason = None if reply.finish_reason == "completed" else reply.finish_reason
        self.ended: Fields = {
            **self._begun,
            "status": "completed" if reason is None else "incomplete",
            "incomplete_details": None if reason is None else {"reason": reason},
            "output": said,
            "usage": self.usage,
        }

    def events(self, pieces: int | None) -> Iterator[Fields]:
        """Yield all events but the last one."""
        yield {"type": "response.created", "response": self._begun}
        for index, item in enumerate(self.ended["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            yield {
                "type": "response.output_item.added",
                "output_index": index,
                "item": {**item, **_EMPTY[item["type"]]},
            }
            for kind, text, more in _growths(item):
                part, empty = _PARTS.get(kind, ("", {}))
                if part:
                    yield {"type": f"response.{part}.added", **place, **more, "part": empty}
                for piece in cut_text(
                    text, pieces or (math.ceil(len(text) / ARGUMENTS_PIECE) if "call" in kind else None)
                ):
                    yield {"type": f"response.{kind}.delta", **place, **more, "delta": piece}
                if part:
                    yield {"type": f"response.{part}.done", **place, **more, "part": {**empty, "text": text}}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}


_PARTS: dict[str, tuple[str, Fields]] = {
    "output_text": ("content_part", {"type": "output_text", "text": "", "annotations": []}),
    "reasoning_summary_text": ("reasoning_summary_part", {"type": "summary_text", "text": ""}),
}
"""What grows in a part of its item: the name of the part's events, and the part when it begins."""

_EMPTY: dict[str, Fields] = {
    "reasoning": {"summary": []},
    "message": {"content": [], "status": "in_progress"},
    "function_call": {"arguments": "", "status": "in_progress"},
}
"""What items say that have just begun."""


def _write_items(reply: ReplyContent) -> Iterator[Fields]:
    if reply.reasoning:
        yield {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": reply.reasoning}]}
    text = reply.texts(1)[0]
    if text or not reply.tool_calls:
        content: list[Fields] = [{"type": "output_text", "text": text, "annotations": []}]
        yield {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": content,
            **reply.extra,
        }
    for number, call in enumerate(reply.tool_calls, start=1):
        yield {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": call.get("id") or f"call_{number}",
            "name": call["name"],
            "arguments": write_arguments(call["args"]),
            "status": "completed",
        }


def _growths(item: Fields) -> Iterator[tuple[str, str, Fields]]:
    """Yield what of an item comes in pieces: the name of their events, the text, and where it belongs."""
    if item["type"] == "function_call":
        yield "function_call_arguments", item["arguments"], {}
    for number, part in enumerate(item.get("summary", ())):
        yield "reasoning_summary_text", part["text"], {"summary_index": number}
    for number, part in enumerate(item.get("content", ())):
        yield "output_text", part["text"], {"content_index": number}


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts of a prompt."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from _texts_in(part)
    elif isinstance(value, dict):
        for name in ("content", "text", "output", "arguments"):
            yield from _texts_in(cast(Fields, value).get(name))
