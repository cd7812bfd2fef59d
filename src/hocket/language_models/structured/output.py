"""A model that answers with objects; a stream of chunks is read as one object while it is being written."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import Field, SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.errors import ContentFiltered, OutputParserException
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_calls import prepare_messages
from hocket.language_models.structured.answers import AnswerReader, find_obstacle
from hocket.language_models.structured.partial import Partial
from hocket.language_models.structured.schema import OutputSchema
from hocket.messages import AIMessage, AIMessageChunk, Collector, HumanMessage
from hocket.output_parsers.accumulation import Credit
from hocket.output_parsers.json_document import JSONDocument
from hocket.prompt_values import PromptValue
from hocket.retries import RetryPolicy, retry_async
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.with_attempts import Attempts, RunnableWithAttempts

__all__ = ["ObjectSink", "StructuredOutput"]


class ObjectSink:
    """A sink for the chunks of an answer, in front of the consumer's, which gets the object so far.

    Args:
        sink: the consumer's.
        schema: of the object.
        answers: where the object is.
        with_raw: whether the consumer gets the message so far, too, and so has use for every chunk.

    Attributes:
        has_handed_out: whether the consumer has got anything.
    """

    def __init__(self, sink: Sink[Any], schema: OutputSchema[Any], answers: AnswerReader, *, with_raw: bool) -> None:
        self.has_handed_out: bool = False
        self._sink = sink
        self._schema = schema
        self._answers = answers
        self._with_raw = with_raw
        self.restart()

    def restart(self) -> None:
        """Forget the chunks that have come: another answer is asked for."""
        self._message = Collector()
        self._raw: AIMessageChunk | None = None
        self._document = JSONDocument()
        self._credit = Credit()
        self._shown: Partial[Any] | None = None
        self._piece: Callable[[AIMessageChunk], str] = self._answers.follow()

    @property
    def closed(self) -> bool:
        """Whether the consumer has left."""
        return self._sink.closed

    @property
    def message(self) -> AIMessage:
        """The message so far."""
        return self._message.message()

    def put(self, item: AIMessageChunk) -> Awaitable[None] | None:
        """Read a chunk, and hand on the object as far as it has come, if that is further than before."""
        self._message.add(item)
        text = self._piece(item)
        partial = self._document.partial
        self._document.feed(text)
        self._credit.earn(len(text))
        grown = partial.has_changed and self._credit.pay(partial.cost + self._schema.price(self._document.length))
        if grown:
            value = partial.value()
            if isinstance(value, dict) and value:
                self._shown = Partial.of(self._schema.partial(value), is_whole=partial.is_whole)
        if self._with_raw:
            self._raw = item if self._raw is None else self._raw + item
            return self.hand_on({"raw": self._raw, "parsed": self._shown, "parsing_error": None})
        return self.hand_on(self._shown) if grown and self._shown is not None else None

    def hand_on(self, piece: Any) -> Awaitable[None] | None:
        """Hand a piece of output to the consumer. What is returned must be awaited, unless None."""
        self.has_handed_out = True
        return self._sink.put(piece)


Out = TypeVar("Out")
Piece = TypeVar("Piece")


class _Reask(RetryPolicy):
    """Asks again after an answer that will not do, and that the model can be told about; at once."""

    first_pause: float = 0.0

    def allows(self, error: BaseException) -> bool:
        return isinstance(error, OutputParserException) and error.observation is not None


class StructuredOutput(RunnableWithAttempts[LanguageModelInput, Out], Generic[Out, Piece]):
    """A model that answers with objects. Made by `BaseChatModel.with_structured_output`, which see.

    Handlers see a run of a chain, each request being a model's run inside it, and are told ``on_retry`` between two. A
    call's ``retry=`` is how many requests it may make in all, re-asks included (default: as many as the model may, and
    ``reask`` more); its ``timeout=`` is for all of them together; other arguments go to the model.
    """

    bound: SkipValidation[Runnable[LanguageModelInput, AIMessage]]
    output: SkipValidation[OutputSchema[Any]]
    answers: SkipValidation[AnswerReader]
    include_raw: bool = False
    reask: int = Field(default=0, ge=0)

    def astream(  # type: ignore[override]
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Stream[Piece]:
        """Return the object as it is written: `Partial` ones, each going on from those before, and last the object itself.

        The first that is handed out is binding: there is no re-ask after it.
        """
        return cast("Stream[Piece]", super().astream(input, config, **kwargs))

    def stream(  # type: ignore[override]
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> SyncStream[Piece]:
        """Return the object as it is written: the sync face of `astream`."""
        return cast("SyncStream[Piece]", super().stream(input, config, **kwargs))

    @property
    def _is_cumulative(self) -> bool:
        return True

    def _get_wrapped(self) -> list[AnyRunnable]:
        return [self.bound]

    def _map_wrapped(self, change: Callable[[AnyRunnable], AnyRunnable]) -> Self:
        return self.model_copy(update={"bound": change(self.bound)})

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        inside = self.bound._get_max_attempts(params)
        return inside if params.get("retry") is not None else inside + self.reask

    async def _run_attempts(self, call: Attempts[LanguageModelInput, Any]) -> Any:
        return await self._read_from(call, None)

    async def _run_streamed(
        self,
        mode: Mode,
        input: LanguageModelInput,
        config: RunnableConfig,
        kwargs: dict[str, Any],
        sink: Sink[Any],
    ) -> None:
        reading = ObjectSink(sink, self.output, self.answers, with_raw=self.include_raw)
        await self._read_from(Attempts(mode, input, config, kwargs, reading), reading)

    async def _read_from(self, call: Attempts[LanguageModelInput, Any], reading: ObjectSink | None) -> Any:
        """Return what the verb gives: the object, or, with ``include_raw``, it and the message and what went wrong."""
        message, unread = AIMessage(""), list[Exception]()  # the last answer, and why it could not be read
        asked = call.input

        async def attempt(number: int) -> Any:
            nonlocal asked, message
            if reading is not None:
                reading.restart()
            config = add_run_tag(call.config, "reask:{}", number - 1) if number > 1 else call.config
            answer = await call.ask(self.bound, asked, config, call.params)
            message = answer if reading is None else reading.message
            try:
                return self.output.read(self.answers.value(message))
            except OutputParserException as error:
                unread[:] = [find_obstacle(message) or error]
                if error.observation is not None:
                    asked = [*_messages(asked), *self.answers.correction(message, error.observation)]
                error.raw = message
                if unread[0] is error:
                    raise
                raise unread[0] from error

        error: Exception | None = None
        parsed: Any = None
        try:
            parsed = await retry_async(
                attempt,
                _Reask(max_attempts=1 + self.reask),
                call.mode,
                limit=self._get_max_attempts(call.params),
                ends_at=lambda: call.ends_at,
                may_repeat=lambda: reading is None or not reading.has_handed_out,
                tell=call.tell,
            )
        except (OutputParserException, ContentFiltered) as failed:
            if not self.include_raw or failed not in unread:
                raise
            error = failed.with_traceback(None)  # a value now; its traceback would hold this frame, which holds it
        finally:
            unread.clear()
        result = {"raw": message, "parsed": parsed, "parsing_error": error} if self.include_raw else parsed
        waiting = None if reading is None else reading.hand_on(result)
        if waiting is not None:
            await waiting
        return result


def _messages(input: LanguageModelInput) -> list[Any]:
    """Return what a model was asked, as messages."""
    if isinstance(input, str):
        return [HumanMessage(input)]
    return prepare_messages(input.to_messages() if isinstance(input, PromptValue) else input)
