"""A chat model behind HTTP: two hooks, once for all providers, over pure functions that each provider has of its own.

A provider says how a request is written, how a reply is read and how a stream is; it neither sends nor waits. What goes
wrong on the way is the business of `Sender`; retries, deadlines, caches and limits are the pipeline's.
"""

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from hocket._pipeline.call import Call, Next
from hocket._pipeline.chat_answer import as_chunk
from hocket._pipeline.row_wire import with_row_wire
from hocket._runtime.portal import run_in_portal
from hocket.errors import HocketError, InvalidInput, InvalidReply, Unsupported
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.call_parts import NOT_SENT
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.option_policy import find_unreadable_part
from hocket.language_models.options import merge_options
from hocket.language_models.simple import generate_from_stream
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, BaseMessage, ToolMessage, validate_content_block
from hocket.messages.base import copy_message
from hocket.messages.content import Fields, FieldsView
from hocket.messages.usage import add_counts
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.remote.chat_stream_decoder import ChatStreamDecoder
from hocket.remote.handover import PRIVATE, Downgrade, hand_over, lift_function_calls, make_downgrade, with_handover
from hocket.remote.hooks import check_returned
from hocket.remote.message_parts import check_results, lift_results
from hocket.remote.model import RemoteModel
from hocket.remote.options import CallFields
from hocket.remote.relay import Relay, RelayDecoder, RelayFormat, find_relay, read_usage
from hocket.remote.stream_decoder import StreamDecoder
from hocket.remote.tool_results import fit_results
from hocket.tokens.token_count import TokenCount

if TYPE_CHECKING:
    from hocket.remote.batch_api import BatchAPI

__all__ = ["RemoteChatModel"]


class RemoteChatModel(RemoteModel, BaseChatModel, ABC):
    """A chat model behind HTTP. A provider defines `_request`, `_decode` and `_decoder`, and inherits the rest. Where the
    server can only stream, `_decoder` reads whole replies, too.

    Args:
        streaming: True: have ``ainvoke`` stream, too, and fold. False, where it is given: streams come in one piece.
        include_response_headers: keep the reply's headers as ``response_metadata["headers"]``. A provider hands that on
            to what reads its replies.
        foreign: what becomes of reasoning, and of tools that ran on the server, in replies of another provider. "convert":
            they are left out, and handlers are told (``on_downgrade``). "raise": the call is refused.

    `RemoteModel` and `RemoteService` tell the other arguments.
    """

    streaming: bool = False
    include_response_headers: bool = False
    foreign: Literal["convert", "raise"] = Field(default="convert", repr=False)

    _needs_messages: ClassVar[bool] = True
    _call_ids: ClassVar[re.Pattern[str] | None] = None
    """What the ids of tool calls must look like; others are replaced, in their results as well. None: any will do."""

    _kin: ClassVar[frozenset[str]] = frozenset()
    """Names of providers whose replies are in the same format, so that they go back as its own do."""

    @abstractmethod
    def _request(self, messages: Sequence[BaseMessage], options: Any, *, stream: bool) -> HTTPRequest:
        """Return the request, but for its key and the headers of the call.

        Args:
            messages: the conversation; each tool call in it has its result, and the replies of other providers are
                standard blocks (`hocket.remote.handover`).
            options: of this call, checked, the model's own among them: an instance of ``_options``.
            stream: whether the answer is to come in pieces.

        Raises:
            InvalidInput: options that contradict each other.
            Unsupported: content, or an option, that the provider has no place for.
        """

    def _decode(self, reply: HTTPReply) -> ChatResult:
        """Return what a whole reply says. By default it is read as a stream: some servers can only stream.

        Raises:
            LLMError: the reply says that the request has failed. Whatever else is raised becomes an `InvalidReply`.
        """
        decoder = self._decoder(reply.headers)
        return generate_from_stream([*decoder.feed(reply.content), *decoder.close()])

    @abstractmethod
    def _decoder(self, headers: Mapping[str, str]) -> StreamDecoder[ChatGenerationChunk]:
        """Return a decoder for one stream, given the headers of its reply."""

    @property
    def _knows_functions(self) -> bool:
        """Whether the API takes ``function_call`` and function messages, the predecessors of tools."""
        return False

    @property
    def _call_id_form(self) -> re.Pattern[str] | None:
        """``_call_ids``, for a provider that has several APIs."""
        return self._call_ids

    @property
    def _takes_back(self) -> frozenset[str]:
        """Types of standard blocks, beside those that say or call something, that the API takes in replies of its own."""
        return PRIVATE

    def _is_native(self, part: FieldsView) -> bool:
        """Whether a part of a reply's content is of the provider's own format, so that it goes back as it is."""
        return False

    def _has_beginning(self, params: FieldsView) -> bool:
        """Whether the messages of a call are all of its conversation; else its server holds the beginning.

        Args:
            params: what the call says.
        """
        return True

    def _request_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView]) -> HTTPRequest | None:
        """Return a request for the number of a conversation's tokens, but for its key; None: the API counts none.

        Args:
            messages: the conversation, as in `_request`.
            tools: that are offered with it, as OpenAI's dicts.
        """
        return None

    def _read_count(self, data: Any) -> int:
        """Return the number of tokens that the reply to such a request says."""
        raise NotImplementedError

    async def aget_num_tokens_from_messages(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None, *, exact: bool = False
    ) -> int:
        """Return how many tokens ``messages`` have, and ``tools`` with them, as a `TokenCount`.

        Args:
            messages: the conversation.
            tools: what `bind_tools` takes.
            exact: ask the provider, which may cost time and counts as a request; else the count is made here, as by
                `get_num_tokens_from_messages`.

        Raises:
            Unsupported: ``exact`` is asked for, and the provider has no way to count.
            LLMError: the server failed or refused, or could not be reached.
        """
        if not exact:
            return self.get_num_tokens_from_messages(messages, tools)
        described: list[Fields] = []
        if tools:
            from hocket.tools import convert_to_openai_tools  # a program without tools need not load them

            described = convert_to_openai_tools(tools)
        request = self._request_count(self._adapt(list(messages), {})[0], described)
        if request is None:
            raise Unsupported(
                "the API has no way to count tokens; count them here, with exact=False", provider=self._provider
            )
        return TokenCount(await self._fetch(request, self._read_count, "count of tokens"))

    def get_num_tokens_from_messages(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None, *, exact: bool = False
    ) -> int:
        """Return how many tokens ``messages`` have: the sync face of `aget_num_tokens_from_messages`."""
        if not exact:
            return super().get_num_tokens_from_messages(messages, tools)
        return run_in_portal(functools.partial(self.aget_num_tokens_from_messages, messages, tools, exact=True))

    def _batch_api(self, request: HTTPRequest) -> "BatchAPI | None":
        """Return the batch endpoint for requests like this one; None: the provider has none.

        A provider returns a `BatchAPI` of its own, and imports it in here: live calls need none of it.

        Args:
            request: as `_request` returns it.
        """
        return None

    def _compose_attempts(self) -> Next:
        return with_handover(with_row_wire(super()._compose_attempts()))

    def _write_call(self, call: Call) -> HTTPRequest:
        """Return the request of a call that has been adapted, for one answer in one piece."""
        request = call.request
        return self._write(request.prompts[0], self._merge_options(request.stop, request.params), stream=False)

    @property
    def _relay_format(self) -> RelayFormat | None:
        """The format whose clients' requests the server takes as they are; None: none that clients have."""
        return None

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if (relay := find_relay(self)) is not None:
            return await self._sender.send(relay.request, functools.partial(self._decode_relayed, relay))
        options = self._merge_options(stop, kwargs)
        result = self._check_whole(await self._sender.send(self._write(messages, options, stream=False), self._decode))
        for generation in result.generations:
            generation.message.response_metadata.setdefault("model_name", self._name_asked(options))
        return result

    def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncGenerator[ChatGenerationChunk, None]:
        if (relay := find_relay(self)) is not None:
            relay.restart()
            make_decoder = functools.partial(self._make_relay_decoder, relay)
            return self._sender.receive(relay.request, make_decoder, self._decode_as_stream)
        options = self._merge_options(stop, kwargs)

        def start(headers: Mapping[str, str]) -> StreamDecoder[ChatGenerationChunk]:
            decoder = self._decoder(headers)
            if isinstance(decoder, ChatStreamDecoder):
                decoder.facts.setdefault("model_name", self._name_asked(options))
            return decoder

        return self._sender.receive(self._write(messages, options, stream=True), start, self._decode_as_stream)

    def _adapt(
        self, messages: Sequence[BaseMessage], params: FieldsView
    ) -> tuple[Sequence[BaseMessage], Downgrade | None]:
        """Return a conversation as the provider can take it, and what that leaves out.

        A tool has run already, and its result is in a history: what the server cannot take of it becomes a text.

        Args:
            messages: the conversation.
            params: what the call says.

        Raises:
            InvalidHistory: a tool call without its result, or a result without its call.
            InvalidInput: a part of a message is not what its type says.
            Unsupported: something would be left out, and ``foreign`` is "raise".
        """
        if all(map(_is_plain, messages)):
            return messages, None
        try:
            lifted = lift_results(messages if self._knows_functions else lift_function_calls(messages))
            check_results(lifted, has_beginning=self._has_beginning(params))
            adapted, downgrade = hand_over(
                lifted, self._provider, self._is_native, self._call_id_form, self._takes_back, self._kin
            )
        except _ODD_SHAPES as error:
            raise _make_malformed(error) from error
        if downgrade is not None and self.foreign == "raise":
            raise Unsupported(
                f"the conversation holds {', '.join(downgrade.block_types)} of another provider ({downgrade.count} "
                "blocks), which foreign='raise' forbids to leave out; remove them, or use foreign='convert'",
                provider=self._provider,
            )
        fitted, replaced = fit_results(adapted, functools.partial(self._takes_result, params=params))
        return fitted, make_downgrade(self._provider, replaced, downgrade)

    def _takes_result(self, message: ToolMessage, params: FieldsView) -> bool:
        """Whether the server, and the model as far as is known, take a tool's result as it is."""
        profile = self._profile_for(params.get("model")) or {}
        if find_unreadable_part(message.content, profile):
            return False
        try:
            sent = {name: value for name, value in params.items() if name not in NOT_SENT}
            self._request([message], self._merge_options(None, sent), stream=False)
        except (HocketError, *_ODD_SHAPES):
            return False
        return True

    def _merge_options(self, stop: list[str] | None, params: FieldsView) -> CallFields:
        """Return the options of one call.

        Raises:
            InvalidInput: one that does not exist, or a value outside its limits.
        """
        return merge_options(self, params if stop is None else {**params, "stop": stop}, self._call_options)

    def _name_asked(self, options: CallFields) -> str:
        """Return the name of the model that a call asks: some servers do not repeat it in their replies."""
        return getattr(options, "model", None) or self._served_model or self._llm_type

    def _write(self, messages: Sequence[BaseMessage], options: CallFields, *, stream: bool) -> HTTPRequest:
        """Return the request of one call.

        Raises:
            InvalidInput: a part of a message is not what its type says: a server, or a file, may have said anything.
        """
        try:
            request = self._request(messages, options, stream=stream)
        except _ODD_SHAPES as error:
            if self._can_write(list(map(_keep_checked, messages)), options, stream=stream):
                raise _make_malformed(error) from error
            raise  # not the conversation is at fault
        return self._add_extras(check_returned(self._request, request, HTTPRequest), options)

    def _can_write(self, messages: Sequence[BaseMessage], options: CallFields, *, stream: bool) -> bool:
        """Whether a request meets no odd shape, be it refused."""
        try:
            self._request(messages, options, stream=stream)
        except _ODD_SHAPES:
            return False
        except HocketError:
            pass
        return True

    def _make_relay_decoder(self, relay: Relay, headers: Mapping[str, str]) -> RelayDecoder:
        return RelayDecoder(relay, self._decoder(headers))

    def _decode_relayed(self, relay: Relay, reply: HTTPReply) -> ChatResult:
        result = read_usage(relay.format, reply.content) or self._check_whole(self._decode(reply))
        relay.restart()
        relay.add(reply.content)
        return result

    def _check_whole(self, result: ChatResult) -> ChatResult:
        """Return what a reply says. One that says nothing, and not why, is none: a stream without an end is refused, too."""
        for message in [one.message for one in check_returned(self._decode, result, ChatResult).generations]:
            if is_empty(message) and "finish_reason" not in message.response_metadata and not message.additional_kwargs:
                text = "the reply has no content, and no reason why it ended"
                raise InvalidReply(text, provider=self._provider)
        return result

    def _decode_as_stream(self, reply: HTTPReply) -> list[ChatGenerationChunk]:
        return [ChatGenerationChunk(message=as_chunk(self._check_whole(self._decode(reply)).generations[0].message))]

    def _preview(self, input: Any, stop: list[str] | None, params: Fields, *, stream: bool) -> HTTPRequest:
        messages = self._to_messages(input)
        sent = {name: value for name, value in params.items() if name not in NOT_SENT}
        stop, sent, _ = self._apply_option_policy(stop, sent, params.get("unsupported"), messages)
        return self._write(self._adapt(messages, params)[0], self._merge_options(stop, sent), stream=stream)

    def _combine_llm_outputs(self, llm_outputs: list[Fields | None]) -> Fields:
        """Return the usage of all answers together, in the server's words, and the model (LangChain's form)."""
        combined: Fields = {}
        for output in llm_outputs:
            if output:
                usage = add_counts(combined.get("token_usage") or {}, output.get("token_usage") or {})
                combined |= {**output, "token_usage": usage}
        return combined


_ODD_SHAPES = (TypeError, KeyError, AttributeError, IndexError)
"""What reading a part raises that holds something else than its type says."""


def _make_malformed(error: Exception) -> InvalidInput:
    return InvalidInput(
        f"the conversation cannot be written: a part of a message is not what its type says ({type(error).__name__}: "
        f"{error}); remove it, or mend it"
    )


def _keep_checked(message: BaseMessage) -> BaseMessage:
    """Return a message without what may be of any shape: parts that are no sound standard blocks, and what is beside."""
    content = message.content
    if not isinstance(content, str):
        content = [
            part if isinstance(part, str) or _is_sound(part) else {"type": "text", "text": "-"} for part in content
        ]
    return copy_message(message, content=content, additional_kwargs={}, response_metadata={})


def _is_sound(part: FieldsView) -> bool:
    try:
        validate_content_block(part)
    except InvalidInput:
        return False
    return True


def _is_plain(message: BaseMessage) -> bool:
    """Whether a message is a text, which a reply has to have, and neither calls tools nor answers a call."""
    if message.content.__class__ is not str or isinstance(message, ToolMessage):
        return False
    return not (
        isinstance(message, AIMessage)
        and (not message.content or message.additional_kwargs or message.tool_calls or message.invalid_tool_calls)
    )
