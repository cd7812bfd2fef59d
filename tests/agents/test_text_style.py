"""The text style through the whole loop: a model that calls tools in its text is an agent like any other."""

from collections.abc import Sequence
from typing import Any, Literal

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, LimitReached, Resume, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import RateLimitError, StopRun, Unsupported
from hocket.messages import AIMessage, BaseMessage, ToolMessage, repair_history
from hocket.runnables import RunnableLambda
from hocket.tools import tool
from tests.agents.conftest import add, call, pay
from tests.kit import HookCall, Recorder, hook_class

ADD = 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}'
PAY = "Thought: I pay.\nAction: pay\nAction Input: 5"
DONE = "Thought: I know.\nFinal Answer: It is 3."
STOP = ["\nObservation", "\n观察"]


class PlainModel(hook_class()):
    """A model that cannot be given tools, and heeds no stop words."""


class ReasoningModel(hook_class()):
    """A model whose server has no word for stop words."""

    @property
    def _refused_options(self) -> frozenset[str]:
        return frozenset({"stop"})


class Hour(BaseModel):
    """An hour of the day."""

    hour: int
    city: str


def follow(*script: str) -> Any:
    """Return what a hook does that follows a script."""
    replies = iter(script)
    return lambda asked: next(replies)


def last_prompt(model: ScriptedChatModel, index: int = -1) -> str:
    return model.requests[index].messages[-1].text


# -- when it is used


def script(*replies: str | BaseException, **fields: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=replies, **fields)


def busy(**fields: Any) -> ScriptedChatModel:
    return script(RateLimitError("1"), RateLimitError("2"), **fields)


def as_function() -> Any:
    replies = follow(ADD, DONE)
    return RunnableLambda(lambda messages: AIMessage(replies(messages)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: script(ADD, DONE, profile={"tool_calling": False}),
        lambda: PlainModel(do=follow(ADD, DONE)),
        as_function,
        lambda: RunnableLambda(list) | PlainModel(do=follow(ADD, DONE)),
        lambda: PlainModel(do=follow(ADD, DONE)).with_retry(),
        lambda: busy().with_fallbacks([PlainModel(do=follow(ADD, DONE))]),
        lambda: busy(profile={"tool_calling": True}).with_fallbacks(
            [script(ADD, DONE, profile={"tool_calling": False})]
        ),
        lambda: busy().with_fallbacks([as_function()]),
        lambda: PlainModel(do=follow(ADD, DONE)).with_fallbacks([script()]),
    ],
    ids=["profile", "bind", "function", "sequence", "retry", "fallback", "its profile", "its function", "first"],
)
async def test_a_model_that_takes_no_tools_is_asked_in_text(make: Any) -> None:
    """Also where only one of those that may answer takes none."""
    result = await create_agent(make(), [add]).ainvoke("What is 1 + 2?")
    assert (result.output, [step.observation for step in result.steps]) == ("It is 3.", ["3"])


@pytest.mark.parametrize(
    "make", [lambda: PlainModel(do=follow()), as_function, lambda: busy().with_fallbacks([as_function()])]
)
def test_native_calls_of_a_model_that_takes_none_are_refused_at_the_door(make: Any) -> None:
    """So the way out is in the traceback of the line that is wrong."""
    with pytest.raises(NotImplementedError):
        create_agent(make(), [add], style="native")


async def test_native_calls_within_the_text_style_are_run_as_they_are() -> None:
    """The first of two models knows tools, and the other does not: each may answer in its way."""
    model = ScriptedChatModel(script=[Turn(text="I add.", tool_calls=[call("add", a=1, b=2)]), DONE])
    result = await create_agent(model, [add], style="react").ainvoke("What is 1 + 2?")
    assert [message.type for message in result.messages] == ["human", "ai", "tool", "ai"]
    assert "Thought: I add.\nAction: add\n" in last_prompt(model)


# -- stop words, and what the model makes up


async def test_stop_words_are_sent_where_the_model_takes_them() -> None:
    """They are those of both languages; options of a middleware or of the model go along."""
    model = script(ADD, DONE)
    await create_agent(model.bind(temperature=0), [add], style="react").ainvoke("What is 1 + 2?")
    assert [(asked.stop, asked.params["temperature"]) for asked in model.requests] == [(STOP, 0), (STOP, 0)]


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_model_that_takes_no_stop_words_is_asked_once_without_them(streamed: bool) -> None:
    """Nothing fails on the way, and no handler hears of an error; also where it is the fallback."""
    model = ReasoningModel(do=follow(ADD, ADD, DONE))
    for asked in (model, busy().with_fallbacks([ReasoningModel(do=follow(DONE))])):
        recorder = Recorder()
        agent = create_agent(asked, [add], style="react")
        if streamed:
            stream = agent.astream("What is 1 + 2?", {"callbacks": [recorder]})
            assert [event.kind async for event in stream][-1] == "end"
            result = stream.result
        else:
            result = await agent.ainvoke("What is 1 + 2?", {"callbacks": [recorder]})
        assert result is not None and result.output == "It is 3."
        assert "on_llm_error" not in recorder.names or asked is not model
    assert [one.stop for one in model._requests] == [None] * 3


async def test_a_model_that_refuses_stop_words_by_itself_is_asked_again_without_them() -> None:
    """It has raised `Unsupported` before anything was sent; the run remembers it."""

    def reply(asked: HookCall) -> str:
        if asked.stop:
            raise Unsupported("no stop words here")
        return next(replies)

    replies = iter([ADD, ADD, DONE])
    model = PlainModel(do=reply)
    assert (await create_agent(model, [add]).ainvoke("What is 1 + 2?")).output == "It is 3."
    assert [bool(asked.stop) for asked in model._requests] == [True, False, False, False]


@pytest.mark.parametrize("invention", ["\nObservation: 4\nThought: so\nFinal Answer: 4", "\n观察：4\n回答：4"])
async def test_observations_that_a_model_makes_up_are_cut(invention: str) -> None:
    """Where it heeds no stop words: they are neither believed, nor stored, nor shown."""
    agent = create_agent(PlainModel(do=follow(ADD + invention, DONE)), [add])
    stream = agent.astream("What is 1 + 2?")
    shown = "".join([event.chunk.text async for event in stream if event.chunk])
    assert stream.result is not None
    assert (shown, stream.result.output) == ("It is 3.", "It is 3.")
    assert [message.text for message in stream.result.messages] == ["What is 1 + 2?", "I add.", "3", "It is 3."]


# -- replies that cannot be read


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("I wonder.", "Your reply has no Action."),
        ("", "Your reply was empty."),
        ("Thought: I know.\nFinal Answer:", "Your reply was empty."),
        ("Action: add", "Your Action has no input."),
        (ADD + "\nFinal Answer: 3", "Your reply has an Action and a Final Answer."),
        ('Action: add\nAction Input: {"a": 1,', "The JSON in your reply could not be read"),
    ],
)
async def test_a_reply_that_cannot_be_read_is_told_what_was_wrong(reply: str, told: str) -> None:
    """In the next prompt, behind the question; it is not stored, and costs one call."""
    model = script(reply, DONE)
    result = await create_agent(model, [add], style="react").ainvoke("What is 1 + 2?")
    assert (result.output, result.model_calls) == ("It is 3.", 2)
    assert [message.type for message in result.messages] == ["human", "ai"]
    assert last_prompt(model).index("Question: What is 1 + 2?") < last_prompt(model).index(f"Observation: {told}")
    assert last_prompt(model, 0) != last_prompt(model)


@pytest.mark.parametrize("style", ["native", "react"])
async def test_of_a_long_reply_that_cannot_be_read_the_beginning_is_shown_again(
    style: Literal["native", "react"],
) -> None:
    """In both styles: the model is told how much is missing, or is shown all of it."""
    for limit, shown, note in [
        (200, 200, "[Your reply was too long: 9800 more characters are left out.]"),
        (None, 10_000, ""),
    ]:
        model = script(
            "x" * 10_000,
            'Final Answer: {"hour": 2, "city": "Oslo"}' if style == "react" else '{"hour": 2, "city": "Oslo"}',
        )
        limits = AgentLimits(unreadable_chars=limit)
        agent = create_agent(model, [add], style=style, response_format=Hour, limits=limits)
        assert (await agent.ainvoke("When?")).output == Hour(hour=2, city="Oslo")
        sent = "\n".join(message.text for message in model.requests[-1].messages)
        assert sent.count("x" * shown) == 1 and "x" * (shown + 1) not in sent
        assert ("[Your reply" in sent) == bool(note) and note in sent


async def test_a_model_that_writes_on_and_on_is_shown_little_of_it_by_default() -> None:
    """So a run that goes wrong does not cost more with each step."""
    model = script("word " * 100_000, DONE)
    await create_agent(model, [add], style="react").ainvoke("What is 1 + 2?")
    assert len(last_prompt(model)) - len(last_prompt(model, 0)) < 4_500


@pytest.mark.parametrize("style", ["native", "react"])
async def test_what_a_server_says_of_its_reply_is_no_feedback(style: Any) -> None:
    """Only hocket's own parser says that a reply could not be read."""
    reply = Turn(text=DONE, metadata={"feedback": "thumbs down", "finish_reason": "stop"})
    result = await create_agent(ScriptedChatModel(script=[reply]), [add], style=style).ainvoke("What is 1 + 2?")
    assert (result.stop, result.model_calls) == ("done", 1)
    assert result.messages[-1].response_metadata["feedback"] == "thumbs down"


@pytest.mark.parametrize(
    ("at_limit", "calls", "output"), [("answer", 6, "It is 3."), ("stop", 5, None), ("raise", 5, None)]
)
async def test_a_model_that_never_learns_is_asked_as_often_as_the_limit_says(
    at_limit: Literal["answer", "stop", "raise"], calls: int, output: str | None
) -> None:
    """Exactly; and once more for its answer, without tools, if the agent is to answer."""
    model = script(*["I wonder."] * 5, DONE)
    agent = create_agent(model, [add], style="react", limits=AgentLimits(model_calls=5), at_limit=at_limit)
    if at_limit == "raise":
        with pytest.raises(LimitReached):
            await agent.ainvoke("What is 1 + 2?")
    else:
        result = await agent.ainvoke("What is 1 + 2?")
        assert (result.output, result.stop, result.model_calls) == (output, "model_calls", calls)
    assert len(model.requests) == calls


async def test_the_last_prompt_has_no_tools_and_a_reply_without_labels_is_the_answer() -> None:
    """It is shown in the stream, too. A call that the model makes all the same is not run."""
    for last, output in [("It is 3.", "It is 3."), (DONE, "It is 3."), (ADD, "I add.")]:
        model = script(ADD, last)
        agent = create_agent(model, [add], style="react", limits=AgentLimits(model_calls=1))
        stream = agent.astream("What is 1 + 2?")
        shown = "".join([event.chunk.text async for event in stream if event.chunk])
        assert stream.result is not None
        assert (shown, stream.result.output, stream.result.tool_calls) == (output, output, 1)
        assert "No tool can be called any more." in last_prompt(model)
        assert "- add:" not in last_prompt(model) and "Observation: 3" in last_prompt(model)


# -- what holds for native calls holds here


async def test_a_call_waits_for_a_person_and_goes_on_as_decided() -> None:
    """The decision comes by the id that the call was given; another agent may resume, in its own style."""
    cases: list[tuple[Any, Any, str]] = [
        ("react", "approve", "paid 5"),
        ("react", "reject", "A person rejected this call."),
        ("native", {"type": "edit", "args": {"amount": 4}}, "paid 4"),
    ]
    for style, decision, told in cases:
        history = InMemoryChatMessageHistory()
        agent = create_agent(script(PAY), [pay], style="react", interrupt_on=["pay"])
        paused = await agent.ainvoke("Pay.", history=history)
        [waiting] = paused.pending
        assert (paused.stop, waiting["args"]) == ("paused", {"amount": 5})
        model = script("Done." if style == "native" else "Final Answer: Done.")
        agent = create_agent(model, [pay], style=style, interrupt_on=["pay"])
        result = await agent.ainvoke(Resume({waiting["id"] or "": decision}), history=history)
        assert (result.output, result.model_calls) == ("Done.", 1)
        assert [step.observation for step in result.steps] == [history.messages[2].text]
        assert told in history.messages[2].text
        assert [message.type for message in history.messages] == ["human", "ai", "tool", "ai"]


async def test_tools_that_end_the_run_end_it() -> None:
    """Those with ``return_direct``, and those that raise `StopRun`."""

    @tool(return_direct=True)
    def fetch(key: str) -> str:
        """Fetch."""
        return f"value of {key}"

    @tool
    def leave(why: str) -> str:
        """Leave."""
        raise StopRun("left", why)

    direct = await create_agent(script("Action: fetch[x]"), [fetch], style="react").ainvoke("go")
    assert (direct.output, direct.stop) == ("value of x", "direct")
    stopped = await create_agent(script("Action: leave[tired]"), [leave], style="react").ainvoke("go")
    assert (stopped.output, stopped.stop) == ("tired", "stopped")


@pytest.mark.parametrize(
    "replies",
    [
        ['Action: Hour\nAction Input: {"hour": 2, "city": "Oslo"}'],
        ['Final Answer: {"hour": 2, "city": "Oslo"}'],
        ["Final Answer: at two", 'Action: Hour\nAction Input: {"hour": 2, "city": "Oslo"}'],
        ['Action: Hour\nAction Input: {"hour": "late"}', 'Final Answer: ```json\n{"hour": 2, "city": "Oslo"}\n```'],
    ],
)
async def test_an_answer_of_a_type_is_a_call_or_json(replies: list[str]) -> None:
    """What does not fit is told; the second try counts."""
    model = script(*replies)
    result = await create_agent(model, [add], style="react", response_format=Hour).ainvoke("When?")
    assert result.output == Hour(hour=2, city="Oslo")
    assert result.model_calls == len(replies)


async def test_an_answer_of_a_type_is_asked_for_at_the_limit() -> None:
    """Its type is then the only tool."""
    model = script(ADD, 'Action: Hour\nAction Input: {"hour": 2, "city": "Oslo"}')
    agent = create_agent(model, [add], style="react", response_format=Hour, limits=AgentLimits(model_calls=1))
    result = await agent.ainvoke("When?")
    assert (result.output, result.stop) == (Hour(hour=2, city="Oslo"), "model_calls")
    assert "- Hour:" in last_prompt(model) and "- add:" not in last_prompt(model)


async def test_a_conversation_goes_on_in_another_style() -> None:
    """Natively, in text, natively: one history, whose messages have the same form, and are read in each style."""
    history = InMemoryChatMessageHistory()
    native = ScriptedChatModel(script=[Turn(tool_calls=[call("add", a=1, b=2)]), "It is 3."] * 2)
    text = script(ADD, DONE)
    await create_agent(native, [add]).ainvoke("What is 1 + 2?", history=history)
    await create_agent(text, [add], style="react").ainvoke("Again?", history=history)
    await create_agent(native, [add]).ainvoke("And again?", history=history)
    stored = history.messages
    assert [message.type for message in stored] == ["human", "ai", "tool", "ai"] * 3
    assert repair_history(stored) == stored
    args = [
        message.tool_calls[0]["args"] for message in stored if isinstance(message, AIMessage) and message.tool_calls
    ]
    assert args == [{"a": 1, "b": 2}] * 3
    assert len({message.tool_call_id for message in stored if isinstance(message, ToolMessage)}) == 3
    earlier = 'Question: What is 1 + 2?\n\nAction: add\nAction Input: {"a": 1, "b": 2}\nObservation: 3\n\n'
    assert f"What was said before:\n{earlier}Final Answer: It is 3.\n\nQuestion: Again?" in last_prompt(text, 0)


async def test_the_question_stays_when_a_long_run_is_made_shorter_after_feedback() -> None:
    """What tells the model that its reply could not be read is a human message, but no question."""
    model = script(
        *(f"I wonder. {'Hm. ' * 300}{number}" for number in range(4)), DONE, profile={"max_input_tokens": 700}
    )
    result = await create_agent(model, [add], style="react").ainvoke("What is 1 + 2?")
    assert result.output == "It is 3."
    assert all("Question: What is 1 + 2?" in last_prompt(model, index) for index in range(5))


async def test_fifty_runs_of_one_agent_at_once_do_not_mix() -> None:
    """Each has its own conversation, filter and counts."""

    async def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        prompt = messages[-1].text
        await anyio.lowlevel.checkpoint()
        number = prompt.rpartition("Question: add ")[2].partition("\n")[0]
        if "\nObservation: " in prompt.rpartition("Question:")[2]:
            return AIMessage(f"Final Answer: {prompt.rpartition('Observation: ')[2].partition(chr(10))[0]}")
        return AIMessage(f"Action: add({number}, 1)")

    agent = create_agent(RunnableLambda(reply), [add])
    results = await agent.abatch([f"add {number}" for number in range(50)])
    assert [result.output for result in results] == [str(number + 1) for number in range(50)]
