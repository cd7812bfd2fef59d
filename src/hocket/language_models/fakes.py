"""Models for unit tests, under langchain-core's names: offline, deterministic, in order.

They answer from a list, counted under a lock, so that a hundred calls at once take each answer equally often. Delays go
through hocket's clock: under a virtual one no test waits. Stop words change no answer, as in LangChain; a
`ScriptedChatModel` minds them.
"""

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

from pydantic import Field, SerializeAsAny

from hocket._pipeline.chat_answer import as_chunk
from hocket._runtime import clock
from hocket.errors import FakeListLLMError, InvalidInput, ScriptExhausted
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.llm import LLM
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage
from hocket.messages.base import copy_message
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult, GenerationChunk
from hocket.runnables import RunnableConfig, merge_configs
from hocket.runnables.batch import Batch, Configs

__all__ = [
    "FakeChatModel",
    "FakeListChatModel",
    "FakeListLLM",
    "FakeMessagesListChatModel",
    "FakeStreamingListLLM",
    "GenericFakeChatModel",
    "ParrotFakeChatModel",
]

R = TypeVar("R")

_lock = threading.Lock()


class _Cycle(Generic[R]):
    """Answers from a list: after the last comes the first.

    Args:
        responses: the answers.
        i: the place in the list of the one that comes next. Beyond its end, each call fails with `ScriptExhausted`.
    """

    responses: list[R]
    i: int

    def add_response(self, response: R) -> None:
        """Put one more response at the end of the list."""
        with _lock:
            self.responses = [*self.responses, response]

    def reset(self) -> None:
        """Start again with the first response."""
        self.i = 0

    def _next(self) -> R:
        with _lock:
            if self.i >= len(self.responses):
                has = len(self.responses) or "no"
                raise ScriptExhausted(f"{type(self).__name__} has {has} responses: there is none at i={self.i}")
            response = self.responses[self.i]
            self.i = (self.i + 1) % len(self.responses)
            return response


def _check(number: int | None, index: int) -> None:
    if number == index:
        raise FakeListLLMError(f"chunk {index}: error_on_chunk_number says so")


class FakeListLLM(_Cycle[str], LLM):
    """A text model that answers from a list, over and over.

    Args:
        sleep: seconds before each character of `FakeStreamingListLLM`; not waited for here.
    """

    responses: list[str]
    sleep: float | None = None
    i: int = Field(default=0, exclude=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A fake travels as data; where it is in its list does not."""
        return True

    @property
    def _llm_type(self) -> str:
        return "fake-list"

    @property
    def _identifying_params(self) -> Mapping[str, object]:
        return {"responses": self.responses}

    async def _acall(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        return self._next()

    def _call(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        return self._next()


class FakeStreamingListLLM(FakeListLLM):
    """A text model that streams its answers character by character, ``sleep`` seconds apart.

    Args:
        error_on_chunk_number: fail with `FakeListLLMError` instead of giving this chunk, counted from 0.
    """

    error_on_chunk_number: int | None = None

    async def _astream(
        self, prompt: str, stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[GenerationChunk]:
        for index, character in enumerate(self._next() or [""]):
            if self.sleep is not None:
                await clock.current().sleep(self.sleep)
            _check(self.error_on_chunk_number, index)
            yield GenerationChunk(text=character)

    def _stream(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> Iterator[GenerationChunk]:
        for index, character in enumerate(self._next() or [""]):
            if self.sleep is not None:
                clock.current().block(self.sleep)
            _check(self.error_on_chunk_number, index)
            yield GenerationChunk(text=character)


class _Fake(BaseChatModel, ABC):
    """A chat model whose answer is known at once; sync and async only differ in how they pass the time.

    Args:
        sleep: seconds before an answer, and before each chunk of one that is streamed.
    """

    sleep: float | None = None

    _tool_choices: ClassVar = frozenset(ToolChoiceKind)  # taken like a real model's, and not heeded

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A fake travels as data; where it is in its list does not."""
        return True

    @abstractmethod
    def _answer(self, messages: list[BaseMessage]) -> BaseMessage:
        """Return the answer."""

    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        if self.sleep is not None:
            await clock.current().sleep(self.sleep)
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _generate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        if self.sleep is not None:
            clock.current().block(self.sleep)
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])


class _StreamingFake(_Fake, ABC):
    """A fake that can also give its answer in pieces."""

    @abstractmethod
    def _pieces(self, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        """Yield the answer; time passes before each piece."""

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for piece in self._pieces(messages):
            if self.sleep is not None:
                await clock.current().sleep(self.sleep)
            yield ChatGenerationChunk(message=piece)

    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for piece in self._pieces(messages):
            if self.sleep is not None:
                clock.current().block(self.sleep)
            yield ChatGenerationChunk(message=piece)


class FakeMessagesListChatModel(_Cycle[BaseMessage], _Fake):
    """A chat model that answers with messages from a list, over and over; with copies of them."""

    responses: list[SerializeAsAny[BaseMessage]]
    i: int = Field(default=0, exclude=True)

    @property
    def _llm_type(self) -> str:
        return "fake-messages-list-chat-model"

    def _answer(self, messages: list[BaseMessage]) -> BaseMessage:
        return copy_message(self._next())


class FakeListChatModel(_Cycle[str], _StreamingFake):
    """A chat model that answers with texts from a list, over and over; it streams them character by character.

    Args:
        error_on_chunk_number: fail with `FakeListLLMError` instead of giving this chunk, counted from 0.

    Examples:
        >>> from hocket import FakeListChatModel
        >>> model = FakeListChatModel(responses=["One.", "Two."])
        >>> [model.invoke("Count").text for _ in range(3)]
        ['One.', 'Two.', 'One.']
    """

    responses: list[str]
    i: int = Field(default=0, exclude=True)
    error_on_chunk_number: int | None = None

    @property
    def _llm_type(self) -> str:
        return "fake-list-chat-model"

    @property
    def _identifying_params(self) -> Mapping[str, object]:
        return {"responses": self.responses}

    def _answer(self, messages: list[BaseMessage]) -> BaseMessage:
        return AIMessage(self._next())

    def _pieces(self, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        *characters, last = list(self._next()) or [""]
        for index, character in enumerate(characters):
            _check(self.error_on_chunk_number, index)
            yield AIMessageChunk(character)
        _check(self.error_on_chunk_number, len(characters))
        yield AIMessageChunk(content=last, chunk_position="last")

    def _make_batch(
        self,
        inputs: Iterable[LanguageModelInput] | AsyncIterable[LanguageModelInput],
        config: Configs,
        return_exceptions: bool,
        kwargs: dict[str, Any],
    ) -> Batch[LanguageModelInput, AIMessage]:
        """One after another, so that the answers come in the order of the list."""
        one: RunnableConfig = {"max_concurrency": 1}
        if config is None or isinstance(config, Mapping):
            return super()._make_batch(inputs, merge_configs(config, one), return_exceptions, kwargs)
        return super()._make_batch(inputs, [merge_configs(each, one) for each in config], return_exceptions, kwargs)


class FakeChatModel(_Fake):
    """A chat model that always answers "fake response"."""

    @property
    def _llm_type(self) -> str:
        return "fake-chat-model"

    @property
    def _identifying_params(self) -> Mapping[str, object]:
        return {"key": "fake"}

    def _answer(self, messages: list[BaseMessage]) -> BaseMessage:
        return AIMessage("fake response")


class GenericFakeChatModel(_StreamingFake):
    """A chat model that answers with the messages, or texts, of an iterator, each once.

    It streams the text cut at white space, additional kwargs a key at a time (a function call cut at its commas, as in
    LangChain), and what LangChain's drops: tool calls, usage and response metadata, with the last chunk.

    Args:
        messages: an iterator of `AIMessage` or str; a list is taken, too.

    Raises:
        ScriptExhausted: the iterator has ended.
    """

    messages: Any = Field(exclude=True)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """An iterator cannot travel."""
        return False

    def model_post_init(self, context: object) -> None:
        """Make a list an iterator."""
        self.messages = iter(self.messages)

    @property
    def _llm_type(self) -> str:
        return "generic-fake-chat-model"

    def _answer(self, messages: list[BaseMessage]) -> BaseMessage:
        with _lock:
            answer = next(self.messages, None)
        if answer is None:
            raise ScriptExhausted("the iterator of GenericFakeChatModel has ended; give it as many messages as calls")
        return AIMessage(answer) if isinstance(answer, str) else copy_message(cast(BaseMessage, answer))

    def _pieces(self, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        answer = cast(AIMessage, self._answer(messages))
        content = answer.content
        if not isinstance(content, str):
            yield cast(AIMessageChunk, as_chunk(answer))
            return
        texts = list(filter(None, re.split(r"(\s)", content)))
        has_more = bool(answer.tool_calls or answer.usage_metadata or answer.response_metadata)
        for number, text in enumerate(texts, 1):
            is_last = number == len(texts) and not (answer.additional_kwargs or has_more)
            yield AIMessageChunk(content=text, id=answer.id, chunk_position="last" if is_last else None)
        for key, value in answer.additional_kwargs.items():
            for piece in _cut_function_call(cast("Mapping[str, object]", value)) if key == "function_call" else [value]:
                yield AIMessageChunk(content="", id=answer.id, additional_kwargs={key: piece})
        if has_more or answer.additional_kwargs or not texts:
            rest = cast(AIMessageChunk, as_chunk(answer))
            rest.content, rest.additional_kwargs = "", {}
            yield rest


def _cut_function_call(call: Mapping[str, object]) -> Iterator[dict[str, object]]:
    for key, value in call.items():
        for piece in re.split(r"(,)", value) if isinstance(value, str) else [value]:
            yield {key: piece}


class ParrotFakeChatModel(_Fake):
    """A chat model that answers with a copy of the last message it was sent.

    Raises:
        InvalidInput: no message was sent.
    """

    @property
    def _llm_type(self) -> str:
        return "parrot-fake-chat-model"

    def _answer(self, messages: list[BaseMessage]) -> BaseMessage:
        if not messages:
            raise InvalidInput("there is no message to repeat")
        return copy_message(messages[-1])
