"""The exam of a history: what every store of conversations promises.

    from hocket.testing import ChatHistoryConformance

    class TestMyHistory(ChatHistoryConformance):
        def make(self, session_id: str) -> MyHistory:
            return MyHistory(session_id, path=self.path)

Its sessions are UUIDs of their own, cleared and closed when a test has ended.
"""

import gc
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest
from typing import Any, ClassVar
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest

from hocket.chat_history import BaseChatMessageHistory
from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    get_buffer_string,
)
from hocket.testing.blocking import assert_no_blocking
from hocket.testing.conformance.cancelling import cancel_sooner_or_later
from hocket.testing.conformance.exclusive import ExclusiveExam
from hocket.testing.conformance.suite import BACKENDS, IMAGE
from hocket.testing.conformance.threads import run_in_threads

__all__ = ["ChatHistoryConformance"]

WRITERS = 50
TURNS = 3  # of each writer
SIZE = 3  # messages of a turn
CANCELLED = 42  # appends that are cancelled sooner or later
PAUSE = 0.05  # seconds in which what was left behind would be stored
MANY = 10_000
STALL = 1.0  # seconds for which an event loop may stand still; the machine may be busy

_CALL = {
    "name": "get_weather",
    "args": {"city": "Zürich", "days": 3, "units": None},
    "id": "call_1",
    "type": "tool_call",
}
_SIGNATURE = "EqQBCgYIARgC" * 200 + "=="
_OLD = pytest.mark.filterwarnings("ignore:FunctionMessage is deprecated:DeprecationWarning")


class ChatHistoryConformance(ExclusiveExam):
    """Tests of a history, for its own suite to inherit: order, whole turns among many writers, one run at a time."""

    pytestmark: ClassVar[Any] = [pytest.mark.anyio]

    def make(self, session_id: str) -> BaseChatMessageHistory:
        """Return a history of the conversation ``session_id``, a UUID. Those of one id are one conversation."""
        raise NotImplementedError(f"{type(self).__name__} must define make()")

    @pytest.fixture(autouse=True)
    def _sessions(self) -> Iterator[None]:
        self.__made: dict[str, list[BaseChatMessageHistory]] = {}
        yield
        for histories in self.__made.values():
            histories[0].clear()
            for history in histories:
                history.close()

    def history(self, session_id: str | None = None) -> BaseChatMessageHistory:
        """Return a history that the test leaves behind empty; None: of a new conversation."""
        session_id = session_id or str(uuid4())
        history = self.make(session_id)
        self.__made.setdefault(session_id, []).append(history)
        return history

    # -- what is kept

    @_OLD
    def test_what_goes_in_comes_out(self) -> None:
        """Messages of every class come back as they were, in order, tool calls, usage, artifacts and images included."""
        session = str(uuid4())
        messages = _make_messages()
        self.history(session).add_messages(messages)
        _assert_same(self.history(session).messages, messages)

    @_OLD
    async def test_what_goes_in_comes_out_async(self) -> None:
        """The async methods keep what the sync ones keep."""
        session = str(uuid4())
        messages = _make_messages()
        await self.history(session).aadd_messages(messages)
        _assert_same(await self.history(session).aget_messages(), messages)

    def test_messages_keep_their_order(self) -> None:
        """A hundred turns that follow at once come back in the order in which they were added."""
        history = self.history()
        for number in range(100):
            history.add_messages([HumanMessage(f"question {number}"), AIMessage(f"answer {number}")])
        expected = [f"{kind} {number}" for number in range(100) for kind in ("question", "answer")]
        assert [message.text for message in history.messages] == expected

    def test_what_is_said_in_short(self) -> None:
        """`add_user_message` and `add_ai_message` take a text or a message, `add_message` any; ``str`` is the talk."""
        history = self.history()
        history.add_user_message("one")
        history.add_ai_message("two")
        history.add_user_message(HumanMessage("three", name="Ada"))
        history.add_ai_message(AIMessage("four", id="m"))
        history.add_message(SystemMessage("five"))
        expected = [
            *(HumanMessage("one"), AIMessage("two")),
            *(HumanMessage("three", name="Ada"), AIMessage("four", id="m")),
            SystemMessage("five"),
        ]
        _assert_same(history.messages, expected)
        assert str(history) == get_buffer_string(expected)

    async def test_what_is_said_in_short_async(self) -> None:
        """The async forms keep what the sync ones keep."""
        history = self.history()
        await history.aadd_user_message("one")
        await history.aadd_ai_message("two")
        await history.aadd_message(SystemMessage("three"))
        _assert_same(await history.aget_messages(), [HumanMessage("one"), AIMessage("two"), SystemMessage("three")])

    def test_an_empty_turn_is_none(self) -> None:
        """A new history is empty, and stays so when nothing is added."""
        history = self.history()
        assert history.messages == []
        history.add_messages([])
        assert history.messages == []

    def test_clear_forgets_one_session(self) -> None:
        """`clear` empties its session, which can go on; another session neither sees nor loses anything."""
        history, other = self.history(), self.history()
        history.add_user_message("to be forgotten")
        other.add_user_message("to be kept")
        history.clear()
        history.clear()
        assert history.messages == []
        history.add_user_message("again")
        assert [message.text for message in history.messages] == ["again"]
        assert [message.text for message in other.messages] == ["to be kept"]

    async def test_clear_forgets_one_session_async(self) -> None:
        """`aclear` does as `clear`."""
        history, other = self.history(), self.history()
        await history.aadd_user_message("to be forgotten")
        await other.aadd_user_message("to be kept")
        await history.aclear()
        assert await history.aget_messages() == []
        assert [message.text for message in await other.aget_messages()] == ["to be kept"]

    def test_messages_are_copies(self) -> None:
        """Nobody changes a history by editing what was added to it, or what it returned."""
        history = self.history()
        message = AIMessage([{"type": "text", "text": "said"}], tool_calls=[_CALL], artifact={"a": [1]})
        turn: list[BaseMessage] = [message]
        history.add_messages(turn)
        for messages in (turn, history.messages):
            messages[0].content[0]["text"] = "never said"  # type: ignore[index]
            messages[0].tool_calls[0]["args"]["city"] = "Bern"  # type: ignore[attr-defined]
            messages[0].id = "other"
            messages.append(HumanMessage("never said"))
        (stored,) = history.messages
        assert isinstance(stored, AIMessage)
        assert (stored.text, stored.tool_calls[0]["args"]["city"], stored.id) == ("said", "Zürich", None)

    def test_a_turn_that_cannot_be_kept_is_refused_whole(self) -> None:
        """Something that is no message is refused, and nothing of its turn is kept."""
        history = self.history()
        with pytest.raises(InvalidInput):
            history.add_messages([HumanMessage("before"), {"not": "a message"}])  # type: ignore[list-item]
        assert history.messages == []

    async def test_a_closed_history_opens_again(self) -> None:
        """`aclose`, also at the end of ``async with``, gives back what is open; what was kept stays."""
        session = str(uuid4())
        async with self.history(session) as history:
            await history.aadd_user_message("one")
        await history.aclose()
        await history.aadd_user_message("two")
        assert [message.text for message in await self.history(session).aget_messages()] == ["one", "two"]

    # -- many at once

    async def test_turns_of_many_tasks_stay_whole(self) -> None:
        """Tasks that write to one conversation at once lose nothing; no reader sees a part of a turn, or turns that mix."""
        session = str(uuid4())
        writing = WRITERS

        async def write(writer: int) -> None:
            nonlocal writing
            history = self.history(session)
            for number in range(TURNS):
                await history.aadd_messages(_make_turn(writer, number))
            writing -= 1

        async def read() -> None:
            history = self.history(session)
            while writing:
                _read_whole_turns(await history.aget_messages())
                await anyio.lowlevel.checkpoint()  # a history in memory need not wait

        async with anyio.create_task_group() as group:
            group.start_soon(read)
            for writer in range(WRITERS):
                group.start_soon(write, writer)
        turns = _read_whole_turns(await self.history(session).aget_messages())
        _assert_complete(turns)

    def test_turns_of_many_threads_stay_whole(self) -> None:
        """Threads that write to one conversation at once lose nothing and mix nothing."""
        session = str(uuid4())

        def write(writer: int) -> None:
            history = self.history(session)
            for number in range(TURNS):
                history.add_messages(_make_turn(writer, number))
            _read_whole_turns(history.messages)

        run_in_threads([partial(write, writer) for writer in range(WRITERS)])
        _assert_complete(_read_whole_turns(self.history(session).messages))

    async def test_a_cancelled_append_is_whole_or_not_at_all(self) -> None:
        """Cancelled sooner or later, a turn is kept whole or not; what was not cancelled is kept, and all goes on."""
        history = self.history()
        done = await cancel_sooner_or_later(lambda writer: history.aadd_messages(_make_turn(writer, 0)), CANCELLED)
        turns = _read_whole_turns(await history.aget_messages())
        assert len(set(turns)) == len(turns)
        assert {(writer, 0) for writer in done} <= set(turns)
        await anyio.sleep(PAUSE)
        assert _read_whole_turns(await history.aget_messages()) == turns, (
            "a turn was stored after it had been cancelled"
        )
        await history.aadd_messages(_make_turn(CANCELLED, 0))
        assert _read_whole_turns(await history.aget_messages()) == [*turns, (CANCELLED, 0)]

    async def test_an_append_that_was_cancelled_before_is_not_made(self) -> None:
        """A caller that is cancelled already adds nothing."""
        history = self.history()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anyio.lowlevel.checkpoint()
            await history.aadd_user_message("never said")
        assert await history.aget_messages() == []

    # -- loops and threads

    def test_one_history_in_many_loops(self) -> None:
        """A history works in one event loop after the other, asyncio and trio, with sync calls in between."""
        history = self.history()
        for number, backend in enumerate(BACKENDS * 2):
            anyio.run(history.aadd_messages, _make_turn(0, 2 * number), backend=backend)
            history.add_messages(_make_turn(0, 2 * number + 1))
            assert anyio.run(history.aget_messages, backend=backend) == history.messages
        assert _read_whole_turns(history.messages) == [(0, number) for number in range(4 * len(BACKENDS))]

    def test_one_history_in_many_loops_at_once(self) -> None:
        """A history works in several threads at once, each with a loop of its own."""
        history = self.history()

        def run(backend: str, writer: int) -> None:
            for number in range(TURNS):
                anyio.run(history.aadd_messages, _make_turn(writer, number), backend=backend)

        run_in_threads([partial(run, backend, writer) for writer, backend in enumerate(BACKENDS * 3)])
        assert len(_read_whole_turns(history.messages)) == len(BACKENDS) * 3 * TURNS

    async def test_a_long_history_leaves_the_loop_free(self) -> None:
        """Ten thousand messages are written and read, in order, and the event loop has time for others meanwhile."""
        history = self.history()
        turn = [HumanMessage(f"message {number}") for number in range(MANY)]
        gc.disable()  # to look through what all other tests have left is not the store's doing
        try:
            async with assert_no_blocking(limit=STALL):
                await history.aadd_messages(turn)
                messages = await history.aget_messages()
        finally:
            gc.enable()
        assert [message.text for message in messages] == [message.text for message in turn]


def _make_messages() -> list[BaseMessage]:
    """Return messages of every class, with all that they can hold."""
    return [
        SystemMessage("Be brief."),
        HumanMessage('héllo \U0001f600 \u2028 \x00 "quoted" \\ \n\t', name="Ada", id="m1", extra_field=[1, 2]),
        HumanMessage([{"type": "text", "text": "What is this?"}, IMAGE]),
        AIMessage(
            [
                {"type": "thinking", "thinking": "…", "signature": _SIGNATURE},
                {"type": "redacted_thinking", "data": _SIGNATURE},
                {"type": "text", "text": "A pixel."},
            ],
            tool_calls=[_CALL],
            invalid_tool_calls=[
                {"name": "x", "args": "{", "id": "call_2", "error": "cut", "type": "invalid_tool_call"}
            ],
            usage_metadata={
                "input_tokens": 12,
                "output_tokens": 7,
                "total_tokens": 19,
                "input_token_details": {"cache_read": 8},
                "output_token_details": {"reasoning": 3},
            },
            response_metadata={"model_name": "small", "finish_reason": "tool_calls", "logprobs": None, "score": 0.25},
            additional_kwargs={"refusal": None, "nested": {"list": [1, 2.5, True, None, {"deep": []}]}},
            id="m2",
        ),
        ToolMessage(
            "17 °C", tool_call_id="call_1", status="error", artifact={"raw": [b"\x00\xff"], "at": datetime.now(UTC)}
        ),
        FunctionMessage("4", name="add"),
        ChatMessage("Objection.", role="critic"),
        AIMessageChunk("a piece", id="m3"),
        AIMessage(""),
    ]


def _assert_same(messages: Sequence[BaseMessage], expected: Sequence[BaseMessage]) -> None:
    """Compare one by one, so that a failure names the message."""
    assert len(messages) == len(expected)
    for message, as_it_was in zip(messages, expected, strict=True):
        assert type(message) is type(as_it_was)
        assert message == as_it_was


def _make_turn(writer: int, number: int) -> list[BaseMessage]:
    return [HumanMessage(f"{writer} {number} {part}") for part in range(SIZE)]


def _read_whole_turns(messages: Sequence[BaseMessage]) -> list[tuple[int, int]]:
    """Return the turns, writer and number, of which all messages must be there, together."""
    numbers = [tuple(int(word) for word in message.text.split()) for message in messages]
    turns = [(writer, number) for writer, number, part in numbers if not part]
    expected = [(writer, number, part) for writer, number in turns for part in range(SIZE)]
    # One by one: for what differs in long lists, pytest looks for seconds.
    for have, should_have in zip_longest(numbers, expected):
        assert have == should_have, "a turn is not whole, or mixed with another"
    return turns


def _assert_complete(turns: Sequence[tuple[int, int]]) -> None:
    assert len(turns) == len(set(turns)) == WRITERS * TURNS, "turns were lost, or are there twice"
    for writer in range(WRITERS):
        own = [turn for turn in turns if turn[0] == writer]
        assert own == sorted(own), "the turns of one writer changed places"
