"""OpenAI's completions, the predecessor of its chat: one text, which the model goes on with.

Source: https://platform.openai.com/docs/api-reference/completions
"""

import time
from typing import cast

from hocket._runtime.clock import new_run_id
from hocket.messages import AIMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import calls_of_reply
from hocket.serving.gateway.chat_reply import CompletionWriter, write_usage
from hocket.serving.gateway.face import AnswerRequest, Face, Said, find_finish
from hocket.serving.gateway.fields import find_field, find_stop, read_object, refuse_field, require_field
from hocket.serving.gateway.options import find_spare, read_options
from hocket.serving.message_parts import encode_json

__all__ = ["COMPLETIONS"]

_READ_HERE = frozenset({"model", "prompt", "stop", "stream", "stream_options", "n", "best_of", "echo", "suffix"})


def _read(body: bytes) -> AnswerRequest:
    """Return what a body asks for.

    Raises:
        Refusal: it is no JSON, or no request for one completion of one text; it names the field.
    """
    fields = read_object(body)
    for name, only in (("n", 1), ("best_of", 1), ("echo", False), ("suffix", "")):
        if fields.get(name, only) != only:
            raise refuse_field(name, fields[name], f"{only!r} here, which is as good as nothing")
    prompt: object = fields.get("prompt")
    match prompt:
        case str(text) | [str(text)] if text:
            pass
        case _:
            raise refuse_field("prompt", prompt, "one text, and not empty: ask again for another")
    options = read_options(fields, _READ_HERE)
    if (stop := find_stop(fields)) is not None:
        options["stop"] = stop
    streaming = cast(Fields, find_field(fields, "stream_options", dict, "an object") or {})
    return AnswerRequest(
        model=require_field(fields, "model", str, "the name of a model"),
        input=text,
        options=options,
        spare=find_spare(options),
        stream=find_field(fields, "stream", bool, "true or false") or False,
        include_usage=find_field(streaming, "include_usage", bool, "true or false") or False,
    )


class _TextWriter(CompletionWriter):
    """Writes an answer that comes in pieces as the events of one completion."""

    def _event(self, delta: FieldsView, finish: str | None = None, logprobs: FieldsView | None = None) -> bytes:
        event = {**self._head, "object": "text_completion", "choices": [_make_choice(delta.get("content"), finish)]}
        return b"data: " + encode_json({**event, **self._no_usage}) + b"\n\n"


def _make_choice(text: object, finish: str | None) -> Fields:
    return {"text": text or "", "index": 0, "logprobs": None, "finish_reason": finish}


def _write(said: Said, request: AnswerRequest) -> bytes:
    """Return a whole answer as a completion.

    Raises:
        InvalidReply: the model's server says that the answer failed.
    """
    message = AIMessage(said) if isinstance(said, str) else said
    finish = find_finish(message.response_metadata, called=bool(calls_of_reply(message)))
    body: Fields = {
        "id": f"cmpl-{new_run_id().hex}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": request.model,
        "choices": [_make_choice(message.text, finish)],
    }
    if message.usage_metadata:
        body["usage"] = write_usage(message.usage_metadata)
    return encode_json(body)


def _make_writer(request: AnswerRequest, upstream_errors: bool) -> _TextWriter:
    return _TextWriter(request.model, include_usage=request.include_usage, upstream_errors=upstream_errors)


COMPLETIONS = Face("", _read, _write, _make_writer)
"""OpenAI's completions."""
