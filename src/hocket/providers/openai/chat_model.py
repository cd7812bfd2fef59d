"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.outputs import ChatResult
from hocket.providers.openai.content import is_native
from hocket.providers.openai.encode import encode_request
from hocket.providers.openai.options import ModelOptions
from hocket.providers.openai.service import OpenAIService
from hocket.remote.chat_completion import decode_completion
from hocket.remote.chat_completion_stream import ChatDecoder
from hocket.remote.chat_model import RemoteChatModel

__all__ = ["ChatOpenAI"]


class ChatOpenAI(OpenAIService, ModelOptions, RemoteChatModel):
    """A chat model behind OpenAI's chat completions, or behind any server that speaks their format.

        model = ChatOpenAI(model="gpt-5.2")                                              # the key: OPENAI_API_KEY
        model = ChatOpenAI(model="qwen3", base_url="http://localhost:8000/v1")           # vLLM and its like: no key
        model = ChatOpenAI(model="llama-3.3-70b", base_url="https://api.groq.com/openai/v1")   # GROQ_API_KEY

    What differs between servers is data: `Dialect`. Reasoning, refusals, audio and annotations are in the reply's
    ``additional_kwargs`` under the server's own names; ``content_blocks`` shows reasoning whatever it is called. Its
    ``response_metadata`` says ``model_name``, ``model_provider``, ``id``, ``finish_reason`` as it came,
    ``normalized_finish_reason`` in a word that is the same for all providers, ``request_id``, ``token_usage`` as it came,
    and whatever else the server said.

    Args:
        streaming: have ``ainvoke`` stream, too, and fold.
        stream_usage: whether a stream reports usage; default: if the server is not known to refuse to.
        include_response_headers: keep the reply's headers as ``response_metadata["headers"]``.

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

    streaming: bool = False
    stream_usage: bool | None = None
    include_response_headers: bool = False

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A model travels as data, its key as a reference to a variable."""
        return True

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        methods: tuple[StructuredMethod, ...] = ("function_calling", "json_mode")
        can = self._dialect.holds_to_schema and (self.profile or {}).get("structured_output", True)
        return ("json_schema", *methods) if can else methods

    def _is_native(self, part: Mapping[str, Any]) -> bool:
        return is_native(part)

    def _request(self, messages: Sequence[BaseMessage], options: ModelOptions, *, stream: bool) -> HTTPRequest:
        dialect = self._dialect
        usage = dialect.stream_usage if self.stream_usage is None else self.stream_usage
        body = encode_request(messages, options, dialect, stream=stream, stream_usage=usage)
        return self._post_to("chat/completions", options.model, body)

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_completion(reply, self._provider, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> ChatDecoder:
        dialect = self._dialect
        return ChatDecoder(
            dialect.name,
            headers,
            include_headers=self.include_response_headers,
            finishes=dialect.finishes,
            sends_done=dialect.sends_done,
        )
