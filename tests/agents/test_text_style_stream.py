"""A run in the text style, as it happens: the same events as with native calls, and of the text only the answer."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentEvent, AgentLimits, AgentResult, ReActFormat, create_agent
from hocket.messages import check_history
from tests.agents.conftest import add, call
from tests.agents.react.test_react_parse import MIXTURES
from tests.kit.amount import limit_examples

CALL = 'Thought: I add.\nAction: add\nAction Input: {"a": 1, "b": 2}'
DONE = "Final Answer: It is 3."
ANSWERS = [
    "Thought: I know.\nFinal Answer: It is 3.\n\n- three\n- 3: a number\nActually, that is all.",
    "思考：我知道了\n回答：答案是3。\n行动起来！",
    '{"action": "Final Answer", "action_input": "It is 3."}',
    "**Final Answer:** It is\n```python\nAction: no label\n```\nall.",
    "<think>Final Answer: 4</think>\nThe answer is: 3",
    "Final Answer: 3\nAction: add(1, 2)\nObservation: 4",
]


def cut(text: str, sizes: Sequence[int]) -> list[str]:
    """Return the text in pieces of these sizes, over and over."""
    pieces: list[str] = []
    while text:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def run(*replies: str | Turn, **options: Any) -> list[AgentEvent]:
    agent = create_agent(ScriptedChatModel(script=replies), [add], style=ReActFormat(), **options)
    return list(agent.stream("What is 1 + 2?"))


def get_output(events: Sequence[AgentEvent]) -> str:
    result = events[-1].result
    assert isinstance(result, AgentResult)
    output: str = result.output
    return output


def shown(events: Sequence[AgentEvent], step: int) -> str:
    return "".join(event.chunk.text for event in events if event.chunk and event.step == step)


@settings(deadline=None, max_examples=limit_examples(60))
@given(st.sampled_from(ANSWERS), st.lists(st.integers(1, 30), min_size=1, max_size=6))
@example(ANSWERS[0], [1])
def test_chunks_show_the_answer_and_nothing_else_wherever_they_are_cut(answer: str, sizes: list[int]) -> None:
    """Not the thoughts, not the labels, not the calls; together they are the output of the run."""
    replies = (CALL, f"I wonder. {answer[:9]}", answer)
    events = run(*(Turn(text=cut(reply, sizes)) for reply in replies))
    assert [shown(events, step) for step in (1, 2, 3)] == ["", "", get_output(events)]


REPLIES = (
    MIXTURES | st.text(max_size=60) | st.sampled_from([*ANSWERS, CALL, "行动：add(1, 2)\n观察：4", "Action: nope[x]"])
)


@settings(deadline=None, max_examples=limit_examples(50))
@given(st.lists(REPLIES, min_size=1, max_size=4), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_a_run_is_sound_whatever_the_model_replies(replies: list[str], sizes: list[int]) -> None:
    """The history is valid; nothing is shown of calls; a streamed run ends like another one, as it has shown."""
    limits = AgentLimits(model_calls=len(replies))
    events = run(*(Turn(text=cut(reply, sizes) or [""]) for reply in replies), DONE, limits=limits)
    result = events[-1].result
    assert isinstance(result, AgentResult)
    check_history(result.messages)  # raises, if a provider would refuse it
    model = ScriptedChatModel(script=[*replies, DONE])
    other = create_agent(model, [add], style=ReActFormat(), limits=limits).invoke("What is 1 + 2?")
    assert (other.output, other.stop, other.model_calls) == (result.output, result.stop, result.model_calls)
    for event in events:
        if event.message and event.message.tool_calls:
            assert shown(events, event.step) == ""
        elif event.message:
            seen = shown(events, event.step)
            assert event.message.text == result.output and (
                seen.endswith(result.output) or seen.startswith(result.output)
            )


def test_the_events_are_those_of_native_calls() -> None:
    """In the same order, with the same steps and the same messages."""
    native = create_agent(
        ScriptedChatModel(script=[Turn(text="I add.", tool_calls=[call("add", a=1, b=2)]), "It is 3."]), [add]
    )

    def describe(events: Sequence[AgentEvent]) -> list[object]:
        told = [event for event in events if event.kind != "chunk"]
        texts = [event.message.text if event.message else None for event in told]
        results = [getattr(event.result, "text", None) or getattr(event.result, "output", None) for event in told]
        return [[event.kind for event in told], [event.step for event in told], texts, results]

    expected = describe(list(native.stream("What is 1 + 2?")))
    assert describe(run(CALL, "Final Answer: It is 3.")) == expected


def test_a_reply_that_cannot_be_read_is_an_event() -> None:
    """With the reply as it came, and what the model is told; it is no message of the conversation."""
    events = run("I wonder.", CALL, "", DONE)
    assert (shown(events, 1), shown(events, 3), shown(events, 4)) == ("", "", "It is 3.")
    assert [(event.kind, event.step) for event in events if event.kind not in ("chunk", "tool_start", "tool_end")] == [
        ("unreadable", 1),
        ("message", 2),
        ("unreadable", 3),
        ("message", 4),
        ("end", 0),
    ]
    unreadable = [event for event in events if event.kind == "unreadable"]
    assert [event.reply and event.reply.text for event in unreadable] == ["I wonder.", ""]
    assert [(event.feedback or "").partition(".")[0] for event in unreadable] == [
        "Your reply has no Action",
        "Your reply was empty",
    ]


def test_the_answer_is_shown_while_it_comes() -> None:
    """Each piece as soon as it is certain to belong to it."""
    events = run(Turn(text=["Thought: so\nFinal", " Answer: It", " is", " 3", "."]))
    assert [event.chunk.text for event in events if event.chunk] == ["It", " is", " 3", "."]


def test_a_second_answer_is_shown_behind_the_first_and_is_the_output() -> None:
    """What was shown cannot be taken back; the message that follows has the answer that counts."""
    events = run("Final Answer: a draft\nFinal Answer: 3")
    [message] = [event.message for event in events if event.message]
    assert (shown(events, 1), message.text, get_output(events)) == ("a draft\n3", "3", "3")


@pytest.mark.parametrize("last", ["It is 3.", "Thought: so\nFinal Answer: It is 3.", "Thought: It is 3."])
def test_the_last_answer_is_shown_with_labels_and_without(last: str) -> None:
    """At a limit a reply needs no label to be the answer, so that it is shown when it is whole."""
    events = run(CALL, last, limits=AgentLimits(model_calls=1))
    assert shown(events, 2) == get_output(events)
    assert "It is 3." in shown(events, 2)
