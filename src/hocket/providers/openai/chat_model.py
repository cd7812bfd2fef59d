"""The chat model: a few lines between hocket's base class and the pure functions beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hocket.http.request import HTTPReply, HTTPRequest
from hocket.http.secrets import redact_params
from hocket.language_models.base import LangSmithParams
from hocket.language_models.options import checked_options, set_options
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_binding import ToolChoice
from hocket.messages import BaseMessage
from hocket.messages.usage import add_counts
from hocket.outputs import ChatResult
from hocket.providers.openai.decode import decode_reply
from hocket.providers.openai.encode import encode_request
from hocket.providers.openai.options import CallOptions, ModelOptions
from hocket.providers.openai.service import OpenAIService
from hocket.providers.openai.stream import ChatDecoder
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

    _tool_choices: ClassVar = frozenset(ToolChoice)

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

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model, **set_options(self, ModelOptions)}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return {**super()._get_ls_params(stop, **kwargs), "ls_provider": self._provider}

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return super()._get_invocation_params(stop, **redact_params(kwargs))

    def _request(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, params: dict[str, Any], *, stream: bool
    ) -> HTTPRequest:
        given = params if stop is None else {**params, "stop": stop}
        options = checked_options(self, given, CallOptions)
        dialect = self._dialect
        usage = dialect.stream_usage if self.stream_usage is None else self.stream_usage
        body = encode_request(messages, options, dialect, stream=stream, stream_usage=usage)
        return self._post("chat/completions", options.model, body, options.extra_headers)

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, self._provider, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> ChatDecoder:
        return ChatDecoder(self._dialect, headers, include_headers=self.include_response_headers)

    def _combine_llm_outputs(self, llm_outputs: list[dict[str, Any] | None]) -> dict[str, Any]:
        """Return the usage of all answers together, in the server's words, and the model (LangChain's form)."""
        combined: dict[str, Any] = {}
        for output in llm_outputs:
            if output:
                usage = add_counts(combined.get("token_usage") or {}, output.get("token_usage") or {})
                combined |= {**output, "token_usage": usage}
        return combined
