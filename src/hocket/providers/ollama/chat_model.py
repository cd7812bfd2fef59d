"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it.

A prompt that is longer than the server's window is said before it is cut. The server cuts it in silence, and its window
is small unless it is told otherwise: 4,096 tokens, or what its own ``OLLAMA_CONTEXT_LENGTH`` says, which nobody here can
know. So a prompt that probably does not fit is warned of, once for each model in a process. The number of tokens is an
estimate; only long prompts are counted at all.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from hocket._runtime.callers import warn_caller
from hocket._schemas.dialects import DRAFT_2020_12
from hocket.errors import HocketWarning
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.outputs import ChatResult
from hocket.providers.ollama.decode import decode_reply
from hocket.providers.ollama.encode import encode_request
from hocket.providers.ollama.options import OllamaOptions
from hocket.providers.ollama.service import OllamaService
from hocket.providers.ollama.stream import OllamaDecoder
from hocket.remote.chat_model import RemoteChatModel
from hocket.remote.options import merge_fields

__all__ = ["ChatOllama", "check_window"]


class ChatOllama(OllamaService, OllamaOptions, RemoteChatModel):
    """A chat model that a server of Ollama's runs, asked in Ollama's own API.

        model = ChatOllama(model="qwen3:8b", num_ctx=32768)                      # on this machine, or where OLLAMA_HOST says
        model = ChatOllama(model="gpt-oss:120b", base_url="https://ollama.com")  # the key: OLLAMA_API_KEY

    Reasoning comes beside the content, as ``additional_kwargs["thinking"]``, and goes back as it came; ``content_blocks``
    shows it. ``response_metadata`` has the server's durations in ns. A prompt that seems longer than the window
    (``num_ctx``) is warned of, once for each model, since the server would cut it in silence.

    The options of the answer are those of `OllamaOptions`; `OllamaService` and `RemoteService` say how to reach the server.
    The model decides itself whether it calls a tool: of the choices there are "auto" and "none".

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = OllamaOptions
    _tool_choices: ClassVar = frozenset({ToolChoiceKind.AUTO, ToolChoiceKind.NONE})
    _reasoning_options: ClassVar = frozenset({"think"})
    _schema_dialect: ClassVar = DRAFT_2020_12
    _merged_fields: ClassVar = frozenset({"options"})

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "chat-ollama"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        return ("json_schema", "json_mode")

    def _request(self, messages: Sequence[BaseMessage], options: OllamaOptions, *, stream: bool) -> HTTPRequest:
        body = encode_request(messages, options, stream=stream)
        request = self._post(self._url("api/chat"), body)
        if not self._is_in_cloud(options.model):
            sent = merge_fields(body, options.extra_body or {}, self._merged_fields)
            check_window(messages, sent, len(request.content))
        return request

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> OllamaDecoder:
        return OllamaDecoder(headers, include_headers=self.include_response_headers)


DEFAULT_WINDOW = 4096
REMEMBERED = 1000  # models and windows that were warned of

_warned: set[tuple[str, int]] = set()


def check_window(messages: Sequence[BaseMessage], body: FieldsView, size: int) -> None:
    """Warn of a prompt that does not fit into the window.

    Args:
        messages: the conversation.
        body: of the request.
        size: bytes of it, of which a token takes one at least.
    """
    given: object = body.get("options", {}).get("num_ctx")
    window = given if isinstance(given, int) else DEFAULT_WINDOW
    key = (str(body["model"]), window)
    if size <= window or body.get("truncate") is False or key in _warned:
        return
    from hocket.tokens.approximate import count_tokens_approximately  # most requests are short

    tokens = count_tokens_approximately(messages, tools=body.get("tools"))
    if tokens <= window:
        return
    if len(_warned) >= REMEMBERED:
        _warned.clear()
    _warned.add(key)
    said = f"num_ctx={window}" if given else f"{window}, the server's window unless it is told otherwise"
    warn_caller(
        f"a prompt for {body['model']!r} has about {tokens} tokens, more than {said}: the server cuts what does not fit, in "
        "silence. Raise num_ctx=..., or have it refused with truncate=False (said once for each model)",
        HocketWarning,
    )
