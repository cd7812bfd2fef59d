"""Chat completions, as one of the two APIs that `ChatOpenAI` speaks."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from hocket.http.request import HTTPReply
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatResult
from hocket.providers.openai.api import ChatAPI, RequestFacts
from hocket.providers.openai.content import is_native
from hocket.providers.openai.dialects import Dialect
from hocket.providers.openai.encode import encode_request
from hocket.providers.openai.options import OF_RESPONSES, ModelOptions
from hocket.remote.chat_completion import decode_completion, decode_token_usage
from hocket.remote.chat_completion_stream import ChatDecoder
from hocket.remote.relay import RelayFormat, match_texts

__all__ = ["CHAT_COMPLETIONS"]

_TEXTS = match_texts("content|reasoning|reasoning_content|refusal|arguments")


def _is_plain(event: bytes) -> bool:
    """Whether an event has a piece of an answer, and neither its end, usage nor an error."""
    has_no_end = b'"finish_reason":null' in event or b'"finish_reason": null' in event
    return has_no_end and not any(word in event for word in (b'"usage":{', b'"usage": {', b'"error"'))


def _is_summary(event: bytes) -> bool:
    return b'"choices":[]' in event or b'"choices": []' in event


class _ChatCompletions(ChatAPI):
    path: ClassVar = "chat/completions"
    has_deployments: ClassVar = True
    call_ids: ClassVar = re.compile(".{1,40}", re.DOTALL)
    relay_format: ClassVar = RelayFormat("chat", decode_token_usage, _is_plain, _TEXTS, _is_summary)

    def list_refused(self, dialect: Dialect) -> frozenset[str]:
        return dialect.refused | OF_RESPONSES

    def is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def encode(self, messages: Sequence[BaseMessage], options: ModelOptions, facts: RequestFacts) -> Fields:
        usage = facts.stream_usage
        return encode_request(messages, options, facts.dialect, stream=facts.stream, stream_usage=usage)

    def encode_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView], model: str) -> Fields | None:
        return None

    def decode(self, reply: HTTPReply, provider: str, *, include_headers: bool) -> ChatResult:
        return decode_completion(reply, provider, include_headers=include_headers)

    def make_decoder(self, dialect: Dialect, headers: Mapping[str, str], *, include_headers: bool) -> ChatDecoder:
        return ChatDecoder(
            dialect.name,
            headers,
            include_headers=include_headers,
            finishes=dialect.finishes,
            sends_done=dialect.sends_done,
        )


CHAT_COMPLETIONS: ChatAPI = _ChatCompletions()
"""The API ``/chat/completions``, which most servers speak."""
