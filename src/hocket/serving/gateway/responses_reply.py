"""What a model says, written as clients of OpenAI's Responses API read it: a response, or the events of one.

Source: the types of the package ``openai`` (``openai/types/responses``).
"""

import time
from collections.abc import Mapping

from hocket._runtime.clock import new_run_id
from hocket.errors.hints import shorten
from hocket.messages import UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.serving.gateway.block_writer import BlockKind, BlockWriter, OpenBlock, make_block_face
from hocket.serving.gateway.carried_reasoning import carry_reasoning
from hocket.serving.gateway.face import AnswerRequest
from hocket.serving.gateway.responses_request import read_responses_request
from hocket.serving.message_parts import encode_json
from hocket.serving.refusals import Refusal

__all__ = ["RESPONSES"]

_REPEATED: Mapping[str, object] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "reasoning": {"effort": None, "summary": None},
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""What a response says of its request, and what it says where the request does not."""

_INCOMPLETE: Mapping[str, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ITEMS: Mapping[BlockKind, str] = {"text": "msg", "reasoning": "rs", "call": "fc"}
_DELTAS: Mapping[BlockKind, str] = {
    "text": "response.output_text",
    "reasoning": "response.reasoning_summary_text",
    "call": "response.function_call_arguments",
}


class _ResponseWriter(BlockWriter):
    """Writes an answer that comes in pieces as the events of one response."""

    _number = 0  # of the next event
    _item_id = ""

    def _make_reply(self, request: AnswerRequest) -> Fields:
        return {
            "id": f"resp_{new_run_id().hex}",
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "model": request.model,
            "output": [],
            "error": None,
            "incomplete_details": None,
            "previous_response_id": None,
            "store": False,
            "usage": None,
            **{name: request.body.get(name, value) for name, value in _REPEATED.items()},
        }

    def _tell(self, name: str, event: FieldsView) -> None:
        super()._tell(name, {"type": name, **event, "sequence_number": self._number})
        self._number += 1

    def _add(self, text: str) -> bytes:
        if not text or self._block is None:
            return b""
        self._block.pieces.append(text)
        number, self._number = self._number, self._number + 1
        return b'%b%b,"sequence_number":%d}\n\n' % (self._before, encode_json(text), number)

    def _begin(self) -> None:
        self._tell("response.created", {"response": self.reply})
        self._tell("response.in_progress", {"response": self.reply})

    def _open(self, block: OpenBlock) -> None:
        own = block.extras.get("id")
        self._item_id = own if isinstance(own, str) else f"{_ITEMS[block.kind]}_{new_run_id().hex}"
        item = self._make_item(block, "in_progress")
        self._tell("response.output_item.added", {"output_index": block.index, "item": item})
        if block.kind != "call":
            self._tell(_part_event(block, "added"), {**self._locate(block), "part": _make_part(block, "")})

    def _make_delta(self, block: OpenBlock) -> tuple[str, Fields]:
        name = f"{_DELTAS[block.kind]}.delta"
        further: Fields = {"logprobs": []} if block.kind == "text" else {}
        return name, {"type": name, **self._locate(block), **further, "delta": ""}

    def _close(self, block: OpenBlock) -> None:
        text, place = "".join(block.pieces), self._locate(block)
        done = f"{_DELTAS[block.kind]}.done"
        if block.kind == "call":
            self._tell(done, {**place, "name": block.name, "arguments": text})
        else:
            self._tell(done, {**place, **({"logprobs": []} if block.kind == "text" else {}), "text": text})
            self._tell(_part_event(block, "done"), {**place, "part": _make_part(block, text)})
        item = self._make_item(block, "completed")
        self.reply["output"].append(item)
        self._tell("response.output_item.done", {"output_index": block.index, "item": item})

    def _locate(self, block: OpenBlock) -> Fields:
        place: Fields = {"item_id": self._item_id, "output_index": block.index}
        if block.kind == "call":
            return place
        return {**place, "content_index" if block.kind == "text" else "summary_index": 0}

    def _make_item(self, block: OpenBlock, status: str) -> Fields:
        """Return an item as it is by now; one that is not completed holds nothing."""
        text, is_done = "".join(block.pieces), status == "completed"
        item: Fields = {"id": self._item_id}
        if block.kind == "call":
            called = {"call_id": block.id, "name": block.name, "arguments": text}
            return {**item, "type": "function_call", "status": status, **called}
        parts = [_make_part(block, text)] if is_done else []
        if block.kind == "text":
            return {**item, "type": "message", "status": status, "role": "assistant", "content": parts}
        summary = parts if text else []
        return {
            **item,
            "type": "reasoning",
            "summary": summary,
            "encrypted_content": self._seal(block) if is_done else None,
        }

    def _seal(self, block: OpenBlock) -> object:
        """Return what the client is to send back with reasoning: OpenAI's own, or what its model has to be told again."""
        own = block.extras.get("encrypted_content")
        return own or carry_reasoning(self.facts.get("model_provider"), block.extras)

    def _finish(self, reason: str) -> None:
        incomplete = _INCOMPLETE.get(reason)
        status = "completed" if incomplete is None else "incomplete"
        self.reply |= {
            "status": status,
            "incomplete_details": None if incomplete is None else {"reason": incomplete},
            "usage": _write_usage(self.usage),
        }
        self._tell(f"response.{status}", {"response": self.reply})

    def _break(self, refusal: Refusal) -> None:
        error = {"code": refusal.code or "server_error", "message": shorten(refusal.message)}
        self.reply |= {"status": "failed", "error": error, "usage": _write_usage(self.usage)}
        self._tell("response.failed", {"response": self.reply})


def _part_event(block: OpenBlock, what: str) -> str:
    return f"response.{'content_part' if block.kind == 'text' else 'reasoning_summary_part'}.{what}"


def _make_part(block: OpenBlock, text: str) -> Fields:
    if block.kind == "reasoning":
        return {"type": "summary_text", "text": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _write_usage(usage: UsageMetadata | None) -> Fields | None:
    if usage is None:
        return None
    read = (usage.get("input_token_details") or {}).get("cache_read") or 0
    thought = (usage.get("output_token_details") or {}).get("reasoning") or 0
    return {
        "input_tokens": usage["input_tokens"],
        "input_tokens_details": {"cached_tokens": read},
        "output_tokens": usage["output_tokens"],
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": usage["total_tokens"],
    }


RESPONSES = make_block_face("responses", read_responses_request, _ResponseWriter)
"""OpenAI's Responses, without a server that keeps them."""
