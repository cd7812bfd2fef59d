"""A conversation without a terminal: what is sent, what is kept, and what is measured."""

from typing import Any

import pytest

from hocket.cli.conversation import Answer, Conversation
from hocket.errors import AuthenticationError, StreamTruncated
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessage, AIMessageChunk

USAGE: Any = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}


def ask(conversation: Conversation, question: str, stop_at: str = "") -> tuple[Answer, str]:
    """Ask, and press Ctrl-C when ``stop_at`` is shown."""
    shown: list[str] = []

    def show(chunk: AIMessageChunk) -> None:
        if stop_at and stop_at in chunk.text:
            raise KeyboardInterrupt
        shown.append(chunk.text)

    return conversation.ask(question, show), "".join(shown)


def kept(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in conversation.messages]


def test_questions_are_sent_with_what_was_said_before() -> None:
    """The system's text first, then questions and answers in turn; what changes in between counts from then on."""
    model = ScriptedChatModel(script=["one", "two", "three", "four"])
    conversation = Conversation(model, "be brief")

    assert ask(conversation, "1?")[1] == "one"
    ask(conversation, "2?")
    assert conversation.undo()
    conversation.system = None
    ask(conversation, "3?")
    conversation.clear()
    ask(conversation, "4?")

    assert [[message.text for message in request.messages] for request in model.requests] == [
        ["be brief", "1?"],
        ["be brief", "1?", "one", "2?"],
        ["1?", "one", "3?"],
        ["4?"],
    ]
    assert conversation.undo() and not conversation.undo()
    assert kept(conversation) == []


def test_an_interrupted_answer_is_kept_as_far_as_it_was_shown() -> None:
    """Marked, and without what was still to come; the stream is closed."""
    model = ScriptedChatModel(script=[Turn(text=["one ", "two ", "three"], usage=USAGE), "and on"])
    conversation = Conversation(model)
    answer, shown = ask(conversation, "count", stop_at="three")

    assert answer.interrupted and shown == "one two "
    assert kept(conversation) == [("human", "count"), ("ai", "one two ")]
    assert conversation.messages[-1].response_metadata["interrupted"] is True
    assert not ask(conversation, "go on")[0].interrupted
    assert [message.text for message in model.requests[1].messages] == ["count", "one two ", "go on"]


@pytest.mark.parametrize(
    "turn",
    [
        AuthenticationError("no key"),
        Turn(text=["half an ", "answer"], error=StreamTruncated("gone"), error_after=1),
        Turn(error=ConnectionError()),
    ],
    ids=repr,
)
def test_a_failed_turn_leaves_nothing(turn: Any) -> None:
    """Not even the question: two questions in a row are no valid conversation."""
    conversation = Conversation(ScriptedChatModel(script=["one", turn, "two"]))
    ask(conversation, "1?")
    with pytest.raises(Exception):  # noqa: B017 (each its own)
        ask(conversation, "2?")
    ask(conversation, "3?")
    assert kept(conversation) == [("human", "1?"), ("ai", "one"), ("human", "3?"), ("ai", "two")]


def test_an_answer_without_text_leaves_nothing() -> None:
    """Whether the model had nothing to say, or was stopped before it did."""
    thinking = Turn(reasoning="hm", text="so")
    conversation = Conversation(ScriptedChatModel(script=["", thinking]))
    ask(conversation, "1?")
    ask(conversation, "2?", stop_at="so")
    assert kept(conversation) == []


def test_reasoning_counts_as_the_first_token_and_is_kept() -> None:
    """A provider may want its reasoning back, so a whole answer is kept as it came."""
    conversation = Conversation(ScriptedChatModel(script=[Turn(reasoning="hm", text="so")]))
    answer, shown = ask(conversation, "1?")
    assert (answer.first_token is not None, shown) == (True, "so")
    assert conversation.messages[-1].content != "so"


STATS = [
    (USAGE, 0.5, 2.5, "12 tokens in, 5 out; first token after 0.50 s; 2.0 tokens/s; 2.50 s in all"),
    (USAGE, 0.5, 0.5, "12 tokens in, 5 out; first token after 0.50 s; 0.50 s in all"),
    ({**USAGE, "output_tokens": 1}, 0.5, 2.5, "12 tokens in, 1 out; first token after 0.50 s; 2.50 s in all"),
    (None, 0.5, 2.5, "tokens not reported; first token after 0.50 s; 2.50 s in all"),
    (None, None, 2.5, "tokens not reported; 2.50 s in all"),
]


@pytest.mark.parametrize(("usage", "first", "seconds", "line"), STATS)
def test_stats(usage: Any, first: float | None, seconds: float, line: str) -> None:
    """Only what is known is said; a rate needs more than one token, and time between them."""
    message = AIMessage("x", usage_metadata=usage)
    assert Answer(message, interrupted=False, first_token=first, seconds=seconds).stats == line
