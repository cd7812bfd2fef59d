"""What a model says, written as OpenAI's clients read it: a chat completion, or the events of one. Pure functions.

No end is made up. An answer that came whole has one; where its model said why it ended, that is told, in OpenAI's word if
there is one, else in the model's own. A stream that broke off has an error and neither finish reason nor ``[DONE]``, so
that a client raises.
"""

import time
from typing import cast

from hocket._pipeline.chat_answer import as_chunk
from hocket._runtime.clock import new_run_id
from hocket.errors import InvalidReply
from hocket.messages import AIMessage, AIMessageChunk, ToolCallChunk, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import AnyToolCall, calls_of_reply
from hocket.remote.chat_completion import INPUT_DETAILS, OUTPUT_DETAILS
from hocket.remote.function_calls import write_call
from hocket.serving.gateway.call_pieces import CallPieces, new_call_id
from hocket.serving.gateway.chat_request import read_chat_request
from hocket.serving.gateway.face import AnswerRequest, Face, ReplyWriter, Said, check_answer, find_finish
from hocket.serving.message_parts import encode_json, find_plain_text, join_reasoning, list_blocks
from hocket.serving.refusals import explain_failure

__all__ = ["CHAT", "CompletionWriter", "write_completion", "write_usage"]

_BESIDE = ("refusal", "annotations", "audio", "images")


def write_completion(said: Said, request: AnswerRequest) -> bytes:
    """Return a whole answer as a chat completion of the model that the client has named.

    Raises:
        InvalidReply: the model's server says that the answer failed.
    """
    message = AIMessage(said) if isinstance(said, str) else said
    calls = [_write_call(call) for call in calls_of_reply(message)]
    text, facts = message.text, message.response_metadata
    told: Fields = {"role": "assistant", "content": text if text or not calls else None, "refusal": None}
    if not isinstance(message.content, str) or message.additional_kwargs:
        told |= _read_beside(message)
    if calls:
        told["tool_calls"] = calls
    choice = {
        "index": 0,
        "message": told,
        "logprobs": _read_logprobs(facts),
        "finish_reason": find_finish(facts, called=bool(calls)),
    }
    body = {**_make_head("chat.completion", request.model), "choices": [choice]}
    if message.usage_metadata:
        body["usage"] = write_usage(message.usage_metadata)
    return encode_json(body)


def _write_call(call: AnyToolCall) -> Fields:
    written = write_call(call)
    return written if written["id"] else {**written, "id": new_call_id()}


def _make_head(kind: str, model: str) -> Fields:
    return {"id": f"chatcmpl-{new_run_id().hex}", "object": kind, "created": int(time.time()), "model": model}


def _read_beside(message: AIMessage) -> Fields:
    """Return what a message says beside its text, under the names that clients know it by."""
    beside = {name: value for name in _BESIDE if (value := message.additional_kwargs.get(name))}
    if reasoning := join_reasoning(list_blocks(message)):
        beside["reasoning_content"] = reasoning
    return beside


def _read_logprobs(facts: FieldsView) -> FieldsView | None:
    """Return the log probabilities of an answer, or of a piece of one; None: there are none that OpenAI's clients can read.

    Most servers tell them in OpenAI's form, Ollama as the list that is in it.
    """
    match facts.get("logprobs"):
        case {"content": list()} | {"refusal": list()} as told:
            return cast(FieldsView, told)
        case [{"token": _, "logprob": _}, *_] as tokens:
            return {"content": tokens, "refusal": None}
        case _:
            return None


def write_usage(usage: UsageMetadata) -> Fields:
    """Return usage in OpenAI's words."""
    made: Fields = {
        "prompt_tokens": usage["input_tokens"],
        "completion_tokens": usage["output_tokens"],
        "total_tokens": usage["total_tokens"],
    }
    for key, parts, words in (
        ("prompt_tokens_details", usage.get("input_token_details"), INPUT_DETAILS),
        ("completion_tokens_details", usage.get("output_token_details"), OUTPUT_DETAILS),
    ):
        if told := {word: count for name, word in words.items() if (count := (parts or {}).get(name)) is not None}:
            made[key] = told
    return made


class CompletionWriter(ReplyWriter):
    """Writes an answer that comes in pieces as the events of one chat completion.

    Args:
        model: the name that the client knows.
        include_usage: whether the last event but ``[DONE]`` is to tell usage, as ``stream_options`` asks.
        upstream_errors: whether a failure is told in the words of the model's server.
    """

    def __init__(self, model: str, *, include_usage: bool = False, upstream_errors: bool = False) -> None:
        super().__init__(upstream_errors=upstream_errors)
        self._head = _make_head("chat.completion.chunk", model)
        self._include_usage = include_usage
        self._no_usage: Fields = {"usage": None} if include_usage else {}  # as OpenAI says before it is known
        # Nearly all events differ in their text alone: what stands around it is written once.
        before, _, after = self._event({"content": ""}).rpartition(b'""')
        self._before, self._after = before, after
        self._calls = CallPieces()
        self._has_begun = False

    def write(self, item: Said) -> bytes:
        item = check_answer(item)
        begin = b"" if self._has_begun else self._event({"role": "assistant", "content": "", "refusal": None})
        self._has_begun = True
        text = item if isinstance(item, str) else find_plain_text(item)
        if text is not None:
            return begin + self._before + encode_json(text) + self._after if text else begin
        chunk = cast(AIMessageChunk, as_chunk(cast(AIMessage, item)))
        delta, logprobs = self._read(chunk), _read_logprobs(chunk.response_metadata)
        return begin + self._event(delta, logprobs=logprobs) if delta or logprobs else begin

    def _read(self, chunk: AIMessageChunk) -> Fields:
        """Return what a piece adds, and take note of what is told at the end."""
        self._note(chunk)
        delta: Fields = {"content": text} if (text := chunk.text) else {}
        if not isinstance(chunk.content, str) or chunk.additional_kwargs:
            delta |= _read_beside(chunk)
        if calls := [self._write_call(call) for call in chunk.tool_call_chunks]:
            delta["tool_calls"] = calls
        return delta

    def _write_call(self, chunk: ToolCallChunk) -> Fields:
        """Return a piece of a call."""
        piece = self._calls.add(chunk)
        if not piece.is_first:
            return {"index": piece.place, "function": {"arguments": piece.text}}
        function = {"name": piece.name, "arguments": piece.text}
        return {"index": piece.place, "id": piece.id or new_call_id(), "type": "function", "function": function}

    def _event(self, delta: Fields, finish: str | None = None, logprobs: FieldsView | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
        return b"data: " + encode_json({**self._head, "choices": [choice], **self._no_usage}) + b"\n\n"

    def end(self) -> bytes:
        empty = [{"index": place, "function": {"arguments": "{}"}} for place in self._calls.list_empty()]
        told = [self._event({"tool_calls": empty})] if empty else []  # what a program can read
        try:
            events = [*told, self._event({}, find_finish(self.facts, called=bool(self._calls)))]
        except InvalidReply as error:
            return self.fail(error)
        if self._include_usage:
            usage = write_usage(self.usage) if self.usage else None
            events.append(b"data: " + encode_json({**self._head, "choices": [], "usage": usage}) + b"\n\n")
        return b"".join((*events, b"data: [DONE]\n\n"))

    def fail(self, error: Exception) -> bytes:
        self.has_failed = True
        return b"data: " + explain_failure(error, in_full=self._upstream_errors).body() + b"\n\n"


def _make_writer(request: AnswerRequest, upstream_errors: bool) -> CompletionWriter:
    return CompletionWriter(request.model, include_usage=request.include_usage, upstream_errors=upstream_errors)


CHAT = Face("chat", read_chat_request, write_completion, _make_writer)
"""OpenAI's chat completions."""
