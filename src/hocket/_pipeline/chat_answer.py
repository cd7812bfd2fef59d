"""Answers that are messages: a conversation in, candidate messages out. For handlers, a refusal has its HTTP facts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from hocket._pipeline.answer import CACHE_HIT, CHUNK_SIZES, PARTIAL, AnswerFold, AnswerKind, Restored, take_sizes
from hocket._pipeline.replay_sizes import cut, length_of
from hocket._pipeline.request import CallRequest
from hocket._runtime.clock import uuid_text
from hocket.errors import EmptyResponse, InvalidHook
from hocket.load.serializable import get_fields
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    Collector,
    UsageMetadata,
    add_usage,
)
from hocket.messages.base import bare_copy, bare_text, copy_containers, copy_message, copy_with_id, is_bare, rebuild
from hocket.messages.folding import merge_facts
from hocket.messages.tool_calls import tool_call_chunks_of
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation, LLMResult
from hocket.outputs.copies import copy_of
from hocket.outputs.results import chat_generation, chat_result, copy_lazily, llm_result

__all__ = ["CHAT", "ChatAnswer", "as_chunk", "http_facts", "rebuild_result"]

G = TypeVar("G", bound=ChatGeneration)


class ChatFold(AnswerFold):
    """What the chunks of a message have made so far."""

    def __init__(self, request: CallRequest, is_shared: bool) -> None:
        self.sizes: list[int] = []
        self._request = request
        self._is_shared = is_shared
        self._collector = Collector()
        self._info: dict[str, Any] | None = None
        self._id = ""

    def add(self, chunk: Any) -> Any:
        if type(chunk) is not ChatGenerationChunk and not isinstance(chunk, ChatGenerationChunk):
            raise InvalidHook(
                f"the stream hook of {self._request.class_name} yielded {type(chunk).__name__}; "
                "it must yield ChatGenerationChunk(message=AIMessageChunk(...))"
            )
        message: Any = chunk.message
        info = chunk.generation_info
        text = bare_text(message)
        if (
            text is not None and not info and not self._is_shared
        ):  # most chunks of most streams: a text and nothing else
            self.sizes.append(len(text))
            id_ = self._id or self._make_id()
            self._collector.add_text(text, id_)
            return bare_copy(message, text, id_)
        content = message.content  # a lazy sum becomes real
        self.sizes.append(len(content) if type(content) is str else length_of(content))
        if info:
            self._info = merge_facts(self._info, info)
        if not self._is_shared:  # a copy is stamped: a hook may keep what it yields, and yield it again
            if info:
                facts = {**info, **message.response_metadata}
                message = copy_with_id(message, message.id or self._make_id(), facts)
            elif message.id is None:
                message = copy_with_id(message, self._id or self._make_id())
        self._collector.add(message)
        return chunk if self._is_shared else message

    def _make_id(self) -> str:
        self._id = self._id or f"lc_run--{uuid_text(self._request.run_ids[0])}"
        return self._id

    def partial_message(self) -> AIMessage:
        return self._collector.message() if self.sizes else AIMessage("")

    def partial_response(self) -> LLMResult:
        chunk = self._collector.chunk() if self.sizes else AIMessageChunk("")
        message = copy_message(chunk, response_metadata={**chunk.response_metadata, PARTIAL: True})
        return LLMResult(
            generations=[[ChatGenerationChunk(message=message, generation_info=copy_containers(self._info))]]
        )

    def hit_chunk(self) -> ChatGenerationChunk | None:
        if self._collector.message().response_metadata.get(CACHE_HIT):
            return None
        message = AIMessageChunk("", response_metadata={CACHE_HIT: True}, chunk_position="last")
        return ChatGenerationChunk(message=message)

    def result(self) -> ChatResult:
        if not self.sizes:
            raise EmptyResponse(
                f"No generation chunks were returned: the stream of {self._request.class_name} ended without one"
            )
        return chat_result([chat_generation(self._collector.message(), self._info)], None)


class ChatAnswer(AnswerKind[ChatResult, ChatGenerationChunk]):
    """A message."""

    start_event = "on_chat_model_start"
    takes_list = False

    def check(self, request: CallRequest, result: object, hook: str) -> ChatResult:
        if not isinstance(result, ChatResult):
            raise InvalidHook(
                f"{request.class_name}.{hook} returned {type(result).__name__}; it must return "
                "ChatResult(generations=[ChatGeneration(message=AIMessage(...))])"
            )
        if not result.generations:
            raise EmptyResponse(f"empty response: {request.class_name}.{hook} returned no generation")
        return result

    # -- chunks

    def new_fold(self, request: CallRequest, is_shared: bool) -> ChatFold:
        return ChatFold(request, is_shared)

    def token_event_args(self, item: Any) -> tuple[str, ChatGenerationChunk]:
        content = item.content
        return content if type(content) is str else item.text, copy_lazily(item)

    def copy_shared_chunk(self, chunk: ChatGenerationChunk, has_bill: Callable[[], bool]) -> ChatGenerationChunk:
        if getattr(chunk.message, "chunk_position", None) == "last" and not has_bill():
            return _without_usage(chunk)
        return copy_of(chunk)

    def make_chunks(self, result: ChatResult, sizes: Sequence[int]) -> list[ChatGenerationChunk]:
        answer = result.generations[0]
        message, facts = answer.message, {**(result.llm_output or {}), **(answer.generation_info or {})} or None
        whole = as_chunk(message)
        if len(sizes) < 2:
            return [ChatGenerationChunk(message=whole, generation_info=facts)]
        pieces = cut(message.content, sizes)
        rest = pieces.pop() if pieces and sizes[-1] else type(message.content)()  # the last one had a text, or had none
        last = rebuild(whole, {**whole.__dict__, "content": rest}, type(whole))
        texts = [ChatGenerationChunk(message=AIMessageChunk(piece)) for piece in pieces]
        return [*texts, ChatGenerationChunk(message=last, generation_info=facts)]

    # -- results

    def finish(self, request: CallRequest, result: ChatResult) -> list[BaseMessage]:
        """Return the candidates' messages, each with an id and all that was said about it: copies, one level deep."""
        generations = result.generations
        if len(generations) == 1:
            return [_stamp(request, generations[0], 0, get_fields(result).get("llm_output"))]
        return [_stamp(request, one, index, None) for index, one in enumerate(generations)]

    def make_responses(self, result: ChatResult, finished: list[BaseMessage]) -> list[LLMResult]:
        candidates: list[Generation] = []
        for message, generation in zip(finished, result.generations):  # noqa: B905  # they are as many
            info = generation.generation_info
            candidates.append(chat_generation(copy_message(message), info and copy_containers(info), generation))
        output = get_fields(result).get("llm_output")
        return [llm_result([candidates], output and copy_containers(output))]

    def failure_response(self, error: BaseException, fold: AnswerFold | None) -> LLMResult:
        """Return what had come, and, if a provider refused, a candidate without text that says so (LangChain's form)."""
        response, facts = fold.partial_response() if fold else LLMResult(generations=[]), http_facts(error)
        if not facts:
            return response
        refusal = ChatGeneration(message=AIMessage(content="", response_metadata=facts))
        return LLMResult(generations=[[*(response.generations[0] if response.generations else []), refusal]])

    def without_usage(self, response: LLMResult) -> LLMResult:
        copies: Any = [
            [_without_usage(cast(ChatGeneration, one)) for one in several] for several in response.generations
        ]
        return LLMResult(generations=copies)

    def read_usage(self, result: ChatResult | LLMResult) -> UsageMetadata | None:
        several = [result.generations] if isinstance(result, ChatResult) else result.generations
        usage: UsageMetadata | None = None
        for candidate in (one for candidates in several for one in candidates):
            message = candidate.message if isinstance(candidate, ChatGeneration) else None
            if isinstance(message, AIMessage) and message.usage_metadata is not None:
                usage = add_usage(usage, message.usage_metadata)
        return usage

    # -- caching

    def candidates(self, result: ChatResult, sizes: Sequence[int]) -> list[Generation]:
        if len(result.generations) > 1 or not (result.llm_output or len(sizes) > 1):
            return list(result.generations)
        answer = result.generations[0]
        message, info = answer.message, answer.generation_info or {}
        if result.llm_output:  # is not stored itself
            facts = {**result.llm_output, **info, **message.response_metadata}
            message = rebuild(message, {**message.__dict__, "response_metadata": facts}, type(message))
        if len(sizes) > 1:
            info = {**info, CHUNK_SIZES: list(sizes)}
        return [chat_generation(message, info or None, answer)]

    def restore(self, candidates: Sequence[Generation], *, cached: bool) -> Restored:
        generations: list[ChatGeneration] = []
        sizes: Sequence[int] = ()
        for candidate in candidates:
            info, sizes = take_sizes(candidate)
            message = candidate.message if isinstance(candidate, ChatGeneration) else AIMessage(candidate.text)
            message = copy_message(message, **(_cache_flags(message) if cached else {}))
            generations.append(chat_generation(message, info or None))
        return Restored(chat_result(generations, None), sizes)

    def with_usage(self, result: ChatResult, sizes: Sequence[int]) -> ChatResult:
        own: ChatResult = self.restore(self.candidates(result, sizes), cached=False).result
        own.llm_output = copy_containers(result.llm_output)
        return own


CHAT = ChatAnswer()


def _stamp(request: CallRequest, generation: ChatGeneration, index: int, output: dict[str, Any] | None) -> BaseMessage:
    message, info = generation.message, generation.generation_info
    id_ = message.id or f"lc_run--{uuid_text(request.run_ids[0])}-{index}"
    if info or output:
        facts = {**(output or {}), **(info or {}), **message.response_metadata}
        return copy_with_id(message, id_, facts)
    return copy_with_id(message, id_)


def rebuild_result(result: ChatResult, messages: Sequence[BaseMessage]) -> ChatResult:
    """Return finished messages in the result that they came in."""
    generations = [
        chat_generation(message, generation.generation_info, generation)
        for message, generation in zip(messages, result.generations, strict=True)
    ]
    return chat_result(generations, result.llm_output)


def _without_usage(candidate: G) -> G:
    message = candidate.message
    return copy_of(candidate, **{**_cache_flags(message), "id": message.id})


def _cache_flags(message: BaseMessage) -> dict[str, Any]:
    """What tells an answer that was not paid for by this call; its id was another run's."""
    if is_bare(get_fields(message)):
        return {"id": None, "response_metadata": {CACHE_HIT: True}}
    flags: dict[str, Any] = {"id": None, "response_metadata": {**message.response_metadata, CACHE_HIT: True}}
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return {**flags, "usage_metadata": {**usage, "total_cost": 0}} if usage else flags


def as_chunk(message: BaseMessage) -> BaseMessageChunk:
    """Return a whole message as the only, and so the last, chunk of its stream."""
    if isinstance(message, BaseMessageChunk):
        return message
    if not isinstance(message, AIMessage):
        cls = next(cls for cls in BaseMessageChunk.__subclasses__() if cls.__name__ == f"{type(message).__name__}Chunk")
        return rebuild(message, {**message.__dict__, "type": cls.__name__}, cls)
    chunks = tool_call_chunks_of(message.tool_calls, message.invalid_tool_calls)
    for index, chunk in enumerate(chunks):  # so that calls without an id stay apart when they are folded
        chunk["index"] = index
    fields = {"tool_call_chunks": chunks, "chunk_position": "last", "type": "AIMessageChunk"}
    return rebuild(message, {**message.__dict__, **fields}, AIMessageChunk)


_REQUEST_ID = ("x-request-id", "request-id")  # OpenAI's header and Anthropic's


def http_facts(error: BaseException) -> dict[str, Any]:
    """Return HTTP status and request id, if ``error`` has a ``response`` as httpx's errors have; else nothing.

    LangChain passes on all headers and the body too; traces are no place for what may be in them.
    """
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", None)
    if not isinstance(status, int):
        return {}
    headers = getattr(response, "headers", None)
    found: Mapping[str, object] = cast("Mapping[str, object]", headers) if isinstance(headers, Mapping) else {}
    request_id: object = getattr(error, "request_id", None) or next(
        (found[name] for name in _REQUEST_ID if name in found), None
    )
    return {"status_code": status, **({"request_id": request_id} if request_id else {})}
