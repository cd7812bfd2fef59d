"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hocket._schemas.dialects import COHERE
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.outputs import ChatResult
from hocket.providers.cohere.content import is_native
from hocket.providers.cohere.decode import decode_reply
from hocket.providers.cohere.encode import encode_request
from hocket.providers.cohere.options import CohereOptions
from hocket.providers.cohere.service import CohereService
from hocket.providers.cohere.stream import CohereDecoder
from hocket.remote.chat_model import RemoteChatModel

__all__ = ["ChatCohere"]


class ChatCohere(CohereService, CohereOptions, RemoteChatModel):
    """A chat model of Cohere's.

        model = ChatCohere(model="command-a-03-2025")     # the key: CO_API_KEY or COHERE_API_KEY

    Citations of ``documents`` and of tools' results are in a reply's ``additional_kwargs["citations"]`` as they came, and
    ``content_blocks`` shows them on the text that they belong to. What the model planned before it called tools is in
    ``additional_kwargs["tool_plan"]``, and goes back with the calls.

    The other options are those of `CohereOptions`; `CohereService` and `RemoteService` say how to reach the server.

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = CohereOptions
    _tool_choices: ClassVar = frozenset(ToolChoiceKind)
    _reasoning_options: ClassVar = frozenset({"thinking"})
    _schema_dialect: ClassVar = COHERE

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "cohere-chat"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        return ("json_schema", "function_calling", "json_mode")

    def _is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def _request(self, messages: Sequence[BaseMessage], options: CohereOptions, *, stream: bool) -> HTTPRequest:
        return self._post(self._url("v2/chat"), encode_request(messages, options, stream=stream))

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> CohereDecoder:
        return CohereDecoder(headers, include_headers=self.include_response_headers)
