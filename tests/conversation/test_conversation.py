"""`Conversation`: turns that are whole, in order, and stored."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from hocket import ScriptedChatModel, Turn
from hocket.chat_history import FileChatMessageHistory, InMemoryChatMessageHistory
from hocket.classic.memory import ConversationBufferMemory
from hocket.conversation import Conversation
from hocket.errors import InvalidInput, RateLimitError, UnknownModel
from hocket.language_models import FakeListChatModel
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, validate_history
from tests.kit import Recorder

CALL: Any = {"name": "look", "args": {}, "id": "c1"}


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.history.messages]


def sent(model: ScriptedChatModel) -> list[list[str]]:
    return [[message.text for message in request.messages] for request in model.requests]


async def test_questions_are_sent_with_what_was_said_before() -> None:
    """The system's text first, which is not stored; what changes in between counts from then on."""
    model, other = ScriptedChatModel(script=["one", "two", "three"]), ScriptedChatModel(script=["four"])
    conversation = Conversation(model, system="be brief")
    assert (await conversation.asend("1?")).text == "one"
    assert [chunk.text async for chunk in conversation.astream("2?")] == ["two", ""]
    conversation.system = None
    await conversation.asend(HumanMessage("3?"))
    conversation.model = other
    await conversation.asend("4?")
    assert sent(model) == [["be brief", "1?"], ["be brief", "1?", "one", "2?"], ["1?", "one", "2?", "two", "3?"]]
    assert sent(other) == [["1?", "one", "2?", "two", "3?", "three", "4?"]]
    assert texts(conversation) == ["1?", "one", "2?", "two", "3?", "three", "4?", "four"]


@pytest.mark.parametrize("make", [ScriptedChatModel, FakeListChatModel], ids=["async hook", "sync hook"])
def test_sync(make: Callable[..., Any]) -> None:
    """Without an event loop, whatever hooks the model has."""
    answers = ["one", "two"]
    model = make(script=answers) if make is ScriptedChatModel else make(responses=answers)
    conversation = Conversation(model)
    assert conversation.send("1?").text == "one"
    with conversation.stream("2?") as stream:
        assert "".join(chunk.text for chunk in stream) == stream.message.text == "two"
    assert texts(conversation) == ["1?", "one", "2?", "two"]


def test_it_prints_who_is_asked_and_where_it_is_kept() -> None:
    """And none of what was said, which may be long, or far away."""
    talk = Conversation(ScriptedChatModel(script=["a"]), system="be brief")
    talk.send("secret")
    assert repr(talk) == (
        "Conversation(ScriptedChatModel, history=InMemoryChatMessageHistory(2 messages), system='be brief')"
    )


async def test_options_and_config_reach_the_model() -> None:
    """As those of any call; it is one run, called Conversation."""
    recorder = Recorder("on_chain_start", "on_chat_model_start")
    model = ScriptedChatModel(script=["one", "two"])
    conversation = Conversation(model)
    await conversation.asend("1?", {"callbacks": [recorder]}, temperature=0.5)
    async for _ in conversation.astream("2?", {"callbacks": [recorder]}, temperature=0.7):
        pass
    assert [request.params["temperature"] for request in model.requests] == [0.5, 0.7]
    assert recorder.names == ["on_chain_start", "on_chat_model_start"] * 2
    assert [event.details["name"] for event in recorder.named("on_chain_start")] == ["Conversation"] * 2


async def test_it_goes_on_where_another_process_left_off(tmp_path: Any) -> None:
    """All that is needed is the same history."""
    path = tmp_path / "chat.jsonl"
    await Conversation(ScriptedChatModel(script=["one"]), history=FileChatMessageHistory(path)).asend("1?")
    model = ScriptedChatModel(script=["two"])
    await Conversation(model, history=FileChatMessageHistory(path)).asend("2?")
    assert sent(model) == [["1?", "one", "2?"]]


async def test_calls_and_their_results() -> None:
    """The results of a model's calls are the next thing to say; a call without one does not spoil what follows."""
    model = ScriptedChatModel(script=[Turn(tool_calls=[CALL]), "so", Turn(tool_calls=[CALL]), "well"])
    conversation = Conversation(model, max_messages=1)
    answer = await conversation.asend("1?")
    await conversation.asend([ToolMessage("seen", tool_call_id=answer.tool_calls[0]["id"])])
    await conversation.asend("2?")
    await conversation.asend("3?")
    assert [validate_history(request.messages) for request in model.requests] == [[]] * 4
    assert [message.type for message in model.requests[1].messages] == ["human", "ai", "tool"]


@pytest.mark.parametrize("verb", ["asend", "astream", "left", "send"])
async def test_calls_that_stay_open_are_answered_in_the_store(verb: str) -> None:
    """By the turn that leaves them open, in its append: as the model was told, behind the results that came."""
    appended: list[list[BaseMessage]] = []

    class Watched(InMemoryChatMessageHistory):
        def add_messages(self, messages: Sequence[BaseMessage]) -> None:
            appended.append(list(messages))
            super().add_messages(messages)

    calls = [{**CALL, "id": id} for id in ("c1", "c2", "c3")]
    history = Watched([HumanMessage("1?"), AIMessage("", tool_calls=calls), ToolMessage("one", tool_call_id="c1")])
    appended.clear()
    model = ScriptedChatModel(script=[Turn(text=["so ", "it ", "is"])])
    conversation = Conversation(model, history=history)
    said: list[BaseMessage] = [ToolMessage("three", tool_call_id="c3"), HumanMessage("2?")]
    if verb == "asend":
        await conversation.asend(said)
    elif verb == "send":
        await anyio.to_thread.run_sync(conversation.send, said)
    else:
        async with conversation.astream(said) as stream:
            async for _ in stream:
                if verb == "left":
                    break
    (turn,) = appended
    assert validate_history(history.messages) == []
    assert [getattr(message, "tool_call_id", message.type) for message in turn] == ["c3", "c2", "human", "ai"]
    results = {message.tool_call_id: message.text for message in turn if isinstance(message, ToolMessage)}
    shown = [message for message in model.requests[0].messages if isinstance(message, ToolMessage)]
    assert results.items() <= {message.tool_call_id: message.text for message in shown}.items()


async def test_calls_that_stay_open_in_a_turn_that_fails() -> None:
    """It leaves nothing, their answers neither; so the next one brings them."""
    history = InMemoryChatMessageHistory([HumanMessage("1?"), AIMessage("", tool_calls=[CALL])])
    conversation = Conversation(
        ScriptedChatModel(script=[Turn(error=RateLimitError("slow down")), "so"]), history=history
    )
    with pytest.raises(RateLimitError):
        await conversation.asend("2?")
    assert [message.type for message in history.messages] == ["human", "ai"]
    await conversation.asend([ToolMessage("late", tool_call_id="c1")])
    assert [message.text for message in history.messages] == ["1?", "", "late", "so"]


async def test_calls_that_no_append_can_answer() -> None:
    """An older one, or one without an id: the model is shown a conversation that is whole, and the store gets the turn."""
    for open_call in ({**CALL, "id": None}, CALL):
        last: list[BaseMessage] = [HumanMessage("well?"), AIMessage("well")] if open_call is CALL else []
        history = InMemoryChatMessageHistory([HumanMessage("1?"), AIMessage("", tool_calls=[open_call]), *last])
        before = len(history.messages)
        model = ScriptedChatModel(script=["so"])
        await Conversation(model, history=history).asend("2?")
        assert [message.text for message in history.messages[before:]] == ["2?", "so"]
        assert validate_history(model.requests[0].messages) == []


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_failed_turn_leaves_nothing(streams: bool) -> None:
    """And the next one does not wait for it."""
    broken = Turn(text=["half an ", "answer"], error=RateLimitError("slow down"), error_after=1)
    conversation = Conversation(ScriptedChatModel(script=["one", broken, "two"]))
    await conversation.asend("1?")
    with pytest.raises(RateLimitError):
        if streams:
            async for _ in conversation.astream("2?"):
                pass
        else:
            await conversation.asend("2?")
    await conversation.asend("3?")
    assert texts(conversation) == ["1?", "one", "3?", "two"]


async def test_a_cancelled_turn_leaves_nothing() -> None:
    """Whether it was under way or still in line; the next one does not wait for it."""
    model = ScriptedChatModel(script=[Turn(text="one", delay=3600), "two"])
    conversation = Conversation(model)
    async with anyio.create_task_group() as group:
        group.start_soon(conversation.asend, "1?")
        group.start_soon(conversation.asend, "2?")
        while not model.requests:
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert texts(conversation) == []
    await conversation.asend("3?")
    assert texts(conversation) == ["3?", "two"]


@pytest.mark.parametrize("leaves", ["closes", "cancels"])
async def test_a_stream_left_early_leaves_what_was_read(leaves: str) -> None:
    """And no chunk more, though the model is faster than its reader; flagged as a part."""
    model = ScriptedChatModel(script=[Turn(text=["one ", "two ", "three ", "four"]), "and on"])
    conversation = Conversation(model)
    stream = conversation.astream("count")
    assert [(await anext(stream)).text for _ in range(2)] == ["one ", "two "]
    if leaves == "closes":
        await stream.aclose()
    else:
        with anyio.CancelScope() as scope:
            scope.cancel()
            async for _ in stream:
                pass
        await stream.aclose()
    kept = conversation.history.messages
    read = stream.message.text
    assert read.startswith("one two ") and [message.text for message in kept] == ["count", read]
    assert (leaves, read) != ("closes", "one two three ")
    assert kept[-1].response_metadata["partial"] is True
    assert (kept[-1].response_metadata.get("closed") is True) == (leaves == "closes")
    await conversation.asend("go on")
    assert sent(model)[1] == ["count", read, "go on"]


def test_a_sync_stream_left_early_leaves_what_was_read() -> None:
    """As an async one, and so does Ctrl-C."""
    turn = Turn(text=["one ", "two ", "three"])
    conversation = Conversation(ScriptedChatModel(script=[turn, turn]))
    with conversation.stream("count") as stream:
        next(stream)
    with pytest.raises(KeyboardInterrupt), conversation.stream("again") as stream:
        for chunk in stream:
            if chunk.text == "two ":
                raise KeyboardInterrupt
    assert texts(conversation) == ["count", "one ", "again", "one two "]


async def test_a_stream_left_before_it_began_leaves_nothing() -> None:
    """Nor does the model hear of it."""
    model = ScriptedChatModel(script=["one"])
    conversation = Conversation(model)
    stream = conversation.astream("1?")
    await stream.aclose()
    assert (stream.message.text, texts(conversation), model.requests) == ("", [], [])


async def test_turns_are_taken_one_after_another() -> None:
    """In the order in which they were asked for: each is sent with those before it."""
    model = ScriptedChatModel(script=[Turn(text=f"to {index}", delay=0.001) for index in range(10)])
    conversation = Conversation(model)
    async with anyio.create_task_group() as group:
        for index in range(10):
            group.start_soon(conversation.asend, str(index))
    for index, request in enumerate(model.requests):
        assert len(request.messages) == 2 * index + 1
    assert texts(conversation)[1::2] == [f"to {index}" for index in range(10)]


def test_turns_of_many_threads() -> None:
    """None is lost, and each stays together."""
    conversation = Conversation(FakeListChatModel(responses=["so"]))
    threads = [threading.Thread(target=conversation.send, args=(str(index),)) for index in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    said = texts(conversation)
    assert sorted(said[::2], key=int) == [str(index) for index in range(20)]
    assert said[1::2] == ["so"] * 20


@pytest.mark.parametrize("make", [ScriptedChatModel, FakeListChatModel], ids=["async hook", "sync hook"])
def test_a_thread_does_not_wait_for_itself(make: Callable[..., Any]) -> None:
    """Who has not read a stream to its end, and asks on, is told so instead of waiting for ever."""
    answers = ["one two three", "so"]
    model = make(script=answers) if make is ScriptedChatModel else make(responses=answers)
    conversation = Conversation(model)
    with conversation.stream("1?") as stream:
        next(stream)
        with pytest.raises(InvalidInput, match="still under way in this thread"):
            conversation.send("2?")
        with pytest.raises(InvalidInput, match="read its stream to the end, or close it"):
            next(conversation.stream("2?"))
    assert conversation.send("2?").text == "so"


async def test_a_loop_does_not_wait_for_itself() -> None:
    """Where a sync verb is called while a turn is under way in the same loop."""
    conversation = Conversation(FakeListChatModel(responses=["one two three", "so"]))
    async with conversation.astream("1?") as stream:
        await anext(stream)
        with pytest.raises(InvalidInput, match="in an event loop, await asend"):
            conversation.send("2?")
    assert (await conversation.asend("2?")).text == "so"


async def test_a_task_does_not_wait_for_itself() -> None:
    """Who keeps a stream that it has not read to its end, and asks on, is told so; others wait, and so it does again."""
    conversation = Conversation(ScriptedChatModel(script=["one two three", "so", "and so", "on"]))
    stream = conversation.astream("1?")
    await anext(stream)
    with pytest.raises(InvalidInput, match="still under way in this task"):
        await conversation.asend("2?")
    with pytest.raises(InvalidInput, match="read its stream to the end, or close it"):
        await anext(conversation.astream("2?"))
    async with anyio.create_task_group() as group:
        group.start_soon(conversation.asend, "2?")
        await anyio.wait_all_tasks_blocked()
        await stream.aclose()
    async for _ in conversation.astream("3?"):  # nobody keeps this one
        break
    await conversation.asend("4?")
    assert texts(conversation) == ["1?", "one", "2?", "so", "3?", "and", "4?", "on"]


async def test_a_stream_may_be_read_by_another_task() -> None:
    """The one that has begun to read it may ask on, and waits for the other."""
    conversation = Conversation(ScriptedChatModel(script=[Turn(text=["one ", "two ", "three"], delay=0.001), "so"]))
    stream = conversation.astream("1?")
    await anext(stream)

    async def read_on() -> None:
        async for _ in stream:
            pass

    async with anyio.create_task_group() as group:
        group.start_soon(read_on)
        await anyio.wait_all_tasks_blocked()
        await conversation.asend("2?")
    assert texts(conversation) == ["1?", "one two three", "2?", "so"]


def test_a_model_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `init_chat_model` takes it, at the beginning and between turns; what is no model is refused at once."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    conversation = Conversation("openai:gpt-5.2")
    assert type(conversation.model).__name__ == "ChatOpenAI"
    conversation.model = "openai:gpt-4o"
    assert conversation.model.model == "gpt-4o"  # type: ignore[attr-defined]
    with pytest.raises(UnknownModel, match="no-such-model"):
        Conversation("no-such-model")
    with pytest.raises(InvalidInput, match="model is int; it must be a chat model, or a name such as"):
        Conversation(42)  # type: ignore[arg-type]


def test_a_model_that_answers_with_objects_is_refused_before_it_is_asked():
    """A conversation consists of messages; an agent takes both."""
    model = ScriptedChatModel(script=['{"name": "Ada"}'])
    schema = {"title": "Person", "type": "object", "properties": {"name": {"type": "string"}}}
    typed: Any = model.with_structured_output(schema)
    for made in (typed, typed.with_config(tags=["typed"])):
        with pytest.raises(InvalidInput, match=r"answers with objects .* create_agent\(model, response_format"):
            Conversation(made)
    conversation = Conversation(model)
    with pytest.raises(InvalidInput, match="answers with objects"):
        conversation.model = typed
    assert not model.requests


async def test_a_turn_is_one_run_with_the_models_inside() -> None:
    """Its input is the question, its output the answer; no run is between it and the model's."""
    recorder = Recorder("on_chain_start", "on_chat_model_start", "on_chain_end")
    conversation = Conversation(ScriptedChatModel(script=["one", "two"]))
    await conversation.asend("1?", {"callbacks": [recorder]})
    start, model_start, end = recorder.events
    assert [message.text for message in start.args[1]] == ["1?"]
    assert model_start.details["parent_run_id"] == start.details["run_id"] == end.details["run_id"]
    assert end.args[0].text == "one"
    assert recorder.names == ["on_chain_start", "on_chat_model_start", "on_chain_end"]


def test_what_is_refused() -> None:
    """At once, by what the caller sees first."""
    model = ScriptedChatModel(script=[])
    conversation = Conversation(model)
    for empty in ("", "  ", [], HumanMessage("")):
        with pytest.raises(InvalidInput, match="the question is empty"):
            conversation.send(empty)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="the question is empty"):
            conversation.astream(empty)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="what is said must be a text, a message or a list of messages, not int"):
        conversation.send(7)  # type: ignore[arg-type]
    for limit in ({"max_messages": 0}, {"max_tokens": -1}):
        with pytest.raises(InvalidInput, match=r"it must be above 0"):
            Conversation(model, **limit)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a memory has its own history"):
        Conversation(model, history=InMemoryChatMessageHistory(), memory=ConversationBufferMemory())
    assert model.requests == []


async def test_an_answer_without_a_word_is_no_turn() -> None:
    """It would be refused with every question to come."""
    conversation = Conversation(ScriptedChatModel(script=[""]))
    assert (await conversation.asend("1?")).text == ""
    assert texts(conversation) == []


def test_a_history_that_is_empty_is_used() -> None:
    """And not taken for none."""
    history = InMemoryChatMessageHistory()
    Conversation(ScriptedChatModel(script=["one"]), history=history).send("1?")
    assert [type(message) for message in history.messages] == [HumanMessage, AIMessage]
