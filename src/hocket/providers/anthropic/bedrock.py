"""Anthropic's models on Amazon Bedrock: their own messages API, behind AWS's addresses, signatures and frames."""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pydantic_core import from_json, to_json

from hocket.errors import InvalidReply
from hocket.http.event_stream import AWSEventStream
from hocket.http.request import HTTPRequest
from hocket.http.sse import ServerSentEvent
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.providers.anthropic.chat_model import ChatAnthropic
from hocket.providers.anthropic.decode import PROVIDER
from hocket.providers.anthropic.encode import encode_request
from hocket.providers.anthropic.options import AnthropicOptions
from hocket.providers.anthropic.stream import AnthropicDecoder
from hocket.remote.aws_service import AWS_ENDPOINT, AWSService

__all__ = ["ChatAnthropicBedrock"]

VERSION = "bedrock-2023-05-31"


class ChatAnthropicBedrock(AWSService, ChatAnthropic):
    """A model of Anthropic's on Amazon Bedrock, asked by Anthropic's own API, with all options of `ChatAnthropic`.

        model = ChatAnthropicBedrock(model="eu.anthropic.claude-sonnet-5-5-v1:0")     # as the AWS command finds keys

    `ChatBedrockConverse` asks any maker's models, by the API that they share. Conversations go from `ChatAnthropic` to
    this one and back as they are; there are no batches.

    Args:
        anthropic_version: of the API, which Bedrock wants in the body; default: bedrock-2023-05-31.
        betas: they go in the body, too, as ``anthropic_beta``.

    `AWSService` says how to reach the server. The role needs ``bedrock:InvokeModel`` and
    ``bedrock:InvokeModelWithResponseStream``; for lists ``bedrock:ListFoundationModels``, to count tokens
    ``bedrock:CountTokens``. Raises as `ChatAnthropic`.
    """

    _endpoint: ClassVar = replace(AWS_ENDPOINT, name=PROVIDER)
    _models_path: ClassVar = "foundation-models?byProvider=anthropic"

    @property
    def _llm_type(self) -> str:
        return "anthropic-bedrock-chat"

    @property
    def _relay_format(self) -> None:
        return None  # a client's body has its model in it, and its stream is of another framing

    def _batch_api(self, request: HTTPRequest) -> None:
        return None

    def _request(self, messages: Sequence[BaseMessage], options: AnthropicOptions, *, stream: bool) -> HTTPRequest:
        verb = "invoke-with-response-stream" if stream else "invoke"
        return self._ask(options.model, verb, self._write_body(messages, options))

    def _write_body(self, messages: Sequence[BaseMessage], options: AnthropicOptions) -> Fields:
        body = encode_request(messages, options, self._choose_max_tokens(vars(options)), stream=False)
        del body["model"]
        betas = self._collect_betas(options.betas)
        said = {"anthropic_version": self.anthropic_version or VERSION, **body}
        return {**said, "anthropic_beta": betas} if betas else said

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest:
        options = AnthropicOptions(model=self.model, tools=[dict(tool) for tool in tools] or None)
        body = b64encode(to_json(self._write_body(messages, options))).decode()
        return self._ask(self.model, "count-tokens", {"input": {"invokeModel": {"body": body}}})

    def _read_count(self, data: Any) -> int:
        return int(data["inputTokens"])

    def _decoder(self, headers: Mapping[str, str]) -> AnthropicDecoder:
        return _FramedDecoder(headers, include_headers=self.include_response_headers)


class _Chunks(AWSEventStream):
    """AWS's event streams whose events hold events of Anthropic's."""

    def feed(self, data: bytes) -> list[ServerSentEvent]:
        return [_unwrap(event) if event.event == "chunk" else event for event in super().feed(data)]


def _unwrap(event: ServerSentEvent) -> ServerSentEvent:
    try:
        return event._replace(event="", data=b64decode(from_json(event.data)["bytes"], validate=True))
    except (ValueError, TypeError, LookupError) as error:
        raise InvalidReply("a chunk of the stream holds no event in base64") from error


class _FramedDecoder(AnthropicDecoder):
    framing: ClassVar = _Chunks
