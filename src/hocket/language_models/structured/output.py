"""A model that answers with objects."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar, cast

from pydantic import Field, SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink, Stream, SyncStream
from hocket.errors import ContentFiltered, OutputParserException
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_calls import prepare_messages
from hocket.language_models.structured.answers import AnswerReader, find_obstacle
from hocket.language_models.structured.object_sink import ObjectSink
from hocket.language_models.structured.schema import OutputSchema
from hocket.messages import AIMessage, HumanMessage
from hocket.prompt_values import PromptValue
from hocket.retries import RetryPolicy, retry_async
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.with_attempts import Attempts, RunnableWithAttempts

__all__ = ["StructuredOutput"]

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
        runtime: Runtime,
        input: LanguageModelInput,
        config: RunnableConfig,
        kwargs: dict[str, Any],
        sink: Sink[Any],
    ) -> None:
        reading = ObjectSink(sink, self.output, self.answers, with_raw=self.include_raw)
        await self._read_from(Attempts(runtime, input, config, kwargs, reading), reading)

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
                call.runtime,
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
