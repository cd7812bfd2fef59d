"""The chat model: a few lines between `RemoteChatModel` and the pure functions beside it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from hocket._schemas.dialects import DRAFT_2020_12
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView
from hocket.outputs import ChatResult
from hocket.providers.google.content import is_native
from hocket.providers.google.decode import decode_reply
from hocket.providers.google.encode import encode_conversation, encode_request
from hocket.providers.google.options import GoogleOptions
from hocket.providers.google.service import PROVIDER, VERTEX, GoogleService, name_model
from hocket.providers.google.stream import GoogleDecoder
from hocket.providers.google.tools import encode_tools
from hocket.remote.chat_model import RemoteChatModel

if TYPE_CHECKING:
    from hocket.remote.batch_api import BatchAPI

__all__ = ["ChatGoogleGenerativeAI"]


class ChatGoogleGenerativeAI(GoogleService, GoogleOptions, RemoteChatModel):
    """A chat model of Google's, behind the Gemini API.

        model = ChatGoogleGenerativeAI(model="gemini-3.8-flash")      # the key: GOOGLE_API_KEY or GEMINI_API_KEY
        searching = model.bind_tools([{"google_search": {}}, my_function])

    A reply's content is a text, or the API's own parts: thoughts, calls, pictures, code that ran. Parts go back as they
    came, their thought signatures on them. ``content_blocks`` shows them in the form that all providers share, and what
    a search has found as citations of the text. A prompt that was blocked has an empty reply whose
    ``normalized_finish_reason`` is content_filter; ``response_metadata["prompt_feedback"]`` says why.

    The options are those of `GoogleOptions`; `GoogleService` and `RemoteService` say how to reach the server.

    Raises, from every verb:
        LLMError: the server failed or refused, or could not be reached; its subclasses tell how.
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: content that the server or the model cannot take; or an option, where ``unsupported`` is "raise".
            Nothing was sent.
    """

    _options: ClassVar = GoogleOptions
    _tool_choices: ClassVar = frozenset(ToolChoiceKind)
    _reasoning_options: ClassVar = frozenset({"thinking_level", "thinking_budget", "include_thoughts"})
    _schema_dialect: ClassVar = DRAFT_2020_12
    _merged_fields: ClassVar = frozenset({"generationConfig"})
    _kin: ClassVar = frozenset({PROVIDER, VERTEX})

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server offers to this key, in its order, without ``models/``.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        names = await self._fetch_names(self._path("models?pageSize=1000"), "models", "name")
        return [name.removeprefix("models/") for name in names]

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "chat-google-generative-ai"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        methods: tuple[StructuredMethod, ...] = ("function_calling", "json_mode")
        return ("json_schema", *methods) if (self.profile or {}).get("structured_output", True) else methods

    def _is_native(self, part: FieldsView) -> bool:
        return is_native(part)

    def _request(self, messages: Sequence[BaseMessage], options: GoogleOptions, *, stream: bool) -> HTTPRequest:
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        url = self._url(self._path(f"{name_model(options.model)}:{verb}"))
        return self._post(url, encode_request(messages, options, stream=stream))

    def _batch_api(self, request: HTTPRequest) -> "BatchAPI | None":
        from hocket.providers.google.batches import GoogleBatches  # live calls need none of it

        return GoogleBatches(request)

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest:
        name = name_model(self.model)
        body = {**encode_conversation(messages, self.model), **encode_tools(tools, None)}
        return self._post(self._url(self._path(f"{name}:countTokens")), self._write_count(name, body))

    def _write_count(self, name: str, body: FieldsView) -> FieldsView:
        """Return the body of a request that counts the tokens of a conversation."""
        return body if list(body) == ["contents"] else {"generateContentRequest": {"model": name, **body}}

    def _read_count(self, data: Any) -> int:
        return int(data["totalTokens"])

    def _decode(self, reply: HTTPReply) -> ChatResult:
        return decode_reply(reply, self._provider, include_headers=self.include_response_headers)

    def _decoder(self, headers: Mapping[str, str]) -> GoogleDecoder:
        return GoogleDecoder(headers, self._provider, include_headers=self.include_response_headers)
