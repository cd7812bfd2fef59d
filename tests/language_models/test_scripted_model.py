"""The scriptable model: whatever a real one can do, at the author's word."""

from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket import AIMessage, HumanMessage, ScriptedChatModel, Turn
from hocket.errors import InvalidInput, ScriptExhausted
from hocket.testing import VirtualClock

CALLS: Any = [
    {"name": "search", "args": {"q": "sky", "deep": [1, {"x": None}]}, "id": "1", "type": "tool_call"},
    {"name": "add", "args": {}, "id": "2", "type": "tool_call"},
]
USAGE: Any = {"input_tokens": 3, "output_tokens": 5, "total_tokens": 8}


async def test_turns_are_answered_in_order() -> None:
    """A text, a turn, a message; each call takes the next."""
    model = ScriptedChatModel(script=["a", Turn(text="b"), AIMessage("c")])
    assert [(await model.ainvoke("x")).content for _ in range(3)] == ["a", "b", "c"]


async def test_a_script_that_is_over_raises(recorder: Any) -> None:
    """One call too many is an error that counts, and not the first answer again."""
    model = ScriptedChatModel(script=["a"])
    await model.ainvoke("x")
    with pytest.raises(ScriptExhausted, match="1 turns, and this is call 2"):
        await model.ainvoke("y", {"callbacks": [recorder]})
    assert recorder.names == ["on_chat_model_start", "on_llm_error"]
    assert len(model.requests) == 1


async def test_a_hundred_calls_take_each_turn_once() -> None:
    """The script is safe to share between tasks and threads."""
    texts = [str(index) for index in range(100)]
    model = ScriptedChatModel(script=texts)
    answers = await model.abatch(["x"] * 100)
    assert sorted(str(answer.content) for answer in answers) == sorted(texts)
    assert len(model.requests) == 100


async def test_requests_are_recorded() -> None:
    """Messages, stop words and options of each call, as copies: editing the conversation later changes no record."""
    model = ScriptedChatModel(script=["a", "b"])
    conversation = [HumanMessage("hi")]
    await model.ainvoke(conversation, stop=["."], temperature=1)
    conversation[0].content = "edited"
    [chunk async for chunk in model.astream("again")]
    first, second = model.requests
    assert ([message.content for message in first.messages], first.stop, first.params) == (
        ["hi"],
        ["."],
        {"temperature": 1},
    )
    assert ([message.content for message in second.messages], second.stop, second.params) == (["again"], None, {})


async def test_a_text_is_streamed_in_words() -> None:
    """Pieces are words with the blank before them; a list of texts is streamed as it is."""
    model = ScriptedChatModel(script=["The sky  is blue", Turn(text=["The s", "ky"]), ""])
    assert [chunk.text async for chunk in model.astream("x")] == ["The", " sky", " ", " is", " blue", ""]
    assert [chunk.text async for chunk in model.astream("x")] == ["The s", "ky", ""]
    assert [chunk.text async for chunk in model.astream("x")] == [""]


CUT: list[tuple[Turn | str | AIMessage, list[str], list[str]]] = [
    ("One. Two. Three.", ["Two"], ["One.", " ", ""]),
    ("One. Two. Three.", [" Two"], ["One.", ""]),
    ("One. Two. Three.", ["Three", "Two", "Four"], ["One.", " ", ""]),
    ("One. Two.", ["One"], [""]),
    (Turn(text=["One S", "T", "OP two"]), ["STOP"], ["One ", ""]),
    (Turn(text=["One S", "TA", "STOP two"]), ["STOP"], ["One S", "TA", ""]),
    (Turn(text="One. Two.", reasoning="Two?", tool_calls=CALLS), ["Two"], ["", "One.", " ", ""]),
    (AIMessage("One. Two.", tool_calls=CALLS, id="given"), ["Two"], ["One. ", ""]),
    (AIMessage(["One. ", {"type": "text", "text": "Two. Three"}]), ["."], ["One", ""]),
    (AIMessage(["One. ", {"type": "text", "text": "Two. Three"}]), ["Three"], ["One. Two. ", ""]),
]


@pytest.mark.parametrize(("turn", "stop", "pieces"), CUT, ids=[str(index) for index in range(len(CUT))])
async def test_an_answer_ends_before_a_stop_word(turn: Any, stop: list[str], pieces: list[str]) -> None:
    """The first in the text counts; no piece of a stream holds a part of it, and no call follows it."""
    model = ScriptedChatModel(script=[turn, turn])
    stream = model.astream("x", stop=stop)
    assert [chunk.text async for chunk in stream] == pieces
    for answer in (stream.message, await model.ainvoke("x", stop=stop)):
        assert answer.text == "".join(pieces)
        assert answer.tool_calls == []
        assert answer.response_metadata["finish_reason"] == "stop"
        assert getattr(turn, "id", None) in (None, answer.id)


async def test_what_holds_no_stop_word_is_whole() -> None:
    """Neither the text, nor the calls, nor why it ended."""
    turn = Turn(text="One.", reasoning="Two?", tool_calls=CALLS, usage=USAGE, metadata={"finish_reason": "tool_calls"})
    model = ScriptedChatModel(script=[turn, turn])
    answer = await model.ainvoke("x", stop=["Two", "search"])
    expected = await model.ainvoke("x")
    assert answer.model_copy(update={"id": None}) == expected.model_copy(update={"id": None})


async def test_everything_a_turn_says_arrives() -> None:
    """Reasoning, text, parallel tool calls, usage and metadata, streamed and whole."""
    turn = Turn(
        text="Let me see.", reasoning="Hm.", tool_calls=CALLS, usage=USAGE, metadata={"finish_reason": "tool_calls"}
    )
    model = ScriptedChatModel(script=[turn, turn])
    stream = model.astream("x")
    chunks = [chunk async for chunk in stream]
    message = await model.ainvoke("x")
    for answer in (message, stream.message):
        assert answer.text == "Let me see."
        assert [block["type"] for block in answer.content_blocks[:2]] == ["reasoning", "text"]
        assert answer.tool_calls == CALLS
        assert answer.usage_metadata == USAGE
        assert answer.response_metadata == {"finish_reason": "tool_calls"}
    assert len([chunk for chunk in chunks if chunk.tool_call_chunks]) == 2 * len(CALLS)
    assert [bool(chunk.usage_metadata) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


async def test_a_message_stands_for_itself() -> None:
    """A message of a script is answered as it is, streamed in one chunk, and not changed."""
    message = AIMessage("hi", tool_calls=CALLS, usage_metadata=USAGE, id="given")
    model = ScriptedChatModel(script=[message, message])
    assert await model.ainvoke("x") == message
    stream = model.astream("x")
    assert len([chunk async for chunk in stream]) == 1
    assert stream.message == message


async def test_delays_go_through_the_clock(virtual_clock: VirtualClock) -> None:
    """``delay`` before the first chunk, ``pause`` before each further one; a test waits for neither."""
    model = ScriptedChatModel(script=[Turn(text="a b c", delay=10, pause=1)])
    times = [virtual_clock.now() async for _ in model.astream("x")]
    assert times[0] >= 10
    assert virtual_clock.now() == 13


@pytest.mark.parametrize(("after", "pieces"), [(0, []), (2, ["The", " sky"]), (99, ["The", " sky", " is", ""])])
async def test_errors_strike_where_the_script_says(after: int, pieces: list[str], recorder: Any) -> None:
    """Before the first chunk, in the middle, or at the end; from `ainvoke` too; raised as they are."""
    error = ConnectionError("lost")
    turn = Turn(text="The sky is", error=error, error_after=after)
    model = ScriptedChatModel(script=[turn, turn])
    seen: list[str] = []
    with pytest.raises(ConnectionError) as raised:
        async for chunk in model.astream("x", {"callbacks": [recorder]}):
            seen.append(chunk.text)
    assert (raised.value, seen) == (error, pieces)
    with pytest.raises(ConnectionError):
        await model.ainvoke("x", {"callbacks": [recorder]})
    recorder.assert_every_run_ended_once()


async def test_an_exception_stands_for_failing_at_once() -> None:
    """An error in the script, then an answer: what a retry needs."""
    model = ScriptedChatModel(script=[TimeoutError("slow"), "yes"])
    with pytest.raises(TimeoutError, match="slow"):
        await model.ainvoke("x")
    assert (await model.ainvoke("x")).content == "yes"


async def test_tools_can_be_bound() -> None:
    """`bind_tools` records the tools with each request, and whatever else is bound; the model itself stays without."""
    model = ScriptedChatModel(script=["a", "b", "c"])
    tools = [{"type": "function", "function": {"name": "search"}}]
    await model.bind_tools(tools, tool_choice="any", parallel=True).ainvoke("x")
    await model.bind_tools(tools).ainvoke("x")
    await model.ainvoke("x")
    assert [request.params for request in model.requests] == [
        {"tools": tools, "tool_choice": "required", "parallel": True},
        {"tools": tools},
        {},
    ]


@pytest.mark.parametrize("verb", ["invoke", "stream", "batch"])
async def test_a_script_in_sync_code(verb: str) -> None:
    """Every sync verb follows the script, too."""
    model = ScriptedChatModel(script=["a"])

    def call() -> str:
        if verb == "stream":
            return "".join(chunk.text for chunk in model.stream("x"))
        return str((model.invoke("x") if verb == "invoke" else model.batch(["x"])[0]).content)

    assert await anyio.to_thread.run_sync(call) == "a"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("abc", "a list of turns, not str"),
        ([42], "not int"),
        ([["a"]], "not list"),
        (iter("ab"), "not str_ascii_iterator"),
    ],
    ids=["str", "int", "list", "iterator"],
)
def test_a_script_is_checked(script: Any, why: str) -> None:
    """A text is no script (it would be one turn a letter), and a turn of the wrong kind is told at construction."""
    with pytest.raises(ValueError, match=why):
        ScriptedChatModel(script=script)


async def test_bound_models_share_the_script() -> None:
    """A binding is the same model with something fixed: one script, one record."""
    model = ScriptedChatModel(script=["a", "b"])
    assert (await model.bind(stop=["."]).ainvoke("x")).content == "a"
    assert (await model.with_config(tags=["t"]).ainvoke("x")).content == "b"
    assert [request.stop for request in model.requests] == [["."], None]


async def test_calls_get_ids() -> None:
    """Those that have none, and each another one, in all of a script; None is an id that is not there."""
    call: Any = {"name": "add", "args": {"a": 1}}
    without: Any = {**call, "id": None}
    model = ScriptedChatModel(script=[Turn(tool_calls=[call, call]), "a", Turn(tool_calls=[call, without])])
    said = [await model.ainvoke("x") for _ in range(3)]
    assert [[made["id"] for made in reply.tool_calls] for reply in said] == [["call_1", "call_2"], [], ["call_3", None]]


@pytest.mark.parametrize("call", [{"name": "add"}, {"args": {}}, {"name": "add", "args": "{}"}, "add", {"type": "x"}])
def test_what_is_no_call_is_refused_when_a_turn_is_made(call: Any) -> None:
    """With what it looks like."""
    with pytest.raises(InvalidInput, match=r"is no tool call; it looks like \{'name': 'weather', 'args'"):
        Turn(tool_calls=[call])
