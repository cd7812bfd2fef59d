"""OpenAI's Responses API: ``ChatOpenAI(use_responses_api=True)``. Loaded with the first request that speaks it."""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from hocket.http.request import HTTPReply
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatResult
from hocket.providers.openai.api import ChatAPI, RequestFacts
from hocket.providers.openai.dialects import Dialect
from hocket.providers.openai.options import ModelOptions
from hocket.providers.openai.responses.content import is_native
from hocket.providers.openai.responses.decode import decode_reply, decode_usage
from hocket.providers.openai.responses.encode import encode_conversation, encode_request
from hocket.providers.openai.responses.options import REFUSED
from hocket.providers.openai.responses.search import list_deferred
from hocket.providers.openai.responses.stream import ResponsesDecoder
from hocket.providers.openai.responses.tools import encode_tools
from hocket.remote.relay import RelayFormat, match_texts

__all__ = ["RESPONSES"]


def _is_plain(event: bytes) -> bool:
    """Whether an event is a piece of a text, a thought or a call, or says again what its pieces have said."""
    return event.partition(b"\n")[0].endswith((b".delta", b".output_item.done"))


class _Responses(ChatAPI):
    path: ClassVar = "responses"
    has_deployments: ClassVar = False
    call_ids: ClassVar = re.compile(".{1,64}", re.DOTALL)
    relay_format: ClassVar = RelayFormat("responses", decode_usage, _is_plain, match_texts("delta"))

    def list_refused(self, dialect: Dialect) -> frozenset[str]:
        return REFUSED

    def is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def encode(self, messages: Sequence[BaseMessage], options: ModelOptions, facts: RequestFacts) -> Fields:
        return encode_request(messages, options, stream=facts.stream, can_reason=facts.can_reason)

    def encode_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView], model: str) -> Fields | None:
        conversation = encode_conversation(messages, is_stored=True, deferred=list_deferred(tools))
        return {"model": model, **conversation, **encode_tools(tools, None)}

    def decode(self, reply: HTTPReply, provider: str, *, include_headers: bool) -> ChatResult:
        return decode_reply(reply, provider, include_headers=include_headers)

    def make_decoder(self, dialect: Dialect, headers: Mapping[str, str], *, include_headers: bool) -> ResponsesDecoder:
        return ResponsesDecoder(dialect.name, headers, include_headers=include_headers)


RESPONSES: ChatAPI = _Responses()
"""The API ``/responses``, OpenAI's newer one."""
