"""What a history says of its last run, and what the run adds to it: in the store, and in what the model is shown next.

The history is the only record of a run: there is no second store. The run is what follows the last message of a person.
The calls that it made are its AI messages, what it used is theirs, and what is open are the calls of the last one that
have no result. Which of these wait for a person is flagged in the message that makes them: an agent with other rules
reads it, too.
"""

import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from hocket._databases.writes import finish_write
from hocket._pipeline.answer import PARTIAL
from hocket._runtime.mode import ASYNC
from hocket.chat_history import BaseChatMessageHistory
from hocket.chat_history.turn import append_partial, make_partial
from hocket.message_toolkit.repair import repair_history, with_calls
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolCallChunk,
    ToolMessage,
)
from hocket.messages.folding import ToolCallFold
from hocket.messages.roles import calls_of

__all__ = [
    "AWAITS_APPROVAL",
    "CallIds",
    "RunRecord",
    "RunState",
    "StreamedCallIds",
    "is_valid",
    "read_pending_calls",
    "read_state",
    "split_question",
]

AWAITS_APPROVAL = "awaits_approval"
"""Under this key of ``response_metadata`` an answer has the ids of its calls that were not run, but wait for a person."""


@dataclass
class RunState:
    """What a history says of its last run.

    Attributes:
        messages: the conversation as providers accept it, but for the open calls.
        open_calls: of the last answer, without a result.
        waiting: the ids of those that wait for a person, as the run has flagged them.
        model_calls, tool_calls, tokens: that the run has used.
    """

    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    open_calls: list[ToolCall | InvalidToolCall] = field(default_factory=list[ToolCall | InvalidToolCall])
    waiting: set[str] = field(default_factory=set[str])
    model_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0

    @property
    def is_cut_off(self) -> bool:
        """Whether the run ends with a part of an answer."""
        return bool(self.messages) and PARTIAL in self.messages[-1].response_metadata

    @property
    def is_over(self) -> bool:
        """Whether the run has its answer, or there is none."""
        if not self.messages:
            return True
        return isinstance(self.messages[-1], AIMessage) and not self.open_calls and not self.is_cut_off


def is_valid(call: ToolCall | InvalidToolCall) -> TypeGuard[ToolCall]:
    """Whether the model has written a call so that it can be read."""
    return "error" not in call


def read_pending_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """Return the calls of a history that wait for a decision, as the agent that paused has left them.

    For the page of the person who decides, in any process, without an agent or a model. ``Resume`` takes the ids.
    A call that was approved may have run, if the process died then: it waits again, and nothing here tells it.

    Args:
        messages: of the history.

    Examples:
        >>> from hocket import AIMessage, HumanMessage
        >>> read_pending_calls([HumanMessage("Hello."), AIMessage("Hello!")])
        []
    """
    state = read_state(messages)
    return [call for call in state.open_calls if is_valid(call) and call["id"] in state.waiting]


def read_state(messages: Sequence[BaseMessage]) -> RunState:
    """Return what a history says of its last run."""
    at = _find_open_answer(messages)
    if at is None:
        state = RunState(repair_history(messages))
    else:
        answer = messages[at]
        results = {
            message.tool_call_id: message
            for message in reversed(messages[at + 1 :])
            if isinstance(message, ToolMessage)
        }
        calls = calls_of(answer)
        done = [
            results[call["id"] or ""] for call in calls if call["id"] in results
        ]  # each once, and none of other calls
        state = RunState([*repair_history(messages[:at]), answer, *done])
        state.open_calls = [call for call in calls if call["id"] not in results]
        state.waiting = {*answer.response_metadata.get(AWAITS_APPROVAL, ())}
    for message in reversed(state.messages):
        if isinstance(message, HumanMessage):
            break
        if isinstance(message, AIMessage):
            state.model_calls += 1
            if message.usage_metadata and not message.response_metadata.get("cache_hit"):
                state.tokens += message.usage_metadata["total_tokens"]
        elif isinstance(message, ToolMessage):
            state.tool_calls += 1
    return state


def split_question(messages: list[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return what was said before the last messages of the person, and these; where others come last, all is asked."""
    at = len(messages)
    while at and isinstance(messages[at - 1], HumanMessage):
        at -= 1
    return ([], messages) if at == len(messages) else (messages[:at], messages[at:])


def _find_open_answer(messages: Sequence[BaseMessage]) -> int | None:
    """Return the index of the last answer, if only results follow it, and not for each of its calls."""
    done: set[str] = set()
    for at in reversed(range(len(messages))):
        message = messages[at]
        if isinstance(message, ToolMessage):
            done.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return at if any(call["id"] not in done for call in calls_of(message)) else None
        else:
            return None
    return None


class CallIds:
    """The ids of the calls in a conversation: no two are equal, for a result names its call by it."""

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        self._made = {call["id"] or "": 1 for message in messages for call in calls_of(message)}

    def read_stream(self) -> "StreamedCallIds":
        """Return what gives ids to the calls of the next reply, piece by piece."""
        return StreamedCallIds(self._made)

    def give(self, reply: AIMessage, step: int) -> AIMessage:
        """Give an id to each call of a reply that has none, or that of another call."""
        calls, ids = calls_of(reply), dict[int, str | None]()
        for place, call in enumerate(calls):
            ids[place] = _claim_id(self._made, call["id"] or f"call_{step}_{place + 1}")
        if all(call["id"] == ids[place] for place, call in enumerate(calls)):
            return reply
        return with_calls(reply, ids)


class StreamedCallIds:
    """The ids of the calls of a reply that comes in pieces: those that `CallIds.give` gives them when it is whole.

    Args:
        made: the ids of the calls before it, each with how often it was wanted.
    """

    def __init__(self, made: Mapping[str, int]) -> None:
        self._made: dict[str, int] = dict(made)
        self._fold = ToolCallFold()
        self._given: dict[int, str] = {}  # by the calls

    def rename(self, chunk: AIMessageChunk) -> AIMessageChunk:
        """Return a piece in which no call has the id of another one."""
        if not chunk.tool_call_chunks:
            return chunk
        pieces = [self._rename(piece) for piece in chunk.tool_call_chunks]
        return chunk if pieces == chunk.tool_call_chunks else chunk.model_copy(update={"tool_call_chunks": pieces})

    def _rename(self, piece: ToolCallChunk) -> ToolCallChunk:
        call = id(self._fold.add(piece))  # which the fold keeps
        if not (wanted := piece["id"]):
            return piece
        if call not in self._given:
            self._given[call] = _claim_id(self._made, wanted)
        return {**piece, "id": self._given[call]}


def _claim_id(made: dict[str, int], wanted: str) -> str:
    """Return an id that no call has, and take it; ``made``: the ids that are taken, each with how often it was wanted."""
    call_id = wanted
    while call_id in made:
        made[wanted] += 1
        call_id = f"{wanted}_{made[wanted]}"
    made[call_id] = 1
    return call_id


class RunRecord:
    """Keeps the messages of a run: each one is stored before what it causes.

    Nothing is stored before there is an answer of the model, or a part of one: a question that was never answered is not
    part of a conversation.

    Args:
        history: the store; None: there is none.

    Attributes:
        messages: that were added.
        question: that are added together with the first answer.
        is_asking: whether an answer of the model is under way.
        is_unsure: whether the store has failed, so that nobody knows what it has.
        unstored: an answer that the store has not confirmed.
    """

    def __init__(self, history: BaseChatMessageHistory | None) -> None:
        self.messages: list[BaseMessage] = []
        self.question: list[BaseMessage] = []
        self.is_asking: bool = False
        self.is_unsure: bool = False
        self.unstored: BaseMessage | None = None
        self._history = history
        self._stored: set[str] = set()  # the ids of results
        self._waiting: list[ToolMessage] = []
        self._is_storing = False

    async def add_answer(self, answer: BaseMessage) -> None:
        """Add an answer of the model, and the question before it, in one step."""
        added = [*self.question, answer]

        async def keep() -> None:
            self.is_asking = False
            if self._history is not None:
                self.unstored = answer
                await self._append(self._history, added)
                self.unstored = None
            self.question = []
            self.messages.extend(added)

        self._stored.clear()
        await (keep() if self._history is None else finish_write(keep))

    async def add_partial(self, answer: AIMessage, *, closed: bool) -> None:
        """Add what had come of the answer under way when the run was cut off, or left (``closed``), and its question.

        It is stored for a run that has been cancelled, too; should the store fail, what ended the run is what counts.
        """
        part = make_partial(answer, closed=closed) if self.is_asking else None
        if part is None:
            return
        asked, self.question, self.is_asking = self.question, [], False
        self.messages.extend([*asked, part])
        if self._history is not None:
            with contextlib.suppress(Exception):
                await append_partial(ASYNC, self._history, asked, part, closed=closed)

    def holds(self, answer: BaseMessage) -> bool:
        """Whether an answer is the last message that was added."""
        return bool(self.messages) and self.messages[-1] is answer

    async def add_results(self, results: Sequence[ToolMessage]) -> None:
        """Store results of calls, those that are not stored yet; what comes while others are written is written next."""
        if self._history is None:
            return
        new = [result for result in results if result.tool_call_id not in self._stored]
        self._stored.update(result.tool_call_id for result in new)
        self._waiting.extend(new)
        if self._waiting and not self._is_storing:
            await finish_write(functools.partial(self._write_waiting, self._history))

    async def _write_waiting(self, history: BaseChatMessageHistory) -> None:
        self._is_storing = True
        try:
            if self.is_unsure:
                self._waiting = await _find_missing(history, self._waiting)
            while self._waiting:
                messages, self._waiting = self._waiting, []
                try:
                    await self._append(history, messages)
                except BaseException:
                    self._waiting = [*messages, *self._waiting]  # for one more try, when the run ends
                    raise
        finally:
            self._is_storing = False

    async def _append(self, history: BaseChatMessageHistory, messages: Sequence[BaseMessage]) -> None:
        try:
            await history.aadd_messages(messages)
        except BaseException:
            self.is_unsure = True
            raise


async def _find_missing(history: BaseChatMessageHistory, results: Sequence[ToolMessage]) -> list[ToolMessage]:
    """Return the results that a store lacks of the calls that it has."""
    messages = await history.aget_messages()
    made = {call["id"] for message in messages for call in calls_of(message)}
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    missing = made - answered
    return [result for result in results if result.tool_call_id in missing]
