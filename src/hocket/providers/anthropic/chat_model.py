"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hocket._schemas.dialects import ANTHROPIC
from hocket._secrets import unwrap_secret
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatResult
from hocket.providers.anthropic.content import is_native
from hocket.providers.anthropic.decode import PROVIDER, decode_reply
from hocket.providers.anthropic.encode import encode_conversation, encode_request
from hocket.providers.anthropic.options import AnthropicOptions
from hocket.providers.anthropic.stream import RELAY_FORMAT, AnthropicDecoder
from hocket.providers.anthropic.tools import encode_tools, list_references
from hocket.remote.chat_model import RemoteChatModel
from hocket.remote.endpoint import Endpoint
from hocket.remote.relay import RelayFormat

if TYPE_CHECKING:
    from hocket.remote.batch_api import BatchAPI

__all__ = ["ChatAnthropic"]

LONG = 21_333
"""Tokens of an answer above which it is streamed: it may take longer than connections last. (The official SDK's rule.)"""

DEFAULT_MAX_TOKENS = 4096
"""Tokens of an answer where neither the caller nor the model's profile says how many. (LangChain's number.)"""

BETA = "anthropic-beta"

VERSION, SAMPLING_VERSION = "2026-10-21", "2023-06-01"
"""The API's version; and the one to ask with temperature, top_p or top_k, which the newer one refuses."""


class ChatAnthropic(AnthropicOptions, RemoteChatModel):
    """A chat model of Anthropic's, or behind any server that speaks its messages API.

        model = ChatAnthropic(model="claude-sonnet-5-5")                               # the key: ANTHROPIC_API_KEY
        model = ChatAnthropic(model="any", base_url="http://localhost:8080", api_key="none")   # llama.cpp's server

    Reasoning comes as ``thinking`` blocks with their signatures, and goes back as it came. What the server's own tools
    did stands in the content too. A reply that ended with ``pause_turn`` is sent back to go on.

    Args:
        streaming: have ``ainvoke`` stream, too, and fold. Answers of more than 21,333 tokens always are.
        anthropic_version: of the API; default: 2026-10-21, or 2023-06-01 where temperature, top_p or top_k is given.

    ``max_tokens`` is by default what the model's profile says. The other options are those of `AnthropicOptions`;
    `RemoteService` says how to reach the server. A key that begins with ``sk-ant-oat`` is sent as a bearer token.

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = AnthropicOptions
    _tool_choices: ClassVar = frozenset(ToolChoiceKind)
    _reasoning_options: ClassVar = frozenset({"thinking"})
    _schema_dialect: ClassVar = ANTHROPIC
    _call_ids: ClassVar = re.compile("[a-zA-Z0-9_-]+")
    _endpoint: ClassVar = Endpoint(
        name=PROVIDER,
        base_url="https://api.anthropic.com",
        url_variable="ANTHROPIC_BASE_URL",
        key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        key_header="x-api-key",
    )

    anthropic_version: str | None = None

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server offers to this key, in its order.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        return await self._fetch_names("v1/models?limit=1000", "data", "id")

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "anthropic-chat"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        can = (self.profile or {}).get("structured_output", False)
        return ("json_schema", "function_calling") if can else ("function_calling", "json_schema")

    @property
    def _can_defer_tools(self) -> bool:
        return True

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        if super()._should_stream(async_api=async_api, run_manager=run_manager, **kwargs):
            return True
        return not self.disable_streaming and self._choose_max_tokens(kwargs) > LONG

    def _choose_max_tokens(self, said: FieldsView) -> int:
        """Return the tokens of an answer, out of the options that a call has."""
        profile = self._profile_for(said.get("model")) or {}
        chosen: int | None = said.get("max_tokens") or self.max_tokens
        return chosen or profile.get("max_output_tokens") or DEFAULT_MAX_TOKENS

    def _make_key_headers(self, key: str) -> Mapping[str, str]:
        return {"authorization": f"Bearer {key}"} if key.startswith("sk-ant-oat") else super()._make_key_headers(key)

    def _is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def _request(self, messages: Sequence[BaseMessage], options: AnthropicOptions, *, stream: bool) -> HTTPRequest:
        body = encode_request(messages, options, self._choose_max_tokens(vars(options)), stream=stream)
        return self._address(body, self._make_headers(options), stream=stream)

    def _address(self, body: Fields, headers: Fields, *, stream: bool) -> HTTPRequest:
        """Return the request that has this body; a cloud has other addresses."""
        return self._post(self._url("v1/messages"), body, headers)

    @property
    def _relay_format(self) -> RelayFormat | None:
        return RELAY_FORMAT

    def _batch_api(self, request: HTTPRequest) -> "BatchAPI | None":
        from hocket.providers.anthropic.batches import AnthropicBatches  # live calls need none of it

        return AnthropicBatches(request)

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest:
        offered = encode_tools(tools, None, None)
        body = {"model": self.model, **encode_conversation(messages, list_references(offered)), **offered}
        return self._post(self._url("v1/messages/count_tokens"), body, {"anthropic-version": VERSION})

    def _read_count(self, data: Any) -> int:
        return int(data["input_tokens"])

    def _make_headers(self, options: AnthropicOptions) -> Fields:
        is_sampled = not (options.temperature is options.top_p is options.top_k is None)
        version = self.anthropic_version or (SAMPLING_VERSION if is_sampled else VERSION)
        betas = self._collect_betas(options.betas)
        return {"anthropic-version": version, **({BETA: ",".join(betas)} if betas else {})}

    def _collect_betas(self, of_call: Sequence[str] | None) -> list[str]:
        """Return the names of all betas to use, in an order that does not depend on who named them.

        Args:
            of_call: those that the call or else the model names; None: neither, or the call takes the model's back.
        """
        header = unwrap_secret((self.default_headers or {}).get(BETA, ""))
        named = [] if of_call is None else [*(self.betas or ()), *of_call]
        return sorted({name for part in (header, *named) for name in part.replace(" ", "").split(",") if name})

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> AnthropicDecoder:
        return AnthropicDecoder(headers, include_headers=self.include_response_headers)
