"""A runnable that remembers: what was said before goes in with each call, and the turn is appended to a history.

A turn is what was asked and what was answered, tool messages included, and it is appended at its end by one call of the
history's `add_messages`: whole, or not at all. So a turn that fails or is cancelled leaves the history as it was, and
turns of one session at the same time lose nothing and do not mix. LangChain appends in a listener, whose failures are
logged and forgotten, and tells the question from what was said before by counting, which goes wrong when somebody else
has appended meanwhile.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, cast

from pydantic import ConfigDict, Field, SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.sinks import RelaySink, Sink
from hocket.chat_history.base import BaseChatMessageHistory, read_messages
from hocket.chat_history.turn import (
    add_missing_results,
    append_partial,
    append_turn,
    join_messages,
)
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, message_chunk_to_message
from hocket.messages.convert import coerce_messages
from hocket.runnables import Runnable, RunnableConfig, RunnableSerializable, patch_config
from hocket.runnables.coercion import coerce_to_runnable
from hocket.runnables.config_fields import ConfigurableFieldSpec
from hocket.runnables.folding import Accumulator
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["GetSessionHistory", "RunnableWithMessageHistory"]

GetSessionHistory = Callable[..., BaseChatMessageHistory] | Callable[..., Awaitable[BaseChatMessageHistory]]
"""Finds the history of a session: a function, sync or async, of what ``config["configurable"]`` says."""

SESSION_ID = ConfigurableFieldSpec("session_id", str, "Session ID", "Which conversation a call belongs to.", "", True)


class _Session(NamedTuple):
    """Where a turn belongs.

    Attributes:
        history: of the session.
        config: for the runnable.
    """

    history: BaseChatMessageHistory
    config: RunnableConfig


class RunnableWithMessageHistory(RunnableWithRun[Any, Any], RunnableSerializable[Any, Any]):
    """Calls another runnable with the messages of a session, and appends each turn to them.

    Which session is said by each call: ``ainvoke(input, {"configurable": {"session_id": "..."}})``.

    A turn is appended once the runnable has answered, before the verb returns or the stream ends, and at once: what was
    asked and all that was answered, or nothing if the turn failed, was cancelled, or brought no answer. A stream is
    different in that somebody has read some of it: left early (closed, dropped, cancelled), it leaves what had come of
    its text by then, with ``"partial": True`` in the answer's ``response_metadata``, and ``"closed": True`` unless it was
    cancelled; and nothing if no text had come.

    Turns of one session may run at the same time. Each sees what had been appended when it began, mended where providers
    would refuse it (`hocket.messages.repair_history`); what is stored stays as it was. Results that are made up for calls of
    the last answer, which what is asked leaves open, are stored before it.

    Args:
        runnable: takes messages, or a mapping; gives a text, messages, or a mapping with either.
        get_session_history: returns the history of a session: a function of the session's id, or, with
            ``history_factory_config``, of keyword arguments of those names. It is called where the caller is, the event
            loop included, so it must not wait; one that has to is defined with ``async def``.
        input_messages_key: where the input is a mapping, the key of what is asked: a text or messages.
        output_messages_key: where the output is a mapping, the key of the answer. Default: its only key, or "output".
        history_messages_key: where the input is a mapping, the key under which the runnable gets what was said before.
            Default: it comes before what is asked, in one list.
        history_factory_config: what a call must say under ``configurable``. Default: ``session_id``.
        name: for handlers.

    Raises, from every verb:
        InvalidInput: the config lacks a key, the input or the output holds no messages where it should, or a tool's
            result in the input answers no call.
        HistoryError: the history could not be read or written; its own.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    runnable: SkipValidation[Runnable[Any, Any]]
    get_session_history: SkipValidation[GetSessionHistory]
    input_messages_key: str | None = None
    output_messages_key: str | None = None
    history_messages_key: str | None = None
    history_factory_config: SkipValidation[Sequence[ConfigurableFieldSpec]] = Field(default=(SESSION_ID,))

    def __init__(
        self,
        runnable: Any,
        get_session_history: GetSessionHistory,
        *,
        input_messages_key: str | None = None,
        output_messages_key: str | None = None,
        history_messages_key: str | None = None,
        history_factory_config: Sequence[ConfigurableFieldSpec] | None = None,
        name: str | None = None,
    ) -> None:
        fields: dict[str, Any] = {
            "runnable": coerce_to_runnable(runnable),
            "get_session_history": get_session_history,
            "input_messages_key": input_messages_key,
            "output_messages_key": output_messages_key,
            "history_messages_key": history_messages_key,
            "history_factory_config": tuple(history_factory_config or (SESSION_ID,)),
            "name": name,
        }
        super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Functions do not travel as data."""
        return False

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What may stand under ``config["configurable"]``."""
        return [*getattr(self.runnable, "config_specs", ()), *self.history_factory_config]

    # -- a turn

    async def _run_whole(self, mode: Mode, input: Any, config: RunnableConfig, kwargs: dict[str, Any]) -> Any:
        session = await self._find_session(mode, config)
        asked = self._read_question(input)
        past = await read_messages(mode, session.history)
        given = self._make_input(input, past, asked)
        turn = add_missing_results(past, asked)
        output = await self.runnable._invoke(mode, given, session.config, kwargs)
        await append_turn(mode, session.history, turn, self._read_answer(output))
        return output

    async def _run_streamed(
        self, mode: Mode, input: Any, config: RunnableConfig, kwargs: dict[str, Any], sink: Sink[Any]
    ) -> None:
        session = await self._find_session(mode, config)
        asked = self._read_question(input)
        past = await read_messages(mode, session.history)
        given = self._make_input(input, past, asked)
        turn = add_missing_results(past, asked)
        recorder = _Recorder(sink, cumulative=self.runnable._is_cumulative)
        try:
            await self.runnable._produce(mode, given, session.config, kwargs, recorder)
        except BaseException as error:
            if sink.closed or not isinstance(error, Exception):
                with suppress(ValueError):  # no answer yet, or several messages, of which the last may be half of one
                    (answer,) = self._read_answer(recorder.pieces.total())
                    await append_partial(mode, session.history, turn, answer, closed=sink.closed)
            raise
        await append_turn(mode, session.history, turn, self._read_answer(recorder.pieces.total()))

    @property
    def _can_step(self) -> bool:
        return self.runnable._can_step

    async def _find_session(self, mode: Mode, config: RunnableConfig) -> _Session:
        """Return the session of a call, by its config."""
        given: Mapping[str, Any] = config.get("configurable") or {}
        expected = [spec.id for spec in self.history_factory_config]
        takes = _parameters(self.get_session_history)
        missing = [key for key in expected if key not in given]
        if missing and takes:
            example = {"configurable": dict.fromkeys(missing, "...")}
            raise InvalidInput(
                f"the config does not say which conversation this is: {', '.join(missing)} is missing under "
                f"'configurable'; call it with config={example}"
            )
        if len(expected) == 1:
            find = functools.partial(self.get_session_history, *([given[expected[0]]] if takes else []))
        elif set(expected) == set(takes):
            find = functools.partial(self.get_session_history, **{key: given[key] for key in expected})
        else:
            raise InvalidInput(
                f"history_factory_config names {', '.join(expected)}, and get_session_history takes "
                f"{', '.join(takes) or 'nothing'}; they must be the same"
            )
        found: Any = find()
        history = await mode.call_async(_await_value, found) if inspect.isawaitable(found) else found
        if not isinstance(history, BaseChatMessageHistory):
            raise InvalidInput(
                f"get_session_history returned {type(history).__name__}; it must return a history{bridge_hint(history)}"
            )
        return _Session(history, patch_config(config, configurable={"message_history": history}))

    def _make_input(self, input: Any, past: list[BaseMessage], asked: list[BaseMessage]) -> Any:
        """Return what the runnable gets: the input, with what was said before."""
        messages = join_messages(past, asked)
        if self.history_messages_key is not None:
            if not isinstance(input, Mapping):
                raise InvalidInput(f"history_messages_key is set, so the input must be a mapping, not {_kind(input)}")
            fields = cast("Mapping[str, object]", input)
            answers_calls = any(isinstance(message, ToolMessage) for message in asked)
            return {
                **fields,
                self.history_messages_key: past if answers_calls else messages[: len(messages) - len(asked)],
            }
        return messages if self.input_messages_key is None else {**input, self.input_messages_key: messages}

    def _read_question(self, input: Any) -> list[BaseMessage]:
        """Return what is asked, out of an input."""
        if self.input_messages_key is not None and not isinstance(input, Mapping):
            raise InvalidInput(f"input_messages_key is set, so the input must be a mapping, not {_kind(input)}")
        if isinstance(input, Mapping):
            input = _value(cast("Mapping[str, Any]", input), self.input_messages_key, "input")
        return coerce_messages(input, HumanMessage, "what is asked")

    def _read_answer(self, output: Any) -> list[BaseMessage]:
        """Return what was answered, out of an output."""
        if isinstance(output, Mapping):
            output = _value(cast("Mapping[str, Any]", output), self.output_messages_key, "output")
        return [message_chunk_to_message(message) for message in coerce_messages(output, AIMessage, "the answer")]


class _Recorder(RelaySink[Any]):
    """A sink that keeps what goes through it."""

    def __init__(self, sink: Sink[Any], *, cumulative: bool) -> None:
        super().__init__(sink)
        self.pieces = Accumulator[Any](cumulative=cumulative)

    def put(self, item: Any) -> Awaitable[None] | None:
        """Hand over a piece."""
        self.pieces.add(item)
        return self._sink.put(item)


async def _await_value(found: Awaitable[Any]) -> Any:
    return await found


def _value(mapping: Mapping[str, Any], key: str | None, default: str) -> Any:
    """Return the value of ``key`` in an input or output; without a key, of the only one, else of ``default``."""
    if key is None:
        key = next(iter(mapping)) if len(mapping) == 1 else default
    if key not in mapping:
        raise InvalidInput(
            f"the {default} has no key {key!r}, only {', '.join(map(repr, mapping)) or 'none at all'}; "
            f"say which one holds the messages: {default}_messages_key=..."
        )
    return mapping[key]


def _kind(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters; of one that does not say, a single one."""
    try:
        return list(inspect.signature(function).parameters)
    except ValueError:
        return ["session_id"]
