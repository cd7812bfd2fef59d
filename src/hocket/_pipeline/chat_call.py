"""A call of a chat model: a conversation in, candidate messages out."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from hocket._pipeline.call import CACHE_HIT, CHUNK_SIZES, PARTIAL, Call
from hocket._pipeline.lazy_copies import LazyCopies
from hocket._pipeline.refusal import refusal
from hocket._pipeline.replay_sizes import cut, length_of
from hocket._runtime.ids import uuid_text
from hocket.errors import EmptyResponse, InvalidHook
from hocket.load.construct import get_fields
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk, Collector
from hocket.messages.base import bare_copy, bare_text, copy_containers, copy_message, copy_with_id, is_bare, rebuild
from hocket.messages.folding import merge_facts
from hocket.messages.tool_calls import tool_call_chunks_of
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, Generation, LLMResult
from hocket.outputs.chat_generation import chat_generation, copy_lazily
from hocket.outputs.copies import copy_of
from hocket.outputs.results import chat_result, llm_result

__all__ = ["ChatCall", "as_chunk"]

G = TypeVar("G", bound=ChatGeneration)


class ChatCall(Call):
    """One call of a chat model's hook; ``prompts`` holds one list of messages."""

    start_event = "on_chat_model_start"

    _collector: Collector | None = None
    _info: dict[str, Any] | None = None
    _chunk_id = ""
    _result: ChatResult

    # -- asking the hook

    def asked(self) -> tuple[Any, ...]:
        return (self.prompts[0],)

    def asked_to_stream(self) -> tuple[Any, ...]:
        return (self.prompts[0],)

    def told(self, index: int) -> tuple[Any, ...]:
        return self.model._told(), [LazyCopies(self.prompts[0])]

    # -- chunks

    def received(self, chunk: Any) -> Any:
        if type(chunk) is not ChatGenerationChunk and not isinstance(chunk, ChatGenerationChunk):
            raise InvalidHook(
                f"the stream hook of {type(self.model).__name__} yielded {type(chunk).__name__}; "
                "it must yield ChatGenerationChunk(message=AIMessageChunk(...))"
            )
        message, info = chunk.message, chunk.generation_info
        if self._collector is None:
            self._collector = Collector()
        text = bare_text(message)
        if text is not None and not info and not self.is_raw:  # most chunks of most streams: a text and nothing else
            self.sizes.append(len(text))
            id_ = self._chunk_id or self._id_of_chunks()
            self._collector.add_text(text, id_)
            return bare_copy(message, text, id_)
        content = message.content  # a lazy sum becomes real
        self.sizes.append(len(content) if type(content) is str else length_of(content))
        if info:
            self._info = merge_facts(self._info, info)
        if not self.is_raw:  # a copy is stamped: a hook may keep what it yields, and yield it again
            if info:
                facts = {**info, **message.response_metadata}
                message = copy_with_id(message, message.id or self._id_of_chunks(), facts)
            elif message.id is None:
                message = copy_with_id(message, self._chunk_id or self._id_of_chunks())
        self._collector.add(cast(AIMessageChunk, message))
        return chunk if self.is_raw else message

    def _id_of_chunks(self) -> str:
        self._chunk_id = self._chunk_id or f"lc_run--{uuid_text(self.run_ids[0])}"
        return self._chunk_id

    def shared(self, chunk: ChatGenerationChunk, bills: Callable[[Call], bool]) -> ChatGenerationChunk:
        message = chunk.message
        if getattr(message, "chunk_position", None) == "last" and not bills(self):
            return _unbilled(chunk)
        return copy_of(chunk)

    @property
    def has_begun(self) -> bool:
        return self._collector is not None

    def shown(self, item: Any) -> tuple[str, ChatGenerationChunk]:
        content = item.content
        return content if type(content) is str else item.text, copy_lazily(item)

    def last_chunk(self) -> ChatGenerationChunk | None:
        if self._collector is None or self._collector.is_last:
            return None
        return ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last"))

    def restart(self) -> None:
        self._collector, self._info, self.sizes = None, None, []

    def gathered(self) -> AIMessage:
        return AIMessage("") if self._collector is None else self._collector.message()

    # -- results

    def streamed(self) -> ChatResult:
        if self._collector is None:
            raise EmptyResponse(
                f"No generation chunks were returned: the stream of {type(self.model).__name__} ended without one"
            )
        message = self._collector.message()
        return chat_result([chat_generation(message, self._info)], None)

    def checked(self, result: Any, hook: str) -> ChatResult:
        if not isinstance(result, ChatResult):
            raise InvalidHook(
                f"{type(self.model).__name__}.{hook} returned {type(result).__name__}; it must return "
                "ChatResult(generations=[ChatGeneration(message=AIMessage(...))])"
            )
        if not result.generations:
            raise EmptyResponse(f"empty response: {type(self.model).__name__}.{hook} returned no generation")
        return result

    def finished(self, result: ChatResult) -> list[BaseMessage]:
        """Return the candidates' messages, each with an id and all that was said about it: copies, one level deep."""
        self._result = result
        generations = result.generations
        if len(generations) == 1:
            return [self._signed(generations[0], 0, get_fields(result).get("llm_output"))]
        return [self._signed(one, index, None) for index, one in enumerate(generations)]

    def _signed(self, generation: ChatGeneration, index: int, outer: dict[str, Any] | None) -> BaseMessage:
        message, info = generation.message, generation.generation_info
        id_ = message.id or f"lc_run--{uuid_text(self.run_ids[0])}-{index}"
        if info or outer:
            facts = {**(outer or {}), **(info or {}), **message.response_metadata}
            return copy_with_id(message, id_, facts)
        return copy_with_id(message, id_)

    def whole(self, messages: Sequence[BaseMessage]) -> ChatResult:
        """Return finished messages as the result that they came in."""
        made = [
            chat_generation(message, generation.generation_info, generation)
            for message, generation in zip(messages, self._result.generations, strict=True)
        ]
        return chat_result(made, self._result.llm_output)

    def partial(self) -> LLMResult:
        chunk = AIMessageChunk("") if self._collector is None else self._collector.chunk()
        message = copy_message(chunk, response_metadata={**chunk.response_metadata, PARTIAL: True})
        return LLMResult(
            generations=[[ChatGenerationChunk(message=message, generation_info=copy_containers(self._info))]]
        )

    def unbilled(self, response: LLMResult) -> LLMResult:
        made: Any = [[_unbilled(cast(ChatGeneration, one)) for one in several] for several in response.generations]
        return LLMResult(generations=made)

    def until(self, error: BaseException) -> LLMResult:
        """Return what had come, and, if a provider refused, a candidate without text that says so (LangChain's form)."""
        response, facts = super().until(error), refusal(error)
        if not facts:
            return response
        told = ChatGeneration(message=AIMessage(content="", response_metadata=facts))
        return LLMResult(generations=[[*(response.generations[0] if response.generations else []), told]])

    def responses(self, result: list[BaseMessage]) -> list[LLMResult]:
        answer = self._result
        made: list[Generation] = []
        for message, generation in zip(result, answer.generations):  # noqa: B905  # they are as many
            info = generation.generation_info
            made.append(chat_generation(copy_message(message), info and copy_containers(info), generation))
        output = get_fields(answer).get("llm_output")
        return [llm_result([made], output and copy_containers(output))]

    # -- caching

    def key(self) -> tuple[str, str]:
        return self.model._cache_key(self.prompts[0], self.stop, self.params)  # type: ignore[no-any-return]

    def candidates(self, result: ChatResult) -> list[Generation]:
        if len(result.generations) > 1 or not (result.llm_output or len(self.sizes) > 1):
            return list(result.generations)
        answer = result.generations[0]
        message, info = answer.message, answer.generation_info or {}
        if result.llm_output:  # is not stored itself
            facts = {**result.llm_output, **info, **message.response_metadata}
            message = rebuild(message, {**message.__dict__, "response_metadata": facts}, type(message))
        if len(self.sizes) > 1:
            info = {**info, CHUNK_SIZES: self.sizes}
        return [chat_generation(message, info or None, answer)]

    def result(self, candidates: Sequence[Generation], *, cached: bool) -> ChatResult:
        made: list[ChatGeneration] = []
        for candidate in candidates:
            info = self.without_sizes(candidate)
            message = candidate.message if isinstance(candidate, ChatGeneration) else AIMessage(candidate.text)
            message = copy_message(message, **(_flags(message) if cached else {}))
            made.append(chat_generation(message, info or None))
        return chat_result(made, None)

    def chunks(self, result: ChatResult) -> list[ChatGenerationChunk]:
        message = result.generations[0].message
        whole = as_chunk(message)
        if len(self.sizes) < 2:
            return [ChatGenerationChunk(message=whole)]
        pieces, self.sizes = cut(message.content, self.sizes), []
        last = rebuild(whole, {**whole.__dict__, "content": type(message.content)()}, type(whole))
        return [ChatGenerationChunk(message=chunk) for chunk in (*map(AIMessageChunk, pieces), last)]


def _unbilled(candidate: G) -> G:
    message = candidate.message
    return copy_of(candidate, **{**_flags(message), "id": message.id})


def _flags(message: BaseMessage) -> dict[str, Any]:
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
