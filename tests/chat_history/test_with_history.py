"""`RunnableWithMessageHistory`: what goes in with a call, what is stored after it, and what never is."""

from typing import Any

import anyio
import pytest

from hocket import ChatPromptTemplate, MessagesPlaceholder, ScriptedChatModel, StrOutputParser, Turn
from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.errors import HistoryError, InvalidInput, RateLimitError
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, validate_history
from hocket.runnables import ConfigurableFieldSpec, RunnableLambda, RunnableParallel, RunnableWithMessageHistory
from tests.kit import Recorder

ONE: Any = {"configurable": {"session_id": "one"}}


class Store:
    """Histories by session."""

    def __init__(self) -> None:
        self.histories: dict[Any, InMemoryChatMessageHistory] = {}

    def __call__(self, session_id: Any) -> InMemoryChatMessageHistory:
        return self.histories.setdefault(session_id, InMemoryChatMessageHistory())

    def texts(self, session_id: Any = "one") -> list[str]:
        return [message.text for message in self(session_id).messages]


def sent(model: ScriptedChatModel) -> list[list[str]]:
    return [[message.text for message in request.messages] for request in model.requests]


def test_it_is_found_where_langchain_has_it() -> None:
    """In `hocket.runnables`, and in its module ``history``."""
    from hocket.chat_history.with_history import RunnableWithMessageHistory as home
    from hocket.runnables.history import RunnableWithMessageHistory as there

    assert RunnableWithMessageHistory is there is home


async def test_messages_in_a_message_out() -> None:
    """What was said before comes first; the turn is stored; another session knows nothing of it."""
    store, model = Store(), ScriptedChatModel(script=["one", "two", "three"])
    remembering = RunnableWithMessageHistory(model, store)
    assert (await remembering.ainvoke("1?", ONE)).text == "one"
    await remembering.ainvoke([HumanMessage("2?")], ONE)
    await remembering.ainvoke(HumanMessage("3?"), {"configurable": {"session_id": "two"}})
    assert sent(model) == [["1?"], ["1?", "one", "2?"], ["3?"]]
    assert (store.texts(), store.texts("two")) == (["1?", "one", "2?", "two"], ["3?", "three"])


def test_sync() -> None:
    """Without an event loop, once and in pieces."""
    store, model = Store(), ScriptedChatModel(script=["one", "two and", "three"])
    remembering = RunnableWithMessageHistory(model, store)
    assert remembering.invoke("1?", ONE).text == "one"
    assert [chunk.text for chunk in remembering.stream("2?", ONE)] == ["two", " and", ""]
    assert store.texts() == ["1?", "one", "2?", "two and"]
    assert type(store("one").messages[-1]) is AIMessage


PROMPT = ChatPromptTemplate.from_messages(
    [("system", "{manner}"), MessagesPlaceholder("history"), ("human", "{question}")]
)


async def test_a_mapping_with_a_key_for_what_was_said_before() -> None:
    """A prompt's placeholder is filled; only what is asked is stored; a text that comes out is the model's."""
    store, model = Store(), ScriptedChatModel(script=["one", "two"])
    remembering = RunnableWithMessageHistory(
        PROMPT | model | StrOutputParser(), store, input_messages_key="question", history_messages_key="history"
    )
    assert await remembering.ainvoke({"question": "1?", "manner": "brief"}, ONE) == "one"
    pieces = [piece async for piece in remembering.astream({"question": "2?", "manner": "long"}, ONE)]
    assert "".join(pieces) == "two"
    assert sent(model) == [["brief", "1?"], ["long", "1?", "one", "2?"]]
    assert [message.type for message in store("one").messages] == ["human", "ai"] * 2


async def test_a_mapping_with_all_messages_under_one_key() -> None:
    """What was said before comes before what is asked, in the same value."""
    store, model = Store(), ScriptedChatModel(script=["one", "two"])
    chain = RunnableLambda(lambda given: given["messages"], inline=True) | model
    remembering = RunnableWithMessageHistory(chain, store, input_messages_key="messages")
    for question in ("1?", "2?"):
        await remembering.ainvoke({"messages": question}, ONE)
    assert sent(model) == [["1?"], ["1?", "one", "2?"]]


@pytest.mark.parametrize(
    ("options", "output"),
    [
        ({}, {"answer": "so"}),
        ({}, {"output": AIMessage("so"), "why": "because"}),
        ({"output_messages_key": "said"}, {"said": [AIMessage("so")], "output": "no"}),
    ],
    ids=["the only key", "output", "named"],
)
async def test_a_mapping_out(options: dict[str, str], output: dict[str, Any]) -> None:
    """The answer is under the key that is named, or the only one, or "output"."""
    store = Store()
    remembering = RunnableWithMessageHistory(RunnableLambda(lambda _: output), store, **options)
    assert await remembering.ainvoke("1?", ONE) == output
    assert store.texts() == ["1?", "so"]


async def test_a_stream_of_mappings() -> None:
    """They are put together before the answer is looked for."""
    store, model = Store(), ScriptedChatModel(script=["one two"])
    remembering = RunnableWithMessageHistory(
        RunnableParallel(said=model, length=len), store, output_messages_key="said"
    )
    assert [piece async for piece in remembering.astream("1?", ONE)]
    assert store.texts() == ["1?", "one two"]


CALL = {"name": "look", "args": {}, "id": "c1"}


async def test_a_turn_with_tools_is_one_append() -> None:
    """Calls, results and answer go in together, so that nobody ever reads a call without its result."""
    appended: list[int] = []

    class Counting(InMemoryChatMessageHistory):
        def add_messages(self, messages: Any) -> None:
            appended.append(len(messages))
            super().add_messages(messages)

    history = Counting()
    said = [AIMessage("", tool_calls=[CALL]), ToolMessage("seen", tool_call_id="c1"), AIMessage("so")]
    remembering = RunnableWithMessageHistory(RunnableLambda(lambda _: said), lambda: history)
    await remembering.ainvoke("1?")
    assert [size for size in appended if size] == [4]
    assert validate_history(history.messages) == []


async def test_results_of_calls_are_asked_in_the_next_turn() -> None:
    """A call that still waits for its result gets it; one that never got it does not spoil the conversation."""
    store = Store()
    calling = Turn(tool_calls=[CALL])
    model = ScriptedChatModel(script=[calling, "so", calling, "well"])
    remembering = RunnableWithMessageHistory(model, store)
    await remembering.ainvoke("1?", ONE)
    await remembering.ainvoke(ToolMessage("seen", tool_call_id="c1"), ONE)
    await remembering.ainvoke("2?", ONE)
    await remembering.ainvoke("never mind", ONE)
    assert [validate_history(request.messages) for request in model.requests] == [[]] * 4
    assert [message.type for message in model.requests[1].messages] == ["human", "ai", "tool"]
    assert [message.type for message in model.requests[3].messages[-3:]] == ["ai", "tool", "human"]


@pytest.mark.parametrize("verb", ["ainvoke", "astream", "invoke", "a part"])
async def test_calls_that_a_question_leaves_open_are_answered_in_the_store(verb: str) -> None:
    """As the model is shown them, and in the same append; of a stream that is left early, too."""
    store = Store()
    model = ScriptedChatModel(script=[Turn(tool_calls=[CALL]), Turn(text=["never ", "mind"])])
    remembering = RunnableWithMessageHistory(model, store)
    await remembering.ainvoke("1?", ONE)
    if verb == "ainvoke":
        await remembering.ainvoke("2?", ONE)
    elif verb == "invoke":
        await anyio.to_thread.run_sync(remembering.invoke, "2?", ONE)
    else:
        async with remembering.astream("2?", ONE) as stream:
            async for _ in stream:
                if verb == "a part":
                    break
    kinds = [message.type for message in store("one").messages]
    assert kinds == ["human", "ai", "tool", "human", "ai"]
    assert validate_history(store("one").messages) == []


@pytest.mark.parametrize("keys", [{}, {"input_messages_key": "q", "history_messages_key": "h"}], ids=["list", "keys"])
async def test_a_result_of_no_call_is_refused(keys: Any) -> None:
    """Before the model is asked: a provider would refuse it, and left out, it would leave nothing to answer."""
    store = Store()
    model = ScriptedChatModel(script=[Turn(tool_calls=[CALL]), "so"])
    remembering = RunnableWithMessageHistory(RunnableLambda(_all_of) | model, store, **keys)

    async def say(message: Any) -> None:
        await remembering.ainvoke({"q": message} if keys else message, ONE)

    result = ToolMessage("seen", tool_call_id="c1")
    with pytest.raises(InvalidInput, match="no message makes the call 'c1'"):
        await say(result)
    await say("1?")
    await say(result)
    with pytest.raises(InvalidInput, match="call 'c1' has a result already"):
        await say(result)
    assert len(model.requests) == 2
    assert len(store(ONE["configurable"]["session_id"]).messages) == 4


def _all_of(given: Any) -> Any:
    """Return the messages that a runnable gets, in one list."""
    if not isinstance(given, dict):
        return given
    asked: Any = given["q"]
    return [*given["h"], HumanMessage(asked) if isinstance(asked, str) else asked]


@pytest.mark.parametrize("error", [RateLimitError("slow down"), KeyError("mine")], ids=repr)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_failed_turn_leaves_nothing(error: Exception, streams: bool) -> None:
    """Not even the question, nor what had come of the answer."""
    store = Store()
    model = ScriptedChatModel(script=["one", Turn(text=["half an ", "answer"], error=error, error_after=1)])
    remembering = RunnableWithMessageHistory(model, store)
    await remembering.ainvoke("1?", ONE)
    with pytest.raises(type(error)):
        if streams:
            async for _ in remembering.astream("2?", ONE):
                pass
        else:
            await remembering.ainvoke("2?", ONE)
    assert store.texts() == ["1?", "one"]


async def test_a_cancelled_turn_leaves_nothing() -> None:
    """Of a call that is not a stream, of which nobody has seen anything."""
    store = Store()
    remembering = RunnableWithMessageHistory(ScriptedChatModel(script=[Turn(text="so", delay=3600)]), store)
    with anyio.move_on_after(0.05) as scope:
        await remembering.ainvoke("1?", ONE)
    assert scope.cancelled_caught
    assert store.texts() == []


@pytest.mark.parametrize("leaves", ["closes", "cancels", "drops"])
async def test_a_stream_left_early_leaves_what_had_come(leaves: str) -> None:
    """Flagged as a part, however it was left."""
    store = Store()
    model = ScriptedChatModel(script=[Turn(text=["one ", "two ", "three"], pause=3600)])
    stream = RunnableWithMessageHistory(model, store).astream("count", ONE)
    assert (await anext(stream)).text == "one "
    if leaves == "closes":
        await stream.aclose()
    elif leaves == "cancels":
        with anyio.move_on_after(0.05):
            await anext(stream)
    else:
        del stream
        await anyio.wait_all_tasks_blocked()
    assert store.texts() == ["count", "one "]
    flags = store("one").messages[-1].response_metadata
    assert (flags["partial"], flags.get("closed")) == (True, None if leaves == "cancels" else True)


async def test_a_stream_left_before_any_text_leaves_nothing() -> None:
    """Half of a thought is nothing that a provider takes back."""
    store = Store()
    model = ScriptedChatModel(script=[Turn(reasoning="hm", text="so", pause=3600)])
    async with RunnableWithMessageHistory(model, store).astream("why?", ONE) as stream:
        await anext(stream)
    assert store.texts() == []


def test_a_sync_stream_left_early_leaves_what_had_come() -> None:
    """Also where the model is stepped, in the caller's thread."""
    store = Store()

    def count(_: Any) -> Any:
        yield AIMessage("one")
        raise AssertionError("nobody asked for more")

    with RunnableWithMessageHistory(count, store).stream("count", ONE) as stream:
        assert next(stream).text == "one"
    assert store.texts() == ["count", "one"]


@pytest.mark.parametrize("answer", ["", AIMessage("  "), []], ids=repr)
async def test_no_answer_is_no_turn(answer: Any) -> None:
    """A message that says nothing would be refused with every question to come."""
    store = Store()
    assert await RunnableWithMessageHistory(RunnableLambda(lambda _: answer), store).ainvoke("1?", ONE) == answer
    assert store.texts() == []


async def test_turns_at_the_same_time() -> None:
    """None is lost, and each stays together."""
    store = Store()

    async def answer(messages: list[BaseMessage]) -> str:
        await anyio.sleep(0.001)
        return f"to {messages[-1].text}"

    remembering = RunnableWithMessageHistory(answer, store)
    await remembering.abatch([str(index) for index in range(50)], ONE, return_exceptions=False)
    texts = store.texts()
    assert texts[1::2] == [f"to {question}" for question in texts[::2]]
    assert sorted(texts[::2], key=int) == [str(index) for index in range(50)]


async def test_more_than_one_key() -> None:
    """The function gets them by name."""
    kept = InMemoryChatMessageHistory()
    asked: list[tuple[str, str]] = []

    async def find(*, user_id: str, thread: str) -> InMemoryChatMessageHistory:
        await anyio.lowlevel.checkpoint()
        asked.append((user_id, thread))
        return kept

    keys = [ConfigurableFieldSpec("user_id", str), ConfigurableFieldSpec("thread", str)]
    remembering = RunnableWithMessageHistory(ScriptedChatModel(script=["so"]), find, history_factory_config=keys)
    assert [spec.id for spec in remembering.config_specs] == ["user_id", "thread"]
    with pytest.raises(InvalidInput, match="which conversation this is: thread is missing under 'configurable'"):
        await remembering.ainvoke("1?", {"configurable": {"user_id": "ada"}})
    await remembering.ainvoke("1?", {"configurable": {"user_id": "ada", "thread": "t"}})
    assert (asked, len(kept.messages)) == ([("ada", "t")], 2)

    def other(user: str) -> InMemoryChatMessageHistory:
        return kept

    wrong = RunnableWithMessageHistory(ScriptedChatModel(script=[]), other, history_factory_config=keys)
    with pytest.raises(InvalidInput, match="names user_id, thread, and get_session_history takes user"):
        wrong.invoke("1?", {"configurable": {"user_id": "ada", "thread": "t"}})


REFUSED: list[tuple[dict[str, Any], Any, Any, str]] = [
    ({}, "1?", None, "session_id is missing"),
    ({}, 7, ONE, "what is asked must be a text, a message or a list of messages, not int"),
    ({}, {"a": "1?", "b": "2?"}, ONE, "the input has no key 'input', only 'a', 'b'"),
    ({"input_messages_key": "q"}, "1?", ONE, "input_messages_key is set, so the input must be a mapping, not str"),
    ({"history_messages_key": "h"}, "1?", ONE, "history_messages_key is set, so the input must be a mapping"),
]


@pytest.mark.parametrize(("options", "input", "config", "message"), REFUSED, ids=[row[3] for row in REFUSED])
async def test_what_is_refused(options: dict[str, Any], input: Any, config: Any, message: str) -> None:
    """Before the model is asked."""
    model = ScriptedChatModel(script=["so"])
    with pytest.raises(InvalidInput, match=message):
        await RunnableWithMessageHistory(model, Store(), **options).ainvoke(input, config)
    assert model.requests == []


async def test_an_output_without_messages_is_told() -> None:
    """LangChain logs it and loses the turn."""
    with pytest.raises(InvalidInput, match="the answer must be a text, a message or a list of messages, not int"):
        await RunnableWithMessageHistory(RunnableLambda(lambda _: 7), Store()).ainvoke("1?", ONE)
    with pytest.raises(InvalidInput, match="get_session_history returned NoneType"):
        await RunnableWithMessageHistory(RunnableLambda(lambda _: "so"), lambda: None).ainvoke("1?")  # type: ignore[arg-type, return-value]


class Broken(BaseChatMessageHistory):
    """Can be read, and not written."""

    messages: list[BaseMessage] = []  # type: ignore[misc]  # noqa: RUF012

    def add_messages(self, messages: Any) -> None:
        raise HistoryError("the disk is full")


async def test_a_turn_that_cannot_be_stored_is_told() -> None:
    """At the end of a stream, too."""
    remembering = RunnableWithMessageHistory(ScriptedChatModel(script=["one", "two"]), Broken)
    with pytest.raises(HistoryError, match="the disk is full"):
        await remembering.ainvoke("1?")
    chunks = []
    with pytest.raises(HistoryError, match="the disk is full"):
        async for chunk in remembering.astream("2?"):
            chunks.append(chunk.text)
    assert "".join(chunks) == "two"


async def test_it_is_one_run_with_the_runnable_inside() -> None:
    """Functions inside find the history in their config."""
    seen: list[Any] = []

    def look(messages: Any, config: Any) -> str:
        seen.append(config["configurable"]["message_history"])
        return "so"

    store, recorder = Store(), Recorder("on_chain_start")
    await RunnableWithMessageHistory(look, store).ainvoke("1?", {**ONE, "callbacks": [recorder]})
    names = [(details["name"], details["parent_run_id"] is None) for *_, details in recorder.events]
    assert names == [("RunnableWithMessageHistory", True), ("look", False)]
    assert seen == [store("one")]
