"""A conversation with a model, for programs that need nothing else."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import anyio

from hocket._pipeline.concurrency_limit import ConcurrencyLimiter
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket._runtime.stream import Producer, Sink
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.chat_history.base import read_messages
from hocket.chat_history.turn import add_missing_results, append_partial, append_turn
from hocket.conversation.reading import ConversationStream, Reading, SyncConversationStream
from hocket.conversation.window import ConversationMemory, Limits, Options, WindowedModel
from hocket.errors import InvalidInput
from hocket.errors.hints import LONGEST_NAME, bridge_hint, excerpt, explain_arguments, near_name_hint
from hocket.language_models import init_chat_model
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, message_chunk_to_message
from hocket.messages.convert import coerce_messages
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["Conversation"]

Said = str | BaseMessage | Sequence[BaseMessage]


_VERBS = {
    **dict.fromkeys(("invoke", "run", "predict", "chat", "ask"), "send"),
    **dict.fromkeys(("ainvoke", "arun", "apredict", "achat", "aask"), "asend"),
}


class Conversation:
    """A conversation: the earlier messages go to the model with each question, as far as they fit.

    A turn is stored at its end, question and answer together, by one append to the history; a turn that fails, is
    cancelled or brings no answer leaves nothing, and a stream that is left early what was read of it. Calls of the last
    answer for which a question brings no results are answered with it: the model is told that there are none, and so the
    history keeps it, in the same append.

    Turns of one object are taken one after another, in the order in which they were asked for, on any number of tasks,
    threads and event loops. Other objects, and other processes, may use the same history: their turns come between, whole.

    What is sent is a conversation that providers take: it begins with the system's text and then a user's message, no
    tool call is without its result, and it fits the limits; if the model still finds it too long, the older half is left
    out, and so on. The question itself is always sent. `history` keeps everything.

    Args:
        model: a chat model, or one with tools bound; or a name, as `init_chat_model` takes it.
        history: where the conversation is kept; default: in this process. ``open_history("redis://...")`` and its like
            keep it elsewhere.
        system: instructions that come first. They are not part of the history.
        max_messages, max_tokens: how much is sent at most, the question included; a message of the system is not one
            of the messages. Default: the window in the model's profile, less room for the answer.
        memory: says instead what is sent of what was said before, a summary of it, for example; it has a history of its
            own (``chat_memory``), so none is given.

    Attributes:
        system: may be changed between turns.

    Raises:
        InvalidInput: the model is neither, or answers with objects and not with messages; a limit is not above 0; or both
            a history and a memory are given.
        UnknownModel: no provider answers to the name.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> conversation = Conversation(ScriptedChatModel(script=["Hello, Ada!", "Ada."]))
        >>> conversation.send("I am Ada.").text
        'Hello, Ada!'
        >>> conversation.send("Who am I?").text
        'Ada.'
        >>> len(conversation.history.messages)
        4
    """

    @explain_arguments(
        chat_history="history", llm="model", prompt="system", system_prompt="system", window="max_messages"
    )
    def __init__(
        self,
        model: Runnable[Any, AIMessage] | str,
        *,
        history: BaseChatMessageHistory | None = None,
        system: str | None = None,
        max_messages: int | None = None,
        max_tokens: int | None = None,
        memory: ConversationMemory | None = None,
    ) -> None:
        if history is not None and memory is not None:
            raise InvalidInput("a memory has its own history: give it chat_memory=..., and no history=...")
        if isinstance(history, str):
            raise InvalidInput(
                f"history is the text {excerpt(history)}; write history=open_history({excerpt(history)})"
            )
        self.system = system
        if memory is not None:
            history = memory.chat_memory
        self._history = InMemoryChatMessageHistory() if history is None else history
        self._limits = Limits(max_messages, max_tokens, memory)
        self._model = _open_model(model)
        self._turns = ConcurrencyLimiter()
        self._turns.resize(1)
        self._asking: int | None = None  # the thread without which the turn under way cannot end
        self._reading: Reading | None = None  # of the turn under way

    @property
    def model(self) -> Runnable[Any, AIMessage]:
        """The model that is asked; may be set between turns."""
        return self._model

    @model.setter
    def model(self, model: Runnable[Any, AIMessage] | str) -> None:
        self._model = _open_model(model)
        self._limits = replace(self._limits, scale=1.0, skipped=0)  # those of the model before

    @property
    def history(self) -> BaseChatMessageHistory:
        """All that was said."""
        return self._history

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Name the verb that is meant, where another library's was written."""
            hint = f"write {_VERBS[name]}(...)" if name in _VERBS else ""
            hint = hint or near_name_hint(name, [one for one in dir(type(self)) if one[0] != "_"])
            raise AttributeError(f"a Conversation has no {name[:LONGEST_NAME]!r}; {hint}")

    def __repr__(self) -> str:
        return f"Conversation({type(self._model).__name__}, history={self._history!r}, system={self.system!r})"

    def _repr_html_(self) -> str:
        """Return what was said as a notebook shows it."""
        from hocket.messages.html import write_messages

        return write_messages(self._history.messages)

    async def asend(self, message: Said, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Say something, and return the answer once the turn is stored.

        Args:
            message: a text; or messages: results of the tool calls of the last answer, for example.
            config: callbacks, tags, metadata of the run.
            kwargs: options for the model.

        Raises:
            InvalidInput: the message says nothing, or is the result of no call; or this task has not read, or closed, the
                stream of its last turn: it would wait for itself.
            Exception: of the model, or the history; then nothing is stored.
        """
        return await self._send(ASYNC, message, config, kwargs, None)

    def send(self, message: Said, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:
        """Say something, and return the answer: the sync face of `asend`.

        Raises:
            InvalidInput: this thread has not read, or closed, the stream of its last turn: it would wait for itself.
        """
        return drive(self._send(BLOCKING, message, config, kwargs, threading.get_ident()))

    def astream(self, message: Said, config: RunnableConfig | None = None, **kwargs: Any) -> ConversationStream:
        """Say something, and return the answer as it comes. The turn is stored when it has been read to its end.

        Left early (closed, dropped, cancelled), the turn is stored with the text that had been read, flagged ``"partial":
        True`` in its ``response_metadata``, and ``"closed": True`` unless it was cancelled. The next turn waits until this
        one has ended: read the stream to its end, or leave it.
        """
        reading = Reading()
        return ConversationStream(reading, self._producer(ASYNC, reading, message, config, kwargs, None))

    def stream(self, message: Said, config: RunnableConfig | None = None, **kwargs: Any) -> SyncConversationStream:
        """Say something, and return the answer as it comes: the sync face of `astream`."""
        reading, thread = Reading(), threading.get_ident()
        stepped = self.model._can_step  # pyright: ignore[reportPrivateUsage]  # every Runnable has it
        produce = self._producer(BLOCKING if stepped else ASYNC, reading, message, config, kwargs, thread)
        return SyncConversationStream(reading, produce, stepped=stepped)

    # -- a turn

    async def _send(
        self, mode: Mode, message: Said, config: Any, kwargs: dict[str, Any], thread: int | None
    ) -> AIMessage:
        question, reading = _check_question(message), Reading()
        if mode.is_async:
            reading.reader = anyio.get_current_task().id
        await self._begin(mode, reading, thread)
        try:
            turn = self._make_turn(reading)
            return await turn._invoke(mode, question, config, kwargs)  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
        finally:
            self._end()

    def _producer(
        self,
        mode: Mode,
        reading: Reading,
        message: Said,
        config: Any,
        kwargs: dict[str, Any],
        thread: int | None,
    ) -> Producer[AIMessageChunk]:
        question = _check_question(message)

        async def produce(sink: Sink[AIMessageChunk]) -> None:
            await self._begin(mode, reading, thread)
            try:
                sink_of_reader = reading.wrap_sink(sink) if mode.is_async else sink
                pieces = cast("Sink[AIMessage]", sink_of_reader)  # a model's pieces are chunks
                turn = self._make_turn(reading)
                await turn._produce(mode, question, config, kwargs, pieces)  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
            finally:
                self._end()

        return produce

    async def _begin(self, mode: Mode, reading: Reading, thread: int | None) -> None:
        before = self._reading
        if thread is not None and self._asking == thread:
            raise InvalidInput(
                "the turn before is still under way in this thread, which would wait for itself: read its stream to the "
                "end, or close it; in an event loop, await asend"
            )
        if before is not None and before.reader is not None and before.reader == reading.reader:
            raise InvalidInput(
                "the turn before is still under way in this task, which would wait for itself: read its stream to the "
                "end, or close it"
            )
        await self._turns.acquire(mode)
        self._asking = threading.get_ident() if thread is None else thread
        self._reading = reading

    def _end(self) -> None:
        self._asking = self._reading = None
        self._turns.release()

    def _make_turn(self, reading: Reading) -> "_Turn":
        return _Turn(WindowedModel(self.model, self.system, self._limits), self._history, reading)


class _Turn(RunnableWithRun[list[BaseMessage], AIMessage]):
    """One turn: read what was said, ask the model with as much of it as fits, append the question and its answer.

    Args:
        model: is asked.
        history: of the conversation.
        reading: of a stream: what its reader has got.
    """

    def __init__(self, model: WindowedModel, history: BaseChatMessageHistory, reading: Reading) -> None:
        self.name = "Conversation"
        self._model = model
        self._history = history
        self._reading = reading

    async def _run_whole(
        self, mode: Mode, input: list[BaseMessage], config: RunnableConfig, kwargs: Options
    ) -> AIMessage:
        past = await read_messages(mode, self._history)
        answer = await self._model.ask(mode, past, input, config, kwargs)
        turn = add_missing_results(past, input)
        await append_turn(mode, self._history, turn, [message_chunk_to_message(answer)])
        return answer

    async def _run_streamed(
        self,
        mode: Mode,
        input: list[BaseMessage],
        config: RunnableConfig,
        kwargs: Options,
        sink: Sink[AIMessage],
    ) -> None:
        past = await read_messages(mode, self._history)
        turn = add_missing_results(past, input)
        try:
            await self._model.stream(mode, past, input, config, kwargs, sink)
        except BaseException as error:
            if sink.closed or not isinstance(error, Exception):  # the reader has left, or was cancelled
                await append_partial(mode, self._history, turn, self._reading.message, closed=sink.closed)
            raise
        await append_turn(mode, self._history, turn, [self._reading.message])


def _open_model(model: object) -> Runnable[Any, AIMessage]:
    if isinstance(model, str):
        return init_chat_model(model)
    if not isinstance(model, Runnable):
        raise InvalidInput(
            f"model is {type(model).__name__}; it must be a chat model, or a name such as 'openai:gpt-5.2', 'local'"
            f"{bridge_hint(model)}"
        )
    runnable = cast("Runnable[Any, AIMessage]", model)
    if runnable._is_cumulative:  # pyright: ignore[reportPrivateUsage]  # every Runnable says it; a model's pieces are no wholes
        raise InvalidInput(
            f"model is a {type(runnable).__name__}, which answers with objects (with_structured_output, or a parser), and a "
            "conversation consists of messages: create_agent(model, response_format=...).ainvoke(question, history=...) "
            "answers with objects and keeps the conversation"
        )
    return runnable


def _check_question(message: Said) -> list[BaseMessage]:
    question = coerce_messages(message, HumanMessage, "what is said")
    if all(is_empty(one) for one in question):
        raise InvalidInput("the question is empty")
    return question
