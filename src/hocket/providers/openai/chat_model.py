"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.providers.openai.api import ChatAPI, RequestFacts
from hocket.providers.openai.cache_key import name_prompt
from hocket.providers.openai.chat_completions import CHAT_COMPLETIONS
from hocket.providers.openai.options import OF_COMPLETIONS, OF_RESPONSES, ModelOptions
from hocket.providers.openai.service import OpenAIService
from hocket.remote.chat_model import RemoteChatModel
from hocket.remote.relay import RelayFormat
from hocket.remote.stream_decoder import StreamDecoder
from hocket.remote.turns import prepend_instructions

if TYPE_CHECKING:
    from hocket.remote.batch_api import BatchAPI

__all__ = ["ChatOpenAI"]


class ChatOpenAI(OpenAIService, ModelOptions, RemoteChatModel):
    """A chat model behind OpenAI's chat completions or responses, or behind any server that speaks their formats.

        model = ChatOpenAI(model="gpt-5.2")                                              # the key: OPENAI_API_KEY
        model = ChatOpenAI(model="qwen3", base_url="http://localhost:8000/v1")           # vLLM and its like: no key
        model = ChatOpenAI(model="llama-3.3-70b", base_url="https://api.groq.com/openai/v1")   # GROQ_API_KEY
        model = ChatOpenAI(model="gpt-5.2", use_responses_api=True, reasoning={"effort": "low", "summary": "auto"})

    What differs between servers is data: `Dialect`. Reasoning, refusals, audio and annotations are in the reply's
    ``additional_kwargs`` under the server's own names; ``content_blocks`` shows reasoning whatever it is called. Its
    ``response_metadata`` says ``model_name``, ``model_provider``, ``id``, ``finish_reason`` as it came,
    ``normalized_finish_reason`` in a word that is the same for all providers, ``request_id``, ``token_usage`` as it came,
    and whatever else the server said.

    With the Responses API the content of a reply is the list of the items that the server has sent: messages, reasoning,
    calls, and what its own tools did. They go back as they came, reasoning encrypted if need be (``store=False``); ``text``
    and ``content_blocks`` show them as those of any model. Its ``id`` is that of the response, and a refusal is in
    ``additional_kwargs``.

    Args:
        use_responses_api: whether to speak OpenAI's Responses API, not chat completions.
        stream_usage: whether a stream reports usage; default: if the server is not known to refuse to.

    The options of the answer are those of `ModelOptions`; `OpenAIService` and `RemoteService` say how to reach the server. A
    call may override each option by name, and unset it with None. What was set is sent, and what the server or the model
    cannot take is refused before (``unsupported``): nothing is left out in silence.

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = ModelOptions
    _tool_choices: ClassVar = frozenset(ToolChoiceKind)
    _api_options: ClassVar = OF_RESPONSES | OF_COMPLETIONS
    _reasoning_options: ClassVar = frozenset({"reasoning"})
    _profile_fields: ClassVar = frozenset({"model", "use_responses_api", "dialect", "base_url"})

    use_responses_api: bool | None = None
    stream_usage: bool | None = None

    # -- hooks

    @property
    def _api(self) -> ChatAPI:
        if not self.__dict__.get("use_responses_api"):
            return CHAT_COMPLETIONS
        from hocket.providers.openai.responses import RESPONSES  # most models never ask for it

        return RESPONSES

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        methods: tuple[StructuredMethod, ...] = ("function_calling", "json_mode")
        can = self._dialect.holds_to_schema and (self.profile or {}).get("structured_output", True)
        return ("json_schema", *methods) if can else methods

    @property
    def _can_defer_tools(self) -> bool:
        return bool(self.__dict__.get("use_responses_api")) and self._dialect.name == "openai"

    @property
    def _knows_functions(self) -> bool:
        return not self.use_responses_api

    @property
    def _call_id_form(self) -> re.Pattern[str]:
        return self._api.call_ids

    @property
    def _takes_back(self) -> frozenset[str]:
        return super()._takes_back if self.use_responses_api else frozenset()

    @property
    def _refused_options(self) -> frozenset[str]:
        return self._api.list_refused(self._dialect)

    def _is_native(self, part: FieldsView) -> bool:
        return self._api.is_native(part)

    def _has_beginning(self, params: FieldsView) -> bool:
        fields = {**self.__dict__, **params}
        sent: FieldsView = {**fields, **(fields["extra_body"] or {})}
        return sent["previous_response_id"] is None and sent["conversation"] is None

    def _request(self, messages: Sequence[BaseMessage], options: ModelOptions, *, stream: bool) -> HTTPRequest:
        dialect, profile = self._dialect, self._profile_for(options.model) or {}
        if not profile.get("system_messages", True):
            messages = prepend_instructions(messages)
        usage = dialect.stream_usage if self.stream_usage is None else self.stream_usage
        facts = RequestFacts(dialect, stream, usage, can_reason=profile.get("reasoning_output", True))
        body = self._api.encode(messages, options, facts)
        body = name_prompt(body, messages, options) if dialect.cache_key else body
        return self._post_to_api("", options.model, body)

    @property
    def _relay_format(self) -> RelayFormat:
        return self._api.relay_format

    def _batch_api(self, request: HTTPRequest) -> "BatchAPI":
        from hocket.providers.openai.batches import OpenAIBatches  # live calls need none of it

        return OpenAIBatches(request, self._dialect)

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest | None:
        body = self._api.encode_count(messages, tools, self.model)
        return None if body is None else self._post_to_api("/input_tokens", self.model, body)

    def _read_count(self, data: Any) -> int:
        return int(data["input_tokens"])

    def _post_to_api(self, path: str, model: str, body: FieldsView) -> HTTPRequest:
        api = self._api
        return self._post_to(f"{api.path}{path}", model if api.has_deployments else "", body)

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return self._api.decode(reply, self._provider, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> StreamDecoder[ChatGenerationChunk]:
        return self._api.make_decoder(self._dialect, headers, include_headers=self.include_response_headers)
