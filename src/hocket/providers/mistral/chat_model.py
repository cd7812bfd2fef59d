"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from hocket._schemas.dialects import MISTRAL
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.outputs import ChatResult
from hocket.providers.mistral.content import is_native
from hocket.providers.mistral.decode import MistralDecoder, decode_reply
from hocket.providers.mistral.encode import encode_request
from hocket.providers.mistral.options import MistralOptions
from hocket.providers.mistral.service import MistralService
from hocket.remote.chat_model import RemoteChatModel

if TYPE_CHECKING:
    from hocket.remote.batch_api import BatchAPI

__all__ = ["ChatMistralAI"]


class ChatMistralAI(MistralService, MistralOptions, RemoteChatModel):
    """A chat model of Mistral's.

        model = ChatMistralAI(model="mistral-medium-latest")     # the key: MISTRAL_API_KEY

    Reasoning comes as ``thinking`` parts, and goes back as it came. A reply that stands last in a conversation is the
    beginning of the answer, which the model goes on with. Ids of calls that other providers made are replaced by such as
    the API takes, nine letters and digits.

    The other options are those of `MistralOptions`; `RemoteService` says how to reach the server.

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = MistralOptions
    _tool_choices: ClassVar = frozenset(ToolChoiceKind)
    _schema_dialect: ClassVar = MISTRAL
    _call_ids: ClassVar = re.compile("[a-zA-Z0-9]{9}")

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "mistralai-chat"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        return ("json_schema", "function_calling", "json_mode")

    def _is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def _request(self, messages: Sequence[BaseMessage], options: MistralOptions, *, stream: bool) -> HTTPRequest:
        return self._post(self._url("chat/completions"), encode_request(messages, options, stream=stream))

    def _batch_api(self, request: HTTPRequest) -> "BatchAPI":
        from hocket.providers.mistral.batches import MistralBatches  # live calls need none of it

        return MistralBatches(request)

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> MistralDecoder:
        return MistralDecoder(headers, include_headers=self.include_response_headers)
