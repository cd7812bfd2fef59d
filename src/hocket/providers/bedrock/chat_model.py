"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hocket._schemas.dialects import ANTHROPIC
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.outputs import ChatResult
from hocket.providers.bedrock.content import is_native
from hocket.providers.bedrock.decode import decode_reply
from hocket.providers.bedrock.encode import encode_conversation, encode_request, is_anthropic
from hocket.providers.bedrock.options import BedrockOptions
from hocket.providers.bedrock.stream import ConverseDecoder
from hocket.remote.aws_service import AWSService
from hocket.remote.chat_model import RemoteChatModel

__all__ = ["ChatBedrockConverse"]

DEFAULT_MAX_TOKENS = 4096
"""Tokens of an answer that a budget for reasoning is a share of, where neither the caller nor the profile says how many."""


class ChatBedrockConverse(AWSService, BedrockOptions, RemoteChatModel):
    """A chat model of Amazon Bedrock's, of any maker, behind its Converse API.

        model = ChatBedrockConverse(model="eu.anthropic.claude-sonnet-5-5-v1:0")      # as the AWS command finds keys
        model = ChatBedrockConverse(model="openai.gpt-oss-120b-1:0", region_name="us-west-2", api_key="bedrock-api-key-…")

    A reply's content is a text, or the API's own blocks, which go back as they came: reasoning with its signature, calls,
    texts with citations. ``content_blocks`` shows them in the form that all providers share. A mark ``cache_control`` on a
    part or a tool becomes a ``cachePoint`` behind it.

    The options are those of `BedrockOptions`; `AWSService` and `RemoteService` say how to reach the server. The role needs
    ``bedrock:InvokeModel`` and ``bedrock:InvokeModelWithResponseStream``; for lists ``bedrock:ListFoundationModels``, to
    count tokens ``bedrock:CountTokens``.

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = BedrockOptions
    _tool_choices: ClassVar = frozenset(ToolChoiceKind) - {ToolChoiceKind.NONE}
    _schema_dialect: ClassVar = ANTHROPIC
    _call_ids: ClassVar = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
    _merged_fields: ClassVar = frozenset({"inferenceConfig", "additionalModelRequestFields"})

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "amazon_bedrock_converse_chat"

    @property
    def _refused_options(self) -> frozenset[str]:
        own = super()._refused_options
        return own if is_anthropic(self.model) else own | {"reasoning_effort", "top_k"}

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        can = (self.profile or {}).get("structured_output", False)
        return ("json_schema", "function_calling") if can else ("function_calling", "json_schema")

    @property
    def _takes_back(self) -> frozenset[str]:
        return frozenset({"reasoning", "non_standard"})  # what ran on the server goes back in its own words alone

    def _is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def _request(self, messages: Sequence[BaseMessage], options: BedrockOptions, *, stream: bool) -> HTTPRequest:
        def choose_max_tokens() -> int:
            profile = self._profile_for(options.model) or {}
            return options.max_tokens or profile.get("max_output_tokens") or DEFAULT_MAX_TOKENS

        body = encode_request(messages, options, choose_max_tokens)
        return self._ask(options.model, "converse-stream" if stream else "converse", body)

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest:
        return self._ask(self.model, "count-tokens", {"input": {"converse": encode_conversation(messages, tools)}})

    def _read_count(self, data: Any) -> int:
        return int(data["inputTokens"])

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> ConverseDecoder:
        return ConverseDecoder(headers, include_headers=self.include_response_headers)
